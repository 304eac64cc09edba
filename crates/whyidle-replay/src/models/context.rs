//! What all kernel models need of one device, computed once.

use rustc_hash::FxHashMap;
use whyidle_analysis::facts::{DeviceFacts, Facts};
use whyidle_analysis::operators::{OpKind, Operators};
use whyidle_analysis::rates::{Rates, rates};
use whyidle_analysis::steps::launch_time;
use whyidle_analysis::tree::NONE;
use whyidle_model::{GpuId, HostId, HostKind, Trace};

use super::roof::Roof;

/// The activities of one operator, together.
#[derive(Clone, Debug)]
pub struct Launched {
    /// The operator, as index into [`Operators::list`]; `None` for activities that no operator owns.
    pub operator: Option<usize>,
    /// Its activities, in launch order.
    pub activities: Vec<GpuId>,
    /// Its first launch, ns.
    pub launched: i64,
    /// GPU time, ns, over the whole trace.
    pub total_ns: i64,
    /// GPU time, ns, in the steps used.
    pub used_ns: i64,
    /// Launched in backward.
    pub backward: bool,
    /// Belongs to the optimizer, to a loader or to a collective, or copies from or to the host.
    pub outside: bool,
}

/// What all kernel models need of one device.
pub struct Context {
    /// Owners of activities.
    pub operators: Operators,
    /// Peak rates of the product, if it is known.
    pub rates: Option<&'static Rates>,
    /// Rates that can be reached.
    pub roof: Roof,
    /// Operators with their activities on this device, in launch order.
    pub launched: Vec<Launched>,
    /// Number of steps used.
    pub steps: usize,
    exclusive: Vec<i64>,
    used: Vec<u32>,
    /// Forward operators by autograd's sequence number, where stacks were recorded.
    forward: FxHashMap<i32, HostId>,
}

impl Context {
    /// The context of one device.
    #[must_use]
    pub fn new(trace: &Trace, facts: &Facts, device: &DeviceFacts) -> Self {
        let operators = Operators::new(trace, &facts.tree);
        let mut exclusive = vec![0; trace.gpu.len()];
        for piece in &device.painted {
            exclusive[piece.activity.index()] += piece.end - piece.start;
        }
        let mut used = vec![NONE; trace.gpu.len()];
        // Without a launch, an activity belongs to no step, unless no launch was recorded at all.
        let no_launches = device.rows.iter().all(|&row| facts.tree.launch_of(GpuId(row)).is_none());
        for &row in &device.rows {
            let id = GpuId(row);
            if facts.tree.launch_of(id).is_none() && !no_launches {
                continue;
            }
            let at = launch_time(trace, &facts.tree, id);
            let step = device.steps.launched_at(at);
            used[row as usize] = step.and_then(|step| u32::try_from(step).ok()).unwrap_or(NONE);
        }
        let product = trace.meta.devices.iter().find(|properties| properties.id == device.device);
        let rates = product.and_then(|properties| rates(&properties.name));
        let mut context = Self {
            operators,
            rates,
            roof: Roof::default(),
            launched: Vec::new(),
            steps: device.steps.used.len(),
            exclusive,
            used,
            forward: forward_operators(trace, facts),
        };
        context.group(trace, facts, device);
        context.roof = Roof::new(rates, &context.operators, &context.launched);
        context
    }

    /// Groups activities by operator, in launch order.
    fn group(&mut self, trace: &Trace, facts: &Facts, device: &DeviceFacts) {
        use whyidle_analysis::kernelclass::Work;
        use whyidle_analysis::tree::Context as Inside;
        let mut rows: Vec<(i64, u32)> =
            device.rows.iter().map(|&row| (launch_time(trace, &facts.tree, GpuId(row)), row)).collect();
        rows.sort_unstable();
        let mut group_of: Vec<u32> = vec![NONE; self.operators.list.len()];
        for (at, row) in rows {
            let id = GpuId(row);
            let owner = self.operators.owner(id);
            let known = owner.map(|owner| group_of[owner]).filter(|&group| group != NONE);
            let group = known.map_or(self.launched.len(), |group| group as usize);
            if group == self.launched.len() {
                let call = facts.tree.launch_of(id);
                let inside = call.map(|call| facts.tree.context(call));
                let work = facts.works[id.index()];
                let outside = matches!(
                    inside,
                    Some(
                        Inside::Optimizer
                            | Inside::LoadInProcess
                            | Inside::LoadFromWorkers
                            | Inside::Transfer
                    )
                ) || matches!(work, Work::Optimizer | Work::Collective | Work::HostCopy);
                if let Some(owner) = owner {
                    group_of[owner] = u32::try_from(group).unwrap_or(NONE);
                }
                self.launched.push(Launched {
                    operator: owner,
                    activities: Vec::new(),
                    launched: at,
                    total_ns: 0,
                    used_ns: 0,
                    backward: call.is_some_and(|call| facts.tree.is_backward(call)),
                    outside,
                });
            }
            let (length, used) = (self.exclusive[id.index()], self.used_ns(id));
            let entry = &mut self.launched[group];
            entry.activities.push(id);
            entry.total_ns += length;
            entry.used_ns += used;
        }
    }

    /// The step used that an activity was launched in, as index.
    #[must_use]
    pub fn step(&self, activity: GpuId) -> Option<usize> {
        let step = self.used[activity.index()];
        (step != NONE).then_some(step as usize)
    }

    /// GPU time that an activity alone accounts for, ns.
    #[must_use]
    pub(crate) fn exclusive_ns(&self, activity: GpuId) -> i64 {
        self.exclusive[activity.index()]
    }

    /// The same if it belongs to a step used, else 0.
    #[must_use]
    pub(crate) fn used_ns(&self, activity: GpuId) -> i64 {
        if self.step(activity).is_some() { self.exclusive_ns(activity) } else { 0 }
    }

    /// The forward operator whose gradient an event in backward computes.
    #[must_use]
    pub(crate) fn forward_of(&self, trace: &Trace, facts: &Facts, event: HostId) -> Option<HostId> {
        let node = facts.tree.ancestry(event).find(|at| trace.host.forward_thread[at.index()] != 0)?;
        self.forward.get(&trace.host.sequence[node.index()]).copied()
    }

    /// GPU time of all activities in the steps used, ns.
    #[must_use]
    pub(crate) fn busy_ns(&self) -> i64 {
        self.launched.iter().map(|launched| launched.used_ns).sum()
    }

    /// The kind of an entry's operator.
    #[must_use]
    pub fn kind(&self, launched: &Launched) -> Option<&OpKind> {
        launched.operator.map(|operator| self.operators.kind(operator))
    }
}

/// The last forward operator of each sequence number: the one that made the node of backward.
fn forward_operators(trace: &Trace, facts: &Facts) -> FxHashMap<i32, HostId> {
    let mut forward = FxHashMap::default();
    if trace.meta.with_stack {
        for row in 0..trace.host.len() {
            let id = HostId::from_index(row);
            let tracked = trace.host.sequence[row] >= 0 && trace.host.forward_thread[row] == 0;
            if tracked && trace.host.kind[row] == HostKind::Op && !facts.tree.is_backward(id) {
                forward.insert(trace.host.sequence[row], id);
            }
        }
    }
    forward
}
