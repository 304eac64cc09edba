//! The series of step times of a run, from whatever tells it best: the start-up hook, numbered lines of output, or
//! times that the program prints.

use std::collections::VecDeque;

use whyidle_readers::progress::printed::Printed;
use whyidle_readers::progress::steps::{Step, Steps};

use crate::result::{Basis, Peak};
use crate::stats::losses::Point;
use crate::stats::median;

/// Fewer figures are no series.
const FEWEST: usize = 3;
/// Losses kept of a run at most.
const MOST_LOSSES: usize = 2_000;
/// Counts that a printed number may go on with: those that went on last.
const MOST_COUNTS: usize = 8;

/// What was seen of a run so far.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Files of the start-up hook.
    pub files: Vec<Steps>,
    /// What lines of output said, with the time each came, ns of Unix time.
    pub lines: Vec<(i64, Printed)>,
}

/// Step times of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// How they were told.
    pub basis: Basis,
    /// In order, ns; each the mean of [`Self::steps_per_figure`] steps.
    pub lengths: Vec<i64>,
    /// Steps that a figure stands for.
    pub steps_per_figure: u32,
    /// End of the step before the first figure, and of each figure, ns of Unix time.
    pub ends: Vec<i64>,
    /// Samples of a step over all ranks.
    pub samples: Option<f64>,
    /// Tokens of a step over all ranks.
    pub tokens: Option<f64>,
}

impl Seen {
    /// The step times by the best basis there is.
    #[must_use]
    pub fn series(&self) -> Option<Series> {
        self.hooked().or_else(|| self.numbered()).or_else(|| self.printed())
    }

    /// The file of the rank that is looked at: the lowest that trains.
    fn file(&self) -> Option<&Steps> {
        let trains = |file: &&Steps| file.steps.len() > FEWEST;
        self.files.iter().filter(trains).min_by_key(|file| (file.writer.rank, usize::MAX - file.steps.len()))
    }

    /// The steps of the optimizer that steps most, with what lies between them.
    fn main_steps(file: &Steps) -> Vec<(Step, u64, u64)> {
        let count = |which: u32| file.steps.iter().filter(|step| step.optimizer == which).count();
        // The first of equals.
        let main = (0..8).rev().max_by_key(|which| count(*which)).unwrap_or(0);
        let (mut samples, mut tokens) = (0, 0);
        let mut steps = Vec::new();
        for step in &file.steps {
            samples += step.samples.unwrap_or(0);
            tokens += step.tokens.unwrap_or(0);
            if step.optimizer == main {
                steps.push((*step, samples, tokens));
                (samples, tokens) = (0, 0);
            }
        }
        steps
    }

    fn hooked(&self) -> Option<Series> {
        let file = self.file()?;
        let steps = Self::main_steps(file);
        let lengths = steps.windows(2).map(|pair| pair[1].0.at - pair[0].0.at).collect();
        // Evaluations between two steps fetch batches too: the middle of all steps is one without.
        let usual = |of: fn(&(Step, u64, u64)) -> u64| {
            let counts: Vec<i64> = steps[1..].iter().map(|step| of(step) as i64).collect();
            let ranks = f64::from(file.writer.world.unwrap_or(1));
            Some(median(&counts)).filter(|count| *count > 0).map(|count| count as f64 * ranks)
        };
        Some(Series {
            basis: Basis::Hook,
            lengths,
            steps_per_figure: 1,
            ends: steps.iter().map(|(step, ..)| step.unix).collect(),
            samples: usual(|(_, samples, _)| *samples),
            tokens: usual(|(.., tokens)| *tokens),
        })
    }

    fn numbered(&self) -> Option<Series> {
        let counts = counts(self.lines.iter().filter_map(|(at, line)| Some((*at, line.step?))));
        let numbered = || counts.iter().flat_map(|count| count.windows(2));
        let gaps: Vec<i64> = numbered().map(|pair| (pair[1].1 - pair[0].1).round() as i64).collect();
        if gaps.len() < FEWEST {
            return None;
        }
        let usual = median(&gaps).max(1);
        let pairs = || numbered().zip(&gaps).filter(|(_, gap)| **gap == usual);
        let mut ends = vec![counts[0][0].0];
        ends.extend(pairs().map(|(pair, _)| pair[1].0));
        Some(Series {
            basis: Basis::PrintedSteps,
            lengths: pairs().map(|(pair, gap)| (pair[1].0 - pair[0].0) / *gap).collect(),
            steps_per_figure: u32::try_from(usual).unwrap_or(u32::MAX),
            ends,
            samples: None,
            tokens: None,
        })
    }

