//! All strategies for a model on a number of GPUs: which fit, which is fastest, why the others lose.

mod judge;

pub use judge::Rates;

use crate::bubble::Schedule;
use crate::flags::{Framework, flags};
use crate::gpu::{Gpu, Link};
use crate::memory::Memory;
use crate::setup::{Checkpointing, Offload, Parallel, Precision, Setup, Sharding};
use crate::work::Estimate;
use crate::{AttentionKernel, PlanError};
use judge::Judge;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// Model, sequence, optimizer, code, attention and loss; batch and parallelism are searched.
    pub base: Setup,
    /// The GPU.
    pub gpu: Gpu,
    /// How many.
    pub gpus: u64,
    /// Link between nodes.
    pub network: Link,
    /// Samples of an optimizer step.
    pub global_batch: u64,
    /// Share of a GPU's memory that stays free.
    pub free: f64,
    /// How fast they run.
    pub rates: Rates,
}

/// One strategy.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// How.
    pub setup: Setup,
    /// The pipeline's schedule.
    pub schedule: Schedule,
    /// Memory of its fullest GPU.
    pub memory: Memory,
    /// Its step.
    pub estimate: Estimate,
    /// Bytes that it needs beyond what may be used; 0 if it fits.
    pub missing: f64,
    /// Why it is not the best: `recompute`, `bubble`, `exposed`, `optimizer`, `memory`; `equal`; `best`.
    pub loses: &'static str,
    /// By how many seconds a step, where it fits.
    pub slower: f64,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Search {
    /// Strategies that were judged.
    pub judged: usize,
    /// Of these, so many fit.
    pub fitting: usize,
    /// The best first; then, of the kinds that differ from it, the best each.
    pub best: Vec<Candidate>,
    /// The closest that do not fit, if they would be faster than the best or nothing fits.
    pub too_big: Vec<Candidate>,
    /// The fastest that fits and that a framework's own flags can say, for those that have one.
    pub by_framework: Vec<(Framework, Candidate)>,
    /// What limits the best: `compute`, `communication`, `bubble`, `host`, `memory`; if no strategy fits, `memory`.
    pub limit: &'static str,
}

const POWERS: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Searches strategies.
///
/// # Errors
/// If the sizes contradict each other: nothing can be built at all.
pub fn search(request: &Request) -> Result<Search, PlanError> {
    if request.gpus == 0 || request.global_batch == 0 {
        return Err(PlanError::new("plan-error-zero").with("name", "GPUs, batch"));
    }
    request.base.check()?;
    let usable = request.gpu.memory * (1.0 - request.free);
    let judge = Judge::new(request);
    let mut setup = request.base.clone();
    let (mut judged, mut fitting) = (0, 0);
    // Per kind the fastest that fits, and per kind the smallest that does not.
    let mut best: Vec<(Kind, Entry)> = Vec::new();
    let mut over: Vec<(Kind, Entry)> = Vec::new();
    let mut far = false;
    let batches = batches(request);
    for parallel in layouts(request) {
        for &b in &batches {
            let samples = parallel.data * b;
            if samples > request.global_batch || !request.global_batch.is_multiple_of(samples) {
                continue;
            }
            setup.parallel = parallel;
            setup.batch = b;
            setup.micro_batches = request.global_batch / samples;
            if parallel.pipeline > 1 && setup.micro_batches < parallel.pipeline || setup.check().is_err() {
                continue;
            }
            if !judge.knows(&setup) {
                far = true;
                continue;
            }
            for checkpointing in modes(&request.base) {
                for offload in [Offload::None, Offload::Optimizer] {
                    (setup.checkpointing, setup.offload) = (checkpointing, offload);
                    judged += 1;
                    let (memory, doubt) = judge.memory(&setup);
                    let missing = (memory.needed() + doubt - usable).max(0.0);
                    let cost = judge.step(request, &setup);
                    let kind = (parallel, checkpointing, offload);
                    let entry = Entry { batch: b, micro: setup.micro_batches, step: cost.step, missing };
                    if missing > 0.0 {
                        keep(&mut over, kind, entry, |new, old| new.missing < old.missing);
                    } else {
                        fitting += 1;
                        keep(&mut best, kind, entry, |new, old| new.step < old.step);
                    }
                }
            }
        }
    }
    if judged == 0 && far {
        return Err(PlanError::new("plan-error-out-of-reach").with("seq", request.base.seq));
    }
    if judged == 0 {
        return Err(PlanError::new("plan-error-batch")
            .with("batch", request.global_batch)
            .with("gpus", request.gpus));
    }
    best.sort_by(|a, b| a.1.step.total_cmp(&b.1.step));
    over.sort_by(|a, b| a.1.missing.total_cmp(&b.1.missing));
    Ok(report(request, &judge, (judged, fitting), &best, &over))
}

