//! The verdict: what `--format json` prints, before it is put into words.
//! Schema `whyidle.verdict/1`.

use serde::{Deserialize, Serialize};
use whyidle_analysis::ledger::Kind;
use whyidle_model::{ImportNotes, Note};

use crate::Message;
use crate::ids::{self, Id};
use crate::what_if::Answer;

/// Where the step time of a verdict comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Basis {
    /// The user said it (`--step-ms`).
    Given,
    /// Measured without a profiler: the recording's own step times.
    Measured,
    /// Estimated from the trace, the profiler's cost removed.
    Estimated,
    /// The traced step itself: the trace does not allow an estimate.
    Traced,
}

impl Basis {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Measured => "measured",
            Self::Estimated => "estimated",
            Self::Traced => "traced",
        }
    }
}

/// A figure with its interval, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// Best figure, ns.
    pub ns: i64,
    /// Lower end, ns.
    pub low_ns: i64,
    /// Upper end, ns.
    pub high_ns: i64,
}

impl Estimate {
    /// A figure without doubt.
    #[must_use]
    pub fn exact(ns: i64) -> Self {
        Self { ns, low_ns: ns, high_ns: ns }
    }
}

/// One input that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// As given, or found in a directory.
    pub path: String,
    /// `kineto`, `nsys`.
    #[serde(deserialize_with = "ids::id")]
    pub kind: Id,
    /// Events in it, used or not.
    pub events: u64,
    /// Rank, where known.
    pub rank: Option<u32>,
}

/// What the verdict is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Product name of the GPU shown.
    pub gpu: Option<String>,
    /// Number of that GPU, as the program counts them.
    pub device: i32,
    /// GPUs with activities in the traces read.
    pub gpus: usize,
    /// Ranks read.
    pub ranks: usize,
    /// Ranks in the job, where known.
    pub world_size: Option<u32>,
    /// Rank that the top level shows.
    pub rank_shown: Option<u32>,
    /// torch, CUDA, driver … as `(name, version)`.
    pub versions: Vec<(String, String)>,
}

/// The step that all shares refer to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// How steps were found: `profiler-step`, `optimizer-step`, `repetition`, `window`.
    #[serde(deserialize_with = "ids::id")]
    pub found_by: Id,
    /// Whole steps that were analysed.
    pub count: usize,
    /// Number of the first of them, as the program counts.
    pub first: i64,
    /// Their lengths in the trace, in order, ns: device-side periods.
    pub traced_each_ns: Vec<i64>,
    /// Mean of those, ns (rounded down; the ledger's `traced_ns` sum to the exact total).
    pub traced_ns: i64,
    /// The step without a profiler.
    pub unprofiled: Estimate,
    /// Where `unprofiled` comes from.
    pub basis: Basis,
    /// Length of the host's own span of a step in the trace, mean, ns: what a tool that reads host marks would call the step.
    pub host_span_ns: i64,
    /// How far the host had run ahead of the device when it ended a step, mean, ns.
    pub host_ahead_ns: i64,
}

/// Whether a ledger line is work, waiting, or neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LineKind {
    /// The GPU worked.
    Working,
    /// The GPU waited, or a copy or collective ran that nothing hid.
    Waiting,
    /// Pauses between queued kernels, and what nothing explains.
    Rest,
}

impl LineKind {
    /// That of a line of the analysis.
    pub(crate) fn of(kind: Kind) -> Self {
        match kind {
            Kind::Working => Self::Working,
            Kind::Waiting => Self::Waiting,
            Kind::Rest => Self::Rest,
        }
    }
}

/// One line of the ledger. Lines are exclusive and add up to the step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Stable id: `working.matmul`, `data.workers`, `host.launch`, `rest.latency`, …
    #[serde(deserialize_with = "ids::id")]
    pub id: Id,
    /// Work, waiting or rest.
    pub kind: LineKind,
    /// Time in the traced steps together, ns. Integers; they sum to the traced total exactly.
    pub traced_ns: i64,
    /// Time per unprofiled step. Best figures sum to the unprofiled step exactly.
    pub unprofiled: Estimate,
    /// `unprofiled` as a share of the unprofiled step.
    pub share: f64,
    /// What is in it, largest first: `2 workers`, `aten::mm 36 ms`.
    pub details: Vec<Message>,
}

