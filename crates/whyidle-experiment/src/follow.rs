//! Follows what a running program tells of itself: the lines that it prints, and the files of the start-up hook. The
//! program may write what it likes into that folder: only plain files are read, and no more than so much of each.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use whyidle_observe::captured::Line;
use whyidle_observe::hook::Hook;
use whyidle_readers::progress::printed::{Printed, Words};
use whyidle_readers::progress::steps::Steps;
use whyidle_readers::progress::tries::{self, Tried};

use crate::progress::Seen;

/// What PyTorch and CUDA say when memory is out.
const OUT_OF_MEMORY: [&str; 3] = ["OutOfMemoryError", "CUDA out of memory", "CUDA error: out of memory"];
/// Of a file of steps this much is read: a hundred bytes a step, so a million steps and more.
const LONGEST: u64 = 256 << 20;
/// Of an account of changes.
const LONGEST_ACCOUNT: u64 = 1 << 20;
/// Files of a run: as many as a large node has ranks and workers, and then some.
const MOST_FILES: usize = 1_024;

/// What was told so far.
pub(crate) struct Follower<'a> {
    words: &'a Words,
    hook: Option<&'a Hook>,
    /// Files of steps, in the order of those in `seen`, and what may still be read of them.
    files: Vec<(PathBuf, std::io::Take<File>)>,
    /// Files that say what was changed.
    tries: Vec<PathBuf>,
    /// Lines and steps.
    pub(crate) seen: Seen,
    /// It said that memory is out.
    pub(crate) out_of_memory: bool,
}

impl<'a> Follower<'a> {
    /// Nothing yet.
    pub(crate) fn new(words: &'a Words, hook: Option<&'a Hook>) -> Self {
        Self {
            words,
            hook,
            files: Vec::new(),
            tries: Vec::new(),
            seen: Seen::default(),
            out_of_memory: false,
        }
    }

    /// Takes in lines that it printed.
    pub(crate) fn lines(&mut self, lines: impl Iterator<Item = Line>) {
        for line in lines {
            self.out_of_memory |= OUT_OF_MEMORY.iter().any(|words| line.text.contains(words));
            let said = self.words.read(&line.text);
            if said != Printed::default() {
                self.seen.lines.push((line.at, said));
            }
        }
    }

    /// Reads on in the files of the hook.
    pub(crate) fn files(&mut self) {
        let Some(hook) = self.hook else { return };
        for path in std::fs::read_dir(hook.steps()).into_iter().flatten().flatten().map(|entry| entry.path())
        {
            let is_account =
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("tries-"));
            let is_known = self.tries.contains(&path) || self.files.iter().any(|(known, _)| *known == path);
            if is_known || self.tries.len() + self.files.len() >= MOST_FILES {
                continue;
            }
            if is_account {
                self.tries.push(path);
            } else if let Some(file) = plain(&path) {
                self.files.push((path, file.take(LONGEST)));
                self.seen.files.push(Steps::default());
            }
        }
        for ((_, file), steps) in self.files.iter_mut().zip(&mut self.seen.files) {
            let mut new = Vec::new();
            if file.read_to_end(&mut new).is_ok() {
                steps.feed(&new);
            }
        }
    }

    /// What was changed in the program, each thing once: ranks and workers say the same.
    pub(crate) fn tried(&self) -> Vec<Tried> {
        let mut paths = self.tries.clone();
        paths.sort();
        let mut all: Vec<Tried> = Vec::new();
        for file in paths.iter().filter_map(|path| plain(path)) {
            let mut text = Vec::new();
            let _ = file.take(LONGEST_ACCOUNT).read_to_end(&mut text);
            for tried in tries::read(&text) {
                if !all.contains(&tried) {
                    all.push(tried);
                }
            }
        }
        all
    }
}

/// The file, if it is a plain one: a link, a pipe or a device may have no end.
fn plain(path: &Path) -> Option<File> {
    let is_plain = path.symlink_metadata().is_ok_and(|found| found.is_file());
    if is_plain { File::open(path).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_not_read() -> std::io::Result<()> {
        let dir = tempfile::tempdir()?;
        let hook = Hook::lay(dir.path())?;
        std::os::unix::fs::symlink("/dev/zero", hook.steps().join("tries-1.jsonl"))?;
        std::os::unix::fs::symlink("/dev/zero", hook.steps().join("steps-1.jsonl"))?;
        let said = "{\"try\": \"tf32\", \"did\": \"not\", \"why\": \"no-gpu\"}\n";
        std::fs::write(hook.steps().join("tries-2.jsonl"), said.repeat(3))?;
        std::fs::write(hook.steps().join("steps-2.jsonl"), "{\"schema\":\"whyidle.steps/1\",\"pid\":2}\n")?;
        let words = Words::default();
        let mut follower = Follower::new(&words, Some(&hook));
        follower.files();
        follower.files();
        assert_eq!((follower.seen.files.len(), follower.tried().len()), (1, 1));
        assert_eq!(follower.seen.files[0].writer.pid, Some(2));
        Ok(())
    }
}
