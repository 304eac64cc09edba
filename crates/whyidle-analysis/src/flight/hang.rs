//! Who waits for whom: the first operation of each group that is not over, who is in it, and who never came.
//!
//! * A rank that is a member, has a dump, and had not asked for a collective that others are in, is *missing* there. If
//!   it waits for nobody itself, it is the one to look at; if it waits elsewhere, the search goes on with whom it waits
//!   for; if that leads back, the ranks wait for each other.
//! * All are in it but ask for different things: a mismatch.
//! * All are in it and ask for the same: the program is not to blame – a link, a GPU, or a peer that died.
//! * Of some it is not known whether they are in it, their dump being damaged or absent: nobody is accused.
//!
//! The recorder is a moment: an operation that is not over may be under way. How long it has been is known where the
//! watchdog gave up, or where the file's own time fits.

use std::collections::{BTreeMap, BTreeSet};

use super::groups::Group;
use super::matching::Row;
use super::mismatch::{self, Difference, Mismatch};
use super::{EntryOf, Operation, RankDump};

/// An operation that has waited for less may as well be under way, ns.
const STUCK: i64 = 5_000_000_000;
/// A file's time is believed up to this long after the last time in it and the timeout, ns: copies have a later one.
const WRITTEN_WITHIN: i64 = 600_000_000_000;

/// What kind of hang it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HangKind {
    /// Some ranks never asked for a collective that others are in.
    NeverEntered,
    /// Ranks ask for different things.
    Mismatched,
    /// A message that was never sent, or is never received.
    NoMessage,
    /// Ranks wait for each other in different operations.
    Circle,
    /// All are in it, and it does not end.
    Together,
    /// Some are in it; of the others it is not known.
    Unexplained,
}

impl HangKind {
    /// The stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::NeverEntered => "never-entered",
            Self::Mismatched => "mismatched",
            Self::NoMessage => "no-message",
            Self::Circle => "circle",
            Self::Together => "together",
            Self::Unexplained => "unexplained",
        }
    }
}

/// A rank that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// In what.
    pub operation: Operation,
    /// For whom, as far as the dumps tell.
    pub for_ranks: Vec<u32>,
}

/// A hang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hang {
    /// Of which kind.
    pub kind: HangKind,
    /// The group, as an index.
    pub group: usize,
    /// What does not end, as a rank that waits in it asks for it.
    pub operation: Operation,
    /// The ranks to look at: missing and waiting for nobody, or asking for something else than most, of equally many
    /// than the lowest rank.
    pub guilty: Vec<u32>,
    /// The last thing that each of them asked for.
    pub last: Vec<Operation>,
    /// Ranks that are in it.
    pub waiting: Vec<u32>,
    /// Ranks that are missing in it because they wait elsewhere.
    pub blocked: Vec<u32>,
    /// Members without a dump: they may have died.
    pub without_dump: Vec<u32>,
    /// What each rank that waits anywhere waits in, first, by rank.
    pub waits: Vec<Waiting>,
    /// In what they disagree.
    pub mismatch: Option<Mismatch>,
    /// The watchdog gave up.
    pub timed_out: bool,
    /// How long the first has waited at least, ns, if that is known.
    pub waited: Option<i64>,
}

impl Hang {
    /// It may as well be under way: nothing shows that it is stuck.
    #[must_use]
    pub fn may_be_under_way(&self) -> bool {
        !self.timed_out && self.waited.is_none_or(|waited| waited < STUCK)
    }
}

/// A group's first operation that is not over.
struct Stuck {
    group: usize,
    entries: Vec<EntryOf>,
    missing: Vec<u32>,
    is_message: bool,
}

