//! A job as a whole: which one a run belongs to, and what all that was seen of it comes to.
//!
//! What was seen is a sample: verdicts watch a program for a while, and runs measure it for a while. Nothing is said of the
//! time between them.

use std::collections::BTreeMap;

use serde::Serialize;
use whyidle_diagnosis::{LineKind, Message};

use crate::history::{Entry, History, HistoryError, Row};
use crate::judged::Judged;
use crate::result::Run;

/// Variables that name a job, the surest first: the user's own, then what schedulers set.
const VARIABLES: [&str; 9] = [
    "WHYIDLE_JOB",
    "SLURM_JOB_ID",
    "PBS_JOBID",
    "LSB_JOBID",
    "RAY_JOB_ID",
    "AZUREML_RUN_ID",
    "TRAINING_JOB_NAME",
    "JOB_ID",
    "JOB_NAME",
];
/// In Kubernetes, where nothing names the job: the pod.
const IN_KUBERNETES: (&str, &str) = ("KUBERNETES_SERVICE_HOST", "HOSTNAME");
/// No id is longer.
const LONGEST: usize = 200;
/// Entries of a job that are looked at.
const MOST: u32 = 10_000;

/// All variables that are looked at.
pub fn variables() -> impl Iterator<Item = &'static str> {
    VARIABLES.into_iter().chain([IN_KUBERNETES.0, IN_KUBERNETES.1])
}

/// The id of the job that a process with these variables belongs to.
#[must_use]
pub fn job_id(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let fits = |id: &String| {
        !id.is_empty() && id.len() <= LONGEST && !id.chars().any(|c| c.is_control() || c.is_whitespace())
    };
    let known = |name: &str| variable(name).map(|id| id.trim().to_owned()).filter(fits);
    let pod = || known(IN_KUBERNETES.0).and_then(|_| known(IN_KUBERNETES.1));
    VARIABLES.iter().find_map(|name| known(name)).or_else(pod)
}

/// An entry of a job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// Its number in the history.
    pub id: i64,
    /// `verdict` or `run`.
    pub kind: String,
    /// When it began, Unix time, ns.
    pub began: i64,
    /// How long it was seen: of a verdict the watch, of a run its steady steps, ns.
    pub seen_ns: i64,
    /// GPUs that this is of: of a run the one that was looked at.
    pub gpus: u32,
    /// Of a verdict the share of working, of a run the share with something on the GPU.
    pub busy: Option<f64>,
    /// Of a verdict: its primary cause.
    pub cause: Option<String>,
    /// What was run.
    pub command: String,
}

/// What was waited for, of all GPU time that verdicts saw.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wait {
    /// Line of the ledger.
    pub line: String,
    /// GPU time, ns.
    pub gpu_ns: i64,
    /// As a share of the GPU time that verdicts saw.
    pub share: f64,
}

/// The change that saves most, of those that verdicts propose first.
#[derive(Clone, Debug, PartialEq)]
pub struct Worth {
    /// Its cause.
    pub cause: String,
    /// The newest verdict that proposes it.
    pub id: i64,
    /// What to do.
    pub summary: Message,
    /// Step before, ns.
    pub step_ns: i64,
    /// Step after it, as predicted, ns.
    pub after_ns: i64,
    /// GPU time that it would have saved of what was seen, ns.
    pub saved_gpu_ns: i64,
}

/// A job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Job {
    /// Its id.
    pub id: String,
    /// Its verdicts and runs, the oldest first.
    pub parts: Vec<Part>,
    /// When the first began, Unix time, ns.
    pub began: i64,
    /// When the last ended.
    pub ended: i64,
    /// Mean share of working over the GPU time that verdicts saw.
    pub working: Option<f64>,
    /// Mean share with something on the GPU over what runs saw.
    pub resident: Option<f64>,
    /// Waits, the largest first.
    pub waits: Vec<Wait>,
    /// Wasted GPU time of what was seen, ns; estimated. Of verdicts (1 − working share) × GPUs × time; of runs
    /// (1 − share with something on the GPU) × time, which is less than that.
    pub waste_gpu_ns: i64,
    /// GPU time that was seen, ns.
    pub seen_gpu_ns: i64,
    /// The one change worth making.
    pub worth: Option<Worth>,
    /// Entries that are damaged, and left out.
    pub damaged: usize,
}

/// What the history knows of the job `id`; `None` where it knows nothing.
///
/// # Errors
/// Where the history cannot be read.
pub fn job(history: &History, id: &str) -> Result<Option<Job>, HistoryError> {
    let mut rows = history.of_job(id, MOST)?;
    rows.reverse();
    let mut gathered = Gathered::default();
    for row in &rows {
        match history.entry(row.id) {
            Ok(Some(Entry::Verdict(judged))) => gathered.verdict(row, &judged),
            Ok(Some(Entry::Run(run))) => gathered.run(row, &run),
            Ok(_) => {}
            Err(HistoryError::Damaged { .. }) => gathered.damaged += 1,
            Err(error) => return Err(error),
        }
    }
    Ok((!rows.is_empty()).then(|| gathered.job(id)))
}

/// A sum of shares, weighted by GPU time.
#[derive(Default)]
struct Mean {
    busy: f64,
    of: f64,
}

impl Mean {
    fn add(&mut self, share: f64, of: f64) {
        self.busy += share * of;
        self.of += of;
    }

