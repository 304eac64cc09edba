//! What a measured step says: how the plan was calibrated, what saves memory in it and what undoing that would
//! return, and which batch fits.

use whyidle_diagnosis::{Basis, Returned};
use whyidle_planner::Range;

use super::described::Writer;
use super::{CalibratedPlan, Paced, PlanReport, words};
use crate::page::Block;

/// Blocks after the answer.
pub(super) fn blocks(plan: &PlanReport, measured: &CalibratedPlan, w: &Writer<'_>) -> Vec<Block> {
    let mut page: Vec<Block> = Vec::new();
    let known = measured.calibration.measured.peak.is_some();
    if !(measured.same && known) {
        let range = &measured.allocated;
        let key = match (known, range.low < range.high) {
            (true, true) => "plan-calibrated-peak",
            (true, false) => "plan-peak-as-measured",
            (false, _) => "plan-predicted-peak",
        };
        page.push(Block::Note(w.say(key, &[("bytes", w.bytes(range.best)), ("range", w.byte_range(range))])));
    }
    if measured.same {
        page.extend(given_back(plan, measured, w));
    }
    page.push(Block::Title(w.say("plan-calibrated-title", &[("path", measured.path.clone())])));
    page.extend(notes(measured, w).into_iter().map(Block::Note));
    page
}

/// Savers with what undoing them costs and returns, and the largest batch.
fn given_back(plan: &PlanReport, measured: &CalibratedPlan, w: &Writer<'_>) -> Vec<Block> {
    let mut page = vec![Block::Title(w.catalog.word("plan-back-title"))];
    if measured.returned.is_empty() {
        page.push(Block::Note(w.catalog.word("plan-back-none")));
    } else {
        let step = (measured.calibration.measured.step * 1e9).round() as i64;
        page.push(Block::Table(measured.returned.iter().map(|each| row(each, step, plan, w)).collect()));
    }
    let share = w.share(plan.free);
    page.push(Block::Note(match &measured.larger {
        Some(larger) => w.say(
            "plan-larger",
            &[
                ("used", w.bytes(plan.memory.allocated)),
                ("capacity", w.bytes(plan.gpu.memory)),
                ("from", measured.calibration.observed.setup.batch.to_string()),
                ("to", larger.setup.batch.to_string()),
                ("bytes", w.bytes(larger.memory.allocated)),
                ("range", w.byte_range(&larger.allocated)),
                ("free", share),
            ],
        ),
        None => w.say("plan-larger-none", &[("free", share)]),
    }));
    page
}

fn row(each: &Returned, step_ns: i64, plan: &PlanReport, w: &Writer<'_>) -> Vec<String> {
    let time = |ns: i64| w.time(ns as f64 / 1e9);
    let saver = &each.saver;
    let without = words::strategy(w.catalog, &saver.setup, plan.schedule);
    // Less than a hundredth of the step is nothing that a person would notice.
    let gain = each.gain.filter(|_| each.saved_ns(step_ns) * 100 >= step_ns);
    let step = gain.map_or_else(|| "–".to_owned(), |_| format!("−{}", time(each.saved_ns(step_ns))));
    let mut remark = match gain {
        Some((after, method)) => w.say(
            "plan-back-step",
            &[
                ("strategy", without),
                ("step", time(after.ns)),
                ("range", w.time_range(after.low_ns, after.high_ns)),
                ("method", w.catalog.word(words::method(method.id()))),
            ],
        ),
        None if each.gain.is_some() => w.say("plan-back-nothing", &[("strategy", without)]),
        None => w.say("plan-back-unknown", &[("strategy", without)]),
    };
    if saver.missing > 0.0 {
        remark = w.say("plan-back-missing", &[("missing", w.bytes(saver.missing)), ("remark", remark)]);
    }
    vec![w.catalog.word(words::saver(saver.id.id())), w.more(saver.costs), step, remark]
}

