//! Verdicts of `run` and `attach` into the history. That one could not be kept is said, and changes nothing else.

use std::path::Path;

use whyidle_diagnosis::{Message, Verdict};
use whyidle_experiment::history::History;
use whyidle_experiment::job::{job_id, variables};
use whyidle_experiment::judged::Judged;
use whyidle_experiment::measure::place_of;
use whyidle_observe::Summary;
use whyidle_observe::surroundings::surroundings;
use whyidle_observe::tree::variables_of;

use super::{default_path, reason_of};
use crate::output::Output;

/// What is known of a watch beside its verdict.
pub(crate) struct Watched {
    /// Without the verdict, which is not there yet.
    began: i64,
    seen_ns: i64,
    command: Vec<String>,
    place: whyidle_experiment::result::Place,
    gpus: u32,
    job: Option<String>,
}

impl Watched {
    /// Of a watch that is over; `began`: Unix time, ns.
    pub(crate) fn new(began: i64, command: &[String], summary: &Summary) -> Self {
        let here = std::env::current_dir().unwrap_or_default();
        let drivers = summary.tree.drivers().count();
        let gpus = if summary.cards.is_empty() { 0 } else { drivers.max(1) };
        // A program that was attached to may be of a job that this one is not of.
        let of_program = summary
            .tree
            .drivers()
            .next()
            .map(|driver| variables_of(driver.pid, |name| variables().any(|known| known == name)));
        let of_program = job_id(|name| of_program.as_ref()?.get(name).cloned());
        Self {
            began,
            seen_ns: i64::try_from(summary.wall.as_nanos()).unwrap_or(i64::MAX),
            command: whyidle_observe::redact::command(command),
            place: place_of(surroundings(&here), summary),
            gpus: u32::try_from(gpus).unwrap_or(u32::MAX),
            job: of_program.or_else(|| job_id(|name| std::env::var(name).ok())),
        }
    }

    /// Keeps the verdict.
    pub(crate) fn keep(self, verdict: &Verdict, output: &Output) {
        let gpus = if verdict.subject.gpu.is_some() {
            let traced = u32::try_from(verdict.subject.gpus).unwrap_or(u32::MAX);
            self.gpus.max(traced).max(1)
        } else {
            self.gpus
        };
        let judged = Judged {
            began: self.began,
            seen_ns: self.seen_ns,
            command: self.command,
            dir: std::env::current_dir().unwrap_or_default().display().to_string(),
            place: self.place,
            gpus,
            verdict: verdict.clone(),
        };
        let Some(path) = default_path() else {
            output.say(
                &Message::new("cli-verdict-not-kept").message("reason", Message::new("cli-history-no-home")),
            );
            return;
        };
        match write(&path, self.job, &judged) {
            Ok(id) => output.hint(&Message::new("cli-verdict-kept").name("id", id.to_string())),
            Err(error) => {
                output.say(&Message::new("cli-verdict-not-kept").message("reason", reason_of(&error)));
            }
        }
    }
}

fn write(
    path: &Path,
    job: Option<String>,
    judged: &Judged,
) -> Result<i64, whyidle_experiment::history::HistoryError> {
    History::open(path)?.of(job).add_verdict(judged)
}
