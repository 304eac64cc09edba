//! Width, colour and progress on terminals, in pipes and with the variables that people set.

use unicode_width::UnicodeWidthStr;

use crate::support::{EXAMPLE, LANGUAGES, Run, printed, recordings, whyidle};

const ESCAPE: char = '\u{1b}';

fn with_variable(name: &str, value: &str, args: &[&str]) -> Run {
    whyidle(&[&["trace", EXAMPLE], args].concat()).env(name, value).output().unwrap().into()
}

#[test]
fn lines_fit_the_width_that_is_asked_for() {
    for recording in recordings() {
        for lang in LANGUAGES {
            for (columns, verbosity) in [(60, "-v"), (80, "--color=never"), (120, "-v")] {
                let mut command = whyidle(&["trace", &recording, "--lang", lang, verbosity]);
                let run = Run::from(command.env("COLUMNS", columns.to_string()).output().unwrap());
                for line in run.out.lines() {
                    // Code to paste is not broken.
                    let is_code = line.starts_with("       ");
                    assert!(line.width() <= columns || is_code, "{recording}, {columns} columns: {line}");
                    assert_eq!(line, line.trim_end(), "{recording}");
                }
            }
        }
    }
}

#[test]
fn a_pipe_gets_no_colour_unless_it_asks_for_it() {
    assert!(!printed(&["trace", EXAMPLE]).contains(ESCAPE));
    let coloured = printed(&["trace", EXAMPLE, "--color", "always"]);
    assert!(coloured.contains(ESCAPE));
    assert_eq!(without_escapes(&coloured), printed(&["trace", EXAMPLE]));
    assert!(!printed(&["trace", EXAMPLE, "--color", "never"]).contains(ESCAPE));
}

/// What a person is left with after the colours.
fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or(part, |(_, rest)| rest))
}

#[test]
fn no_color_is_respected_and_an_option_is_stronger() {
    assert!(!with_variable("NO_COLOR", "1", &[]).out.contains(ESCAPE));
    assert!(with_variable("NO_COLOR", "1", &["--color", "always"]).out.contains(ESCAPE));
}

#[test]
fn the_language_comes_from_the_locale_unless_an_option_says_otherwise() {
    let chinese = printed(&["trace", EXAMPLE, "--lang", "zh"]);
    assert_eq!(with_variable("LC_ALL", "zh_CN.UTF-8", &[]).out, chinese);
    assert_eq!(with_variable("LC_ALL", "zh_CN.UTF-8", &["--lang", "en"]).out, printed(&["trace", EXAMPLE]));
}

#[test]
fn machine_formats_do_not_depend_on_the_terminal() {
    for format in ["json", "md"] {
        let args = ["trace", EXAMPLE, "--format", format];
        let narrow = whyidle(&args).env("COLUMNS", "60").output().unwrap();
        assert_eq!(Run::from(narrow).out, printed(&args));
    }
}
