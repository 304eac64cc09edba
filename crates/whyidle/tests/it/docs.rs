//! The book in `docs/`: both languages say the same on the same pages, what it tells to type exists, its links lead
//! somewhere, and the pages of causes are what `whyidle explain` prints.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use whyidle_analysis::ledger::Line;
use whyidle_report::{CAUSES, Catalog, CausePage, Lang, TextOptions, cause_page, list_causes};

use crate::readme::{blocks, headings};
use crate::support::{EXAMPLE, LANGUAGES, printed, root, run};

/// The folder of a book's pages.
fn book(lang: &str) -> PathBuf {
    root().join("docs").join(lang).join("src")
}

/// Every page of a book but its table of contents: path below the folder, and content.
fn pages(lang: &str) -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    let mut folders = vec![book(lang)];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(book(lang)).unwrap().to_str().unwrap().replace('\\', "/");
                pages.insert(name, fs::read_to_string(path).unwrap());
            }
        }
    }
    assert!(pages.remove("SUMMARY.md").is_some(), "docs/{lang} has no table of contents");
    pages
}

fn summary(lang: &str) -> String {
    fs::read_to_string(book(lang).join("SUMMARY.md")).unwrap()
}

/// Where the links of a page lead, code left out.
fn links(page: &str) -> Vec<String> {
    let mut targets = Vec::new();
    for line in prose(page) {
        let plain: String = line.split('`').step_by(2).collect();
        let found = plain.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        targets.extend(found.map(|(target, _)| target.to_owned()));
    }
    targets
}

/// The lines of a page outside its blocks of code.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    page.lines().filter(move |line| {
        fenced ^= line.starts_with("```");
        !fenced
    })
}

/// What stands at the top of a page that is not written by hand.
const PRINTED: &str = "<!-- What `whyidle explain` says; `make accept` writes it anew. -->\n";

/// The page of a cause as Markdown.
fn page_of(cause: &str, lang: &str) -> String {
    let catalog = Catalog::new(Lang::parse(lang).unwrap());
    let CausePage { id, title, sections } = cause_page(cause, &catalog).unwrap();
    let mut page = format!("{PRINTED}\n# {id} · {title}\n");
    for section in sections {
        page += &format!("\n## {}\n\n", section.heading);
        let (before, between) = if section.itemised { ("- ", "\n") } else { ("", "\n\n") };
        let said: Vec<String> = section.said.iter().map(|said| format!("{before}{said}")).collect();
        page += &(said.join(between) + "\n");
        if let Some((words, command)) = section.ask.as_deref().and_then(|ask| ask.split_once("whyidle ")) {
            page += &format!("\n{}\n\n```sh\nwhyidle {command}\n```\n", words.trim_end());
        }
    }
    page
}

/// The list of causes as Markdown.
fn list_of_causes(lang: &str) -> String {
    let catalog = Catalog::new(Lang::parse(lang).unwrap());
    let text = list_causes(&catalog, &TextOptions { width: 120, ..TextOptions::default() });
    let (title, id, name) = match lang {
        "zh" => ("全部原因", "id", "GPU 在等"),
        _ => ("All causes", "id", "the GPU waits for"),
    };
    let mut page = format!("{PRINTED}\n# {title}\n\n| {id} | {name} |\n| --- | --- |\n");
    for line in text.lines() {
        let (cause, name) = line.split_once(char::is_whitespace).unwrap();
        page += &format!("| [`{cause}`]({cause}.md) | {} |\n", name.trim());
    }
    page
}

#[test]
fn every_page_is_in_the_table_of_contents_once_and_nothing_else_is() {
    for lang in LANGUAGES {
        let listed = links(&summary(lang));
        let once: BTreeSet<&String> = listed.iter().collect();
        assert_eq!(listed.len(), once.len(), "docs/{lang}: a page is listed twice");
        let there = pages(lang);
        assert_eq!(once, there.keys().collect(), "docs/{lang}");
        let toml = fs::read_to_string(root().join("docs").join(lang).join("book.toml")).unwrap();
        assert!(toml.contains("src = \"src\""), "docs/{lang}/book.toml");
    }
}

