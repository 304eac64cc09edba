//! The history of experiments: one SQLite file, by default `whyidle/history.db` below `$XDG_DATA_HOME`. Every run is
//! written when it is over, in a transaction of its own, so that a crash loses at most the run under way. The
//! write-ahead log and full synchronisation keep what was committed through a crash of the machine too.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};
use serde::{Serialize, de::DeserializeOwned};

use crate::comparison::{Comparison, Finish};
use crate::differential::Differential;
use crate::fix::Fix;
use crate::result::Run;
use crate::sweep::Sweep;

/// Version of the tables.
const VERSION: i64 = 1;
/// So long another writer is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

const TABLES: &str = "
    CREATE TABLE entries (
        id INTEGER PRIMARY KEY,
        parent INTEGER REFERENCES entries (id),
        kind TEXT NOT NULL,
        label TEXT,
        began INTEGER NOT NULL,
        command TEXT NOT NULL,
        revision TEXT,
        step_ns INTEGER,
        effect REAL,
        answer TEXT,
        ended TEXT
    ) STRICT;
    CREATE INDEX entries_by_parent ON entries (parent, id);
    -- Apart, so that a list reads no more than it shows.
    CREATE TABLE bodies (id INTEGER PRIMARY KEY REFERENCES entries (id), body TEXT NOT NULL) STRICT;
";

/// Why the history does not serve.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The file cannot be made, opened or written.
    #[error("{path}: {source}")]
    Database {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// The folder cannot be made.
    #[error("{path}: {source}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A later version of the program wrote it.
    #[error("{path} is of a later version")]
    Newer {
        /// The file.
        path: PathBuf,
    },
    /// An entry is damaged.
    #[error("entry {id} is damaged")]
    Damaged {
        /// Its number.
        id: i64,
    },
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A run.
    Run(Box<Run>),
    /// A comparison.
    Comparison(Box<Comparison>),
    /// A program that was fed in different ways.
    Differential(Box<Differential>),
    /// A search of remedies.
    Fix(Box<Fix>),
    /// A sweep.
    Sweep(Box<Sweep>),
}

/// What consists of several runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Runs in pairs.
    Comparison,
    /// A program that is fed in different ways.
    Differential,
    /// A search of remedies.
    Fix,
    /// A program with several values of a setting.
    Sweep,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Comparison, Self::Differential, Self::Fix, Self::Sweep];

    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Comparison => "comparison",
            Self::Differential => "differential",
            Self::Fix => "fix",
            Self::Sweep => "sweep",
        }
    }

    fn of(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.id() == id)
    }
}

/// What a list shows of something that consists of several runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ComeTo {
    /// Step time of the program as it is, ns.
    pub step_ns: Option<i64>,
    /// Effect of the change, or of what was kept.
    pub effect: Option<f64>,
    /// Id of the answer.
    pub answer: Option<&'static str>,
    /// How it ended; none while it goes on.
    pub ended: Option<Finish>,
}

/// An entry as a list shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Its number.
    pub id: i64,
    /// `run`, or the id of a [`Kind`].
    pub kind: String,
    /// Of a run that belongs to a comparison: `A3`, the side and the pair.
    pub label: Option<String>,
    /// When it began, Unix ns.
    pub began: i64,
    /// What was run.
    pub command: String,
    /// Commit, with `+` where files differed.
    pub revision: Option<String>,
    /// Step time, ns; of a comparison that of A.
    pub step_ns: Option<i64>,
    /// Effect of B.
    pub effect: Option<f64>,
    /// Id of the answer of a comparison.
    pub answer: Option<String>,
    /// Id of how it ended; none of a comparison that was cut off.
    pub ended: Option<String>,
}

/// An open history.
#[derive(Debug)]
pub struct History {
    connection: Connection,
    path: PathBuf,
}

/// Where the history is kept, and the output of programs beside it: `$XDG_DATA_HOME/whyidle`, or
/// `~/.local/share/whyidle`. `None` without a home.
#[must_use]
pub fn data_folder(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let named = |name: &str| variable(name).filter(|path| Path::new(path).is_absolute()).map(PathBuf::from);
    named("XDG_DATA_HOME")
        .or_else(|| named("HOME").map(|home| home.join(".local/share")))
        .map(|share| share.join("whyidle"))
}