    fn share(&self) -> Option<f64> {
        (self.of > 0.0).then(|| self.busy / self.of)
    }
}

#[derive(Default)]
struct Gathered {
    parts: Vec<Part>,
    working: Mean,
    resident: Mean,
    waits: BTreeMap<&'static str, f64>,
    changes: BTreeMap<&'static str, Worth>,
    ended: i64,
    damaged: usize,
}

impl Gathered {
    fn verdict(&mut self, row: &Row, judged: &Judged) {
        let (verdict, seen) = (&judged.verdict, judged.gpu_ns());
        self.ended = self.ended.max(judged.began.saturating_add(judged.seen_ns));
        // Without a GPU it is no number.
        let working = Some(verdict.working_share).filter(|share| share.is_finite());
        self.parts.push(part(row, judged.seen_ns, judged.gpus, working));
        let Some(working) = working else { return };
        self.working.add(working.clamp(0.0, 1.0), seen);
        for line in verdict.ledger.iter().filter(|line| line.kind == LineKind::Waiting) {
            *self.waits.entry(line.id).or_default() += line.share * seen;
        }
        let step = verdict.step.unprofiled.ns;
        let primary = verdict.findings.iter().find(|finding| finding.cause == verdict.ruling.primary);
        let Some((finding, gain)) = primary.and_then(|found| Some((found, found.gain.as_ref()?))) else {
            return;
        };
        let saved = finding.saved_ns(step) as f64 / step.max(1) as f64 * seen;
        if saved <= 0.0 {
            return;
        }
        let so_far = self.changes.get(finding.cause).map_or(0, |worth| worth.saved_gpu_ns);
        let worth = Worth {
            cause: finding.cause.to_owned(),
            id: row.id,
            summary: finding.remedy.summary.clone(),
            step_ns: step,
            after_ns: gain.step_after.ns,
            saved_gpu_ns: so_far.saturating_add(saved as i64),
        };
        self.changes.insert(finding.cause, worth);
    }

    fn run(&mut self, row: &Row, run: &Run) {
        let steady = run.steady.as_ref();
        let steps = steady.map_or(0, |steady| steady.count as i64 * i64::from(run.steps_per_figure.max(1)));
        let seen = steady.map_or(0, |steady| steady.mean_ns.max(0).saturating_mul(steps));
        self.ended = self.ended.max(run.began.saturating_add(run.wall_ns.max(0)));
        let busy = run.gpu.map(|gpu| gpu.resident);
        self.parts.push(part(row, seen, u32::from(run.gpu.is_some()), busy));
        if let Some(busy) = busy {
            self.resident.add(busy.clamp(0.0, 1.0), seen as f64);
        }
    }

    fn job(self, id: &str) -> Job {
        let seen = self.working.of;
        let wait = |(line, gpu_ns): (&'static str, f64)| Wait {
            line: line.to_owned(),
            gpu_ns: gpu_ns as i64,
            share: if seen > 0.0 { gpu_ns / seen } else { 0.0 },
        };
        let mut waits: Vec<Wait> = self.waits.into_iter().map(wait).filter(|wait| wait.gpu_ns > 0).collect();
        waits.sort_by_key(|wait| std::cmp::Reverse(wait.gpu_ns));
        let wasted = |mean: &Mean| (mean.of - mean.busy).max(0.0);
        Job {
            id: id.to_owned(),
            began: self.parts.iter().map(|part| part.began).min().unwrap_or(0),
            ended: self.ended,
            working: self.working.share(),
            resident: self.resident.share(),
            waits,
            waste_gpu_ns: (wasted(&self.working) + wasted(&self.resident)) as i64,
            seen_gpu_ns: (self.working.of + self.resident.of) as i64,
            worth: self.changes.into_values().max_by_key(|worth| worth.saved_gpu_ns),
            damaged: self.damaged,
            parts: self.parts,
        }
    }
}

fn part(row: &Row, seen_ns: i64, gpus: u32, busy: Option<f64>) -> Part {
    Part {
        id: row.id,
        kind: row.kind.clone(),
        began: row.began,
        seen_ns,
        gpus,
        busy,
        cause: row.answer.clone(),
        command: row.command.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_named_by_the_user_then_by_the_scheduler() {
        let with = |pairs: &'static [(&str, &str)]| {
            job_id(|name| {
                pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        let some = |id: &str| Some(id.to_owned());
        assert_eq!(with(&[("SLURM_JOB_ID", "4711"), ("WHYIDLE_JOB", "mine")]), some("mine"));
        assert_eq!(with(&[("SLURM_JOB_ID", " 4711\n"), ("JOB_ID", "9")]), some("4711"));
        assert_eq!(with(&[("WHYIDLE_JOB", ""), ("JOB_NAME", "x")]), some("x"));
        assert_eq!(
            with(&[("KUBERNETES_SERVICE_HOST", "10.0.0.1"), ("HOSTNAME", "train-0")]),
            some("train-0")
        );
        assert_eq!(with(&[("HOSTNAME", "laptop")]), None);
        for bad in ["a b", "a\u{1b}[1m"] {
            assert_eq!(job_id(|name| (name == "JOB_ID").then(|| bad.to_owned())), None);
        }
        assert_eq!(job_id(|_| Some("x".repeat(LONGEST + 1))), None);
    }
}