impl Line {
    /// Work first, then waits, then the rest, each largest first.
    pub(crate) fn order(&self) -> (LineKind, std::cmp::Reverse<i64>, Id) {
        (self.kind, std::cmp::Reverse(self.unprofiled.ns), self.id)
    }
}

/// How a gain was found; later ones are worth less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Method {
    /// Replay of the trace's dependency graph without the wait.
    Replay,
    /// A stated model (roofline, bytes, launch cost).
    Model,
    /// An upper limit: what the wait or the excess costs, down to the next limit.
    Bound,
}

impl Method {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Replay => "replay",
            Self::Model => "model",
            Self::Bound => "bound",
        }
    }
}

/// What is changed, as data: `workers` from 2 to 12.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// `workers`, `removed`, `cuda_graphs`, `fused`, `autocast`, `accumulation`, …
    #[serde(deserialize_with = "ids::id")]
    pub what: Id,
    /// Today's setting, where known.
    pub from: Option<String>,
    /// The setting after the change, where it has one.
    pub to: Option<String>,
}

/// What a remedy would bring.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// The step after it, for the samples of today's step.
    pub step_after: Estimate,
    /// How that was found.
    pub method: Method,
    /// What is changed.
    pub change: Change,
    /// Cause id of what limits the step afterwards.
    #[serde(deserialize_with = "ids::id")]
    pub next_limit: Id,
}

impl Gain {
    /// Share of today's step, of `step_ns`, that is saved; 0 where nothing is.
    #[must_use]
    pub fn saved(&self, step_ns: i64) -> f64 {
        (step_ns - self.step_after.ns).max(0) as f64 / step_ns.max(1) as f64
    }
}

/// One piece of evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The sentence.
    pub text: Message,
    /// The number in it, if it has one.
    pub value: Option<f64>,
    /// Unit of `value`: `ns`, `share`, `count`, `bytes`, `flop/s`, `bytes/s`.
    #[serde(deserialize_with = "ids::id")]
    pub unit: Id,
    /// Operator, kernel, or file and line.
    pub place: Option<String>,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remedy {
    /// One line, naming the user's own setting where it is known.
    pub summary: Message,
    /// Further steps and traps.
    pub steps: Vec<Message>,
    /// Code to paste; empty where none helps.
    pub code: String,
}

/// A cause that holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Cause id.
    #[serde(deserialize_with = "ids::id")]
    pub cause: Id,
    /// Rank it was found on, where known.
    pub rank: Option<u32>,
    /// What it costs per unprofiled step.
    pub cost: Estimate,
    /// `cost` as a share of the unprofiled step.
    pub share: f64,
    /// What the remedy would bring; `None` where nothing sound can be said.
    pub gain: Option<Gain>,
    /// Why it is believed.
    pub evidence: Vec<Evidence>,
    /// What to do.
    pub remedy: Remedy,
}

impl Finding {
    /// Step time saved by the remedy, ns; 0 without a gain.
    #[must_use]
    pub fn saved_ns(&self, step_ns: i64) -> i64 {
        self.gain.as_ref().map_or(0, |gain| (step_ns - gain.step_after.ns).max(0))
    }
}

/// How much the verdict can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Confidence {
    /// A decision lies within 10 % of its threshold, or evidence is missing.
    Low,
    /// Sound, with an estimate in it.
    Medium,
    /// Sound.
    High,
}

impl Confidence {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// The ruling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ruling {
    /// Cause with the largest supported gain; `compute.bound` when none gains more than its interval.
    #[serde(deserialize_with = "ids::id")]
    pub primary: Id,
    /// All waits together are below 10 % of the unprofiled step.
    pub healthy: bool,
    /// False when an inefficiency of the GPU's own work gains more than its interval; `None` when the trace cannot tell.
    pub efficient: Option<bool>,
    /// Trust.
    pub confidence: Confidence,
    /// Why the confidence is not high.
    pub doubts: Vec<Message>,
    /// The sentence: whether anything waits, then what to change.
    pub sentence: Vec<Message>,
}

