//! The history of experiments: one SQLite file, by default `whyidle/history.db` below `$XDG_DATA_HOME`. Every run is
//! written when it is over, in a transaction of its own, so that a crash loses at most the run under way. The
//! write-ahead log and full synchronisation keep what was committed through a crash of the machine too.

mod entry;
mod file;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};
use serde::{Serialize, de::DeserializeOwned};

use crate::comparison::Finish;
use crate::judged::Judged;
use crate::result::Run;

pub use entry::{ComeTo, Entry, Kind, Row};

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
    /// Whatever is written from now on belongs to `job`.
    #[must_use]
    pub fn of(mut self, job: Option<String>) -> Self {
        self.job = job;
        self
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

fn body_of(id: i64, body: &impl Serialize) -> Result<String, HistoryError> {
    serde_json::to_string(body).map_err(|_| HistoryError::Damaged { id })
}

fn parsed<T: DeserializeOwned>(id: i64, body: &str) -> Result<T, HistoryError> {
    serde_json::from_str(body).map_err(|_| HistoryError::Damaged { id })
}

#[cfg(test)]
mod tests;
