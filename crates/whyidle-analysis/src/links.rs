//! Over what each pair of ranks talks, by NCCL's own log, and why a path is slow.
//!
//! Nothing is concluded from what a log does not say. `P2P` covers NVLink and PCIe alike; which of them is said only where
//! the log holds the search for rings (`NCCL_DEBUG_SUBSYS=GRAPH`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use whyidle_model::{LinkPath, NcclLink, NcclLog};

/// Why a pair takes a slow path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Why {
    /// A variable forbids the faster one: its name and value.
    Setting(String, String),
    /// NCCL says so, in its own words.
    Said(String),
    /// No network card was found.
    NoCard,
    /// The log does not say.
    Unknown,
}

/// What is wrong with a pair's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Slow {
    /// Two GPUs of one host talk through its memory.
    HostMemory,
    /// Two GPUs of one host talk over the network.
    NetworkInside,
    /// Hosts talk over TCP.
    Tcp,
    /// A network card copies through the host's memory.
    NoDirect,
}

impl Slow {
    /// The stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::HostMemory => "host-memory",
            Self::NetworkInside => "network-inside",
            Self::Tcp => "tcp",
            Self::NoDirect => "no-direct",
        }
    }
}

/// A pair of ranks, in both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The communicator.
    pub comm: String,
    /// The ranks in it, the lower first.
    pub ranks: (u32, u32),
    /// The slowest path between them.
    pub path: LinkPath,
    /// The same as printed.
    pub text: String,
    /// Channels that join them for collectives; where there are none, for messages.
    pub channels: usize,
    /// They are on one host; `None`: the log does not say.
    pub same_host: Option<bool>,
    /// What is wrong, if anything.
    pub slow: Option<Slow>,
    /// Why.
    pub why: Vec<Why>,
}

/// A slow path between two ranks of the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowPath {
    /// The ranks, the lower first.
    pub ranks: (u32, u32),
    /// What is wrong.
    pub slow: Slow,
    /// Why.
    pub why: Vec<Why>,
}

/// The slow paths between ranks of a job of `world` ranks. Communicators count their own ranks: those of smaller groups
/// are not the job's and say nothing here.
#[must_use]
pub fn slow_paths(log: &NcclLog, world: u32) -> Vec<SlowPath> {
    let is_worlds = |comm: &str| log.ranks.iter().any(|rank| rank.comm == comm && rank.size == world);
    let mut paths: Vec<SlowPath> = pairs(log)
        .into_iter()
        .filter(|pair| is_worlds(&pair.comm))
        .filter_map(|Pair { ranks, slow, why, .. }| Some(SlowPath { ranks, slow: slow?, why }))
        .collect();
    paths.sort_by_key(|path| path.ranks);
    paths.dedup_by_key(|path| path.ranks);
    paths
}

/// All pairs, those with a slow path first.
#[must_use]
pub fn pairs(log: &NcclLog) -> Vec<Pair> {
    let hosts: BTreeMap<(&str, u32), &str> =
        log.ranks.iter().map(|rank| ((rank.comm.as_str(), rank.rank), rank.host.as_str())).collect();
    let one_host = !log.ranks.is_empty() && log.ranks.iter().all(|rank| rank.nodes == Some(1));
    let mut found: BTreeMap<(&str, u32, u32), Vec<&NcclLink>> = BTreeMap::new();
    for link in &log.links {
        let ends = (link.from.min(link.to), link.from.max(link.to));
        found.entry((&link.comm, ends.0, ends.1)).or_default().push(link);
    }
    let mut pairs: Vec<Pair> = found
        .into_iter()
        .filter_map(|((comm, a, b), links)| {
            let slowest = links.iter().max_by_key(|link| link.path)?;
            let any = links.iter().any(|link| link.collective);
            let used = links.iter().filter(|link| link.collective || !any);
            let mut channels: Vec<u32> = used.map(|link| link.channel).collect();
            channels.sort_unstable();
            channels.dedup();
            let known = hosts.get(&(comm, a)).zip(hosts.get(&(comm, b))).map(|(a, b)| a == b);
            let same_host = known.or(one_host.then_some(true));
            let slow = slow(slowest.path, same_host);
            Some(Pair {
                comm: comm.to_owned(),
                ranks: (a, b),
                path: slowest.path,
                text: slowest.text.clone(),
                channels: channels.len(),
                same_host,
                slow,
                why: slow.map_or_else(Vec::new, |slow| why(log, slow)),
            })
        })
        .collect();
    pairs.sort_by_key(|pair| (pair.slow.is_none(), std::cmp::Reverse(pair.path), pair.ranks));
    pairs
}

