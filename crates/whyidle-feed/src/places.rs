//! Names in the folder of token files, and files that survive a loss of power.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::FeedError;

/// What the folder holds, once it is whole.
pub(crate) const ABOUT: &str = "tokens.json";
/// Where an unfinished run stands.
pub(crate) const STATE: &str = ".tokenize.json";
/// Held by the process that writes.
const LOCK: &str = ".tokenize.lock";

/// The name of a file with tokens: the only one, or the `number`th of several.
pub(crate) fn name(number: usize, is_sharded: bool) -> String {
    if is_sharded { format!("tokens-{number:05}.bin") } else { "tokens.bin".to_owned() }
}

/// Whether a file's name is one that only this program gives.
pub(crate) fn is_ours(name: &str) -> bool {
    let stem = ["bin", "idx"].iter().find_map(|extension| name.strip_suffix(&format!(".{extension}")));
    let is_number = |rest: &str| rest.len() >= 5 && rest.bytes().all(|byte| byte.is_ascii_digit());
    stem.is_some_and(|stem| stem == "tokens" || stem.strip_prefix("tokens-").is_some_and(is_number))
}

/// The name of a file while it is written.
pub(crate) fn partial(name: &str) -> String {
    format!(".{name}.partial")
}

/// Keeps other processes out of a folder for as long as it lives.
pub(crate) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    pub(crate) fn take(folder: &Path) -> Result<Self, FeedError> {
        let path = folder.join(LOCK);
        let file = File::create(&path).map_err(FeedError::write(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { path, _file: file }),
            Err(fs::TryLockError::WouldBlock) => Err(FeedError::Busy { path: folder.to_owned() }),
            // A file system without locks: nobody can be kept out.
            Err(fs::TryLockError::Error(_)) => Ok(Self { path, _file: file }),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Left behind, it would only be in the way of the eye.
        let _ = fs::remove_file(&self.path);
    }
}

/// Writes a file whole: beside its place, brought to the disk, then given its name.
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), FeedError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let beside = folder.join(partial(&name));
    let placed = (|| {
        let mut out = BufWriter::new(File::create(&beside)?);
        write(&mut out)?;
        out.flush()?;
        out.get_ref().sync_all()?;
        fs::rename(&beside, path)?;
        sync(folder)
    })();
    placed.map_err(FeedError::write(path))
}

/// Brings the names in a folder to the disk. Windows cannot and need not.
pub(crate) fn sync(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_are_given_here_are_ours() {
        for ours in ["tokens.bin", "tokens.idx", "tokens-00000.bin", "tokens-123456.idx"] {
            assert!(is_ours(ours), "{ours}");
        }
        for other in
            ["tokens", "tokens-1.bin", "tokens-0000x.bin", "train.bin", "tokens.json", "../tokens.bin"]
        {
            assert!(!is_ours(other), "{other}");
        }
        assert!(is_ours(&name(3, true)) && is_ours(&name(0, false)));
    }
}
