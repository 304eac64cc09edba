//! Text that others chose – names of processes, commands, jobs – before it reaches a terminal or a file.

/// What steers a terminal, or makes text look like another: control characters, line breaks among them, and marks that
/// are not seen or turn the direction of writing.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{61c}')
}

/// `text` with `\u{fffd}` in place of each such character.
#[must_use]
pub fn harmless(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn text_keeps_its_letters_and_loses_its_tricks() {
        assert_eq!(harmless("训练 train.py é"), "训练 train.py é");
        assert_eq!(
            harmless("a\u{1b}[2J\n\u{202e}b\u{9b}\u{2066}"),
            "a\u{fffd}[2J\u{fffd}\u{fffd}b\u{fffd}\u{fffd}"
        );
    }
}
