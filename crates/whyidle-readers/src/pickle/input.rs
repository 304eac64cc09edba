//! Where the bytes of a pickle come from: memory, or a file that is read through a small window.

use std::io::{self, Read};

use super::op::Input;

/// Bytes in memory.
pub(crate) struct Slice<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
}

impl Input for Slice<'_> {
    fn at(&self) -> u64 {
        self.at as u64
    }

    fn take(&mut self, length: u64) -> Option<&[u8]> {
        let end = self.at.checked_add(usize::try_from(length).ok()?)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }
}

/// The window's size, bytes.
const WINDOW: usize = 1 << 18;

/// Longer text is given in part: names of that length are no names.
const LONGEST: usize = 1 << 16;

/// A file, through a window.
pub(crate) struct Window<R> {
    reader: R,
    window: Vec<u8>,
    from: usize,
    until: usize,
    /// Bytes before the window.
    before: u64,
    /// The beginning of a long text.
    long: Vec<u8>,
    failure: Option<io::Error>,
}

impl<R: Read> Window<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self {
            reader,
            window: vec![0; WINDOW],
            from: 0,
            until: 0,
            before: 0,
            long: Vec::new(),
            failure: None,
        }
    }

    /// What the system said, if it refused to read on.
    pub(crate) fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    /// Nothing was taken yet.
    pub(crate) fn is_at_start(&self) -> bool {
        self.before == 0 && self.from == 0
    }

    /// Reads on until the window holds `length` bytes. `false`: there are fewer.
    fn fill(&mut self, length: usize) -> bool {
        if self.until - self.from >= length {
            return true;
        }
        self.window.copy_within(self.from..self.until, 0);
        self.before += self.from as u64;
        (self.from, self.until) = (0, self.until - self.from);
        while self.until < length {
            match self.reader.read(&mut self.window[self.until..]) {
                Ok(0) => return false,
                Ok(read) => self.until += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failure = Some(error);
                    return false;
                }
            }
        }
        true
    }

    /// Passes over `length` bytes. `false`: there are fewer.
    fn skip(&mut self, mut length: u64) -> bool {
        while length > 0 {
            if self.from == self.until && !self.fill(1) {
                return false;
            }
            let here = length.min((self.until - self.from) as u64);
            self.from += here as usize;
            length -= here;
        }
        true
    }
}

impl<R: Read> Input for Window<R> {
    fn at(&self) -> u64 {
        self.before + self.from as u64
    }

    fn take(&mut self, length: u64) -> Option<&[u8]> {
        if length <= LONGEST as u64 {
            let length = length as usize;
            if !self.fill(length) {
                return None;
            }
            self.from += length;
            return Some(&self.window[self.from - length..self.from]);
        }
        // Numbers of that length are none either: what is lost of them only hostile files notice.
        let there = self.fill(LONGEST);
        self.long.clear();
        self.long.extend_from_slice(&self.window[self.from..self.until.min(self.from + LONGEST)]);
        (there && self.skip(length)).then_some(&self.long[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that gives seven bytes at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let length = buf.len().min(7).min(self.0.len());
            buf[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    #[test]
    fn a_window_gives_what_is_there_and_the_beginning_of_what_is_long() {
        let bytes: Vec<u8> = (0..400_000_u32).map(|n| (n % 251) as u8).collect();
        let mut window = Window::new(Slow(&bytes));
        assert_eq!(window.take(3), Some(&[0, 1, 2][..]));
        assert_eq!(window.take(300_000), Some(&bytes[3..3 + LONGEST]));
        assert_eq!(window.at(), 300_003);
        assert_eq!(window.take(5), Some(&bytes[300_003..300_008]));
        assert_eq!(window.take(u64::MAX), None);
        let mut window = Window::new(Slow(&bytes[..10]));
        assert_eq!(window.take(11), None);
        assert_eq!(window.take(10), Some(&bytes[..10]));
    }
}
