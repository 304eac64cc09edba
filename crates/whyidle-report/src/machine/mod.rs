//! Facts of a machine, and what each file of logs contributed, in words.

use serde_json::{Value, json};
use whyidle_analysis::machine::{MachineFinding, findings};
use whyidle_diagnosis::{Message, QualityNote};
use whyidle_model::{Joined, MachineFacts, Severity};

use crate::Catalog;
use crate::json::text;
use crate::page::Block;

/// Bits of NVML that mean trouble, with their words.
const BITS: [(u64, &str); 4] = [
    (0x08, "machine-bit-slowdown"),
    (0x20, "machine-bit-thermal"),
    (0x40, "machine-bit-thermal-hardware"),
    (0x80, "machine-bit-brake"),
];
/// Processes that are named.
const NAMED: usize = 3;

/// Whether the files say anything by which a card or a link could have been found to be held back.
fn says_how_it_runs(facts: &MachineFacts) -> bool {
    let card = |card: &whyidle_model::CardFacts| {
        card.throttle.is_some() || card.limit_w.is_some() && card.default_limit_w.is_some()
    };
    !facts.pairs.is_empty() || facts.cards.iter().any(card)
}

/// A fact in a sentence.
fn machine_message(finding: &MachineFinding) -> Message {
    let of = |id, gpu: u32| Message::new(id).name("gpu", gpu.to_string());
    match finding {
        MachineFinding::Throttled { gpu, bits } => {
            let named = BITS
                .iter()
                .filter(|(bit, _)| bits & bit != 0)
                .map(|(_, id)| whyidle_diagnosis::Arg::Message(Box::new(Message::new(id))));
            of("machine-throttled", *gpu).with("reasons", whyidle_diagnosis::Arg::List(named.collect()))
        }
        MachineFinding::LimitLowered { gpu, limit, default } => of("machine-limit-lowered", *gpu)
            .count("limit", limit.round() as i64)
            .count("default", default.round() as i64),
        MachineFinding::WasThrottled { gpu, ns } => {
            of("machine-was-throttled", *gpu).time("time", i64::try_from(*ns).unwrap_or(i64::MAX))
        }
        MachineFinding::Shared { gpu, processes } => {
            let one = |process: &whyidle_model::CardProcess| {
                whyidle_diagnosis::Arg::Name(format!("{} {}", process.pid, process.name).trim().to_owned())
            };
            let named = processes.iter().take(NAMED).map(one).collect();
            of("machine-shared", *gpu)
                .count("count", processes.len())
                .with("processes", whyidle_diagnosis::Arg::List(named))
        }
        MachineFinding::SlowLinks { pairs, all, worst, example } => Message::new("machine-slow-links")
            .count("pairs", *pairs)
            .count("all", *all)
            .name("a", &example.0)
            .name("b", &example.1)
            .message("joined", joined(*worst)),
        MachineFinding::AllNvLink { pairs, fewest } => {
            Message::new("machine-all-nvlink").count("pairs", *pairs).count("links", *fewest)
        }
        MachineFinding::NarrowSlot { gpu, width, most } => {
            of("machine-narrow-slot", *gpu).count("width", *width).count("most", *most)
        }
        MachineFinding::NotPersistent { gpu } => of("machine-not-persistent", *gpu),
        MachineFinding::Mig { gpu } => of("machine-mig", *gpu),
        MachineFinding::MemoryErrors { gpu, count } => {
            of("machine-memory-errors", *gpu).count("count", i64::try_from(*count).unwrap_or(i64::MAX))
        }
        MachineFinding::RemapPending { gpu } => of("machine-remap-pending", *gpu),
    }
}

fn joined(joined: Joined) -> Message {
    Message::new(match joined {
        Joined::NvLink(_) => "machine-joined-nvlink",
        Joined::Pix => "machine-joined-pix",
        Joined::Pxb => "machine-joined-pxb",
        Joined::Phb => "machine-joined-phb",
        Joined::Node => "machine-joined-node",
        Joined::Sys => "machine-joined-sys",
    })
}

