//! What a measurement was made on: the machine, the code's state in git, and the variables that bear on speed.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::tree::environment;

/// The surroundings of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Name of the host.
    pub host: Option<String>,
    /// Model of the processor.
    pub processor: Option<String>,
    /// Cores that a program may use.
    pub cores: Option<usize>,
    /// Version of the kernel.
    pub kernel: Option<String>,
    /// The commit that is checked out in the working directory.
    pub commit: Option<String>,
    /// Files there differ from the commit, or are not known to git. Absent without a commit.
    pub dirty: Option<bool>,
    /// The variables that bear on speed, of those that a program inherits.
    pub variables: BTreeMap<String, String>,
}

/// The surroundings of a program that starts in `dir`.
#[must_use]
pub fn surroundings(dir: &Path) -> Surroundings {
    let line = |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let processor = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let model = text.lines().find(|line| line.starts_with("model name"))?;
        model.split_once(':').map(|(_, name)| name.trim().to_owned())
    });
    let commit = git(dir, &["rev-parse", "HEAD"]).map(|text| text.trim().to_owned());
    let dirty =
        commit.as_ref().and_then(|_| git(dir, &["status", "--porcelain"])).map(|text| !text.is_empty());
    Surroundings {
        host: line("/proc/sys/kernel/hostname"),
        processor,
        cores: std::thread::available_parallelism().map(usize::from).ok(),
        kernel: line("/proc/sys/kernel/osrelease"),
        commit: commit.filter(|commit| !commit.is_empty()),
        dirty,
        variables: environment(std::process::id()),
    }
}

/// The commit that `reference` – a hash, a branch, a tag – names in the repository of `dir`.
#[must_use]
pub fn commit_of(dir: &Path, reference: &str) -> Option<String> {
    let wanted = format!("{reference}^{{commit}}");
    let found = git(dir, &["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted])?;
    Some(found.trim().to_owned()).filter(|commit| !commit.is_empty())
}

/// What git says; `None` where there is no git, or no repository. It takes no lock of the user's repository.
fn git(dir: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .arg("--no-optional-locks")
        .args(arguments)
        .current_dir(dir)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_and_whether_files_differ_are_found() -> std::io::Result<()> {
        let dir = tempfile::tempdir()?;
        assert_eq!(surroundings(dir.path()).commit, None);
        let git = |arguments: &[&str]| Command::new("git").args(arguments).current_dir(dir.path()).output();
        let as_somebody = ["-c", "user.name=a", "-c", "user.email=a@b"];
        let Ok(_) = git(&["init", "--quiet"]) else { return Ok(()) };
        git(&[&as_somebody[..], &["commit", "--quiet", "--allow-empty", "--message", "x"]].concat())?;
        let found = surroundings(dir.path());
        assert!(found.commit.as_ref().is_some_and(|commit| commit.len() == 40), "a commit");
        assert_eq!(found.dirty, Some(false));
        assert_eq!(commit_of(dir.path(), "HEAD"), found.commit);
        for none in ["", "--help", "-x", "HEAD HEAD", "no-such-branch", "HEAD^{tree}", "$(true)", "a\nb"] {
            assert_eq!(commit_of(dir.path(), none), None, "{none}");
        }
        std::fs::write(dir.path().join("new"), "")?;
        assert_eq!(surroundings(dir.path()).dirty, Some(true));
        Ok(())
    }
}
