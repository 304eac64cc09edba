//! By what a search judges strategies: a stated rate, or a measured step.

use super::{Request, modes};
use crate::calibrate::{Calibration, Pace};
use crate::memory::{Memory, worst};
use crate::setup::{Checkpointing, Parallel, Setup, Sharding};
use crate::work::{Estimate, estimate, rows_efficiency};

/// Where the rates of strategies come from.
#[derive(Clone, Debug)]
pub enum Rates {
    /// Matrix products reach this share of the peak.
    Stated(f64),
    /// A measured step, with its pace; what its peak has beyond the model is in every strategy's memory.
    Measured(Box<Calibration>),
    /// A measured step whose memory counts and whose pace does not; products reach this share of the peak.
    Remembered(Box<Calibration>, f64),
}

/// [`Rates`], ready for many strategies: of a measured step the pace by checkpointing and sharding.
pub(super) enum Judge<'a> {
    Stated(f64),
    Measured(&'a Calibration, Vec<((Checkpointing, Sharding), Pace)>),
    Remembered(&'a Calibration, f64),
}

impl<'a> Judge<'a> {
    pub(super) fn new(request: &'a Request) -> Self {
        match &request.rates {
            Rates::Stated(efficiency) => Self::Stated(*efficiency),
            Rates::Remembered(calibration, efficiency) => Self::Remembered(calibration, *efficiency),
            Rates::Measured(calibration) => {
                let pace = |(checkpointing, sharding)| {
                    let parallel = Parallel { sharding, ..Parallel::default() };
                    let setup = Setup { checkpointing, parallel, ..request.base.clone() };
                    ((checkpointing, sharding), calibration.pace(&setup))
                };
                let modes = modes(&request.base).into_iter();
                let kinds = modes.flat_map(|mode| Sharding::ALL.map(|sharding| (mode, sharding)));
                Self::Measured(calibration, kinds.map(pace).collect())
            }
        }
    }

    /// Whether anything is known of such a setup.
    pub(super) fn knows(&self, setup: &Setup) -> bool {
        !matches!(self, Self::Measured(calibration, _) if !calibration.within_reach(setup))
    }

    /// Memory, and bytes by which it may be more.
    pub(super) fn memory(&self, setup: &Setup) -> (Memory, f64) {
        match self {
            Self::Stated(_) => (worst(setup), 0.0),
            Self::Measured(calibration, _) | Self::Remembered(calibration, _) => {
                let (memory, range) = calibration.memory(setup);
                (memory, range.high - range.best)
            }
        }
    }

    pub(super) fn step(&self, request: &Request, setup: &Setup) -> Estimate {
        let (gpu, network, schedule) = (&request.gpu, &request.network, setup.parallel.schedule());
        let stated = |efficiency: f64| {
            // Products of few rows run below the rate of long ones.
            let efficiency = efficiency * rows_efficiency((setup.batch * setup.seq) as f64);
            estimate(setup, gpu, network, schedule, efficiency)
        };
        match self {
            Self::Stated(efficiency) | Self::Remembered(_, efficiency) => stated(*efficiency),
            Self::Measured(calibration, paces) => paces
                .iter()
                .find(|(kind, _)| *kind == (setup.checkpointing, setup.parallel.sharding))
                .map_or_else(
                    || calibration.estimate(setup, network, schedule).0,
                    |(_, pace)| pace.best(setup, gpu, network, schedule),
                ),
        }
    }
}
