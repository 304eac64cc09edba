//! One value in a program's settings file, read or changed in its text: comments, order and layout stay as they are.
//! No file is touched here. A path names the value, `data.num_workers` or `stages.0.lr`; `\.` is a dot in a name.
//!
//! * A parser of the form says where the value stands, and those bytes are replaced.
//! * A text in quotes stays one: `"4"` becomes `"8"`, `4` becomes `8`.

mod json;
mod toml;
mod yaml;

use std::ops::Range;
use std::path::Path;

/// Longer files are no settings, bytes.
pub const LONGEST: usize = 4 << 20;

/// How a file of settings is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// TOML 1.0.
    Toml,
    /// YAML 1.2, its first document.
    Yaml,
    /// JSON, without comments.
    Json,
}

impl Form {
    /// By what the name ends in, as programs take it; `None` of others.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match ending.as_str() {
            "toml" => Self::Toml,
            "yaml" | "yml" => Self::Yaml,
            "json" => Self::Json,
            _ => return None,
        })
    }
}

/// Why a value could not be read or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsettled {
    /// The text is not of its form; what the parser says.
    #[error("{0}")]
    NotUnderstood(String),
    /// There is no value at this path.
    #[error("nothing stands there")]
    NotThere,
    /// What stands there is no single value that can be replaced: a table, a list, nothing, a reference or a text of
    /// several lines.
    #[error("no single value stands there")]
    NotOne,
}

/// The value at `path`; a text without its quotes.
///
/// # Errors
/// Where the text is not understood, or no single value stands there.
pub fn value(text: &str, form: Form, path: &str) -> Result<String, Unsettled> {
    let path = segments(path);
    check(text, &path)?;
    match form {
        Form::Toml => toml::locate(text, &path).map(|found| found.value),
        Form::Yaml => yaml::locate(text, &path).map(|found| found.value),
        Form::Json => json::locate(text, &path).map(|found| found.value),
    }
}

/// The text with the value at `path` changed to `new`, and nothing else.
///
/// # Errors
/// Where the text is not understood, or no single value stands there.
pub fn set(text: &str, form: Form, path: &str, new: &str) -> Result<String, Unsettled> {
    let segments = segments(path);
    check(text, &segments)?;
    let changed = match form {
        Form::Toml => toml::set(text, &segments, new)?,
        Form::Yaml => yaml::set(text, &segments, new)?,
        Form::Json => json::set(text, &segments, new)?,
    };
    // A change that does not read back as it was meant is none.
    match value(&changed, form, path) {
        Ok(read) if read == new => Ok(changed),
        _ => Err(Unsettled::NotOne),
    }
}

fn check(text: &str, path: &[String]) -> Result<(), Unsettled> {
    if text.len() > LONGEST {
        return Err(Unsettled::NotUnderstood(format!("more than {LONGEST} bytes")));
    }
    if path.is_empty() || path.iter().any(String::is_empty) { Err(Unsettled::NotThere) } else { Ok(()) }
}

/// The names of a path: dots part them, but not `\.`.
fn segments(path: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut chars = path.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '.' => all.push(String::new()),
            '\\' if chars.peek() == Some(&'.') => all.last_mut().map_or((), |last| last.extend(chars.next())),
            c => all.last_mut().map_or((), |last| last.push(c)),
        }
    }
    all
}

/// A value, and where it stands.
struct Found {
    at: Range<usize>,
    value: String,
    quotes: Quotes,
}

/// How a text is set off.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Single,
    Double,
}

impl Found {
    /// The text with `written` in the value's place.
    fn replaced(&self, text: &str, written: &str) -> String {
        format!("{}{written}{}", &text[..self.at.start], &text[self.at.end..])
    }
}

