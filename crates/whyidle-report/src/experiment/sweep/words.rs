//! The sentences of a sweep: which value pays, what a ladder brought, and what to doubt.

use whyidle_diagnosis::{Arg, Message};
use whyidle_experiment::comparison::{Finish, Per};
use whyidle_experiment::stats::losses::Losses;
use whyidle_experiment::sweep::kinds::{Kind, begins_at_none};
use whyidle_experiment::sweep::knee::{Ratio, Reach, Shape};
use whyidle_experiment::sweep::{Fate, Found, Rung, Sweep, Total, Tried, vary};

use super::super::words::{disturbed, figure, per, times};

/// From this ratio on it is said as a ratio, below as a share.
const TIMES: f64 = 2.0;

/// A value, or that the command is as it is.
pub(crate) fn value_name(tried: &Tried) -> Message {
    match &tried.value {
        Some(value) => Message::new("sweep-value").name("value", value),
        None => Message::new("sweep-as-it-is"),
    }
}

/// A value within a sentence.
fn in_sentence(tried: &Tried) -> Message {
    if tried.value.is_some() { value_name(tried) } else { Message::new("sweep-the-command") }
}

/// What became of a value that has no time.
pub(crate) fn fate(tried: &Tried) -> Option<Message> {
    Some(match (tried.fate, tried.status) {
        (Fate::Measured, _) if tried.ns.is_some() => return None,
        (Fate::OutOfMemory, _) => Message::new("sweep-fate-memory"),
        (Fate::Failed, Some(status)) => Message::new("sweep-fate-failed").count("status", status),
        (Fate::Failed, None) => Message::new("bench-failed-unknown"),
        (Fate::NoSteps | Fate::Measured, _) => Message::new("sweep-fate-no-steps"),
        (Fate::OtherBasis, _) => Message::new("sweep-fate-other-basis"),
        (Fate::NotRun, _) => Message::new("sweep-fate-not-run"),
    })
}

/// The answer.
pub(crate) fn answer(sweep: &Sweep) -> Vec<Message> {
    // It was cut off before its first run.
    if sweep.rungs.is_empty() {
        return vec![Message::new("sweep-empty")];
    }
    if sweep.is_ladder {
        return ladder(sweep);
    }
    sweep.rungs.iter().flat_map(|rung| one(rung, sweep)).collect()
}

fn at(rung: &Rung, position: usize) -> Option<&Tried> {
    rung.values.get(position)
}

fn name_at(rung: &Rung, position: usize) -> Message {
    at(rung, position).map_or_else(|| Message::new("sweep-the-command"), in_sentence)
}

/// A message with `times`, and with the interval where there is one.
fn with_ratio(bare: Message, within: Message, ratio: &Ratio) -> Message {
    match ratio.interval {
        Some((low, high)) => {
            within.with("times", times(ratio.ratio)).with("low", times(low)).with("high", times(high))
        }
        None => bare.with("times", times(ratio.ratio)),
    }
}

/// The answer of one setting.
fn one(rung: &Rung, sweep: &Sweep) -> Vec<Message> {
    let Some(found) = &rung.found else {
        return vec![Message::new("sweep-none").name("name", &rung.name)];
    };
    let with = |message: Message| {
        message
            .name("name", &rung.name)
            .message("value", name_at(rung, found.knee))
            .message("figure", took(rung, at(rung, found.knee).and_then(|tried| tried.ns).unwrap_or(0)))
    };
    let measured = rung.values.iter().filter(|tried| tried.may_be_chosen()).count();
    if measured == 1 {
        return vec![with(Message::new("sweep-only"))];
    }
    match found.shape {
        Shape::Flat => flat(rung, found, sweep),
        Shape::Smallest => {
            let slowest = rung.values.iter().filter(|tried| tried.reach == Some(Reach::Beyond));
            let slowest = slowest.max_by(|a, b| ratio(a).total_cmp(&ratio(b)));
            let mut said = vec![with(Message::new("sweep-smallest"))];
            said.extend(slowest.map(|tried| {
                let message = if ratio(tried) < TIMES {
                    Message::new("sweep-slower").share("share", ratio(tried) - 1.0)
                } else {
                    Message::new("sweep-slower-times").with("times", times(ratio(tried)))
                };
                message.message("value", in_sentence(tried)).message("per", per(rung.per))
            }));
            said
        }
        Shape::Knee => {
            let faster = |message: Message| with(message).message("first", name_at(rung, found.reference));
            let mut said = vec![if found.speedup.ratio >= 1.0 {
                with_ratio(
                    faster(Message::new("sweep-knee-bare")),
                    faster(Message::new("sweep-knee")),
                    &found.speedup,
                )
            } else {
                with(Message::new("sweep-knee-only"))
            }];
            said.extend(beyond_the_knee(rung, found));
            said
        }
    }
}

