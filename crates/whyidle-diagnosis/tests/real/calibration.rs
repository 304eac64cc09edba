//! The model of the profiler's cost, held against recordings that it has not seen: its factors are fitted again with one
//! recording left out, and the step of that one is estimated with them.

use whyidle_analysis::device::devices;
use whyidle_analysis::facts::Facts;
use whyidle_diagnosis::Basis;
use whyidle_replay::profiler_cost::{Costs, Ruler, without_profiler_at};
use whyidle_replay::program::Program;
use whyidle_replay::simulate::steady;

use crate::support::{Recorded, lab, median_and_worst};

/// Factors that are tried, around those in use.
fn grid() -> Vec<Costs> {
    let sums = (5..=16).map(|tenth| f64::from(tenth) / 10.0);
    let splits = [0.6, 1.0, 1.6];
    let Costs { op, call, frame } = Costs::FITTED;
    sums.flat_map(|sum| {
        splits.map(|split| Costs { op: op * sum * split, call: call * sum / split, frame: frame * sum })
    })
    .collect()
}

/// Relative errors of a recording's estimated step, at each of the factors.
fn errors(recorded: &Recorded, grid: &[Costs]) -> Option<Vec<f64>> {
    let facts = Facts::new(&recorded.trace);
    let device = facts.device(&recorded.trace, *devices(&recorded.trace).first()?, |_| true);
    let program = Program::new(&recorded.trace, &facts, &device)?;
    let ruler = Ruler::new(&recorded.trace, &facts);
    let first = program.numbers.iter().position(|&number| number == device.steps.used[0].number)?;
    let steps = first..first + device.steps.used.len();
    let error = |&costs: &Costs| {
        let lengths = without_profiler_at(&program, &ruler, costs);
        steady(&program, &lengths, steps.clone()).period as f64 / recorded.step_ns() as f64 - 1.0
    };
    Some(grid.iter().map(error).collect())
}

#[test]
fn recordings_left_out_of_the_fit_are_estimated_as_well() {
    let grid = grid();
    // One rank, the host the limit, and neither items nor queues that differ between windows.
    let fitted: Vec<(String, Vec<f64>)> = lab()
        .iter()
        .filter(|recorded| {
            let mut fit = false;
            recorded.judged(None, |case, verdict| {
                fit = verdict.step.basis == Basis::Estimated && !case.device_bound && !case.several_ranks();
            });
            fit
        })
        .filter_map(|recorded| Some((recorded.name.clone(), errors(recorded, &grid)?)))
        .collect();
    let mut left_out = Vec::new();
    for (at, (name, own)) in fitted.iter().enumerate() {
        let median_of_others = |point: usize| {
            let others = fitted.iter().enumerate().filter(|(other, _)| *other != at);
            median_and_worst(others.map(|(_, (_, errors))| errors[point].abs()).collect()).0
        };
        if fitted.len() < 2 {
            continue;
        }
        let best = (0..grid.len())
            .min_by(|&a, &b| median_of_others(a).total_cmp(&median_of_others(b)))
            .expect("the grid has points");
        eprintln!("{name}: {:+.1} % with {:?}", own[best] * 100.0, grid[best]);
        left_out.push(own[best].abs());
    }
    if left_out.len() >= 8 {
        let (median, worst) = median_and_worst(left_out);
        eprintln!("left out: median {median:.3}, worst {worst:.3}");
        assert!(median <= 0.10 && worst <= 0.30, "median {median:.3}, worst {worst:.3}");
    }
}
