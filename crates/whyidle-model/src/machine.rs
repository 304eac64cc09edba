//! Facts of a machine, as its own tools print them: cards, what holds them back, links between them, and who else
//! is on them. Taken once, or at most a few times: no time series.

/// A card, as `nvidia-smi -q` or a query shows it. What was not said, or is not available, is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CardFacts {
    /// Physical number, by the order of listing.
    pub index: u32,
    /// `00000000:00:06.0`.
    pub bus: String,
    /// `GPU-…`.
    pub uuid: String,
    /// Product name.
    pub name: String,
    /// Persistence mode is on.
    pub persistence: Option<bool>,
    /// The card is cut into MIG instances.
    pub mig: Option<bool>,
    /// Error correction is on.
    pub ecc: Option<bool>,
    /// Uncorrectable memory errors since the driver was loaded.
    pub uncorrectable: Option<u64>,
    /// Rows of memory whose replacement waits for a reset.
    pub remap_pending: Option<bool>,
    /// `Default`, `Exclusive_Process`, `Prohibited`.
    pub compute_mode: String,
    /// Power limit in force, W.
    pub limit_w: Option<f64>,
    /// Power limit that the card comes with, W.
    pub default_limit_w: Option<f64>,
    /// Power drawn, W.
    pub power_w: Option<f64>,
    /// Clock of the multiprocessors, MHz.
    pub sm_mhz: Option<f64>,
    /// Highest clock of the multiprocessors, MHz.
    pub max_sm_mhz: Option<f64>,
    /// Clock that applications are held to, MHz.
    pub application_mhz: Option<f64>,
    /// Clock-event bits as NVML numbers them, from all that were listed.
    pub throttle: Option<u64>,
    /// Time for which clocks were held down, ns since the driver was loaded: by the power limit, by temperature (by
    /// software, by hardware), by the power brake.
    pub held_ns: HeldDown,
    /// Temperature, °C.
    pub temperature_c: Option<f64>,
    /// PCIe generation and width, in use and at most.
    pub pcie: Option<(u32, u32)>,
    /// At most.
    pub pcie_max: Option<(u32, u32)>,
    /// Memory in use and all of it, bytes.
    pub memory: Option<(u64, u64)>,
    /// Utilisation in the moment, percent.
    pub util: Option<f64>,
    /// Processes on it.
    pub processes: Vec<CardProcess>,
    /// The list of processes was there, though it may be empty.
    pub listed_processes: bool,
}

/// How long clocks were held down, ns since the driver was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldDown {
    /// By the power limit.
    pub power: Option<u64>,
    /// By temperature, in software.
    pub thermal: Option<u64>,
    /// By temperature, in hardware.
    pub thermal_hardware: Option<u64>,
    /// By the power brake.
    pub brake: Option<u64>,
}

/// A process on a card.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CardProcess {
    /// Its id, as the host numbers it.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// It computes, rather than draws.
    pub computes: bool,
    /// Memory that it holds, bytes.
    pub memory: Option<u64>,
}

/// How two devices are joined, as `nvidia-smi topo -m` prints it. Better ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Joined {
    /// By so many NVLinks.
    NvLink(u32),
    /// At most one PCIe bridge between them.
    Pix,
    /// Several PCIe bridges, no host bridge.
    Pxb,
    /// The host bridge of a CPU.
    Phb,
    /// Host bridges of one NUMA node.
    Node,
    /// The link between NUMA nodes.
    Sys,
}

impl Joined {
    /// As `nvidia-smi` prints it, without the number of links.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::NvLink(_) => "NV",
            Self::Pix => "PIX",
            Self::Pxb => "PXB",
            Self::Phb => "PHB",
            Self::Node => "NODE",
            Self::Sys => "SYS",
        }
    }
}

/// A pair of devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// `GPU0`, `NIC0`, `mlx5_0`.
    pub a: String,
    /// The other one.
    pub b: String,
    /// How they are joined.
    pub joined: Joined,
}

/// What is known of a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineFacts {
    /// Version of the driver.
    pub driver: String,
    /// Newest CUDA that the driver runs.
    pub cuda: String,
    /// When it was printed, ns; by the machine's own clock without its zone, as if it were UTC.
    pub local_ns: Option<i64>,
    /// Its cards.
    pub cards: Vec<CardFacts>,
    /// Pairs of devices, each once.
    pub pairs: Vec<Pair>,
    /// Cores near each card, as printed (`0-15`), and NUMA nodes.
    pub near: Vec<(String, String, String)>,
    /// Processes of which the card is not known.
    pub loose_processes: Vec<CardProcess>,
}

