//! Reads a small file as another process sees it. What lies there is that process's: links are followed inside its own
//! root and never out of it, nothing but a plain file is read, and no more of it than is wanted.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::place::owner;

/// The first `most` bytes of `path` (absolute, as the process `pid` sees it), as text; `None` where it is no plain file or
/// may not be read. On systems that cannot keep links inside, `None` as well, unless `trusted`: then they are followed.
pub(crate) fn read_inside(pid: u32, path: &str, most: u64, trusted: bool) -> Option<String> {
    read_below(&format!("/proc/{pid}/root"), path, most, trusted, owner(pid)?)
}

/// `user`: whose process it is. What only others may read is not read for it: a stack can name any file.
fn read_below(root: &str, path: &str, most: u64, trusted: bool, user: u32) -> Option<String> {
    let inside = path.trim_start_matches('/');
    let how = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let dir = File::open(root).ok()?;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    let file = match openat2(&dir, inside, how, Mode::empty(), resolve) {
        Ok(file) => File::from(file),
        Err(Errno::NOSYS | Errno::PERM) if trusted => {
            let whole = Path::new(root).join(inside);
            // A pipe would keep whoever opens it.
            if !std::fs::metadata(&whole).ok()?.is_file() {
                return None;
            }
            File::open(whole).ok()?
        }
        Err(_) => return None,
    };
    let about = file.metadata().ok()?;
    let is_theirs = about.uid() == user || about.mode() & 0o004 != 0;
    if !about.is_file() || !is_theirs {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_inside_and_only_plain_files_are_read() -> std::io::Result<()> {
        let dir = tempfile::tempdir()?;
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir(at("run"))?;
        std::fs::write(at("run/namespace"), "team-a and more")?;
        std::os::unix::fs::symlink("/run", at("var"))?;
        std::os::unix::fs::symlink("/etc/passwd", at("out"))?;
        std::os::unix::fs::symlink("../../../../etc/passwd", at("up"))?;
        std::process::Command::new("mkfifo").arg(at("pipe")).status()?;
        let root = dir.path().display().to_string();
        let own = owner(std::process::id()).unwrap_or(0);
        let read = |path: &str| read_below(&root, path, 6, false, own);
        // A kernel before 5.6 keeps nothing inside: then nothing is read.
        if let Some(found) = read("/var/namespace") {
            assert_eq!(found, "team-a");
            let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(at("run/namespace"), private)?;
            assert_eq!(read_below(&root, "/run/namespace", 6, false, own + 1), None);
            assert!(read("/run/namespace").is_some());
        }
        for wrong in ["/out", "/up", "/pipe", "/run", "/none", "", "/proc/self/environ"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        Ok(())
    }

    #[test]
    fn a_process_sees_its_own_files() {
        assert!(read_inside(std::process::id(), "/etc/passwd", 1 << 20, true).is_some());
        assert_eq!(read_inside(u32::MAX, "/etc/passwd", 10, true), None);
    }
}
