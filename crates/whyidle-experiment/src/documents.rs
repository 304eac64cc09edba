//! Runs in a file: documents of `whyidle.bench/1`, as `bench --format json` and `gate --save` write them, one after the
//! other or in a list. Files are other people's: what is no such document is refused by name.

use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::result::Run;

/// What a document of a run calls itself.
pub const SCHEMA: &str = "whyidle.bench/1";
/// No file of runs is read beyond this, bytes.
const LARGEST: u64 = 64 << 20;
/// Runs of a file at most.
const MOST: usize = 1_000;

/// Why a file gives no runs.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// It cannot be read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It is no JSON, or it ends in the middle.
    #[error("no JSON in line {line}")]
    NotJson {
        /// The line.
        line: usize,
    },
    /// A document of something else: what it calls itself, where it does.
    #[error("no document of a run")]
    OtherSchema {
        /// Its schema.
        schema: Option<String>,
    },
    /// A document of a run with a part that makes no sense.
    #[error("a damaged run: {reason}")]
    Damaged {
        /// What serde says.
        reason: String,
    },
    /// It holds nothing, or more than a file of runs holds.
    #[error("{count} documents")]
    Count {
        /// Documents in it; beyond the most, that.
        count: usize,
    },
    /// It is too large.
    #[error("larger than a file of runs")]
    TooLarge,
}

/// The runs in the file at `path`, in its order.
///
/// # Errors
/// Where it cannot be read or holds anything else.
pub fn read(path: &Path) -> Result<Vec<Run>, DocumentError> {
    let mut bytes = Vec::new();
    // A pipe may never say anything.
    if !path.metadata()?.is_file() {
        return Err(std::io::Error::other("no plain file").into());
    }
    std::fs::File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(DocumentError::TooLarge);
    }
    parse(&bytes)
}

/// The runs in `bytes`.
///
/// # Errors
/// Where they hold anything else.
pub fn parse(bytes: &[u8]) -> Result<Vec<Run>, DocumentError> {
    let mut runs = Vec::new();
    for value in serde_json::Deserializer::from_slice(bytes).into_iter::<Value>() {
        let documents = match value.map_err(|error| DocumentError::NotJson { line: error.line() })? {
            Value::Array(documents) => documents,
            document => vec![document],
        };
        for document in documents {
            if runs.len() >= MOST {
                return Err(DocumentError::Count { count: MOST });
            }
            runs.push(run(document)?);
        }
    }
    if runs.is_empty() { Err(DocumentError::Count { count: 0 }) } else { Ok(runs) }
}

fn run(document: Value) -> Result<Run, DocumentError> {
    let schema = document.get("schema").and_then(Value::as_str);
    if schema != Some(SCHEMA) {
        return Err(DocumentError::OtherSchema { schema: schema.map(str::to_owned) });
    }
    Run::deserialize(document).map_err(|error| DocumentError::Damaged { reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Basis;

    fn document(wall: i64) -> String {
        let run = Run { wall_ns: wall, basis: Some(Basis::Whole), ..Run::default() };
        let mut value = serde_json::to_value(run).unwrap_or_default();
        value["schema"] = SCHEMA.into();
        value.to_string()
    }

    #[test]
    fn documents_come_one_after_the_other_or_in_a_list() {
        let walls = |text: &str| {
            parse(text.as_bytes()).map(|runs| runs.iter().map(|run| run.wall_ns).collect::<Vec<_>>()).ok()
        };
        let (a, b) = (document(1), document(2));
        assert_eq!(walls(&a), Some(vec![1]));
        assert_eq!(walls(&format!("{a}\n{b}\n")), Some(vec![1, 2]));
        assert_eq!(walls(&format!("[{a}, {b}]")), Some(vec![1, 2]));
    }

    #[test]
    fn what_is_no_document_of_a_run_is_refused_by_name() {
        use DocumentError as E;
        let a = document(1);
        assert!(matches!(parse(b""), Err(E::Count { count: 0 })));
        assert!(matches!(parse(b"[]"), Err(E::Count { count: 0 })));
        assert!(matches!(
            parse(b"{\"schema\": \"whyidle.plan/1\"}"),
            Err(E::OtherSchema { schema: Some(_) })
        ));
        assert!(matches!(parse(b"7"), Err(E::OtherSchema { schema: None })));
        assert!(matches!(parse(&a.as_bytes()[..a.len() - 3]), Err(E::NotJson { line: 1 })));
        assert!(matches!(parse(a.replace(":1,", ":NaN,").as_bytes()), Err(E::NotJson { .. })));
        assert!(matches!(
            parse(a.replace("\"wall_ns\":1", "\"wall_ns\":\"x\"").as_bytes()),
            Err(E::Damaged { .. })
        ));
        assert!(
            matches!(parse("[".repeat(100_000).as_bytes()), Err(E::NotJson { .. })),
            "nested without end"
        );
        let many = a.repeat(MOST + 1);
        assert!(matches!(parse(many.as_bytes()), Err(E::Count { count: MOST })));
    }
}
