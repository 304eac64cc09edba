//! Where bytes come from: a file or a stream, counted as it is read, and inflated if it
//! begins like gzip.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::GzDecoder;

/// Called with the number of (compressed) bytes read so far.
pub(crate) type Progress<'a> = Option<&'a (dyn Fn(u64) + Sync)>;

/// Counts what is read and says so.
pub(crate) struct Counted<'a, R> {
    reader: R,
    read: u64,
    progress: Progress<'a>,
}

impl<'a, R> Counted<'a, R> {
    pub(crate) fn new(reader: R, progress: Progress<'a>) -> Self {
        Self { reader, read: 0, progress }
    }
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buf)?;
        self.read += n as u64;
        if let Some(progress) = self.progress {
            progress(self.read);
        }
        Ok(n)
    }
}

/// Bytes as they are, or inflated where they begin like gzip; members that follow one
/// another are one stream, and what follows the last one is ignored, as gzip does.
pub(crate) enum Inflate<R: BufRead> {
    Undecided(R),
    Plain(R),
    Gzip(Box<GzDecoder<R>>),
    Done,
}

impl<R: BufRead> Inflate<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self::Undecided(reader)
    }

    /// Whether an error is one of the compressed data, not of the system.
    pub(crate) fn is_damage(&self, error: &io::Error) -> bool {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        !matches!(self, Self::Plain(_)) && matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
    }
}

impl<R: BufRead> Read for Inflate<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(self, Self::Done) {
                Self::Undecided(mut reader) => {
                    let gzip = is_gzip(reader.fill_buf()?);
                    *self =
                        if gzip { Self::Gzip(Box::new(GzDecoder::new(reader))) } else { Self::Plain(reader) };
                }
                Self::Plain(mut reader) => {
                    let read = reader.read(buf);
                    *self = Self::Plain(reader);
                    return read;
                }
                Self::Gzip(mut decoder) => match decoder.read(buf) {
                    Ok(0) => {
                        let mut reader = decoder.into_inner();
                        if is_gzip(reader.fill_buf()?) {
                            *self = Self::Gzip(Box::new(GzDecoder::new(reader)));
                        } else {
                            return Ok(0);
                        }
                    }
                    read => {
                        *self = Self::Gzip(decoder);
                        return read;
                    }
                },
                Self::Done => return Ok(0),
            }
        }
    }
}

/// Whether `head` begins like a gzip file.
pub(crate) fn is_gzip(head: &[u8]) -> bool {
    head.starts_with(&[0x1f, 0x8b])
}

/// Up to `limit` bytes from the start of `reader`, inflated; what can be had if it is damaged.
pub(crate) fn head(reader: impl Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut inflate = Inflate::new(BufReader::with_capacity(1 << 14, reader));
    let mut head = vec![0; limit];
    let mut filled = 0;
    while filled < limit {
        match inflate.read(&mut head[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if inflate.is_damage(&error) => break,
            Err(error) => return Err(error),
        }
    }
    head.truncate(filled);
    Ok(head)
}
