//! What saves memory in a measured setup, and what undoing it would cost: each saver alone, as far back as fits,
//! and the largest batch that fits. What undoing returns in time is not the planner's to say.

use crate::calibrate::{Calibration, Range};
use crate::memory::Memory;
use crate::setup::{Checkpointing, Offload, Optimizer, Parallel, Setup, Sharding};

/// A saver of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaverId {
    /// Layers are computed again in backward.
    Checkpointing,
    /// Weights are gathered again in backward.
    Regathering,
    /// Weights, gradients or states are shared out.
    Sharding,
    /// Optimizer states of 8 bits.
    EightBit,
    /// State lives in host memory.
    Offload,
    /// The step is cut into micro-batches.
    MicroBatches,
}

impl SaverId {
    /// Every saver.
    pub const ALL: [Self; 6] = [
        Self::Checkpointing,
        Self::Regathering,
        Self::Sharding,
        Self::EightBit,
        Self::Offload,
        Self::MicroBatches,
    ];

    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Checkpointing => "checkpointing",
            Self::Regathering => "regathering",
            Self::Sharding => "sharding",
            Self::EightBit => "eight-bit",
            Self::Offload => "offload",
            Self::MicroBatches => "micro-batches",
        }
    }

    /// Setups with less of this saver, the one without it first; empty where it is not in use.
    fn undone(self, setup: &Setup) -> Vec<Setup> {
        let with = |change: &dyn Fn(&mut Setup)| {
            let mut setup = setup.clone();
            change(&mut setup);
            setup
        };
        let p = &setup.parallel;
        match self {
            Self::Checkpointing if setup.checkpointing == Checkpointing::None => Vec::new(),
            Self::Checkpointing => {
                let kept = match setup.checkpointing {
                    Checkpointing::Every(k) => k,
                    _ => u64::MAX,
                };
                let modes = [Checkpointing::None].into_iter();
                let modes =
                    modes.chain([2, 3, 4].into_iter().filter(|k| *k < kept).map(Checkpointing::Every));
                modes.map(|mode| with(&|s| s.checkpointing = mode)).collect()
            }
            Self::Regathering if p.sharding == Sharding::Full => {
                vec![with(&|s| s.parallel.sharding = Sharding::KeepGathered)]
            }
            Self::Sharding if p.data > 1 && p.sharding != Sharding::None => {
                vec![with(&|s| {
                    s.parallel = Parallel { sharding: Sharding::None, bucket_view: true, ..s.parallel };
                })]
            }
            Self::EightBit if setup.optimizer == Optimizer::AdamW8bit => {
                vec![with(&|s| s.optimizer = Optimizer::AdamW)]
            }
            Self::Offload if setup.offload != Offload::None => vec![with(&|s| s.offload = Offload::None)],
            // A pipeline needs its micro-batches.
            Self::MicroBatches if setup.micro_batches > 1 && p.pipeline == 1 => (2..=setup.micro_batches)
                .rev()
                .filter(|factor| setup.micro_batches.is_multiple_of(*factor))
                .map(|factor| {
                    with(&|s| {
                        s.batch *= factor;
                        s.micro_batches /= factor;
                    })
                })
                .collect(),
            _ => Vec::new(),
        }
    }
}

/// A saver in use, undone as far as fits; wholly undone where nothing fits.
#[derive(Clone, Debug)]
pub struct Saver {
    /// Which.
    pub id: SaverId,
    /// The setup without it, or with less of it.
    pub setup: Setup,
    /// Its memory.
    pub memory: Memory,
    /// Range of what it allocates, bytes.
    pub allocated: Range,
    /// Bytes that it allocates more at the peak than now.
    pub costs: f64,
    /// Bytes that are missing, if so much stays free; 0 where it fits.
    pub missing: f64,
}

/// Everything in use that saves memory. `free` is the share of the GPU's memory that stays free.
#[must_use]
pub fn savers(calibration: &Calibration, free: f64) -> Vec<Saver> {
    let now = calibration.memory(&calibration.observed.setup).0;
    SaverId::ALL
        .into_iter()
        .filter_map(|id| {
            let all: Vec<Saver> = id
                .undone(&calibration.observed.setup)
                .into_iter()
                .map(|setup| judged(calibration, id, setup, now.allocated, free))
                .collect();
            let fits = all.iter().position(|saver| saver.missing == 0.0).unwrap_or(0);
            all.into_iter().nth(fits)
        })
        .collect()
}