/// Time, or samples per second.
fn took(rung: &Rung, ns: i64) -> Message {
    match rung.per {
        Per::Sample => Message::new("compare-rate").with("samples", figure(1e9 / ns.max(1) as f64)),
        Per::Step | Per::Whole => Message::new("sweep-took").time("time", ns).message("per", per(rung.per)),
    }
}

fn ratio(tried: &Tried) -> f64 {
    tried.to_best.map_or(1.0, |ratio| ratio.ratio)
}

/// It does not matter; or nothing is shown, where a difference that matters would have been hidden.
fn flat(rung: &Rung, found: &Found, sweep: &Sweep) -> Vec<Message> {
    let answer = if found.is_told(sweep.counts) {
        Message::new("sweep-flat")
    } else {
        Message::new("sweep-flat-untold")
    };
    let mut said = vec![answer.name("name", &rung.name)];
    said.extend(found.within.map(|within| {
        if within <= sweep.counts {
            Message::new("sweep-flat-within").share("share", within.max(0.001))
        } else {
            Message::new("sweep-flat-hidden").share("share", within)
        }
    }));
    said
}

/// What lies beyond the knee.
fn beyond_the_knee(rung: &Rung, found: &Found) -> Option<Message> {
    let after = || rung.values.iter().skip(found.knee + 1);
    let may = || after().filter(|tried| tried.may_be_chosen() && tried.ns.is_some());
    let all_slower = may().all(|tried| tried.reach == Some(Reach::Beyond));
    Some(match after().next() {
        None => Message::new("sweep-largest"),
        Some(next) if may().next().is_none() && next.fate == Fate::OutOfMemory => {
            Message::new("sweep-next-memory").message("value", in_sentence(next))
        }
        _ if may().next().is_none() => return None,
        // That is what more rounds would tell.
        _ if !found.is_sure => return None,
        _ if all_slower => Message::new("sweep-more-slower"),
        _ => Message::new("sweep-more-same"),
    })
}

/// The answer of a ladder.
fn ladder(sweep: &Sweep) -> Vec<Message> {
    let kept = sweep.rungs.iter().filter(|rung| rung.kept.is_some() && rung.kept != rung.before);
    let setting = |rung: &Rung| {
        let value = name_at(rung, rung.kept.unwrap_or(0));
        Arg::Message(Box::new(Message::new("sweep-setting").name("name", &rung.name).message("value", value)))
    };
    let list: Vec<Arg> = kept.map(setting).collect();
    match &sweep.total {
        Some(total) => {
            let mut said = vec![total_of(total).with("list", Arg::List(list))];
            said.extend(total_losses(total));
            said
        }
        None if !list.is_empty() => vec![Message::new("sweep-kept-unmeasured").with("list", Arg::List(list))],
        None if sweep.has_result() => vec![Message::new("sweep-ladder-flat")],
        None => vec![Message::new("sweep-ladder-none")],
    }
}

fn total_of(total: &Total) -> Message {
    let with = |message: Message| {
        message.time("before", total.before_ns).time("after", total.after_ns).message("per", per(total.per))
    };
    with_ratio(with(Message::new("sweep-total-bare")), with(Message::new("sweep-total")), &total.speedup)
}

fn total_losses(total: &Total) -> Option<Message> {
    total.losses.forbids().then(|| Message::new("sweep-total-losses"))
}

/// What became of one rung of a ladder, where effects from `counts` on count.
pub(super) fn rung(rung: &Rung, counts: f64) -> Vec<Message> {
    let Some(found) = rung.found else {
        return vec![Message::new("sweep-none").name("name", &rung.name)];
    };
    let Some((before, kept)) = rung.before.zip(rung.kept) else { return Vec::new() };
    if kept == before {
        let said = match found.shape {
            Shape::Flat if found.is_told(counts) => Message::new("sweep-rung-flat"),
            Shape::Flat => Message::new("sweep-rung-untold"),
            _ => Message::new("sweep-rung-back"),
        };
        return vec![said.message("value", name_at(rung, before))];
    }
    let with = |message: Message| {
        message.message("before", name_at(rung, before)).message("value", name_at(rung, kept))
    };
    if found.reference != before {
        return vec![with(Message::new("sweep-rung-only"))];
    }
    vec![with_ratio(
        with(Message::new("sweep-rung-kept-bare")),
        with(Message::new("sweep-rung-kept")),
        &found.speedup,
    )]
}

/// How a setting was measured.
pub(super) fn rounds(rung: &Rung) -> Message {
    let runs: usize = rung.values.iter().map(|tried| tried.runs).sum();
    let with = |message: Message| message.count("runs", runs).count("rounds", rung.rounds);
    match rung.noise {
        Some(noise) => with(Message::new("sweep-rounds-noise")).share("noise", noise),
        None => with(Message::new("sweep-rounds")),
    }
}

