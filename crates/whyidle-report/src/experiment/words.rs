//! The sentences: what a step takes, which of two programs is faster, whether they learn alike, and what to doubt.

use whyidle_diagnosis::{Arg, Message};
use whyidle_experiment::comparison::{Comparison, Per};
use whyidle_experiment::result::{Basis, Ended, Others, Run};
use whyidle_experiment::stats::losses::Losses;
use whyidle_experiment::stats::paired::{Answer, Effect, LEAST_PAIRS};

use super::tries;
use crate::quantity;

/// A rate or the like, with three digits that mean something.
pub(super) fn figure(value: f64) -> Arg {
    Arg::Name(quantity::plain(value))
}

/// How many times as fast or as slow.
pub(super) fn times(ratio: f64) -> Arg {
    Arg::Name(quantity::ratio(ratio))
}

/// A loss, with digits that tell two of them apart.
pub(super) fn loss(value: f64) -> Arg {
    Arg::Number(value, if value.abs() < 10.0 { 4 } else { 2 })
}

/// `2026-11-30 09:12`, UTC.
#[must_use]
pub fn moment(ns: i64) -> String {
    let minutes = ns.div_euclid(60_000_000_000);
    let (days, minute) = (minutes.div_euclid(1_440), minutes.rem_euclid(1_440));
    // Days to a date of the Gregorian calendar, in eras of 400 years that begin on a 1 March.
    let shifted = days + 719_468;
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year + next;
    format!("{year:04}-{month:02}-{of_month:02} {:02}:{:02}", minute / 60, minute % 60)
}

/// How steps were told.
pub(super) fn basis(basis: Basis, every: u32) -> Message {
    match basis {
        Basis::Hook => Message::new("bench-basis-hook"),
        Basis::PrintedSteps => Message::new("bench-basis-printed-steps").count("count", every),
        Basis::PrintedTimes => Message::new("bench-basis-printed-times"),
        Basis::Batches => Message::new("bench-basis-batches"),
        Basis::Recorded => Message::new("bench-basis-recorded"),
        Basis::Whole => Message::new("bench-basis-whole"),
    }
}

/// The answer of a run.
pub(crate) fn answer(run: &Run) -> Vec<Message> {
    let Some(steady) = &run.steady else {
        return vec![match run.basis {
            Some(Basis::Whole) => Message::new("bench-whole").time("time", run.wall_ns),
            _ => unmeasured(run),
        }];
    };
    let step = Message::new(match steady.interval_ns {
        Some(_) => "bench-step",
        None => "bench-step-bare",
    });
    let mut step =
        step.time("step", steady.mean_ns).count("count", steady.count * run.steps_per_figure.max(1) as usize);
    if let Some((low, high)) = steady.interval_ns {
        step = step.time("low", low).time("high", high);
    }
    let mut said = vec![step];
    match (run.samples_per_s(), run.tokens_per_s()) {
        (Some(samples), Some(tokens)) => {
            said.push(
                Message::new("bench-rates").with("samples", figure(samples)).with("tokens", figure(tokens)),
            );
        }
        (Some(samples), None) => said.push(Message::new("bench-samples").with("samples", figure(samples))),
        (None, Some(tokens)) => said.push(Message::new("bench-tokens").with("tokens", figure(tokens))),
        (None, None) => {}
    }
    said
}

/// Why a run gave no step time.
fn unmeasured(run: &Run) -> Message {
    match run.ended {
        Ended::Failed | Ended::OutOfMemory => run_failed(run),
        _ if run.basis.is_some() => Message::new("bench-few-steps").time("time", run.wall_ns),
        _ => Message::new("bench-no-steps").time("time", run.wall_ns),
    }
}

/// How a run failed.
#[must_use]
pub fn run_failed(run: &Run) -> Message {
    match (run.ended, run.status) {
        (Ended::OutOfMemory, _) => Message::new("bench-out-of-memory"),
        (_, Some(status)) => Message::new("bench-failed").count("status", status),
        (_, None) => Message::new("bench-failed-unknown"),
    }
}

/// What was left out of a run, and how it was told.
pub(super) fn notes(run: &Run) -> Vec<Message> {
    let mut said: Vec<Message> =
        run.basis.map(|known| basis(known, run.steps_per_figure)).into_iter().collect();
    said.extend(tries::made(&run.tries, &run.tried));
    let Some(steady) = &run.steady else { return said };
    if steady.warmup_steps > 0 {
        said.push(
            Message::new("bench-warm-up").count("count", steady.warmup_steps).time("time", steady.warmup_ns),
        );
    } else if run.basis != Some(Basis::Batches) {
        said.push(Message::new("bench-no-warm-up"));
    }
    if steady.stalls > 0 {
        said.push(Message::new("bench-stalls").count("count", steady.stalls).time("time", steady.stalls_ns));
    }
    if let Some(every) = steady.rhythm {
        said.push(Message::new("bench-rhythm").count("every", every));
    }
    said
}

