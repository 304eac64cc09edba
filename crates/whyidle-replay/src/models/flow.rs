//! Data flow between operators, from shapes alone: which tensors a stretch of fusible operators
//! takes in, and which of its results leave it.
//!
//! A trace names no tensors. Operators run in launch order, so a tensor that an operator reads is
//! taken for the latest one produced with as many elements and the same type. In backward a
//! gradient is used up by the one node that receives it, and of several inputs of the same size
//! all but one are saved activations (sums of gradients apart). What a stretch must read is what
//! it did not produce itself; what it must write is what something outside reads later.

use rustc_hash::{FxHashMap, FxHashSet};
use whyidle_analysis::facts::Facts;
use whyidle_analysis::hostclass::HostClass;
use whyidle_analysis::kernelclass::{Work, classify};
use whyidle_analysis::operators::{OpClass, OpKind, Volume, bytes};
use whyidle_model::{GpuKind, HostId, HostKind, Trace};

use super::context::{Context, Launched};

/// Most slices that a tensor is split into (queries, keys, values; halves of a head; gates).
const SLICES: u64 = 4;
/// Tensors of one size that are remembered.
const REMEMBERED: usize = 6;

/// A stretch of operators that a compiler could fuse: nothing between them but each other.
#[derive(Clone, Debug, Default)]
pub struct Region {
    /// Entries of [`Context::launched`].
    pub entries: Vec<usize>,
    /// Launched in backward.
    pub backward: bool,
    /// Least bytes read: tensors that come from outside, each once.
    pub read: f64,
    /// Least bytes written: tensors that are read outside later.
    pub written: f64,
    /// Tensors that leave it: fused kernels end at them.
    pub results: usize,
    /// Bytes that its operators move one by one.
    pub moved: f64,
}

/// Where a tensor came from.
#[derive(Clone, Copy)]
struct Produced {
    /// Number of the tensor.
    tensor: u32,
    /// The region that made it; none: something that is not fused.
    region: Option<usize>,
    /// The node of backward that made it.
    made_by: Option<HostId>,
    /// The node of backward that used it up.
    used_by: Option<HostId>,
    /// Something read it.
    read: bool,
    /// A gradient.
    backward: bool,
    /// It left its region.
    left: bool,
}

/// The regions of a device's activities, in order.
#[must_use]
pub fn regions(trace: &Trace, facts: &Facts, context: &Context) -> Vec<Region> {
    let mut walk = Walk {
        trace,
        facts,
        context,
        works: trace.names.map(classify),
        compiled: trace.names.map(is_compiled),
        history: FxHashMap::default(),
        regions: Vec::new(),
        taken: FxHashSet::default(),
        next: 0,
        open: None,
    };
    for entry in 0..context.launched.len() {
        walk.entry(entry);
    }
    walk.finish()
}

struct Walk<'a> {
    trace: &'a Trace,
    facts: &'a Facts,
    context: &'a Context,
    works: Vec<Work>,
    compiled: Vec<bool>,
    history: FxHashMap<Volume, Vec<Produced>>,
    regions: Vec<Region>,
    /// Tensors that the open region has taken in; saved activations by size.
    taken: FxHashSet<Result<u32, Volume>>,
    next: u32,
    open: Option<usize>,
}

