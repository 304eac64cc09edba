//! Runs of the history by what they are of: a commit, a command, the last ones.

use rusqlite::{OptionalExtension, params};

use crate::history::{History, HistoryError};
use crate::result::Run;

/// A run with its number.
pub type Numbered = (i64, Run);

impl History {
    /// The newest runs of `command` (as [`Run::shown`] has it) at `revision` (as [`Place::revision`](crate::result::Place::revision)
    /// has it), the newest first. Those of comparisons are not among them: they may be of a changed command.
    ///
    /// # Errors
    /// Where they cannot be read.
    pub fn runs_of(
        &self,
        revision: Option<&str>,
        command: &str,
        limit: usize,
    ) -> Result<Vec<Numbered>, HistoryError> {
        let ids: Vec<i64> = self.ask(|connection| {
            let mut statement = connection.prepare(
                "SELECT id FROM entries WHERE kind = 'run' AND parent IS NULL AND revision IS ?1 AND command = ?2 \
                 ORDER BY id DESC LIMIT ?3",
            )?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![revision, command, limit], |row| row.get(0))?;
            rows.collect()
        })?;
        let mut runs = Vec::new();
        for id in ids {
            runs.extend(self.run(id)?.map(|run| (id, run)));
        }
        Ok(runs)
    }

    /// The newest run that belongs to no comparison.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn last_run(&self) -> Result<Option<Numbered>, HistoryError> {
        let id: Option<i64> = self.ask(|connection| {
            let query =
                "SELECT id FROM entries WHERE kind = 'run' AND parent IS NULL ORDER BY id DESC LIMIT 1";
            connection.query_row(query, [], |row| row.get(0)).optional()
        })?;
        let Some(id) = id else { return Ok(None) };
        Ok(self.run(id)?.map(|run| (id, run)))
    }

    /// Whether the history holds a run of `revision`, whatever its command.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn has_runs_of(&self, revision: &str) -> Result<bool, HistoryError> {
        self.ask(|connection| {
            let query = "SELECT EXISTS (SELECT 1 FROM entries WHERE kind = 'run' AND revision = ?1)";
            connection.query_row(query, [revision], |row| row.get(0))
        })
    }

    fn run(&self, id: i64) -> Result<Option<Run>, HistoryError> {
        Ok(match self.entry(id)? {
            Some(crate::history::Entry::Run(run)) => Some(*run),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Comparison;
    use crate::history::Kind;
    use crate::result::Place;

    #[test]
    fn runs_are_found_by_commit_and_command() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let mut history = History::open(&dir.path().join("history.db"))?;
        assert_eq!(history.last_run()?, None);
        let of = |commit: &str, command: &str, began| Run {
            began,
            command: vec![command.to_owned()],
            place: Place { commit: Some(commit.to_owned()), dirty: Some(false), ..Place::default() },
            ..Run::default()
        };
        for (commit, command, began) in
            [("aaaaaaaaaaaa", "x", 1), ("aaaaaaaaaaaa", "y", 2), ("aaaaaaaaaaaa", "x", 3), ("bbbb", "x", 4)]
        {
            history.add_run(&of(commit, command, began), None)?;
        }
        let comparison = history.begin(Kind::Comparison, 0, String::new(), &Comparison::default())?;
        history.add_run(&of("aaaaaaaaaaaa", "x", 5), Some((comparison, "A1")))?;
        let began = |runs: Vec<Numbered>| runs.iter().map(|(id, run)| (*id, run.began)).collect::<Vec<_>>();
        assert_eq!(began(history.runs_of(Some("aaaaaaaaaa"), "x", 10)?), [(3, 3), (1, 1)]);
        assert_eq!(began(history.runs_of(Some("aaaaaaaaaa"), "x", 1)?), [(3, 3)]);
        assert_eq!(began(history.runs_of(None, "x", 9)?), []);
        assert_eq!(history.last_run()?.map(|(id, _)| id), Some(4));
        assert!(history.has_runs_of("bbbb")? && !history.has_runs_of("cccc")?);
        Ok(())
    }
}