/// What to doubt of a run.
pub(super) fn doubts(run: &Run) -> Vec<Message> {
    let mut said = Vec::new();
    if run.steady.as_ref().is_some_and(|steady| !steady.settled) {
        said.push(Message::new("bench-unsettled"));
    }
    match run.ended {
        Ended::Interrupted => said.push(Message::new("bench-interrupted")),
        Ended::Time => said.push(Message::new("bench-time-over")),
        Ended::Failed | Ended::OutOfMemory if run.steady.is_some() => said.push(run_failed(run)),
        _ => {}
    }
    said.extend(disturbed(&run.others));
    said.extend(tries::not_made(&run.tries, &run.tried));
    if run.hook_errors > 0 {
        said.push(
            Message::new("bench-hook-errors")
                .count("count", i64::try_from(run.hook_errors).unwrap_or(i64::MAX)),
        );
    }
    said
}

/// Who disturbed.
pub(super) fn disturbed(others: &Others) -> Vec<Message> {
    let mut said = Vec::new();
    if !others.on_gpu.is_empty() {
        let process = |(gpu, pid): &(u32, u32)| {
            let one = Message::new("bench-on-gpu").name("pid", pid.to_string()).name("gpu", gpu.to_string());
            Arg::Message(Box::new(one))
        };
        said.push(
            Message::new("bench-gpu-shared")
                .with("list", Arg::List(others.on_gpu.iter().map(process).collect())),
        );
    }
    let cores = Arg::Number(others.cores, 1);
    if others.disturb() && !others.names.is_empty() {
        let names = others.names.iter().map(|(name, _)| Arg::Name(name.clone())).collect();
        said.push(Message::new("bench-neighbours").with("cores", cores).with("names", Arg::List(names)));
    } else if others.disturb() && others.on_gpu.is_empty() {
        said.push(Message::new("bench-neighbours-unnamed").with("cores", cores));
    }
    said
}

/// A share with its direction: `12 % less`.
pub(super) fn change(share: f64) -> Message {
    match share {
        less if less < 0.0 => Message::new("compare-less").share("share", -less),
        more => Message::new("compare-more").share("share", more),
    }
}

pub(super) fn per(per: Per) -> Message {
    match per {
        Per::Step => Message::new("compare-per-step"),
        Per::Sample => Message::new("compare-per-sample"),
        Per::Whole => Message::new("compare-per-whole"),
    }
}

/// The answer of a comparison.
pub(crate) fn compared(comparison: &Comparison) -> Vec<Message> {
    let mut said = vec![match &comparison.effect {
        _ if comparison.mixed => Message::new("compare-mixed"),
        _ if comparison.apart => return apart(comparison),
        None => {
            Message::new("compare-too-few").count("count", comparison.pairs.len()).count("least", LEAST_PAIRS)
        }
        Some(effect) if comparison.self_test => self_test(effect),
        Some(effect) => speed(comparison, effect),
    }];
    if !comparison.self_test && comparison.effect.is_some() {
        said.push(learning(comparison));
    }
    said
}

/// Two single runs.
fn apart(comparison: &Comparison) -> Vec<Message> {
    let Some(pair) = comparison.pairs.first() else { return vec![Message::new("compare-nothing")] };
    let took = Message::new("compare-apart")
        .message("change", change(pair.b_ns / pair.a_ns - 1.0))
        .message("per", per(comparison.per));
    vec![took, Message::new("compare-apart-unknown"), learning(comparison)]
}

fn speed(comparison: &Comparison, effect: &Effect) -> Message {
    let with = |id| {
        Message::new(id)
            .message("per", per(comparison.per))
            .message("from", change(effect.low))
            .message("to", change(effect.high))
    };
    let is_small = effect.low > 0.0 || effect.high < 0.0;
    match effect.answer {
        Answer::Faster => with("compare-faster").share("share", -effect.effect),
        Answer::Slower => with("compare-slower").share("share", effect.effect),
        Answer::Alike => with("compare-alike").share("counts", comparison.counts),
        Answer::Unclear if is_small => with("compare-small").share("counts", comparison.counts),
        Answer::Unclear => with("compare-unclear"),
    }
}

