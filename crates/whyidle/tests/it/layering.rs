//! Folders are the data flow: crates depend downwards only, libraries stay in their layer, and every
//! crate inherits the workspace's lints.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::support::root;

/// The layers from the top. Crates on one line do not know each other.
const LAYERS: [&[&str]; 13] = [
    // The same commands for another program.
    &["whyidle-python"],
    &["whyidle"],
    &["whyidle-tui", "whyidle-agent"],
    &["whyidle-report"],
    &["whyidle-experiment"],
    &["whyidle-diagnosis"],
    &["whyidle-replay", "whyidle-planner"],
    &["whyidle-tables", "whyidle-feed"],
    &["whyidle-analysis"],
    &["whyidle-observe"],
    &["whyidle-readers"],
    &["whyidle-model"],
    // For tests alone.
    &["whyidle-standin"],
];

/// Libraries and the crates that they belong to: inflating is reading, wording is reporting, arguments are the program's.
const AT_HOME: [(&str, &[&str]); 31] = [
    ("ratatui", &["whyidle-tui"]),
    ("crossterm", &["whyidle-tui"]),
    ("flate2", &["whyidle-readers"]),
    // Formats of documents are read where all formats are.
    ("arrow-array", &["whyidle-readers"]),
    ("arrow-ipc", &["whyidle-readers"]),
    ("parquet", &["whyidle-readers"]),
    ("zstd", &["whyidle-readers"]),
    ("tokenizers", &["whyidle-feed"]),
    ("aho-corasick", &["whyidle-feed"]),
    ("pyo3", &["whyidle-python"]),
    ("numpy", &["whyidle-python"]),
    ("saphyr-parser", &["whyidle-readers"]),
    ("toml_edit", &["whyidle-readers"]),
    // A database is a format that is read, the tables that are asked, and the history of experiments.
    ("rusqlite", &["whyidle-readers", "whyidle-tables", "whyidle-experiment"]),
    ("statrs", &["whyidle-experiment"]),
    ("fluent-bundle", &["whyidle-report"]),
    ("askama", &["whyidle-report"]),
    ("clap", &["whyidle"]),
    // Whatever answers over HTTP does so on the agent's server.
    ("axum", &["whyidle-agent", "whyidle"]),
    ("hyper", &["whyidle-agent"]),
    ("hyper-util", &["whyidle-agent"]),
    ("tokio", &["whyidle-agent"]),
    ("tokio-rustls", &["whyidle-agent"]),
    ("subtle", &["whyidle-agent"]),
    // Shows a page in the browser; programs that are measured are started by observe alone.
    ("open", &["whyidle"]),
    // Only one crate touches the live system.
    ("nvml-wrapper", &["whyidle-observe"]),
    ("procfs", &["whyidle-observe"]),
    ("py-spy", &["whyidle-observe"]),
    ("rustix", &["whyidle-observe"]),
    // Asking another machine is touching the live system.
    ("ureq", &["whyidle-observe"]),
    ("rustls-native-certs", &["whyidle-observe"]),
];

/// The only crates that may use unsafe code: where the operating system demands it, and to stand in for a library in C.
const MAY_BE_UNSAFE: [&str; 2] = ["whyidle-observe", "whyidle-standin"];

/// What `cargo metadata` says of this workspace.
pub(crate) fn metadata(arguments: &[&str]) -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A crate of the workspace.
struct Member {
    folder: PathBuf,
    /// Names of what it depends on, for its own code, its tests and its build.
    needs: Vec<String>,
}

fn members() -> BTreeMap<String, Member> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let packages = metadata(&["--no-deps"]);
    let member = |package: &Value| {
        let manifest = PathBuf::from(text(&package["manifest_path"]));
        let needs = package["dependencies"].as_array().unwrap().iter().map(|needed| text(&needed["name"]));
        let folder = manifest.parent().unwrap().to_owned();
        (text(&package["name"]), Member { folder, needs: needs.collect() })
    };
    packages["packages"].as_array().unwrap().iter().map(member).collect()
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

#[test]
fn crates_depend_downwards_only() {
    let members = members();
    let mut wrong = Vec::new();
    for (name, member) in &members {
        let Some(above) = layer(name) else {
            wrong.push(format!("{name} has no layer"));
            continue;
        };
        for needed in member.needs.iter().filter(|needed| members.contains_key(*needed)) {
            if layer(needed).is_none_or(|below| below <= above) {
                wrong.push(format!("{name} must not depend on {needed}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// One page, which names every crate once, from the top.
#[test]
fn the_architecture_is_one_page_and_true_of_the_crates() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    assert!(page.lines().count() <= 80, "{} lines are no page", page.lines().count());
    for line in page.lines() {
        assert!(line.chars().count() <= 90, "{line}");
    }
    let named = page.lines().filter_map(|line| line.strip_prefix("- **")?.split_once("** –"));
    let named: Vec<&str> = named.map(|(name, _)| name).collect();
    let layers = LAYERS.concat();
    let known: Vec<&str> = layers.iter().map(|name| name.trim_start_matches("whyidle-")).collect();
    assert_eq!(named, known);
    for name in members().keys() {
        assert!(layers.contains(&name.as_str()), "{name} is not on the page");
    }
}

#[test]
fn libraries_stay_in_their_layer() {
    for (library, homes) in AT_HOME {
        for (name, member) in members() {
            let strays = !homes.contains(&&*name) && member.needs.iter().any(|needed| needed == library);
            assert!(!strays, "{name} must not depend on {library}: that is for {}", homes.join(" and "));
        }
    }
}

#[test]
fn every_crate_inherits_the_lints_that_hold_the_house() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    for lint in ["unsafe_code", "print_stdout", "print_stderr", "dbg_macro", "todo", "unimplemented"] {
        assert!(manifest.contains(&format!("{lint} = \"deny\"")), "{lint} is no longer denied");
    }
    for (name, member) in members() {
        let manifest = fs::read_to_string(member.folder.join("Cargo.toml")).unwrap();
        assert!(manifest.contains("[lints]\nworkspace = true"), "{name} does not inherit the lints");
    }
}

#[test]
fn no_crate_takes_a_denied_lint_back() {
    for (name, member) in members() {
        for (file, source) in sources(&member.folder.join("src")) {
            let flat: String = source.split_whitespace().collect();
            let takes_back = |lint: &str| {
                ["allow(", "expect(", "warn("].iter().any(|how| flat.contains(&format!("{how}{lint}")))
            };
            for lint in ["clippy::print_stdout", "clippy::print_stderr"] {
                assert!(!takes_back(lint), "{} prints past the report", file.display());
            }
            let is_unsafe = !MAY_BE_UNSAFE.contains(&name.as_str()) && takes_back("unsafe_code");
            assert!(!is_unsafe, "{} is unsafe", file.display());
        }
    }
}

/// The Rust sources below a folder.
fn sources(folder: &std::path::Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).unwrap();
            found.push((path, source));
        }
    }
    found
}
