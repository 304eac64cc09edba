//! The verdict on a recording without a trace: whom the GPU waits for, from samples taken outside the program.
//!
//! One rule, without fitted weights. *I* is the share of the step in which the GPU is idle. Below 10 % the GPU is
//! the limit. Otherwise the explicit waits of the main thread – the loader, saving, a function of the user's own –
//! are charged against *I*, each at most *I*; the largest that explains half of *I* is the cause. If none does,
//! the host is busy launching. What samples cannot tell apart is not told apart: the kinds of GPU work, and a
//! read-back from a launch, need a trace.

mod disagree;
mod evidence;
mod figures;
mod findings;
mod instruments;
mod limits;
mod phases;
mod ranks;
mod ruling;
mod waits;

use whyidle_analysis::signals::{Doing, GpuSignals, Signals};

use crate::known::Known;
use crate::message::Message;
use crate::ruling::HEALTHY;
use crate::verdict::{
    Basis, Details, Estimate, Input, Line, LineKind, QualityNote, Refusal, Step, Subject, Verdict,
};
use waits::Waits;

/// A second: what figures refer to where no steps were found.
const SECOND_NS: i64 = 1_000_000_000;
/// Fewer samples of a main thread say nothing about shares.
const FEWEST_SAMPLES: u32 = 20;

/// What is known of a recorded run beside its samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The command to start it.
    pub command: Vec<String>,
    /// Product name of the GPU.
    pub gpu: Option<String>,
    /// Mean step while it was watched, ns, where the program itself timed it.
    pub observed_step_ns: Option<i64>,
    /// Steps behind the unobserved step time.
    pub timed_steps: u32,
    /// Ranks in the job.
    pub world: u32,
    /// Rank of the process judged.
    pub rank: Option<u32>,
    /// Ranks that were watched; the one judged is the one that the others wait for.
    pub watched_ranks: usize,
    /// What could not be had: what, why, and the detail.
    pub missing: Vec<(String, String, String)>,
    /// Lines of the recording that made no sense.
    pub dropped: u64,
    /// Its description is there and makes no sense.
    pub undescribed: bool,
    /// Tables that are there and cannot be read.
    pub unread: Vec<String>,
    /// Lines that did.
    pub rows: u64,
    /// How many files the driving process may open.
    pub open_files_limit: Option<u64>,
    /// Size of `/dev/shm`, bytes.
    pub shm_bytes: Option<u64>,
    /// Processes of others on the GPUs: physical number of the GPU, process, its memory in bytes. Only where the
    /// driver's numbers of processes are those of the recorder.
    pub others_on_gpu: Vec<(u32, u32, Option<u64>)>,
    /// The machine, or what the recorder may see of it, has no GPU.
    pub no_gpu: bool,
    /// The number of ranks is known; else `world` is a guess from the stacks.
    pub world_known: bool,
    /// The watch was cut short after this time, ns.
    pub cut_short_ns: Option<i64>,
    /// The program ended after this time of the watch, ns.
    pub ended_ns: Option<i64>,
    /// The watch began with the program.
    pub began: bool,
}

/// The signals of a run in the units of its step.
pub(crate) struct View<'a> {
    pub(crate) signals: &'a Signals,
    pub(crate) known: &'a Known,
    pub(crate) run: &'a Run,
    /// The step that all shares refer to.
    pub(crate) step: Estimate,
    /// How it was found.
    pub(crate) found_by: &'static str,
    /// Steps behind it.
    pub(crate) steps: usize,
    /// Share of the step with something on the GPU; `None` without a GPU.
    pub(crate) resident: Option<f64>,
}

impl View<'_> {
    /// A share of the step as a time.
    pub(crate) fn ns(&self, share: f64) -> i64 {
        (self.step.ns as f64 * share.clamp(0.0, 1.0)).round() as i64
    }

    /// Another process uses the judged GPU: how busy it is says nothing of this program alone.
    pub(crate) fn shares_its_gpu(&self) -> bool {
        let own = self.signals.gpu.as_ref().map(|gpu| gpu.index);
        self.run.others_on_gpu.iter().any(|(index, _, _)| Some(*index) == own)
    }

    /// Share of the step in which the GPU is idle; of a run without a GPU, nothing is known.
    pub(crate) fn idle(&self) -> f64 {
        1.0 - self.resident.unwrap_or(1.0)
    }

    /// Share of the main thread's samples.
    pub(crate) fn main(&self, doing: Doing) -> f64 {
        self.signals.main.as_ref().map_or(0.0, |main| main.share(doing))
    }

    /// Figures are of a step, not of a second.
    pub(crate) fn has_steps(&self) -> bool {
        self.found_by != "second"
    }

    /// No GPU was seen: everything is about the host.
    pub(crate) fn is_host_only(&self) -> bool {
        self.resident.is_none()
    }
}