#[test]
fn both_languages_have_the_same_pages_headings_tables_and_code() {
    let [en, zh] = LANGUAGES.map(pages);
    assert_eq!(links(&summary("en")), links(&summary("zh")));
    assert!(en.keys().eq(zh.keys()));
    for (name, page) in &en {
        let other = &zh[name];
        assert_eq!(headings(page), headings(other), "{name}: headings");
        assert_eq!(page.matches("\n| ").count(), other.matches("\n| ").count(), "{name}: rows of tables");
        assert_eq!(page.matches("\n- ").count(), other.matches("\n- ").count(), "{name}: items of lists");
        let code = |page: &str| -> Vec<(String, String)> {
            // A block of `text` is output, which is in the language of the page.
            blocks(page).into_iter().filter(|(language, _)| language != "text").collect()
        };
        assert_eq!(code(page), code(other), "{name}: code");
        assert_eq!(headings(page).iter().filter(|&&level| level == 1).count(), 1, "{name}: one title");
    }
    let is_chinese = |page: &String| page.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
    assert!(zh.values().all(is_chinese) && !en.values().any(is_chinese));
}

#[test]
fn pages_of_causes_are_what_explain_prints() {
    let accept = std::env::var("INSTA_UPDATE").is_ok_and(|how| how == "always");
    for lang in LANGUAGES {
        let folder = book(lang).join("causes");
        let pages = CAUSES.map(|cause| (format!("{cause}.md"), page_of(cause, lang)));
        for (name, page) in pages.into_iter().chain([("all.md".to_owned(), list_of_causes(lang))]) {
            let path = folder.join(&name);
            if accept {
                fs::write(&path, page).unwrap();
            } else {
                let kept = fs::read_to_string(&path).unwrap_or_default();
                assert_eq!(kept, page, "docs/{lang}/src/causes/{name}: `make accept` writes it anew");
            }
        }
    }
}

#[test]
fn links_of_the_book_lead_to_pages_of_the_book() {
    for lang in LANGUAGES {
        let there = pages(lang);
        for (name, page) in &there {
            let folder = book(lang).join(name).parent().map(Path::to_owned).unwrap();
            for target in links(page).iter().filter(|target| !target.starts_with("https://")) {
                let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
                // Outside the book nothing is found once it is built.
                let path = folder.join(file).canonicalize();
                let inside = path.is_ok_and(|path| path.is_file() && path.starts_with(book(lang)));
                assert!(inside && anchor.is_empty(), "docs/{lang}/src/{name}: {target}");
            }
        }
    }
}

/// Every line of the ledger is defined, and every schema is listed.
#[test]
fn the_pages_of_definitions_and_formats_are_complete() {
    let schemas = fs::read_dir(root().join("crates/whyidle-report/schema")).unwrap();
    let schemas: Vec<String> = schemas
        .map(|entry| {
            entry.unwrap().file_name().into_string().unwrap().replace(".schema.json", "").replace('-', "/")
        })
        .collect();
    assert!(schemas.len() > 10, "{schemas:?}");
    for lang in LANGUAGES {
        let pages = pages(lang);
        for line in Line::ALL.iter().map(|line| line.id()).filter(|id| !id.starts_with("working.")) {
            assert!(pages["numbers.md"].contains(&format!("`{line}`")), "docs/{lang}: {line}");
        }
        for schema in &schemas {
            assert!(pages["formats.md"].contains(&format!("`{schema}`")), "docs/{lang}: {schema}");
        }
    }
}

/// `make accept` pastes it anew.
#[test]
fn the_screen_of_the_quick_start_is_what_is_printed() {
    for lang in LANGUAGES {
        let path = book(lang).join("quick-start.md");
        let page = fs::read_to_string(&path).unwrap();
        let pasted = blocks(&page).into_iter().find(|(language, _)| language == "text").unwrap().1;
        let screen = printed(&["trace", EXAMPLE, "--lang", lang]);
        if std::env::var("INSTA_UPDATE").is_ok_and(|how| how == "always") {
            fs::write(path, page.replacen(&pasted, &screen, 1)).unwrap();
        } else {
            assert_eq!(pasted, screen, "docs/{lang}/src/quick-start.md: `make accept` pastes it anew");
        }
    }
}