fn slow(path: LinkPath, same_host: Option<bool>) -> Option<Slow> {
    match path {
        // Memory is shared on one host only.
        LinkPath::SharedMemory => Some(Slow::HostMemory),
        LinkPath::Socket | LinkPath::Network | LinkPath::NetworkDirect if same_host == Some(true) => {
            Some(Slow::NetworkInside)
        }
        LinkPath::Socket => Some(Slow::Tcp),
        LinkPath::Network => Some(Slow::NoDirect),
        _ => None,
    }
}

fn why(log: &NcclLog, slow: Slow) -> Vec<Why> {
    let (names, said): (&[&str], &[&str]) = match slow {
        Slow::HostMemory => (&["NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL"], &["P2P"]),
        Slow::NetworkInside => {
            (&["NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_NET"], &["P2P"])
        }
        Slow::Tcp => (&["NCCL_IB_DISABLE", "NCCL_NET", "NCCL_IB_HCA", "NCCL_NET_PLUGIN"], &[]),
        Slow::NoDirect => {
            (&["NCCL_NET_GDR_LEVEL", "NCCL_NET_GDR_READ", "NCCL_P2P_DISABLE"], &["GPU Direct", "GDR"])
        }
    };
    let set = log.settings.iter().filter(|(name, value)| names.contains(&name.as_str()) && value != "0");
    let mut why: Vec<Why> = set.map(|(name, value)| Why::Setting(name.clone(), value.clone())).collect();
    let lines = log.fallbacks.iter().filter(|line| said.iter().any(|word| line.contains(word)));
    why.extend(lines.map(|line| Why::Said(line.clone())));
    if slow == Slow::Tcp
        && log.cards.is_empty()
        && log.fallbacks.iter().any(|line| line.contains("No device found"))
    {
        why.push(Why::NoCard);
    }
    if why.is_empty() {
        why.push(Why::Unknown);
    }
    why
}

#[cfg(test)]
mod tests {
    use whyidle_model::NcclRank;

    use super::*;

    fn log(path: LinkPath, hosts: [&str; 2]) -> NcclLog {
        let rank = |(rank, host): (usize, &&str)| NcclRank {
            comm: "c".to_owned(),
            rank: rank as u32,
            size: 2,
            host: (*host).to_owned(),
            ..NcclRank::default()
        };
        let link = |from, to| NcclLink {
            comm: "c".to_owned(),
            channel: 0,
            collective: true,
            from,
            to,
            path,
            text: path.id().to_owned(),
        };
        NcclLog {
            ranks: hosts.iter().enumerate().map(rank).collect(),
            links: vec![link(0, 1), link(1, 0)],
            ..NcclLog::default()
        }
    }

    #[test]
    fn a_slow_path_is_one_that_the_place_of_the_gpus_does_not_ask_for() {
        for (path, hosts, slow) in [
            (LinkPath::P2p, ["a", "a"], None),
            (LinkPath::SharedMemory, ["a", "a"], Some(Slow::HostMemory)),
            (LinkPath::Socket, ["a", "a"], Some(Slow::NetworkInside)),
            (LinkPath::Socket, ["a", "b"], Some(Slow::Tcp)),
            (LinkPath::Network, ["a", "b"], Some(Slow::NoDirect)),
            (LinkPath::NetworkDirect, ["a", "b"], None),
        ] {
            let pairs = pairs(&log(path, hosts));
            assert_eq!((pairs.len(), pairs[0].slow, pairs[0].channels), (1, slow, 1), "{path:?} {hosts:?}");
        }
    }

    #[test]
    fn reasons_are_those_that_the_log_gives() {
        let mut log = log(LinkPath::SharedMemory, ["a", "a"]);
        assert_eq!(pairs(&log)[0].why, [Why::Unknown]);
        log.settings = vec![("NCCL_P2P_DISABLE".to_owned(), "1".to_owned())];
        log.settings.push(("NCCL_NVLS_ENABLE".to_owned(), "0".to_owned()));
        assert_eq!(pairs(&log)[0].why, [Why::Setting("NCCL_P2P_DISABLE".to_owned(), "1".to_owned())]);
        log.links.iter_mut().for_each(|link| link.path = LinkPath::Socket);
        log.ranks[1].host = "b".to_owned();
        log.settings.clear();
        log.fallbacks = vec!["NET/IB : No device found.".to_owned()];
        assert_eq!(pairs(&log)[0].why, [Why::NoCard]);
    }
}
