//! The run-level ledger of a verdict, the causes that follow from it, and when a run shows no training at all.

use whyidle_analysis::signals::{Doing, Phase, Phases, Signals};

use super::View;
use crate::message::Message;
use crate::verdict::{Evidence, RunLedger, RunLine};

/// A phase that recurs is worth a finding from this share of the time after start-up.
const WORTH: f64 = 0.05;
/// A start-up of a minute is worth a finding, ns.
const LONG_STARTUP: i64 = 60_000_000_000;
/// A GPU that is busy this much is at work on something, whatever the stacks show.
const BUSY: f64 = 0.10;
/// A process that uses less of a core does nothing.
const IDLE_PROCESS: f64 = 0.05;

/// The run-level ledger; `None` where stacks carry no times. `step_ns`: the step, where it is known.
pub(crate) fn ledger(phases: Option<&Phases>, step_ns: Option<i64>) -> Option<RunLedger> {
    let phases = phases?;
    let line = |phase: Phase| {
        let ns = phases.total(phase);
        (ns > 0).then(|| RunLine {
            id: line_id(phase),
            ns,
            visits: phases.visits(phase),
            period_ns: phases.period(phase).filter(|_| cause_of(phase).is_some()),
            period_steps: phases
                .period(phase)
                .filter(|_| phase == Phase::Checkpoint || phase == Phase::Evaluation)
                .and_then(|period| between(phases, phase, period, step_ns?)),
            place: phases.places.get(&phase).cloned(),
        })
    };
    let lines = Phase::ALL.into_iter().filter_map(line).collect();
    Some(RunLedger { watched_ns: phases.watched(), lines })
}

/// Steps from one visit to the next: the period without the visit itself, over the step.
fn between(phases: &Phases, phase: Phase, period: i64, step_ns: i64) -> Option<i64> {
    let visit = phases.total(phase) / i64::from(phases.visits(phase).max(1));
    let steps = (period - visit).checked_div(step_ns)?;
    (steps > 0).then_some(steps)
}

fn line_id(phase: Phase) -> &'static str {
    match phase {
        Phase::Training => "training",
        Phase::Startup => "run.startup",
        Phase::Compile => "run.compile",
        Phase::Epoch => "run.epoch",
        Phase::Evaluation => "run.eval",
        Phase::Checkpoint => "run.checkpoint",
        Phase::Stuck => "run.stuck",
        Phase::Unknown => "unknown",
    }
}

fn cause_of(phase: Phase) -> Option<&'static str> {
    match phase {
        Phase::Epoch => Some("run.epoch"),
        Phase::Evaluation => Some("run.eval"),
        Phase::Checkpoint => Some("run.checkpoint"),
        _ => None,
    }
}

fn phase_of(cause: &str) -> Option<Phase> {
    [Phase::Epoch, Phase::Evaluation, Phase::Checkpoint]
        .into_iter()
        .find(|&phase| cause_of(phase) == Some(cause))
        .or_else(|| (cause == "run.startup").then_some(Phase::Startup))
}

/// Share of the time after start-up that a phase takes, where it recurs: what happened once while somebody watched may
/// happen once a day. 0 where it does not, or nothing is known.
pub(crate) fn recurring(signals: &Signals, phase: Phase) -> f64 {
    let Some(phases) = &signals.phases else { return 0.0 };
    let after = phases.watched() - phases.total(Phase::Startup) - phases.total(Phase::Compile);
    let share = phases.total(phase) as f64 / after.max(1) as f64;
    if phases.visits(phase) < 2 || share < WORTH { 0.0 } else { share }
}

/// The causes that are phases of the run rather than waits of a step, with their shares of the time after start-up.
/// A start-up has none: it comes once.
pub(crate) fn causes(view: &View<'_>) -> Vec<(&'static str, f64)> {
    let mut found = Vec::new();
    let share = recurring(view.signals, Phase::Evaluation);
    if share > 0.0 {
        found.push(("run.eval", share));
    }
    let startup = view
        .signals
        .phases
        .as_ref()
        .map_or(0, |phases| phases.total(Phase::Startup) + phases.total(Phase::Compile));
    if startup >= LONG_STARTUP {
        found.push(("run.startup", 0.0));
    }
    found
}

/// How long a phase took, how often it came.
pub(crate) fn evidence(view: &View<'_>, cause: &str) -> Vec<Evidence> {
    let (Some(phase), Some(phases)) = (phase_of(cause), &view.signals.phases) else { return Vec::new() };
    let mut total = phases.total(phase);
    if phase == Phase::Startup {
        total += phases.total(Phase::Compile);
    }
    let place = phases.places.get(&phase).cloned();
    let mut text = Message::new("ev-run-phase").time("time", total).time("watched", phases.watched());
    if let Some(period) = phases.period(phase) {
        text = Message::new("ev-run-recurs")
            .time("time", total)
            .time("watched", phases.watched())
            .count("visits", i64::from(phases.visits(phase)))
            .time("period", period);
    }
    vec![Evidence { text, value: Some(total as f64), unit: "ns", place }]
}

/// Code, reason and hint where a run shows no training that a verdict could be about.
pub(crate) fn refused(signals: &Signals, resident: Option<f64>) -> Option<(&'static str, Message, Message)> {
    let Some(phases) = &signals.phases else { return idle_process(signals, resident) };
    let standing = phases.standing.first();
    let stuck = phases.total(Phase::Stuck);
    if let Some((_, place)) = standing.filter(|_| 2 * stuck > phases.watched()) {
        let reason = Message::new("refusal-stuck").time("time", stuck).name("place", place);
        return Some(("stuck", reason, Message::new("refusal-stuck-hint")));
    }
    if phases.in_loop || resident.is_some_and(|resident| resident >= BUSY) {
        return None;
    }
    let startup = phases.total(Phase::Startup) + phases.total(Phase::Compile);
    let place = |phase: Phase| phases.places.get(&phase).cloned().unwrap_or_default();
    if startup > 0 {
        let phase = if phases.total(Phase::Compile) > startup / 2 { Phase::Compile } else { Phase::Startup };
        let reason = Message::new("refusal-starting-up").time("time", startup).name("place", place(phase));
        return Some(("starting-up", reason, Message::new("refusal-starting-up-hint")));
    }
    let place = signals.main.as_ref().and_then(|main| {
        [Doing::UserCode, Doing::Launches, Doing::Logs].into_iter().find_map(|doing| main.place(doing))
    });
    let reason = match place {
        Some(place) => Message::new("refusal-no-loop").name("place", &place.name),
        None => Message::new("refusal-no-loop-anywhere"),
    };
    Some(("no-loop", reason, Message::new("refusal-no-loop-hint")))
}

/// Without stacks: neither the process nor its GPU does anything.
fn idle_process(signals: &Signals, resident: Option<f64>) -> Option<(&'static str, Message, Message)> {
    let process = signals.process.as_ref().filter(|_| signals.main.is_none())?;
    let workers = signals.workers.as_ref().and_then(|workers| workers.busy).unwrap_or(0.0);
    let busy = process.user + process.system;
    let idle =
        busy < IDLE_PROCESS && workers < IDLE_PROCESS && resident.is_some_and(|resident| resident < BUSY);
    idle.then(|| {
        let reason = Message::new("refusal-idle-process").share("busy", busy);
        ("idle-process", reason, Message::new("refusal-no-loop-hint"))
    })
}
