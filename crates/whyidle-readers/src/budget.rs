//! What reading one input may cost: bytes, nesting, nodes and time, the same for every reader.
//!
//! Inputs are other people's. A file that inflates without end, a list inside a list inside a list, or a table of
//! billions of rows must end as a note on a verdict, never as a program that has to be killed. Whoever goes over the
//! budget keeps what was read until then and adds [`NoteCode::OverBudget`](whyidle_model::NoteCode::OverBudget).

use std::time::{Duration, Instant};

/// What reading one input may cost at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Bytes, inflated.
    pub bytes: u64,
    /// Lists in lists, objects in objects.
    pub nesting: u32,
    /// Events, rows, values: whatever the format counts in.
    pub nodes: u64,
    /// Time on the clock.
    pub time: Duration,
}

impl Default for Budget {
    /// Far beyond what is recorded: a terabyte, 128 levels, as many rows as a table holds, an hour.
    fn default() -> Self {
        Self {
            bytes: 1 << 40,
            nesting: 128,
            nodes: u64::from(u32::MAX) - 1,
            time: Duration::from_secs(3_600),
        }
    }
}

/// Nodes between two looks at the clock.
const LOOK: u64 = 1 << 12;

/// Counts what reading one input costs.
#[derive(Debug)]
pub(crate) struct Guard {
    budget: Budget,
    nodes: u64,
    until: Option<Instant>,
    over: bool,
}

impl Guard {
    pub(crate) fn new(budget: Budget) -> Self {
        Self { budget, nodes: 0, until: Instant::now().checked_add(budget.time), over: false }
    }

    /// Pays for one more node, which begins at byte `at`. False: it is not to be read, nor any after it.
    pub(crate) fn pays(&mut self, at: u64) -> bool {
        let late = || self.until.is_some_and(|until| Instant::now() > until);
        self.over |= at > self.budget.bytes
            || self.nodes >= self.budget.nodes
            || (self.nodes.is_multiple_of(LOOK) && late());
        self.nodes += 1;
        !self.over
    }

    /// Whether something may be nested so deep.
    pub(crate) fn nests(&mut self, depth: u32) -> bool {
        self.over |= depth > self.budget.nesting;
        !self.over
    }

    /// The lines of a text, as far as they are paid for: a line is a node.
    pub(crate) fn lines<'g, 't: 'g>(&'g mut self, text: &'t str) -> impl Iterator<Item = &'t str> + 'g {
        text.lines().take_while(move |line| {
            // Where it ends: lines are parts of the text.
            let end = line.as_ptr() as usize - text.as_ptr() as usize + line.len();
            self.pays(end as u64)
        })
    }

    /// The budget was gone over: what was read is not the whole.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }
}

impl Default for Guard {
    fn default() -> Self {
        Self::new(Budget::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_the_budget_ends_the_reading() {
        let small = Budget { bytes: 10, nesting: 3, nodes: 4, time: Duration::from_secs(60) };
        let mut guard = Guard::new(small);
        assert_eq!([10, 10, 10, 10, 10].map(|at| guard.pays(at)), [true, true, true, true, false]);
        let mut guard = Guard::new(small);
        assert!(guard.pays(10) && !guard.pays(11) && guard.is_over());
        // Over once is over for good.
        assert!(!guard.pays(0));
        let mut guard = Guard::new(small);
        assert!(guard.nests(3) && !guard.nests(4) && guard.is_over());
        let mut guard = Guard::new(small);
        assert_eq!(guard.lines("a\nb\n\nlonger\nend").collect::<Vec<_>>(), ["a", "b", "", "longer"][..3]);
        assert!(guard.is_over());
        let mut guard = Guard::new(small);
        assert_eq!(guard.lines("a\nb\n").count(), 2);
        assert!(!guard.is_over());
        let mut guard = Guard::new(Budget { time: Duration::ZERO, ..small });
        std::thread::yield_now();
        while Instant::now() <= guard.until.unwrap_or_else(Instant::now) {}
        assert!(!guard.pays(0));
        let mut guard = Guard::default();
        assert!((0..10_000).all(|at| guard.pays(at)));
    }
}
