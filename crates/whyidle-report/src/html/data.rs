//! What the scripts draw, as JSON: figures and places of names, no markup. Times are ns.

use fluent_bundle::FluentValue;
use serde_json::{Value, json};
use whyidle_analysis::curves::Curves;
use whyidle_analysis::ledger::Line;
use whyidle_analysis::timeline::{Block, Gap, Lane, Timeline, UNNAMED};
use whyidle_diagnosis::Verdict;
use whyidle_tables::export::stacks::Node;

use super::both::{Both, Tongues};
use super::colours::class;
use super::drawn::Drawn;
use crate::catalog::key_of;
use crate::{EvidenceReport, SnapshotReport, memory};

/// Fewer steps need no chart.
pub(crate) const FEWEST_STEPS: usize = 8;
/// Names are cut in their middle beyond this many characters: templates of kernels run to thousands.
const NAME: usize = 160;
/// Parts of a memory peak that are drawn by themselves.
const PARTS: usize = 12;

pub(crate) fn of_verdict(
    t: &Tongues<'_>,
    verdict: &Verdict,
    evidence: &EvidenceReport,
    drawn: &Drawn,
) -> Value {
    let mut data = of_evidence(t, evidence);
    if let Some(shown) = &drawn.timeline {
        data["lines"] = lines(t);
        data["timeline"] = timeline(shown);
    }
    let (steps, first) = if drawn.steps.is_empty() {
        (&verdict.step.traced_each_ns, verdict.step.first)
    } else {
        (&drawn.steps, 0)
    };
    if steps.len() >= FEWEST_STEPS {
        let outliers = whyidle_analysis::distribution::outliers(steps);
        data["steps"] = json!({ "first": first, "ns": steps, "outliers": outliers.map(|found| found.at).unwrap_or_default() });
    }
    if !drawn.curves.curves.is_empty() {
        data["curves"] = curves(t, &drawn.curves);
    }
    if !drawn.stacks.is_empty() {
        data["stacks"] = stacks(&drawn.stacks);
    }
    data
}

pub(crate) fn of_evidence(t: &Tongues<'_>, evidence: &EvidenceReport) -> Value {
    let mut data = super::no_data();
    if let Some(report) = &evidence.memory {
        let snapshots = report.snapshots.iter().map(|snapshot| of_snapshot(t, snapshot));
        data["memory"] = snapshots.collect();
    }
    data
}

/// Whether anything is drawn by uPlot.
pub(crate) fn has_charts(data: &Value) -> bool {
    ["steps", "curves", "memory", "pairs", "sides", "sweeps"].iter().any(|key| data.get(key).is_some())
}

/// The ledger's lines in order: id, both names, class, kind.
fn lines(t: &Tongues<'_>) -> Value {
    let line = |line: &Line| {
        let name = t.say(|c| c.line(line.id()));
        json!([line.id(), name.en, name.zh, class(line.id()), line.kind().id()])
    };
    Line::ALL.iter().map(line).collect()
}

fn timeline(shown: &Timeline) -> Value {
    json!({
        "step": shown.step,
        "length": shown.length,
        "names": shown.names.iter().map(|name| shortened(name)).collect::<Vec<_>>(),
        "busy": device(&shown.busy),
        "gaps": shown.gaps.iter().map(gap).collect::<Vec<_>>(),
        "streams": shown.streams.iter().map(lane).collect::<Vec<_>>(),
        "host": shown.host.iter().map(lane).collect::<Vec<_>>(),
    })
}

fn name(at: u32) -> i64 {
    if at == UNNAMED { -1 } else { i64::from(at) }
}

/// Seven numbers a block: start after the start before it, length, line, name, how many, idle, whom that waited for.
fn device(blocks: &[Block]) -> Vec<i64> {
    let mut before = 0;
    blocks
        .iter()
        .flat_map(|block| {
            let start = block.start - before;
            before = block.start;
            let (line, waited) = (block.line as i64, block.waited as i64);
            [start, block.length(), line, name(block.name), i64::from(block.count), block.idle, waited]
        })
        .collect()
}

/// Five numbers a block, likewise.
fn lane(lane: &Lane) -> Value {
    let mut before = 0;
    let blocks: Vec<i64> = lane
        .blocks
        .iter()
        .flat_map(|block| {
            let start = block.start - before;
            before = block.start;
            [start, block.length(), block.line as i64, name(block.name), i64::from(block.count)]
        })
        .collect();
    json!({ "number": lane.number, "name": shortened(&lane.name), "depth": lane.depth, "blocks": blocks })
}

/// Start, length, lines as pairs, parts as pairs of line and length, host events as pairs, what ended it. A gap of one
/// line has neither lines nor parts of its own, but the line.
fn gap(gap: &Gap) -> Value {
    let lines: Vec<i64> = gap.lines.iter().flat_map(|&(line, ns)| [line as i64, ns]).collect();
    let parts: Vec<i64> =
        gap.parts.iter().flat_map(|part| [part.line as i64, part.end - part.start]).collect();
    let (lines, parts) = match gap.lines[..] {
        [(line, _)] => (json!(line as i64), json!(0)),
        _ => (json!(lines), json!(parts)),
    };
    json!([
        gap.start,
        gap.length(),
        lines,
        parts,
        gap.host.iter().flat_map(|&(at, ns)| [name(at), ns]).collect::<Vec<_>>(),
        name(gap.ended_by),
        name(gap.operator),
        name(gap.frame),
    ])
}