/// The hang that the dumps show, if one. `rows` are the groups' collectives, `mismatches` all that disagree.
#[must_use]
pub fn hang(
    dumps: &[RankDump],
    groups: &[Group],
    rows: &[Vec<Row>],
    mismatches: &[Mismatch],
) -> Option<Hang> {
    let mut stuck: Vec<Stuck> =
        (0..groups.len()).filter_map(|at| stuck_collective(dumps, at, &rows[at])).collect();
    stuck.extend((0..groups.len()).flat_map(|at| stuck_messages(dumps, groups, at)));
    if stuck.is_empty() {
        return None;
    }
    let waits = waits(dumps, &stuck);
    let is_waiting = |rank: &u32| waits.contains_key(rank);
    // Whom the others are missing, and who waits for nobody: most waiters first.
    let mut accused: Vec<(&Stuck, Vec<u32>)> = stuck
        .iter()
        .map(|stuck| (stuck, stuck.missing.iter().copied().filter(|rank| !is_waiting(rank)).collect()))
        .filter(|(_, guilty): &(_, Vec<u32>)| !guilty.is_empty())
        .collect();
    accused.sort_by_key(|(stuck, _)| (stuck.is_message, std::cmp::Reverse(stuck.entries.len())));
    let seq_of = |stuck: &Stuck| {
        let EntryOf { dump, entry } = stuck.entries[0];
        dumps[dump].dump.entries.collective_seq[entry]
    };
    let disagreeing = stuck.iter().filter(|stuck| !stuck.is_message).find_map(|stuck| {
        // Another operation earlier on is never meant; other sizes that came to an end may be.
        let of = |mismatch: &&Mismatch| {
            let here = mismatch.seq == seq_of(stuck);
            let before = mismatch.seq < seq_of(stuck) && mismatch.difference == Difference::Operation;
            mismatch.group == stuck.group && (here || before)
        };
        let known = mismatches.iter().find(of).cloned();
        let now = || mismatch::mismatch(dumps, stuck.group, seq_of(stuck), &stuck.entries);
        known.or_else(now).map(|mismatch| (stuck, mismatch))
    });
    let make = |kind, stuck: &Stuck, guilty: Vec<u32>, mismatch| {
        describe(dumps, groups, kind, stuck, guilty, mismatch, &waits)
    };
    Some(if let Some((stuck, mismatch)) = disagreeing {
        make(HangKind::Mismatched, stuck, mismatch.others.clone(), Some(mismatch))
    } else if let Some((stuck, guilty)) = accused.into_iter().next() {
        let kind = if stuck.is_message { HangKind::NoMessage } else { HangKind::NeverEntered };
        make(kind, stuck, guilty, None)
    } else if let Some(stuck) = stuck.iter().find(|stuck| !stuck.missing.is_empty()) {
        make(HangKind::Circle, stuck, Vec::new(), None)
    } else {
        let members = &groups[stuck[0].group];
        let all = !stuck[0].is_message
            && !members.ranks_seen_only
            && members.missing.is_empty()
            && members.dumps.len() > 1
            && stuck[0].entries.len() == members.dumps.len();
        let kind = if all { HangKind::Together } else { HangKind::Unexplained };
        make(kind, &stuck[0], Vec::new(), None)
    })
}

fn stuck_collective(dumps: &[RankDump], group: usize, rows: &[Row]) -> Option<Stuck> {
    let first =
        |row: &Row| row.entries.iter().copied().find(|&(_, entry)| !dumps[row.dump].dump.is_over(entry));
    let seq = rows.iter().filter_map(first).map(|(seq, _)| seq).min()?;
    let at = |row: &Row| {
        let entry = row.entries.iter().copied().find(|&(s, e)| s == seq && !dumps[row.dump].dump.is_over(e));
        entry.map(|(_, entry)| EntryOf { dump: row.dump, entry })
    };
    let missing = rows.iter().filter(|row| row.last.is_some_and(|last| last < seq));
    Some(Stuck {
        group,
        entries: rows.iter().filter_map(at).collect(),
        missing: missing.map(|row| dumps[row.dump].rank).collect(),
        is_message: false,
    })
}

/// Sends and receives that are not over and have no counterpart under way.
fn stuck_messages(dumps: &[RankDump], groups: &[Group], group: usize) -> Vec<Stuck> {
    // From, to (global ranks), and whether it is the sender's entry.
    let mut open: BTreeMap<(u32, u32, bool), EntryOf> = BTreeMap::new();
    for &(at, number) in &groups[group].dumps {
        let dump = &dumps[at].dump;
        for entry in 0..dump.entries.len() {
            if dump.entries.group[entry] != number || !dump.entries.is_p2p[entry] || dump.is_over(entry) {
                continue;
            }
            if let Some((from, to, sends)) = ends(dump.operation(entry).1, &groups[group].ranks) {
                open.entry((from, to, sends)).or_insert(EntryOf { dump: at, entry });
            }
        }
    }
    let alone = open.iter().filter(|((from, to, sends), _)| !open.contains_key(&(*from, *to, !sends)));
    alone
        .map(|(&(from, to, sends), &entry)| {
            let peer = if sends { to } else { from };
            let whole = |at: usize| !dumps[at].dump.notes.has_loss();
            let has_dump = groups[group].dumps.iter().any(|&(at, _)| dumps[at].rank == peer && whole(at));
            let missing = if has_dump { vec![peer] } else { Vec::new() };
            Stuck { group, entries: vec![entry], missing, is_message: true }
        })
        .collect()
}

