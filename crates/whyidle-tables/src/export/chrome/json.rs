//! Pieces of an event.

use std::fmt;
use std::io::{self, Write};

/// Nanoseconds as microseconds with three decimals: nothing is lost.
pub(super) struct Micros(pub(super) i64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let ns = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:03}", ns / 1000, ns % 1000)
    }
}

/// Text as JSON.
pub(super) fn text(out: &mut impl Write, text: &str) -> io::Result<()> {
    Ok(serde_json::to_writer(out, text)?)
}

/// An object's members, one after the other.
pub(super) struct Members<'w, W> {
    out: &'w mut W,
    any: bool,
}

impl<'w, W: Write> Members<'w, W> {
    /// Opens an object.
    pub(super) fn open(out: &'w mut W) -> io::Result<Self> {
        out.write_all(b"{")?;
        Ok(Self { out, any: false })
    }

    fn key(&mut self, key: &str) -> io::Result<()> {
        let comma = if self.any { "," } else { "" };
        self.any = true;
        write!(self.out, "{comma}\"{key}\":")
    }

    /// A number, or anything else that is JSON as it is.
    pub(super) fn raw(&mut self, key: &str, value: impl fmt::Display) -> io::Result<()> {
        self.key(key)?;
        write!(self.out, "{value}")
    }

    /// A text.
    pub(super) fn text(&mut self, key: &str, value: &str) -> io::Result<()> {
        self.key(key)?;
        text(self.out, value)
    }

    /// A key that may hold anything; its value is written to [`Self::out`].
    pub(super) fn raw_key(&mut self, key: &str) -> io::Result<()> {
        if self.any {
            self.out.write_all(b",")?;
        }
        self.any = true;
        text(self.out, key)?;
        self.out.write_all(b":")
    }

    /// What it is written to.
    pub(super) fn out(&mut self) -> &mut W {
        self.out
    }

    /// An object as member.
    pub(super) fn object(&mut self, key: &str) -> io::Result<Members<'_, W>> {
        self.key(key)?;
        Members::open(self.out)
    }

    /// Closes the object.
    pub(super) fn close(self) -> io::Result<()> {
        self.out.write_all(b"}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_are_kept() {
        for (ns, text) in [
            (0, "0.000"),
            (7, "0.007"),
            (1_234_567, "1234.567"),
            (-1, "-0.001"),
            (-2_500, "-2.500"),
            (i64::MIN, "-9223372036854775.808"),
        ] {
            assert_eq!(Micros(ns).to_string(), text);
        }
    }
}
