//! The tokenizer: Hugging Face's own library, on a file of its.

use std::fs::File;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use sha2::{Digest, Sha256};
use tokenizers::Tokenizer;
use whyidle_readers::ReadError;

use crate::FeedError;
use crate::formats::{Format, Width};
use crate::settings::{Settings, hex};
use crate::words::Words;

/// Bytes of the largest tokenizer file; those with 250 000 tokens have some 20 MB.
const LARGEST: u64 = 1 << 30;

/// A tokenizer, and the ids that frame each document.
pub(crate) struct Tokens {
    tokenizer: Tokenizer,
    /// The short way to the same ids, where there is one.
    words: Option<Words>,
    /// Of the file.
    pub(crate) sha256: String,
    /// One more than the largest id.
    pub(crate) ids: u64,
    pub(crate) bos: Option<u32>,
    pub(crate) eos: Option<u32>,
    special: bool,
}

impl Tokens {
    /// Reads the tokenizer that the settings name. Its own truncation and padding are for batches of a model, not for
    /// files, and are left out.
    pub(crate) fn load(settings: &Settings) -> Result<Self, FeedError> {
        let path = &settings.tokenizer;
        let wrong = |reason: String| FeedError::Tokenizer { path: path.clone(), reason };
        let bytes = read(path)?;
        let mut tokenizer = guarded(|| Tokenizer::from_bytes(&bytes)).map_err(&wrong)?;
        tokenizer.with_padding(None).with_truncation(None).map_err(|error| wrong(error.to_string()))?;
        let largest = tokenizer.get_vocab(true).into_values().max();
        let Some(largest) = largest else { return Err(wrong("it has no tokens".to_owned())) };
        let id = |token: &Option<String>| match token {
            None => Ok(None),
            Some(token) => tokenizer.token_to_id(token).map(Some).ok_or_else(|| FeedError::NoToken {
                path: path.clone(),
                token: token.clone(),
                special: special(&tokenizer),
            }),
        };
        let (bos, eos) = (id(&settings.bos)?, id(&settings.eos)?);
        Ok(Self {
            bos,
            eos,
            words: Words::of(&tokenizer, settings.special),
            tokenizer,
            sha256: hex(&Sha256::digest(&bytes)),
            ids: u64::from(largest) + 1,
            special: settings.special,
        })
    }

    /// The type of its ids in a file.
    pub(crate) fn width(&self, format: Format) -> Width {
        Width::of(self.ids, format)
    }

    /// Appends the ids of a document to `into`, framed; the number of them, 0 where the text has none.
    ///
    /// # Errors
    /// Where the tokenizer fails, in its words: it has no token for what it does not know, e.g.
    pub(crate) fn encode(&self, text: &str, width: Width, into: &mut Vec<u8>) -> Result<u32, String> {
        let mut ids = Vec::new();
        guarded(|| self.ids_of(text, &mut ids))?;
        let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return Ok(0) };
        let bos = self.bos.filter(|bos| bos != first);
        let eos = self.eos.filter(|eos| eos != last);
        let framed = bos.iter().chain(&ids).chain(&eos);
        framed.for_each(|&id| width.put(id, into));
        Ok(u32::try_from(ids.len()).unwrap_or(u32::MAX) + u32::from(bos.is_some()) + u32::from(eos.is_some()))
    }

    fn ids_of(&self, text: &str, into: &mut Vec<u32>) -> tokenizers::Result<()> {
        if let Some(words) = &self.words
            && words.encode(&self.tokenizer, text, into)?
        {
            return Ok(());
        }
        into.extend_from_slice(self.tokenizer.encode_fast(text, self.special)?.get_ids());
        Ok(())
    }
}

/// Does what the library does with a file of others', or a text by it: where it takes for granted what is not so, it
/// panics, and that is the file's fault too. It needs a build that unwinds.
fn guarded<T>(work: impl FnOnce() -> tokenizers::Result<T>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err("the tokenizers library gave up on it".to_owned()),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, FeedError> {
    let failed = |error| FeedError::Unread(ReadError::io(path, error));
    let wrong = |reason: &str| FeedError::Tokenizer { path: path.to_owned(), reason: reason.to_owned() };
    if path.is_dir() {
        return Err(wrong("it is a directory"));
    }
    // What a device or a pipe holds, nobody says before.
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes)).map_err(failed)?;
    if bytes.len() as u64 > LARGEST { Err(wrong("larger than 1 GiB")) } else { Ok(bytes) }
}

/// The special tokens, by their ids; the first of many.
fn special(tokenizer: &Tokenizer) -> Vec<String> {
    const SHOWN: usize = 8;
    let mut tokens: Vec<(u32, String)> = tokenizer
        .get_added_tokens_decoder()
        .into_iter()
        .filter(|(_, token)| token.special)
        .map(|(id, token)| (id, token.content))
        .collect();
    tokens.sort();
    tokens.into_iter().take(SHOWN).map(|(_, token)| token).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use std::path::PathBuf;
    use std::time::Duration;

    use whyidle_readers::documents::{Field, Reading};

    use super::*;

    fn refused(path: &Path) -> String {
        let settings = Settings {
            inputs: Vec::new(),
            reading: Reading { field: Field::parse("text").unwrap(), kind: None, whole: false },
            tokenizer: path.to_owned(),
            out: PathBuf::new(),
            format: Format::Raw,
            bos: None,
            eos: None,
            special: false,
            shard: None,
            strict: false,
            force: false,
            save_every: Duration::ZERO,
        };
        match Tokens::load(&settings) {
            Err(FeedError::Tokenizer { reason, .. }) => reason,
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it is taken"),
        }
    }

    #[test]
    fn a_file_on_which_the_library_panics_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("tokenizer.json");
        let text = r#"{"version":"1.0","normalizer":{"type":"Precompiled","precompiled_charsmap":"AAAA"},
            "model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}}"#;
        std::fs::write(&file, text).unwrap();
        assert!(refused(&file).contains("gave up"));
        assert_eq!(refused(dir.path()), "it is a directory");
    }
}
