//! A folder of this thread for what can be read by its path only.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

thread_local! {
    static FOLDER: TempDir = tempfile::tempdir().unwrap_or_else(|error| panic!("a folder: {error}"));
}

/// A path in the folder.
pub(crate) fn path(name: &str) -> PathBuf {
    FOLDER.with(|folder| folder.path().join(name))
}

/// Does it with `bytes` as a file.
pub(crate) fn with_file(name: &str, bytes: &[u8], then: impl FnOnce(&Path)) {
    let path = path(name);
    std::fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    then(&path);
}

/// An empty folder within the folder.
pub(crate) fn empty(name: &str) -> PathBuf {
    let path = path(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    path
}

/// What the program says to a command about a file.
pub(crate) fn asked(command: &[&str], path: &Path) -> whyidle::Captured {
    whyidle::captured(command.iter().map(OsString::from).chain([path.into()]))
}
