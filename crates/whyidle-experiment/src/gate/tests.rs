//! What a gate says of runs that are made up.

use super::*;
use crate::result::Peak;
use crate::stats::losses::TOLERANCE;
use crate::stats::steady::Steady;

/// As the command line has it, unless told otherwise.
const ASKED: Question = Question { metric: Metric::Step, limit: 0.05, tolerance: TOLERANCE, anyway: false };

/// A run with steps of `ms`.
fn run(ms: f64) -> Run {
    let mean_ns = (ms * 1e6) as i64;
    let steady = Steady { count: 100, mean_ns, settled: true, ..Steady::default() };
    Run { basis: Some(Basis::Hook), steady: Some(steady), steps_per_figure: 1, ..Run::default() }
}

fn runs(ms: &[f64]) -> Vec<Run> {
    ms.iter().map(|ms| run(*ms)).collect()
}

fn judged(base: &[f64], new: &[f64], question: &Question) -> Gate {
    judge(("main", &runs(base)), ("now", &runs(new)), question)
}

#[test]
fn only_an_interval_that_leaves_the_limit_out_says_anything() {
    for (base, new, answer, reason) in [
        (&[100.0, 101.0, 99.0][..], &[100.0, 101.0, 99.5][..], Answer::Within, Reason::Change),
        (&[100.0, 101.0, 99.0], &[111.0, 112.0, 110.0], Answer::Regressed, Reason::Change),
        // One run says what a run is, five say how much runs differ.
        (&[100.0], &[100.1, 100.5, 99.8, 100.2, 100.0], Answer::Within, Reason::Change),
        (&[100.0], &[111.0, 111.5, 110.8, 111.2, 111.0], Answer::Regressed, Reason::Change),
        // Eight per cent more on average, but runs differ by as much.
        (&[100.0, 108.0, 95.0], &[104.0, 116.0, 107.0], Answer::Unclear, Reason::Interval),
        (&[100.0], &[120.0], Answer::Unclear, Reason::FewRuns),
        (&[100.0, 101.0], &[], Answer::Unclear, Reason::NoNew),
        (&[], &[101.0], Answer::Unclear, Reason::NoBaseline),
        // Much faster is well within.
        (&[100.0, 101.0], &[50.0, 50.5], Answer::Within, Reason::Change),
    ] {
        let found = judged(base, new, &ASKED);
        assert_eq!((found.answer, found.reason), (answer, reason), "{base:?} {new:?} {:?}", found.change);
    }
}

#[test]
fn runs_that_agree_by_chance_are_no_surer_than_their_own_steps() {
    let with = |ms: f64, half: i64| {
        let mut run = run(ms);
        if let Some(steady) = &mut run.steady {
            steady.interval_ns = Some((steady.mean_ns - half, steady.mean_ns + half));
        }
        run
    };
    let (base, sure) = (vec![with(100.0, 100_000); 2], vec![with(103.0, 100_000); 2]);
    assert_eq!(judge(("a", &base), ("b", &sure), &ASKED).answer, Answer::Within);
    let (base, unsure) = (vec![with(100.0, 4_000_000); 2], vec![with(103.0, 4_000_000); 2]);
    let found = judge(("a", &base), ("b", &unsure), &ASKED);
    assert_eq!((found.answer, found.reason), (Answer::Unclear, Reason::Interval), "{:?}", found.change);
}

#[test]
fn more_runs_are_proposed_where_they_would_tell() {
    let found = judged(&[100.0, 104.0, 97.0], &[101.0, 105.0, 98.0], &ASKED);
    let Some(enough) = found.enough_runs else { panic!("{found:?}") };
    assert!((4..40).contains(&enough), "{enough}");
    // On the limit itself nothing would.
    let found = judged(&[100.0, 104.0, 96.0], &[105.0, 109.2, 100.8], &ASKED);
    assert_eq!((found.reason, found.enough_runs), (Reason::Interval, None));
}

#[test]
fn less_of_a_rate_and_more_of_a_cost_are_worse() {
    let with = |rate: f64| {
        vec![
            Run { printed_samples_per_s: Some(rate), ..run(100.0) },
            Run { printed_samples_per_s: Some(rate * 1.001), ..run(100.0) },
        ]
    };
    let asked = Question { metric: Metric::Samples, ..ASKED };
    let answer = |rate| judge(("a", &with(100.0)), ("b", &with(rate)), &asked).answer;
    assert_eq!([90.0, 97.0, 130.0].map(answer), [Answer::Regressed, Answer::Within, Answer::Within]);
    let with = |bytes| {
        let peak = Some(Peak { allocated: bytes, held: bytes });
        vec![Run { peak, ..run(100.0) }, Run { peak, ..run(170.0) }]
    };
    let asked = Question { metric: Metric::PeakMemory, limit: 0.01, ..ASKED };
    let answer = |bytes| judge(("a", &with(1 << 30)), ("b", &with(bytes)), &asked).answer;
    assert_eq!([1 << 30, 1 << 31].map(answer), [Answer::Within, Answer::Regressed]);
    let asked = Question { metric: Metric::Energy, ..ASKED };
    assert_eq!(judge(("a", &with(1)), ("b", &with(1)), &asked).reason, Reason::NoBaseline);
}

