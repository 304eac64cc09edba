//! One experiment at a time on a GPU: two would measure each other. Who experiments holds a lock on a file for each GPU
//! that its programs may use; the system gives it up with the process, whatever ended it.

use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use crate::gpu::Gpus;
use crate::redact;

/// The locks of an experiment.
#[derive(Debug)]
pub struct Turn {
    _locks: Vec<File>,
}

/// Why there is no turn.
#[derive(Debug)]
pub enum NoTurn {
    /// Another experiment has it: what it said of itself (`4711 whyidle bench …`), and the GPU.
    Taken(String, String),
    /// A lock could not be made.
    Io(PathBuf, io::Error),
}

impl Turn {
    /// Takes the turn for every GPU in `gpus` (see [`gpus`]); `about` tells others who has it.
    ///
    /// # Errors
    /// Where another experiment has one of them, or no lock can be made.
    pub fn take(gpus: &[String], about: &str) -> Result<Self, NoTurn> {
        // Everybody may read it.
        Self::take_in(&folder(), gpus, &redact::text(about))
    }

    fn take_in(folder: &Path, gpus: &[String], about: &str) -> Result<Self, NoTurn> {
        let failed = |error| NoTurn::Io(folder.to_owned(), error);
        fs::create_dir_all(folder).map_err(failed)?;
        let mut locks = Vec::new();
        let mut gpus = gpus.to_vec();
        // In one order everywhere.
        gpus.sort();
        for gpu in gpus {
            let name: String = gpu.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
            let path = folder.join(format!("{name}.lock"));
            let open = File::options().read(true).write(true).create(true).truncate(false).open(&path);
            let mut file = open.map_err(|error| NoTurn::Io(path.clone(), error))?;
            match file.try_lock() {
                Ok(()) => {
                    let said = file.set_len(0).and_then(|()| file.rewind());
                    // The lock counts; its words are a courtesy.
                    let _ = said.and_then(|()| writeln!(file, "{} {about}", std::process::id()));
                    locks.push(file);
                }
                Err(TryLockError::WouldBlock) => {
                    let said = fs::read_to_string(&path).unwrap_or_default();
                    return Err(NoTurn::Taken(said.trim().to_owned(), gpu));
                }
                Err(TryLockError::Error(error)) => return Err(NoTurn::Io(path, error)),
            }
        }
        Ok(Self { _locks: locks })
    }
}

/// `$XDG_RUNTIME_DIR/whyidle`, or a folder of this user among the temporary files.
fn folder() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty()) {
        Some(dir) => Path::new(&dir).join("whyidle"),
        None => std::env::temp_dir().join(format!("whyidle-{}.locks", rustix::process::geteuid().as_raw())),
    }
}

/// The GPUs that a program of this environment may use, by their unique ids; without any, the machine's cores stand
/// for one.
#[must_use]
pub fn gpus() -> Vec<String> {
    let cards = Gpus::open().map(|gpus| gpus.cards()).unwrap_or_default();
    let ids: Vec<String> = cards.into_iter().map(|card| card.uuid).collect();
    let visible = std::env::var("CUDA_VISIBLE_DEVICES").ok();
    let seen = seen(&ids, visible.as_deref());
    if seen.is_empty() { vec!["cores".to_owned()] } else { seen }
}

/// Of all ids those that `CUDA_VISIBLE_DEVICES` lets through: numbers, or beginnings of ids.
fn seen(ids: &[String], visible: Option<&str>) -> Vec<String> {
    let Some(visible) = visible else { return ids.to_vec() };
    let one = |part: &str| match part.parse::<usize>() {
        Ok(number) => ids.get(number).cloned(),
        Err(_) => ids.iter().find(|id| !part.is_empty() && id.starts_with(part)).cloned(),
    };
    visible.split(',').map(str::trim).map_while(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_experiment_on_a_gpu_is_told_who_has_it() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let gpus = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let Ok(first) = Turn::take_in(dir.path(), &gpus(&["GPU-a", "GPU-b"]), "bench -- python a.py") else {
            panic!("the first one has its turn")
        };
        match Turn::take_in(dir.path(), &gpus(&["GPU-b"]), "compare") {
            Err(NoTurn::Taken(who, gpu)) => {
                assert_eq!(
                    (who, gpu),
                    (format!("{} bench -- python a.py", std::process::id()), "GPU-b".to_owned())
                );
            }
            other => panic!("{other:?}"),
        }
        assert!(Turn::take_in(dir.path(), &gpus(&["GPU-c"]), "compare").is_ok());
        drop(first);
        assert!(Turn::take_in(dir.path(), &gpus(&["GPU-b"]), "compare").is_ok());
        Ok(())
    }

    #[test]
    fn only_visible_gpus_count() {
        let ids = ["GPU-aa", "GPU-ab", "GPU-b"].map(str::to_owned);
        assert_eq!(seen(&ids, None).len(), 3);
        assert_eq!(seen(&ids, Some("2, 0")), ["GPU-b", "GPU-aa"]);
        assert_eq!(seen(&ids, Some("GPU-ab")), ["GPU-ab"]);
        // As CUDA does: nothing after the first that is not there.
        assert_eq!(seen(&ids, Some("7,0")), Vec::<String>::new());
        assert_eq!(seen(&ids, Some("")), Vec::<String>::new());
    }
}
