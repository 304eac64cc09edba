//! From the runs of one rung to what it says: what is compared, which values have a time, which learn alike, the knee.

use super::kinds::Kind;
use super::knee::{Knee, Rule, knee, noise, versus};
use super::{Fate, Found, Rung, vary};
use crate::comparison::{Per, rule, times};
use crate::result::{Basis, Ended, Run};
use crate::stats::losses::{self, Losses, Point};

/// The runs of a value, by round.
pub type Runs = Vec<Option<Run>>;

/// How a value that ran so far fares.
#[must_use]
pub fn fate(runs: &Runs) -> Fate {
    let ran = || runs.iter().flatten();
    if ran().any(|run| run.ended == Ended::OutOfMemory) {
        Fate::OutOfMemory
    } else if ran().any(|run| run.ended == Ended::Failed) {
        Fate::Failed
    } else if ran().any(has_time) {
        Fate::Measured
    } else if ran().any(|run| run.ended != Ended::Interrupted) {
        Fate::NoSteps
    } else {
        Fate::NotRun
    }
}

fn has_time(run: &Run) -> bool {
    run.basis == Some(Basis::Whole) || run.step_ns().is_some_and(|ns| ns > 0)
}

/// Times of what is compared, by value and round: what [`knee`] takes.
pub type Times = Vec<Vec<Option<f64>>>;

/// The times behind a rung.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judged {
    /// Of all values that were measured.
    pub all: Times,
    /// Of those that may be chosen.
    pub allowed: Times,
}

/// Takes the runs into the rung, whose `values` name the values and whose `before` says what it began with; what was
/// said before is said anew. The times behind it.
pub fn judge(rung: &mut Rung, runs: &[Runs], rule_of_knee: &Rule, tolerance: f64) -> Judged {
    for (tried, runs) in rung.values.iter_mut().zip(runs) {
        tried.fate = fate(runs);
        tried.runs = runs.iter().flatten().count();
        let last = || runs.iter().flatten().next_back();
        tried.status = runs.iter().flatten().find_map(|run| run.status.filter(|status| *status != 0));
        tried.log = last().and_then(|run| run.log.clone());
        tried.gpu = last().and_then(|run| run.gpu);
        tried.peak = runs.iter().flatten().filter_map(|run| run.peak).max_by_key(|peak| peak.held);
        tried.samples_per_step = runs.iter().flatten().find_map(samples);
        (tried.ns, tried.interval_ns, tried.to_best, tried.reach) = (None, None, None, None);
        tried.losses = Losses::Unknown;
    }
    rung.rounds = runs.iter().map(Vec::len).max().unwrap_or(0);
    let is_measured = |rung: &Rung, at: &usize| rung.values[*at].fate == Fate::Measured;
    let first = rung.before.filter(|at| is_measured(rung, at));
    let Some(reference) = first.or_else(|| (0..rung.values.len()).find(|at| is_measured(rung, at))) else {
        (rung.found, rung.basis, rung.noise) = (None, None, None);
        return Judged::default();
    };
    rung.basis = runs[reference].iter().flatten().find_map(|run| run.basis);
    for (tried, runs) in rung.values.iter_mut().zip(runs) {
        if tried.fate == Fate::Measured
            && runs.iter().flatten().any(|run| has_time(run) && run.basis != rung.basis)
        {
            tried.fate = Fate::OtherBasis;
        }
    }
    for (tried, runs) in rung.values.iter_mut().zip(runs) {
        let steadies = runs.iter().flatten().filter_map(|run| run.steady.as_ref());
        tried.unsettled = steadies.filter(|steady| !steady.settled).count();
    }
    let share = share(rung);
    let mut all = step_times(rung, runs);
    all.iter_mut().zip(&share).for_each(|(row, share)| row.iter_mut().flatten().for_each(|ns| *ns /= share));
    let trajectories = |at: usize| -> Vec<Vec<Point>> {
        let scaled = |run: &Run| run.losses.iter().map(|(place, loss)| (place * share[at], *loss)).collect();
        runs[at].iter().flatten().map(scaled).collect()
    };
    let own = trajectories(reference);
    for at in (0..rung.values.len()).filter(|at| *at != reference) {
        if rung.values[at].fate == Fate::Measured {
            rung.values[at].losses = losses::compare(&own, &trajectories(at), tolerance);
        }
    }
    let mut allowed = all.clone();
    for (row, tried) in allowed.iter_mut().zip(&rung.values) {
        if !tried.may_be_chosen() {
            row.clear();
        }
    }
    rung.noise = noise(&allowed);
    say(rung, &all, &allowed, reference, rule_of_knee);
    Judged { all, allowed }
}

