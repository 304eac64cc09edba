//! What each name takes of each step: kernels, operators, and what the host was in.
//!
//! * **Kernels** and **operators**: busy time of the ledger, so no instant counts twice; an operator has the time of the
//!   activities that its calls launched, the innermost one around the call counts.
//! * **Host**: time of the host chain in which an event was the innermost one, within the span of a step's launches.

use rustc_hash::FxHashMap;
use whyidle_model::{GpuId, HostId, Sym, Trace};

use crate::facts::{DeviceFacts, Facts};
use crate::tree::NONE;

/// What one name takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameTotal {
    /// The name.
    pub name: Sym,
    /// How often it ran, over all steps.
    pub calls: u64,
    /// Time in each step, ns, in the order of the steps.
    pub each_ns: Vec<i64>,
}

/// What names take of the steps of a device; in the order in which they are met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Kernels, copies, memsets.
    pub kernels: Vec<NameTotal>,
    /// Operators, by the GPU time they own.
    pub operators: Vec<NameTotal>,
    /// Host events, by the host's time. Runs of a name count as calls.
    pub host: Vec<NameTotal>,
}

/// The totals of a device's steps.
#[must_use]
pub fn totals(trace: &Trace, facts: &Facts, device: &DeviceFacts) -> Totals {
    let steps = device.steps.used.len();
    let [mut kernels, mut operators, mut host] = [(); 3].map(|()| Counted::new(steps));
    let mut last: Option<GpuId> = None;
    for busy in &device.ledger.busy {
        let id = busy.piece.activity;
        let (step, ns) = (busy.step as usize, busy.piece.end - busy.piece.start);
        // Pieces of one activity follow each other unless something runs over it.
        let is_new = last != Some(id);
        last = Some(id);
        kernels.add(trace.gpu.name[id.index()], step, ns, is_new);
        let operator = facts.tree.launch_of(id).and_then(|call| facts.tree.operator(trace, call));
        if let Some(operator) = operator {
            operators.add(trace.host.name[operator.index()], step, ns, is_new);
        }
    }
    for (step, window) in device.steps.used.iter().enumerate() {
        let mut before = NONE;
        for segment in facts.chain.within(window.host).filter(|segment| segment.leaf != NONE) {
            let name = trace.host.name[HostId(segment.leaf).index()];
            host.add(name, step, segment.end - segment.start, segment.leaf != before);
            before = segment.leaf;
        }
    }
    Totals { kernels: kernels.rows, operators: operators.rows, host: host.rows }
}

struct Counted {
    steps: usize,
    places: FxHashMap<Sym, usize>,
    rows: Vec<NameTotal>,
}

impl Counted {
    fn new(steps: usize) -> Self {
        Self { steps, places: FxHashMap::default(), rows: Vec::new() }
    }

    fn add(&mut self, name: Sym, step: usize, ns: i64, is_new: bool) {
        let at = *self.places.entry(name).or_insert_with(|| {
            self.rows.push(NameTotal { name, calls: 0, each_ns: vec![0; self.steps] });
            self.rows.len() - 1
        });
        self.rows[at].calls += u64::from(is_new);
        self.rows[at].each_ns[step] += ns;
    }
}
