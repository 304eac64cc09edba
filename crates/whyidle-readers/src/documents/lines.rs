//! Whole lines of a text, some at a time.

use std::io::{self, Read};

use whyidle_model::{ImportNotes, NoteCode};

use super::LONGEST;
use super::unpacked::Unpacked;

/// A source of bytes that says whose fault a failure is, and can skip.
pub(super) trait Bytes: Read {
    /// The system failed, not the unpacking.
    fn has_failed(&self) -> bool;
    /// Skips bytes.
    fn skip(&mut self, count: u64) -> io::Result<()>;
}

impl Bytes for Unpacked {
    fn has_failed(&self) -> bool {
        Unpacked::has_failed(self)
    }

    fn skip(&mut self, count: u64) -> io::Result<()> {
        Unpacked::skip(self, count)
    }
}

/// The lines of `source`.
pub(super) struct Lines<R> {
    source: R,
    /// Read and not handed out: the beginning of a line.
    held: Vec<u8>,
    /// Bytes handed out or left out.
    place: u64,
    /// Within a line that is too long.
    is_skipping: bool,
    is_over: bool,
}

impl<R: Bytes> Lines<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, held: Vec::new(), place: 0, is_skipping: false, is_over: false }
    }

    pub(super) fn source(&self) -> &R {
        &self.source
    }

    /// Bytes up to the end of what was handed out.
    pub(super) fn place(&self) -> u64 {
        self.place
    }

    /// Goes on at `place`, before anything was read.
    pub(super) fn skip_to(&mut self, place: u64) -> io::Result<()> {
        self.place = place;
        self.source.skip(place)
    }

    /// The next whole lines, of at least `size` bytes together unless the text ends; `None` at its end.
    pub(super) fn next(&mut self, size: usize, notes: &mut ImportNotes) -> io::Result<Option<Vec<u8>>> {
        while !self.is_over {
            let read = self.fill(size, notes)?;
            if self.is_skipping {
                let line = memchr::memchr(b'\n', &self.held);
                self.leave_out(line.map_or(self.held.len(), |end| end + 1));
                self.is_skipping = line.is_none() && read;
            }
            if self.held.len() >= size || !read {
                // At the end, what has no line end is a line too; unless the text is damaged there.
                let end = if read {
                    memchr::memrchr(b'\n', &self.held).map(|at| at + 1)
                } else {
                    Some(self.held.len())
                };
                match end {
                    Some(0) => {}
                    Some(end) => {
                        let rest = self.held.split_off(end);
                        self.place += end as u64;
                        return Ok(Some(std::mem::replace(&mut self.held, rest)));
                    }
                    None if self.held.len() > LONGEST => {
                        notes.add(NoteCode::LongDocument, Some(self.place));
                        self.leave_out(self.held.len());
                        self.is_skipping = true;
                    }
                    None => {}
                }
            }
        }
        Ok(None)
    }

    fn leave_out(&mut self, count: usize) {
        self.place += count as u64;
        self.held.drain(..count);
    }

    /// Reads on; false at the end.
    fn fill(&mut self, size: usize, notes: &mut ImportNotes) -> io::Result<bool> {
        // Twice as much each time: a line's end is looked for from the back.
        let count = size.max(self.held.len()).max(1);
        let before = self.held.len();
        match (&mut self.source).take(count as u64).read_to_end(&mut self.held) {
            Ok(0) => self.is_over = true,
            Ok(_) => {}
            Err(error) if self.source.has_failed() => return Err(error),
            Err(_) => {
                // What was unpacked before the damage stands; the line that it falls into does not.
                notes.add(NoteCode::DamagedCompression, Some(self.place + self.held.len() as u64));
                let whole = memchr::memrchr(b'\n', &self.held).map_or(0, |at| at + 1);
                self.held.truncate(whole);
                self.is_over = true;
            }
        }
        Ok(!self.is_over && self.held.len() > before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Text(io::Cursor<Vec<u8>>);

    impl Read for Text {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.0.read(into)
        }
    }

    impl Bytes for Text {
        fn has_failed(&self) -> bool {
            false
        }

        fn skip(&mut self, count: u64) -> io::Result<()> {
            self.0.set_position(self.0.position() + count);
            Ok(())
        }
    }

    fn chunks(text: &[u8], size: usize, from: u64) -> (Vec<(Vec<u8>, u64)>, ImportNotes) {
        let mut lines = Lines::new(Text(io::Cursor::new(text.to_vec())));
        let (mut notes, mut found) = (ImportNotes::default(), Vec::new());
        lines.skip_to(from).expect("it is memory");
        while let Some(chunk) = lines.next(size, &mut notes).expect("it is memory") {
            found.push((chunk, lines.place()));
        }
        (found, notes)
    }

    #[test]
    fn chunks_are_whole_lines_and_reading_goes_on_at_each_end() {
        let text = b"one\ntwo\n\nthree and more\nfour";
        for size in 1..40 {
            let (found, notes) = chunks(text, size, 0);
            assert_eq!(notes, ImportNotes::default());
            assert_eq!(found.concat_bytes(), text, "{size}");
            for (at, (chunk, place)) in found.iter().enumerate() {
                assert!(chunk.ends_with(b"\n") || at + 1 == found.len());
                let (rest, _) = chunks(text, size, *place);
                assert_eq!(rest.concat_bytes(), &text[*place as usize..]);
            }
        }
        assert_eq!(chunks(b"", 8, 0).0, []);
    }

    trait Concat {
        fn concat_bytes(&self) -> Vec<u8>;
    }

    impl Concat for Vec<(Vec<u8>, u64)> {
        fn concat_bytes(&self) -> Vec<u8> {
            self.iter().flat_map(|(chunk, _)| chunk.clone()).collect()
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_left_out() {
        let mut text = b"before\n".to_vec();
        text.extend(std::iter::repeat_n(b'x', LONGEST * 2));
        text.extend_from_slice(b"\nafter\n");
        let (found, notes) = chunks(&text, 1 << 16, 0);
        let kept: Vec<u8> = found.concat_bytes();
        assert_eq!(kept, b"before\nafter\n");
        assert_eq!(notes.count(NoteCode::LongDocument), 1);
        let (_, at) = &found[found.len() - 1];
        assert_eq!(*at, text.len() as u64);
    }
}
