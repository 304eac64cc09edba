//! The tokens that were added to a vocabulary, `<|endoftext|>`: found in a text before its words are.

use aho_corasick::{AhoCorasick, MatchKind};
use tokenizers::Tokenizer;
use tokenizers::tokenizer::{AddedToken, OffsetReferential, OffsetType};

/// A part of a text.
pub(crate) enum Part<'t> {
    Text(&'t str),
    Token(u32),
}

/// Finds them as the library does: first those that are looked for in the text as it came, then, in what is left, those
/// that are looked for in the normalized text. Of more that begin at one place, the longest counts. Here the normalized
/// text is the same text.
pub(crate) struct Added {
    raw: Option<Set>,
    normalized: Option<Set>,
    /// None takes spaces beside it, or must stand alone.
    is_plain: bool,
}

struct Set {
    finder: AhoCorasick,
    ids: Vec<u32>,
}

impl Set {
    fn of(tokens: &[(u32, AddedToken)], normalized: bool) -> Option<Option<Self>> {
        let tokens = tokens.iter().filter(|(_, token)| token.normalized == normalized);
        let (ids, contents): (Vec<u32>, Vec<&str>) =
            tokens.map(|(id, token)| (*id, token.content.as_str())).unzip();
        if ids.is_empty() {
            return Some(None);
        }
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(contents).ok()?;
        Some(Some(Self { finder, ids }))
    }
}

impl Added {
    /// Those of a tokenizer whose normalizer leaves what `stays` as it is; none where it does not leave a token so.
    pub(crate) fn of(tokenizer: &Tokenizer, stays: impl Fn(&str) -> bool) -> Option<Self> {
        let tokens: Vec<(u32, AddedToken)> = tokenizer.get_added_tokens_decoder().into_iter().collect();
        if tokens.iter().any(|(_, token)| token.normalized && !stays(&token.content)) {
            return None;
        }
        let is_plain = |token: &AddedToken| !token.lstrip && !token.rstrip && !token.single_word;
        Some(Self {
            raw: Set::of(&tokens, false)?,
            normalized: Set::of(&tokens, true)?,
            is_plain: tokens.iter().all(|(_, token)| is_plain(token)),
        })
    }

    /// Tells each part of a text, in order, until one fails.
    pub(crate) fn each<E>(
        &self,
        tokenizer: &Tokenizer,
        text: &str,
        mut then: impl FnMut(Part<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let has = |set: &Option<Set>| set.as_ref().is_some_and(|set| set.finder.is_match(text));
        if self.is_plain {
            cut(self.raw.as_ref(), text, &mut |part| match part {
                Part::Text(rest) => cut(self.normalized.as_ref(), rest, &mut then),
                token => then(token),
            })
        } else if has(&self.raw) || has(&self.normalized) {
            let vocabulary = tokenizer.get_added_vocabulary();
            let parts = vocabulary.extract_and_normalize(tokenizer.get_normalizer(), text);
            for (text, _, tokens) in parts.get_splits(OffsetReferential::Normalized, OffsetType::None) {
                match tokens {
                    None => then(Part::Text(text))?,
                    Some(tokens) => {
                        for token in tokens {
                            then(Part::Token(token.id))?;
                        }
                    }
                }
            }
            Ok(())
        } else {
            then(Part::Text(text))
        }
    }
}

fn cut<'t, E>(
    set: Option<&Set>,
    text: &'t str,
    then: &mut impl FnMut(Part<'t>) -> Result<(), E>,
) -> Result<(), E> {
    let Some(set) = set else { return then(Part::Text(text)) };
    let mut at = 0;
    for found in set.finder.find_iter(text) {
        if at < found.start() {
            then(Part::Text(&text[at..found.start()]))?;
        }
        then(Part::Token(set.ids[found.pattern().as_usize()]))?;
        at = found.end();
    }
    if at < text.len() { then(Part::Text(&text[at..])) } else { Ok(()) }
}
