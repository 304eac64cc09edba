//! One side of a comparison: its verdict, what names take of its traced steps, where its main thread was.

use std::collections::BTreeMap;

use whyidle_analysis::facts::{DeviceFacts, Facts};
use whyidle_analysis::ledger::Line;
use whyidle_analysis::signals::Signals;
use whyidle_analysis::totals::{NameTotal, totals};
use whyidle_model::{HostKind, Trace};

use crate::verdict::{Basis, LineKind, Verdict};

/// A time per step with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Mean over the steps, ns.
    pub ns: i64,
    /// Lower end, ns.
    pub low_ns: i64,
    /// Upper end, ns.
    pub high_ns: i64,
    /// How often per step; `None` where that is not counted.
    pub calls: Option<f64>,
}

/// What names take of the traced steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Names {
    pub(super) kernels: BTreeMap<String, Figure>,
    pub(super) operators: BTreeMap<String, Figure>,
    pub(super) host: BTreeMap<String, Figure>,
    /// Python frames were recorded.
    pub(super) has_frames: bool,
    /// By line: how far its traced steps lie from their mean, as a share of it.
    spread: BTreeMap<&'static str, f64>,
}

/// A place of the main thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// `validate (train.py:60)`.
    pub name: String,
    /// Share of the main thread's samples.
    pub share: f64,
}

/// One side.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// What was given.
    pub path: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// `None` without a trace.
    pub(super) names: Option<Names>,
    /// Places of the main thread and its samples; `None` without stacks.
    pub(super) places: Option<(Vec<Place>, u32)>,
}

impl Side {
    /// A side with nothing but its verdict.
    #[must_use]
    pub fn new(path: String, verdict: Verdict) -> Self {
        Self { path, verdict, names: None, places: None }
    }

    /// The side with the trace that its verdict shows.
    #[must_use]
    pub fn with_trace(mut self, trace: &Trace, facts: &Facts, device: &DeviceFacts) -> Self {
        let all = totals(trace, facts, device);
        let named = |rows: &[NameTotal]| by_name(trace, rows);
        let steps = &device.ledger.steps;
        let spread = |line: Line| {
            let each: Vec<i64> = steps.iter().map(|step| step[line as usize]).collect();
            let figure = around(&each);
            (line.id(), (figure.high_ns - figure.low_ns) as f64 / 2.0 / figure.ns.max(1) as f64)
        };
        self.names = Some(Names {
            kernels: named(&all.kernels),
            operators: named(&all.operators),
            host: named(&all.host),
            has_frames: trace.host.kind.contains(&HostKind::Python),
            spread: Line::ALL.iter().map(|&line| spread(line)).collect(),
        });
        self
    }

    /// The side with what its recording's stacks show.
    #[must_use]
    pub fn with_signals(mut self, signals: &Signals) -> Self {
        self.places = signals.main.as_ref().map(|main| {
            let all = main.places.values().flatten();
            let mut shares: BTreeMap<&str, f64> = BTreeMap::new();
            for place in all {
                *shares.entry(&place.name).or_default() += place.share;
            }
            let place = |(name, share): (&str, f64)| Place { name: name.to_owned(), share };
            (shares.into_iter().map(place).collect(), main.samples)
        });
        self
    }

    /// It has a trace.
    #[must_use]
    pub fn has_trace(&self) -> bool {
        self.names.is_some()
    }

    /// The step without a profiler.
    pub(super) fn step(&self) -> Figure {
        let step = &self.verdict.step;
        let mut figure = Figure {
            ns: step.unprofiled.ns,
            low_ns: step.unprofiled.low_ns,
            high_ns: step.unprofiled.high_ns,
            calls: None,
        };
        if step.basis == Basis::Traced && !step.traced_each_ns.is_empty() {
            let traced = around(&step.traced_each_ns);
            figure.low_ns = figure.low_ns.min(traced.low_ns);
            figure.high_ns = figure.high_ns.max(traced.high_ns);
        }
        figure
    }

