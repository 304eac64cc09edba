//! Names of things that have a stable id: ledger lines, causes, changes, methods.

use crate::{Catalog, catalog::key_of, quantity};
use fluent_bundle::FluentValue;
use whyidle_diagnosis::{
    Basis, Change, Confidence, Estimate, Evidence, Finding, Gain, Method, Ruling, Rung, Step, Total, Verdict,
};

/// Traced steps closer to the step time than this are not mentioned beside it.
const SAME_AS_TRACED: f64 = 0.02;

impl Catalog {
    /// Name of a ledger line.
    #[must_use]
    pub fn line(&self, id: &str) -> String {
        self.first_of(&[format!("line-{}", key_of(id)), format!("cause-{}-name", key_of(id))], id)
    }

    /// How the step was found: `12 batches counted from outside`.
    #[must_use]
    pub fn steps_found(&self, step: &Step) -> String {
        let count = [("count", FluentValue::from(step.count as f64))];
        self.format(&format!("report-steps-{}", step.found_by), &count)
    }

    /// Short name of a cause, as it stands in a table or after "the next limit".
    pub(crate) fn cause(&self, id: &str) -> String {
        self.first_of(&[format!("cause-{}-name", key_of(id)), format!("line-{}", key_of(id))], id)
    }

    fn first_of(&self, keys: &[String], id: &str) -> String {
        keys.iter().find(|key| self.has(key)).map_or_else(|| id.to_owned(), |key| self.word(key))
    }

    /// `num_workers 2 → 12`, `gradient accumulation → 4`, `batch × 2`.
    pub(crate) fn change(&self, change: &Change, cause: &str) -> String {
        let setting = match (&change.from, &change.to) {
            (Some(from), Some(to)) => format!("{from} → {to}"),
            (None, Some(to)) if to.starts_with('×') => to.clone(),
            (None, Some(to)) => format!("→ {to}"),
            (Some(from), None) => from.clone(),
            (None, None) => String::new(),
        };
        let key = format!("change-{}", key_of(change.what));
        if !self.has(&key) {
            return format!("{} {setting}", change.what).trim_end().to_owned();
        }
        let cause = self.cause(cause);
        let args = [("setting", FluentValue::from(setting)), ("cause", FluentValue::from(cause))];
        self.format(&key, &args).trim().to_owned()
    }

    /// What a finding proposes: the change, or the cause where no gain is known.
    pub(crate) fn proposal(&self, finding: &Finding, ranks: usize) -> String {
        let change = match &finding.gain {
            Some(gain) => self.change(&gain.change, finding.cause),
            None => self.cause(finding.cause),
        };
        self.on_rank(change, finding, ranks)
    }

    /// What a step of the ladder proposes, and on which rank where that is known; those after the first build on the
    /// ones before them.
    pub(crate) fn rung(&self, verdict: &Verdict, rung: &Rung, is_first: bool) -> String {
        let mut change = self.change(&rung.gain.change, rung.cause);
        if !is_first {
            change = self.format("report-then", &[("what", FluentValue::from(change))]);
        }
        match verdict.findings.iter().find(|finding| finding.cause == rung.cause) {
            Some(finding) => self.on_rank(change, finding, verdict.subject.ranks),
            None => change,
        }
    }

    /// Names the rank, where there are several.
    pub(crate) fn on_rank(&self, change: String, finding: &Finding, ranks: usize) -> String {
        match finding.rank {
            Some(rank) if ranks > 1 => self.format(
                "report-on-rank",
                &[("what", FluentValue::from(change)), ("rank", FluentValue::from(rank.to_string()))],
            ),
            _ => change,
        }
    }

    /// A part of the critical path.
    pub(crate) fn path_part(&self, id: &str) -> String {
        self.word(&format!("path-{id}"))
    }

    /// `replay`, `model`, `upper limit`.
    pub(crate) fn method(&self, method: Method) -> String {
        self.word(&format!("method-{}", method.id()))
    }

    /// The predicted step; a bound is marked as such.
    pub(crate) fn step_after(&self, gain: &Gain) -> String {
        let time = self.time(gain.step_after.ns);
        if gain.method == Method::Bound { format!("≥ {time}") } else { time }
    }

    /// The share of the step that a gain saves; a bound is marked as such.
    pub(crate) fn saved(&self, gain: &Gain, step_ns: i64) -> String {
        let share = self.share_in_column(gain.saved(step_ns));
        // `<1 %` is a bound already.
        if gain.method == Method::Bound && !share.starts_with('<') { format!("≤ {share}") } else { share }
    }

    /// `replay, 55–61 ms`.
    pub(crate) fn method_and_range(&self, gain: &Gain) -> String {
        let method = self.method(gain.method);
        match self.range_if_wide(&gain.step_after) {
            Some(range) => format!("{method}{}{range}", self.word("clause-comma")),
            None => method,
        }
    }

