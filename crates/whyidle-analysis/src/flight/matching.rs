//! Which entries of different ranks are one collective: those of one group with the same sequence number.
//!
//! Several operations that were launched as one share a number; among them, order decides. Rings of different length, or
//! dumps of different moments, are compared on numbers that all of them hold: what one ring has overwritten is unknown,
//! not missing. Messages between two ranks are numbered by each rank for itself and are not matched by number.

use rustc_hash::FxHashMap;

use super::{EntryOf, Group, RankDump};

/// The collectives of one group on one rank, in order.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// The dump.
    pub dump: usize,
    /// Sequence numbers with their entries; ascending, equal ones in the order they were asked for.
    pub entries: Vec<(i64, usize)>,
    /// Numbers below this one may have been overwritten; those from it on are all here.
    pub from: i64,
    /// The last number asked for, by the entries or as the group itself counts; `None`: not known.
    pub last: Option<i64>,
}

/// The collectives of a group on every rank whose dump is there.
#[must_use]
pub fn rows(dumps: &[RankDump], group: &Group) -> Vec<Row> {
    group.dumps.iter().map(|&(at, number)| row(dumps, at, number)).collect()
}

fn row(dumps: &[RankDump], at: usize, number: u32) -> Row {
    let dump = &dumps[at].dump;
    let entries = &dump.entries;
    let mine = (0..entries.len()).filter(|&e| entries.group[e] == number && !entries.is_p2p[e]);
    let mut found: Vec<(i64, usize)> = mine.map(|entry| (entries.collective_seq[entry], entry)).collect();
    found.sort_by_key(|&(seq, entry)| (seq, entries.record[entry]));
    // The group's own count mixes in messages: it is believed only where the ring holds nothing of the group.
    let stated = dump.groups[number as usize].last_enqueued.filter(|_| !entries.group.contains(&number));
    let known = found.last().map(|&(seq, _)| seq).or(stated).or((!dump.is_cut()).then_some(0));
    // Of a damaged dump the last entries may be what is lost.
    let last = known.filter(|_| !dump.notes.has_loss());
    // The oldest number of a ring that has overwritten others may have lost a part.
    let from = match found.first() {
        Some(&(seq, _)) if dump.is_cut() => seq.saturating_add(1),
        Some(&(seq, _)) => seq,
        None => i64::MAX,
    };
    Row { dump: at, entries: found, from, last }
}

/// One collective on every rank that holds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// Its number in the group.
    pub seq: i64,
    /// Its number among those launched as one.
    pub part: usize,
    /// The entries, by rows.
    pub entries: Vec<EntryOf>,
}

/// The collectives that every row holds, ascending.
#[must_use]
pub fn common(rows: &[Row]) -> Vec<Matched> {
    let from = rows.iter().map(|row| row.from).max().unwrap_or(0);
    let until =
        rows.iter().map(|row| row.entries.last().map_or(i64::MIN, |&(seq, _)| seq)).min().unwrap_or(0);
    let mut found: FxHashMap<(i64, usize), Vec<EntryOf>> = FxHashMap::default();
    for row in rows {
        let mut before = (i64::MIN, 0);
        for &(seq, entry) in &row.entries {
            let part = if before.0 == seq { before.1 + 1 } else { 0 };
            before = (seq, part);
            if (from..=until).contains(&seq) {
                found.entry((seq, part)).or_default().push(EntryOf { dump: row.dump, entry });
            }
        }
    }
    let mut matched: Vec<Matched> = found
        .into_iter()
        .filter(|(_, entries)| entries.len() == rows.len())
        .map(|((seq, part), entries)| Matched { seq, part, entries })
        .collect();
    matched.sort_by_key(|matched| (matched.seq, matched.part));
    matched
}
