//! What NCCL says of itself with `NCCL_DEBUG=INFO`: which ranks there are and where, and over what each pair talks.

use crate::ImportNotes;

/// Over what two ranks talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LinkPath {
    /// Directly from GPU to GPU, over NVLink or PCIe.
    P2p,
    /// A switch that reduces on the way (NVLink SHARP).
    Nvls,
    /// A network that reduces on the way (SHARP).
    CollNet,
    /// A network card that reaches the GPU's memory itself (GPUDirect RDMA).
    NetworkDirect,
    /// A network card, through the host's memory.
    Network,
    /// The host's memory.
    SharedMemory,
    /// TCP.
    Socket,
    /// Something else.
    Other,
}

impl LinkPath {
    /// The stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::P2p => "p2p",
            Self::Nvls => "nvls",
            Self::CollNet => "collnet",
            Self::NetworkDirect => "network-direct",
            Self::Network => "network",
            Self::SharedMemory => "shared-memory",
            Self::Socket => "socket",
            Self::Other => "other",
        }
    }
}

/// A rank of a communicator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NcclRank {
    /// The communicator, by the id that all its ranks print; empty in logs that print none.
    pub comm: String,
    /// Its number in it.
    pub rank: u32,
    /// Ranks in it.
    pub size: u32,
    /// The GPU, as the program numbers it.
    pub device: Option<u32>,
    /// Its place on the PCI bus, as printed.
    pub bus: String,
    /// The host.
    pub host: String,
    /// The process.
    pub pid: u32,
    /// Hosts in the communicator.
    pub nodes: Option<u32>,
    /// It finished setting up.
    pub complete: bool,
}

/// A connection between two ranks on one channel, in one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NcclLink {
    /// The communicator, as [`NcclRank::comm`].
    pub comm: String,
    /// The channel.
    pub channel: u32,
    /// It serves collectives; further connections of a channel serve messages.
    pub collective: bool,
    /// From which rank.
    pub from: u32,
    /// To which.
    pub to: u32,
    /// Over what.
    pub path: LinkPath,
    /// The same as printed: `SHM/direct/direct`.
    pub text: String,
}

/// A line that warns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NcclWarning {
    /// The host that printed it.
    pub host: String,
    /// What it says.
    pub text: String,
    /// How often.
    pub count: u64,
}

/// One or several logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NcclLog {
    /// NCCL's version, as printed.
    pub version: String,
    /// Ranks.
    pub ranks: Vec<NcclRank>,
    /// Connections.
    pub links: Vec<NcclLink>,
    /// Rings: the channel and the ranks in order, one per communicator and channel.
    pub rings: Vec<(u32, Vec<u32>)>,
    /// Trees: as printed, one per rank that prints them.
    pub trees: Vec<String>,
    /// Channels for collectives; the fewest of all ranks.
    pub channels: Option<u32>,
    /// The network in use (`IB`, `Socket`, a plugin's name); empty where none is named.
    pub network: String,
    /// Network cards that it found, as printed.
    pub cards: Vec<String>,
    /// Kinds of path inside a host and between hosts, as the search for rings found them: (`NVL`, `PIX`).
    pub found: Option<(String, String)>,
    /// Variables that were set, with their values.
    pub settings: Vec<(String, String)>,
    /// What it says of why a faster path is not taken.
    pub fallbacks: Vec<String>,
    /// Warnings.
    pub warnings: Vec<NcclWarning>,
    /// Lines of NCCL.
    pub lines: u64,
    /// What was wrong with the input.
    pub notes: ImportNotes,
}