/// Something about the evidence that the reader must know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QualityNote {
    /// Stable code.
    #[serde(deserialize_with = "ids::id")]
    pub code: Id,
    /// `info`, `suspect`, `loss`.
    #[serde(with = "ids::severity")]
    pub severity: whyidle_model::Severity,
    /// How often.
    pub count: u64,
    /// In words.
    pub text: Message,
}

impl QualityNote {
    /// What a reader noted, in its order.
    #[must_use]
    pub fn all_of(notes: &ImportNotes) -> Vec<Self> {
        let one = |note: Note| Self {
            code: note.code.id(),
            severity: note.code.severity(),
            count: note.count,
            text: Message::new(note.code.message()).count("count", note.count),
        };
        notes.sorted().into_iter().map(one).collect()
    }
}

/// A named total with its count: a kernel, an operator, a module, a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Total {
    /// Name as in the trace.
    pub name: String,
    /// Ledger line or kind it belongs to.
    #[serde(deserialize_with = "ids::id")]
    pub kind: Id,
    /// How many, over all steps analysed.
    pub count: u64,
    /// Time over all steps analysed, ns: a union per name where activities overlap.
    pub total_ns: i64,
    /// Longest single one, ns.
    pub longest_ns: i64,
}

/// What one instrument says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Stable id: `gpu.util`, `gpu.sm`, `cpu.program`, …
    #[serde(deserialize_with = "ids::id")]
    pub id: Id,
    /// Mean over the steady stretch; of memory, the most. `None`: the recording has nothing of it.
    pub value: Option<f64>,
    /// Unit of `value`: `share` (of a core for processes, else of the whole), `bytes/s`.
    #[serde(deserialize_with = "ids::id")]
    pub unit: Id,
    /// What it is made of: `303 W of 700 W`.
    pub detail: Option<Message>,
}

/// What each instrument says of a watched program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Instruments {
    /// Physical number of the GPU; `None` without samples of one.
    pub gpu: Option<u32>,
    /// One row per instrument, in an order of its own.
    pub readings: Vec<Reading>,
    /// Where they disagree, and why.
    pub disagreements: Vec<Message>,
}

/// Tables for `-v`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Details {
    /// Kernels by time.
    pub kernels: Vec<Total>,
    /// Operators by the GPU time they own.
    pub operators: Vec<Total>,
    /// Modules by the GPU time they own; empty without stacks or modules.
    pub modules: Vec<Total>,
    /// Longest gaps: start in the step, length, owner.
    pub gaps: Vec<Total>,
    /// What each instrument says; `None` without a recording.
    pub instruments: Option<Instruments>,
    /// Further figures, each a sentence: launches per step, kernel lengths, launch latency, queue depth.
    pub statistics: Vec<Message>,
}

/// One rank in brief.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankVerdict {
    /// Rank.
    pub rank: u32,
    /// Its step.
    pub step: Step,
    /// Working share of its unprofiled step.
    pub working_share: f64,
    /// Its ledger.
    pub ledger: Vec<Line>,
    /// How it stands to the others; `None` where its collectives were not compared with theirs.
    pub lateness: Option<Lateness>,
}

/// How a rank stands to the others. Times are per unprofiled step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    /// Collectives of the steps analysed in which it came last, of [`Lateness::of`].
    pub last: u64,
    /// Collectives of those steps that it took part in and that could be compared.
    pub of: u64,
    /// How long that one of the others waits for it that waits most, where no work hides that, ns.
    pub caused_ns: i64,
    /// How long it waits for others where no work hides that, ns.
    pub waited_ns: i64,
    /// Transfers that no work hides, ns.
    pub transfer_ns: i64,
    /// The step that it would take if it never waited for another, without the profiler as its cost is estimated, ns;
    /// `None` without a replay.
    pub pace_ns: Option<i64>,
    /// It is the straggler.
    pub straggler: bool,
}

/// One step of the ladder: a remedy on top of those before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rung {
    /// Cause whose remedy it is.
    #[serde(deserialize_with = "ids::id")]
    pub cause: Id,
    /// What all remedies up to this one bring together.
    pub gain: Gain,
}

/// A part of the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathPart {
    /// `gpu`, `communication`, `copy`, `host`, `loader`, `launch` (from a launch to its start), `pause` (between
    /// activities).
    #[serde(deserialize_with = "ids::id")]
    pub id: Id,
    /// Time per step, ns.
    pub ns: i64,
}

