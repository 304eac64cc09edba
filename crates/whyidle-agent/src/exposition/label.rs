//! Values of labels: what other programs chose, made harmless.

/// Characters of a value that are kept.
const LONGEST: usize = 200;

/// A value as it stands between quotation marks: backslash, mark and line break escaped, other control characters and
/// marks of direction gone, cut to a length.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().filter(|c| *c == '\n' || !is_hidden(*c)).take(LONGEST) {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out
}

/// What steers a terminal, or makes text look like another.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// A text cut to `most` characters; that it was cut is seen.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_values_are_made_harmless() {
        assert_eq!(escaped("a\\b\"c\nd\u{1b}[2J\u{202e}e\0"), "a\\\\b\\\"c\\nd[2Je");
        assert_eq!(escaped(&"é".repeat(9_999)).chars().count(), LONGEST);
        assert_eq!(shortened("abcdef", 4), "abc…");
        assert_eq!(shortened("abcd", 4), "abcd");
    }
}