    /// The ledger's lines per step without a profiler. `coarse`: as coarse as samples tell them apart.
    pub(super) fn lines(&self, coarse: bool) -> BTreeMap<String, Figure> {
        let spread =
            |id: &str| self.names.as_ref().and_then(|names| names.spread.get(id)).copied().unwrap_or(0.0);
        let figure = |line: &crate::verdict::Line| {
            let of = line.unprofiled;
            let by_step = (of.ns as f64 * spread(line.id)) as i64;
            Figure {
                ns: of.ns,
                low_ns: of.low_ns.min(of.ns - by_step).max(0),
                high_ns: of.high_ns.max(of.ns + by_step),
                calls: None,
            }
        };
        let mut lines: BTreeMap<String, Figure> = BTreeMap::new();
        for line in &self.verdict.ledger {
            let id = if coarse && self.has_trace() { as_sampled(line.id, line.kind) } else { line.id };
            let add = figure(line);
            lines
                .entry(id.to_owned())
                .and_modify(|sum| {
                    sum.ns += add.ns;
                    sum.low_ns += add.low_ns;
                    sum.high_ns += add.high_ns;
                })
                .or_insert(add);
        }
        lines
    }
}

/// The line on which samples show what a trace shows on `id`: kernels and collectives are one, and so are launches and
/// pauses.
fn as_sampled(id: &'static str, kind: LineKind) -> &'static str {
    match id {
        _ if kind == LineKind::Working || id.starts_with("comm.") || id == "gpu.wait" => "working.resident",
        "host.launch" => "rest.host",
        _ if kind == LineKind::Rest => "rest.host",
        _ => id,
    }
}

/// Figures by name; names that differ from run to run alone are one.
fn by_name(trace: &Trace, rows: &[NameTotal]) -> BTreeMap<String, Figure> {
    let mut sums: BTreeMap<String, (u64, Vec<i64>)> = BTreeMap::new();
    for row in rows {
        let (calls, each) =
            sums.entry(lasting(trace.names.get(row.name))).or_insert_with(|| (0, vec![0; row.each_ns.len()]));
        *calls += row.calls;
        each.iter_mut().zip(&row.each_ns).for_each(|(sum, ns)| *sum += ns);
    }
    let figure = |(calls, each): (u64, Vec<i64>)| Figure {
        calls: Some(calls as f64 / each.len().max(1) as f64),
        ..around(&each)
    };
    sums.into_iter().map(|(name, sum)| (name, figure(sum))).collect()
}

/// What marks of steps begin with.
const STEP: &str = "ProfilerStep#";
/// Digits that make a hexadecimal number an address.
const ADDRESS: usize = 6;

/// A name without what is another in every run: numbers of steps, addresses of objects.
fn lasting(name: &str) -> String {
    if name.starts_with(STEP) {
        return STEP.trim_end_matches('#').to_owned();
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, after)) = rest.split_once("0x") {
        let digits = after.bytes().take_while(u8::is_ascii_hexdigit).count();
        out.push_str(before);
        out.push_str("0x");
        out.push_str(if digits >= ADDRESS { "…" } else { &after[..digits] });
        rest = &after[digits..];
    }
    out + rest
}

/// The mean of steps with the shortest and the longest.
fn around(each: &[i64]) -> Figure {
    let count = i64::try_from(each.len()).unwrap_or(1).max(1);
    Figure {
        ns: each.iter().sum::<i64>() / count,
        low_ns: each.iter().copied().min().unwrap_or(0),
        high_ns: each.iter().copied().max().unwrap_or(0),
        calls: None,
    }
}

#[cfg(test)]
mod tests {
    use super::lasting;

    #[test]
    fn what_is_another_in_every_run_is_left_out() {
        for (name, lasts) in [
            ("ProfilerStep#12", "ProfilerStep"),
            ("<method of object at 0x7fb72cd3c7e0>", "<method of object at 0x…>"),
            ("kernel_0x10_v2", "kernel_0x10_v2"),
            ("aten::mm", "aten::mm"),
        ] {
            assert_eq!(lasting(name), lasts);
        }
    }
}
