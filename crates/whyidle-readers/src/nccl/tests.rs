//! Lines of several versions of NCCL, as they were printed.

use whyidle_model::{LinkPath, NcclLog};

use super::Parser;

fn read(text: &str) -> NcclLog {
    let mut log = NcclLog::default();
    let mut parser = Parser::new(&log);
    text.lines().for_each(|line| parser.line(line.as_bytes(), &mut log));
    log
}

#[test]
fn ranks_links_and_settings_are_found() {
    let log = read(
        "vm:7:7 [0] NCCL INFO NCCL version 2.28.9+cuda13.0\n\
         vm:7:7 [0] NCCL INFO ncclCommInitRankConfig comm 0x1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0xab - Init START\n\
         vm:7:7 [0] NCCL INFO comm 0x1 rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0\n\
         vm:7:7 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1\n\
         vm:7:7 [0] NCCL INFO Channel 00/04 : 0 1\n\
         vm:7:7 [0] NCCL INFO 4 coll channels, 4 collnet channels, 0 nvls channels, 4 p2p channels, 2 p2p channels per peer\n\
         vm:7:7 [0] NCCL INFO ncclCommInitRankConfig comm 0x1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0xab - Init COMPLETE\n\
         vm:7:7 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n",
    );
    let rank = &log.ranks[0];
    assert_eq!((log.ranks.len(), rank.comm.as_str(), rank.rank, rank.size), (1, "0xab", 0, 2));
    assert_eq!((rank.device, rank.nodes, rank.complete, rank.host.as_str()), (Some(0), Some(1), true, "vm"));
    assert_eq!(log.settings, [("NCCL_P2P_DISABLE".to_owned(), "1".to_owned())]);
    assert_eq!((log.rings.as_slice(), log.channels), (&[(0, vec![0, 1])][..], Some(4)));
    let link = &log.links[0];
    assert_eq!((link.comm.as_str(), link.from, link.to, link.path), ("0xab", 0, 1, LinkPath::SharedMemory));
}

#[test]
fn paths_of_many_versions_are_told_apart() {
    for (via, path) in [
        ("P2P/CUMEM", LinkPath::P2p),
        ("P2P/IPC/read", LinkPath::P2p),
        ("P2P/direct pointer", LinkPath::P2p),
        ("SHM/direct/direct", LinkPath::SharedMemory),
        ("NET/Socket/0", LinkPath::Socket),
        ("NET/IB/0", LinkPath::Network),
        ("NET/IB/0(1)/GDRDMA(PCI)", LinkPath::NetworkDirect),
        ("NET/AWS Libfabric/0/GDRDMA", LinkPath::NetworkDirect),
        ("NVLS", LinkPath::Nvls),
        ("something new", LinkPath::Other),
    ] {
        let log = read(&format!("n1:10:99 [3] NCCL INFO Channel 01/0 : 7[3] -> 8[0] [send] via {via}\n"));
        assert_eq!((log.links[0].path, log.links[0].from, log.links[0].to), (path, 7, 8), "{via}");
    }
    let old =
        read("n1:10:99 [3] NCCL INFO Channel 01 : 0[b7000] -> 1[ca000] via P2P/IPC comm 0x5 nRanks 02\n");
    assert_eq!((old.links[0].text.as_str(), old.links[0].to), ("P2P/IPC", 1));
}

#[test]
fn lines_inside_other_output_and_warnings_are_found() {
    let log = read(
        "step 1 loss 3\n\
         [rank0]: [2026-01-02 03:04:05] node-1:812:901 [2] transport/net_socket.cc:57 NCCL WARN NET/Socket : peer closed\n\
         1: node-1:812:901 [2] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:192.0.2.2<0>\n\
         node-1:812:901 [2] NCCL INFO Pattern 4, crossNic 0, nChannels 12, bw 20.0/20.0, type NVL/PIX, sameChannels 1\n\
         NCCL INFO without an owner\n",
    );
    assert_eq!((log.warnings.len(), log.warnings[0].host.as_str(), log.lines), (1, "node-1", 3));
    assert_eq!(log.cards, ["mlx5_0:1/IB", "mlx5_1:1/RoCE"]);
    assert_eq!(log.found, Some(("NVL".to_owned(), "PIX".to_owned())));
}

#[test]
fn a_host_without_cards_has_none() {
    let log = read(
        "vm:1:1 [0] NCCL INFO NET/IB : Using [RO]; OOB eth0:192.0.2.2<0>\nvm:1:1 [0] NCCL INFO Using network Socket\n",
    );
    assert!(log.cards.is_empty());
    assert_eq!(log.network, "Socket");
}