/// What is to be known.
pub(super) fn notes(sweep: &Sweep) -> Vec<Message> {
    let mut said = Vec::new();
    for rung in &sweep.rungs {
        if !sweep.is_ladder && rung.found.is_some() {
            said.push(rounds(rung));
        }
        let chosen = rung.found.and_then(|found| vary::number(at(rung, found.knee)?.value.as_ref()?));
        let is_knee = rung.found.is_some_and(|found| found.shape == Shape::Knee);
        if let (Some(chosen), Some(cores), true) = (chosen, sweep.cores, is_knee)
            && rung.kind == Kind::Data
            && begins_at_none(&rung.name)
            && chosen > cores as f64
        {
            said.push(Message::new("sweep-more-than-cores").count("cores", cores));
        }
        if rung.assumed_samples {
            said.push(Message::new("sweep-assumed-samples").name("name", &rung.name));
        }
    }
    let learned = || {
        sweep.rungs.iter().flat_map(|rung| {
            let reference = rung.found.map(|found| found.reference);
            let others = rung.values.iter().enumerate().filter(move |(at, _)| Some(*at) != reference);
            others.map(|(_, tried)| tried).filter(|tried| tried.ns.is_some())
        })
    };
    if learned().next().is_some() {
        let is = |of: fn(&Losses) -> bool| learned().all(|tried| of(&tried.losses));
        if is(|losses| matches!(losses, Losses::Alike(_))) {
            said.push(Message::new("sweep-losses-alike"));
        } else if learned().any(|tried| tried.losses == Losses::Unknown) {
            said.push(Message::new("sweep-losses-unknown"));
        }
    }
    said
}

/// What to doubt.
pub(super) fn doubts(sweep: &Sweep) -> Vec<Message> {
    let mut said = Vec::new();
    for rung in &sweep.rungs {
        said.extend(unsure(rung));
        let first = rung.found.map_or(0, |found| found.reference);
        said.extend(rung.values.iter().filter_map(|tried| learns_otherwise(rung, tried, first)));
        if rung.values.iter().any(|tried| matches!(tried.losses, Losses::OwnNotANumber { .. })) {
            let own = Message::new("sweep-losses-own").name("name", &rung.name);
            said.push(own.message("value", name_at(rung, first)));
        }
        let failed = rung.values.iter().filter(|tried| tried.fate == Fate::Failed);
        if let Some(tried) = failed.filter(|_| rung.found.is_some()).find(|tried| tried.log.is_some()) {
            said.push(
                Message::new("sweep-failed")
                    .name("name", &rung.name)
                    .message("value", in_sentence(tried))
                    .name("path", tried.log.clone().unwrap_or_default()),
            );
        }
    }
    let unsettled: usize =
        sweep.rungs.iter().flat_map(|rung| &rung.values).map(|tried| tried.unsettled).sum();
    if unsettled > 0 {
        said.push(Message::new("compare-unsettled").count("count", unsettled));
    }
    match sweep.ended {
        Some(Finish::Interrupted) => said.push(Message::new("sweep-interrupted")),
        None => said.push(Message::new("sweep-cut-off")),
        Some(Finish::Done | Finish::Failed) => {}
    }
    said.extend(disturbed(&sweep.others));
    said
}

/// The knee is not sure.
fn unsure(rung: &Rung) -> Option<Message> {
    let found = rung.found.filter(|found| !found.is_sure)?;
    if rung.rounds < 2 {
        return Some(Message::new("sweep-one-round").name("name", &rung.name));
    }
    let rivals = rung.values.iter().skip(found.knee + 1);
    let rivals: Vec<Arg> = rivals
        .filter(|tried| ratio(tried) < at(rung, found.knee).map_or(1.0, ratio) && tried.reach.is_some())
        .map(|tried| Arg::Message(Box::new(value_name(tried))))
        .collect();
    if found.shape == Shape::Flat || rivals.is_empty() {
        return Some(Message::new("sweep-unsure-flat").name("name", &rung.name));
    }
    Some(Message::new("sweep-unsure").name("name", &rung.name).with("list", Arg::List(rivals)))
}

fn learns_otherwise(rung: &Rung, tried: &Tried, first: usize) -> Option<Message> {
    let with = |message: Message| {
        message
            .name("name", &rung.name)
            .message("value", in_sentence(tried))
            .message("first", name_at(rung, first))
    };
    Some(match &tried.losses {
        Losses::Differ(found) => with(Message::new("sweep-losses-differ"))
            .share("distance", found.distance)
            .share("allowed", found.allowed),
        Losses::NotANumber { at } => {
            let unit = match rung.per {
                Per::Sample => Message::new("compare-at-sample"),
                Per::Step | Per::Whole => Message::new("compare-at-step"),
            };
            with(Message::new("sweep-losses-nan")).message("place", unit.count("count", *at as i64))
        }
        Losses::Alike(_) | Losses::OwnNotANumber { .. } | Losses::Unknown => return None,
    })
}