/// Whom the GPU waits for, by the rule of this module, without a verdict: cause, share of the main thread's samples in
/// it, and the share of the time charged to it. The charges are at most the GPU's idle share together.
#[must_use]
pub fn waiting(signals: &Signals) -> Vec<(&'static str, f64, f64)> {
    let (known, run) = (Known::default(), Run::default());
    let waits = Waits::of(&view(signals, &known, &run));
    waits.charged.iter().map(|wait| (wait.cause, wait.share, wait.charged)).collect()
}

/// The verdict on a recording. `path` is what the user gave: the command to type next names it.
///
/// # Errors
/// Why there is none.
pub fn judge_recording(
    signals: &Signals,
    known: &Known,
    run: &Run,
    inputs: Vec<Input>,
    path: &str,
) -> Result<Verdict, Box<Refusal>> {
    let refusal = |(code, reason, hint), inputs| {
        Box::new(Refusal { code, reason, hint, inputs, quality: evidence::notes(signals, run) })
    };
    let view = view(signals, known, run);
    if let Some(why) = refused(&view) {
        return Err(refusal(why, inputs));
    }
    let waits = Waits::of(&view);
    if let Some(why) = nothing_of_the_gpu(&view, &waits) {
        return Err(refusal(why, inputs));
    }
    let findings = findings::findings(&view, &waits);
    let ruling = ruling::rule(&view, &waits, &findings);
    let next = next_command(&view, ruling.primary, path);
    let working = view.resident.unwrap_or(f64::NAN);
    Ok(Verdict {
        subject: Subject {
            gpu: run.gpu.clone(),
            device: signals.gpu.as_ref().and_then(|gpu| i32::try_from(gpu.index).ok()).unwrap_or(0),
            gpus: usize::from(signals.gpu.is_some()),
            ranks: 1,
            world_size: Some(run.world).filter(|&world| world > 1),
            rank_shown: run.rank,
            versions: known.torch.iter().map(|torch| ("torch".to_owned(), torch.clone())).collect(),
        },
        step: Step {
            found_by: view.found_by,
            count: view.steps,
            first: 0,
            traced_each_ns: Vec::new(),
            traced_ns: 0,
            unprofiled: view.step,
            basis: Basis::Measured,
            host_span_ns: 0,
            host_ahead_ns: 0,
        },
        working_share: working,
        resident_share: working,
        ledger: ledger(&view, &waits),
        run: phases::ledger(signals.phases.as_ref(), view.has_steps().then_some(view.step.ns)),
        ranks: Vec::new(),
        ruling,
        findings,
        ladder: Vec::new(),
        what_if: Vec::new(),
        critical_path: None,
        together: None,
        replay: None,
        next,
        quality: evidence::notes(signals, run).into_iter().chain(limits::notes(&view)).collect(),
        details: Details {
            instruments: Some(instruments::table(&view, view.resident, false)),
            statistics: figures::figures(&view),
            ..Details::default()
        },
        inputs,
    })
}