impl History {
    /// Opens the history at `path`; makes it, and its folder, where it is not there.
    ///
    /// # Errors
    /// Where it cannot be made, is no such database, or is of a later version.
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|source| HistoryError::Folder { path: folder.to_owned(), source })?;
        }
        let failed = |source| HistoryError::Database { path: path.to_owned(), source };
        let connection = Connection::open(path).map_err(failed)?;
        let mut history = Self { connection, path: path.to_owned() };
        let version = history.prepare().map_err(failed)?;
        if version > VERSION {
            return Err(HistoryError::Newer { path: path.to_owned() });
        }
        Ok(history)
    }

    /// Settings and tables; the version of the file.
    fn prepare(&mut self) -> rusqlite::Result<i64> {
        self.connection.busy_timeout(PATIENCE)?;
        self.connection.pragma_update(None, "foreign_keys", true)?;
        // Answers with a row.
        self.connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
        self.connection.pragma_update(None, "synchronous", "full")?;
        let version =
            |connection: &Connection| connection.pragma_query_value(None, "user_version", |row| row.get(0));
        if version(&self.connection)? == 0_i64 {
            // Two programs may come here at once: the second finds the tables made.
            let making =
                self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            if version(&making)? == 0 {
                making.execute_batch(TABLES)?;
                making.pragma_update(None, "user_version", VERSION)?;
            }
            making.commit()?;
        }
        version(&self.connection)
    }

    /// Writes a run; `of`: the comparison that it belongs to, and its label there. Its number.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn add_run(&mut self, run: &Run, of: Option<(i64, &str)>) -> Result<i64, HistoryError> {
        let revision = run.place.commit.as_ref().map(|commit| {
            let short: String = commit.chars().take(10).collect();
            short + if run.place.dirty == Some(true) { "+" } else { "" }
        });
        let row = Row {
            kind: "run".to_owned(),
            label: of.map(|(_, label)| label.to_owned()),
            began: run.began,
            command: run.shown(),
            revision,
            step_ns: run.step_ns(),
            ended: Some(run.ended.id().to_owned()),
            ..Row::default()
        };
        self.add(&row, of.map(|(parent, _)| parent), run)
    }

    /// Writes something that consists of several runs before the first of them, so that they can be kept with it: when
    /// it began, what it runs, itself. Its number.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn begin(
        &mut self,
        kind: Kind,
        began: i64,
        command: String,
        body: &impl Serialize,
    ) -> Result<i64, HistoryError> {
        self.add(&Row { kind: kind.id().to_owned(), began, command, ..Row::default() }, None, body)
    }

    /// Writes what it has come to.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn go_on(&mut self, id: i64, come_to: &ComeTo, body: &impl Serialize) -> Result<(), HistoryError> {
        let body = body_of(id, body)?;
        let write = |connection: &mut Connection| {
            let writing = connection.transaction()?;
            writing.execute(
                "UPDATE entries SET step_ns = ?2, effect = ?3, answer = ?4, ended = ?5 WHERE id = ?1",
                params![id, come_to.step_ns, come_to.effect, come_to.answer, come_to.ended.map(Finish::id)],
            )?;
            writing.execute("UPDATE bodies SET body = ?2 WHERE id = ?1", params![id, body])?;
            writing.commit()
        };
        write(&mut self.connection).map_err(|source| self.failed(source))
    }

    fn add(&mut self, row: &Row, parent: Option<i64>, body: &impl Serialize) -> Result<i64, HistoryError> {
        let body = body_of(0, body)?;
        let write = |connection: &mut Connection| {
            let writing = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            writing.execute(
                "INSERT INTO entries (parent, kind, label, began, command, revision, step_ns, ended) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![
                    parent,
                    row.kind,
                    row.label,
                    row.began,
                    row.command,
                    row.revision,
                    row.step_ns,
                    row.ended
                ],
            )?;
            let id = writing.last_insert_rowid();
            writing.execute("INSERT INTO bodies (id, body) VALUES (?1, ?2)", params![id, body])?;
            writing.commit()?;
            Ok(id)
        };
        write(&mut self.connection).map_err(|source| self.failed(source))
    }

    /// The last `limit` entries, the newest first; those of the comparison `of`, or those that belong to none.
    ///
    /// # Errors
    /// Where they cannot be read.
    pub fn list(&self, of: Option<i64>, limit: u32) -> Result<Vec<Row>, HistoryError> {
        let read = || {
            let mut statement = self.connection.prepare(
                "SELECT id, kind, label, began, command, revision, step_ns, effect, answer, ended \
                 FROM entries WHERE parent IS ?1 ORDER BY id DESC LIMIT ?2",
            )?;
            let rows = statement.query_map(params![of, limit], |row| {
                Ok(Row {
                    id: row.get(0)?,
                    kind: row.get(1)?,
                    label: row.get(2)?,
                    began: row.get(3)?,
                    command: row.get(4)?,
                    revision: row.get(5)?,
                    step_ns: row.get(6)?,
                    effect: row.get(7)?,
                    answer: row.get(8)?,
                    ended: row.get(9)?,
                })
            })?;
            rows.collect::<rusqlite::Result<Vec<Row>>>()
        };
        read().map_err(|source| self.failed(source))
    }

    /// The entry of that number; `None` where there is none.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn entry(&self, id: i64) -> Result<Option<Entry>, HistoryError> {
        let read = || {
            let query = "SELECT kind, body FROM entries JOIN bodies USING (id) WHERE id = ?1";
            self.connection.query_row(query, [id], |row| Ok((row.get(0)?, row.get(1)?))).optional()
        };
        let found: Option<(String, String)> = read().map_err(|source| self.failed(source))?;
        let Some((kind, body)) = found else { return Ok(None) };
        Ok(Some(match Kind::of(&kind) {
            Some(Kind::Comparison) => Entry::Comparison(Box::new(parsed(id, &body)?)),
            Some(Kind::Differential) => Entry::Differential(Box::new(parsed(id, &body)?)),
            Some(Kind::Fix) => Entry::Fix(Box::new(parsed(id, &body)?)),
            Some(Kind::Sweep) => Entry::Sweep(Box::new(parsed(id, &body)?)),
            None => Entry::Run(Box::new(parsed(id, &body)?)),
        }))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, source: rusqlite::Error) -> HistoryError {
        HistoryError::Database { path: self.path.clone(), source }
    }
}

