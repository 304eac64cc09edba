//! The two forms of token files, the same as in `python/whyidle/feed/token_files.py`:
//!
//! * raw, as nanoGPT's `prepare.py` writes it: the ids one after the other, little-endian, no header;
//! * Megatron's indexed data set: `NAME.bin` with the ids, and `NAME.idx` (little-endian): `MMIDIDX\0\0`, version 1
//!   (u64), a code of the ids' type (u8), the numbers of sequences and of document boundaries (u64 each), each
//!   sequence's tokens (i32), each sequence's first byte (i64), the boundaries, numbers of sequences from 0 (i64).
//!   Source: NVIDIA/Megatron-LM, megatron/core/datasets/indexed_dataset.py, `_IndexWriter`. A document is a sequence.

use std::io::{self, BufReader, Read, Seek, Write};

use serde::{Deserialize, Serialize};

/// The form of token files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// nanoGPT's.
    Raw,
    /// Megatron's, with an index of documents.
    Megatron,
}

/// The type of a file's ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Width {
    /// Two bytes.
    Uint16,
    /// Four bytes.
    Uint32,
    /// Four bytes; Megatron knows no unsigned ones.
    Int32,
}

impl Width {
    /// The narrowest type for a vocabulary of `ids`. Megatron takes two bytes below 65 500 ids (its
    /// `DType.optimal_dtype`).
    #[must_use]
    pub fn of(ids: u64, format: Format) -> Self {
        match format {
            Format::Raw if ids <= 1 << 16 => Self::Uint16,
            Format::Raw => Self::Uint32,
            Format::Megatron if ids < 65_500 => Self::Uint16,
            Format::Megatron => Self::Int32,
        }
    }

    /// Bytes of an id.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::Uint16 => 2,
            Self::Uint32 | Self::Int32 => 4,
        }
    }

    /// NumPy's name of the type.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Uint16 => "uint16",
            Self::Uint32 => "uint32",
            Self::Int32 => "int32",
        }
    }

    /// Megatron's code of the type.
    fn code(self) -> u8 {
        match self {
            Self::Uint16 => 8,
            Self::Uint32 | Self::Int32 => 4,
        }
    }

    /// Appends an id. One that the type does not hold cannot come: the type is chosen by the largest.
    pub(crate) fn put(self, id: u32, into: &mut Vec<u8>) {
        match self {
            Self::Uint16 => into.extend_from_slice(&(id as u16).to_le_bytes()),
            Self::Uint32 | Self::Int32 => into.extend_from_slice(&id.to_le_bytes()),
        }
    }
}

const MAGIC: &[u8; 9] = b"MMIDIDX\0\0";
const VERSION: u64 = 1;

/// Writes Megatron's index of documents with `lengths` (tokens, i32 each, as many as `documents`).
pub(crate) fn write_index(
    out: &mut impl Write,
    lengths: &mut (impl Read + Seek),
    documents: u64,
    width: Width,
) -> io::Result<()> {
    out.write_all(MAGIC)?;
    out.write_all(&VERSION.to_le_bytes())?;
    out.write_all(&[width.code()])?;
    out.write_all(&documents.to_le_bytes())?;
    out.write_all(&(documents + 1).to_le_bytes())?;
    lengths.rewind()?;
    io::copy(&mut (&mut *lengths).take(documents * 4), out)?;
    lengths.rewind()?;
    let mut reader = BufReader::new(lengths);
    let (mut length, mut start) = ([0; 4], 0_i64);
    for _ in 0..documents {
        reader.read_exact(&mut length)?;
        out.write_all(&start.to_le_bytes())?;
        start += i64::from(i32::from_le_bytes(length)) * width.bytes() as i64;
    }
    for document in 0..=documents {
        out.write_all(&document.to_le_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_megatrons_byte_for_byte() -> io::Result<()> {
        let mut lengths = io::Cursor::new([3_i32, 2].map(i32::to_le_bytes).concat());
        let mut index = Vec::new();
        write_index(&mut index, &mut lengths, 2, Width::Int32)?;
        // The same bytes as in python/tests/test_tokens.py.
        let mut wanted = b"MMIDIDX\0\0".to_vec();
        wanted.extend(1_u64.to_le_bytes());
        wanted.push(4);
        wanted.extend([2_u64, 3].map(u64::to_le_bytes).concat());
        wanted.extend([3_i32, 2].map(i32::to_le_bytes).concat());
        wanted.extend([0_i64, 12, 0, 1, 2].map(i64::to_le_bytes).concat());
        assert_eq!(index, wanted);
        Ok(())
    }

    #[test]
    fn the_type_follows_the_vocabulary() {
        let of = |ids| [Format::Raw, Format::Megatron].map(|format| Width::of(ids, format).name());
        assert_eq!(of(50_257), ["uint16", "uint16"]);
        assert_eq!(of(65_500), ["uint16", "int32"]);
        assert_eq!(of(65_536), ["uint16", "int32"]);
        assert_eq!(of(65_537), ["uint32", "int32"]);
    }
}
