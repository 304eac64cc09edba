//! `comm.link`: collectives that take a slow path, by their speed and by what NCCL's log says of it.

use whyidle_analysis::links::{Slow, SlowPath, Why};
use whyidle_analysis::ranks::bandwidth::{LARGE, Speed};
use whyidle_analysis::ranks::matching::{Matched, Parties};
use whyidle_analysis::vendor::vendor_of_product;
use whyidle_model::Vendor;
use whyidle_planner::by_product;

use super::findings::{WORTH, kind_name};
use super::ledger::TRANSFER;
use super::replay::Together;
use super::set::Ranks;
use crate::causes::support::{counted, remedy, share_of, timed};
use crate::message::{Arg, Message};
use crate::verdict::{Change, Estimate, Evidence, Finding, Gain, Line, Method};

/// A link below this part of what its kind usually gives is slow.
const SLOW: f64 = 0.5;
/// Large collectives reach about this part of a link's nominal speed (H200 pair over NVLink 4: 240–290 of 450 GB/s).
const USUAL: f64 = 0.6;
/// A collective under compute has the memory and the multiprocessors less for itself: it counts this much faster.
const UNDER_COMPUTE: f64 = 0.75;
/// How far a step is off that was replayed with the usual speed: what is usual of a link differs by a fifth.
const SPEED_DOUBT: f64 = 0.1;
/// The same kind and size elsewhere in the run, this many times faster, is a finding without any table.
const SLOWER_THAN_ELSEWHERE: f64 = 1.5;

/// What is wrong with a path.
#[must_use]
pub fn slow_path(slow: Slow) -> Message {
    match slow {
        Slow::HostMemory => Message::new("ranks-slow-host-memory"),
        Slow::NetworkInside => Message::new("ranks-slow-network-inside"),
        Slow::Tcp => Message::new("ranks-slow-tcp"),
        Slow::NoDirect => Message::new("ranks-slow-no-direct"),
    }
}

/// Why a path is slow.
#[must_use]
pub fn why_slow(why: &Why) -> Message {
    match why {
        Why::Setting(name, value) => {
            Message::new("ranks-why-setting").name("name", name).name("value", value)
        }
        Why::Said(text) => Message::new("ranks-why-said").name("text", text),
        Why::NoCard => Message::new("ranks-why-no-card"),
        Why::Unknown => Message::new("ranks-why-unknown"),
    }
}

/// Large collectives far below what their path gives, or whose path NCCL itself says is a slow one.
pub(crate) fn link(
    ranks: &Ranks,
    shown: usize,
    matched: &Matched,
    speeds: &[Speed],
    together: &Together<'_>,
    ledger: &[Line],
    step: Estimate,
) -> Option<Finding> {
    let gpu = ranks.own[shown].verdict.subject.gpu.as_deref();
    let large = || speeds.iter().filter(|speed| speed.bytes >= LARGE);
    let fair = |speed: &Speed| if speed.hidden > 0.2 { speed.bus / UNDER_COMPUTE } else { speed.bus };
    let elsewhere = |speed: &Speed| {
        let same = large().filter(|other| {
            other.parties != speed.parties
                && other.kind == speed.kind
                && other.bytes == speed.bytes
                && matched.parties[other.parties].size() == matched.parties[speed.parties].size()
        });
        same.map(fair).fold(0.0, f64::max)
    };
    let expected = |speed: &Speed| {
        let of_table = gpu.and_then(nvlink).filter(|_| fits_one_host(&matched.parties[speed.parties]));
        let table = of_table.map(|nominal| (nominal * USUAL, SLOW));
        let other = elsewhere(speed);
        [table, (other > 0.0).then_some((other, 1.0 / SLOWER_THAN_ELSEWHERE))]
            .into_iter()
            .flatten()
            .find(|&(expected, part)| fair(speed) < part * expected)
    };
    let slow: Vec<(&Speed, f64)> = large().filter_map(|speed| Some((speed, expected(speed)?.0))).collect();
    let worst = slow
        .iter()
        .copied()
        .max_by_key(|(speed, _)| (speed.transfer * i64::try_from(speed.count).unwrap_or(1), speed.bytes));
    let Some((worst, expected)) = worst else {
        let large = large().next().is_some();
        return logged(ranks, shown, ledger, step).filter(|_| large);
    };
    // What a path as fast as usual would take away of the exposed transfers.
    let transfer =
        ledger.iter().find(|line| line.id == TRANSFER).map_or(Estimate::exact(0), |line| line.unprofiled);
    let part = 1.0 - fair(worst) / expected;
    let of = |ns: i64| (ns as f64 * part) as i64;
    let cost = Estimate { ns: of(transfer.ns), low_ns: of(transfer.low_ns), high_ns: of(transfer.high_ns) };
    let members = matched.parties[worst.parties].size();
    let text = Message::new("ev-link-speed")
        .with("bytes", Arg::Bytes(worst.bytes))
        .name("kind", kind_name(worst.kind))
        .count("ranks", members)
        .with("speed", Arg::Number(worst.bus / 1e9, 0))
        .with("usual", Arg::Number(expected / 1e9, 0));
    let mut evidence = vec![Evidence { text, value: Some(worst.bus), unit: "bytes/s", place: None }];
    evidence.push(timed(Message::new("ev-link-hidden").share("share", worst.hidden), transfer.ns, None));
    let inside = |path: &&SlowPath| holds(&matched.parties[worst.parties], path.ranks);
    evidence.extend(ranks.paths.iter().find(inside).map(|path| said(ranks, path)).into_iter().flatten());
    let change = Change { what: "link", from: None, to: None };
    let faster = together.with_transfers(worst.parties, fair(worst) / expected);
    let replayed = faster.zip(together.base).filter(|_| together.is_usable(step.ns));
    // Transfers that got shorter may be hidden altogether: only a replay knows.
    let gain = match replayed {
        Some((after, base)) => {
            let ns = (step.ns - base + after).clamp(1, step.ns);
            let doubt = (ns as f64 * SPEED_DOUBT) as i64;
            let step_after =
                Estimate { ns, low_ns: ns - doubt, high_ns: (ns + doubt).min(step.high_ns).max(ns) };
            Gain { step_after, method: Method::Replay, change, next_limit: "compute.bound" }
        }
        None => {
            let ns = step.ns - cost.ns;
            let step_after = Estimate { ns, low_ns: ns, high_ns: step.high_ns };
            Gain { step_after, method: Method::Bound, change, next_limit: "compute.bound" }
        }
    };
    Some(finding(ranks, shown, cost, step, Some(gain), evidence))
}