type Kind = (Parallel, Checkpointing, Offload);

#[derive(Clone, Copy)]
struct Entry {
    batch: u64,
    micro: u64,
    step: f64,
    missing: f64,
}

fn keep(list: &mut Vec<(Kind, Entry)>, kind: Kind, entry: Entry, better: impl Fn(&Entry, &Entry) -> bool) {
    // Kinds come in runs only per layout: the last few are enough to look at.
    match list.iter_mut().rev().take(32).find(|(known, _)| *known == kind) {
        Some((_, old)) if better(&entry, old) => *old = entry,
        Some(_) => {}
        None => list.push((kind, entry)),
    }
}

/// Samples of a micro-batch: powers of two, and the base's own.
fn batches(request: &Request) -> Vec<u64> {
    let mut batches = POWERS.to_vec();
    if !batches.contains(&request.base.batch) {
        batches.push(request.base.batch);
    }
    batches
}

fn modes(base: &Setup) -> Vec<Checkpointing> {
    let mut modes = vec![Checkpointing::None, Checkpointing::Full, Checkpointing::Every(2)];
    if base.attention == AttentionKernel::Eager {
        modes.push(Checkpointing::Selective);
    }
    modes
}

/// Every division of the GPUs.
fn layouts(request: &Request) -> Vec<Parallel> {
    let (model, n) = (&request.base.model, request.gpus);
    let mut layouts = Vec::new();
    let sizes = |most: u64| POWERS.into_iter().filter(move |&ranks| ranks <= most && n.is_multiple_of(ranks));
    let experts: Vec<u64> = match model.moe {
        Some(moe) => {
            POWERS.into_iter().filter(|ep| moe.experts.is_multiple_of(*ep) && n.is_multiple_of(*ep)).collect()
        }
        None => vec![1],
    };
    for tensor in sizes(request.gpu.per_node.min(16)) {
        for pipeline in sizes(model.all_layers().min(64)) {
            for context in sizes(if request.base.seq >= 8192 { 16 } else { 1 }) {
                let inner = tensor * pipeline * context;
                if inner > n || !n.is_multiple_of(inner) {
                    continue;
                }
                let data = n / inner;
                for &expert in experts.iter().filter(|&&ep| data.is_multiple_of(ep)) {
                    for sharding in shardings(&request.base, data, pipeline) {
                        for chunks in if pipeline > 1 { vec![1, 2, 4] } else { vec![1] } {
                            layouts.push(Parallel {
                                data,
                                sharding,
                                tensor,
                                sequence: tensor > 1,
                                pipeline,
                                chunks,
                                context,
                                expert,
                                ..Parallel::default()
                            });
                        }
                    }
                }
            }
        }
    }
    layouts
}

fn shardings(base: &Setup, data: u64, pipeline: u64) -> Vec<Sharding> {
    if data == 1 {
        return vec![Sharding::None];
    }
    if pipeline > 1 {
        // Gathering or reducing in every micro-batch of a pipeline costs more than it saves.
        return vec![Sharding::None, Sharding::Optimizer];
    }
    let mut list = vec![Sharding::None, Sharding::Optimizer, Sharding::Full, Sharding::KeepGathered];
    if base.precision == Precision::Mixed {
        list.push(Sharding::Gradients);
    }
    list
}

fn strategy(request: &Request, kind: &Kind, entry: &Entry) -> Setup {
    let (parallel, checkpointing, offload) = *kind;
    Setup {
        parallel,
        checkpointing,
        offload,
        batch: entry.batch,
        micro_batches: entry.micro,
        ..request.base.clone()
    }
}

fn candidate(request: &Request, judge: &Judge<'_>, kind: &Kind, entry: &Entry) -> Candidate {
    let setup = strategy(request, kind, entry);
    Candidate {
        schedule: setup.parallel.schedule(),
        memory: judge.memory(&setup).0,
        estimate: judge.step(request, &setup),
        setup,
        missing: entry.missing,
        loses: "best",
        slower: 0.0,
    }
}

