//! Real traces, and answers to queries on them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use whyidle_analysis::facts::Facts;
use whyidle_model::{Samples, Trace};
use whyidle_readers::{ReadOptions, find_traces, read_trace, samples};
use whyidle_tables::sql::{Answer, Database};
use whyidle_tables::{Cell, Sampled, Traced};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The traces of the folders in `testdata/`.
pub(crate) fn shipped() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(root().join("testdata")).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    folders.iter().flat_map(|folder| find_traces(folder).unwrap()).collect()
}

/// Other people's traces, where they are.
pub(crate) fn public() -> Vec<PathBuf> {
    let folder = std::env::var_os("WHYIDLE_PUBLIC")
        .map_or_else(|| root().join("../shared/public-traces"), PathBuf::from);
    if !folder.is_dir() {
        eprintln!("skipped: {} is not there", folder.display());
        return Vec::new();
    }
    find_traces(&folder).unwrap()
}

pub(crate) fn read(path: &Path) -> Trace {
    read_trace(path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// A recording that was made by sampling.
pub(crate) fn recording(name: &str) -> Samples {
    samples::read(&root().join("crates/whyidle/tests/recordings").join(name)).unwrap().samples
}

/// A value of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
}

impl Value {
    pub(crate) fn integer(&self) -> i64 {
        match self {
            Self::Integer(number) => *number,
            other => panic!("{other:?} is no whole number"),
        }
    }

    pub(crate) fn real(&self) -> f64 {
        match self {
            Self::Real(number) => *number,
            Self::Integer(number) => *number as f64,
            other => panic!("{other:?} is no number"),
        }
    }

    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            other => panic!("{other:?} is no text"),
        }
    }
}

/// An answer.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    pub(crate) names: Vec<String>,
    pub(crate) rows: Vec<Vec<Value>>,
}

impl Sheet {
    /// The column called `name`.
    pub(crate) fn column(&self, name: &str) -> Vec<&Value> {
        let at = self.names.iter().position(|known| known == name);
        let at = at.unwrap_or_else(|| panic!("no column {name} in {:?}", self.names));
        self.rows.iter().map(|row| &row[at]).collect()
    }

    /// The sum of a column of whole numbers.
    pub(crate) fn sum(&self, name: &str) -> i64 {
        self.column(name).into_iter().map(Value::integer).sum()
    }
}

impl Answer for Sheet {
    fn columns(&mut self, names: &[String]) -> std::io::Result<()> {
        self.names = names.to_vec();
        Ok(())
    }

    fn row(&mut self, cells: &[Cell<'_>]) -> std::io::Result<()> {
        let value = |cell: &Cell<'_>| match cell {
            Cell::Null => Value::Null,
            Cell::Integer(number) => Value::Integer(*number),
            Cell::Real(number) => Value::Real(*number),
            Cell::Text(text) => Value::Text((*text).to_owned()),
            Cell::Blob(bytes) => panic!("bytes: {bytes:?}"),
        };
        self.rows.push(cells.iter().map(value).collect());
        Ok(())
    }
}

/// The answer to `sql` on one trace.
pub(crate) fn ask(sql: &str, trace: &Trace, facts: &Facts) -> Sheet {
    let mut database = Database::private().unwrap();
    let used = database.used(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    database.add_trace(&used, &Traced::new(0, "trace.json", trace, facts)).unwrap();
    answer(&mut database, sql)
}

/// The answer to `sql` on a recording.
pub(crate) fn ask_recording(sql: &str, samples: &Samples) -> Sheet {
    let mut database = Database::private().unwrap();
    let used = database.used(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    database.add_samples(&used, &Sampled { samples }).unwrap();
    answer(&mut database, sql)
}

fn answer(database: &mut Database, sql: &str) -> Sheet {
    let mut sheet = Sheet::default();
    let asked = database.query(sql, Duration::from_secs(300), &mut sheet);
    asked.unwrap_or_else(|error| panic!("{error}: {sql}"));
    sheet
}
