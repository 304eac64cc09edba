//! The bytes of a file, unpacked where it is gzipped or in Zstandard.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

/// Bytes that are read at once.
const BUFFER: usize = 1 << 16;
/// The largest window of a Zstandard stream that is unpacked, as a power of two: what `--long` without a number writes.
const WINDOW: u32 = 27;

/// A file's bytes, unpacked.
pub(super) struct Unpacked {
    source: Packing,
    read: Arc<AtomicU64>,
    failed: Arc<AtomicBool>,
}

enum Packing {
    Plain(BufReader<Watched>),
    Packed(BufReader<Box<dyn Read + Send>>),
}

/// Counts what is read, and remembers that the system failed: what else fails is the file's fault.
struct Watched {
    file: File,
    read: Arc<AtomicU64>,
    failed: Arc<AtomicBool>,
}

impl Read for Watched {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.file.read(into) {
            Ok(count) => {
                self.read.fetch_add(count as u64, Ordering::Relaxed);
                Ok(count)
            }
            Err(error) => {
                self.failed.store(error.kind() != io::ErrorKind::Interrupted, Ordering::Relaxed);
                Err(error)
            }
        }
    }
}

impl Unpacked {
    /// Of `file`, which begins with `magic`.
    pub(super) fn new(file: File, magic: &[u8]) -> io::Result<Self> {
        let (read, failed) = (Arc::default(), Arc::default());
        let watched = Watched { file, read: Arc::clone(&read), failed: Arc::clone(&failed) };
        let buffered = BufReader::with_capacity(BUFFER, watched);
        let source = match magic {
            [0x1f, 0x8b, ..] => Packing::packed(MultiGzDecoder::new(buffered)),
            // A frame, or one to be skipped, as pzstd writes first.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(buffered)?;
                decoder.window_log_max(WINDOW)?;
                Packing::packed(decoder)
            }
            _ => Packing::Plain(buffered),
        };
        Ok(Self { source, read, failed })
    }

    /// What comes next, at most `count` bytes and at least one unless it is the end; `None` where it is damaged.
    pub(super) fn peek(&mut self, count: usize) -> io::Result<Option<&[u8]>> {
        let failed = Arc::clone(&self.failed);
        match self.buffer() {
            Ok(bytes) => Ok(Some(&bytes[..bytes.len().min(count)])),
            Err(error) if failed.load(Ordering::Relaxed) => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Skips the mark that says that a text is UTF-8.
    pub(super) fn skip_mark(&mut self) -> io::Result<()> {
        if self.peek(3)? == Some(&b"\xef\xbb\xbf"[..]) {
            match &mut self.source {
                Packing::Plain(source) => source.consume(3),
                Packing::Packed(source) => source.consume(3),
            }
        }
        Ok(())
    }

    fn buffer(&mut self) -> io::Result<&[u8]> {
        match &mut self.source {
            Packing::Plain(source) => source.fill_buf(),
            Packing::Packed(source) => source.fill_buf(),
        }
    }

    /// Skips `count` bytes; fewer where there are no more.
    pub(super) fn skip(&mut self, count: u64) -> io::Result<()> {
        match &mut self.source {
            Packing::Plain(source) => {
                let to = source.stream_position()?.saturating_add(count);
                source.seek(SeekFrom::Start(to))?;
                self.read.fetch_add(count, Ordering::Relaxed);
            }
            Packing::Packed(source) => {
                io::copy(&mut source.take(count), &mut io::sink())?;
            }
        }
        Ok(())
    }

    /// Bytes of the file that were read.
    pub(super) fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// The system failed, not the unpacking.
    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }
}

impl Packing {
    fn packed(source: impl Read + Send + 'static) -> Self {
        Self::Packed(BufReader::with_capacity(BUFFER, Box::new(source)))
    }
}

impl Seek for Watched {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Read for Unpacked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match &mut self.source {
            Packing::Plain(source) => source.read(into),
            Packing::Packed(source) => source.read(into),
        }
    }
}
