//! Where a byte-level pre-tokenizer cuts a text into words, on the text as it is.
//!
//! The library's own way copies each word with where each of its bytes came from. Of a file of ids nothing of that is
//! left, so that only the places of the cuts are asked for here. The expressions of GPT-2, and of GPT-4, Llama 3 and
//! Qwen, are also known by hand, as far as ASCII goes: where another character has a say, the expression is asked.

use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::tokenizer::SplitDelimiterBehavior;

/// What `ByteLevel` cuts by where it is not told otherwise.
const GPT_2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
/// GPT-4's, and Llama 3's.
const GPT_4: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// The same with each digit alone, as Qwen has it.
const QWEN: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The cuts of a pre-tokenizer, one after the other: each cuts what the one before it left.
pub(crate) struct Cuts(Vec<Cut>);

struct Cut {
    split: Split,
    keeps_matches: bool,
    keeps_rest: bool,
    by_hand: Option<Known>,
}

/// An expression that is known by hand.
#[derive(Clone, Copy)]
enum Known {
    Gpt2,
    /// With the digits of a word at most.
    Gpt4(usize),
}

impl Cuts {
    /// Those of a pre-tokenizer that cuts and then takes each byte for a character, and does nothing else; none for
    /// others.
    pub(crate) fn of(pre: &PreTokenizerWrapper) -> Option<Self> {
        let (last, before) = match pre {
            PreTokenizerWrapper::Sequence(sequence) => sequence.as_ref().split_last()?,
            one => (one, [].as_slice()),
        };
        let PreTokenizerWrapper::ByteLevel(ByteLevel { add_prefix_space: false, use_regex, .. }) = last
        else {
            return None;
        };
        let mut cuts = Vec::new();
        for step in before {
            let PreTokenizerWrapper::Split(split) = step else { return None };
            cuts.push(Cut::of(split.clone())?);
        }
        if *use_regex {
            let pattern = SplitPattern::Regex(GPT_2.to_owned());
            cuts.push(Cut::of(Split::new(pattern, SplitDelimiterBehavior::Isolated, false).ok()?)?);
        }
        Some(Self(cuts))
    }

    /// Tells each word of a text, in order, until one fails.
    pub(crate) fn each<'t, E>(
        &self,
        text: &'t str,
        mut then: impl FnMut(&'t str) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some((last, before)) = self.0.split_last() else { return then(text) };
        let mut pieces = vec![text];
        for cut in before {
            let mut smaller = Vec::new();
            for piece in pieces {
                cut.each(piece, &mut |word| {
                    smaller.push(word);
                    Ok::<(), E>(())
                })?;
            }
            pieces = smaller;
        }
        pieces.into_iter().try_for_each(|piece| last.each(piece, &mut then))
    }
}

impl Cut {
    fn of(split: Split) -> Option<Self> {
        let (keeps_matches, keeps_rest) = match (split.behavior, split.invert) {
            (SplitDelimiterBehavior::Isolated, _) => (true, true),
            (SplitDelimiterBehavior::Removed, invert) => (invert, !invert),
            // Words that are joined again to those beside them.
            _ => return None,
        };
        let by_hand = match &split.pattern {
            // These match everywhere: there is no rest.
            SplitPattern::Regex(pattern) if keeps_matches => match pattern.as_str() {
                GPT_2 => Some(Known::Gpt2),
                GPT_4 => Some(Known::Gpt4(3)),
                QWEN => Some(Known::Gpt4(1)),
                _ => None,
            },
            _ => None,
        };
        Some(Self { split, keeps_matches, keeps_rest, by_hand })
    }

    fn each<'t, E>(&self, text: &'t str, then: &mut impl FnMut(&'t str) -> Result<(), E>) -> Result<(), E> {
        let Some(known) = self.by_hand else {
            return self.by_expression(text, |_| false, then).map(drop);
        };
        let (bytes, mut at) = (text.as_bytes(), 0);
        while at < bytes.len() {
            match known.end(bytes, at) {
                Some(end) => {
                    then(&text[at..end])?;
                    at = end;
                }
                None => {
                    let rest = &bytes[at..];
                    // One ASCII character alone is as a rule the space before a word of others.
                    let is_ascii = |end: usize| rest[end..].iter().take(2).all(u8::is_ascii);
                    at += self.by_expression(&text[at..], is_ascii, then)?;
                }
            }
        }
        Ok(())
    }

    /// Asks the expression, up to a match after whose end it is `enough`; where that is.
    fn by_expression<'t, E>(
        &self,
        text: &'t str,
        enough: impl Fn(usize) -> bool,
        then: &mut impl FnMut(&'t str) -> Result<(), E>,
    ) -> Result<usize, E> {
        let mut at = 0;
        for (start, end) in self.split.regex.find_iter(text) {
            if self.keeps_rest && at < start {
                then(&text[at..start])?;
            }
            if self.keeps_matches && start < end {
                then(&text[start..end])?;
            }
            at = end;
            if enough(end) {
                return Ok(end);
            }
        }
        if self.keeps_rest && at < text.len() {
            then(&text[at..])?;
        }
        Ok(text.len())
    }
}

