//! How GPUs reach each other: directly or through the host, over NVLink or PCIe, across sockets. Every value is
//! optional.

use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::{P2pCapabilitiesIndex, P2pStatus, TopologyLevel};

/// No card has more NVLinks.
const MOST_LINKS: u32 = 18;

/// How far apart two GPUs are on PCIe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// Behind the same switch, or several without a host bridge between.
    Switch,
    /// On the same host bridge.
    Bridge,
    /// On the same NUMA node.
    Node,
    /// On different sockets.
    Socket,
}

/// How two GPUs reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Physical numbers, the lower one first.
    pub pair: (u32, u32),
    /// One can read the other's memory; `None` where the driver does not say.
    pub direct: Option<bool>,
    /// NVLink connects them; `None` where the driver does not say.
    pub nvlink: Option<bool>,
    /// How far apart they are; `None` where the driver does not say.
    pub distance: Option<Distance>,
}

/// Every pair of GPUs.
pub(crate) fn links(
    devices: &[Device<'static>],
    again: impl Fn(u32) -> Option<Device<'static>>,
) -> Vec<Link> {
    let mut found = Vec::new();
    for (a, one) in devices.iter().enumerate() {
        for (b, other) in devices.iter().enumerate().skip(a + 1) {
            let is_ok = |index| match one.p2p_status(other, index) {
                Ok(P2pStatus::Unknown) | Err(_) => None,
                Ok(status) => Some(status == P2pStatus::Ok),
            };
            let level = again(b as u32).and_then(|other| one.topology_common_ancestor(other).ok());
            found.push(Link {
                pair: (a as u32, b as u32),
                direct: is_ok(P2pCapabilitiesIndex::Read),
                nvlink: is_ok(P2pCapabilitiesIndex::NvLink),
                distance: level.map(distance),
            });
        }
    }
    found
}

fn distance(level: TopologyLevel) -> Distance {
    match level {
        TopologyLevel::Internal | TopologyLevel::Single | TopologyLevel::Multiple => Distance::Switch,
        TopologyLevel::HostBridge => Distance::Bridge,
        TopologyLevel::Node => Distance::Node,
        TopologyLevel::System => Distance::Socket,
    }
}

/// Active NVLinks of a GPU, and all that it has; `None` where it has none, or does not say.
pub(crate) fn nvlinks(device: &Device<'static>) -> Option<(u32, u32)> {
    let states: Vec<bool> =
        (0..MOST_LINKS).map_while(|link| device.link_wrapper_for(link).is_active().ok()).collect();
    let active = states.iter().filter(|active| **active).count();
    (!states.is_empty()).then_some((active as u32, states.len() as u32))
}
