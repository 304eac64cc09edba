//! All facts of one trace together, computed once and shared by everything above.

use whyidle_model::Trace;

use crate::chain::Chain;
use crate::device::{self, Occupancy, Piece};
use crate::kernelclass::Work;
use crate::ledger::{Ledger, ledger};
use crate::steps::{DeviceSteps, FoundBy, HostStep, device_steps, host_steps};
use crate::tree::HostTree;
use crate::work::works;

/// Facts that hold for the whole trace.
pub struct Facts {
    /// Nesting of host events.
    pub tree: HostTree,
    /// The host chain.
    pub chain: Chain,
    /// The work of every GPU activity.
    pub works: Vec<Work>,
    /// How steps were found.
    pub found_by: FoundBy,
    /// Steps on the host.
    pub host_steps: Vec<HostStep>,
}

/// Facts of one device.
pub struct DeviceFacts {
    /// Number of the device.
    pub device: i32,
    /// Its activities by start.
    pub rows: Vec<u32>,
    /// Its time, each busy nanosecond with one owner.
    pub painted: Vec<Piece>,
    /// Measures over the whole trace.
    pub occupancy: Occupancy,
    /// Its steps.
    pub steps: DeviceSteps,
    /// Its ledger over the steps used.
    pub ledger: Ledger,
}

impl Facts {
    /// The facts of `trace`.
    #[must_use]
    pub fn new(trace: &Trace) -> Self {
        let tree = HostTree::new(trace);
        let chain = Chain::new(trace, &tree);
        let works = works(trace, &tree);
        let (found_by, host_steps) = host_steps(trace, &tree);
        Self { tree, chain, works, found_by, host_steps }
    }

    /// The facts of one device. `keep` says which steps, by number, are to be analysed.
    #[must_use]
    pub fn device(&self, trace: &Trace, device: i32, keep: impl Fn(i64) -> bool) -> DeviceFacts {
        let rows = device::activities(trace, device);
        let painted = device::paint(trace, &rows, &self.works);
        let occupancy = device::occupancy(trace, &rows, &self.works);
        let mut steps = device_steps(trace, &self.tree, &rows, self.found_by, &self.host_steps);
        steps.used.retain(|step| keep(step.number));
        let ledger = ledger(trace, &self.tree, &self.chain, &self.works, &painted, &steps.used);
        DeviceFacts { device, rows, painted, occupancy, steps, ledger }
    }
}