fn judged(calibration: &Calibration, id: SaverId, setup: Setup, now: f64, free: f64) -> Saver {
    let (memory, allocated) = calibration.memory(&setup);
    // What is missing is judged by the upper end of the range.
    let doubt = allocated.high - allocated.best;
    let missing = (memory.needed() + doubt - calibration.target.memory * (1.0 - free)).max(0.0);
    Saver { id, costs: memory.allocated - now, setup, memory, allocated, missing }
}

/// A batch that fits.
#[derive(Clone, Debug)]
pub struct Larger {
    /// How many times today's batch.
    pub factor: u64,
    /// The setup.
    pub setup: Setup,
    /// Its memory.
    pub memory: Memory,
    /// Range of what it allocates, bytes.
    pub allocated: Range,
}

/// The largest batch, today's times a power of two up to `most`, that leaves `free` of the memory; `None` where not
/// even twice today's does.
#[must_use]
pub fn larger_batch(calibration: &Calibration, free: f64, most: u64) -> Option<Larger> {
    let base = &calibration.observed.setup;
    let mut best = None;
    let mut factor = 2;
    while factor <= most {
        let setup = Setup { batch: base.batch * factor, ..base.clone() };
        let (memory, allocated) = calibration.memory(&setup);
        let doubt = allocated.high - allocated.best;
        if memory.needed() + doubt > calibration.target.memory * (1.0 - free) {
            break;
        }
        best = Some(Larger { factor, setup, memory, allocated });
        factor *= 2;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Measured, Observed, Said, gpu, preset};

    fn calibrated(change: impl Fn(&mut Setup)) -> Calibration {
        let mut setup = Setup::new(preset("llama-3.2-1b").expect("a preset"), 1, 2048);
        change(&mut setup);
        let gpu = gpu("h200", &[]).expect("a GPU");
        let observed = Observed::described(setup, gpu.clone(), &Said::default()).expect("a setup");
        let measured = Measured::new(0.2, 0.19, 0.01);
        Calibration::new(observed, gpu, measured).expect("a possible peak")
    }

    #[test]
    fn every_saver_in_use_is_listed_with_its_price() {
        let found = calibrated(|setup| {
            (setup.checkpointing, setup.optimizer) = (Checkpointing::Full, Optimizer::AdamW8bit);
            setup.micro_batches = 4;
            setup.parallel = Parallel { data: 8, sharding: Sharding::Full, ..Parallel::default() };
        });
        let list = savers(&found, 0.1);
        let ids: Vec<_> = list.iter().map(|saver| saver.id.id()).collect();
        assert_eq!(ids, ["checkpointing", "regathering", "sharding", "eight-bit", "micro-batches"]);
        for saver in &list {
            assert!(saver.costs > 0.0 && saver.missing == 0.0, "{:?}: {}", saver.id, saver.costs);
            assert_eq!(saver.setup.global_batch(), found.observed.setup.global_batch(), "{:?}", saver.id);
        }
        // Eight ranks' shares come back: weights, gradients and 8-bit states, of which an eighth was there.
        let states = 0.875 * (4.0 + 4.0 + 2.03) * 1.236e9;
        let sharding = list.iter().find(|saver| saver.id == SaverId::Sharding).expect("a saver");
        assert!(sharding.costs > 0.8 * states, "{} {states}", sharding.costs);
    }

    #[test]
    fn what_does_not_fit_whole_is_undone_in_part_or_says_what_is_missing() {
        let found = calibrated(|setup| {
            (setup.checkpointing, setup.batch) = (Checkpointing::Full, 20);
        });
        let part = &savers(&found, 0.1)[0];
        assert!(
            matches!(part.setup.checkpointing, Checkpointing::Every(_)) && part.missing == 0.0,
            "{part:?}"
        );
        let found = calibrated(|setup| (setup.checkpointing, setup.batch) = (Checkpointing::Full, 34));
        let none = &savers(&found, 0.1)[0];
        assert!(none.missing > 0.0);
        assert!(larger_batch(&found, 0.1, 64).is_none());
    }

    #[test]
    fn nothing_in_use_is_nothing_to_undo() {
        assert!(savers(&calibrated(|_| {}), 0.1).is_empty());
        let larger = larger_batch(&calibrated(|_| {}), 0.1, 1 << 10).expect("a larger batch");
        assert!(larger.memory.needed() < 0.9 * 139.8 * f64::from(1 << 30) && larger.factor >= 4);
    }
}