/// In double quotes, as JSON and YAML have them.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOML: &str = "# mine\ntitle = \"a\"   # kept\r\n[data]\nnum_workers = 2 # few\nname = 'x'\n\
        sizes = [1, 2]\ninline = { a = 1, b = true }\n[[stages]]\nlr = 0.1\n";
    const YAML: &str = "# meine – Größe\n---\ndata:\n  num_workers: 2   # few\n  name: 'it''s'\n  q: \"4\"\n\
        \x20 flow: {a: 1, b: [x, y]}\nstages:\n  - lr: 0.1\n  - lr: 0.2\nempty:\nlong: |\n  a\n  b\n\
        anchored: &w 3\nalias: *w\n";
    const JSON: &str = "{ \"größe\": 1,\n  \"data\": {\"num_workers\": 2, \"name\": \"x\\ny\"},\n\t\"stages\": [ {\"lr\":0.1} ] }\n";

    #[test]
    fn one_value_changes_and_nothing_else() {
        for (text, form, path, old, new, before, after) in [
            (TOML, Form::Toml, "data.num_workers", "2", "8", "num_workers = 2 #", "num_workers = 8 #"),
            (TOML, Form::Toml, "title", "a", "8", "\"a\"   # kept", "\"8\"   # kept"),
            (TOML, Form::Toml, "data.inline.b", "true", "false", "b = true }", "b = false }"),
            (TOML, Form::Toml, "data.sizes.1", "2", "7", "[1, 2]", "[1, 7]"),
            (TOML, Form::Toml, "stages.0.lr", "0.1", "0.3", "lr = 0.1", "lr = 0.3"),
            (TOML, Form::Toml, "data.num_workers", "2", "auto", "workers = 2", "workers = \"auto\""),
            (YAML, Form::Yaml, "data.num_workers", "2", "16", "num_workers: 2   #", "num_workers: 16   #"),
            (YAML, Form::Yaml, "data.name", "it's", "l'art", "'it''s'", "'l''art'"),
            (YAML, Form::Yaml, "data.q", "4", "8", "\"4\"", "\"8\""),
            (YAML, Form::Yaml, "data.flow.a", "1", "2", "{a: 1,", "{a: 2,"),
            (YAML, Form::Yaml, "data.flow.b.1", "y", "z w", "[x, y]", "[x, z w]"),
            (YAML, Form::Yaml, "data.flow.b.1", "y", "a, b", "[x, y]", "[x, \"a, b\"]"),
            (YAML, Form::Yaml, "stages.1.lr", "0.2", "0.3", "lr: 0.2", "lr: 0.3"),
            (YAML, Form::Yaml, "anchored", "3", "5", "&w 3", "&w 5"),
            (JSON, Form::Json, "data.num_workers", "2", "8", "rs\": 2", "rs\": 8"),
            (JSON, Form::Json, "data.name", "x\ny", "8", "\"x\\ny\"", "\"8\""),
            (JSON, Form::Json, "stages.0.lr", "0.1", "fast", "\"lr\":0.1", "\"lr\":\"fast\""),
        ] {
            assert_eq!(value(text, form, path).as_deref(), Ok(old), "{path}");
            assert_eq!(text.matches(before).count(), 1, "{before}");
            assert_eq!(set(text, form, path, new), Ok(text.replace(before, after)), "{path} {new}");
        }
    }

    #[test]
    fn what_is_no_single_value_stays() {
        for (text, form, path) in [
            (TOML, Form::Toml, "data"),
            (TOML, Form::Toml, "data.sizes"),
            (YAML, Form::Yaml, "data"),
            (YAML, Form::Yaml, "data.flow.b"),
            (YAML, Form::Yaml, "empty"),
            (YAML, Form::Yaml, "long"),
            (YAML, Form::Yaml, "alias"),
            (JSON, Form::Json, "stages.0"),
        ] {
            assert_eq!(set(text, form, path, "1"), Err(Unsettled::NotOne), "{path}");
        }
        for (text, form) in [(TOML, Form::Toml), (YAML, Form::Yaml), (JSON, Form::Json)] {
            for path in ["data.workers", "", "data.", "data.num_workers.x", "stages.9.lr", "stages.lr", "9"] {
                assert_eq!(set(text, form, path, "1"), Err(Unsettled::NotThere), "{path}");
            }
        }
        for (text, form) in [("a = ", Form::Toml), ("a: [", Form::Yaml), ("{\"a\": 1,}", Form::Json)] {
            assert!(matches!(set(text, form, "a", "1"), Err(Unsettled::NotUnderstood(_))), "{text}");
        }
    }

    #[test]
    fn a_dot_in_a_name_is_written_with_a_stroke() {
        assert_eq!(set("{\"a.b\": 1}", Form::Json, "a\\.b", "2").as_deref(), Ok("{\"a.b\": 2}"));
        assert_eq!(set("\"a.b\" = 1", Form::Toml, "a\\.b", "2").as_deref(), Ok("\"a.b\" = 2"));
        assert_eq!(Form::of(Path::new("x/c.YML")), Some(Form::Yaml));
        assert_eq!(Form::of(Path::new("train.py")), None);
    }
}
