//! What the settings and links of a machine say about speed: each fact with the cause that it supports, if it carries one.

use whyidle_model::{CardFacts, CardProcess, Joined, MachineFacts};

use crate::signals::gpu::TROUBLE;

/// Limits that differ by less are the same.
const SAME_LIMIT_W: f64 = 1.0;

/// A fact worth a word.
#[derive(Clone, Debug, PartialEq)]
pub enum MachineFinding {
    /// Clocks were held down by temperature, hardware or the power brake when the card was looked at.
    Throttled {
        /// The card.
        gpu: u32,
        /// NVML's bits.
        bits: u64,
    },
    /// The power limit is below the one that the card comes with.
    LimitLowered {
        /// The card.
        gpu: u32,
        /// In force, W.
        limit: f64,
        /// The card's own, W.
        default: f64,
    },
    /// Temperature or the power brake held clocks down at some time since the driver was loaded.
    WasThrottled {
        /// The card.
        gpu: u32,
        /// For so long, ns.
        ns: u64,
    },
    /// Several processes compute on the card.
    Shared {
        /// The card.
        gpu: u32,
        /// They.
        processes: Vec<CardProcess>,
    },
    /// Pairs of cards without NVLink.
    SlowLinks {
        /// So many.
        pairs: usize,
        /// Of so many.
        all: usize,
        /// The worst way between two of them.
        worst: Joined,
        /// An example.
        example: (String, String),
    },
    /// All pairs of cards are joined by NVLink, with so many links at least.
    AllNvLink {
        /// Pairs.
        pairs: usize,
        /// The fewest links.
        fewest: u32,
    },
    /// The slot gives fewer lanes than the card has.
    NarrowSlot {
        /// The card.
        gpu: u32,
        /// Lanes in use.
        width: u32,
        /// Lanes of the card.
        most: u32,
    },
    /// The driver is unloaded between programs.
    NotPersistent {
        /// The card.
        gpu: u32,
    },
    /// The card is cut into instances: utilisation of the whole says nothing.
    Mig {
        /// The card.
        gpu: u32,
    },
    /// Memory errors that could not be corrected.
    MemoryErrors {
        /// The card.
        gpu: u32,
        /// So many.
        count: u64,
    },
    /// Rows of memory wait for a reset to be replaced.
    RemapPending {
        /// The card.
        gpu: u32,
    },
}

impl MachineFinding {
    /// The cause that it is evidence for.
    #[must_use]
    pub fn cause(&self) -> Option<&'static str> {
        match self {
            Self::Throttled { .. } | Self::LimitLowered { .. } => Some("power.throttle"),
            Self::Shared { .. } => Some("gpu.shared"),
            Self::SlowLinks { .. } => Some("comm.link"),
            _ => None,
        }
    }
}

/// What is worth a word, the gravest first.
#[must_use]
pub fn findings(facts: &MachineFacts) -> Vec<MachineFinding> {
    let mut found: Vec<MachineFinding> = Vec::new();
    facts.cards.iter().for_each(|card| of_card(card, &mut found));
    let pairs: Vec<_> = facts.gpu_pairs().collect();
    let slow: Vec<_> = pairs.iter().filter(|pair| !matches!(pair.joined, Joined::NvLink(_))).collect();
    if let Some(worst) = slow.iter().max_by_key(|pair| pair.joined) {
        found.push(MachineFinding::SlowLinks {
            pairs: slow.len(),
            all: pairs.len(),
            worst: worst.joined,
            example: (worst.a.clone(), worst.b.clone()),
        });
    } else {
        let links = pairs
            .iter()
            .filter_map(|pair| if let Joined::NvLink(links) = pair.joined { Some(links) } else { None });
        if let Some(fewest) = links.min() {
            found.push(MachineFinding::AllNvLink { pairs: pairs.len(), fewest });
        }
    }
    // Those that support a cause come first, each kind in the order of cards.
    found.sort_by_key(|finding| finding.cause().is_none());
    found
}