#[test]
fn other_machines_are_not_judged_unless_told_so() {
    let on = |gpu: &str, processor: &str| {
        let place = Place {
            gpus: vec![gpu.to_owned(); 2],
            processor: Some(processor.to_owned()),
            ..Place::default()
        };
        [100.0, 100.5].map(|ms| Run { place: place.clone(), ..run(ms) }).to_vec()
    };
    let judged = |b: &[Run], anyway| judge(("a", &on("A100", "x")), ("b", b), &Question { anyway, ..ASKED });
    for other in [on("H200", "x"), on("A100", "y"), runs(&[100.0, 100.5])] {
        let found = judged(&other, false);
        assert_eq!((found.answer, found.reason), (Answer::Unclear, Reason::Machine));
        assert!(!found.differences.is_empty());
        assert_eq!(judged(&other, true).answer, Answer::Within);
    }
    assert_eq!(judged(&on("A100", "x"), false).answer, Answer::Within);
}

#[test]
fn what_failed_or_was_told_otherwise_is_not_judged() {
    let base = runs(&[100.0, 101.0]);
    let judged = |new: Vec<Run>| judge(("a", &base), ("b", &new), &ASKED);
    let failed = Run { ended: Ended::Failed, status: Some(3), ..run(100.0) };
    let found = judged(vec![run(100.0), failed]);
    assert_eq!((found.reason, found.failed), (Reason::Failed, Some((Ended::Failed, Some(3)))));
    let printed = Run { basis: Some(Basis::PrintedSteps), ..run(100.0) };
    assert_eq!(judged(vec![printed.clone(), printed]).reason, Reason::Mixed);
    let nothing = Run { steady: None, ..run(1.0) };
    assert_eq!(judged(vec![nothing.clone(), nothing]).reason, Reason::NoNew);
    let zero = run(0.0);
    assert_eq!(judged(vec![zero.clone(), zero]).reason, Reason::NoNew);
}

#[test]
fn another_loss_is_a_regression_however_fast() {
    let learns = |ms: f64, factor: f64| {
        let losses = (0..100).map(|at| (f64::from(at), factor * (1.0 + 1.0 / (1.0 + f64::from(at)))));
        Run { losses: losses.collect(), ..run(ms) }
    };
    let base = vec![learns(100.0, 1.0), learns(100.4, 1.0)];
    let judged = |new: Vec<Run>| judge(("a", &base), ("b", &new), &ASKED);
    assert_eq!(judged(vec![learns(100.0, 1.0)]).answer, Answer::Within);
    let found = judged(vec![learns(50.0, 3.0), learns(50.1, 3.0)]);
    assert_eq!((found.answer, found.reason), (Answer::Regressed, Reason::Losses));
    let mut broken = learns(100.0, 1.0);
    broken.losses[7].1 = f64::NAN;
    assert_eq!(judged(vec![broken]).reason, Reason::Losses);
    // One run each: training that is not seeded may do that by itself.
    let one = judge(("a", &base[..1]), ("b", &[learns(100.0, 3.0)]), &ASKED);
    assert_eq!((one.answer, one.reason), (Answer::Unclear, Reason::FewRuns));
}

/// With no difference at all, a gate at no allowance cries in about one of forty.
#[test]
fn a_regression_is_cried_as_rarely_as_the_interval_says() {
    let mut dice = 0x9e37_79b9_7f4a_7c15_u64;
    let mut roll = move || {
        let mut sum = -6.0;
        for _ in 0..12 {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            sum += (dice >> 11) as f64 / (1_u64 << 53) as f64;
        }
        100.0 * (0.02_f64 * sum).exp()
    };
    let asked = Question { limit: 0.0, ..ASKED };
    for (base, new) in [(1, 5), (5, 5), (2, 3)] {
        let mut cried = 0;
        for _ in 0..2_000 {
            let a: Vec<f64> = (0..base).map(|_| roll()).collect();
            let b: Vec<f64> = (0..new).map(|_| roll()).collect();
            cried += usize::from(judged(&a, &b, &asked).answer == Answer::Regressed);
        }
        assert!((20..=80).contains(&cried), "{base} and {new}: {cried} of 2000");
    }
}
