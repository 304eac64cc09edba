//! A verdict's parts as a page shows them: what it was of, the sentence, the ledger, what to change, how far to trust it.

use fluent_bundle::FluentValue;
use whyidle_diagnosis::{Finding, Gain, Line, LineKind, Refusal, Step, Verdict};
use whyidle_model::Severity;

use super::both::{Both, Tongues};
use super::colours::class;
use super::definitions::{Definition, definitions};
use super::drawn::Drawn;
use super::ranks::{RanksView, ranks};
use super::tables::{RunView, TableView, instruments, run, tables};
use super::{blocks, fields};
use crate::text::head::subject;
use crate::text::ledger_title;
use crate::text::tail::quality_text;
use crate::{Catalog, EvidenceReport, json, quantity};

/// Width of a whole bar in the units of its picture.
const WHOLE: f64 = 1000.0;
/// Traced steps that get a bar of their own.
const BARS: usize = 12;

/// Everything that the template sets.
pub(crate) struct Page {
    pub(crate) title: Both,
    pub(crate) subject: Both,
    pub(crate) sentence: Both,
    pub(crate) then: Both,
    pub(crate) state: &'static str,
    pub(crate) step: Both,
    pub(crate) basis: Both,
    pub(crate) working: Both,
    pub(crate) resident: Both,
    pub(crate) confidence: Both,
    pub(crate) ledger_title: Both,
    pub(crate) bars: Vec<Bar>,
    pub(crate) groups: Vec<Group>,
    pub(crate) has_ranges: bool,
    pub(crate) has_trace: bool,
    pub(crate) rungs: Vec<Rung>,
    pub(crate) findings: Vec<FindingView>,
    pub(crate) what_if: Vec<AnswerView>,
    pub(crate) path: Option<PathView>,
    pub(crate) ranks: Option<RanksView>,
    pub(crate) run: Option<RunView>,
    pub(crate) instruments: Option<TableView>,
    pub(crate) disagreements: Vec<Both>,
    pub(crate) has_timeline: bool,
    /// The trace came from standard input.
    pub(crate) is_stream: bool,
    pub(crate) timeline_title: Both,
    pub(crate) has_curves: bool,
    pub(crate) has_stacks: bool,
    pub(crate) steps: Option<StepsView>,
    pub(crate) tables: Vec<TableView>,
    pub(crate) statistics: Vec<Both>,
    pub(crate) evidence: Vec<EvidencePage>,
    pub(crate) notes: Vec<NoteView>,
    pub(crate) replay: Option<Both>,
    pub(crate) inputs: Vec<Both>,
    pub(crate) contributions: Vec<(String, Both)>,
    pub(crate) next: String,
    pub(crate) export: Option<String>,
    pub(crate) definitions: Vec<Definition>,
    pub(crate) fields: String,
}

/// A bar of segments side by side.
pub(crate) struct Bar {
    pub(crate) name: Both,
    pub(crate) time: Both,
    pub(crate) segments: Vec<Segment>,
}

/// A segment of a bar; places are in thousandths of the widest bar.
pub(crate) struct Segment {
    pub(crate) class: &'static str,
    pub(crate) x: String,
    pub(crate) width: String,
    pub(crate) says: Both,
}

/// Lines of one kind.
pub(crate) struct Group {
    pub(crate) name: Both,
    pub(crate) time: Both,
    pub(crate) share: Both,
    pub(crate) rows: Vec<Row>,
}

/// A line of the ledger.
pub(crate) struct Row {
    pub(crate) id: &'static str,
    pub(crate) class: &'static str,
    pub(crate) label: Both,
    pub(crate) time: Both,
    pub(crate) range: Both,
    pub(crate) share: Both,
    pub(crate) traced: Both,
    pub(crate) details: Both,
}

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

/// How the steps differ.
pub(crate) struct StepsView {
    pub(crate) said: Vec<Both>,
    pub(crate) has_chart: bool,
}

/// A note on the evidence.
pub(crate) struct NoteView {
    pub(crate) severity: &'static str,
    pub(crate) severity_name: Both,
    pub(crate) text: Both,
    pub(crate) code: &'static str,
}

/// A page beside the verdict, already set.
pub(crate) struct EvidencePage {
    pub(crate) id: &'static str,
    pub(crate) title: Both,
    /// Up to its answer.
    pub(crate) lead: String,
    /// The rest.
    pub(crate) html: String,
    /// Memory: charts of it stand between.
    pub(crate) charts: Vec<String>,
}

/// Why there is no verdict.
pub(crate) struct Refused {
    pub(crate) code: &'static str,
    pub(crate) reason: Both,
    pub(crate) hint: Both,
    pub(crate) notes: Vec<NoteView>,
    pub(crate) inputs: Vec<Both>,
    pub(crate) fields: String,
}