/// The whole help of a subcommand, asked for once.
fn help(known: &mut BTreeMap<String, Option<String>>, command: &str) -> Option<String> {
    let ask = || {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let run = run(&words);
        (run.status == Some(0)).then_some(run.out)
    };
    known.entry(command.to_owned()).or_insert_with(ask).clone()
}

/// Commands of optional features: they are looked at where the program was built with them.
const OPTIONAL: [&str; 2] = ["agent", "fleet"];

/// What is wrong with a command line of whyidle: a subcommand or an option that does not exist.
fn wrong(known: &mut BTreeMap<String, Option<String>>, line: &str) -> Option<String> {
    let line = line.split(" #").next().unwrap_or_default();
    // What is quoted is one word for the shell: a command of its own, or a query.
    let unquoted = |line: &str, quote: char| line.split(quote).step_by(2).collect::<Vec<_>>().join("_");
    let line = unquoted(&unquoted(line, '"'), '\'');
    let words: Vec<&str> =
        line.split_whitespace().skip(1).take_while(|word| !["--", ">", "&&"].contains(word)).collect();
    let named = |word: &&&str| !word.starts_with('-');
    let command = words.first().filter(named).copied().unwrap_or_default().to_owned();
    let Some(mut told) = help(known, &command) else {
        let is_optional = OPTIONAL.contains(&command.as_str());
        return (!is_optional).then(|| format!("no command {command}"));
    };
    if let ("history", Some(&"show")) = (command.as_str(), words.get(1)) {
        told += &help(known, "history show")?;
    }
    let has = |option: &str| {
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-');
        told.lines().map(str::trim_start).filter(|line| line.starts_with('-')).any(|line| {
            line.match_indices(option)
                .any(|(at, _)| (at == 0 || line[..at].ends_with(' ')) && ends(&line[at + option.len()..]))
        })
    };
    // What a setting is set to may begin like an option.
    let mut before = "";
    for word in words {
        let is_value = ["--set", "--vary"].contains(&before);
        before = word;
        let option = word.split('=').next().unwrap_or(word);
        if option.starts_with('-') && !is_value && !has(option) {
            return Some(format!("{command}: no option {option}"));
        }
    }
    None
}

#[test]
fn every_command_and_option_of_the_book_exists() {
    let mut known = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for (name, page) in pages("en") {
        for (language, content) in blocks(&page) {
            for line in content.lines().filter(|_| language == "sh") {
                // Behind a pipe, too.
                for part in line.split('|').map(str::trim).filter(|part| part.starts_with("whyidle")) {
                    assert_eq!(wrong(&mut known, part), None, "{name}: {line}");
                    seen.extend(part.split_whitespace().nth(1).map(str::to_owned));
                }
            }
        }
    }
    for (name, page) in LANGUAGES.into_iter().flat_map(pages) {
        for line in prose(&page) {
            for code in line.split('`').skip(1).step_by(2).filter(|code| code.starts_with("whyidle ")) {
                assert_eq!(wrong(&mut known, code), None, "{name}: {line}");
            }
        }
    }
    let help = printed(&["--help"]);
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    for command in commands.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   ")) {
        let command = command.split_whitespace().next().unwrap();
        assert!(seen.contains(command), "the book shows no use of `whyidle {command}`");
    }
}

#[test]
fn a_slip_in_a_command_of_the_book_is_found() {
    let known = &mut BTreeMap::new();
    for (line, expected) in [
        ("whyidle trace DIR --step-ms 188", None),
        ("whyidle trace DIR --step-m 188", Some("trace: no option --step-m")),
        ("whyidle tracer DIR", Some("no command tracer")),
        ("whyidle compare --set --workers=8 -- python train.py --workers 2", None),
        ("whyidle compare 'python train.py --workers 2' 'python train.py'", None),
        ("whyidle", None),
    ] {
        assert_eq!(wrong(known, line).as_deref(), expected, "{line}");
    }
}

/// Commands that need a program, a service or a cluster to work on, and the tests that run them with stand-ins.
const ELSEWHERE: [(&str, &str); 14] = [
    ("", "quick_look.rs"),
    ("attach", "watching.rs"),
    ("run", "watching.rs"),
    ("check", "quick_look.rs"),
    ("top", "top.rs"),
    ("serve", "serve.rs"),
    ("agent", "agent.rs"),
    ("fleet", "fleet.rs"),
    ("bench", "experiments.rs"),
    ("compare", "experiments.rs"),
    ("sweep", "sweeps.rs"),
    ("fix", "trying.rs"),
    ("gate", "gate.rs"),
    ("history", "experiments.rs"),
];

