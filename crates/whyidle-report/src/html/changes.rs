//! What to change: the ladder, the findings, the answers to what-ifs, and the critical path.

use whyidle_diagnosis::{Finding, Gain, Verdict};

use super::both::{Both, Tongues};
use super::colours::class;
use super::ledger::{column, thousandths};
use super::views::basis;

/// A step of the ladder.
pub(crate) struct Rung {
    pub(crate) what: Both,
    pub(crate) step: Both,
    pub(crate) saved: Both,
    pub(crate) how: Both,
    pub(crate) limit: Both,
    pub(crate) width: String,
    /// Ends of the interval, in the same units.
    pub(crate) low: String,
    pub(crate) high: String,
}

/// A finding.
pub(crate) struct FindingView {
    pub(crate) cause: &'static str,
    pub(crate) class: &'static str,
    pub(crate) name: Both,
    pub(crate) proposal: Both,
    pub(crate) cost: Both,
    pub(crate) gain: Option<GainView>,
    pub(crate) summary: Both,
    pub(crate) evidence: Vec<Both>,
    pub(crate) steps: Vec<Both>,
    pub(crate) code: String,
    pub(crate) what: Both,
}

/// What a remedy brings.
pub(crate) struct GainView {
    pub(crate) step: Both,
    pub(crate) saved: Both,
    pub(crate) how: Both,
    pub(crate) limit: Both,
}

/// The answer to a what-if.
pub(crate) struct AnswerView {
    pub(crate) asked: String,
    pub(crate) gain: Option<GainView>,
    pub(crate) notes: Vec<Both>,
}

/// The critical path.
pub(crate) struct PathView {
    pub(crate) length: Both,
    pub(crate) parts: Vec<(Both, Both, Both)>,
    pub(crate) names: Vec<(Both, Both, Both)>,
}

fn gain_view(t: &Tongues<'_>, gain: &Gain, step_ns: i64) -> GainView {
    GainView {
        step: t.say(|c| c.step_after(gain)),
        saved: t.say(|c| c.saved(gain, step_ns)),
        how: t.say(|c| c.method_and_range(gain)),
        limit: t.say(|c| c.next_limit(gain)),
    }
}

/// From today's step down; nothing where no remedy is on the ladder.
pub(super) fn rungs(t: &Tongues<'_>, verdict: &Verdict) -> Vec<Rung> {
    let step = &verdict.step.unprofiled;
    if verdict.ladder.is_empty() || verdict.findings.is_empty() {
        return Vec::new();
    }
    let highest = verdict.ladder.iter().map(|rung| rung.gain.step_after.high_ns).max().unwrap_or(0);
    let widest = highest.max(step.high_ns).max(step.ns) as f64;
    let mark = |ns: i64| thousandths(ns as f64, widest);
    let mut rungs = vec![Rung {
        what: t.word("html-today"),
        step: t.time(step.ns),
        saved: Both::default(),
        how: t.say(|c| basis(c, &verdict.step)),
        limit: Both::default(),
        width: mark(step.ns),
        low: mark(step.low_ns),
        high: mark(step.high_ns),
    }];
    rungs.extend(verdict.ladder.iter().enumerate().map(|(at, rung)| {
        let after = &rung.gain.step_after;
        let GainView { step: after_text, saved, how, limit } = gain_view(t, &rung.gain, step.ns);
        Rung {
            what: t.say(|c| c.rung(verdict, rung, at == 0)),
            step: after_text,
            saved,
            how,
            limit,
            width: mark(after.ns),
            low: mark(after.low_ns),
            high: mark(after.high_ns),
        }
    }));
    rungs
}

pub(super) fn finding_view(t: &Tongues<'_>, verdict: &Verdict, finding: &Finding) -> FindingView {
    let step_ns = verdict.step.unprofiled.ns;
    FindingView {
        cause: finding.cause,
        class: class(finding.cause),
        name: t.say(|c| c.cause(finding.cause)),
        proposal: t.say(|c| c.proposal(finding, verdict.subject.ranks)),
        cost: t.say(|c| {
            let cost = c.cost(finding);
            match c.range_if_wide(&finding.cost) {
                Some(range) if finding.cost.ns > 0 => format!("{cost} · {range}"),
                _ => cost,
            }
        }),
        gain: finding.gain.as_ref().map(|gain| gain_view(t, gain, step_ns)),
        summary: t.message(&finding.remedy.summary),
        evidence: finding.evidence.iter().map(|found| t.say(|c| c.evidence(found))).collect(),
        steps: finding.remedy.steps.iter().map(|step| t.message(step)).collect(),
        code: finding.remedy.code.clone(),
        what: t.say(|c| {
            let key = format!("cause-{}-what", crate::catalog::key_of(finding.cause));
            if c.has(&key) { c.word(&key) } else { String::new() }
        }),
    }
}

pub(super) fn answers(t: &Tongues<'_>, verdict: &Verdict) -> Vec<AnswerView> {
    verdict
        .what_if
        .iter()
        .map(|answer| AnswerView {
            asked: answer.asked.clone(),
            gain: answer.gain.as_ref().map(|gain| gain_view(t, gain, verdict.step.unprofiled.ns)),
            notes: answer.notes.iter().map(|note| t.message(note)).collect(),
        })
        .collect()
}

pub(super) fn path(t: &Tongues<'_>, verdict: &Verdict) -> Option<PathView> {
    let path = verdict.critical_path.as_ref()?;
    let row = |name: Both, ns: i64| {
        let share = ns as f64 / path.length_ns.max(1) as f64;
        (name, column(t, share), t.say(|c| c.time_like(ns, path.length_ns)))
    };
    Some(PathView {
        length: t.time(path.length_ns),
        parts: path.parts.iter().map(|part| row(t.say(|c| c.path_part(part.id)), part.ns)).collect(),
        names: path.names.iter().map(|name| row(Both::same(&name.name), name.ns)).collect(),
    })
}
