//! The ids of a text by its words: those of a word that was seen before are not asked for again.
//!
//! This is for byte-level BPE, the tokenizers of GPT-2, Llama 3, Qwen and others, where the ids of a word depend on the
//! word alone. Whatever else a tokenizer does, or may do to a text, goes the library's own way ([`Words::of`]).

use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;
use tokenizers::tokenizer::{Encoding, Model, PostProcessor, Result, Token};
use tokenizers::{ModelWrapper, NormalizerWrapper, Tokenizer};

use crate::added::{Added, Part};
use crate::cuts::Cuts;

/// Words of up to 15 bytes that a thread remembers, some 4 MiB; then it begins anew.
const SHORT: usize = (1 << 17) / 8 * 7;
/// Longer ones, some 2 MiB.
const LONG: usize = (1 << 14) / 8 * 7;
/// Bytes of the longest word that is remembered.
const LONGEST: usize = 64;
/// Ids of all words that have more than one, 2 MiB.
const IDS: usize = 1 << 19;

/// What is needed to tell a text's ids word by word.
pub(crate) struct Words {
    cuts: Cuts,
    added: Added,
    is_nfc: bool,
    /// What the tokenizer adds to a text.
    before: Vec<u32>,
    after: Vec<u32>,
    /// The character that stands for each byte.
    alphabet: [char; 256],
    /// One for each of rayon's threads, and one for all others.
    seen: Vec<Mutex<Seen>>,
}

impl Words {
    /// For a tokenizer without truncation and padding; none where another step than these is in its way: no
    /// normalizer or NFC, a pre-tokenizer of [`Cuts`], BPE without dropout.
    pub(crate) fn of(tokenizer: &Tokenizer, special: bool) -> Option<Self> {
        let is_nfc = match tokenizer.get_normalizer() {
            None => false,
            Some(NormalizerWrapper::NFC(_)) => true,
            Some(_) => return None,
        };
        let ModelWrapper::BPE(model) = tokenizer.get_model() else { return None };
        if model.dropout.is_some_and(|dropout| dropout != 0.0) || tokenizer.get_encode_special_tokens() {
            return None;
        }
        let (before, after) = framed(tokenizer, special)?;
        Some(Self {
            cuts: Cuts::of(tokenizer.get_pre_tokenizer()?)?,
            added: Added::of(tokenizer, |text| !is_nfc || is_nfc_surely(text))?,
            is_nfc,
            before,
            after,
            alphabet: alphabet(),
            seen: (0..=rayon::current_num_threads()).map(|_| Mutex::default()).collect(),
        })
    }

    /// Appends a text's ids to `into`. False: none were, the text has to go the library's way.
    ///
    /// # Errors
    /// Where the model fails on a word.
    pub(crate) fn encode(&self, tokenizer: &Tokenizer, text: &str, into: &mut Vec<u32>) -> Result<bool> {
        if self.is_nfc && !is_nfc_surely(text) {
            return Ok(false);
        }
        let others = self.seen.len() - 1;
        let thread = rayon::current_thread_index().map_or(others, |thread| thread.min(others));
        // Nothing is left half done where a thread panics: what is remembered is always true.
        let mut seen = self.seen[thread].lock().unwrap_or_else(PoisonError::into_inner);
        into.extend(&self.before);
        let mut word_ids = |word: &str, into: &mut Vec<u32>| -> Result<()> {
            if !seen.get(word, into) {
                let start = into.len();
                let mapped: String = word.bytes().map(|byte| self.alphabet[usize::from(byte)]).collect();
                into.extend(tokenizer.get_model().tokenize(&mapped)?.iter().map(|token| token.id));
                seen.put(word, &into[start..]);
            }
            Ok(())
        };
        let part_ids = |part: Part<'_>| -> Result<()> {
            match part {
                Part::Token(id) => into.push(id),
                Part::Text(text) => self.cuts.each(text, |word| word_ids(word, into))?,
            }
            Ok(())
        };
        self.added.each(tokenizer, text, part_ids)?;
        into.extend(&self.after);
        Ok(true)
    }
}

