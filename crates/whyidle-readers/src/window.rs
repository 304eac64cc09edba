//! What parsers see of the input: one contiguous stretch that can be extended at its end.
//!
//! Another thread reads and inflates into a small ring of buffers, so that memory stays
//! bounded whatever the size of the file. What was left unparsed of one buffer is copied
//! in front of the next, so nothing that parses needs to know where buffers meet.

use std::io::{self, BufReader, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::source::{Counted, Inflate, Progress};

/// Sizes of a buffer.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    /// Bytes that it takes from the input.
    chunk: usize,
    /// Room in front of them for what was left of the buffer before.
    headroom: usize,
}

const SIZES: Sizes = Sizes { chunk: 1 << 20, headroom: 1 << 16 };
/// Buffers in the ring: one parsed, one ready, one filled.
const RING: usize = 3;

/// A buffer on its way to the parser; `filled` bytes follow the headroom.
struct Chunk {
    bytes: Vec<u8>,
    filled: usize,
    /// Set on the last one.
    end: Option<End>,
}

/// How the input ended.
#[derive(Debug)]
pub(crate) enum End {
    /// As it should.
    Clean,
    /// The compressed stream is damaged or cut off.
    Damaged,
    /// The operating system reported an error.
    Failed(io::Error),
}

/// Runs `parse` over the bytes of `reader`, which are read and inflated on another thread.
/// Fails where no thread can be had.
pub(crate) fn with_window<R: Read + Send, T>(
    reader: R,
    progress: Progress<'_>,
    parse: impl FnOnce(&mut Window) -> T,
) -> io::Result<T> {
    with_sized_window(reader, progress, SIZES, parse)
}

fn with_sized_window<R: Read + Send, T>(
    reader: R,
    progress: Progress<'_>,
    sizes: Sizes,
    parse: impl FnOnce(&mut Window) -> T,
) -> io::Result<T> {
    let (full_in, full_out) = sync_channel(RING);
    let (empty_in, empty_out) = sync_channel(RING);
    for _ in 0..RING {
        // Cannot fail or block: the channel is new and holds RING.
        let _ = empty_in.try_send(Vec::new());
    }
    std::thread::scope(|scope| {
        let reader = Counted::new(reader, progress);
        std::thread::Builder::new()
            .name("inflate".to_owned())
            .spawn_scoped(scope, move || produce(reader, sizes, &full_in, &empty_out))?;
        let mut window = Window::new(sizes, full_out, empty_in);
        Ok(parse(&mut window))
        // Dropping the window closes both channels, which ends the producer.
    })
}

fn produce<R: Read>(reader: R, sizes: Sizes, full: &SyncSender<Chunk>, empty: &Receiver<Vec<u8>>) {
    let mut inflate = Inflate::new(BufReader::with_capacity(1 << 16, reader));
    while let Ok(mut bytes) = empty.recv() {
        bytes.resize(sizes.headroom + sizes.chunk, 0);
        let mut filled = 0;
        let mut end = None;
        while filled < sizes.chunk {
            match inflate.read(&mut bytes[sizes.headroom + filled..]) {
                Ok(0) => {
                    end = Some(End::Clean);
                    break;
                }
                Ok(n) => filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    end = Some(if inflate.is_damage(&error) { End::Damaged } else { End::Failed(error) });
                    break;
                }
            }
        }
        let last = end.is_some();
        if full.send(Chunk { bytes, filled, end }).is_err() || last {
            return;
        }
    }
}

/// The unparsed part of the input that is in memory.
pub(crate) struct Window {
    sizes: Sizes,
    bytes: Vec<u8>,
    /// Unparsed bytes are `bytes[at..end]`.
    at: usize,
    end: usize,
    /// Offset in the input of `bytes[at]`.
    offset: u64,
    ended: Option<End>,
    full: Receiver<Chunk>,
    empty: SyncSender<Vec<u8>>,
}

