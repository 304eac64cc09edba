//! What a release consists of: one version everywhere, the papers that are cited, and the check of the C library that
//! its files need.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::root;

fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

#[test]
fn the_version_is_the_same_wherever_it_stands() {
    let version = env!("CARGO_PKG_VERSION");
    for (file, line) in [
        ("Cargo.toml", format!("version = \"{version}\"")),
        ("pyproject.toml", format!("version = \"{version}\"")),
        ("CITATION.cff", format!("version: {version}")),
    ] {
        assert!(text(file).lines().any(|said| said == line), "{file} does not say {line}");
    }
}

/// Identifiers of arXiv in a text: four digits, a point, five digits, where arXiv or another identifier stands before.
fn papers(text: &str) -> BTreeSet<String> {
    let is_one = |word: &str| {
        let (year, number) = word.split_once('.').unwrap_or_default();
        year.len() == 4 && number.len() == 5 && word.bytes().all(|byte| byte == b'.' || byte.is_ascii_digit())
    };
    text.lines()
        .filter(|line| line.to_lowercase().contains("arxiv"))
        .flat_map(|line| line.split(|c: char| c != '.' && !c.is_ascii_digit()))
        .map(|word| word.trim_matches('.'))
        .filter(|word| is_one(word))
        .map(str::to_owned)
        .collect()
}

/// Rust sources of the crates, without their tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_paper_that_is_named_is_cited_and_no_other() {
    let mut named = BTreeSet::new();
    let mut files = vec![root().join("docs/plan-formulas.md")];
    for lang in ["en", "zh"] {
        files.push(root().join("docs").join(lang).join("src/methods.md"));
    }
    for krate in fs::read_dir(root().join("crates")).unwrap() {
        let folder = krate.unwrap().path().join("src");
        sources(&folder, &mut files);
    }
    for file in files {
        named.extend(papers(&fs::read_to_string(file).unwrap()));
    }
    assert!(named.contains("1910.02054"), "{named:?}");
    assert_eq!(papers(&text("CITATION.cff")), named);
}

/// The check of packages, on the program that was just built: what it says, and whether it is content.
#[cfg(target_os = "linux")]
fn checked(newest: &str) -> (String, bool) {
    let script = root().join("packaging/symbols.py");
    let program = env!("CARGO_BIN_EXE_whyidle");
    let done = Command::new("python3").arg(script).args([program, "--at-most", newest]).output();
    let done = done.expect("python3 runs");
    (
        String::from_utf8(done.stdout).unwrap() + &String::from_utf8(done.stderr).unwrap(),
        done.status.success(),
    )
}

#[cfg(target_os = "linux")]
#[test]
fn the_check_of_packages_knows_which_c_library_a_program_needs() {
    let (said, is_content) = checked("99.0");
    assert!(is_content, "{said}");
    let (_, needed) = said.trim().rsplit_once(": glibc ").unwrap_or_else(|| panic!("{said}"));
    let needed = needed.strip_suffix(" or newer").unwrap();
    assert!(checked(needed).1, "what it needs is enough: {needed}");
    let (said, is_content) = checked("2.2");
    assert!(!is_content && said.contains(&format!("needs glibc {needed}, newer than 2.2")), "{said}");
    let said = Command::new("python3")
        .arg(root().join("packaging/symbols.py"))
        .arg(root().join("README.md"))
        .args(["--at-most", "2.28"])
        .output()
        .unwrap();
    assert!(!said.status.success(), "a file that is no program is told");
}
