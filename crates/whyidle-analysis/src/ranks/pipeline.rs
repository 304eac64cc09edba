//! A pipeline of ranks: its stages, how much of a step they idle, and the step with another number of micro-batches.
//!
//! With m micro-batches, a step of GPipe or 1F1B lasts as long as one micro-batch takes on every stage but the slowest,
//! plus m of them on the slowest (Huang et al. 2019; Narayanan et al. 2021). With equal stages that is the well-known
//! bubble (p − 1)/(m + p − 1); with unequal ones the difference is imbalance, which more micro-batches do not cure.

use super::RankFacts;
use super::matching::{Matched, Parties};

/// A pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    /// Its stages, as indices of ranks, the first stage first.
    pub stages: Vec<u32>,
    /// Micro-batches per step.
    pub micro: i64,
    /// Order in which a stage runs forward and backward, where recorded.
    pub schedule: Schedule,
    /// Per stage: forward and backward of one micro-batch, ns.
    pub micro_ns: Vec<i64>,
    /// The optimizer on the slowest stage, ns per step.
    pub optimizer_ns: i64,
}

/// The order of forward and backward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// All forwards, then all backwards.
    GPipe,
    /// One forward, one backward.
    OneForwardOneBackward,
    /// Not recorded.
    Unknown,
}

impl Schedule {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::GPipe => "gpipe",
            Self::OneForwardOneBackward => "1f1b",
            Self::Unknown => "unknown",
        }
    }

    fn of(order: &str) -> Self {
        let forwards = order.chars().take_while(|&mark| mark == 'F').count();
        let all = order.chars().filter(|&mark| mark == 'F').count();
        match (forwards, all) {
            (_, 0 | 1) => Self::Unknown,
            (forwards, all) if forwards == all => Self::GPipe,
            _ => Self::OneForwardOneBackward,
        }
    }
}

/// Share of a step that filling and draining take at equal stages: (p − 1)/(m + p − 1).
#[must_use]
pub fn bubble(stages: i64, micro: i64) -> f64 {
    (stages - 1) as f64 / (micro + stages - 1) as f64
}

impl Pipeline {
    /// The slowest stage, as index into [`Pipeline::stages`].
    #[must_use]
    pub fn slowest(&self) -> usize {
        (0..self.micro_ns.len()).max_by_key(|&at| (self.micro_ns[at], std::cmp::Reverse(at))).unwrap_or(0)
    }

    /// Work of a step on the longest way through the pipeline with `micro` micro-batches, ns.
    #[must_use]
    pub fn span(&self, micro: i64) -> i64 {
        let slowest = self.micro_ns[self.slowest()];
        self.micro_ns.iter().sum::<i64>() - slowest + micro * slowest + self.optimizer_ns
    }

    /// The step with `micro` micro-batches of today's size for today's samples, ns, where today's takes `step`: what
    /// today's takes beyond its work stays.
    #[must_use]
    pub fn step_with(&self, micro: i64, step: i64) -> i64 {
        let rest = step - self.span(self.micro);
        let whole = i128::from(self.span(micro) + rest) * i128::from(self.micro);
        i64::try_from(whole / i128::from(micro.max(1))).unwrap_or(i64::MAX)
    }

    /// The same if all stages took as long as they do on average, with today's micro-batches.
    #[must_use]
    pub fn step_balanced(&self, step: i64) -> i64 {
        let stages = i64::try_from(self.stages.len()).unwrap_or(1).max(1);
        let mean = self.micro_ns.iter().sum::<i64>() / stages;
        step - self.span(self.micro) + (stages - 1 + self.micro) * mean + self.optimizer_ns
    }
}

/// The pipelines that ranks form: chains of those that send to each other.
#[must_use]
pub fn pipelines(ranks: &[RankFacts], matched: &Matched) -> Vec<Pipeline> {
    let at = |rank: u32| ranks.iter().position(|facts| facts.rank == rank);
    let mut links: Vec<(usize, usize)> = Vec::new();
    for parties in &matched.parties {
        let (from, to) = match parties {
            Parties::Pair { from, to } => (*from, *to),
            Parties::Exchange { low, high } => (*low, *high),
            Parties::Group { .. } => continue,
        };
        if let (Some(from), Some(to)) = (at(from), at(to)) {
            links.push((from.min(to), from.max(to)));
        }
    }
    links.sort_unstable();
    links.dedup();
    let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); ranks.len()];
    for (a, b) in links {
        neighbours[a].push(b);
        neighbours[b].push(a);
    }
    let mut seen = vec![false; ranks.len()];
    let mut out = Vec::new();
    for end in 0..ranks.len() {
        if seen[end] || neighbours[end].len() != 1 {
            continue;
        }
        let chain = chain(end, &neighbours, &mut seen);
        out.extend(pipeline(ranks, chain));
    }
    out
}

