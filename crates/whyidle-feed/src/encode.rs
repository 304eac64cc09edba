//! A chunk of documents as ids.

use whyidle_model::{ImportNotes, NoteCode};
use whyidle_readers::documents::Chunk;

use crate::formats::Width;
use crate::tokens::Tokens;

/// The ids of a chunk's documents, one after the other.
#[derive(Default)]
pub(crate) struct Encoded {
    /// As they are written.
    pub(crate) bytes: Vec<u8>,
    /// Tokens of each document.
    pub(crate) lengths: Vec<u32>,
    /// Bytes of their text.
    pub(crate) text_bytes: u64,
    pub(crate) notes: ImportNotes,
}

/// Tokenises a chunk.
///
/// # Errors
/// Where the tokenizer fails on a document.
pub(crate) fn encode(chunk: &Chunk, tokens: &Tokens, width: Width) -> Result<Encoded, String> {
    let mut encoded = Encoded { notes: chunk.notes.clone(), ..Encoded::default() };
    let Encoded { bytes, lengths, text_bytes, notes } = &mut encoded;
    let mut without = 0;
    chunk.each(notes, |text| {
        match tokens.encode(text, width, bytes)? {
            0 => without += 1,
            length => {
                lengths.push(length);
                *text_bytes += text.len() as u64;
            }
        }
        Ok::<_, String>(())
    })?;
    notes.add_many(NoteCode::EmptyDocument, without, None);
    Ok(encoded)
}
