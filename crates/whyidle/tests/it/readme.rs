//! What the READMEs promise: both say the same, every command in them runs, and the screens in them are real.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{EXAMPLE, printed, root};

const READMES: [(&str, &str); 2] = [("README.md", "en"), ("README.zh-CN.md", "zh")];

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The fenced blocks of a page: language and content.
pub(crate) fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), open.as_mut()) {
            (Some(language), None) => open = Some((language.to_owned(), String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some((_, content))) => *content += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

/// The levels of a page's headings.
pub(crate) fn headings(page: &str) -> Vec<usize> {
    let mut fenced = false;
    let mut levels = Vec::new();
    for line in page.lines() {
        fenced ^= line.starts_with("```");
        if !fenced && line.starts_with('#') {
            levels.push(line.chars().take_while(|&c| c == '#').count());
        }
    }
    levels
}

#[test]
fn both_languages_have_the_same_headings_and_the_same_code() {
    let [(en, _), (zh, _)] = READMES.map(|(name, lang)| (read(name), lang));
    assert_eq!(headings(&en), headings(&zh));
    assert_eq!(en.matches("\n| ").count(), zh.matches("\n| ").count(), "rows of tables");
    let code = |page: &str| -> Vec<(String, String)> {
        blocks(page)
            .into_iter()
            .map(
                |(language, content)| {
                    if language == "text" { (language, String::new()) } else { (language, content) }
                },
            )
            .collect()
    };
    assert_eq!(code(&en), code(&zh));
}

#[test]
fn the_first_two_commands_are_the_demo_and_the_tests() {
    for (name, _) in READMES {
        let shell: String = blocks(&read(name))
            .into_iter()
            .filter(|(language, _)| language == "sh")
            .map(|block| block.1)
            .collect();
        let commands: Vec<&str> = shell.lines().map(|line| line.split(" #").next().unwrap().trim()).collect();
        assert_eq!(commands[..2], ["make demo", "make test"], "{name}");
    }
}

#[test]
fn every_command_runs() {
    let mut ran = 0;
    for (language, content) in blocks(&read("README.md")) {
        let commands = content.lines().filter(|line| language == "sh" && line.contains("whyidle "));
        for command in commands.filter(|line| !line.starts_with("cargo ")) {
            let program = Path::new(env!("CARGO_BIN_EXE_whyidle")).parent().unwrap();
            let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
            let output = Command::new("sh")
                .args(["-c", command])
                .current_dir(root())
                .env("PATH", path)
                .output()
                .unwrap();
            assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
            assert!(!output.stdout.is_empty(), "{command}");
            ran += 1;
        }
    }
    assert!(ran >= 5, "only {ran} commands were found");
}

/// `make accept` pastes them anew.
#[test]
fn the_screens_are_what_the_demo_prints() {
    for (name, lang) in READMES {
        let page = read(name);
        let (_, pasted) =
            blocks(&page).into_iter().find(|(language, _)| language == "text").expect("a pasted screen");
        let screen = printed(&["trace", EXAMPLE, "--lang", lang]);
        if std::env::var("INSTA_UPDATE").is_ok_and(|how| how == "always") {
            fs::write(root().join(name), page.replacen(&pasted, &screen, 1)).unwrap();
        } else {
            assert_eq!(pasted, screen, "{name}: `make accept` pastes it anew");
        }
    }
}

/// What a plan gives back, as it is pasted, is part of what is printed.
#[test]
fn the_pasted_plan_is_what_is_printed() {
    for (name, lang) in READMES {
        let pasted: Vec<_> =
            blocks(&read(name)).into_iter().filter(|(language, _)| language == "text").collect();
        let page = printed(&["plan", "--calibrate", "testdata/ckpt_needless", "--lang", lang]);
        assert!(page.contains(&pasted[1].1), "{name}:\n{page}");
    }
}

#[test]
fn links_into_the_repository_lead_somewhere() {
    for name in [
        "README.md",
        "README.zh-CN.md",
        "CONTRIBUTING.md",
        "ARCHITECTURE.md",
        "docs/plan-formulas.md",
        "testdata/README.md",
        "examples/README.md",
    ] {
        let page = read(name);
        let folder = root().join(name).parent().unwrap().to_owned();
        let targets =
            page.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
        for target in targets.filter(|target| !target.starts_with("http") && !target.starts_with('#')) {
            let file = target.split('#').next().unwrap();
            assert!(folder.join(file).exists(), "{name}: {target}");
        }
    }
}