/// Code, reason and hint of a refusal.
type Why = (&'static str, Message, Message);

/// Why samples carry no verdict, if so.
fn refused(view: &View<'_>) -> Option<Why> {
    let signals = view.signals;
    let why = |code, reason, hint| Some((code, Message::new(reason), Message::new(hint)));
    let samples = signals.main.as_ref().map_or(0, |main| main.samples);
    let ended = view.run.ended_ns.map(|ns| {
        let hint = if view.run.began { "refusal-ended-hint-run" } else { "refusal-ended-hint" };
        ("ended", Message::new("refusal-ended").time("time", ns), Message::new(hint))
    });
    if signals.gpu.is_none() && signals.main.is_none() {
        return ended.or_else(|| why("no-samples", "refusal-no-samples", "refusal-no-samples-hint"));
    }
    if let Some(why) = phases::refused(signals, view.resident) {
        return Some(why);
    }
    // Counters integrate over the time between samples: three of them say more than ten of a sampled use.
    let few = |gpu: &GpuSignals| gpu.samples < if gpu.is_counted { 3 } else { FEWEST_SAMPLES / 2 };
    if signals.gpu.as_ref().is_none_or(few) && samples < FEWEST_SAMPLES {
        return ended
            .or_else(|| why("too-few-samples", "refusal-too-few-samples", "refusal-too-few-samples-hint"));
    }
    contradicted_step(view)
}

/// `--step-ms` against what was measured: no step is shorter than the time between its batches, and the program's own
/// timing of its steps is not far off.
fn contradicted_step(view: &View<'_>) -> Option<Why> {
    /// Batches are counted with an error of a few percent.
    const COUNTED: f64 = 0.9;
    /// Two timings of the same steps differ by less.
    const TIMED: f64 = 1.5;
    let given = view.known.step_given_ns?;
    let by_batches = view.signals.batches.filter(|found| (given as f64) < COUNTED * found.low_ns as f64);
    let apart = |measured: &i64| {
        let ratio = given as f64 / (*measured).max(1) as f64;
        !(1.0 / TIMED..=TIMED).contains(&ratio)
    };
    let by_steps = view.known.step_measured_ns.filter(apart);
    let (id, measured) = by_steps
        .map(|ns| ("refusal-step-timed", ns))
        .or(by_batches.map(|found| ("refusal-step-batches", found.period_ns)))?;
    let reason = Message::new(id).time("given", given).time("measured", measured);
    Some(("step-contradicted", reason, Message::new("refusal-step-hint")))
}

/// Why a step that was given cannot belong to this recording, whatever a trace in it says.
#[must_use]
pub fn refuse_given_step(
    signals: &Signals,
    known: &Known,
    run: &Run,
    inputs: Vec<Input>,
) -> Option<Box<Refusal>> {
    let (code, reason, hint) = contradicted_step(&view(signals, known, run))?;
    Some(Box::new(Refusal { code, reason, hint, inputs, quality: evidence::notes(signals, run) }))
}

/// Nothing holds the host up, and whether the GPU waits was not sampled, though there may be one: no verdict on it.
fn nothing_of_the_gpu(view: &View<'_>, waits: &Waits) -> Option<Why> {
    let hint = || Message::new("refusal-no-gpu-samples-hint");
    if view.is_host_only() && !view.run.no_gpu && view.run.world > 1 {
        return Some(("no-gpu-samples", Message::new("refusal-no-gpu-ranks"), hint()));
    }
    let waiting: f64 = waits.charged.iter().map(|wait| wait.charged).sum();
    let unknown = view.is_host_only() && !view.run.no_gpu && waiting < HEALTHY;
    unknown.then(|| ("no-gpu-samples", Message::new("refusal-no-gpu-samples"), hint()))
}

fn view<'a>(signals: &'a Signals, known: &'a Known, run: &'a Run) -> View<'a> {
    let batches = signals.batches;
    let (step, found_by, steps) = if let Some(ns) = known.step_given_ns.or(known.step_measured_ns) {
        (Estimate::exact(ns), "recorded", run.timed_steps as usize)
    } else if let Some(found) = batches {
        let times = i64::from(known.accumulation.unwrap_or(1).max(1));
        let step = Estimate {
            ns: found.period_ns * times,
            low_ns: found.low_ns * times,
            high_ns: found.high_ns * times,
        };
        (step, "batches", (i64::from(found.count) / times) as usize)
    } else {
        (Estimate::exact(SECOND_NS), "second", (signals.watched_ns / SECOND_NS) as usize)
    };
    // Watching slowed some programs: the same work is a larger share of a shorter step.
    let slower = match (run.observed_step_ns, known.step_measured_ns) {
        (Some(observed), Some(unobserved)) if unobserved > 0 => observed as f64 / unobserved as f64,
        _ => 1.0,
    };
    let resident = signals.gpu.as_ref().map(|gpu| (gpu.resident * slower).clamp(0.0, 1.0));
    View { signals, known, run, step, found_by, steps, resident }
}

