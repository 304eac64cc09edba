//! Driver, cards, and the paths between them.

use super::{Check, State};
use crate::gpu::Card;
use crate::links::{Distance, Link};
use crate::tree::Member;

/// Driver against CUDA against PyTorch.
pub(super) fn versions(version: &str, cuda: &str, driver: Option<&Member>) -> Check {
    let built = driver.and_then(|driver| driver.software.cuda.clone());
    let major = |text: &str| text.split('.').next().and_then(|major| major.parse::<u32>().ok());
    if let Some(check) = driver.and_then(cpu_build).filter(|_| built.is_none()) {
        return check;
    }
    match built {
        Some(built) if major(&built) > major(cuda) => Check::new(
            "look-cuda-older",
            State::Bad,
            &[("driver", &version), ("cuda", &cuda), ("built", &built)],
        ),
        Some(built) => {
            Check::new("look-cuda", State::Ok, &[("driver", &version), ("cuda", &cuda), ("built", &built)])
        }
        None => Check::new("look-driver", State::Ok, &[("driver", &version), ("cuda", &cuda)]),
    }
}

/// PyTorch has no CUDA part: whatever the machine has, it computes on the CPU.
pub(super) fn cpu_build(driver: &Member) -> Option<Check> {
    let software = &driver.software;
    let torch = software.torch.clone().unwrap_or_default();
    (software.has_torch && !software.has_torch_cuda)
        .then(|| Check::new("look-cpu-build", State::Bad, &[("torch", &torch)]))
}

/// Clock-event bits of heat and of the hardware's own brakes; the software power cap is no trouble.
const TROUBLE: u64 = 0x08 | 0x20 | 0x40 | 0x80;

