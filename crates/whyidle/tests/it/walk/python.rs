//! In Python: `whyidle.load` gives the JSON of the program, and shows a verdict in the same figures and names.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use serde_json::Value;

use super::page::Page;
use super::said::{flat, ns};
use super::{catalog, json, with};
use crate::support::{EXAMPLE, LANGUAGES, printed, root};
use crate::torch::python;

/// The newest file below `folder`.
fn newest(folder: &Path) -> SystemTime {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let times = entries.map(|entry| {
        if entry.file_type().unwrap().is_dir() {
            newest(&entry.path())
        } else {
            entry.metadata().unwrap().modified().unwrap()
        }
    });
    times.max().unwrap_or(SystemTime::UNIX_EPOCH)
}

/// The Python package with the extension that was built of these sources, in a folder of its own.
fn package() -> Option<tempfile::TempDir> {
    let library = Path::new(env!("CARGO_BIN_EXE_whyidle")).with_file_name("lib_native.so");
    let built = fs::metadata(&library).and_then(|file| file.modified()).ok();
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let parts = crates.flat_map(|path| ["src", "locales", "templates"].map(|part| path.join(part)));
    let changed = parts.filter(|part| part.is_dir()).map(|part| newest(&part)).max();
    if built < changed {
        println!("skipped: the extension is not built of these sources (cargo build --workspace)");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let package = folder.path().join("whyidle");
    copy(&root().join("python/whyidle"), &package);
    fs::copy(library, package.join("_native.abi3.so")).unwrap();
    Some(folder)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else if entry.path().extension().is_some_and(|kind| kind == "py") {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// What `script` prints, in the root of the repository.
fn said(python: &PathBuf, package: &Path, script: &str) -> Value {
    let output = Command::new(python)
        .args(["-c", script])
        .current_dir(root())
        .env("PYTHONPATH", package)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    json(&String::from_utf8(output.stdout).unwrap())
}

#[test]
fn python_says_what_the_program_says() {
    let (Some(python), Some(package)) = (python(), package()) else { return };
    let command = ["trace", EXAMPLE, "--what-if", "data.workers=12"];
    for lang in LANGUAGES {
        let script = format!(
            "import json, whyidle
v = whyidle.load({EXAMPLE:?}, what_if=['data.workers=12'], lang={lang:?})
print(json.dumps({{
    'all': v.to_dict(), 'sentence': v.sentence, 'primary': v.primary, 'step_ms': v.step_ms,
    'ledger': [[row['id'], int(row['traced_ns']), float(row['ms'])] for row in v.ledger],
    'findings': [[row['cause'], float(row['saved'])] for row in v.findings],
    'html': v._repr_html_(),
}}))"
        );
        let told = said(&python, package.path(), &script);
        let report = json(&printed(&with(&command, &["--format", "json", "--lang", lang])));
        assert_eq!(told["all"], report);
        assert_eq!(told["sentence"], report["verdict"]["sentence"]["text"]);
        assert_eq!(
            (&told["primary"], &told["step_ms"]),
            (&report["verdict"]["primary"], &report["step"]["unprofiled_ms"])
        );
        let catalog = catalog(lang);
        let shown = flat(&Page::read(told["html"].as_str().unwrap()).words(lang));
        let step = ns(&report["step"]["unprofiled_ms"]);
        let lines = report["ledger"].as_array().unwrap();
        assert_eq!(lines.len(), told["ledger"].as_array().unwrap().len());
        for (line, row) in lines.iter().zip(told["ledger"].as_array().unwrap()) {
            assert_eq!([&line["id"], &line["traced_ns"], &line["ms"]], [&row[0], &row[1], &row[2]]);
            let (name, share) = (catalog.line(line["id"].as_str().unwrap()), line["share"].as_f64().unwrap());
            let time = catalog.time_like(ns(&line["ms"]), step);
            let wanted = flat(&format!("{name} {time} {}", catalog.share_in_column(share)));
            assert!(shown.contains(&wanted) || share < 0.0005, "{wanted} in {shown}");
        }
        for (finding, row) in
            report["findings"].as_array().unwrap().iter().zip(told["findings"].as_array().unwrap())
        {
            assert_eq!([&finding["cause"], &finding["gain"]["saved"]], [&row[0], &row[1]]);
        }
    }
}
