//! What rows are made of, and what several tables share of it.

use std::cell::OnceCell;

use whyidle_analysis::device::devices;
use whyidle_analysis::facts::{DeviceFacts, Facts};
use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::NONE;
use whyidle_model::{HostId, Samples, Trace};

/// A trace with its facts, as one of the traces of a query or an export.
pub struct Traced<'a> {
    /// Number of the trace among those read, from 0.
    pub number: i64,
    /// Where it was read from.
    pub path: &'a str,
    /// The trace.
    pub trace: &'a Trace,
    /// Its facts.
    pub facts: &'a Facts,
    /// The facts of each of its devices, by number.
    pub devices: Vec<DeviceFacts>,
    own_time: OnceCell<Vec<i64>>,
    charges: OnceCell<Vec<Charge>>,
}

/// What of an activity was charged to the ledger.
#[derive(Clone, Copy)]
pub(crate) struct Charge {
    /// Line of its first piece; `None`: it lies in no step, or under others throughout.
    pub(crate) line: Option<Line>,
    /// Number of the step of its first piece.
    pub(crate) step: i64,
    /// Time of all pieces, ns.
    pub(crate) ns: i64,
}

impl<'a> Traced<'a> {
    /// The trace numbered `number`, with the facts of all its devices.
    #[must_use]
    pub fn new(number: i64, path: &'a str, trace: &'a Trace, facts: &'a Facts) -> Self {
        let devices =
            devices(trace).into_iter().map(|device| facts.device(trace, device, |_| true)).collect();
        Self { number, path, trace, facts, devices, own_time: OnceCell::new(), charges: OnceCell::new() }
    }

    /// The device that a verdict is about: the one that works longest.
    #[must_use]
    pub fn shown(&self) -> Option<&DeviceFacts> {
        self.devices.iter().max_by_key(|device| device.occupancy.working_ns)
    }

    /// The name behind a symbol.
    pub(crate) fn name(&self, sym: whyidle_model::Sym) -> &'a str {
        self.trace.names.get(sym)
    }

    /// Number of the step on the host in which something begins at `time`.
    pub(crate) fn host_step(&self, time: i64) -> Option<i64> {
        let steps = &self.facts.host_steps;
        let at = steps.partition_point(|step| step.host.start <= time).checked_sub(1)?;
        (time < steps[at].host.end).then_some(steps[at].number)
    }

    /// By host event: the time in which it was the innermost one of its thread, ns.
    pub(crate) fn own_time(&self) -> &[i64] {
        self.own_time.get_or_init(|| {
            let mut own = vec![0; self.trace.host.len()];
            for thread in 0..self.trace.threads.len() {
                for segment in self.facts.tree.segments(self.trace, thread) {
                    if segment.leaf != NONE {
                        own[HostId(segment.leaf).index()] += segment.end - segment.start;
                    }
                }
            }
            own
        })
    }

    /// By activity: what of it is in the ledger.
    pub(crate) fn charges(&self) -> &[Charge] {
        self.charges.get_or_init(|| {
            let mut charges = vec![Charge { line: None, step: 0, ns: 0 }; self.trace.gpu.len()];
            for device in &self.devices {
                for busy in &device.ledger.busy {
                    let charge = &mut charges[busy.piece.activity.index()];
                    if charge.line.is_none() {
                        charge.line = Some(busy.line);
                        charge.step = device.steps.used[busy.step as usize].number;
                    }
                    charge.ns += busy.piece.end - busy.piece.start;
                }
            }
            charges
        })
    }
}

/// The samples of a recording.
pub struct Sampled<'a> {
    /// The samples.
    pub samples: &'a Samples,
}