/// From one end of a chain to the other; empty where it is none.
fn chain(end: usize, neighbours: &[Vec<usize>], seen: &mut [bool]) -> Vec<usize> {
    let mut chain = vec![end];
    seen[end] = true;
    while let Some(&next) = neighbours[chain[chain.len() - 1]].iter().find(|&&next| !seen[next]) {
        if neighbours[next].len() > 2 {
            return Vec::new();
        }
        seen[next] = true;
        chain.push(next);
    }
    chain
}

fn pipeline(ranks: &[RankFacts], mut chain: Vec<usize>) -> Option<Pipeline> {
    let (&first, &last) = (chain.first()?, chain.last()?);
    if first == last {
        return None;
    }
    // The first stage begins its step with a send.
    if !begins_with_send(&ranks[first]) && begins_with_send(&ranks[last]) {
        chain.reverse();
    }
    let micro = chain.iter().filter_map(|&at| ranks[at].micro_batches).max()?;
    let micro = i64::from(micro).max(1);
    let of = |at: &usize| &ranks[*at].work;
    let micro_ns: Vec<i64> =
        chain.iter().map(|at| (of(at).working_ns - of(at).optimizer_ns).max(0) / micro).collect();
    let schedule = chain.iter().map(|&at| Schedule::of(&ranks[at].schedule));
    let schedule = schedule
        .clone()
        .find(|one| *one == Schedule::OneForwardOneBackward)
        .or_else(|| schedule.clone().find(|one| *one == Schedule::GPipe));
    let slowest = (0..chain.len()).max_by_key(|&at| micro_ns[at])?;
    Some(Pipeline {
        optimizer_ns: of(&chain[slowest]).optimizer_ns,
        stages: chain.iter().map(|&at| u32::try_from(at).unwrap_or(u32::MAX)).collect(),
        micro,
        schedule: schedule.unwrap_or(Schedule::Unknown),
        micro_ns,
    })
}

/// The first transfer of a rank's first whole step is a send.
fn begins_with_send(facts: &RankFacts) -> bool {
    let Some(step) = facts.steps.first() else { return false };
    let mut rows = (0..facts.rows.len()).filter(|&row| facts.rows.step[row] == step.number);
    rows.find_map(|row| match facts.class_of(row).channel {
        super::Channel::To(_) => Some(true),
        super::Channel::From(_) | super::Channel::Both(_) => Some(false),
        _ => None,
    })
    .unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two(micro_ns: [i64; 2]) -> Pipeline {
        Pipeline {
            stages: vec![0, 1],
            micro: 2,
            schedule: Schedule::GPipe,
            micro_ns: micro_ns.to_vec(),
            optimizer_ns: 0,
        }
    }

    #[test]
    fn equal_stages_lose_the_ideal_bubble() {
        let pipeline = two([10, 10]);
        assert_eq!(pipeline.span(2), 30);
        assert!((bubble(2, 2) - 1.0 / 3.0).abs() < 1e-12 && (bubble(4, 4) - 3.0 / 7.0).abs() < 1e-12);
        // Eight micro-batches take 9 × 10; two of them a quarter.
        assert_eq!(pipeline.step_with(8, 30), 22);
    }

    #[test]
    fn the_slowest_stage_is_not_cured_by_more_micro_batches() {
        let pipeline = two([32, 40]);
        assert_eq!(pipeline.span(2), 112);
        assert_eq!(pipeline.step_with(8, 115), (32 + 8 * 40 + 3) * 2 / 8);
        assert_eq!(pipeline.step_balanced(115), 3 + 3 * 36);
    }

    #[test]
    fn schedules_are_read_from_the_order() {
        assert_eq!(Schedule::of("FFBB"), Schedule::GPipe);
        assert_eq!(Schedule::of("FBFB"), Schedule::OneForwardOneBackward);
        assert_eq!(Schedule::of("FFBFBB"), Schedule::OneForwardOneBackward);
        assert_eq!(Schedule::of("FB"), Schedule::Unknown);
    }
}
