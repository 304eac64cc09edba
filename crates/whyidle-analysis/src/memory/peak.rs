//! The peak, and what makes it up.

use rustc_hash::FxHashMap;
use whyidle_model::MemorySnapshot;

use super::opening::Opening;
use super::sites::Sites;
use super::state::Totals;

/// The moment at which most was allocated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// What the allocator held then.
    pub totals: Totals,
    /// When, ns of Unix time; `None`: when the history began, or without a history at its end.
    pub time: Option<i64>,
    /// The event that made it so, as a row.
    pub row: Option<usize>,
}

/// Part of what was allocated at the peak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Who asked for it, as an index into [`Sites::sites`]; `None`: it was there before the history began, and nothing
    /// says who asked for it.
    pub site: Option<u32>,
    /// Bytes of blocks.
    pub bytes: u64,
    /// Blocks.
    pub count: u64,
}

/// What was allocated at the peak, largest first. Its bytes add up to the peak.
pub(super) fn parts(
    snapshot: &MemorySnapshot,
    device: u32,
    opening: &Opening,
    peak: &Peak,
    sites: &Sites,
) -> Vec<Part> {
    let mut walk = opening.walk(snapshot);
    if let Some(peak) = peak.row {
        for row in snapshot.history(device) {
            walk.step(row);
            if row == peak {
                break;
            }
        }
    }
    let mut by_site: FxHashMap<Option<u32>, (u64, u64)> = FxHashMap::default();
    for live in walk.live.values().filter(|live| !live.pending) {
        let site = sites.of(live.stack);
        let site = (live.row.is_some() || site != 0).then_some(site);
        let part = by_site.entry(site).or_default();
        part.0 = part.0.saturating_add(live.size);
        part.1 += 1;
    }
    let unseen = opening.unseen_bytes();
    if unseen > 0 {
        by_site.entry(None).or_default().0 += unseen;
    }
    let mut parts: Vec<Part> =
        by_site.into_iter().map(|(site, (bytes, count))| Part { site, bytes, count }).collect();
    parts.sort_by_key(|part| (std::cmp::Reverse(part.bytes), part.site));
    parts
}
