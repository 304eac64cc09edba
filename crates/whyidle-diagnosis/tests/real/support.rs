//! Where recordings lie, what is true of them, and how a verdict on one is made.

use std::path::{Path, PathBuf};

use serde_json::Value;
use whyidle_analysis::device::devices;
use whyidle_analysis::facts::Facts;
use whyidle_analysis::ledger::Line;
use whyidle_diagnosis::case::Case;
use whyidle_diagnosis::{
    Answer, Finding, Known, Refusal, Verdict, Wanted, WhatIf, judge, refuse_device, refuse_trace,
};
use whyidle_model::Trace;
use whyidle_readers::{ReadOptions, read_trace};

/// The folder that an environment variable names, or its default beside the repository; says so if it is not there.
pub(crate) fn folder(variable: &str, default: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = std::env::var_os(variable).map_or_else(|| root.join(default), PathBuf::from);
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("skipped: {variable} is not set and {} is not there", path.display());
    None
}

/// A recording with what was measured of it.
pub(crate) struct Recorded {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) trace: Trace,
    pub(crate) truth: Value,
}

impl Recorded {
    /// The unprofiled step, ns.
    pub(crate) fn step_ns(&self) -> i64 {
        (self.truth["step_ms"].as_f64().unwrap() * 1e6) as i64
    }

    /// A list of causes or families under `key`.
    pub(crate) fn list(&self, key: &str) -> Vec<&str> {
        self.truth[key].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect()
    }

    /// Runs `check` on its verdict; a refusal is a failure.
    pub(crate) fn judged(&self, step_ns: Option<i64>, check: impl FnOnce(&Case<'_>, &Verdict)) {
        self.asked(step_ns, &[], check);
    }

    /// The same, with what-ifs.
    pub(crate) fn asked(
        &self,
        step_ns: Option<i64>,
        what_if: &[&str],
        check: impl FnOnce(&Case<'_>, &Verdict),
    ) {
        let what_if = what_if.iter().map(|text| WhatIf::parse(text).unwrap()).collect();
        let wanted = Wanted { what_if, critical_path: true };
        judged_with(
            &self.trace,
            step_ns,
            |_| true,
            &wanted,
            |result| {
                let (case, verdict) =
                    result.unwrap_or_else(|refusal| panic!("{}: {}", self.name, refusal.code));
                check(case, verdict);
            },
        );
    }

    /// The answer to one what-if.
    pub(crate) fn answer(&self, step_ns: Option<i64>, what_if: &str) -> Answer {
        let mut answer = None;
        self.asked(step_ns, &[what_if], |_, verdict| answer = verdict.what_if.first().cloned());
        answer.unwrap()
    }

    /// Its trace, or of several ranks' that of the one that waits least in collectives: the one that is shown.
    pub(crate) fn of_the_rank_shown(self) -> Self {
        let waits = |recorded: &Self| {
            let mut waits = 0;
            recorded.judged(None, |case, _| waits = case.device.ledger.total(Line::Communication));
            waits
        };
        let other = self.path.with_file_name("trace_rank1.json.gz");
        if !other.is_file() {
            return self;
        }
        let trace = read_trace(&other, &ReadOptions::default()).unwrap();
        let other = Self { name: self.name.clone(), path: other, trace, truth: self.truth.clone() };
        if waits(&other) < waits(&self) { other } else { self }
    }

    /// One rank's trace cannot tell that another rank is late.
    pub(crate) fn needs_all_ranks(&self) -> bool {
        self.list("primary").iter().any(|id| id.starts_with("rank."))
    }
}

/// Recordings of the lab, and the shipped ones: the trace of the only rank, or of rank 0.
pub(crate) fn lab() -> Vec<Recorded> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = [Some(root.join("testdata")), folder("WHYIDLE_LAB", "../shared/lab")];
    let mut all: Vec<Recorded> = Vec::new();
    for folder in folders.into_iter().flatten() {
        let Ok(truth) = std::fs::read_to_string(folder.join("truth.json")) else { continue };
        let truth: Value = serde_json::from_str(&truth).unwrap();
        for (name, truth) in truth.as_object().unwrap() {
            let traces = ["trace.json.gz", "trace_rank0.json.gz"].map(|file| folder.join(name).join(file));
            let Some(path) = traces.iter().find(|path| path.is_file()) else { continue };
            if all.iter().all(|known| known.name != *name) {
                let trace = read_trace(path, &ReadOptions::default()).unwrap();
                let (name, path) = (name.clone(), path.clone());
                all.push(Recorded { name, path, trace, truth: truth.clone() });
            }
        }
    }
    assert!(!all.is_empty(), "the shipped recordings are always there");
    all
}

/// Runs `check` on the verdict of a trace, or the reason why there is none.
pub(crate) fn judged<T>(
    trace: &Trace,
    step_ns: Option<i64>,
    keep: impl Fn(i64) -> bool,
    check: impl FnOnce(Result<(&Case<'_>, &Verdict), &Refusal>) -> T,
) -> T {
    judged_with(trace, step_ns, keep, &Wanted::default(), check)
}

pub(crate) fn judged_with<T>(
    trace: &Trace,
    step_ns: Option<i64>,
    keep: impl Fn(i64) -> bool,
    wanted: &Wanted,
    check: impl FnOnce(Result<(&Case<'_>, &Verdict), &Refusal>) -> T,
) -> T {
    if let Some(refusal) = refuse_trace(trace, &[]) {
        return check(Err(&refusal));
    }
    let facts = Facts::new(trace);
    let all = devices(trace).into_iter().map(|device| facts.device(trace, device, &keep));
    let device = all.max_by_key(|device| device.occupancy.working_ns).unwrap();
    if let Some(refusal) = refuse_device(trace, &facts, &device, &[]) {
        return check(Err(&refusal));
    }
    let known = Known { step_given_ns: step_ns, ..Known::default() };
    let cases = [Case::new(trace, &facts, device, known)];
    let verdict = judge(&cases, Vec::new(), "trace.json.gz", wanted).unwrap();
    check(Ok((&cases[0], &verdict)))
}

/// The lines of each step add up to it, to the nanosecond.
pub(crate) fn steps_add_up(case: &Case<'_>) {
    for (used, row) in case.device.steps.used.iter().zip(&case.device.ledger.steps) {
        assert_eq!(row.iter().sum::<i64>(), used.window.length());
    }
}

/// The finding of a cause.
pub(crate) fn finding<'a>(verdict: &'a Verdict, cause: &str) -> Option<&'a Finding> {
    verdict.findings.iter().find(|finding| finding.cause == cause)
}

/// The value in the middle, and the largest.
pub(crate) fn median_and_worst(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[values.len() / 2], *values.last().unwrap())
}

/// Runs `check` on the case of the trace at `path`, of which `known` is known.
pub(crate) fn judged_as<T>(path: &Path, known: Known, check: impl FnOnce(&Case<'_>) -> T) -> T {
    let trace = read_trace(path, &ReadOptions::default()).unwrap();
    let facts = Facts::new(&trace);
    let all = devices(&trace).into_iter().map(|device| facts.device(&trace, device, |_| true));
    let device = all.max_by_key(|device| device.occupancy.working_ns).unwrap();
    check(&Case::new(&trace, &facts, device, known))
}
