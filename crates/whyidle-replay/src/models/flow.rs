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
    /// Tensors that it must write: fused kernels end at them.
    pub results: usize,
    /// Bytes that its operators move one by one.
    pub moved: f64,
    /// Nothing but element-wise operators and copies: a compiler computes it inside what reads it.
    pub pointwise: bool,
}

/// A tensor, from one operator to all that read it.
#[derive(Clone, Debug)]
struct Made {
    volume: Volume,
    /// The region that made it; none: something that is not fused.
    region: Option<usize>,
    /// The node of backward that made it.
    by: Option<HostId>,
    /// The node of backward that used it up.
    used_by: Option<HostId>,
    backward: bool,
    /// Other regions that read it.
    readers: Vec<usize>,
    /// Something that is not fused reads it.
    fixed: bool,
    /// Something reads it.
    read: bool,
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
        apart: trace.names.map(is_apart),
        made: Vec::new(),
        latest: FxHashMap::default(),
        parameters: FxHashSet::default(),
        regions: Vec::new(),
        taken: FxHashSet::default(),
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
    apart: Vec<bool>,
    made: Vec<Made>,
    /// The latest tensors of each size, oldest first.
    latest: FxHashMap<Volume, Vec<u32>>,
    /// Sizes that forward reads without anything having made them.
    parameters: FxHashSet<Volume>,
    regions: Vec<Region>,
    /// Sizes that the open region has taken in from nowhere: parameters, saved activations.
    taken: FxHashSet<Volume>,
    open: Option<usize>,
}

impl Walk<'_> {
    fn entry(&mut self, at: usize) {
        let context = self.context;
        let launched = &context.launched[at];
        let Some(kind) = context.kind(launched).filter(|_| !launched.outside) else { return self.close() };
        let node = self.node(launched);
        let region = if self.is_fusible(launched, kind) {
            let region = self.region(launched.backward);
            let open = &mut self.regions[region];
            open.entries.push(at);
            open.moved += kind.bytes();
            open.pointwise &= matches!(kind.class, OpClass::Pointwise | OpClass::Copy | OpClass::Fill);
            self.region_reads(region, kind, node);
            Some(region)
        } else {
            self.close();
            kind.reads.iter().for_each(|&volume| self.fixed_read(volume, node));
            None
        };
        for &volume in &kind.writes {
            self.make(volume, region, node, launched.backward);
        }
    }

    /// The open region, or a new one.
    fn region(&mut self, backward: bool) -> usize {
        if self.open.is_some_and(|open| self.regions[open].backward != backward) {
            self.close();
        }
        *self.open.get_or_insert_with(|| {
            self.regions.push(Region { backward, pointwise: true, ..Region::default() });
            self.regions.len() - 1
        })
    }

    fn region_reads(&mut self, region: usize, kind: &OpKind, node: Option<HostId>) {
        let is_copy = kind.class == OpClass::Copy;
        let is_sum = self.trace.names.get(kind.name).starts_with("aten::add");
        for (at, &volume) in kind.reads.iter().enumerate() {
            let earlier = kind.reads[..at].iter().filter(|&&other| other == volume).count();
            if node.is_some() && earlier > 0 && !is_sum && !is_copy {
                self.take(region, volume);
                continue;
            }
            // A sum of gradients takes what no node has used; anything else may share with its node.
            let usable =
                |made: &Made| node.is_none() || made.used_by.is_none() || !is_sum && made.used_by == node;
            let whole = || {
                let wholes = (2..=SLICES).map(|times| (volume.0.saturating_mul(times), volume.1));
                wholes.into_iter().find_map(|whole| self.find(whole, 0, usable))
            };
            match self.find(volume, earlier, usable).or_else(whole) {
                Some(index) => {
                    let made = &mut self.made[index];
                    made.read = true;
                    // A cast or layout copy passes a gradient on; the gradient itself may go elsewhere too.
                    if !is_copy {
                        made.used_by = node;
                    }
                    if made.region != Some(region) && !made.readers.contains(&region) {
                        made.readers.push(region);
                    }
                }
                None => {
                    if node.is_none() {
                        self.parameters.insert(volume);
                    }
                    self.take(region, volume);
                }
            }
        }
        if kind.class == OpClass::CrossNorm {
            // Statistics first, then the result: everything is read twice.
            let largest = kind.reads.iter().map(|&volume| bytes(volume)).fold(0.0, f64::max);
            self.regions[region].read += largest * if node.is_some() { 2.0 } else { 1.0 };
        }
    }

    /// A tensor from nowhere: once per region and size.
    fn take(&mut self, region: usize, volume: Volume) {
        if self.taken.insert(volume) {
            self.regions[region].read += bytes(volume);
        }
    }

    /// The latest usable tensor of a size, `skip` of them passed over.
    fn find(&self, volume: Volume, skip: usize, usable: impl Fn(&Made) -> bool) -> Option<usize> {
        let latest = self.latest.get(&volume)?.iter().rev().map(|&index| index as usize);
        latest.filter(|&index| usable(&self.made[index])).nth(skip)
    }

    /// Something that is not fused reads: gradients and saved activations alike, so nothing is used up.
    fn fixed_read(&mut self, volume: Volume, node: Option<HostId>) {
        let foreign = |made: &Made| node.is_none() || made.by != node;
        if let Some(index) = self.find(volume, 0, foreign) {
            let made = &mut self.made[index];
            (made.read, made.fixed) = (true, true);
        }
    }

    fn make(&mut self, volume: Volume, region: Option<usize>, by: Option<HostId>, backward: bool) {
        let Ok(index) = u32::try_from(self.made.len()) else { return };
        self.made.push(Made {
            volume,
            region,
            by,
            used_by: None,
            backward,
            readers: Vec::new(),
            fixed: false,
            read: false,
        });
        let latest = self.latest.entry(volume).or_default();
        if latest.len() >= REMEMBERED {
            latest.remove(0);
        }
        latest.push(index);
    }

    fn close(&mut self) {
        self.open = None;
        self.taken.clear();
    }

    /// What each region reads and writes, once all readers are known.
    fn finish(mut self) -> Vec<Region> {
        for made in &self.made {
            let size = bytes(made.volume);
            if let Some(region) = made.region {
                // A parameter's gradient is read by what no shape tells: the optimizer.
                let ends = made.backward && !made.read && self.parameters.contains(&made.volume);
                let kept = made.fixed || ends;
                // What only one other stretch reads is computed there.
                let inlined = !kept && made.readers.len() == 1 && self.regions[region].pointwise;
                if inlined || !kept && made.readers.is_empty() {
                    continue;
                }
                self.regions[region].written += size;
                self.regions[region].results += 1;
            }
            for &reader in &made.readers {
                self.regions[reader].read += size;
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
        if !by_class || self.context.operators.inputs(kind).is_empty() || self.apart[kind.name.index()] {
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
