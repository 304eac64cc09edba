//! All facts of one trace together, computed once and shared by everything above.

use whyidle_model::{HostId, HostKind, Sym, Trace, Vendor};

use crate::chain::Chain;
use crate::device::{self, Occupancy, Piece};
use crate::hostclass::is_user_frame;
use crate::kernelclass::Work;
use crate::ledger::{Ledger, ledger};
use crate::steps::{DeviceSteps, FoundBy, HostStep, device_steps, host_steps};
use crate::tree::HostTree;
use crate::vendor::vendor;
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
    /// Who made the devices.
    pub vendor: Vendor,
    /// By symbol: a Python frame of the user's own. Empty without stacks.
    user_frames: Vec<bool>,
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
        let has_stacks = trace.host.kind.contains(&HostKind::Python);
        let user_frames = if has_stacks { trace.names.map(is_user_frame) } else { Vec::new() };
        Self { tree, chain, works, found_by, host_steps, vendor: vendor(trace), user_frames }
    }

    /// The frame that a host event is, if it is one of the user's own code.
    #[must_use]
    pub fn as_user_frame(&self, trace: &Trace, id: HostId) -> Option<Sym> {
        let name = trace.host.name[id.index()];
        let own = trace.host.kind[id.index()] == HostKind::Python && self.user_frames[name.index()];
        own.then_some(name)
    }

    /// The innermost frame of the user's own code around a host event. `None` without stacks.
    #[must_use]
    pub fn user_frame(&self, trace: &Trace, id: HostId) -> Option<Sym> {
        if self.user_frames.is_empty() {
            return None;
        }
        self.tree.ancestry(id).find_map(|at| self.as_user_frame(trace, at))
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
