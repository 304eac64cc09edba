//! Bad input is data: what a reader dropped, clamped or doubted is counted here by code
//! and shown with the verdict, never silently mended.

/// How much a note weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; changes no number.
    Info,
    /// Numbers may be off.
    Suspect,
    /// Evidence is missing.
    Loss,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $id:literal, $severity:ident;)*) => {
        /// What was noted. The id is stable; the wording is in the report's catalogues under `note-<id>`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum NoteCode { $($(#[$doc])* $variant,)* }

        impl NoteCode {
            /// Every code, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The stable id.
            #[must_use]
            pub fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)* }
            }

            /// The id of its wording.
            #[must_use]
            pub fn message(self) -> &'static str {
                match self { $(Self::$variant => concat!("note-", $id),)* }
            }

            /// How much it weighs.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }
        }
    };
}

codes! {
    /// The file ends in the middle of an event.
    Truncated = "truncated", Loss;
    /// The compressed stream is damaged or ends early; what came before it was read.
    DamagedCompression = "damaged-compression", Loss;
    /// Tables of a database that are damaged: what came before the damage was read.
    DamagedDatabase = "damaged-database", Loss;
    /// A Parquet or Arrow file that is damaged: the rows before the damage were read.
    DamagedColumns = "damaged-columns", Loss;
    /// Lines that are no JSON, or not UTF-8.
    MalformedLine = "malformed-line", Loss;
    /// Records without a text in the field that was asked for.
    NoText = "no-text", Loss;
    /// Documents longer than are taken into memory.
    LongDocument = "long-document", Loss;
    /// Documents of no text.
    EmptyDocument = "empty-document", Info;
    /// A stretch of bytes was no event and was skipped.
    MalformedEvent = "malformed-event", Loss;
    /// A name held an unescaped quote, backslash or control byte and was mended.
    MendedName = "mended-name", Info;
    /// Bytes were not UTF-8 and were replaced.
    NotUtf8 = "not-utf8", Info;
    /// An event without a usable start was dropped.
    NoStart = "no-start", Loss;
    /// A complete event without a length; length 0 was taken.
    NoDuration = "no-duration", Suspect;
    /// A negative length; length 0 was taken.
    NegativeDuration = "negative-duration", Suspect;
    /// A GPU activity at time 0: its record was lost by the driver, and it was left out.
    ZeroTime = "zero-time", Loss;
    /// A time or length too large to be true; the event was left out.
    AbsurdTime = "absurd-time", Loss;
    /// GPU activities that overlap on one stream (programmatic dependent launch, or a faulty record).
    StreamOverlap = "stream-overlap", Info;
    /// GPU activities outside the window that the profiler says it recorded.
    OutsideWindow = "outside-window", Suspect;
    /// GPU activities whose launch is not in the trace.
    NoLaunch = "no-launch", Info;
    /// Launches whose GPU activity is not in the trace.
    NoActivity = "no-activity", Suspect;
    /// CUDA graphs that were recorded whole, without the kernels in them.
    GraphsWhole = "graphs-whole", Suspect;
    /// Warnings and errors of the tracer, as it wrote them into its own file.
    TracerWarning = "tracer-warning", Suspect;
    /// Further processes of the file that used GPUs.
    OtherProcesses = "other-processes", Suspect;
    /// Of a kind of device that the reader was never tried on: it follows the documented form of its traces.
    UntestedDevice = "untested-device", Suspect;
    /// Events of a kind that whyidle does not use.
    Unused = "unused", Info;
    /// Events of an accelerator that whyidle does not know.
    ForeignDevice = "foreign-device", Info;
    /// Reading cost more than its budget of bytes, nesting, nodes or time: what came after was not read.
    OverBudget = "over-budget", Loss;
    /// A table is full; further rows were dropped.
    TableFull = "table-full", Loss;
}

/// One kind of note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What.
    pub code: NoteCode,
    /// How often.
    pub count: u64,
    /// The first place: byte offset in the (inflated) file, where known.
    pub first_byte: Option<u64>,
}

/// Notes, counted by code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportNotes {
    notes: Vec<Note>,
}

impl ImportNotes {
    /// Counts `code` once.
    pub fn add(&mut self, code: NoteCode, byte: Option<u64>) {
        self.add_many(code, 1, byte);
    }

    /// Counts `code` `count` times.
    pub fn add_many(&mut self, code: NoteCode, count: u64, byte: Option<u64>) {
        if count == 0 {
            return;
        }
        match self.notes.iter_mut().find(|note| note.code == code) {
            Some(note) => note.count += count,
            None => self.notes.push(Note { code, count, first_byte: byte }),
        }
    }

    /// How often `code` was counted.
    #[must_use]
    pub fn count(&self, code: NoteCode) -> u64 {
        self.notes.iter().find(|note| note.code == code).map_or(0, |note| note.count)
    }

    /// Something of the input is lost.
    #[must_use]
    pub fn has_loss(&self) -> bool {
        self.notes.iter().any(|note| note.code.severity() == Severity::Loss)
    }

    /// All notes, gravest first.
    #[must_use]
    pub fn sorted(&self) -> Vec<Note> {
        let mut notes = self.notes.clone();
        notes.sort_by_key(|note| (std::cmp::Reverse(note.code.severity()), note.code));
        notes
    }
}