    fn printed(&self) -> Option<Series> {
        let times = || self.lines.iter().filter_map(|(at, line)| line.step_ns.map(|ns| (*at, ns)));
        if times().count() < FEWEST {
            return None;
        }
        let first = times().next().map(|(at, ns)| at - ns);
        Some(Series {
            basis: Basis::PrintedTimes,
            lengths: times().map(|(_, ns)| ns).collect(),
            steps_per_figure: 1,
            ends: first.into_iter().chain(times().map(|(at, _)| at)).collect(),
            samples: None,
            tokens: None,
        })
    }

    /// Highest memory on the GPU: of the rank that holds most.
    #[must_use]
    pub fn peak(&self) -> Option<Peak> {
        let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let steps = self.files.iter().flat_map(|file| &file.steps);
        let peaks =
            steps.filter_map(|step| Some(Peak { allocated: signed(step.memory?), held: signed(step.held?) }));
        peaks.max_by_key(|peak| peak.held)
    }

    /// Losses by step: by the printed number where each has one, else by the hook's count, else one after the other.
    #[must_use]
    pub fn losses(&self) -> Vec<Point> {
        let printed =
            || self.lines.iter().filter_map(|(at, line)| line.loss.map(|loss| (*at, line.step, loss)));
        let ends: Vec<i64> = self
            .file()
            .map(|file| Self::main_steps(file).iter().map(|step| step.0.unix).collect())
            .unwrap_or_default();
        let is_numbered = printed().all(|(_, step, _)| step.is_some());
        let place = |(nth, (at, step, loss)): (usize, (i64, Option<f64>, f64))| {
            let counted = ends.partition_point(|end| *end <= at);
            let place = match step.filter(|_| is_numbered) {
                Some(step) => step,
                None if !ends.is_empty() => counted as f64,
                None => nth as f64,
            };
            (place, loss)
        };
        let mut all: Vec<Point> = printed().enumerate().map(place).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        thinned(all)
    }

    /// The middle one of what the program prints of a rate.
    #[must_use]
    pub fn rate(&self, of: fn(&Printed) -> Option<f64>) -> Option<f64> {
        let mut rates: Vec<f64> = self.lines.iter().filter_map(|(_, line)| of(line)).collect();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied()
    }

    /// Failures inside the hook.
    #[must_use]
    pub fn hook_errors(&self) -> u64 {
        self.files.iter().map(|file| file.errors).sum()
    }
}

/// Lines that a program numbers anew, as in every epoch, are counts that follow each other. A number goes on with the
/// count whose last is nearest below it, or begins another. What is counted while another count stands still and then
/// goes on is an evaluation, and left out. Each line: when it came, and its number.
fn counts(lines: impl Iterator<Item = (i64, f64)>) -> Vec<Vec<(i64, f64)>> {
    let mut counts: Vec<Vec<(i64, f64)>> = Vec::new();
    // Which ones went on, the latest first, with their last number.
    let mut recent: VecDeque<(usize, f64)> = VecDeque::new();
    for (at, step) in lines.filter(|(_, step)| step.is_finite()) {
        // A second line of the same step.
        if recent.front().is_some_and(|(_, last)| *last == step) {
            continue;
        }
        let below = recent.iter().enumerate().filter(|(_, (_, last))| *last < step);
        let nearest = below.min_by(|(_, (_, a)), (_, (_, b))| (step - a).total_cmp(&(step - b)));
        let place = nearest.map(|(place, _)| place);
        let which = match place.and_then(|place| recent.remove(place)) {
            Some((which, _)) => which,
            None => {
                counts.push(Vec::new());
                counts.len() - 1
            }
        };
        counts[which].push((at, step));
        recent.push_front((which, step));
        recent.truncate(MOST_COUNTS);
    }
    let mut latest = i64::MIN;
    counts.retain(|count| {
        let (first, last) = (count.first().map_or(0, |line| line.0), count.last().map_or(0, |line| line.0));
        let is_inside = first < latest;
        latest = latest.max(last);
        !is_inside
    });
    counts
}

