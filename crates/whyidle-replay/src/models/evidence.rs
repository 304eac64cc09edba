//! What a kernel model rests on, as plain data: no wording.

use rustc_hash::FxHashMap;
use whyidle_analysis::facts::Facts;
use whyidle_model::{GpuId, HostId, Sym, Trace};

use super::context::Context;

/// Rows kept of each list.
const KEPT: usize = 8;

/// Something with a name and its part of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Kernel, operator or Python frame.
    pub name: Sym,
    /// Activities per step.
    pub per_step: f64,
    /// GPU time per step, ns.
    pub ns_per_step: i64,
}

/// Operators with the same inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapeShare {
    /// The operator.
    pub operator: Sym,
    /// Sides of its inputs.
    pub inputs: Vec<Vec<i64>>,
    /// Operators per step.
    pub per_step: f64,
    /// GPU time per step, ns.
    pub ns_per_step: i64,
    /// FLOP/s reached, if it computes products.
    pub achieved: Option<f64>,
}

/// A fact of one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fact {
    /// Operators per step that the change replaces.
    Operators,
    /// Kernels per step that remain of those changed.
    KernelsAfter,
    /// Casts between types per step.
    Casts,
    /// GPU time of those, ns per step.
    CastNs,
    /// GPU time of casts that autocast would add, ns per step.
    AddedCastNs,
    /// 1 if the fp32 products already run in TF32.
    Tf32InUse,
    /// What TF32 alone would save, ns per step.
    Tf32SavedNs,
    /// Layout copies per step.
    LayoutCopies,
    /// GPU time of those, ns per step.
    LayoutCopyNs,
    /// Batch times heads of the scores.
    Heads,
    /// Sequence of the queries.
    Queries,
    /// Sequence of the keys.
    Keys,
    /// Width of a head.
    Width,
    /// 1 if taken as causal.
    Causal,
    /// Bytes of one score matrix.
    ScoreBytes,
    /// The side that is off the grid.
    Side,
    /// The side that it would be padded to.
    PaddedSide,
    /// Fewest elements that a step worked on, among the steps used.
    FewestTokens,
    /// Most elements.
    MostTokens,
    /// Different shapes of the largest input over the steps.
    DistinctShapes,
    /// Share of the padded batch that is no data, if every step were padded to the longest.
    PaddedShare,
}

/// What a model rests on.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Activities per step.
    pub activities_per_step: f64,
    /// Their GPU time per step, ns.
    pub time_ns_per_step: i64,
    /// FLOPs per step.
    pub flops_per_step: f64,
    /// Least bytes moved per step, as the program is now.
    pub bytes_per_step: f64,
    /// Least bytes moved per step after the change; 0 if the model does not count bytes.
    pub bytes_after_per_step: f64,
    /// Rate reached now, FLOP/s.
    pub achieved: Option<f64>,
    /// Rate that the model takes for possible, FLOP/s.
    pub possible: Option<f64>,
    /// Longest kernels.
    pub kernels: Vec<Share>,
    /// Operators by time; those around them where they say more (`aten::linear`).
    pub operators: Vec<Share>,
    /// Inputs by time.
    pub shapes: Vec<ShapeShare>,
    /// The program's own Python frames by time, where stacks were recorded.
    pub frames: Vec<Share>,
    /// Facts of the model.
    pub facts: Vec<(Fact, f64)>,
}

impl Evidence {
    /// A fact by name.
    #[must_use]
    pub fn fact(&self, fact: Fact) -> Option<f64> {
        self.facts.iter().find(|row| row.0 == fact).map(|row| row.1)
    }
}

/// Sums evidence over activities of the steps used.
pub(crate) struct Gather<'a> {
    trace: &'a Trace,
    facts: &'a Facts,
    context: &'a Context,
    kernels: FxHashMap<Sym, (u64, i64)>,
    operators: FxHashMap<Sym, (u64, i64)>,
    frames: FxHashMap<Sym, (u64, i64)>,
    shapes: FxHashMap<u32, (u64, i64)>,
    count: u64,
    time: i64,
    flops: f64,
    bytes: f64,
}