fn of_card(card: &CardFacts, found: &mut Vec<MachineFinding>) {
    let gpu = card.index;
    if let Some(bits) = card.throttle.map(|bits| bits & TROUBLE).filter(|bits| *bits != 0) {
        found.push(MachineFinding::Throttled { gpu, bits });
    }
    if let Some((limit, default)) = card.limit_w.zip(card.default_limit_w)
        && limit < default - SAME_LIMIT_W
    {
        found.push(MachineFinding::LimitLowered { gpu, limit, default });
    }
    let held = [card.held_ns.thermal, card.held_ns.thermal_hardware, card.held_ns.brake]
        .into_iter()
        .flatten()
        .fold(0_u64, u64::saturating_add);
    if held > 0 {
        found.push(MachineFinding::WasThrottled { gpu, ns: held });
    }
    let computing: Vec<CardProcess> =
        card.processes.iter().filter(|process| process.computes).cloned().collect();
    if computing.len() > 1 {
        found.push(MachineFinding::Shared { gpu, processes: computing });
    }
    // Generation and width fall while a card sleeps; with work on it they do not.
    let is_awake = card.util.is_some_and(|util| util > 0.0)
        || card.sm_mhz.zip(card.max_sm_mhz).is_some_and(|(now, most)| now > 0.5 * most);
    if let (Some((_, width)), Some((_, most))) = (card.pcie, card.pcie_max)
        && is_awake
        && (1..most).contains(&width)
    {
        found.push(MachineFinding::NarrowSlot { gpu, width, most });
    }
    if card.persistence == Some(false) {
        found.push(MachineFinding::NotPersistent { gpu });
    }
    if card.mig == Some(true) {
        found.push(MachineFinding::Mig { gpu });
    }
    if let Some(count) = card.uncorrectable.filter(|count| *count > 0) {
        found.push(MachineFinding::MemoryErrors { gpu, count });
    }
    if card.remap_pending == Some(true) {
        found.push(MachineFinding::RemapPending { gpu });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whyidle_model::Pair;

    #[test]
    fn only_what_the_values_carry_supports_a_cause() {
        let fine = CardFacts {
            limit_w: Some(700.0),
            default_limit_w: Some(700.0),
            throttle: Some(0x5),
            persistence: Some(true),
            mig: Some(false),
            uncorrectable: Some(0),
            ..CardFacts::default()
        };
        let of = |card: CardFacts| findings(&MachineFacts { cards: vec![card], ..MachineFacts::default() });
        assert!(of(fine.clone()).is_empty(), "the power cap of a busy card is its normal state");
        assert_eq!(
            of(CardFacts { throttle: Some(0x44), ..fine.clone() })[0],
            MachineFinding::Throttled { gpu: 0, bits: 0x40 }
        );
        assert_eq!(of(CardFacts { limit_w: Some(400.0), ..fine.clone() })[0].cause(), Some("power.throttle"));
        let process = |pid, computes| CardProcess { pid, computes, ..CardProcess::default() };
        assert!(
            of(CardFacts { processes: vec![process(1, true), process(2, false)], ..fine.clone() }).is_empty()
        );
        assert_eq!(
            of(CardFacts { processes: vec![process(1, true), process(2, true)], ..fine })[0].cause(),
            Some("gpu.shared")
        );
        assert!(of(CardFacts::default()).is_empty());
    }

    #[test]
    fn links_are_slow_or_all_of_nvlink() {
        let pair = |a: &str, b: &str, joined| Pair { a: a.to_owned(), b: b.to_owned(), joined };
        let of = |pairs: Vec<Pair>| findings(&MachineFacts { pairs, ..MachineFacts::default() });
        let nvlink = vec![pair("GPU0", "GPU1", Joined::NvLink(18)), pair("GPU0", "NIC0", Joined::Sys)];
        assert_eq!(of(nvlink), [MachineFinding::AllNvLink { pairs: 1, fewest: 18 }]);
        let mixed = of(vec![
            pair("GPU0", "GPU1", Joined::NvLink(4)),
            pair("GPU0", "GPU2", Joined::Phb),
            pair("GPU1", "GPU2", Joined::Sys),
        ]);
        assert_eq!(
            mixed[0],
            MachineFinding::SlowLinks {
                pairs: 2,
                all: 3,
                worst: Joined::Sys,
                example: ("GPU1".to_owned(), "GPU2".to_owned())
            }
        );
    }
}