impl Refused {
    pub(crate) fn new(t: &Tongues<'_>, refusal: &Refusal) -> Self {
        let value = |catalog: &Catalog| json::refusal_value(refusal, catalog);
        Self {
            code: refusal.code,
            reason: t.message(&refusal.reason),
            hint: t.message(&refusal.hint),
            notes: notes(t, &refusal.quality),
            inputs: inputs(t, &refusal.inputs),
            fields: fields::set(&value(t.en), &value(t.zh), |count| more(t, count)),
        }
    }
}

impl Page {
    pub(crate) fn new(t: &Tongues<'_>, verdict: &Verdict, evidence: &EvidenceReport, drawn: &Drawn) -> Self {
        let ruling = &verdict.ruling;
        let first = ruling.sentence.first();
        let rest = ruling.sentence.get(1..).unwrap_or_default();
        let sentence = first.map(|message| t.message(message)).unwrap_or_default();
        let share = |share: f64| if share.is_nan() { Both::same("–") } else { t.say(|c| c.share(share)) };
        let found = verdict.details.instruments.as_ref();
        let value = |catalog: &Catalog| json::value(verdict, catalog);
        let groups = groups(t, verdict);
        Self {
            title: sentence.clone(),
            subject: t.say(|c| subject(c, verdict).join(" · ")),
            sentence,
            then: t.say(|c| c.sentences(rest)),
            state: match (ruling.healthy, ruling.efficient) {
                (false, _) => "waits",
                (true, Some(false)) => "inefficient",
                _ => "healthy",
            },
            step: t.time(verdict.step.unprofiled.ns),
            basis: t.say(|c| basis(c, &verdict.step)),
            working: share(verdict.working_share),
            resident: share(verdict.resident_share),
            confidence: t.say(|c| c.confidence_and_doubts(ruling)),
            ledger_title: t.say(|c| c.word(ledger_title(verdict))),
            bars: bars(t, verdict, drawn),
            has_ranges: groups.iter().flat_map(|group| &group.rows).any(|row| !row.range.is_empty()),
            groups,
            has_trace: verdict.step.traced_ns > 0,
            rungs: rungs(t, verdict),
            findings: verdict.findings.iter().map(|finding| finding_view(t, verdict, finding)).collect(),
            what_if: answers(t, verdict),
            path: path(t, verdict),
            ranks: ranks(t, verdict),
            run: run(t, verdict),
            instruments: found.map(|found| instruments(t, found)),
            disagreements: found
                .map(|found| found.disagreements.iter().map(|said| t.message(said)).collect())
                .unwrap_or_default(),
            has_timeline: drawn.timeline.is_some(),
            is_stream: verdict.inputs.iter().any(|input| input.path == "-"),
            timeline_title: drawn.timeline.as_ref().map(|shown| timeline_title(t, shown)).unwrap_or_default(),
            has_curves: !drawn.curves.curves.is_empty(),
            has_stacks: !drawn.stacks.is_empty(),
            steps: steps(t, &verdict.step, drawn),
            tables: tables(t, verdict),
            statistics: verdict.details.statistics.iter().map(|figure| t.message(figure)).collect(),
            evidence: evidence_pages(t, evidence),
            notes: notes(t, &verdict.quality),
            replay: verdict.replay.as_ref().map(|replay| {
                t.say(|c| {
                    let key = if replay.usable { "report-replay" } else { "report-replay-unusable" };
                    let args = [
                        ("error", FluentValue::from(c.share(replay.error.abs()))),
                        ("slack", FluentValue::from(c.share(replay.slack))),
                    ];
                    c.format(key, &args)
                })
            }),
            inputs: inputs(t, &verdict.inputs),
            contributions: contributions(t, evidence),
            next: verdict.next.clone(),
            export: drawn.export.clone(),
            definitions: definitions(t),
            fields: fields::set(&value(t.en), &value(t.zh), |count| more(t, count)),
        }
    }
}

fn more(t: &Tongues<'_>, count: usize) -> Both {
    t.format("report-more-rows", &[("count", FluentValue::from(count as f64))])
}

fn basis(catalog: &Catalog, step: &Step) -> String {
    if step.found_by == "second" { catalog.word("report-no-steps") } else { catalog.basis(step) }
}

fn timeline_title(t: &Tongues<'_>, shown: &whyidle_analysis::timeline::Timeline) -> Both {
    t.say(|c| {
        let args = [
            ("step", FluentValue::from(shown.step.to_string())),
            ("time", FluentValue::from(c.time(shown.length))),
            ("gpu", FluentValue::from(shown.device.to_string())),
        ];
        c.format("html-timeline-of", &args)
    })
}

/// Thousandths of the whole, with as many digits as a pixel needs.
pub(crate) fn thousandths(part: f64, whole: f64) -> String {
    format!("{:.1}", (part / whole.max(1.0) * WHOLE).clamp(0.0, WHOLE))
}