fn report(
    request: &Request,
    judge: &Judge<'_>,
    (judged, fitting): (usize, usize),
    best: &[(Kind, Entry)],
    over: &[(Kind, Entry)],
) -> Search {
    const SHOWN: usize = 6;
    let mut shown: Vec<Candidate> = Vec::new();
    for (kind, entry) in best {
        // One per division and sharding: variants of the same in other respects say little.
        let alike = |c: &Candidate| {
            let (a, b) = (&c.setup.parallel, &kind.0);
            (a.tensor, a.pipeline, a.context, a.sharding) == (b.tensor, b.pipeline, b.context, b.sharding)
        };
        if shown.len() < SHOWN && !shown.iter().any(alike) {
            shown.push(candidate(request, judge, kind, entry));
        }
    }
    if let Some(first) = shown.first().map(|c| c.estimate.clone()) {
        for c in shown.iter_mut().skip(1) {
            c.slower = c.estimate.step - first.step;
            c.loses = reason(&c.estimate, &first);
        }
    }
    let fastest = shown.first().map_or(f64::INFINITY, |c| c.estimate.step);
    let mut too_big: Vec<Candidate> = over
        .iter()
        .filter(|(_, entry)| entry.step < fastest || shown.is_empty())
        .take(if shown.is_empty() { 3 } else { 2 })
        .map(|(kind, entry)| candidate(request, judge, kind, entry))
        .collect();
    for c in &mut too_big {
        c.loses = "memory";
    }
    let limit = shown.first().map_or("memory", limit);
    let by_framework = Framework::ALL.into_iter().filter_map(|framework| {
        let says =
            |(kind, entry): &&(Kind, Entry)| flags(&strategy(request, kind, entry), framework).is_some();
        let (kind, entry) = best.iter().find(says)?;
        Some((framework, candidate(request, judge, kind, entry)))
    });
    let by_framework = by_framework.collect();
    Search { judged, fitting, best: shown, too_big, by_framework, limit }
}

/// Steps closer than this share of their length are equally long.
const EQUAL: f64 = 1e-3;

/// The part that grew most.
fn reason(this: &Estimate, best: &Estimate) -> &'static str {
    if this.step - best.step < EQUAL * best.step {
        return "equal";
    }
    let parts = [
        ("recompute", this.compute - best.compute),
        ("bubble", this.bubble - best.bubble),
        ("exposed", this.exposed - best.exposed),
        ("optimizer", this.optimizer - best.optimizer),
    ];
    parts.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or("exposed", |(id, _)| id)
}

fn limit(best: &Candidate) -> &'static str {
    let e = &best.estimate;
    if best.setup.checkpointing != Checkpointing::None || best.setup.offload != Offload::None {
        "memory"
    } else if e.waiting > 0.1 * e.step {
        "host"
    } else if e.exposed > 0.1 * e.step {
        "communication"
    } else if e.bubble > 0.1 * e.step {
        "bubble"
    } else {
        "compute"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{gpu, link, preset};
    use std::time::Instant;

    fn request(model: &str, gpu_name: &str, gpus: u64, seq: u64, batch: u64) -> Request {
        let mut base = Setup::new(preset(model).expect("a preset"), 1, seq);
        base.precision = Precision::Mixed;
        Request {
            base,
            gpu: gpu(gpu_name, &[]).expect("a GPU"),
            gpus,
            network: link("ib-ndr").expect("a link"),
            global_batch: batch,
            free: 0.1,
            rates: Rates::Stated(0.6),
        }
    }

    #[test]
    fn llama_3_8b_fits_eight_h100s() {
        let found = search(&request("llama-3-8b", "h100", 8, 8192, 256)).expect("strategies");
        let best = &found.best[0];
        assert!(found.fitting > 0 && best.missing == 0.0);
        assert!(best.memory.needed() < 0.9 * 79.1 * f64::from(1 << 30));
        assert!(best.memory.states < 40e9, "16 bytes per parameter fit no 80 GB");
        assert_eq!(best.setup.global_batch(), 256);
        // Tensor parallelism is Megatron's; whoever writes plain torch gets what its flags can say.
        let of = |framework| found.by_framework.iter().find(|(each, _)| *each == framework).map(|(_, c)| c);
        let torch = of(Framework::Torch).expect("a strategy for torch");
        assert!(torch.setup.parallel.tensor == 1 && torch.missing == 0.0);
        assert!(of(Framework::Megatron).expect("one for Megatron").estimate.step <= torch.estimate.step);
        assert!(found.best.windows(2).all(|pair| pair[0].estimate.step <= pair[1].estimate.step));
    }

    #[test]
    fn what_fits_nowhere_says_by_how_much() {
        let found = search(&request("llama-3.1-405b", "l4", 4, 4096, 4)).expect("strategies");
        assert_eq!((found.fitting, found.best.len(), found.limit), (0, 0, "memory"));
        assert!(found.too_big[0].missing > 100e9);
    }

    /// 10 000 strategies in 0.2 s when optimised; this build is not, quite.
    #[test]
    fn the_search_is_quick() {
        let request = request("llama-3-70b", "h100", 512, 8192, 1024);
        let start = Instant::now();
        let found = search(&request).expect("strategies");
        let per_strategy = start.elapsed().as_secs_f64() / found.judged as f64;
        assert!(per_strategy < 200e-6, "{per_strategy}");
    }
}
