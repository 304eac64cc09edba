//! Everything that the page of a verdict sets: what it was of, the sentence, how far to trust it, and the parts that
//! have files of their own.

use fluent_bundle::FluentValue;
use whyidle_diagnosis::{Refusal, Step, Verdict};
use whyidle_model::Severity;

use super::both::{Both, Tongues};
use super::changes::{AnswerView, FindingView, PathView, Rung, answers, finding_view, path, rungs};
use super::definitions::{Definition, definitions};
use super::drawn::Drawn;
use super::ledger::{Bar, Group, bars, groups};
use super::ranks::{RanksView, ranks};
use super::tables::{RunView, TableView, instruments, run, tables};
use super::{blocks, fields};
use crate::text::head::subject;
use crate::text::ledger_title;
use crate::text::tail::quality_text;
use crate::{Catalog, EvidenceReport, json};

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

/// How the steps differ.
pub(crate) struct StepsView {
    pub(crate) said: Vec<Both>,
    /// Of the traced steps, where `said` is of others.
    pub(crate) traced: Vec<Both>,
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
            inputs: inputs(t, &refusal.inputs, &EvidenceReport::default()),
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
            inputs: inputs(t, &verdict.inputs, evidence),
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

pub(super) fn basis(catalog: &Catalog, step: &Step) -> String {
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

/// How the steps differ: those of the run where it timed them, and the traced ones.
fn steps(t: &Tongues<'_>, step: &Step, drawn: &Drawn) -> Option<StepsView> {
    let is_run = !drawn.steps.is_empty();
    let lengths = if is_run { &drawn.steps } else { &step.traced_each_ns };
    if lengths.is_empty() {
        return None;
    }
    let first = if is_run { 0 } else { step.first };
    let mut said = vec![spread(t, lengths, first)];
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
    let mut traced = Vec::new();
    if !step.traced_each_ns.is_empty() {
        let host = t.say(|c| {
            let time = |ns: i64| FluentValue::from(c.time(ns));
            let args = [("span", time(step.host_span_ns)), ("ahead", time(step.host_ahead_ns))];
            c.format("report-step-host", &args)
        });
        if is_run {
            traced.push(spread(t, &step.traced_each_ns, step.first));
            traced.push(host);
        } else {
            said.push(host);
        }
    }
    Some(StepsView { said, traced, has_chart: lengths.len() >= super::data::FEWEST_STEPS })
}

/// Shortest, median and longest of `lengths`, ns, whose first has the number `first`.
fn spread(t: &Tongues<'_>, lengths: &[i64], first: i64) -> Both {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable();
    t.say(|c| {
        let time = |ns: i64| FluentValue::from(c.time(ns));
        let spread = [
            ("count", FluentValue::from(lengths.len() as f64)),
            ("first", FluentValue::from(first.to_string())),
            ("shortest", time(sorted.first().copied().unwrap_or(0))),
            ("median", time(crate::label::median(&sorted))),
            ("longest", time(sorted.last().copied().unwrap_or(0))),
        ];
        c.format("report-step-spread", &spread)
    })
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

/// Files of which nothing more is said below.
fn inputs(t: &Tongues<'_>, inputs: &[whyidle_diagnosis::Input], evidence: &EvidenceReport) -> Vec<Both> {
    let is_told = |input: &&whyidle_diagnosis::Input| {
        evidence.contributions.iter().any(|given| given.path == input.path)
    };
    let one = |input: &whyidle_diagnosis::Input| {
        let args = [
            ("path", FluentValue::from(input.path.as_str())),
            ("count", FluentValue::from(input.events as f64)),
        ];
        t.format("report-input", &args)
    };
    inputs.iter().filter(|input| !is_told(input)).map(one).collect()
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