/// A folder with what the pages name: a trace, runs, logs, a snapshot, digests.
fn stand_ins(digests: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("runs")).unwrap();
    for (name, stands_for) in [
        ("trace.json.gz", "examples/starved-by-two-workers/trace.json.gz"),
        ("examples", "examples"),
        ("testdata", "testdata"),
        ("runs/41", "testdata/sync_item"),
        ("runs/42", "testdata/fed_small"),
        ("PATH", "testdata/fed_small"),
        ("logs", "crates/whyidle-readers/testdata/flight/never_enters"),
        ("snapshot.pickle", "crates/whyidle-readers/testdata/memory/kept_graph.pickle.gz"),
        ("trace_rank0.json.gz", "testdata/straggler_data/trace_rank0.json.gz"),
    ] {
        std::os::unix::fs::symlink(root().join(stands_for), folder.path().join(name)).unwrap();
    }
    for rank in ["rank0.digest.gz", "rank1.digest.gz"] {
        fs::copy(digests.join(rank), folder.path().join(rank)).unwrap();
    }
    let tokenizer = fs::read_to_string(root().join("crates/whyidle-feed/testdata/byte_level.json")).unwrap();
    fs::write(folder.path().join("tokenizer.json"), tokenizer.replace("<|endoftext|>", "</s>")).unwrap();
    fs::create_dir(folder.path().join("corpus")).unwrap();
    fs::write(folder.path().join("corpus/a.jsonl.zst"), "{\"text\": \"told by content\"}\n").unwrap();
    folder
}

/// Every command of the book and of the pages beside it either runs here, as it is printed, on stand-ins, or is one of
/// those that other tests run.
#[test]
#[cfg(unix)]
fn every_command_that_reads_runs_as_it_is_printed() {
    let digests = tempfile::tempdir().unwrap();
    for rank in ["0", "1"] {
        let trace = format!("testdata/straggler_data/trace_rank{rank}.json.gz");
        let out = digests.path().join(format!("rank{rank}.digest.gz")).display().to_string();
        assert_eq!(run(&["digest", &trace, "--recorded", "-o", &out]).status, Some(0));
    }
    let program = Path::new(env!("CARGO_BIN_EXE_whyidle")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut all = pages("en");
    for page in ["README.md", "docs/sql.md", "docs/export.md", "docs/recording.md"] {
        all.insert(page.to_owned(), fs::read_to_string(root().join(page)).unwrap());
    }
    let mut ran = BTreeSet::new();
    for (name, page) in all {
        let is_sh = |language: &str| language == "console" || language == "sh" && name != "README.md";
        let shown: String =
            blocks(&page).into_iter().filter(|(language, _)| is_sh(language)).map(|block| block.1).collect();
        for line in shown.lines().map(|line| line.trim_start_matches("$ ")) {
            if line.split_whitespace().next() != Some("whyidle") {
                continue;
            }
            let word = line.split_whitespace().nth(1).filter(|word| *word != "#").unwrap_or_default();
            if let Some((_, test)) = ELSEWHERE.iter().find(|(command, _)| *command == word) {
                let test = root().join("crates/whyidle/tests/it").join(test);
                let source = fs::read_to_string(&test).unwrap_or_default();
                assert!(source.contains(word), "{name}: {line}: {} does not run it", test.display());
                continue;
            }
            if word == "tokenize" && !cfg!(feature = "feed") {
                continue;
            }
            // `data.workers[=N]` may be asked without a value.
            let line = line.split('[').next().unwrap();
            if !ran.insert(line.to_owned()) {
                continue;
            }
            let folder = stand_ins(digests.path());
            let mut command = std::process::Command::new("sh");
            command.args(["-c", line]).current_dir(folder.path()).env("PATH", &path).env("LC_ALL", "C");
            let output = command.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{name}: {line}: {said}");
        }
    }
    assert!(ran.len() > 40, "only {} commands were found: {ran:#?}", ran.len());
}