/// The ids that a tokenizer's last step puts before and after those of a text. None of the library's steps looks at the
/// ids themselves: one that stands for all tells it.
fn framed(tokenizer: &Tokenizer, special: bool) -> Option<(Vec<u32>, Vec<u32>)> {
    const TEXT: u32 = u32::MAX;
    let Some(post) = tokenizer.get_post_processor() else { return Some((Vec::new(), Vec::new())) };
    let text = Encoding::from_tokens(vec![Token::new(TEXT, String::new(), (0, 0))], 0);
    let ids = post.process(text, None, special).ok()?.get_ids().to_vec();
    let at = ids.iter().position(|&id| id == TEXT)?;
    let (before, after) = (ids[..at].to_vec(), ids[at + 1..].to_vec());
    (!after.contains(&TEXT)).then_some((before, after))
}

/// True where NFC surely leaves a text as it is: all its characters are below U+0300, the first that combines. There are
/// more such texts. (Unicode Standard Annex 15: a text of characters that combine with none is in NFC.)
fn is_nfc_surely(text: &str) -> bool {
    // U+0300 begins with this byte; what comes after a first byte is less than it.
    text.bytes().all(|byte| byte < 0xcc)
}

/// The characters that stand for bytes: those that can be seen for themselves, the others from U+0100 on, in order.
/// Source: openai/gpt-2, src/encoder.py, `bytes_to_unicode`.
fn alphabet() -> [char; 256] {
    let mut others = '\u{100}'..;
    std::array::from_fn(|byte| match byte as u8 {
        byte @ (b'!'..=b'~' | 0xa1..=0xac | 0xae..) => char::from(byte),
        _ => others.next().unwrap_or_default(),
    })
}

/// Words that were seen, with their ids.
#[derive(Default)]
struct Seen {
    short: FxHashMap<u128, Ids>,
    long: FxHashMap<Box<str>, Ids>,
    ids: Vec<u32>,
}

/// A word's ids: where they begin in [`Seen::ids`], or, where there is one, that.
#[derive(Clone, Copy)]
struct Ids {
    at: u32,
    count: u32,
}

impl Seen {
    /// Appends a word's ids. False: it was not seen.
    fn get(&self, word: &str, into: &mut Vec<u32>) -> bool {
        let found = match packed(word.as_bytes()) {
            Some(word) => self.short.get(&word),
            None => self.long.get(word),
        };
        match found {
            None => return false,
            Some(&Ids { at, count: 1 }) => into.push(at),
            Some(&Ids { at, count }) => into.extend_from_slice(&self.ids[at as usize..(at + count) as usize]),
        }
        true
    }

    /// Remembers a word that was not seen.
    fn put(&mut self, word: &str, ids: &[u32]) {
        if word.len() > LONGEST || ids.len() > LONGEST {
            return;
        }
        if self.short.len() >= SHORT || self.long.len() >= LONG || self.ids.len() + ids.len() > IDS {
            self.short.clear();
            self.long.clear();
            self.ids.clear();
        }
        let ids = match ids {
            &[id] => Ids { at: id, count: 1 },
            ids => {
                let at = self.ids.len() as u32;
                self.ids.extend_from_slice(ids);
                Ids { at, count: ids.len() as u32 }
            }
        };
        match packed(word.as_bytes()) {
            Some(word) => self.short.insert(word, ids),
            None => self.long.insert(word.into(), ids),
        };
    }
}

/// The bytes of a word of up to 15, and their number, as one number.
fn packed(word: &[u8]) -> Option<u128> {
    let length = word.len();
    // First and last bytes, which may overlap: they are the same there.
    let bytes = match length {
        1..4 => {
            let byte = |at: usize| u128::from(word[at]) << (8 * at);
            byte(0) | byte(length / 2) | byte(length - 1)
        }
        4..8 => {
            let (first, last) = (word.first_chunk()?, word.last_chunk()?);
            u128::from(u32::from_le_bytes(*first))
                | u128::from(u32::from_le_bytes(*last)) << (8 * (length - 4))
        }
        8..16 => {
            let (first, last) = (word.first_chunk()?, word.last_chunk()?);
            u128::from(u64::from_le_bytes(*first))
                | u128::from(u64::from_le_bytes(*last)) << (8 * (length - 8))
        }
        _ => return None,
    };
    Some(bytes | (length as u128) << 120)
}

#[cfg(test)]
mod tests;