impl MachineFacts {
    /// Nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cards.is_empty() && self.pairs.is_empty() && self.loose_processes.is_empty()
    }

    /// Adds what another print says; what is already known stays, unless it was not said.
    pub fn merge(&mut self, other: Self) {
        let fill = |known: &mut String, new: String| {
            if known.is_empty() {
                *known = new;
            }
        };
        fill(&mut self.driver, other.driver);
        fill(&mut self.cuda, other.cuda);
        self.local_ns = self.local_ns.or(other.local_ns);
        for card in other.cards {
            let same = |known: &&mut CardFacts| match (known.named(), card.named()) {
                (Some(a), Some(b)) => a == b,
                _ => known.index == card.index,
            };
            match self.cards.iter_mut().find(same) {
                Some(known) => known.merge(card),
                None => self.cards.push(card),
            }
        }
        for pair in other.pairs {
            if !self.pairs.contains(&pair) {
                self.pairs.push(pair);
            }
        }
        for near in other.near {
            if !self.near.contains(&near) {
                self.near.push(near);
            }
        }
        for process in other.loose_processes {
            if !self.loose_processes.contains(&process) {
                self.loose_processes.push(process);
            }
        }
    }

    /// Pairs of cards, network adapters left out.
    pub fn gpu_pairs(&self) -> impl Iterator<Item = &Pair> {
        self.pairs.iter().filter(|pair| pair.a.starts_with("GPU") && pair.b.starts_with("GPU"))
    }
}

impl CardFacts {
    /// Its own name, where it has one: prints that are passed on have it blotted out with zeros.
    fn named(&self) -> Option<&str> {
        let digits = self.uuid.strip_prefix("GPU-").unwrap_or(&self.uuid);
        digits.contains(|c: char| c != '0' && c != '-').then_some(self.uuid.as_str())
    }

    /// Adds what another print says of the same card.
    pub fn merge(&mut self, other: Self) {
        let fill = |known: &mut String, new: String| {
            if known.is_empty() {
                *known = new;
            }
        };
        fill(&mut self.bus, other.bus);
        if self.named().is_none() && !other.uuid.is_empty() {
            self.uuid = other.uuid;
        }
        fill(&mut self.name, other.name);
        fill(&mut self.compute_mode, other.compute_mode);
        self.persistence = self.persistence.or(other.persistence);
        self.mig = self.mig.or(other.mig);
        self.ecc = self.ecc.or(other.ecc);
        self.uncorrectable = self.uncorrectable.or(other.uncorrectable);
        self.remap_pending = self.remap_pending.or(other.remap_pending);
        self.limit_w = self.limit_w.or(other.limit_w);
        self.default_limit_w = self.default_limit_w.or(other.default_limit_w);
        self.power_w = self.power_w.or(other.power_w);
        self.sm_mhz = self.sm_mhz.or(other.sm_mhz);
        self.max_sm_mhz = self.max_sm_mhz.or(other.max_sm_mhz);
        self.application_mhz = self.application_mhz.or(other.application_mhz);
        self.throttle = self.throttle.or(other.throttle);
        self.held_ns.power = self.held_ns.power.or(other.held_ns.power);
        self.held_ns.thermal = self.held_ns.thermal.or(other.held_ns.thermal);
        self.held_ns.thermal_hardware = self.held_ns.thermal_hardware.or(other.held_ns.thermal_hardware);
        self.held_ns.brake = self.held_ns.brake.or(other.held_ns.brake);
        self.temperature_c = self.temperature_c.or(other.temperature_c);
        self.pcie = self.pcie.or(other.pcie);
        self.pcie_max = self.pcie_max.or(other.pcie_max);
        self.memory = self.memory.or(other.memory);
        self.util = self.util.or(other.util);
        self.listed_processes |= other.listed_processes;
        for process in other.processes {
            match self.processes.iter_mut().find(|known| known.pid == process.pid) {
                Some(known) => known.memory = known.memory.or(process.memory),
                None => self.processes.push(process),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_of_one_card_are_put_together() {
        let card = |index, uuid: &str, limit_w| CardFacts {
            index,
            uuid: uuid.to_owned(),
            limit_w,
            ..CardFacts::default()
        };
        let blotted = "GPU-00000000-0000-0000-0000-000000000000";
        let mut facts =
            MachineFacts { cards: vec![card(0, blotted, Some(700.0))], ..MachineFacts::default() };
        facts.merge(MachineFacts {
            cards: vec![card(0, "GPU-a", None), card(1, "GPU-b", None)],
            ..MachineFacts::default()
        });
        facts.merge(MachineFacts { cards: vec![card(5, "GPU-b", Some(300.0))], ..MachineFacts::default() });
        assert_eq!(facts.cards.len(), 2);
        assert_eq!((facts.cards[0].uuid.as_str(), facts.cards[0].limit_w), ("GPU-a", Some(700.0)));
        assert_eq!(facts.cards[1].limit_w, Some(300.0));
        assert!(Joined::NvLink(18) < Joined::Pix && Joined::Pix < Joined::Sys);
    }
}