/// A name on the critical path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathName {
    /// Kernel, operator or frame.
    pub name: String,
    /// The part it belongs to.
    #[serde(deserialize_with = "ids::id")]
    pub part: Id,
    /// Nodes of the replayed steps that are on the path.
    pub nodes: u64,
    /// Time per step, ns.
    pub ns: i64,
}

/// The critical path of the unprofiled step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriticalPath {
    /// Its length per step, ns: that of the replayed step.
    pub length_ns: i64,
    /// Its parts, largest first; they sum to it but for rounding.
    pub parts: Vec<PathPart>,
    /// What lies on it, largest first.
    pub names: Vec<PathName>,
}

/// Replay's own check of itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayQuality {
    /// Deviation of the replayed from the traced step, slack 0, as a share.
    pub error: f64,
    /// Time that no edge explains, as a share of the steps.
    pub slack: f64,
    /// Time inside CUDA graphs of which nothing is recorded, as a share of the steps.
    pub unrecorded: f64,
    /// Error at most 10 %: predictions may be made.
    pub usable: bool,
}

/// What the watched time of a run went into, beyond its steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLedger {
    /// The watched time, ns: from the first sample of anything to the last.
    pub watched_ns: i64,
    /// Its phases, in the order of a run. They exclude each other and sum to it exactly.
    pub lines: Vec<RunLine>,
}

/// A phase of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLine {
    /// Stable id: `training`, `run.startup`, `run.compile`, `run.epoch`, `run.eval`, `run.checkpoint`, `run.stuck`,
    /// `unknown`.
    #[serde(deserialize_with = "ids::id")]
    pub id: Id,
    /// Time in it, ns.
    pub ns: i64,
    /// How often it was entered, as far as samples show.
    pub visits: u32,
    /// Mean time from one visit to the next, ns; `None` with fewer than two, or where that says nothing.
    pub period_ns: Option<i64>,
    /// The same in steps, the visit itself left out; `None` where the step is not known.
    pub period_steps: Option<i64>,
    /// Where the main thread was most, as `validate (train.py:60)`.
    pub place: Option<String>,
}

/// The verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What was read.
    pub inputs: Vec<Input>,
    /// What it is about.
    pub subject: Subject,
    /// The step.
    pub step: Step,
    /// Share of the unprofiled step in which the GPU worked (collectives excluded).
    #[serde(deserialize_with = "ids::share")]
    pub working_share: f64,
    /// Share of the unprofiled step in which anything was resident.
    #[serde(deserialize_with = "ids::share")]
    pub resident_share: f64,
    /// Where the step goes. Working lines first, then waits, then the rest, each largest first.
    pub ledger: Vec<Line>,
    /// Where the watched time of the run goes; `None` without stacks that carry their times.
    pub run: Option<RunLedger>,
    /// Every rank read.
    pub ranks: Vec<RankVerdict>,
    /// The ruling.
    pub ruling: Ruling,
    /// Findings, largest gain first.
    pub findings: Vec<Finding>,
    /// The best order of changes, each on top of those before it; empty where nothing gains clearly.
    pub ladder: Vec<Rung>,
    /// Answers to what was asked, in order.
    #[serde(skip)]
    pub what_if: Vec<Answer>,
    /// The critical path, where it was asked for and the replay is usable.
    #[serde(skip)]
    pub critical_path: Option<CriticalPath>,
    /// Replay's check; `None` before replay has run.
    pub replay: Option<ReplayQuality>,
    /// What only several ranks together tell; `None` for one.
    pub together: Option<crate::ranks::TogetherFacts>,
    /// The one command to type next.
    pub next: String,
    /// What was wrong with the evidence.
    pub quality: Vec<QualityNote>,
    /// Tables for `-v`.
    pub details: Details,
}

/// Why no verdict was reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// Stable id: `no-gpu-activity`, `foreign-device`, `no-steps`, `zero-times`, …
    pub code: &'static str,
    /// One sentence.
    pub reason: Message,
    /// What to do about it.
    pub hint: Message,
    /// What was read.
    pub inputs: Vec<Input>,
    /// What was wrong with the evidence.
    pub quality: Vec<QualityNote>,
}
