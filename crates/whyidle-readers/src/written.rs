//! Files that are written: whole or not at all, and gzipped where that is wanted.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Lets `make` write what is to stand at `path`, a file or a folder, under a name beside it, and gives it its name when it
/// is whole. A file that stands there is replaced; what is neither file nor folder – a device, a pipe – never is.
///
/// # Errors
/// Where `make` fails, or the name cannot be given; nothing stays behind then.
pub fn place<E: From<io::Error>>(path: &Path, make: impl FnOnce(&Path) -> Result<(), E>) -> Result<(), E> {
    // A link stands for what it points to: replacing the link would leave that as it was.
    let special = |path: &Path| path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir());
    if special(path) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "neither a file nor a folder").into());
    }
    let beside = beside(path).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let placed = make(&beside).and_then(|()| Ok(std::fs::rename(&beside, path)?));
    if placed.is_err() {
        // The half-written one must not stay behind; that it may not exist is no further fault.
        let _ =
            if beside.is_dir() { std::fs::remove_dir_all(&beside) } else { std::fs::remove_file(&beside) };
    }
    placed
}

/// The name under which this process writes what is to stand at `path`; `None` where that names nothing.
#[must_use]
pub fn beside(path: &Path) -> Option<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(folder.join(format!(".{}.{}", path.file_name()?.to_string_lossy(), std::process::id())))
}

/// Writes plainly or gzipped.
pub enum Packed<W: Write> {
    /// As it is.
    Plain(BufWriter<W>),
    /// Gzipped.
    Gzip(Box<GzEncoder<BufWriter<W>>>),
}

impl Packed<File> {
    /// A new file.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn create(path: &Path, gzip: bool) -> io::Result<Self> {
        Ok(Self::new(File::create(path)?, gzip))
    }
}

impl<W: Write> Packed<W> {
    /// Onto `out`.
    pub fn new(out: W, gzip: bool) -> Self {
        let out = BufWriter::new(out);
        if gzip {
            Self::Gzip(Box::new(GzEncoder::new(out, Compression::default())))
        } else {
            Self::Plain(out)
        }
    }

    /// Writes what is still held back. Without it, a gzipped file is cut off.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(mut out) => out.flush(),
            Self::Gzip(out) => out.finish()?.flush(),
        }
    }
}

impl<W: Write> Write for Packed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(bytes),
            Self::Gzip(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Gzip(out) => out.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_whole_or_not_at_all() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("out");
        place(&path, |beside| std::fs::write(beside, "first"))?;
        let failed = place(&path, |beside| {
            std::fs::write(beside, "half")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read_to_string(&path)?, "first");
        assert_eq!(std::fs::read_dir(dir.path())?.count(), 1);
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_not_replaced() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let link = dir.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &link)?;
        assert!(place(&link, |beside| std::fs::write(beside, "x")).is_err());
        assert!(link.is_symlink());
        Ok(())
    }
}
