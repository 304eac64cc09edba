//! Which matched collectives disagree: another operation, other sizes, another type.
//!
//! Sizes may differ where the operation allows it: the sizes of an all-to-all, the inputs of a scatter, the outputs of a
//! gather, and what a broadcast is sent from and to. `coalesced` entries bracket others and have none.

use whyidle_model::{FlightDump, Sym};

use super::{EntryOf, Operation, RankDump, matching::Matched};

/// In what a collective differs between ranks, gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// Another operation.
    Operation,
    /// Other sizes.
    Size,
    /// Another type.
    Type,
}

impl Difference {
    /// The stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Operation => "operation",
            Self::Size => "size",
            Self::Type => "type",
        }
    }
}

/// A collective on which ranks disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The group, as an index.
    pub group: usize,
    /// Its number in the group.
    pub seq: i64,
    /// In what they disagree.
    pub difference: Difference,
    /// What most ranks ask for: the first of them.
    pub usual: Operation,
    /// The first of those that ask for something else.
    pub other: Operation,
    /// The ranks that ask for something else.
    pub others: Vec<u32>,
}

/// The mismatches of a group, in order. `number` is the group's.
#[must_use]
pub fn mismatches(dumps: &[RankDump], number: usize, matched: &[Matched]) -> Vec<Mismatch> {
    matched.iter().filter_map(|matched| mismatch(dumps, number, matched.seq, &matched.entries)).collect()
}

/// How one collective's entries disagree, if they do.
#[must_use]
pub fn mismatch(dumps: &[RankDump], group: usize, seq: i64, entries: &[EntryOf]) -> Option<Mismatch> {
    // The usual is what most ranks hold; of equally many, what the lowest rank holds.
    let mut kinds: Vec<(EntryOf, Vec<EntryOf>)> = Vec::new();
    for &entry in entries {
        match kinds.iter_mut().find(|(first, _)| difference(dumps, *first, entry).is_none()) {
            Some((_, members)) => members.push(entry),
            None => kinds.push((entry, vec![entry])),
        }
    }
    if kinds.len() < 2 {
        return None;
    }
    let rank = |entry: EntryOf| dumps[entry.dump].rank;
    kinds.sort_by_key(|(first, members)| (std::cmp::Reverse(members.len()), rank(*first)));
    let (usual, rest) = (kinds[0].0, &kinds[1..]);
    let mut others: Vec<u32> =
        rest.iter().flat_map(|(_, members)| members).map(|&entry| rank(entry)).collect();
    others.sort_unstable();
    Some(Mismatch {
        group,
        seq,
        difference: rest.iter().filter_map(|(first, _)| difference(dumps, usual, *first)).min()?,
        usual: Operation::of(dumps, usual),
        other: Operation::of(dumps, rest[0].0),
        others,
    })
}

fn difference(dumps: &[RankDump], a: EntryOf, b: EntryOf) -> Option<Difference> {
    let (x, y) = (&dumps[a.dump].dump, &dumps[b.dump].dump);
    let name = x.operation(a.entry).1;
    if name != y.operation(b.entry).1 {
        return Some(Difference::Operation);
    }
    let same = |column: fn(&FlightDump) -> &Vec<Sym>| {
        x.names.get(column(x)[a.entry]) == y.names.get(column(y)[b.entry])
    };
    let any = |names: &[&str]| names.iter().any(|any| name.trim_start_matches('_').starts_with(any));
    let free = any(&["all_to_all", "alltoall", "coalesced", "broadcast"]);
    let (inputs, outputs) = (any(&["scatter"]) || free, any(&["gather"]) || free);
    if !inputs && !same(|dump| &dump.entries.inputs) || !outputs && !same(|dump| &dump.entries.outputs) {
        return Some(Difference::Size);
    }
    let types = |column: fn(&FlightDump) -> &Vec<Sym>, sizes: fn(&FlightDump) -> &Vec<Sym>| {
        // Only a side that holds something has a type that matters.
        let empty =
            |dump: &FlightDump, entry: usize| matches!(dump.names.get(sizes(dump)[entry]), "" | "[[]]");
        empty(x, a.entry) || empty(y, b.entry) || same(column)
    };
    let agree = (inputs || types(|d| &d.entries.input_types, |d| &d.entries.inputs))
        && (outputs || types(|d| &d.entries.output_types, |d| &d.entries.outputs));
    (!agree).then_some(Difference::Type)
}