/// The knee into the rung; times, but no standing, of values that may not be chosen.
fn say(rung: &mut Rung, all: &Times, allowed: &Times, reference: usize, rule: &Rule) {
    let rounded = |(low, high): (f64, f64)| (low.round() as i64, high.round() as i64);
    if let Some(whole) = knee(all, rule) {
        for (tried, standing) in rung.values.iter_mut().zip(&whole.standings) {
            tried.ns = standing.map(|found| found.ns.round() as i64);
            tried.interval_ns = standing.and_then(|found| found.interval_ns).map(rounded);
        }
    }
    let found = knee(allowed, rule);
    if let Some(found) = &found {
        for (tried, standing) in rung.values.iter_mut().zip(&found.standings) {
            tried.to_best = standing.map(|found| found.to_best);
            tried.reach = standing.map(|found| found.reach);
        }
    }
    rung.found = found.and_then(|found| {
        Some(Found {
            knee: found.at,
            plateau_end: found.plateau_end(),
            best: found.best,
            shape: found.shape,
            is_sure: found.is_sure,
            reference,
            speedup: versus(allowed, reference, found.at, rule)?,
            within: within(&found),
        })
    });
}

fn within(found: &Knee) -> Option<f64> {
    let highs = found
        .standings
        .iter()
        .flatten()
        .map(|standing| standing.to_best.interval.map(|(_, high)| high - 1.0));
    highs.collect::<Option<Vec<f64>>>()?.into_iter().max_by(f64::total_cmp)
}

/// Step times, or times of the whole program; none of values that were not measured.
fn step_times(rung: &Rung, runs: &[Runs]) -> Times {
    let ran: Vec<Vec<Run>> = runs.iter().map(|runs| runs.iter().flatten().cloned().collect()).collect();
    let measured: Vec<&[Run]> = ran
        .iter()
        .zip(&rung.values)
        .filter(|(_, tried)| tried.fate == Fate::Measured)
        .map(|(runs, _)| &runs[..])
        .collect();
    let stalls = rule(&measured);
    let row = |(row, (tried, own)): (&Runs, (&super::Tried, &Vec<Run>))| {
        if tried.fate != Fate::Measured {
            return Vec::new();
        }
        let mut times = times(own, stalls).into_iter();
        let time = |run: &Option<Run>| run.as_ref().and_then(|_| times.next()).and_then(|timed| timed.ns);
        row.iter().map(time).collect()
    };
    runs.iter().zip(rung.values.iter().zip(&ran)).map(row).collect()
}

/// Samples of a step: those that were seen, else by the rate that the program prints.
fn samples(run: &Run) -> Option<f64> {
    let printed = || Some(run.printed_samples_per_s? * run.step_ns()? as f64 / 1e9);
    run.samples_per_step.or_else(printed).filter(|samples| *samples > 0.0 && samples.is_finite())
}

/// What the time of each value is divided by, and so what is compared: the samples of a step where they differ.
fn share(rung: &mut Rung) -> Vec<f64> {
    let one = vec![1.0; rung.values.len()];
    rung.assumed_samples = false;
    if rung.basis == Some(Basis::Whole) {
        rung.per = Per::Whole;
        return one;
    }
    rung.per = Per::Step;
    let measured = || rung.values.iter().filter(|tried| tried.fate == Fate::Measured);
    let known: Option<Vec<f64>> = measured().map(|tried| tried.samples_per_step).collect();
    let of = |value: f64, other: f64| (value / other - 1.0).abs();
    if let Some(known) = known {
        // What is printed is rounded; a batch that another setting changes differs by more.
        let differ = known.iter().any(|samples| of(*samples, known[0]) > 0.05);
        if differ {
            rung.per = Per::Sample;
            return rung.values.iter().map(|tried| tried.samples_per_step.unwrap_or(1.0)).collect();
        }
        return one;
    }
    let number = |tried: &super::Tried| vary::number(tried.value.as_ref()?).filter(|number| *number > 0.0);
    if rung.kind == Kind::Batch && measured().all(|tried| number(tried).is_some()) {
        (rung.per, rung.assumed_samples) = (Per::Sample, true);
        return rung.values.iter().map(|tried| number(tried).unwrap_or(1.0)).collect();
    }
    one
}

#[cfg(test)]
mod tests {
    use super::super::Tried;
    use super::super::knee::Shape;
    use super::*;
    use crate::stats::losses::TOLERANCE;
    use crate::stats::steady::{Stalls, steady};

    const RULE: Rule = Rule { counts: 0.02, most_rounds: 5 };

