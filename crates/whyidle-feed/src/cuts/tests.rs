//! What is known by hand is what the expressions say.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::convert::Infallible;

use super::*;

fn cut(pattern: &str) -> Cut {
    let split = Split::new(SplitPattern::Regex(pattern.to_owned()), SplitDelimiterBehavior::Isolated, false);
    Cut::of(split.unwrap()).unwrap()
}

fn words<'t>(cut: &Cut, text: &'t str) -> Vec<&'t str> {
    let mut words = Vec::new();
    let Ok(()) = cut.each(text, &mut |word| {
        words.push(word);
        Ok::<_, Infallible>(())
    });
    words
}

/// Calls `then` with what is known by hand, and the same expression without that.
fn of_each(mut then: impl FnMut(&Cut, &Cut)) {
    for pattern in [GPT_2, GPT_4, QWEN] {
        let (known, asked) = (cut(pattern), Cut { by_hand: None, ..cut(pattern) });
        assert!(known.by_hand.is_some());
        then(&known, &asked);
    }
}

#[test]
fn every_short_text_of_each_class_is_cut_as_by_the_expression() {
    // Of each class one, of ASCII and beyond; and the letters of contractions.
    const OF: [char; 13] = ['\'', 's', 'r', 'E', '7', ' ', '\n', '\t', '!', 'é', '\u{a0}', 'ſ', '٣'];
    of_each(|known, asked| {
        for length in 1..=4_u32 {
            for number in 0..OF.len().pow(length) {
                let text: String =
                    (0..length).map(|place| OF[number / OF.len().pow(place) % OF.len()]).collect();
                assert_eq!(words(known, &text), words(asked, &text), "{text:?}");
            }
        }
    });
}

#[test]
fn every_ascii_character_is_of_the_class_that_the_expression_says() {
    of_each(|known, asked| {
        for first in 0..128_u8 {
            for second in 0..128_u8 {
                let (first, second) = (char::from(first), char::from(second));
                for text in
                    [format!("{first}{second}"), format!(" {first}{second}a"), format!("1{first}  {second}'")]
                {
                    assert_eq!(words(known, &text), words(asked, &text), "{text:?}");
                }
            }
        }
    });
}

#[test]
fn removed_words_are_removed() {
    let of = |invert| {
        let pattern = SplitPattern::Regex(r"\w+".to_owned());
        Cut::of(Split::new(pattern, SplitDelimiterBehavior::Removed, invert).unwrap()).unwrap()
    };
    assert_eq!(words(&of(false), "one, two"), [", "]);
    assert_eq!(words(&of(true), "one, two"), ["one", "two"]);
}