/// What was calibrated, and how.
fn notes(measured: &CalibratedPlan, w: &Writer<'_>) -> Vec<String> {
    let found = &measured.calibration;
    let observed = &found.observed;
    let parameters = w.count(observed.setup.model.parameters());
    let network = match (measured.traced, observed.counted) {
        (true, true) => "plan-calibrated-network-counted",
        (true, false) => "plan-calibrated-network",
        (false, _) => "plan-calibrated-described",
    };
    let mut notes = vec![w.say(network, &[("parameters", parameters)])];
    notes.push(match found.measured.peak {
        Some(peak) => w.say(
            if found.first_steps { "plan-calibrated-memory-first" } else { "plan-calibrated-memory" },
            &[
                ("peak", w.bytes(peak)),
                ("predicted", w.bytes(peak - found.difference)),
                ("difference", w.bytes(found.difference.abs())),
            ],
        ),
        None => w.catalog.word("plan-calibrated-no-peak"),
    });
    if found.contradicts() {
        let key = if found.difference > 0.0 { "plan-calibrated-above" } else { "plan-calibrated-below" };
        notes.push(w.say(key, &[("share", w.share((found.ratio - 1.0).abs()))]));
    }
    let step = found.measured.step;
    let basis = match measured.basis {
        Basis::Given | Basis::Measured => "plan-calibrated-step",
        Basis::Estimated => "plan-calibrated-step-estimated",
        Basis::Traced => "plan-calibrated-step-traced",
    };
    let mut line = w.say(basis, &[("step", w.time(step))]);
    if measured.traced {
        line = w.say(
            "plan-calibrated-work",
            &[
                ("line", line),
                ("working", w.time(found.measured.working)),
                ("optimizer", w.time(found.measured.optimizer)),
                ("efficiency", w.share(found.efficiency())),
            ],
        );
        if let Some(host) = found.measured.host {
            line = w.say("plan-calibrated-host", &[("line", line), ("host", w.time(host))]);
        }
    } else {
        line =
            w.say("plan-calibrated-all-work", &[("line", line), ("efficiency", w.share(found.efficiency()))]);
    }
    notes.push(line);
    for unknown in &observed.unknown {
        let what = w.catalog.word(words::unknown(unknown.id));
        let key = if unknown.by_peak { "plan-unknown-by-peak" } else { "plan-unknown-assumed" };
        notes.push(w.say(key, &[("what", what)]));
    }
    if found.gpu.name != found.target.name {
        let names = [("from", found.gpu.name.clone()), ("to", found.target.name.clone())];
        notes.push(w.say("plan-calibrated-moved", &names));
    }
    match measured.step {
        Paced::Measured(_) => {}
        Paced::Stated => notes.push(w.catalog.word("plan-calibrated-stated")),
        Paced::Unlike => notes.push(w.catalog.word("plan-calibrated-no-step")),
    }
    notes
}

/// Of a search that starts from a measured step: what of it every strategy is judged by.
pub(super) fn search_note(plan: &PlanReport, w: &Writer<'_>) -> Option<String> {
    let measured = plan.calibrated.as_ref()?;
    Some(match measured.step {
        Paced::Measured(_) => w.say("plan-calibrated-rate", &[("efficiency", w.share(plan.efficiency))]),
        Paced::Stated | Paced::Unlike => w.catalog.word("plan-calibrated-memory-only"),
    })
}

/// Of a plan's step: that its rate was measured, and its range.
pub(super) fn step_note(plan: &PlanReport, range: &Range, w: &Writer<'_>) -> String {
    let same = plan.calibrated.as_ref().is_some_and(|measured| measured.same);
    if same {
        return w.catalog.word("plan-step-as-measured");
    }
    w.say(
        "plan-step-calibrated",
        &[
            ("range", w.time_range((range.low * 1e9) as i64, (range.high * 1e9) as i64)),
            ("share", w.share(plan.efficiency)),
        ],
    )
}
