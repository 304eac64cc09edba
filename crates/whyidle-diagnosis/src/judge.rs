//! From cases to a verdict.

use whyidle_analysis::distribution::outliers;
use whyidle_analysis::ledger::{Kind, Line};
use whyidle_analysis::steps::Excluded;
use whyidle_model::Severity;

use crate::case::Case;
use crate::causes::CAUSES;
use crate::critical::critical;
use crate::details::details;
use crate::ladder::ladder;
use crate::message::{Arg, Message};
use crate::ruling::{rule, weight};
use crate::verdict::{
    self, Basis, Finding, Input, LineKind, QualityNote, RankVerdict, ReplayQuality, Step, Subject, Verdict,
};
use crate::what_if::{WhatIf, answer};

/// What is wanted beside the verdict.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// What to replay.
    pub what_if: Vec<WhatIf>,
    /// The critical path.
    pub critical_path: bool,
}

/// The verdict on one or several ranks' cases; the first is the one shown at the top.
///
/// `path` is what the user gave on the command line: the command to type next names it.
#[must_use]
pub fn judge(cases: &[Case<'_>], inputs: Vec<Input>, path: &str, wanted: &Wanted) -> Option<Verdict> {
    let shown = cases.first()?;
    let mut findings: Vec<Finding> = CAUSES.iter().filter_map(|cause| cause.find(shown)).collect();
    keep_the_specific(&mut findings);
    let step = shown.step.ns;
    findings.sort_by_key(|finding| {
        (std::cmp::Reverse(weight(finding, step)), std::cmp::Reverse(finding.cost.ns), finding.cause)
    });
    let ledger = lines(shown);
    let ruling = rule(shown, &ledger, &findings);
    let resident: i64 = shown.working() + shown.line(Line::Communication).ns;
    let mut quality = QualityNote::all_of(&shown.trace.notes);
    quality.extend(step_notes(shown));
    let critical_path = if wanted.critical_path { critical(shown) } else { None };
    if wanted.critical_path && critical_path.is_none() {
        let text = Message::new("note-no-critical-path");
        quality.push(QualityNote { code: "no-critical-path", severity: Severity::Suspect, count: 1, text });
    }
    Some(Verdict {
        subject: subject(cases),
        step: step_of(shown),
        working_share: shown.share(shown.working()),
        resident_share: shown.share(resident.min(step)),
        ranks: ranks(cases, &ledger),
        run: None,
        ledger,
        next: next_command(shown, ruling.primary, path),
        ladder: ladder(shown, &findings, &ruling),
        what_if: wanted.what_if.iter().map(|asked| answer(shown, asked)).collect(),
        critical_path,
        together: None,
        ruling,
        findings,
        replay: shown.replay.as_ref().map(|replayed| ReplayQuality {
            error: replayed.fidelity.error,
            slack: replayed.fidelity.slack,
            unrecorded: replayed.fidelity.unrecorded,
            usable: replayed.is_usable(),
        }),
        quality,
        details: details(shown),
        inputs,
    })
}

/// Where a communication pattern is recognised, "bring the other ranks" is its doubt and no finding beside it.
fn keep_the_specific(findings: &mut Vec<Finding>) {
    let specific = |finding: &Finding| {
        finding.cause != "comm.unsplit"
            && (finding.cause.starts_with("comm.") || finding.cause.starts_with("pipeline."))
    };
    let explained: i64 =
        findings.iter().filter(|finding| specific(finding)).map(|finding| finding.cost.ns).max().unwrap_or(0);
    findings.retain(|finding| finding.cause != "comm.unsplit" || 2 * explained < finding.cost.ns);
}

fn subject(cases: &[Case<'_>]) -> Subject {
    let shown = &cases[0];
    let meta = &shown.trace.meta;
    let mut versions: Vec<(String, String)> = Vec::new();
    if let Some(torch) = &shown.known.torch {
        versions.push(("torch".to_owned(), torch.clone()));
    }
    let recorded = |key: &str| {
        meta.versions.iter().find(|(name, _)| name == key).and_then(|(_, v)| v.parse::<u32>().ok())
    };
    if let Some(cuda) = recorded("cuda_runtime_version").filter(|&version| version >= 1_000) {
        // 13000 is 13.0, 12040 is 12.4 (cudaRuntimeGetVersion).
        versions.push(("cuda".to_owned(), format!("{}.{}", cuda / 1_000, cuda % 1_000 / 10)));
    }
    versions.extend(meta.versions.iter().cloned());
    Subject {
        gpu: shown.properties().map(|gpu| gpu.name.clone()),
        device: shown.device.device,
        gpus: cases.iter().map(|case| whyidle_analysis::device::devices(case.trace).len()).sum(),
        ranks: cases.len(),
        world_size: meta.distributed.as_ref().map(|job| job.world_size).filter(|&size| size > 0),
        rank_shown: shown.rank(),
        versions,
    }
}

fn step_of(case: &Case<'_>) -> Step {
    let used = &case.device.steps.used;
    let count = case.steps();
    let host_span: i64 = used.iter().map(|step| step.mark_end - step.host.start).sum::<i64>() / count;
    let ahead: i64 = used.iter().map(|step| (step.window.end - step.mark_end).max(0)).sum::<i64>() / count;
    Step {
        found_by: case.device.steps.found_by.id(),
        count: used.len(),
        first: used.first().map_or(0, |step| step.number),
        traced_each_ns: used.iter().map(|step| step.window.length()).collect(),
        traced_ns: case.traced_step(),
        unprofiled: case.step,
        basis: case.basis,
        host_span_ns: host_span,
        host_ahead_ns: ahead,
    }
}

/// The ledger's lines: work first, then waits, then the rest, each largest first.
fn lines(case: &Case<'_>) -> Vec<verdict::Line> {
    let mut lines: Vec<verdict::Line> = Line::ALL
        .iter()
        .map(|&line| verdict::Line {
            id: line.id(),
            kind: LineKind::of(line.kind()),
            traced_ns: case.device.ledger.total(line),
            unprofiled: case.line(line),
            share: case.share(case.line(line).ns),
            details: line_details(case, line),
        })
        .filter(|line| line.traced_ns != 0 || line.unprofiled.ns != 0)
        .collect();
    lines.sort_by_key(verdict::Line::order);
    lines
}

/// The largest place of a waiting line, in a few words.
fn line_details(case: &Case<'_>, line: Line) -> Vec<Message> {
    const SHOWN: usize = 2;
    if line.kind() != Kind::Waiting || case.share(case.line(line).ns) < 0.005 {
        return Vec::new();
    }
    let total = case.traced(line).max(1);
    case.places(line)
        .into_iter()
        .filter(|place| place.ns * 4 >= total)
        .filter_map(|place| place.frame.or(Some(place.name)).filter(|name| !name.is_empty()))
        .take(SHOWN)
        .map(|name| Message::new("det-place").name("name", name))
        .collect()
}

/// Every rank in brief; the ledger of the first is known.
fn ranks(cases: &[Case<'_>], first: &[verdict::Line]) -> Vec<RankVerdict> {
    let brief = |(at, case): (usize, &Case<'_>)| {
        Some(RankVerdict {
            rank: case.rank()?,
            step: step_of(case),
            working_share: case.share(case.working()),
            ledger: if at == 0 { first.to_vec() } else { lines(case) },
            lateness: None,
        })
    };
    cases.iter().enumerate().filter_map(brief).collect()
}

/// Steps that a note names one by one.
const LISTED_STEPS: usize = 8;

/// What must be known about the steps that were taken.
fn step_notes(case: &Case<'_>) -> Vec<QualityNote> {
    let mut out = Vec::new();
    let mut note = |code, severity, count: usize, text: Message| {
        out.push(QualityNote { code, severity, count: count as u64, text });
    };
    for (number, why) in &case.device.steps.excluded {
        let id = match why {
            Excluded::NoStart => "note-step-no-start",
            Excluded::ProfilerStart => "note-step-profiler-start",
            Excluded::NoEnd => "note-step-no-end",
        };
        note("step-excluded", Severity::Info, 1, Message::new(id).with("step", Arg::Count(*number)));
    }
    let backlog = case.device.steps.backlog;
    if backlog > 0 {
        let text =
            Message::new("note-backlog").count("count", backlog).time("time", case.device.steps.backlog_ns);
        note("backlog", Severity::Info, backlog, text);
    }
    let lengths: Vec<i64> = case.device.steps.used.iter().map(|step| step.window.length()).collect();
    if let Some(found) = outliers(&lengths) {
        let steps = found.at.iter().map(|&at| Arg::Name(case.device.steps.used[at].number.to_string()));
        let text =
            Message::new(if found.period.is_some() { "note-outliers-periodic" } else { "note-outliers" })
                .count("count", found.at.len())
                .with("steps", Arg::List(steps.take(LISTED_STEPS).collect()))
                .time("longest", found.longest_ns)
                .time("median", found.median_ns)
                .count("period", found.period.unwrap_or(0));
        note("outliers", Severity::Suspect, found.at.len(), text);
    }
    if case.device.steps.used.len() == 1 {
        note("one-step", Severity::Suspect, 1, Message::new("note-one-step"));
    }
    let unexplained =
        case.device.ledger.total(Line::Unexplained) as f64 / case.device.ledger.length().max(1) as f64;
    if unexplained > 0.03 {
        note(
            "unexplained",
            Severity::Suspect,
            1,
            Message::new("note-unexplained").share("share", unexplained),
        );
    }
    if let Some(replayed) = &case.replay
        && replayed.fidelity.unrecorded > 0.03
    {
        let share = replayed.fidelity.unrecorded;
        note(
            "graph-unrecorded",
            Severity::Suspect,
            1,
            Message::new("note-graph-unrecorded").share("share", share),
        );
    }
    let unknown: Vec<_> = CAUSES.iter().filter(|cause| !cause.holds(case)).collect();
    if !unknown.is_empty() {
        let causes = unknown.iter().map(|cause| Arg::Name(cause.id.to_owned())).collect();
        let text = Message::new("note-not-judged")
            .name("vendor", case.facts.vendor.name())
            .count("count", unknown.len())
            .with("causes", Arg::List(causes));
        note("not-judged", Severity::Info, unknown.len(), text);
    }
    let host_python = case.share(case.line(Line::HostPython).ns);
    if !case.has_stacks() && host_python > 0.10 {
        note("no-stacks", Severity::Info, 1, Message::new("note-no-stacks").share("share", host_python));
    }
    out
}

/// The one command to type next: the true step where it is missing, else the page of the first cause.
fn next_command(case: &Case<'_>, primary: &str, path: &str) -> String {
    let unsure = match case.basis {
        Basis::Traced => true,
        Basis::Estimated => !case.device_bound,
        Basis::Given | Basis::Measured => false,
    };
    if unsure {
        format!("whyidle trace {} --step-ms MS", typed(path))
    } else {
        format!("whyidle explain {primary}")
    }
}

/// A word as a shell takes it: in quotes where it holds anything that means something to the shell.
pub(crate) fn typed(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::typed;

    #[test]
    fn a_path_is_pasted_as_one_word() {
        assert_eq!(typed("runs/42/trace.json.gz"), "runs/42/trace.json.gz");
        assert_eq!(typed("my file; rm x"), "'my file; rm x'");
        assert_eq!(typed("it's $(id)"), "'it'\\''s $(id)'");
        assert_eq!(typed(""), "''");
    }
}
