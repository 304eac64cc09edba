//! Hands out the inputs' documents in order, some chunks at a time.

use whyidle_readers::documents::{Chunk, Documents, Reading};

use crate::FeedError;
use crate::settings::Input;

/// Bytes of a chunk: what one thread works on at a time.
const CHUNK: usize = 64 << 10;

/// Reads the inputs one after the other.
pub(crate) struct Feeder<'a> {
    inputs: &'a [Input],
    reading: &'a Reading,
    /// The input that is read.
    at: usize,
    open: Option<Documents>,
    /// Where the first begins.
    place: u64,
    /// Bytes of the inputs before it.
    before: u64,
}

impl<'a> Feeder<'a> {
    /// Goes on at a place in the input `at`.
    pub(crate) fn new(inputs: &'a [Input], reading: &'a Reading, at: usize, place: u64) -> Self {
        let before = inputs.iter().take(at).map(|input| input.bytes).sum();
        Self { inputs, reading, at, open: None, place, before }
    }

    /// The next chunks with the number of their input, of some `size` bytes together; none at the end.
    pub(crate) fn next(&mut self, size: usize) -> Result<Vec<(usize, Chunk)>, FeedError> {
        let (mut chunks, mut total) = (Vec::new(), 0);
        while total < size && self.at < self.inputs.len() {
            let documents = match &mut self.open {
                Some(documents) => documents,
                none => {
                    let mut documents = Documents::open(&self.inputs[self.at].path, self.reading)?;
                    if self.place > 0 {
                        documents.skip_to(std::mem::take(&mut self.place))?;
                    }
                    none.insert(documents)
                }
            };
            match documents.next(CHUNK)? {
                Some(chunk) => {
                    // A chunk of notes alone weighs something too.
                    total += chunk.size().max(1);
                    chunks.push((self.at, chunk));
                }
                None => {
                    self.before += self.inputs[self.at].bytes;
                    self.open = None;
                    self.at += 1;
                }
            }
        }
        Ok(chunks)
    }

    /// Bytes of the inputs that were read.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.before + self.open.as_ref().map_or(0, Documents::bytes_read)
    }
}
