//! What `bench` and `compare` share while programs run: whose turn it is, how long, and why nothing could be measured.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use whyidle_diagnosis::Message;
use whyidle_experiment::compare::CompareError;
use whyidle_experiment::measure::{self, MeasureError, Wanted};
use whyidle_experiment::result::{Ended, Run};
use whyidle_observe::captured::Requests;
use whyidle_observe::turn::{NoTurn, Turn, gpus};
use whyidle_readers::progress::printed::Words;

use super::options::Measuring;
use super::unusable;
use whyidle_report::run_failed;

use crate::output::{Output, io_reason};
use crate::{REFUSED, UNREADABLE};

/// The turn on every GPU that programs may use; else the exit status, once the reason is said.
pub(super) fn turn(about: &str, output: &Output) -> Result<Turn, u8> {
    Turn::take(&gpus(), about).map_err(|why| match why {
        NoTurn::Taken(who, gpu) => {
            let error = Message::new("cli-turn-taken").name("who", who);
            // Without a GPU the turn is that on the cores.
            let error = match gpu.as_str() {
                "cores" => error.message("gpu", Message::new("cli-turn-cores")),
                _ => error.name("gpu", gpu),
            };
            output.error(&error, Some(&Message::new("cli-turn-taken-hint")));
            REFUSED
        }
        NoTurn::Io(path, error) => {
            let path = path.display().to_string();
            let error =
                Message::new("cli-turn-unlocked").name("path", path).message("reason", io_reason(&error));
            output.error(&error, None);
            UNREADABLE
        }
    })
}

/// Requests to stop are counted from now on; else the exit status, once the reason is said.
pub(super) fn requests(output: &Output) -> Result<Requests, u8> {
    Requests::listen().map_err(|error| {
        let error =
            Message::new("cli-bench-unmeasured").name("path", "signals").name("reason", error.to_string());
        output.error(&error, None);
        UNREADABLE
    })
}

/// What is wanted of a program.
pub(super) fn wanted(
    measuring: &Measuring,
    command: Vec<String>,
    environment: BTreeMap<String, String>,
    log: PathBuf,
) -> Wanted {
    Wanted {
        command,
        environment,
        steps: measuring.steps.map_or(measure::STEPS, |steps| steps as usize),
        least: if measuring.steps.is_some() { Duration::ZERO } else { measure::LEAST },
        most: measuring.for_,
        words: Words { loss: measuring.loss.clone(), step: measuring.step.clone() },
        losses: measuring.losses.clone(),
        pass_on: false,
        no_hook: measuring.no_hook,
        log,
        ..Wanted::default()
    }
}

/// Says that losses were to be had from files, and were not.
pub(super) fn without_losses(run: &Run, measuring: &Measuring, output: &Output) {
    if !measuring.losses.is_empty() && run.losses_from.is_none() {
        let paths: Vec<String> = measuring.losses.iter().map(|path| path.display().to_string()).collect();
        output.say(&Message::new("cli-losses-none").name("paths", paths.join(", ")));
    }
}

/// Says why a program could not be measured.
pub(super) fn unmeasured(error: &MeasureError, output: &Output) -> u8 {
    let message = match error {
        MeasureError::NotStarted { program, source } => {
            Message::new("cli-live-not-started").name("program", program).message("reason", io_reason(source))
        }
        MeasureError::Files { path, reason } => Message::new("cli-bench-unmeasured")
            .name("path", path.display().to_string())
            .name("reason", reason),
    };
    output.error(&message, None);
    UNREADABLE
}

/// Says why a comparison could not begin or go on.
pub(super) fn stopped(error: &CompareError, output: &Output) -> u8 {
    match error {
        CompareError::Measure(error) => unmeasured(error, output),
        CompareError::History(error) => unusable(error, output),
    }
}

/// Why a run shows nothing to compare.
pub(super) fn why_useless(run: &Run) -> Message {
    match run.ended {
        Ended::Failed | Ended::OutOfMemory => run_failed(run),
        _ => Message::new("bench-no-steps").time("time", run.wall_ns),
    }
}

/// Makes the folder for the output of programs; else the exit status, once the reason is said.
pub(super) fn folder(path: &std::path::Path, output: &Output) -> Result<(), u8> {
    std::fs::create_dir_all(path).map_err(|error| {
        let path = path.display().to_string();
        let error = Message::new("cli-not-written").name("path", path).message("reason", io_reason(&error));
        output.error(&error, None);
        UNREADABLE
    })
}

/// Says how far a long run has come, from time to time.
pub(super) struct Pace(Instant);

/// How often.
const SAY_EVERY: Duration = Duration::from_secs(10);

impl Pace {
    /// From now on.
    pub(super) fn new() -> Self {
        Self(Instant::now())
    }

    /// It is time again to say something.
    pub(super) fn is_due(&mut self) -> bool {
        let is_due = self.0.elapsed() >= SAY_EVERY;
        if is_due {
            self.0 = Instant::now();
        }
        is_due
    }

    /// Something else was said.
    pub(super) fn said(&mut self) {
        self.0 = Instant::now();
    }
}