impl Window {
    fn new(sizes: Sizes, full: Receiver<Chunk>, empty: SyncSender<Vec<u8>>) -> Self {
        Self { sizes, bytes: Vec::new(), at: 0, end: 0, offset: 0, ended: None, full, empty }
    }

    /// What is in memory and not yet consumed.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.at..self.end]
    }

    /// Offset in the (inflated) input of the first byte of [`rest`](Self::rest).
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Marks `n` bytes as parsed.
    pub(crate) fn consume(&mut self, n: usize) {
        let n = n.min(self.end - self.at);
        self.at += n;
        self.offset += n as u64;
    }

    /// Whether all that is left of the input is in memory.
    pub(crate) fn ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Whether the input ended because its compressed stream is damaged.
    pub(crate) fn is_damaged(&self) -> bool {
        matches!(self.ended, Some(End::Damaged))
    }

    /// The system's error, if that is how the input ended.
    pub(crate) fn take_failure(&mut self) -> Option<io::Error> {
        match self.ended.take()? {
            End::Failed(error) => {
                self.ended = Some(End::Clean);
                Some(error)
            }
            end => {
                self.ended = Some(end);
                None
            }
        }
    }

    /// Extends [`rest`](Self::rest) by at least its own length, so that asking again and
    /// again stays linear; false if the input has ended.
    pub(crate) fn extend(&mut self) -> bool {
        let wanted = (self.end - self.at) * 2;
        let mut extended = false;
        while self.ended.is_none() && (!extended || self.end - self.at < wanted) {
            extended |= self.take_chunk();
        }
        extended
    }

    fn take_chunk(&mut self) -> bool {
        let Ok(Chunk { mut bytes, filled, end }) = self.full.recv() else {
            self.ended = Some(End::Clean);
            return false;
        };
        self.ended = end;
        let kept = self.end - self.at;
        let Sizes { chunk, headroom } = self.sizes;
        let spare = if kept <= headroom {
            bytes[headroom - kept..headroom].copy_from_slice(&self.bytes[self.at..self.end]);
            self.at = headroom - kept;
            self.end = headroom + filled;
            std::mem::replace(&mut self.bytes, bytes)
        } else {
            self.bytes.drain(self.end..);
            self.bytes.drain(..self.at);
            self.bytes.extend_from_slice(&bytes[headroom..headroom + filled]);
            self.at = 0;
            self.end = self.bytes.len();
            bytes
        };
        // A buffer that grew for one giant event is not worth keeping.
        let spare = if spare.capacity() > 2 * (headroom + chunk) { Vec::new() } else { spare };
        let _ = self.empty.try_send(spare);
        filled > 0
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// As [`with_window`], with tiny buffers: everything meets their borders.
    pub(crate) fn with_tiny_window<T>(
        bytes: &[u8],
        chunk: usize,
        headroom: usize,
        parse: impl FnOnce(&mut Window) -> T,
    ) -> T {
        with_sized_window(bytes, None, Sizes { chunk, headroom }, parse).expect("a thread")
    }

    #[test]
    fn the_window_passes_over_the_input_in_order() {
        let input: Vec<u8> = (0..=255).cycle().take(5_000).collect();
        for (chunk, headroom, step) in [(1, 0, 1), (7, 3, 2), (64, 8, 50), (4096, 16, 4096), (10_000, 1, 999)]
        {
            let seen = with_tiny_window(&input, chunk, headroom, |window| {
                let mut seen = Vec::new();
                loop {
                    while window.rest().len() < step && window.extend() {}
                    let take = window.rest().len().min(step);
                    if take == 0 {
                        return seen;
                    }
                    assert_eq!(window.offset(), seen.len() as u64);
                    seen.extend_from_slice(&window.rest()[..take]);
                    window.consume(take);
                }
            });
            assert!(seen == input, "chunk {chunk}, headroom {headroom}");
        }
    }
}
