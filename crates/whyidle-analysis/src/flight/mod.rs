//! What the flight recorders of several ranks say together: who hangs where, what does not match, and at what pace the
//! ranks ask for collectives.
//!
//! One file per question: [`groups`] who is in which process group and has a dump, [`matching`] which entries are one
//! collective, [`mismatch`] which of them disagree, [`hang`] who waits for whom, [`rates`] steps, lateness and transfer.

pub mod groups;
pub mod hang;
pub mod matching;
pub mod mismatch;
pub mod rates;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use whyidle_model::{FlightDump, Frame};

pub use groups::{Group, groups};
pub use hang::{Hang, HangKind, Waiting, hang};
pub use mismatch::{Difference, Mismatch, mismatches};
pub use rates::{Lateness, Pace, Transfer, pace};

/// One rank's dump.
#[derive(Clone, Debug)]
pub struct RankDump {
    /// The rank.
    pub rank: u32,
    /// What its recorder held.
    pub dump: FlightDump,
    /// When the file was written, ns of Unix time, if that is known.
    pub written: Option<i64>,
}

/// An entry of one of the dumps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryOf {
    /// The dump, as an index.
    pub dump: usize,
    /// Its entry.
    pub entry: usize,
}

/// An operation as it is shown: what, where, how far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The rank that asked for it.
    pub rank: u32,
    /// `all_reduce`, `send 1->2`.
    pub name: String,
    /// Its number in its group.
    pub seq: i64,
    /// The larger of what goes in and out, bytes.
    pub bytes: Option<i64>,
    /// Sizes of the inputs and outputs, as written.
    pub sizes: (String, String),
    /// Types of both, as written.
    pub types: (String, String),
    /// When the host asked for it, ns of Unix time.
    pub created: i64,
    /// The group's name.
    pub group: String,
    /// Who asked for it, innermost first: function, file, line; empty where the recorder keeps none (whatever the
    /// autograd thread launches).
    pub stack: Vec<(String, String, u32)>,
    /// Name of the thread that asked.
    pub thread: String,
    /// It is over.
    pub over: bool,
}

impl Operation {
    /// The operation behind an entry.
    #[must_use]
    pub fn of(dumps: &[RankDump], at: EntryOf) -> Self {
        let RankDump { rank, dump, .. } = &dumps[at.dump];
        let (entries, entry) = (&dump.entries, at.entry);
        let name = |sym| dump.names.get(sym).to_owned();
        let frame = |frame: &Frame| (name(frame.function), name(frame.file), frame.line);
        let (library, operation) = dump.operation(entry);
        let operation = if operation.is_empty() { library } else { operation };
        Self {
            rank: *rank,
            name: if operation.is_empty() { name(entries.name[entry]) } else { operation.to_owned() },
            seq: if entries.is_p2p[entry] { entries.p2p_seq[entry] } else { entries.collective_seq[entry] },
            bytes: entries.bytes[entry],
            sizes: (name(entries.inputs[entry]), name(entries.outputs[entry])),
            types: (name(entries.input_types[entry]), name(entries.output_types[entry])),
            created: entries.created[entry],
            group: dump.groups[entries.group[entry] as usize].name.clone(),
            stack: dump.stacks[entries.stack[entry] as usize].iter().map(frame).collect(),
            thread: name(entries.thread[entry]),
            over: dump.is_over(entry),
        }
    }

    /// The innermost place in the user's own program: the first frame that is not PyTorch's.
    #[must_use]
    pub fn place(&self) -> Option<&(String, String, u32)> {
        let is_torch = |file: &str| {
            file.contains("-packages/torch/") || file.contains("/torch/distributed/") || file.starts_with('<')
        };
        self.stack.iter().find(|(_, file, _)| !is_torch(file)).or(self.stack.first())
    }
}

/// What is known of one group.
#[derive(Clone, Debug)]
pub struct GroupFacts {
    /// Who is in it.
    pub group: Group,
    /// Collectives that every dump of the group holds.
    pub matched: usize,
    /// The first and last of their numbers.
    pub span: Option<(i64, i64)>,
    /// Ranks whose dump is damaged: what they asked for last is not known.
    pub damaged: Vec<u32>,
    /// Of those matched, how many disagree.
    pub mismatched: usize,
    /// The last collective that each rank asked for, where known; the fewest first.
    pub entered: Vec<(u32, i64)>,
    /// How late hosts are at a step's first collective, if that is one of this group.
    pub lateness: Vec<Lateness>,
    /// Transfers, where the GPU was timed.
    pub transfers: Vec<Transfer>,
}

/// What the dumps say together.
#[derive(Clone, Debug)]
pub struct FlightFacts {
    /// The groups, the largest first.
    pub groups: Vec<GroupFacts>,
    /// What disagrees, in order.
    pub mismatches: Vec<Mismatch>,
    /// What does not end.
    pub hang: Option<Hang>,
    /// The pace of each rank, in the order of the dumps.
    pub paces: Vec<Pace>,
}

/// Rings of ranks that work together reach back into a common time; clocks of hosts agree better than this, ns.
const ONE_RUN: i64 = 60_000_000_000;

/// How far the dumps' times are apart where they are of different runs, ns: the hosts' clocks agree to seconds.
#[must_use]
pub fn apart(dumps: &[RankDump]) -> Option<i64> {
    let span = |dump: &RankDump| {
        let created = || dump.dump.entries.created.iter().copied().filter(|&ns| ns > 0);
        created().min().zip(created().max())
    };
    let spans: Vec<(i64, i64)> = dumps.iter().filter_map(span).collect();
    let latest_start = spans.iter().map(|&(start, _)| start).max()?;
    let earliest_end = spans.iter().map(|&(_, end)| end).min()?;
    Some(latest_start.saturating_sub(earliest_end)).filter(|&apart| apart > ONE_RUN)
}

/// What dumps of one job say together. `profiled`: when a profiler ran, ns of Unix time, if that is known.
#[must_use]
pub fn facts(dumps: &[RankDump], profiled: &[(i64, i64)]) -> FlightFacts {
    let groups = groups(dumps);
    let rows: Vec<_> = groups.iter().map(|group| matching::rows(dumps, group)).collect();
    let matched: Vec<_> = rows.iter().map(|rows| matching::common(rows)).collect();
    let all: Vec<Mismatch> = (0..groups.len()).flat_map(|at| mismatches(dumps, at, &matched[at])).collect();
    let hang = hang(dumps, &groups, &rows, &all);
    let paces = pace(dumps, profiled);
    let of = |(at, group): (usize, &Group)| {
        let (rows, matched) = (&rows[at], &matched[at]);
        let lossy = |row: &&matching::Row| dumps[row.dump].dump.notes.has_loss();
        let damaged = rows.iter().filter(lossy).map(|row| dumps[row.dump].rank);
        let last = |row: &matching::Row| Some((dumps[row.dump].rank, row.last?));
        let mut entered: Vec<(u32, i64)> = rows.iter().filter_map(last).collect();
        entered.sort_by_key(|&(rank, seq)| (seq, rank));
        GroupFacts {
            matched: matched.len(),
            damaged: damaged.collect(),
            span: matched.first().zip(matched.last()).map(|(first, last)| (first.seq, last.seq)),
            mismatched: all.iter().filter(|mismatch| mismatch.group == at).count(),
            entered,
            lateness: rates::lateness(dumps, group, matched, &paces),
            transfers: if rows.len() > 1 { rates::transfers(dumps, matched) } else { Vec::new() },
            group: group.clone(),
        }
    };
    let groups = groups.iter().enumerate().map(of).collect();
    FlightFacts { groups, mismatches: all, hang, paces }
}