    /// What a finding costs, where its gain is not known.
    pub(crate) fn cost(&self, finding: &Finding) -> String {
        let cost = [
            ("time", FluentValue::from(self.time(finding.cost.ns))),
            ("share", FluentValue::from(self.share_in_column(finding.share))),
        ];
        self.format(if finding.cost.ns > 0 { "report-costs" } else { "report-no-gain" }, &cost)
    }

    /// A piece of evidence, with its place where the sentence does not name it.
    pub(crate) fn evidence(&self, evidence: &Evidence) -> String {
        let text = self.message(&evidence.text);
        match &evidence.place {
            Some(place) if !text.contains(place.as_str()) => {
                let args = [("text", FluentValue::from(text)), ("place", FluentValue::from(place.as_str()))];
                self.format("report-at-place", &args)
            }
            _ => text,
        }
    }

    /// What limits the step after a gain.
    pub(crate) fn next_limit(&self, gain: &Gain) -> String {
        self.format("report-next-limit", &[("limit", FluentValue::from(self.cause(gain.next_limit)))])
    }

    /// `low: the step time is estimated.`
    pub(crate) fn confidence_and_doubts(&self, ruling: &Ruling) -> String {
        let confidence = self.confidence(ruling.confidence);
        if ruling.doubts.is_empty() {
            return confidence;
        }
        let doubts = FluentValue::from(self.sentences(&ruling.doubts));
        let args = [("confidence", FluentValue::from(confidence)), ("doubts", doubts)];
        self.format("report-confidence-because", &args)
    }

    /// Time, number, longest and kind of a total, per step.
    pub(crate) fn total(&self, total: &Total, steps: i64) -> [String; 4] {
        [
            self.time(total.total_ns / steps.max(1)),
            per_step(total.count, steps),
            self.time(total.longest_ns),
            if total.kind.is_empty() { String::new() } else { self.line(total.kind) },
        ]
    }

    /// `55–61 ms`.
    pub(crate) fn range(&self, estimate: &Estimate) -> String {
        self.time_range(estimate.low_ns, estimate.high_ns)
    }

    /// The interval, where it says more than the figure.
    pub(crate) fn range_if_wide(&self, estimate: &Estimate) -> Option<String> {
        let range = quantity::time_range(estimate.low_ns, estimate.high_ns);
        range.value.contains('–').then(|| self.quantity(&range))
    }

    /// `high`, `medium`, `low`.
    pub(crate) fn confidence(&self, confidence: Confidence) -> String {
        self.word(&format!("confidence-{}", confidence.id()))
    }

    /// Where the step time comes from, and what the trace shows where that differs.
    pub(crate) fn basis(&self, step: &Step) -> String {
        let range = self.range(&step.unprofiled);
        let basis = match self.range_if_wide(&step.unprofiled) {
            Some(_) if step.basis != Basis::Traced => self.format(
                &format!("basis-{}-range", step.basis.id()),
                &[("range", FluentValue::from(range.as_str()))],
            ),
            _ => self.word(&format!("basis-{}", step.basis.id())),
        };
        let (shortest, longest) = traced_ends(step);
        let near = |traced: i64| {
            (traced - step.unprofiled.ns).abs() as f64 <= SAME_AS_TRACED * step.unprofiled.ns as f64
        };
        let untraced = step.traced_each_ns.is_empty() && step.traced_ns == 0;
        if untraced || step.basis == Basis::Traced || (near(shortest) && near(longest)) {
            return basis;
        }
        let traced = self.time_range(shortest, longest);
        self.format(
            "report-basis-and-traced",
            &[("basis", FluentValue::from(basis)), ("traced", FluentValue::from(traced))],
        )
    }
}

/// The shortest and the longest traced step.
pub(crate) fn traced_ends(step: &Step) -> (i64, i64) {
    let each = &step.traced_each_ns;
    let shortest = each.iter().copied().min().unwrap_or(step.traced_ns);
    let longest = each.iter().copied().max().unwrap_or(step.traced_ns);
    (shortest, longest)
}

/// The median of lengths in ascending order; the mean of the middle two of an even number, 0 of none.
pub(crate) fn median(sorted: &[i64]) -> i64 {
    let middle = sorted.len() / 2;
    match sorted.get(middle) {
        None => 0,
        Some(upper) if sorted.len().is_multiple_of(2) => i64::midpoint(sorted[middle - 1], *upper),
        Some(odd) => *odd,
    }
}

/// `12`, or `0.5` where it is not the same in every step.
fn per_step(count: u64, steps: i64) -> String {
    let steps = steps.unsigned_abs().max(1);
    if count.is_multiple_of(steps) {
        quantity::count(i64::try_from(count / steps).unwrap_or(i64::MAX))
    } else {
        format!("{:.1}", count as f64 / steps as f64)
    }
}