    fn run(ms: f64, seed: i64, samples: Option<f64>) -> Run {
        let noise = |at: i64| 1.0 + ((at * 7_919 + seed * 31) % 200) as f64 / 10_000.0;
        let series: Vec<i64> = (0..60).map(|at| (ms * 1e6 * noise(at)) as i64).collect();
        Run {
            basis: Some(Basis::Hook),
            steady: steady(&series, Stalls::SetAside),
            samples_per_step: samples,
            losses: (0..20)
                .map(|at| (f64::from(at), 3.0 - f64::from(at) * samples.unwrap_or(1.0) / 1_000.0))
                .collect(),
            series,
            ..Run::default()
        }
    }

    fn rung(name: &str, values: &[&str]) -> Rung {
        let tried = |value: &&str| Tried { value: Some((*value).to_owned()), ..Tried::default() };
        Rung {
            name: name.to_owned(),
            kind: super::super::kinds::kind(name),
            values: values.iter().map(tried).collect(),
            ..Rung::default()
        }
    }

    fn twice(of: impl Fn(i64) -> Run) -> Runs {
        vec![Some(of(1)), Some(of(2)), Some(of(3))]
    }

    #[test]
    fn a_batch_is_judged_by_the_sample_and_out_of_memory_is_an_outcome() {
        let mut found = rung("batch_size", &["8", "16", "32", "64"]);
        let batch = |ms: f64, samples: f64| twice(move |seed| run(ms, seed, Some(samples)));
        let memory = Run { ended: Ended::OutOfMemory, status: Some(1), ..Run::default() };
        let runs = [batch(10.0, 8.0), batch(11.0, 16.0), batch(22.0, 32.0), vec![Some(memory)]];
        judge(&mut found, &runs, &RULE, TOLERANCE);
        let Some(said) = found.found else { panic!("a knee: {found:?}") };
        assert_eq!(
            (said.knee, said.shape, found.per, found.assumed_samples),
            (1, Shape::Knee, Per::Sample, false)
        );
        assert_eq!((found.values[3].fate, found.values[3].ns), (Fate::OutOfMemory, None));
        assert!((said.speedup.ratio - 10.0 / 5.5).abs() < 0.1, "{said:?}");
        assert!(
            matches!(found.values[1].losses, Losses::Alike(_)),
            "over the same samples: {:?}",
            found.values[1]
        );
    }

    #[test]
    fn a_batch_whose_samples_are_not_told_is_taken_at_its_word() {
        let mut found = rung("--batch", &["8", "16"]);
        let runs = [twice(|seed| run(10.0, seed, None)), twice(|seed| run(12.0, seed, None))];
        judge(&mut found, &runs, &RULE, 1.0);
        assert_eq!(
            (found.per, found.assumed_samples, found.found.map(|said| said.knee)),
            (Per::Sample, true, Some(1))
        );
    }

    #[test]
    fn a_value_that_learns_otherwise_is_no_knee() {
        let mut found = rung("amp", &["off", "on"]);
        let off = Run { ..run(10.0, 1, Some(8.0)) };
        let broken = |seed| {
            let mut run = run(5.0, seed, Some(8.0));
            run.losses[7].1 = f64::NAN;
            run
        };
        judge(&mut found, &[vec![Some(off); 3], twice(broken)], &RULE, TOLERANCE);
        assert_eq!(found.found.map(|said| (said.knee, said.shape)), Some((0, Shape::Flat)));
        assert!(
            found.values[1].losses.forbids()
                && found.values[1].ns.is_some()
                && found.values[1].reach.is_none()
        );
    }

    #[test]
    fn a_value_that_fails_once_or_is_told_otherwise_is_passed_over() {
        let mut found = rung("n", &["0", "1", "2", "3"]);
        let fails = vec![
            Some(run(5.0, 1, None)),
            Some(Run { ended: Ended::Failed, status: Some(3), ..Run::default() }),
        ];
        let otherwise = twice(|seed| Run { basis: Some(Basis::PrintedSteps), ..run(1.0, seed, None) });
        let runs = [twice(|seed| run(10.0, seed, None)), fails, otherwise, vec![Some(Run::default())]];
        judge(&mut found, &runs, &RULE, TOLERANCE);
        let fates: Vec<Fate> = found.values.iter().map(|tried| tried.fate).collect();
        assert_eq!(fates, [Fate::Measured, Fate::Failed, Fate::OtherBasis, Fate::NoSteps]);
        assert_eq!((found.values[1].status, found.found.map(|said| said.knee)), (Some(3), Some(0)));
        judge(&mut found, &[vec![], vec![], vec![], vec![]], &RULE, TOLERANCE);
        assert!(found.found.is_none() && found.values.iter().all(|tried| tried.fate == Fate::NotRun));
    }
}