impl Walk<'_> {
    fn entry(&mut self, at: usize) {
        let context = self.context;
        let launched = &context.launched[at];
        let Some(kind) = context.kind(launched) else { return self.close() };
        if launched.outside {
            return self.close();
        }
        let node = self.node(launched);
        if !self.is_fusible(launched, kind) {
            self.close();
            for &volume in &kind.reads {
                self.barrier_reads(volume, node);
            }
            for &volume in &kind.writes {
                self.produce(volume, None, node, launched.backward);
            }
            return;
        }
        if self.open.is_some_and(|open| self.regions[open].backward != launched.backward) {
            self.close();
        }
        let region = match self.open {
            Some(region) => region,
            None => {
                self.regions.push(Region { backward: launched.backward, ..Region::default() });
                self.regions.len() - 1
            }
        };
        self.open = Some(region);
        self.regions[region].entries.push(at);
        self.regions[region].moved += kind.bytes();
        self.region_reads(region, kind, node);
        for &volume in &kind.writes {
            self.produce(volume, Some(region), node, launched.backward);
        }
    }

    fn region_reads(&mut self, region: usize, kind: &OpKind, node: Option<HostId>) {
        let name = self.trace.names.get(kind.name);
        let is_copy = kind.class == OpClass::Copy;
        let is_sum = name.starts_with("aten::add");
        for (at, &volume) in kind.reads.iter().enumerate() {
            let earlier = kind.reads[..at].iter().filter(|&&other| other == volume).count();
            let size = bytes(volume);
            if node.is_some() && earlier > 0 && !is_sum && !is_copy {
                if self.taken.insert(Err(volume)) {
                    self.regions[region].read += size;
                }
                continue;
            }
            // A sum of gradients takes what no node has used; anything else may share with its node.
            let usable = |produced: &Produced| {
                node.is_none() || produced.used_by.is_none() || !is_sum && produced.used_by == node
            };
            let found = self.find(volume, earlier, usable).map(|index| (volume, index));
            match found.or_else(|| self.find_whole(volume, usable)) {
                Some((whole, index)) => {
                    let found = &mut self.history.entry(whole).or_default()[index];
                    found.read = true;
                    // A cast or layout copy passes a gradient on; the gradient itself may go elsewhere too.
                    if !is_copy {
                        found.used_by = node;
                    }
                    if found.region == Some(region) {
                        continue;
                    }
                    let (tensor, from, left) =
                        (found.tensor, found.region, std::mem::replace(&mut found.left, true));
                    if self.taken.insert(Ok(tensor)) {
                        self.regions[region].read += size;
                    }
                    if let Some(from) = from.filter(|_| !left) {
                        self.leave(from, size);
                    }
                }
                None => {
                    if self.taken.insert(Err(volume)) {
                        self.regions[region].read += size;
                    }
                }
            }
        }
        if kind.class == OpClass::CrossNorm {
            // Statistics first, then the result: everything is read twice.
            let largest = kind.reads.iter().map(|&volume| bytes(volume)).fold(0.0, f64::max);
            self.regions[region].read += largest * if node.is_some() { 2.0 } else { 1.0 };
        }
    }

    /// The latest tensor of a size that is usable, `skip` of them passed over.
    fn find(&self, volume: Volume, skip: usize, usable: impl Fn(&Produced) -> bool) -> Option<usize> {
        let list = self.history.get(&volume)?;
        (0..list.len()).rev().filter(|&index| usable(&list[index])).nth(skip)
    }

    /// The latest tensor that a tensor of a size can be a slice of: some times as large.
    fn find_whole(&self, volume: Volume, usable: impl Fn(&Produced) -> bool) -> Option<(Volume, usize)> {
        (2..=SLICES).find_map(|times| {
            let whole = (volume.0.saturating_mul(times), volume.1);
            self.find(whole, 0, &usable).map(|index| (whole, index))
        })
    }

    /// Something that is not fused reads: gradients and saved activations alike, so nothing is used up.
    fn barrier_reads(&mut self, volume: Volume, node: Option<HostId>) {
        let foreign = |produced: &Produced| node.is_none() || produced.made_by != node;
        let Some(index) = self.find(volume, 0, foreign) else { return };
        let found = &mut self.history.entry(volume).or_default()[index];
        found.read = true;
        if let Some(from) = found.region.filter(|_| !std::mem::replace(&mut found.left, true)) {
            self.leave(from, bytes(volume));
        }
    }

    fn leave(&mut self, region: usize, size: f64) {
        self.regions[region].written += size;
        self.regions[region].results += 1;
    }

    fn produce(&mut self, volume: Volume, region: Option<usize>, node: Option<HostId>, backward: bool) {
        let tensor = self.next;
        self.next += 1;
        let list = self.history.entry(volume).or_default();
        list.push(Produced {
            tensor,
            region,
            made_by: node,
            used_by: None,
            read: false,
            backward,
            left: false,
        });
        if list.len() > REMEMBERED {
            let gone = list.remove(0);
            self.forget(gone, volume);
        }
    }

    /// A gradient that nothing read is a result: a parameter's.
    fn forget(&mut self, produced: Produced, volume: Volume) {
        if let Some(region) = produced.region.filter(|_| produced.backward && !produced.read) {
            self.leave(region, bytes(volume));
        }
    }

    fn close(&mut self) {
        self.open = None;
        self.taken.clear();
    }

    fn finish(mut self) -> Vec<Region> {
        for (volume, list) in std::mem::take(&mut self.history) {
            for produced in list {
                self.forget(produced, volume);
            }
        }
        self.regions
    }

    /// The node of backward that an entry belongs to.
    fn node(&self, launched: &Launched) -> Option<HostId> {
        let operator = launched.operator.filter(|_| launched.backward)?;
        let host = self.context.operators.list[operator].host;
        let tree = &self.facts.tree;
        tree.ancestry(host).find(|&at| tree.class(self.trace, at) == HostClass::BackwardNode)
    }

    /// Whether a compiler would fuse an entry with its neighbours.
    fn is_fusible(&self, launched: &Launched, kind: &OpKind) -> bool {
        use OpClass as O;
        let by_class = matches!(
            kind.class,
            O::Softmax | O::RowNorm | O::CrossNorm | O::Copy | O::Reduction | O::Pointwise | O::Fill
        );
        if !by_class || kind.inputs.is_none() || is_apart(self.trace.names.get(kind.name)) {
            return false;
        }
        let kernels = launched.activities.iter().all(|&id| match self.trace.gpu.kind[id.index()] {
            GpuKind::Kernel => matches!(
                self.works[self.trace.gpu.name[id.index()].index()],
                Work::Elementwise
                    | Work::Normalisation
                    | Work::Softmax
                    | Work::Reduction
                    | Work::Loss
                    | Work::Other
            ),
            GpuKind::Memcpy | GpuKind::Memset => true,
        });
        let Some(operator) = launched.operator.filter(|_| kernels) else { return false };
        let host = self.context.operators.list[operator].host;
        let above = self.facts.tree.ancestry(host);
        !above
            .filter(|at| self.trace.host.kind[at.index()] != HostKind::Python)
            .any(|at| self.compiled[self.trace.host.name[at.index()].index()])
    }
}

/// Ranges that the compiler has already made.
fn is_compiled(name: &str) -> bool {
    name.starts_with("Torch-Compiled Region")
        || name.contains("CompiledFunction")
        || name.starts_with("triton_")
        || name.starts_with("TorchDynamo Cache Lookup")
}

/// Operators that a compiler leaves alone: foreach and fused lists, look-ups, sorts, pools, resampling.
fn is_apart(name: &str) -> bool {
    let Some(base) = name.strip_prefix("aten::") else { return true };
    let starts = ["_foreach", "_fused", "_amp", "index", "embedding", "_embedding", "gather", "scatter"];
    let parts = ["sort", "topk", "unique", "nonzero", "cumsum", "cumprod", "pool", "upsample", "grid_sampl"];
    let more = ["rnn", "ctc", "fft", "multinomial", "searchsorted", "histc", "bincount", "pdist", "cdist"];
    starts.iter().any(|start| base.starts_with(start))
        || parts.iter().chain(&more).any(|part| base.contains(part))
}
