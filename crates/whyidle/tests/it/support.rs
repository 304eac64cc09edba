//! Running the program, and finding what ships with the repository.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The recording that `make demo` reads.
pub(crate) const EXAMPLE: &str = "examples/starved-by-two-workers";

/// Both languages, as the option names them.
pub(crate) const LANGUAGES: [&str; 2] = ["en", "zh"];

/// The root of the repository; commands run there, so that paths in output are the same everywhere.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The program on a terminal-less line of 80 columns, whatever the environment of the tests.
pub(crate) fn whyidle(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_whyidle"));
    command.args(args).current_dir(root()).stdin(Stdio::null()).env("LC_ALL", "C").env("COLUMNS", "80");
    // Verdicts are kept in the history, which is no test's to write into.
    command.env("XDG_DATA_HOME", env!("CARGO_TARGET_TMPDIR"));
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "LANG", "LC_MESSAGES"] {
        command.env_remove(variable);
    }
    command
}

/// What a run printed, and its exit status.
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Self { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// Runs the program.
pub(crate) fn run(args: &[&str]) -> Run {
    whyidle(args).output().unwrap().into()
}

/// The output of a run that reaches a verdict and says nothing beside it.
pub(crate) fn printed(args: &[&str]) -> String {
    let run = run(args);
    assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "{args:?}");
    run.out
}

/// The JSON report on `path`.
pub(crate) fn report(path: &str, more: &[&str]) -> Value {
    serde_json::from_str(&printed(&[&["trace", path, "--format", "json"], more].concat())).unwrap()
}

/// Every recording that ships: the example, and the folders of `testdata/`.
pub(crate) fn recordings() -> Vec<String> {
    let folders = std::fs::read_dir(root().join("testdata")).unwrap().map(|entry| entry.unwrap().path());
    let mut recordings: Vec<String> = folders
        .filter(|path| path.is_dir())
        .map(|path| format!("testdata/{}", path.file_name().unwrap().to_str().unwrap()))
        .collect();
    recordings.push(EXAMPLE.to_owned());
    recordings.sort();
    recordings
}

/// `text` without what changes from release to release.
pub(crate) fn without_version(text: &str) -> String {
    text.replace(env!("CARGO_PKG_VERSION"), "[version]")
}
