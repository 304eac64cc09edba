//! What new runs are held against: a number of the history, a file of runs, or the runs of a commit.

use std::path::Path;

use whyidle_diagnosis::Message;
use whyidle_experiment::documents::{self, DocumentError};
use whyidle_experiment::gate::serves;
use whyidle_experiment::history::{Entry, History};
use whyidle_experiment::result::{Place, Run};
use whyidle_observe::surroundings::commit_of;

use super::super::unusable;
use crate::UNREADABLE;
use crate::output::{Output, io_reason};

/// Runs of a commit that are looked at.
const MOST_OF_COMMIT: usize = 20;

/// Where baselines are looked for. Looking makes no history.
pub(super) struct Search<'a> {
    pub(super) history: Option<&'a History>,
    /// The command of the new runs, as one would type it.
    pub(super) command: &'a str,
    pub(super) output: &'a Output,
}

impl Search<'_> {
    /// The runs that `reference` names; else the exit status, once the reason is said.
    pub(super) fn runs(&self, reference: &str) -> Result<Vec<Run>, u8> {
        if let Ok(id) = reference.parse::<i64>() {
            return self.numbered(id).map(|run| vec![run]);
        }
        let path = Path::new(reference);
        if path.exists() {
            return self.file(path);
        }
        let here = std::env::current_dir().unwrap_or_default();
        let Some(commit) = commit_of(&here, reference) else {
            return Err(self.refuse(
                &Message::new("cli-gate-no-ref").name("ref", reference),
                Some(&Message::new("cli-gate-file-hint")),
            ));
        };
        self.of_commit(reference, &commit)
    }

    /// The run of that number.
    pub(super) fn numbered(&self, id: i64) -> Result<Run, u8> {
        let found = match self.history {
            Some(history) => history.entry(id).map_err(|error| unusable(&error, self.output))?,
            None => None,
        };
        match found {
            Some(Entry::Run(run)) if serves(&run) => Ok(*run),
            Some(Entry::Run(_)) => {
                let failed = Message::new("cli-gate-failed-run").name("ref", id.to_string());
                Err(self.refuse(&failed, None))
            }
            Some(_) => Err(self.unknown(Message::new("cli-history-no-run"), id)),
            None => Err(self.unknown(Message::new("cli-history-none"), id)),
        }
    }

    fn unknown(&self, why: Message, id: i64) -> u8 {
        self.refuse(&why.name("id", id.to_string()), Some(&Message::new("cli-history-none-hint")))
    }

    fn file(&self, path: &Path) -> Result<Vec<Run>, u8> {
        let shown = path.display().to_string();
        let runs = documents::read(path).map_err(|error| {
            let file = Message::new("cli-gate-file").name("path", &shown).message("reason", reason(&error));
            self.refuse(&file, Some(&Message::new("cli-gate-file-hint")))
        })?;
        let served: Vec<Run> = runs.into_iter().filter(serves).collect();
        if served.is_empty() {
            return Err(self.refuse(&Message::new("cli-gate-failed-run").name("ref", shown), None));
        }
        Ok(served)
    }

    fn of_commit(&self, reference: &str, commit: &str) -> Result<Vec<Run>, u8> {
        let wrong = |error| unusable(&error, self.output);
        let place = Place { commit: Some(commit.to_owned()), dirty: Some(false), ..Place::default() };
        let revision = place.revision().unwrap_or_default();
        let mut runs: Vec<Run> = Vec::new();
        let mut of_others = false;
        if let Some(history) = self.history {
            let found = history.runs_of(Some(&revision), self.command, MOST_OF_COMMIT).map_err(wrong)?;
            let same = |run: &Run| run.place.commit.as_deref() == Some(commit) && serves(run);
            runs.extend(found.into_iter().map(|(_, run)| run).filter(same));
            of_others = history.has_runs_of(&revision).map_err(wrong)?;
        }
        if runs.is_empty() {
            let why = Message::new("cli-gate-no-runs").name("ref", reference).name("commit", revision);
            let hint = if of_others {
                Message::new("cli-gate-no-runs-hint")
            } else {
                Message::new("cli-gate-no-runs-measure").name("ref", reference)
            };
            return Err(self.refuse(&why, Some(&hint.name("command", self.command))));
        }
        Ok(runs)
    }

    fn refuse(&self, why: &Message, hint: Option<&Message>) -> u8 {
        self.output.error(why, hint);
        UNREADABLE
    }
}

/// Why a file is no baseline.
fn reason(error: &DocumentError) -> Message {
    match error {
        DocumentError::Io(error) => io_reason(error),
        DocumentError::NotJson { line } => Message::new("cli-gate-file-json").count("line", *line),
        DocumentError::OtherSchema { schema: Some(schema) } => {
            Message::new("cli-gate-file-schema").name("schema", schema)
        }
        DocumentError::OtherSchema { schema: None } => Message::new("cli-gate-file-other"),
        DocumentError::Damaged { reason } => Message::new("cli-gate-file-damaged").name("reason", reason),
        DocumentError::Count { count: 0 } => Message::new("cli-gate-file-empty"),
        DocumentError::Count { count } => Message::new("cli-gate-file-many").count("count", *count),
        DocumentError::TooLarge => Message::new("cli-gate-file-large"),
    }
}