fn self_test(effect: &Effect) -> Message {
    match effect.answer {
        Answer::Faster | Answer::Slower => Message::new("compare-self-fails")
            .message("change", change(effect.effect))
            .message("from", change(effect.low))
            .message("to", change(effect.high)),
        Answer::Alike | Answer::Unclear => Message::new("compare-self-passes")
            .count("count", effect.pairs)
            .share("share", (effect.high - effect.low) / 2.0),
    }
}

/// Where in the training a loss is.
pub(super) fn place_of_loss(per: Per, at: f64) -> Message {
    let unit = if per == Per::Sample { "compare-at-sample" } else { "compare-at-step" };
    Message::new(unit).count("count", at as i64)
}

/// What differs between two places: `torch 2.10 → 2.11`.
pub(super) fn differences(differences: &[(String, String, String)]) -> Arg {
    let one = |(name, a, b): &(String, String, String)| {
        let dash = |text: &String| if text.is_empty() { "–".to_owned() } else { text.clone() };
        Arg::Name(format!("{name} {} → {}", dash(a), dash(b)))
    };
    Arg::List(differences.iter().map(one).collect())
}

fn learning(comparison: &Comparison) -> Message {
    let place = |id, at: &f64| Message::new(id).message("place", place_of_loss(comparison.per, *at));
    match &comparison.losses {
        Losses::Alike(found) => Message::new("compare-losses-alike")
            .share("distance", found.distance)
            .share("allowed", found.allowed),
        Losses::Differ(found) => Message::new("compare-losses-differ")
            .share("distance", found.distance)
            .share("allowed", found.allowed)
            .with("a", loss(found.last_a))
            .with("b", loss(found.last_b)),
        Losses::NotANumber { at } => place("compare-losses-nan", at),
        Losses::OwnNotANumber { at } => place("compare-losses-own-nan", at),
        Losses::Unknown => Message::new("compare-losses-unknown"),
    }
}

/// What is to be known of a comparison.
pub(super) fn comparison_notes(comparison: &Comparison) -> Vec<Message> {
    if comparison.apart {
        return if comparison.differences.is_empty() {
            Vec::new()
        } else {
            vec![Message::new("compare-differences").with("list", differences(&comparison.differences))]
        };
    }
    let mut said = vec![
        Message::new("compare-how")
            .count("count", comparison.pairs.len())
            .count("most", comparison.most_pairs),
    ];
    said.extend(tries::made(&comparison.b.tries, &comparison.b.tried));
    said.extend(overhead(comparison));
    let stalls = comparison.a.stalls + comparison.b.stalls;
    if stalls > 0 {
        let id = if comparison.stalls_set_aside { "compare-stalls" } else { "compare-stalls-kept" };
        said.push(Message::new(id).count("a", comparison.a.stalls).count("b", comparison.b.stalls));
    }
    said
}

/// What B takes longer to get going than A where that is worth a word: a second, and what a hundred steps save.
fn overhead(comparison: &Comparison) -> Option<Message> {
    let longer = comparison.b.overhead_ns? - comparison.a.overhead_ns?;
    let saved = comparison.a.step_ns? - comparison.b.step_ns?;
    if longer < 1_000_000_000 || longer < saved.saturating_mul(100) {
        return None;
    }
    let is_faster = comparison.effect.is_some_and(|effect| effect.answer == Answer::Faster);
    Some(if is_faster && saved > 0 {
        let steps = (longer + saved - 1) / saved;
        Message::new("compare-overhead-paid").time("time", longer).count("steps", steps)
    } else {
        Message::new("compare-overhead").time("time", longer)
    })
}

/// What to doubt of a comparison.
pub(super) fn comparison_doubts(comparison: &Comparison) -> Vec<Message> {
    let mut said = Vec::new();
    let unsettled = comparison.a.unsettled + comparison.b.unsettled;
    if unsettled > 0 {
        said.push(Message::new("compare-unsettled").count("count", unsettled));
    }
    if comparison.ended == Some(whyidle_experiment::comparison::Finish::Interrupted) {
        said.push(Message::new("compare-interrupted"));
    }
    said.extend(disturbed(&comparison.others));
    said.extend(tries::not_made(&comparison.b.tries, &comparison.b.tried));
    said
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn moments_are_dates_and_times() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00"),
            (951_782_400, "2000-02-29 00:00"),
            (1_795_971_809, "2026-11-29 17:03"),
            (4_107_542_399, "2100-02-28 23:59"),
            (-1, "1969-12-31 23:59"),
        ] {
            assert_eq!(moment(seconds * 1_000_000_000), expected);
        }
    }
}