/// A slow path comes before the transfers that it makes long: to hide or to save those is the second best.
pub(super) fn before_its_symptom(findings: &mut Vec<Finding>) {
    let place = |id: &str| findings.iter().position(|finding| finding.cause == id);
    if let (Some(link), Some(exposed)) = (place("comm.link"), place("comm.exposed"))
        && link > exposed
        && 2 * findings[link].cost.ns > findings[exposed].cost.ns
        && findings[link].gain.is_some()
    {
        let link = findings.remove(link);
        findings.insert(exposed, link);
    }
}

/// A slow path that only the log knows of: how much a faster one would gain is not known.
fn logged(ranks: &Ranks, shown: usize, ledger: &[Line], step: Estimate) -> Option<Finding> {
    let transfer = ledger.iter().find(|line| line.id == TRANSFER)?.unprofiled;
    let path = ranks.paths.first().filter(|_| share_of(transfer.ns, step.ns) >= WORTH)?;
    let evidence = said(ranks, path);
    Some(finding(ranks, shown, transfer, step, None, evidence))
}

fn finding(
    ranks: &Ranks,
    shown: usize,
    cost: Estimate,
    step: Estimate,
    gain: Option<Gain>,
    evidence: Vec<Evidence>,
) -> Finding {
    let gpu = ranks.own[shown].verdict.subject.gpu.as_deref();
    let amd = gpu.is_some_and(|name| vendor_of_product(name) == Vendor::Amd);
    let path = if amd { "fix-link-p2p-amd" } else { "fix-link-p2p" };
    let steps = [path, "fix-link-nic", "fix-link-log"];
    let code = "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH python train.py";
    Finding {
        cause: "comm.link",
        rank: Some(ranks.facts[shown].rank),
        share: share_of(cost.ns, step.ns),
        cost,
        gain,
        evidence,
        remedy: remedy(Message::new("fix-comm-link"), &steps, code),
    }
}

/// What the log says of a path.
fn said(ranks: &Ranks, path: &SlowPath) -> Vec<Evidence> {
    let (a, b) = path.ranks;
    let text = Message::new("ev-link-path")
        .name("a", a.to_string())
        .name("b", b.to_string())
        .count("count", ranks.paths.len())
        .message("what", slow_path(path.slow));
    let paths = i64::try_from(ranks.paths.len()).unwrap_or(i64::MAX);
    let whys = path.why.iter().map(|why| counted(why_slow(why), 1));
    std::iter::once(counted(text, paths)).chain(whys).collect()
}

/// Both ranks take part.
fn holds(parties: &Parties, ranks: (u32, u32)) -> bool {
    let has = |rank: u32| match parties {
        Parties::Group { ranks, .. } => ranks.binary_search(&rank).is_ok(),
        Parties::Pair { from, to } => rank == *from || rank == *to,
        Parties::Exchange { low, high } => rank == *low || rank == *high,
    };
    has(ranks.0) && has(ranks.1)
}

/// Nominal speed of the NVLinks of a GPU whose product name says that it has them to all its neighbours, bytes/s per
/// direction. Cards for PCIe slots may have them or not.
fn nvlink(product: &str) -> Option<f64> {
    /// The table's figure is what large collectives reach of it.
    const REACHED: f64 = 0.8;
    let upper = product.to_ascii_uppercase();
    let on_board = ["SXM", "HBM3", "H200", "H20", "B200", "B300"].iter().any(|mark| upper.contains(mark));
    if !on_board || upper.contains("PCIE") || upper.contains("NVL") {
        return None;
    }
    let link = by_product(product, 0)?.link;
    link.name.starts_with("nvlink").then_some(link.bus / REACHED)
}

/// Groups of at most eight ranks with neighbouring numbers usually share a host; of larger ones nothing is known.
fn fits_one_host(parties: &Parties) -> bool {
    const GPUS: u32 = 8;
    let (low, high) = match parties {
        Parties::Group { ranks, .. } => (ranks.first().copied(), ranks.last().copied()),
        Parties::Pair { from, to } => (Some(*from.min(to)), Some(*from.max(to))),
        Parties::Exchange { low, high } => (Some(*low), Some(*high)),
    };
    low.zip(high).is_some_and(|(low, high)| low / GPUS == high / GPUS)
}
