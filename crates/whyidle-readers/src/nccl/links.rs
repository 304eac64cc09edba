//! What is said of channels, networks and paths.

use whyidle_model::{LinkPath, NcclLink};

/// `00/0 : 0[0] -> 1[1] via P2P/CUMEM`, `03 : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA`.
pub(super) fn link(rest: &str, comm: &str) -> Option<NcclLink> {
    let (channel, rest) = rest.split_once(" : ")?;
    let (ends, text) = rest.split_once(" via ")?;
    let (from, to) = ends.split_once(" -> ")?;
    let rank = |end: &str| end.trim().split('[').next()?.trim().parse().ok();
    Some(NcclLink {
        comm: comm.to_owned(),
        channel: channel.split('/').next()?.trim().parse().ok()?,
        collective: channel.split('/').nth(1).is_none_or(|connection| connection.trim() == "0"),
        from: rank(from)?,
        to: rank(to)?,
        path: path(text),
        // What follows in words (`comm 0x… nRanks 02`) differs from line to line.
        text: text.split(" comm ").next().unwrap_or(text).trim().to_owned(),
    })
}

fn path(text: &str) -> LinkPath {
    let is = |kind: &str| text.starts_with(kind);
    match text {
        _ if is("P2P/") || is("direct") => LinkPath::P2p,
        _ if is("SHM") => LinkPath::SharedMemory,
        _ if is("NVLS") => LinkPath::Nvls,
        _ if is("COLLNET") || is("CollNet") => LinkPath::CollNet,
        _ if is("NET/Socket") => LinkPath::Socket,
        _ if is("NET/") && text.contains("GDRDMA") => LinkPath::NetworkDirect,
        _ if is("NET/") => LinkPath::Network,
        _ => LinkPath::Other,
    }
}

/// `00/04 :    0   1   2   3`: a ring's channel and order.
pub(super) fn ring(rest: &str) -> Option<(u32, Vec<u32>)> {
    let (channel, order) = rest.split_once(" : ")?;
    let channel = channel.split('/').next()?.trim().parse().ok()?;
    let order: Vec<u32> = order.split_whitespace().map(|rank| rank.parse().ok()).collect::<Option<_>>()?;
    (order.len() > 1).then_some((channel, order))
}

/// `[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:…`: the cards; none in `[RO]; OOB …`.
pub(super) fn cards(text: &str) -> Vec<String> {
    let listed = text.split(';').next().unwrap_or_default();
    let card = |word: &str| {
        let (number, name) = word.strip_prefix('[')?.split_once(']')?;
        (number.parse::<u32>().is_ok() && !name.is_empty()).then(|| name.to_owned())
    };
    listed.split_whitespace().filter_map(card).collect()
}

/// `Pattern 4, crossNic 0, nChannels 12, bw 20.0/20.0, type NVL/PIX, sameChannels 1`: the kinds of path.
pub(super) fn found(text: &str) -> Option<(String, String)> {
    let kinds = text.strip_prefix("Pattern ")?.split_once(", type ")?.1.split(',').next()?;
    let (inside, between) = kinds.trim().split_once('/')?;
    Some((inside.to_owned(), between.to_owned()))
}

/// A line that says why a faster path is not taken.
pub(super) fn is_fallback(text: &str) -> bool {
    const SAID: [&str; 6] = [
        "P2P is disabled between",
        "Could not enable P2P between",
        "GPU Direct RDMA Disabled",
        "GDR is not available",
        "Failed to initialize NET plugin",
        "NET/IB : No device found",
    ];
    // TCP never reaches a GPU's memory: that it does not is no news.
    !text.contains("NET/Socket") && SAID.iter().any(|said| text.contains(said))
}
