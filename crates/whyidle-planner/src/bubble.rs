//! Idle share of a pipeline: fill and drain, by schedule.

/// The order in which stages work on micro-batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// All forward, then all backward (GPipe, arXiv 1811.06965).
    GPipe,
    /// One forward, one backward (PipeDream-flush; arXiv 2104.04473, §2.2.1).
    OneForwardOneBackward,
    /// The same with `chunks` pieces of the model per stage (arXiv 2104.04473, §2.2.2).
    Interleaved {
        /// Pieces per stage.
        chunks: u64,
    },
    /// Weight gradients fill the drain at 1F1B's memory (ZB-H1, arXiv 2401.10241, §3).
    ZeroBubble,
}

impl Schedule {
    /// Bubble over the time of useful work: (p − 1)/m for GPipe and 1F1B, that divided by the chunks
    /// when interleaved, a third of it for ZB-H1 where forward, backward and weight gradients take
    /// equal time.
    #[must_use]
    pub fn bubble(self, stages: u64, micro_batches: u64) -> f64 {
        if stages <= 1 || micro_batches == 0 {
            return 0.0;
        }
        let plain = (stages - 1) as f64 / micro_batches as f64;
        match self {
            Self::GPipe | Self::OneForwardOneBackward => plain,
            Self::Interleaved { chunks } => plain / chunks.max(1) as f64,
            Self::ZeroBubble => plain / 3.0,
        }
    }

    /// Bubble as a share of the step.
    #[must_use]
    pub fn share(self, stages: u64, micro_batches: u64) -> f64 {
        let bubble = self.bubble(stages, micro_batches);
        bubble / (1.0 + bubble)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }

    #[test]
    fn worked_examples() {
        // p = m = 4: 3/7 of the step.
        close(Schedule::OneForwardOneBackward.share(4, 4), 3.0 / 7.0);
        close(Schedule::GPipe.share(4, 4), 3.0 / 7.0);
        // 1F1B and GPipe differ in memory, not in time (arXiv 2104.04473, §2.2.1).
        close(Schedule::GPipe.bubble(8, 64), 7.0 / 64.0);
        // Figure 4 of arXiv 2104.04473: p = 4, m = 8, v = 2.
        close(Schedule::Interleaved { chunks: 2 }.bubble(4, 8), 3.0 / 16.0);
        close(Schedule::ZeroBubble.bubble(4, 8), 1.0 / 8.0);
        close(Schedule::GPipe.share(1, 4), 0.0);
    }
}