/// `send 1->2`, `recv 2<-1`, in the group's own numbers: from, to, and whether it sends.
fn ends(operation: &str, ranks: &[u32]) -> Option<(u32, u32, bool)> {
    let (kind, rest) = operation.split_once(' ')?;
    let (from, to) = match kind {
        "send" => rest.split_once("->")?,
        "recv" => rest.split_once("<-").map(|(to, from)| (from, to))?,
        _ => return None,
    };
    let global = |number: &str| ranks.get(number.trim().parse::<usize>().ok()?).copied();
    Some((global(from)?, global(to)?, kind == "send"))
}

/// What each rank waits in first, and for whom.
fn waits(dumps: &[RankDump], stuck: &[Stuck]) -> BTreeMap<u32, (EntryOf, BTreeSet<u32>)> {
    let mut waits: BTreeMap<u32, (EntryOf, BTreeSet<u32>)> = BTreeMap::new();
    for stuck in stuck {
        for &entry in &stuck.entries {
            let record = |at: EntryOf| dumps[at.dump].dump.entries.record[at.entry];
            let wait = waits.entry(dumps[entry.dump].rank).or_insert_with(|| (entry, BTreeSet::new()));
            if record(entry) < record(wait.0) {
                wait.0 = entry;
            }
            wait.1.extend(&stuck.missing);
        }
    }
    waits
}

fn describe(
    dumps: &[RankDump],
    groups: &[Group],
    kind: HangKind,
    stuck: &Stuck,
    guilty: Vec<u32>,
    mismatch: Option<Mismatch>,
    waits: &BTreeMap<u32, (EntryOf, BTreeSet<u32>)>,
) -> Hang {
    let last_of = |rank: &u32| {
        let dump = dumps.iter().position(|dump| dump.rank == *rank)?;
        let entry = dumps[dump].dump.entries.len().checked_sub(1)?;
        Some(Operation::of(dumps, EntryOf { dump, entry }))
    };
    let waiting: Vec<u32> = stuck.entries.iter().map(|at| dumps[at.dump].rank).collect();
    let first = |at: &&EntryOf| {
        let accused =
            mismatch.as_ref().is_some_and(|mismatch| mismatch.others.contains(&dumps[at.dump].rank));
        (accused, dumps[at.dump].dump.entries.created[at.entry])
    };
    let shown = stuck.entries.iter().min_by_key(first).copied().unwrap_or(EntryOf { dump: 0, entry: 0 });
    Hang {
        kind,
        group: stuck.group,
        operation: Operation::of(dumps, shown),
        last: guilty.iter().filter_map(last_of).collect(),
        blocked: stuck.missing.iter().copied().filter(|rank| !guilty.contains(rank)).collect(),
        guilty,
        waiting,
        without_dump: groups[stuck.group].missing.clone(),
        waits: waits
            .values()
            .map(|(at, ranks)| Waiting {
                operation: Operation::of(dumps, *at),
                for_ranks: ranks.iter().copied().collect(),
            })
            .collect(),
        mismatch,
        timed_out: stuck.entries.iter().any(|at| dumps[at.dump].dump.has_timed_out(at.entry)),
        waited: stuck.entries.iter().filter_map(|&at| waited(dumps, at)).max(),
    }
}

/// How long an entry has waited when its dump was written, ns, where the file's time can be believed.
fn waited(dumps: &[RankDump], at: EntryOf) -> Option<i64> {
    let RankDump { dump, written, .. } = &dumps[at.dump];
    let entries = &dump.entries;
    let latest = entries.created.iter().chain(entries.completed.iter().flatten()).copied().max()?;
    let trusted = entries.timeout[at.entry].unwrap_or(0).saturating_add(WRITTEN_WITHIN);
    let written = written.filter(|&written| (0..=trusted).contains(&(written.saturating_sub(latest))))?;
    Some(written.saturating_sub(entries.created[at.entry]))
}