fn body_of(id: i64, body: &impl Serialize) -> Result<String, HistoryError> {
    serde_json::to_string(body).map_err(|_| HistoryError::Damaged { id })
}

fn parsed<T: DeserializeOwned>(id: i64, body: &str) -> Result<T, HistoryError> {
    serde_json::from_str(body).map_err(|_| HistoryError::Damaged { id })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_as_they_were_written() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("deep/history.db");
        let mut history = History::open(&path)?;
        let command = vec!["python".to_owned(), "train.py".to_owned()];
        let run = Run { began: 5, command, losses: vec![(1.0, 2.5)], ..Run::default() };
        let first = history.add_run(&run, None)?;
        let comparison = Comparison { began: 6, ..Comparison::default() };
        let second = history.begin(Kind::Comparison, comparison.began, comparison.shown(), &comparison)?;
        let inside = history.add_run(&run, Some((second, "A1")))?;
        drop(history);
        let mut history = History::open(&path)?;
        assert_eq!(history.entry(first)?, Some(Entry::Run(Box::new(run))));
        assert_eq!(history.entry(99)?, None);
        let listed = history.list(None, 10)?;
        assert_eq!(listed.iter().map(|row| row.id).collect::<Vec<_>>(), [second, first]);
        assert_eq!((listed[1].command.as_str(), listed[0].ended.as_deref()), ("python train.py", None));
        assert_eq!(history.list(Some(second), 10)?.first().map(|row| row.id), Some(inside));
        assert_eq!(history.list(None, 1)?.len(), 1);
        let ended = Comparison { ended: Some(Finish::Interrupted), ..comparison };
        history.go_on(second, &ended.come_to(), &ended)?;
        assert_eq!(history.list(None, 1)?[0].ended.as_deref(), Some("interrupted"));
        assert_eq!(history.entry(second)?, Some(Entry::Comparison(Box::new(ended))));
        let sweep = Sweep { began: 7, rungs: vec![Default::default()], ..Sweep::default() };
        let third = history.begin(Kind::Sweep, sweep.began, sweep.shown(), &sweep)?;
        assert_eq!(history.entry(third)?, Some(Entry::Sweep(Box::new(sweep.clone()))), "also before its end");
        let ended = Sweep { ended: Some(Finish::Done), ..sweep };
        history.go_on(third, &ended.come_to(), &ended)?;
        let row = &history.list(None, 1)?[0];
        assert_eq!((row.kind.as_str(), row.ended.as_deref()), ("sweep", Some("done")));
        assert_eq!(history.entry(third)?, Some(Entry::Sweep(Box::new(ended))));
        Ok(())
    }

    #[test]
    fn a_loss_that_is_no_number_survives() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let mut history = History::open(&dir.path().join("history.db"))?;
        let id = history.add_run(&Run { losses: vec![(1.0, f64::NAN)], ..Run::default() }, None)?;
        let Some(Entry::Run(run)) = history.entry(id)? else { panic!("the run") };
        assert!(run.losses[0].1.is_nan());
        Ok(())
    }

    #[test]
    fn what_is_no_history_is_refused() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let text = dir.path().join("text");
        std::fs::write(&text, "no database, and longer than a header has to be ".repeat(20))?;
        assert!(matches!(History::open(&text), Err(HistoryError::Database { .. })));
        let newer = dir.path().join("newer");
        Connection::open(&newer)?.pragma_update(None, "user_version", 9)?;
        assert!(matches!(History::open(&newer), Err(HistoryError::Newer { .. })));
        Ok(())
    }

    #[test]
    fn the_folder_follows_the_environment() {
        let with = |pairs: &'static [(&str, &str)]| {
            data_folder(|name| {
                pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(with(&[("XDG_DATA_HOME", "/d"), ("HOME", "/h")]), Some("/d/whyidle".into()));
        assert_eq!(with(&[("XDG_DATA_HOME", ""), ("HOME", "/h")]), Some("/h/.local/share/whyidle".into()));
        assert_eq!(with(&[]), None);
    }
}
