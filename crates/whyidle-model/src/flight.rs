//! What one rank's flight recorder held: the last collectives and messages that its program asked for, in order, with
//! how far each had come when the buffer was written out.
//!
//! Times are ns of Unix time, by the clock of the rank's host. The creation of an entry is when the *host* asked for it;
//! the recorder does not say when the GPU began, and what it calls completion is when a watchdog noticed, up to some
//! 100 ms late.

use crate::{Frame, ImportNotes, Interner, Sym};

/// How far an operation had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlightState {
    /// Asked for by the host. Without timing on the GPU a started one reads the same.
    Scheduled,
    /// Begun on the GPU.
    Started,
    /// Over.
    Completed,
    /// The recorder says something else, or nothing.
    Unknown,
}

/// A process group, as the dump names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlightGroup {
    /// Its name: unique on a rank.
    pub name: String,
    /// What the program calls it (`default_pg`, `tp`); empty where it does not.
    pub description: String,
    /// Global ranks in it; empty where the dump does not say.
    pub ranks: Vec<u32>,
    /// Sequence number of the last operation asked for, as the group itself counts: of a message, if that was the last.
    pub last_enqueued: Option<i64>,
    /// That of the last one noticed as completed.
    pub last_completed: Option<i64>,
}

/// Operations, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlightEntries {
    /// Number in the recorder, from 0: a first one above 0 says that older ones were overwritten.
    pub record: Vec<i64>,
    /// The group, as an index into [`FlightDump::groups`].
    pub group: Vec<u32>,
    /// Which collective of its group it is; several that were launched as one share the number.
    pub collective_seq: Vec<i64>,
    /// Which message of its group it is, as this rank counts; other ranks count their own.
    pub p2p_seq: Vec<i64>,
    /// Which operation of its group it is.
    pub op: Vec<i64>,
    /// `nccl:all_reduce`, `gloo:send 1->2`.
    pub name: Vec<Sym>,
    /// Sizes of the inputs as written (`[[1024]]`), and of the outputs.
    pub inputs: Vec<Sym>,
    /// Sizes of the outputs.
    pub outputs: Vec<Sym>,
    /// Types of the inputs, and of the outputs.
    pub input_types: Vec<Sym>,
    /// Types of the outputs.
    pub output_types: Vec<Sym>,
    /// The larger of what goes in and what comes out, bytes; `None` where a type is not known.
    pub bytes: Vec<Option<i64>>,
    /// How far it had come; parts of what was launched as one have the state of the whole.
    pub state: Vec<FlightState>,
    /// The watchdog no longer follows it: it is over, or has timed out.
    pub retired: Vec<bool>,
    /// It is a message between two ranks, no collective.
    pub is_p2p: Vec<bool>,
    /// When the host asked for it.
    pub created: Vec<i64>,
    /// When the watchdog noticed its start.
    pub started: Vec<Option<i64>>,
    /// When the watchdog noticed its end.
    pub completed: Vec<Option<i64>>,
    /// How long it took on the GPU, ns; only where timing was on.
    pub duration: Vec<Option<i64>>,
    /// After how long it counts as stuck, ns.
    pub timeout: Vec<Option<i64>>,
    /// Who asked for it, as an index into [`FlightDump::stacks`].
    pub stack: Vec<u32>,
    /// Name of the thread that asked for it.
    pub thread: Vec<Sym>,
}

impl FlightEntries {
    /// Entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.record.len()
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.record.is_empty()
    }
}

/// One rank's flight recorder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlightDump {
    /// The rank, if the dump itself says so.
    pub rank: Option<u32>,
    /// Version of the format: 2.10 is later than 2.4. `None`: so old that it has none.
    pub version: Option<(u32, u32)>,
    /// Version of the communication library; empty where it is not said.
    pub library: String,
    /// Names.
    pub names: Interner,
    /// Groups that the rank is in, or that its entries name.
    pub groups: Vec<FlightGroup>,
    /// Operations.
    pub entries: FlightEntries,
    /// Distinct stacks, the innermost frame first; the first is empty.
    pub stacks: Vec<Vec<Frame>>,
    /// What was wrong with the input.
    pub notes: ImportNotes,
}

impl FlightDump {
    /// The library that carried an operation, and the operation: `nccl` and `all_reduce`.
    #[must_use]
    pub fn operation(&self, entry: usize) -> (&str, &str) {
        self.names.get(self.entries.name[entry]).split_once(':').unwrap_or_default()
    }

    /// An operation is over.
    ///
    /// Gloo never says `completed`: there, an operation that is no longer followed is over. NCCL's are `completed`, and
    /// one that is no longer followed without being so has timed out.
    #[must_use]
    pub fn is_over(&self, entry: usize) -> bool {
        self.entries.state[entry] == FlightState::Completed
            || self.entries.retired[entry] && self.operation(entry).0 == "gloo"
    }

    /// An operation has timed out: the watchdog gave it up.
    #[must_use]
    pub fn has_timed_out(&self, entry: usize) -> bool {
        self.entries.retired[entry] && !self.is_over(entry)
    }

    /// Older entries were overwritten.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.entries.record.first().is_some_and(|&first| first > 0)
    }
}