pub(super) fn of_card(card: &Card) -> Vec<Check> {
    let mut found = Vec::new();
    let gpu = card.index;
    if let (Some(limit), Some(default)) = (card.power_limit_mw, card.power_default_mw) {
        let watt = |mw: u32| (mw + 500) / 1_000;
        let values: [(&'static str, &dyn ToString); 3] =
            [("gpu", &gpu), ("limit", &watt(limit)), ("default", &watt(default))];
        found.push(Check::suspect_if(limit < default, ["look-power-limited", "look-power"], &values));
    }
    if let (Some(set), Some(most)) = (card.sm_set_mhz, card.sm_most_mhz) {
        let values: [(&'static str, &dyn ToString); 3] = [("gpu", &gpu), ("set", &set), ("most", &most)];
        found.push(Check::suspect_if(set < most, ["look-clock-set", "look-clock"], &values));
    }
    if card.throttle.is_some_and(|bits| bits & TROUBLE != 0) {
        found.push(Check::new("look-clock-held", State::Bad, &[("gpu", &gpu)]));
    }
    if let (Some(now), Some(most)) = (card.pcie, card.pcie_most) {
        let text = |(generation, width): (u32, u32)| format!("{generation}.0 x{width}");
        let values: [(&'static str, &dyn ToString); 3] =
            [("gpu", &gpu), ("now", &text(now)), ("most", &text(most))];
        // An idle card may drop its generation, and takes it up again under load; a width below the slot's stays.
        let busy = !card.processes.is_empty();
        found.push(match () {
            () if now.1 < most.1 => Check::new("look-pcie-narrow", State::Suspect, &values),
            () if now.0 < most.0 && busy => Check::new("look-pcie-slow", State::Suspect, &values),
            () => Check::new("look-pcie", State::Ok, &values),
        });
    }
    if card.processes.len() > 1 {
        let pids: Vec<String> = card.processes.iter().map(|(pid, _)| pid.to_string()).collect();
        let values: [(&'static str, &dyn ToString); 3] =
            [("gpu", &gpu), ("count", &card.processes.len()), ("pids", &pids.join(", "))];
        found.push(Check::new("look-shared-card", State::Suspect, &values));
    }
    found
}

/// How the cards reach each other.
pub(super) fn together(cards: &[Card], links: &[Link]) -> Vec<Check> {
    let mut found = Vec::new();
    let named = |of: &dyn Fn(&&Link) -> bool| -> Vec<String> {
        links.iter().filter(of).map(|link| format!("{}–{}", link.pair.0, link.pair.1)).collect()
    };
    let indirect = named(&|link| link.direct == Some(false));
    let by_nvlink = links.iter().filter(|link| link.nvlink == Some(true)).count();
    if !indirect.is_empty() {
        found.push(Check::new("look-p2p-not", State::Suspect, &[("pairs", &indirect.join(", "))]));
    } else if links.iter().any(|link| link.direct == Some(true)) {
        let values: [(&'static str, &dyn ToString); 3] =
            [("gpus", &cards.len()), ("nvlink", &by_nvlink), ("pairs", &links.len())];
        found.push(Check::new("look-p2p", State::Ok, &values));
    }
    let far = named(&|link| link.distance == Some(Distance::Socket) && link.nvlink != Some(true));
    if !far.is_empty() {
        found.push(Check::new("look-p2p-far", State::Suspect, &[("pairs", &far.join(", "))]));
    }
    // Cards of one kind have the same links; one with fewer has lost some.
    let most = cards.iter().filter_map(|card| card.nvlinks).map(|(active, _)| active).max();
    for card in cards {
        if let (Some((active, _)), Some(most)) = (card.nvlinks, most)
            && active < most
            && cards.iter().all(|other| other.name == card.name)
        {
            let values: [(&'static str, &dyn ToString); 3] =
                [("gpu", &card.index), ("active", &active), ("most", &most)];
            found.push(Check::new("look-nvlink-down", State::Bad, &values));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(checks: &[Check]) -> Vec<(&'static str, State)> {
        checks.iter().map(|check| (check.id, check.state)).collect()
    }

    #[test]
    fn a_card_that_is_held_back_is_suspect() {
        let card = Card {
            power_limit_mw: Some(500_000),
            power_default_mw: Some(700_000),
            sm_set_mhz: Some(1_200),
            sm_most_mhz: Some(1_980),
            throttle: Some(0x40 | 0x04),
            pcie: Some((5, 8)),
            pcie_most: Some((5, 16)),
            processes: vec![(1, None), (2, None)],
            ..Card::default()
        };
        let suspect = State::Suspect;
        let expected = [
            ("look-power-limited", suspect),
            ("look-clock-set", suspect),
            ("look-clock-held", State::Bad),
            ("look-pcie-narrow", suspect),
            ("look-shared-card", suspect),
        ];
        assert_eq!(found(&of_card(&card)), expected);
    }

    #[test]
    fn an_idle_card_may_lower_its_link_and_a_busy_one_at_its_power_cap_is_well() {
        let idle = Card { pcie: Some((1, 16)), pcie_most: Some((5, 16)), ..Card::default() };
        assert_eq!(found(&of_card(&idle)), [("look-pcie", State::Ok)]);
        let busy = Card { processes: vec![(1, None)], throttle: Some(0x04), ..idle };
        assert_eq!(found(&of_card(&busy)), [("look-pcie-slow", State::Suspect)]);
        assert!(of_card(&Card::default()).is_empty(), "what is not known is not judged");
    }

    #[test]
    fn paths_between_cards() {
        let link = |pair, direct, nvlink, distance| Link { pair, direct, nvlink, distance };
        let (yes, no) = (Some(true), Some(false));
        let card = |index, active| Card { index, nvlinks: Some((active, 18)), ..Card::default() };
        let good = [link((0, 1), yes, yes, Some(Distance::Socket))];
        assert_eq!(found(&together(&[card(0, 18), card(1, 18)], &good)), [("look-p2p", State::Ok)]);
        let bad = [link((0, 1), no, no, Some(Distance::Socket)), link((0, 2), yes, no, Some(Distance::Node))];
        let checks = together(&[card(0, 18), card(1, 17)], &bad);
        let expected = [
            ("look-p2p-not", State::Suspect),
            ("look-p2p-far", State::Suspect),
            ("look-nvlink-down", State::Bad),
        ];
        assert_eq!(found(&checks), expected);
        assert_eq!(checks[0].found[0].1, "0–1");
        assert!(together(&[card(0, 0)], &[link((0, 1), None, None, None)]).is_empty());
    }
}