/// Lines that add up to the step: the GPU's work, the waits charged to its idle time, and what is left.
fn ledger(view: &View<'_>, waits: &Waits) -> Vec<Line> {
    let line = |id, kind, unprofiled: Estimate, details| Line {
        id,
        kind,
        traced_ns: 0,
        unprofiled,
        share: unprofiled.ns as f64 / view.step.ns.max(1) as f64,
        details,
    };
    let mut lines = Vec::new();
    let mut left = view.step.ns;
    if let Some(resident) = view.resident {
        let ns = view.ns(resident).min(left);
        left -= ns;
        lines.push(line("working.resident", LineKind::Working, Estimate::exact(ns), Vec::new()));
    }
    let mut charged: Vec<Line> = Vec::new();
    for wait in &waits.charged {
        let ns = view.ns(wait.charged).min(left);
        left -= ns;
        let unprofiled =
            Estimate { ns, low_ns: view.ns(wait.low).min(ns), high_ns: view.ns(wait.high).max(ns) };
        let place = evidence::place(view, wait.cause);
        let details = place.map(|place| Message::new("det-place").name("name", place)).into_iter().collect();
        charged.push(line(wait.line, LineKind::Waiting, unprofiled, details));
    }
    charged.sort_by_key(|line| (std::cmp::Reverse(line.unprofiled.ns), line.id));
    lines.extend(charged);
    let rest = if view.is_host_only() { "rest.host" } else { "rest.unexplained" };
    lines.push(line(rest, LineKind::Rest, Estimate::exact(left), Vec::new()));
    lines.retain(|line| line.unprofiled.ns > 0);
    lines
}

/// A trace tells what samples cannot; a cause that is known is explained.
fn next_command(view: &View<'_>, primary: &str, path: &str) -> String {
    let needs_trace =
        primary.starts_with("compute.") || primary == "host.launch" || primary.starts_with("comm.");
    if needs_trace && !view.is_host_only() && !view.run.command.is_empty() {
        let words: Vec<String> = view.run.command.iter().map(|word| crate::judge::typed(word)).collect();
        return format!("whyidle run -- {}", words.join(" "));
    }
    if needs_trace && !view.is_host_only() {
        return "whyidle run -- COMMAND".to_owned();
    }
    let _ = path;
    format!("whyidle explain {primary}")
}

/// What live evidence adds to a verdict that was reached from a trace: the functions that samples name and a trace
/// without stacks cannot, the instruments' table, and what could not be had.
pub fn add_samples(verdict: &mut Verdict, signals: &Signals, known: &Known, run: &Run) {
    let view = view(signals, known, run);
    let waits = Waits::of(&view);
    for finding in &mut verdict.findings {
        finding.evidence.extend(evidence::of_wait(&view, &waits, finding.cause));
    }
    verdict.run = phases::ledger(signals.phases.as_ref(), Some(verdict.step.unprofiled.ns));
    verdict.details.instruments = Some(instruments::table(&view, Some(verdict.working_share), true));
    verdict.details.statistics.extend(figures::figures(&view));
    verdict.quality.extend(evidence::notes(signals, run));
    verdict.quality.extend(limits::notes(&view));
    if let Some(note) = contradiction(verdict, &view, &waits) {
        verdict.quality.push(note);
    }
}

/// What counters of the GPU that a tracer recorded itself add to the verdict on its trace: the instruments' table.
pub fn add_counters(verdict: &mut Verdict, signals: &Signals) {
    let (known, run) = (Known::default(), Run::default());
    let view = view(signals, &known, &run);
    verdict.details.instruments = Some(instruments::table(&view, Some(verdict.working_share), true));
}

/// The trace says that the GPU is busy, the samples of the whole run that it is not, or the other way round: the
/// window of the trace is not the run.
fn contradiction(verdict: &Verdict, view: &View<'_>, waits: &Waits) -> Option<QualityNote> {
    const APART: f64 = 0.15;
    let resident = view.resident?;
    if (resident - verdict.resident_share).abs() < APART {
        return None;
    }
    let text = Message::new("note-trace-and-samples")
        .share("trace", verdict.resident_share)
        .share("samples", resident)
        .share("idle", waits.idle);
    let severity = whyidle_model::Severity::Suspect;
    Some(QualityNote { code: "trace-and-samples", severity, count: 1, text })
}
