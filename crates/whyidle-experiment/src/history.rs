//! The history of experiments: one SQLite file, by default `whyidle/history.db` below `$XDG_DATA_HOME`. Every run is
//! written when it is over, in a transaction of its own, so that a crash loses at most the run under way. The
//! write-ahead log and full synchronisation keep what was committed through a crash of the machine too.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use serde::{Serialize, de::DeserializeOwned};

use crate::comparison::{Comparison, Finish};
use crate::differential::Differential;
use crate::fix::Fix;
use crate::judged::Judged;
use crate::result::Run;
use crate::sweep::Sweep;

/// Stands for the version of a database of another program.
const FOREIGN: i64 = -1;
/// Version of the tables.
const VERSION: i64 = 2;
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
        ended TEXT,
        job TEXT,
        busy REAL,
        seen_ns INTEGER
    ) STRICT;
    CREATE INDEX entries_by_job ON entries (job, id) WHERE job IS NOT NULL;
    CREATE INDEX entries_by_parent ON entries (parent, id);
    -- Apart, so that a list reads no more than it shows.
    CREATE TABLE bodies (id INTEGER PRIMARY KEY REFERENCES entries (id), body TEXT NOT NULL) STRICT;
";

/// What version 2 has beyond version 1. Whatever is added later goes into a step of its own.
const FROM_1: &str = "
    ALTER TABLE entries ADD COLUMN job TEXT;
    ALTER TABLE entries ADD COLUMN busy REAL;
    ALTER TABLE entries ADD COLUMN seen_ns INTEGER;
    CREATE INDEX entries_by_job ON entries (job, id) WHERE job IS NOT NULL;
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
    /// It is a database of another program.
    #[error("{path} is no history")]
    Foreign {
        /// The file.
        path: PathBuf,
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
    /// A verdict.
    Verdict(Box<Judged>),
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
    /// `run`, `verdict`, or the id of a [`Kind`].
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
    /// Id of the answer of a comparison; primary cause of a verdict.
    pub answer: Option<String>,
    /// Id of how it ended; none of a comparison that was cut off.
    pub ended: Option<String>,
    /// The job that it belongs to.
    pub job: Option<String>,
    /// Of a verdict the share of working, of a run the share with something on the GPU.
    pub busy: Option<f64>,
    /// How long it was seen, ns: of a run from its start to the end of the measurement.
    pub seen_ns: Option<i64>,
}