impl<'a> Gather<'a> {
    pub(crate) fn new(trace: &'a Trace, facts: &'a Facts, context: &'a Context) -> Self {
        Self {
            trace,
            facts,
            context,
            kernels: FxHashMap::default(),
            operators: FxHashMap::default(),
            frames: FxHashMap::default(),
            shapes: FxHashMap::default(),
            count: 0,
            time: 0,
            flops: 0.0,
            bytes: 0.0,
        }
    }

    /// Adds an entry of [`Context::launched`], as far as it lies in the steps used.
    pub(crate) fn launched(&mut self, entry: usize) {
        let context = self.context;
        let launched = &context.launched[entry];
        let mut first = true;
        for &id in &launched.activities {
            if context.step(id).is_some() {
                self.activity(id, std::mem::take(&mut first));
            }
        }
    }

    /// Adds one activity; `first` of its operator if the operator is to be counted with it.
    pub(crate) fn activity(&mut self, id: GpuId, first: bool) {
        let ns = self.context.used_ns(id);
        self.count += 1;
        self.time += ns;
        let add = |map: &mut FxHashMap<Sym, (u64, i64)>, name: Sym, count: u64| {
            let row = map.entry(name).or_default();
            *row = (row.0 + count, row.1 + ns);
        };
        add(&mut self.kernels, self.trace.gpu.name[id.index()], 1);
        let Some(owner) = self.context.operators.owner(id) else { return };
        let (operator, kind) = (self.context.operators.list[owner], self.context.operators.kind(owner));
        add(&mut self.operators, kind.name, u64::from(first));
        let row = self.shapes.entry(operator.kind).or_default();
        *row = (row.0 + u64::from(first), row.1 + ns);
        if first {
            self.flops += kind.flops;
            self.bytes += kind.bytes();
        }
        if let Some(frame) = user_frame(self.trace, self.facts, self.context, operator.host) {
            add(&mut self.frames, frame, 1);
        }
    }

    /// The sums per step.
    pub(crate) fn finish(self) -> Evidence {
        let steps = self.context.steps.max(1);
        let per_step = |count: u64| count as f64 / steps as f64;
        let ns_per_step = |ns: i64| ns / i64::try_from(steps).unwrap_or(1);
        let shares = |map: FxHashMap<Sym, (u64, i64)>| {
            let mut rows: Vec<Share> = map
                .into_iter()
                .map(|(name, (count, ns))| Share {
                    name,
                    per_step: per_step(count),
                    ns_per_step: ns_per_step(ns),
                })
                .collect();
            rows.sort_by_key(|row| (std::cmp::Reverse(row.ns_per_step), row.name));
            rows.truncate(KEPT);
            rows
        };
        let mut kinds: Vec<(u32, (u64, i64))> = self.shapes.into_iter().collect();
        kinds.sort_by_key(|&(kind, (_, ns))| (std::cmp::Reverse(ns), kind));
        let shapes = kinds.into_iter().take(KEPT).map(|(kind, (count, ns))| {
            let kind = self.context.operators.kind_of(kind);
            let inputs = self.context.operators.inputs(kind);
            ShapeShare {
                operator: kind.name,
                inputs: inputs.iter().map(|tensor| tensor.dims.to_vec()).collect(),
                per_step: per_step(count),
                ns_per_step: ns_per_step(ns),
                achieved: (kind.flops > 0.0 && ns > 0).then(|| kind.flops * count as f64 / ns as f64 * 1e9),
            }
        });
        Evidence {
            activities_per_step: per_step(self.count),
            time_ns_per_step: ns_per_step(self.time),
            flops_per_step: self.flops / steps as f64,
            bytes_per_step: self.bytes / steps as f64,
            achieved: (self.flops > 0.0 && self.time > 0).then(|| self.flops / self.time as f64 * 1e9),
            shapes: shapes.collect(),
            kernels: shares(self.kernels),
            operators: shares(self.operators),
            frames: shares(self.frames),
            ..Evidence::default()
        }
    }
}

/// The user's own frame around an event; in backward, around the forward operator. `None` without stacks.
#[must_use]
pub fn user_frame(trace: &Trace, facts: &Facts, context: &Context, event: HostId) -> Option<Sym> {
    facts.user_frame(trace, context.forward_of(trace, facts, event).unwrap_or(event))
}