/// The true step first, then the traced ones, all on one scale.
fn bars(t: &Tongues<'_>, verdict: &Verdict, drawn: &Drawn) -> Vec<Bar> {
    let step_ns = verdict.step.unprofiled.ns;
    let shown = &drawn.traced[..drawn.traced.len().min(BARS)];
    let length = |lines: &[(&str, i64)]| lines.iter().map(|(_, ns)| ns).sum::<i64>();
    let widest = shown.iter().map(|(_, lines)| length(lines)).chain([step_ns]).max().unwrap_or(0);
    let bar = |name: Both, lines: &[(&'static str, i64)]| {
        let mut now = 0;
        let whole = length(lines);
        let segments = lines.iter().filter(|(_, ns)| *ns > 0).map(|&(id, ns)| {
            let from = now;
            now += ns;
            let says = t.say(|c| {
                let share = c.share(ns as f64 / whole.max(1) as f64);
                format!("{} {} · {share}", c.line(id), c.time_like(ns, whole))
            });
            Segment {
                class: class(id),
                x: thousandths(from as f64, widest as f64),
                width: thousandths(ns as f64, widest as f64),
                says,
            }
        });
        let segments = segments.collect();
        Bar { name, time: t.time(whole), segments }
    };
    let own: Vec<(&'static str, i64)> =
        verdict.ledger.iter().map(|line| (line.id, line.unprofiled.ns)).collect();
    let mut bars = vec![bar(t.word("html-true-step"), &own)];
    bars.extend(shown.iter().map(|(number, lines)| {
        let args = [("number", FluentValue::from(number.to_string()))];
        bar(t.format("html-traced-step", &args), lines)
    }));
    bars
}

fn groups(t: &Tongues<'_>, verdict: &Verdict) -> Vec<Group> {
    let step_ns = verdict.step.unprofiled.ns;
    [
        (LineKind::Waiting, "report-group-waiting"),
        (LineKind::Working, "report-group-working"),
        (LineKind::Rest, "report-group-rest"),
    ]
    .into_iter()
    .filter_map(|(kind, key)| {
        let is_shown = |line: &&Line| line.kind == kind && (line.traced_ns != 0 || line.unprofiled.ns != 0);
        let lines: Vec<&Line> = verdict.ledger.iter().filter(is_shown).collect();
        if lines.is_empty() {
            return None;
        }
        let ns = lines.iter().map(|line| line.unprofiled.ns).sum();
        let whole: f64 = lines.iter().map(|line| line.share).sum();
        Some(Group {
            name: t.word(key),
            time: t.say(|c| c.time_like(ns, step_ns)),
            share: column(t, whole),
            rows: lines.iter().map(|line| row(t, line, &verdict.step)).collect(),
        })
    })
    .collect()
}

/// A share as a column of the ledger sets it.
pub(crate) fn column(t: &Tongues<'_>, share: f64) -> Both {
    t.say(|c| c.quantity(&quantity::share_in_column(share)))
}

fn row(t: &Tongues<'_>, line: &Line, step: &Step) -> Row {
    let steps = i64::try_from(step.count.max(1)).unwrap_or(i64::MAX);
    Row {
        id: line.id,
        class: class(line.id),
        label: t.say(|c| c.line(line.id)),
        time: t.say(|c| c.time_like(line.unprofiled.ns, step.unprofiled.ns)),
        range: t.say(|c| c.range_if_wide(&line.unprofiled).unwrap_or_default()),
        share: column(t, line.share),
        traced: t.say(|c| c.time_like(line.traced_ns / steps, step.traced_ns)),
        details: t
            .say(|c| line.details.iter().map(|detail| c.message(detail)).collect::<Vec<_>>().join(" · ")),
    }
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
fn rungs(t: &Tongues<'_>, verdict: &Verdict) -> Vec<Rung> {
    let step = &verdict.step.unprofiled;
    if verdict.ladder.is_empty() {
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
            what: t.say(|c| c.rung(rung, at == 0)),
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

fn finding_view(t: &Tongues<'_>, verdict: &Verdict, finding: &Finding) -> FindingView {
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

fn answers(t: &Tongues<'_>, verdict: &Verdict) -> Vec<AnswerView> {
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

fn path(t: &Tongues<'_>, verdict: &Verdict) -> Option<PathView> {
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

/// How the steps differ: those of the run where it timed them, else the traced ones.
fn steps(t: &Tongues<'_>, step: &Step, drawn: &Drawn) -> Option<StepsView> {
    let lengths = if drawn.steps.is_empty() { &step.traced_each_ns } else { &drawn.steps };
    if lengths.is_empty() {
        return None;
    }
    let mut sorted = lengths.clone();
    sorted.sort_unstable();
    let first = if drawn.steps.is_empty() { step.first } else { 0 };
    let mut said = vec![t.say(|c| {
        let time = |ns: i64| FluentValue::from(c.time(ns));
        let spread = [
            ("count", FluentValue::from(lengths.len() as f64)),
            ("first", FluentValue::from(first.to_string())),
            ("shortest", time(sorted[0])),
            ("median", time(crate::label::median(&sorted))),
            ("longest", time(sorted[sorted.len() - 1])),
        ];
        c.format("report-step-spread", &spread)
    })];
    if let Some(found) = whyidle_analysis::distribution::outliers(lengths) {
        said.push(t.say(|c| {
            let named: Vec<String> = found
                .at
                .iter()
                .take(8)
                .map(|&at| {
                    let args = [
                        ("number", FluentValue::from((first + at as i64).to_string())),
                        ("time", FluentValue::from(c.time(lengths[at]))),
                    ];
                    c.format("html-outlier", &args)
                })
                .collect();
            let args = [
                ("count", FluentValue::from(found.at.len() as f64)),
                ("named", FluentValue::from(named.join(", "))),
            ];
            let mut text = c.format("html-outliers", &args);
            if let Some(period) = found.period {
                let args = [("period", FluentValue::from(period as f64))];
                text = format!("{text}{}{}", c.word("sentence-gap"), c.format("html-outliers-period", &args));
            }
            text
        }));
    }
    if drawn.steps.is_empty() {
        said.push(t.say(|c| {
            let time = |ns: i64| FluentValue::from(c.time(ns));
            let args = [("span", time(step.host_span_ns)), ("ahead", time(step.host_ahead_ns))];
            c.format("report-step-host", &args)
        }));
    }
    Some(StepsView { said, has_chart: lengths.len() >= super::data::FEWEST_STEPS })
}

pub(crate) fn notes(t: &Tongues<'_>, quality: &[whyidle_diagnosis::QualityNote]) -> Vec<NoteView> {
    let mut notes: Vec<&whyidle_diagnosis::QualityNote> = quality.iter().collect();
    notes.sort_by_key(|note| std::cmp::Reverse(note.severity));
    let (loss, suspect, info) =
        (t.word("html-severity-loss"), t.word("html-severity-suspect"), t.word("html-severity-info"));
    notes
        .into_iter()
        .map(|note| {
            let (severity, severity_name) = match note.severity {
                Severity::Loss => ("loss", loss.clone()),
                Severity::Suspect => ("suspect", suspect.clone()),
                Severity::Info => ("info", info.clone()),
            };
            NoteView { severity, severity_name, text: t.say(|c| quality_text(c, note)), code: note.code }
        })
        .collect()
}

fn inputs(t: &Tongues<'_>, inputs: &[whyidle_diagnosis::Input]) -> Vec<Both> {
    let one = |input: &whyidle_diagnosis::Input| {
        let args = [
            ("path", FluentValue::from(input.path.as_str())),
            ("count", FluentValue::from(input.events as f64)),
        ];
        t.format("report-input", &args)
    };
    inputs.iter().map(one).collect()
}

fn contributions(t: &Tongues<'_>, evidence: &EvidenceReport) -> Vec<(String, Both)> {
    evidence.contributions.iter().map(|given| (given.path.clone(), t.message(&given.text))).collect()
}

/// The pages beside the verdict.
pub(crate) fn evidence_pages(t: &Tongues<'_>, evidence: &EvidenceReport) -> Vec<EvidencePage> {
    let page = |id: &'static str, key: &str, html: [String; 2], charts: Vec<String>| {
        let [lead, html] = html;
        EvidencePage { id, title: t.word(key), lead, html, charts }
    };
    let mut pages = Vec::new();
    if let Some(report) = &evidence.memory {
        let html = blocks::set_answer_first(t, |c| crate::memory::described::blocks(report, c, true));
        let charts = (0..report.snapshots.len()).map(|at| format!("memory-{at}")).collect();
        pages.push(page("memory", "html-title-memory", html, charts));
    }
    if let Some(facts) = &evidence.machine {
        let html = blocks::set_answer_first(t, |c| crate::machine::blocks(facts, evidence.why.as_ref(), c));
        pages.push(page("machine", "html-title-machine", html, Vec::new()));
    }
    if let Some(report) = &evidence.kernels {
        let html = blocks::set_answer_first(t, |c| crate::ncu::described::blocks(report, c, true));
        pages.push(page("measured-kernels", "html-title-ncu", html, Vec::new()));
    }
    if let Some(report) = &evidence.ranks {
        let html = blocks::set_answer_first(t, |c| crate::ranks::described::blocks(report, c, true));
        pages.push(page("flight", "html-title-flight", html, Vec::new()));
    }
    pages
}