fn curves(t: &Tongues<'_>, curves: &Curves) -> Value {
    let curve = |curve: &whyidle_analysis::curves::Curve| {
        let key = format!("instrument-{}", key_of(curve.id));
        let label = t.say(|c| match curve.pid {
            Some(pid) => format!("{} {pid}", c.word(&key)),
            None => c.word(&key),
        });
        let values: Vec<Value> = curve
            .values
            .iter()
            .map(|value| value.map_or(Value::Null, |value| json!((value * 1e4).round() / 1e4)))
            .collect();
        json!({ "id": curve.id, "label": label.value(), "values": values })
    };
    json!({
        "span": curves.span,
        "columns": curves.columns,
        "curves": curves.curves.iter().map(curve).collect::<Vec<_>>(),
    })
}

/// Three members a node: the node around it or −1, its text, its weight.
fn stacks(nodes: &[Node]) -> Value {
    let around = |node: &Node| node.around.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1);
    nodes.iter().map(|node| json!([around(node), shortened(&node.text), node.weight])).collect()
}

fn of_snapshot(t: &Tongues<'_>, report: &SnapshotReport) -> Value {
    let Some(device) = report.fullest() else { return Value::Null };
    let whole = device.peak.totals.allocated;
    let (large, small) = device.parts.split_at(device.parts.len().min(PARTS));
    let mut parts: Vec<Value> = large
        .iter()
        .map(|part| {
            let label = t.say(|c| c.message(&memory::part_named(&report.sites, part)));
            json!({ "label": short(&label).value(), "bytes": part.bytes })
        })
        .collect();
    let rest: u64 = small.iter().map(|part| part.bytes).sum();
    if rest > 0 {
        parts.push(json!({ "label": t.word("report-everything-else").value(), "bytes": rest }));
    }
    let from = device.span.map_or(0, |(from, _)| from);
    let timeline = device.timeline.iter().map(|s| json!([s.start - from, s.low, s.high, s.reserved]));
    json!({
        "peak": whole,
        "parts": parts,
        "timeline": timeline.collect::<Vec<_>>(),
        "capacity": report.capacity(device.device),
    })
}

fn short(both: &Both) -> Both {
    Both { en: shortened(&both.en), zh: shortened(&both.zh) }
}

/// A name with its middle left out where it is too long.
pub(crate) fn shortened(name: &str) -> String {
    let count = name.chars().count();
    if count <= NAME {
        return name.to_owned();
    }
    let half = NAME / 2 - 1;
    let head: String = name.chars().take(half).collect();
    let tail: String = name.chars().skip(count - half).collect();
    format!("{head} … {tail}")
}

/// The words of the scripts. Placeholders stay as `{name}`, which the scripts fill.
pub(crate) fn words(t: &Tongues<'_>) -> Value {
    let mut words = serde_json::Map::new();
    for key in WORDS {
        words.insert(key.trim_start_matches("html-js-").to_owned(), t.word(key).value());
    }
    for (key, places) in SENTENCES {
        let holders: Vec<String> = places.iter().map(|place| format!("{{{place}}}")).collect();
        let args: Vec<(&str, FluentValue<'_>)> = places
            .iter()
            .zip(&holders)
            .map(|(place, text)| (*place, FluentValue::from(text.as_str())))
            .collect();
        words.insert(key.trim_start_matches("html-js-").to_owned(), t.format(key, &args).value());
    }
    for key in UNITS {
        let args = [("value", FluentValue::from("{value}"))];
        words.insert((*key).to_owned(), t.format(key, &args).value());
    }
    Value::Object(words)
}

const UNITS: [&str; 9] = [
    "unit-ns",
    "unit-us",
    "unit-ms",
    "unit-s",
    "unit-percent",
    "unit-byte",
    "unit-kib",
    "unit-mib",
    "unit-gib",
];

const WORDS: [&str; 22] = [
    "html-js-copied",
    "html-js-copy-failed",
    "html-js-device",
    "html-js-nothing-recorded",
    "html-js-step-number",
    "html-js-step-time",
    "html-js-steps",
    "html-js-seconds",
    "html-js-share",
    "html-js-cores",
    "html-js-allocated",
    "html-js-reserved",
    "html-js-pair",
    "html-js-samples",
    "html-js-run",
    "html-js-outlier",
    "html-js-merged",
    "html-js-no-match",
    "html-js-value",
    "html-js-chosen",
    "html-js-plateau",
    "html-js-rate",
];

const SENTENCES: [(&str, &[&str]); 11] = [
    ("html-js-waited", &["line"]),
    ("html-js-host", &["events"]),
    ("html-js-stream", &["number"]),
    ("html-js-thread", &["name"]),
    ("html-js-count", &["count", "time"]),
    ("html-js-idle", &["time", "line"]),
    ("html-js-gap-of", &["time", "share", "at"]),
    ("html-js-ended-by", &["name"]),
    ("html-js-launched-by", &["name"]),
    ("html-js-from", &["name"]),
    ("html-js-view", &["from", "to"]),
];
