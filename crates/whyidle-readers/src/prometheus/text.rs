//! Text of others that may be shown on a terminal.

/// `text` without control characters and those that turn the direction of writing, cut after `longest` characters.
pub(super) fn harmless(text: &str, longest: usize) -> String {
    let seen = |c: char| if c.is_control() || turns(c) { '\u{fffd}' } else { c };
    let mut out: String = text.chars().take(longest).map(seen).collect();
    if text.chars().nth(longest).is_some() {
        out.pop();
        out.push('…');
    }
    out
}

/// Marks that reorder what stands beside them, or are not seen.
fn turns(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn text_keeps_its_letters_and_loses_its_tricks() {
        assert_eq!(harmless("训练 train.py", 80), "训练 train.py");
        assert_eq!(harmless("a\u{1b}[2J\u{202e}b", 80), "a\u{fffd}[2J\u{fffd}b");
        assert_eq!(harmless("abcdef", 6), "abcdef");
        assert_eq!(harmless("abcdefg", 6), "abcde…");
    }
}