/// What the expressions tell apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Digit,
    /// A space of `\s` that ends no line.
    Blank,
    LineEnd,
    Other,
    /// A part of a character beyond ASCII, of whatever class.
    Beyond,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' => Class::Letter,
            b'0'..=b'9' => Class::Digit,
            b' ' | b'\t' | 0x0b | 0x0c => Class::Blank,
            b'\r' | b'\n' => Class::LineEnd,
            0x80.. => Class::Beyond,
            _ => Class::Other,
        };
        byte += 1;
    }
    classes
};

fn class(bytes: &[u8], at: usize) -> Option<Class> {
    bytes.get(at).map(|&byte| CLASSES[usize::from(byte)])
}

/// The end of a run of a class; none where what comes next may belong to it, and is beyond ASCII.
fn run(bytes: &[u8], mut at: usize, of: Class) -> Option<usize> {
    loop {
        match class(bytes, at) {
            Some(next) if next == of => at += 1,
            Some(Class::Beyond) => return None,
            _ => return Some(at),
        }
    }
}

impl Known {
    /// The end of the word that begins at `at`; none where a character beyond ASCII has a say in it.
    fn end(self, bytes: &[u8], at: usize) -> Option<usize> {
        match self {
            Self::Gpt2 => gpt_2(bytes, at),
            Self::Gpt4(digits) => gpt_4(bytes, at, digits),
        }
    }
}

/// The end of `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or `'d`.
fn contraction(bytes: &[u8], at: usize, folds: bool) -> Option<usize> {
    let letter = |at: usize| bytes.get(at).map(|byte| if folds { byte.to_ascii_lowercase() } else { *byte });
    match (letter(at + 1)?, letter(at + 2)) {
        (b's' | b't' | b'm' | b'd', _) => Some(at + 2),
        (b'r' | b'v', Some(b'e')) | (b'l', Some(b'l')) => Some(at + 3),
        _ => None,
    }
}

fn gpt_2(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes[at] == b'\''
        && let Some(end) = contraction(bytes, at, false)
    {
        return Some(end);
    }
    let start = at + usize::from(bytes[at] == b' ');
    match class(bytes, start) {
        Some(class @ (Class::Letter | Class::Digit | Class::Other)) => run(bytes, start, class),
        Some(Class::Beyond) => None,
        _ => {
            let end = spaces(bytes, at)?;
            Some(before_a_word(bytes, at, end))
        }
    }
}

fn gpt_4(bytes: &[u8], at: usize, digits: usize) -> Option<usize> {
    let (first, next) = (class(bytes, at)?, class(bytes, at + 1));
    if bytes[at] == b'\'' {
        // Without regard to case, ſ is an s.
        if bytes[at + 1..].iter().take(2).any(|byte| !byte.is_ascii()) {
            return None;
        }
        if let Some(end) = contraction(bytes, at, true) {
            return Some(end);
        }
    }
    match (first, next) {
        (Class::Letter, _) => return run(bytes, at, Class::Letter),
        (Class::Digit, _) => {
            let end = bytes.len().min(at + digits);
            return match bytes[at..end].iter().position(|byte| !byte.is_ascii_digit()) {
                None => Some(end),
                Some(digits) if bytes[at + digits].is_ascii() => Some(at + digits),
                Some(_) => None,
            };
        }
        (Class::Beyond, _) | (Class::Blank | Class::Other, Some(Class::Beyond)) => return None,
        (Class::Blank | Class::Other, Some(Class::Letter)) => return run(bytes, at + 1, Class::Letter),
        _ => (),
    }
    let start = at + usize::from(bytes[at] == b' ');
    if class(bytes, start) == Some(Class::Other) {
        let end = run(bytes, start, Class::Other)?;
        return Some(end + bytes[end..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count());
    }
    let end = spaces(bytes, at)?;
    match bytes[at..end].iter().rposition(|byte| matches!(byte, b'\r' | b'\n')) {
        Some(line_end) => Some(at + line_end + 1),
        None => Some(before_a_word(bytes, at, end)),
    }
}

/// The end of a run of `\s`; none where what comes next may be one beyond ASCII.
fn spaces(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match class(bytes, at) {
            Some(Class::Blank | Class::LineEnd) => at += 1,
            Some(Class::Beyond) => return None,
            _ => return Some(at),
        }
    }
}

/// `\s+(?!\S)|\s+`: the last space before a word is left to it, where there are more.
fn before_a_word(bytes: &[u8], at: usize, end: usize) -> usize {
    if end < bytes.len() && end - at > 1 { end - 1 } else { end }
}

#[cfg(test)]
mod tests;
