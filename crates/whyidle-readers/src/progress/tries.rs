//! What the start-up hook changed in a program, as it says itself, one JSON object a line:
//!
//! * `{"try": "workers", "did": "set", "from": "0", "to": "8", "file": "/w/train.py", "line": 12, "edit": [12, 30, 12, 31, "8"]}`
//! * `{"try": "workers", "did": "not", "why": "iterable-dataset"}`

use serde::{Deserialize, Serialize};

/// A longer file is not read on, bytes.
const LONGEST: usize = 1 << 20;

/// Where a change could be written for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// First line, from 1.
    pub line: usize,
    /// Column in it, in characters, from 0.
    pub column: usize,
    /// Last line.
    pub end_line: usize,
    /// Column in it, which is no longer replaced.
    pub end_column: usize,
    /// What to put there.
    pub text: String,
}

/// What became of one change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Did {
    /// It was made.
    Set {
        /// The setting before, where it had one.
        from: Option<String>,
        /// The setting since.
        to: String,
        /// The program's file and line that the setting belongs to.
        place: Option<(String, u32)>,
        /// Where it could be written in that file.
        edit: Option<Edit>,
        /// The expression that gives the setting there.
        given: Option<String>,
    },
    /// It was not made.
    Not {
        /// Stable id of the reason.
        why: String,
        /// What there is to add.
        detail: Option<String>,
    },
}

/// A change that was asked for, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// Its name.
    pub name: String,
    /// What became of it.
    pub did: Did,
}

#[derive(Deserialize)]
struct Line {
    r#try: String,
    did: String,
    from: Option<String>,
    to: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    edit: Option<(usize, usize, usize, usize, String)>,
    given: Option<String>,
    why: Option<String>,
    detail: Option<String>,
}

/// What the lines say; those that make no sense are left out.
#[must_use]
pub fn read(text: &[u8]) -> Vec<Tried> {
    let lines = text[..text.len().min(LONGEST)].split(|&byte| byte == b'\n');
    lines.filter_map(|line| serde_json::from_slice(line).ok()).filter_map(tried).collect()
}

fn tried(line: Line) -> Option<Tried> {
    let did = match line.did.as_str() {
        "set" => Did::Set {
            from: line.from,
            to: line.to?,
            place: line.file.zip(line.line),
            edit: line.edit.map(|(line, column, end_line, end_column, text)| Edit {
                line,
                column,
                end_line,
                end_column,
                text,
            }),
            given: line.given,
        },
        "not" => Did::Not { why: line.why?, detail: line.detail },
        _ => return None,
    };
    Some(Tried { name: line.r#try, did })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_and_nonsense_is_left_out() {
        let text = br#"{"try": "workers", "did": "set", "from": "0", "to": "8", "file": "/t.py", "line": 3, "edit": [3, 4, 3, 5, "8"]}
{"try": "tf32", "did": "not", "why": "no-gpu"}
{"try": "tf32", "did": "perhaps"}
{"try": 7}
{"tr"#;
        let found = read(text);
        assert_eq!(found.len(), 2);
        let Did::Set { place, edit, .. } = &found[0].did else { panic!("{found:?}") };
        assert_eq!(place.as_ref().map(|(file, line)| (file.as_str(), *line)), Some(("/t.py", 3)));
        assert_eq!(edit.as_ref().map(|edit| (edit.column, edit.text.as_str())), Some((4, "8")));
        assert_eq!(found[1].did, Did::Not { why: "no-gpu".to_owned(), detail: None });
    }
}