/// An open history.
#[derive(Debug)]
pub struct History {
    connection: Connection,
    path: PathBuf,
    /// Version of its tables: an older one where the file may not be written.
    version: i64,
    /// The job that whatever is written belongs to.
    job: Option<String>,
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
        let mut history = Self { connection, path: path.to_owned(), version: 0, job: None };
        history.version = history.prepare().map_err(failed)?;
        history.known()
    }

    /// Opens the history at `path`, which is there, to look at it: also where it may not be written, as it then is.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_to_read(path: &Path) -> Result<Self, HistoryError> {
        match Self::open(path) {
            Err(HistoryError::Database { source, .. }) if is_unwritable(&source) => Self::as_it_is(path),
            other => other,
        }
    }

    /// Without lock, log or change.
    fn as_it_is(path: &Path) -> Result<Self, HistoryError> {
        let failed = |source| HistoryError::Database { path: path.to_owned(), source };
        let full = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut uri = "file://".to_owned();
        for byte in full.as_os_str().as_encoded_bytes() {
            if byte.is_ascii_alphanumeric() || b"/-_.".contains(byte) {
                uri.push(char::from(*byte));
            } else {
                uri += &format!("%{byte:02X}");
            }
        }
        uri += "?immutable=1";
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(uri, flags).map_err(failed)?;
        let version =
            connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(failed)?;
        Self { connection, path: path.to_owned(), version, job: None }.known()
    }

    fn known(self) -> Result<Self, HistoryError> {
        match self.version {
            FOREIGN => Err(HistoryError::Foreign { path: self.path }),
            later if later > VERSION => Err(HistoryError::Newer { path: self.path }),
            _ => Ok(self),
        }
    }

    /// Whatever is written from now on belongs to `job`.
    #[must_use]
    pub fn of(mut self, job: Option<String>) -> Self {
        self.job = job;
        self
    }

    /// Settings and tables; the version of the file.
    fn prepare(&mut self) -> rusqlite::Result<i64> {
        self.connection.busy_timeout(PATIENCE)?;
        if is_foreign(&self.connection)? {
            return Ok(FOREIGN);
        }
        self.connection.pragma_update(None, "foreign_keys", true)?;
        // Answers with a row.
        self.connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
        self.connection.pragma_update(None, "synchronous", "full")?;
        let version =
            |connection: &Connection| connection.pragma_query_value(None, "user_version", |row| row.get(0));
        if (0..VERSION).contains(&version(&self.connection)?) {
            // Two programs may come here at once: the second finds the tables made. Whoever is killed before the commit
            // leaves the file as it was.
            let making =
                self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            match version(&making)? {
                0 => making.execute_batch(TABLES)?,
                1 => making.execute_batch(FROM_1)?,
                _ => {}
            }
            if version(&making)? < VERSION {
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
        let row = Row {
            kind: "run".to_owned(),
            label: of.map(|(_, label)| label.to_owned()),
            began: run.began,
            command: run.shown(),
            revision: run.place.revision(),
            step_ns: run.step_ns(),
            ended: Some(run.ended.id().to_owned()),
            busy: run.gpu.map(|gpu| gpu.resident),
            seen_ns: Some(run.wall_ns),
            ..Row::default()
        };
        self.add(&row, of.map(|(parent, _)| parent), run)
    }

    /// Writes a verdict. Its number.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn add_verdict(&mut self, judged: &Judged) -> Result<i64, HistoryError> {
        let row = Row {
            kind: "verdict".to_owned(),
            began: judged.began,
            command: judged.shown(),
            revision: judged.place.revision(),
            step_ns: Some(judged.verdict.step.unprofiled.ns),
            answer: Some(judged.verdict.ruling.primary.to_owned()),
            busy: Some(judged.verdict.working_share).filter(|share| share.is_finite()),
            seen_ns: Some(judged.seen_ns),
            ..Row::default()
        };
        self.add(&row, None, judged)
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
        let job = self.job.clone();
        let write = |connection: &mut Connection| {
            let writing = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            writing.execute(
                "INSERT INTO entries (parent, kind, label, began, command, revision, step_ns, ended, answer, busy, \
                 seen_ns, job) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
                params![
                    parent,
                    row.kind,
                    row.label,
                    row.began,
                    row.command,
                    row.revision,
                    row.step_ns,
                    row.ended,
                    row.answer,
                    row.busy,
                    row.seen_ns,
                    job,
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
        self.rows("parent IS ?1", params![of, limit])
    }

    /// The last `limit` entries of the job `job`, the newest first, those that belong to comparisons among them.
    ///
    /// # Errors
    /// Where they cannot be read.
    pub fn of_job(&self, job: &str, limit: u32) -> Result<Vec<Row>, HistoryError> {
        if self.version < 2 {
            return Ok(Vec::new());
        }
        self.rows("job = ?1", params![job, limit])
    }

    /// The last `?2` entries for which `which` holds.
    fn rows(&self, which: &str, with: &[&dyn rusqlite::ToSql]) -> Result<Vec<Row>, HistoryError> {
        let later = if self.version < 2 { "NULL, NULL, NULL" } else { "job, busy, seen_ns" };
        let read = || {
            let mut statement = self.connection.prepare(&format!(
                "SELECT id, kind, label, began, command, revision, step_ns, effect, answer, ended, {later} \
                 FROM entries WHERE {which} ORDER BY id DESC LIMIT ?2",
            ))?;
            let rows = statement.query_map(with, |row| {
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
                    job: row.get(10)?,
                    busy: row.get(11)?,
                    seen_ns: row.get(12)?,
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
            None if kind == "verdict" => Entry::Verdict(Box::new(parsed(id, &body)?)),
            None => Entry::Run(Box::new(parsed(id, &body)?)),
        }))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Asks the database.
    pub(crate) fn ask<T>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, HistoryError> {
        question(&self.connection).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: rusqlite::Error) -> HistoryError {
        HistoryError::Database { path: self.path.clone(), source }
    }
}

/// The file or its folder may not be written.
fn is_unwritable(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode as Code;
    matches!(error.sqlite_error_code(), Some(Code::ReadOnly | Code::CannotOpen | Code::PermissionDenied))
}

/// It holds tables, and none of ours: nothing is to be made in it.
fn is_foreign(connection: &Connection) -> rusqlite::Result<bool> {
    let count = |query| connection.query_row(query, [], |row| row.get::<_, i64>(0));
    Ok(count("SELECT count(*) FROM sqlite_master")? > 0
        && count("SELECT count(*) FROM sqlite_master WHERE name = 'entries'")? == 0)
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
        let foreign = dir.path().join("foreign");
        Connection::open(&foreign)?.execute_batch("CREATE TABLE own (x INTEGER)")?;
        let before = std::fs::read(&foreign)?;
        assert!(matches!(History::open(&foreign), Err(HistoryError::Foreign { .. })));
        assert_eq!(std::fs::read(&foreign)?, before, "another program's database stays as it is");
        let newer = dir.path().join("newer");
        Connection::open(&newer)?.pragma_update(None, "user_version", 9)?;
        assert!(matches!(History::open(&newer), Err(HistoryError::Newer { .. })));
        Ok(())
    }

    #[test]
    fn a_history_that_may_not_be_written_is_looked_at_as_it_is() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        // What SQLite would take for options, and what is no URI as it stands.
        let path = dir.path().join("a?mode=rw#b %41.db");
        std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/history_version_1.db"), &path)?;
        let before = std::fs::read(&path)?;
        let history = History::as_it_is(&path)?;
        assert_eq!(history.list(None, 10)?.iter().map(|row| row.id).collect::<Vec<_>>(), [2, 1]);
        assert!(matches!(history.entry(1)?, Some(Entry::Run(_))) && history.of_job("x", 9)?.is_empty());
        let mut history = history;
        assert!(history.add_run(&Run::default(), None).is_err());
        drop(history);
        assert_eq!(std::fs::read(&path)?, before);
        assert_eq!(std::fs::read_dir(dir.path())?.count(), 1, "nothing was made beside it");
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