/// Facts as notes of a verdict: those that support a cause are shown always.
#[must_use]
pub fn machine_notes(facts: &MachineFacts) -> Vec<QualityNote> {
    let note = |finding: &MachineFinding| QualityNote {
        code: finding.cause().map_or("machine", |_| "machine-cause"),
        severity: if finding.cause().is_some() { Severity::Suspect } else { Severity::Info },
        count: 1,
        text: machine_message(finding),
    };
    findings(facts).iter().map(note).collect()
}

/// The page: what is worth a word, and `why` logs carry no verdict, where they carry none.
pub(crate) fn blocks(facts: &MachineFacts, why: Option<&Message>, catalog: &Catalog) -> Vec<Block> {
    let say = |message: &Message| catalog.message(message);
    let mut blocks = Vec::new();
    let cards = Message::new("machine-head").count("count", facts.cards.len());
    let name = facts.cards.iter().map(|card| card.name.as_str()).find(|name| !name.is_empty()).unwrap_or("");
    let driver = (!facts.driver.is_empty())
        .then(|| say(&Message::new("machine-driver").name("version", &facts.driver)));
    let mut head: Vec<String> =
        [Some(name.to_owned()), (!facts.cards.is_empty()).then(|| say(&cards)), driver]
            .into_iter()
            .flatten()
            .collect();
    head.retain(|part| !part.is_empty());
    if !head.is_empty() {
        blocks.push(Block::Head(head.join(" · ")));
    }
    let found = findings(facts);
    let grave: Vec<Message> =
        found.iter().filter(|finding| finding.cause().is_some()).map(machine_message).collect();
    let sentence = match (&grave[..], says_how_it_runs(facts)) {
        ([], false) => vec![Message::new("machine-nothing")],
        ([], true) => vec![Message::new("machine-fine")],
        (grave, _) => grave.to_vec(),
    };
    blocks.push(Block::Sentence(catalog.sentences(&sentence)));
    blocks.extend(
        found
            .iter()
            .filter(|finding| finding.cause().is_none())
            .map(|finding| Block::Note(say(&machine_message(finding)))),
    );
    blocks.extend(
        why.map(|why| Block::Doubt(say(&Message::new("machine-no-verdict").message("reason", why.clone())))),
    );
    blocks
}

/// Facts as a JSON value.
pub(crate) fn value(facts: &MachineFacts, catalog: &Catalog) -> Value {
    json!({
        "driver": (!facts.driver.is_empty()).then_some(&facts.driver),
        "cuda": (!facts.cuda.is_empty()).then_some(&facts.cuda),
        "cards": facts.cards.iter().map(|card| json!({
            "index": card.index,
            "name": (!card.name.is_empty()).then_some(&card.name),
            "uuid": (!card.uuid.is_empty()).then_some(&card.uuid),
            "bus": (!card.bus.is_empty()).then_some(&card.bus),
            "persistence": card.persistence,
            "mig": card.mig,
            "ecc": card.ecc,
            "uncorrectable_errors": card.uncorrectable,
            "limit_w": card.limit_w,
            "default_limit_w": card.default_limit_w,
            "throttle_bits": card.throttle,
            "pcie": card.pcie.map(|(generation, width)| json!({ "generation": generation, "width": width })),
            "processes": card.processes.iter().map(|process| json!({
                "pid": process.pid,
                "name": process.name,
                "computes": process.computes,
                "memory_bytes": process.memory,
            })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "pairs": facts.pairs.iter().map(|pair| json!({
            "a": pair.a,
            "b": pair.b,
            "joined": pair.joined.id(),
            "links": if let Joined::NvLink(links) = pair.joined { Some(links) } else { None },
        })).collect::<Vec<_>>(),
        "findings": findings(facts).iter().map(|finding| json!({
            "cause": finding.cause(),
            "text": text(catalog, &machine_message(finding)),
        })).collect::<Vec<_>>(),
    })
}
