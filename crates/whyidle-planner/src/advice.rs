//! The usual rules of thumb, as consequences of this plan's own figures.

use crate::bubble::Schedule;
use crate::gpu::{Gpu, link};
use crate::memory::{Local, Memory, worst};
use crate::setup::{Checkpointing, Setup};
use crate::work::work;

/// A rule with the figures that decide it here. The words are the report's (`plan-rule-<id>`).
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Id.
    pub id: &'static str,
    /// It holds here: the measure it speaks of is worth taking.
    pub holds: bool,
    /// Bytes, by name.
    pub bytes: Vec<(&'static str, f64)>,
    /// Shares, by name.
    pub shares: Vec<(&'static str, f64)>,
    /// Seconds, by name.
    pub seconds: Vec<(&'static str, f64)>,
}

/// The rules for `setup` on `gpu`, whose memory is `memory`; those about several GPUs only where there are some.
#[must_use]
pub fn rules(setup: &Setup, gpu: &Gpu, memory: &Memory) -> Vec<Rule> {
    let mut list = vec![checkpointing(setup, gpu)];
    list.extend(eight_bit(setup, gpu));
    if setup.parallel.data > 1 {
        list.extend(zero(setup, gpu));
    }
    if setup.parallel.pipeline > 1 {
        list.push(bubble(setup));
    }
    list.push(margin(memory, gpu));
    list
}

/// Checkpointing pays in memory what it costs in time: with 40 % activations it frees about as much as
/// it adds work.
fn checkpointing(setup: &Setup, gpu: &Gpu) -> Rule {
    let plain = Setup { checkpointing: Checkpointing::None, ..setup.clone() };
    let full = Setup { checkpointing: Checkpointing::Full, ..setup.clone() };
    let (without, with) = (worst(&plain), worst(&full));
    let share = without.activations / without.allocated;
    let price = work(&full).hardware / work(&plain).hardware - 1.0;
    let saves = without.allocated - with.allocated;
    // At another moment than that of the peak, activations are none of what is missing.
    let holds = without.needed() > 0.9 * gpu.memory && share > 0.4 && saves > 0.0;
    Rule {
        id: "checkpointing",
        holds,
        bytes: vec![("activations", without.activations), ("saves", saves)],
        shares: vec![("share", share), ("price", price)],
        seconds: Vec::new(),
    }
}

/// 8-bit states save 6 of AdamW's 8 bytes per parameter; nothing where there are none.
fn eight_bit(setup: &Setup, gpu: &Gpu) -> Option<Rule> {
    let eight = Setup { optimizer: crate::Optimizer::AdamW8bit, ..setup.clone() };
    let (now, then) = (worst(setup), worst(&eight));
    let saves = (now.states - then.states).max(0.0);
    (saves > 0.0).then(|| Rule {
        id: "eight-bit",
        holds: now.needed() > 0.9 * gpu.memory && now.needed() - saves <= 0.9 * gpu.memory,
        bytes: vec![("saves", saves)],
        shares: vec![("share", saves / gpu.memory)],
        seconds: Vec::new(),
    })
}

/// ZeRO-2 reduces in every micro-batch, ZeRO-1 once: cheap over NVLink, dear over PCIe. With one micro-batch they are
/// the same.
fn zero(setup: &Setup, gpu: &Gpu) -> Option<Rule> {
    if setup.micro_batches < 2 {
        return None;
    }
    let m = setup.micro_batches as f64;
    let ranks = setup.parallel.data as f64;
    let gradient = 2.0 * Local::of(setup).all * (ranks - 1.0) / ranks;
    let pcie = link("pcie4").map_or(1.0, |link| link.bus);
    let short = worst(setup).needed() > 0.9 * gpu.memory;
    Some(Rule {
        id: "zero",
        holds: short && gpu.link.name.starts_with("nvlink"),
        bytes: vec![
            ("saves", 2.0 * Local::of(setup).all * (ranks - 1.0) / ranks),
            ("extra", gradient * (m - 1.0)),
        ],
        shares: Vec::new(),
        seconds: vec![("here", gradient * (m - 1.0) / gpu.link.bus), ("pcie", gradient * (m - 1.0) / pcie)],
    })
}

/// (p − 1)/(m + p − 1): 3/7 at p = m = 4.
fn bubble(setup: &Setup) -> Rule {
    let p = setup.parallel.pipeline;
    let schedule = Schedule::OneForwardOneBackward;
    Rule {
        id: "bubble",
        holds: true,
        bytes: Vec::new(),
        shares: vec![
            ("example", schedule.share(4, 4)),
            ("same", schedule.share(p, p)),
            ("fourfold", schedule.share(p, 4 * p)),
        ],
        seconds: Vec::new(),
    }
}

/// Segments hold more than is allocated: 1.00–1.31 times on one GPU, up to 1.36 with FSDP.
fn margin(memory: &Memory, gpu: &Gpu) -> Rule {
    Rule {
        id: "margin",
        holds: memory.needed() <= 0.9 * gpu.memory,
        bytes: vec![
            ("allocated", memory.allocated),
            ("reserved", memory.reserved),
            ("context", memory.context),
        ],
        shares: vec![("free", (1.0 - memory.needed() / gpu.memory).max(0.0))],
        seconds: Vec::new(),
    }
}