/// As many losses as are kept of a run. One that is no number is never thinned out, unless there are too many of those.
pub(crate) fn thinned(all: Vec<Point>) -> Vec<Point> {
    let every = all.len().div_ceil(MOST_LOSSES).max(1);
    all.into_iter()
        .enumerate()
        .filter(|(nth, (_, loss))| nth % every == 0 || !loss.is_finite())
        .map(|(_, point)| point)
        .take(2 * MOST_LOSSES)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn hooked(text: &str) -> Steps {
        let mut steps = Steps::default();
        steps.feed(text.as_bytes());
        steps
    }

    /// A rank that steps every 10 ms, with a second optimizer and an evaluation that fetches many samples.
    fn rank(rank: u32) -> Steps {
        let mut text = format!("{{\"schema\":\"whyidle.steps/1\",\"rank\":\"{rank}\",\"world\":\"2\"}}\n");
        for step in 0..20 {
            let (at, samples) = (step * 10 * MS, if step == 9 { 400 } else { 8 });
            text += &format!("{{\"m\":{at},\"u\":{at},\"o\":0,\"b\":{samples},\"t\":64}}\n");
            text += &format!("{{\"m\":{},\"u\":{},\"o\":1}}\n", at + MS, at + MS);
        }
        hooked(&text)
    }

    #[test]
    fn the_hook_is_believed_first() {
        let lines = (0..20)
            .map(|at| (at * 30 * MS, Printed { step: Some(at as f64), ..Printed::default() }))
            .collect();
        let seen = Seen { files: vec![rank(1), rank(0)], lines };
        let Some(found) = seen.series() else { panic!("steps") };
        assert_eq!((found.basis, found.steps_per_figure, found.lengths.len()), (Basis::Hook, 1, 19));
        assert!(found.lengths.iter().all(|ns| *ns == 10 * MS) && found.ends.len() == 20);
        assert_eq!((found.samples, found.tokens), (Some(16.0), Some(128.0)));
    }

    #[test]
    fn numbered_lines_give_the_mean_of_the_steps_between_them() {
        let line = |step: f64, at: i64| (at * MS, Printed { step: Some(step), ..Printed::default() });
        let lines = vec![
            line(10.0, 0),
            line(20.0, 500),
            line(1.0, 600),
            line(30.0, 1_000),
            line(40.0, 1_700),
            line(50.0, 2_200),
        ];
        let seen = Seen { files: Vec::new(), lines };
        let Some(found) = seen.series() else { panic!("steps") };
        assert_eq!((found.basis, found.steps_per_figure), (Basis::PrintedSteps, 10));
        assert_eq!(found.lengths, [50 * MS, 50 * MS, 70 * MS, 50 * MS]);
    }

    #[test]
    fn printed_times_come_last_and_nothing_is_no_series() {
        let line = |ns: i64, at: i64| (at * MS, Printed { step_ns: Some(ns), ..Printed::default() });
        let seen = Seen { files: Vec::new(), lines: (0..5).map(|at| line(7 * MS, at * 100)).collect() };
        assert_eq!(
            seen.series().map(|found| (found.basis, found.lengths[4])),
            Some((Basis::PrintedTimes, 7 * MS))
        );
        assert_eq!(Seen::default().series(), None);
    }

    #[test]
    fn losses_without_a_number_are_placed_by_the_steps_before_them() {
        let line = |at: i64, loss: f64| (at * MS, Printed { loss: Some(loss), ..Printed::default() });
        let seen = Seen { files: vec![rank(0)], lines: vec![line(45, 3.0), line(95, f64::NAN)] };
        let losses = seen.losses();
        assert_eq!((losses[0], losses[1].0), ((5.0, 3.0), 10.0));
        assert!(losses[1].1.is_nan());
    }

    #[test]
    fn a_count_that_begins_anew_goes_on_and_that_of_an_evaluation_is_left_out() {
        let line = |at: i64, step: f64| (at * MS, Printed { step: Some(step), ..Printed::default() });
        // Three epochs of five steps, 10 ms each, and an evaluation that is numbered in the middle of the second.
        let mut lines: Vec<_> = (0..15).map(|n| line(n * 10, (n % 5) as f64)).collect();
        lines.splice(8..8, [line(71, 0.0), line(72, 1.0)]);
        let series = Seen { lines, ..Seen::default() }.series().expect("steps are numbered");
        assert_eq!((series.basis, series.steps_per_figure), (Basis::PrintedSteps, 1));
        assert_eq!((series.lengths, series.ends.len()), (vec![10 * MS; 12], 13));
        // Numbers that only ever fall are no steps.
        let falling = (0..9).map(|n| line(n, (9 - n) as f64)).collect();
        assert_eq!(Seen { lines: falling, ..Seen::default() }.series(), None);
    }
}
