//! The words of a snapshot: interned first, so that each is known by its number.

use whyidle_model::{Interner, Sym};

macro_rules! words {
    ($($variant:ident = $text:literal;)*) => {
        /// A word that a snapshot's keys and values are told by.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Word { $(
            #[doc = $text]
            $variant,
        )* }

        impl Word {
            const ALL: &'static [(Self, &'static str)] = &[$((Self::$variant, $text)),*];
        }
    };
}

words! {
    Segments = "segments";
    DeviceTraces = "device_traces";
    AllocatorSettings = "allocator_settings";
    Annotations = "external_annotations";
    Frames = "frames";
    Name = "name";
    Filename = "filename";
    Line = "line";
    Action = "action";
    Addr = "addr";
    Address = "address";
    Size = "size";
    TimeUs = "time_us";
    DeviceFree = "device_free";
    Device = "device";
    TotalSize = "total_size";
    AllocatedSize = "allocated_size";
    ActiveSize = "active_size";
    RequestedSize = "requested_size";
    IsExpandable = "is_expandable";
    Blocks = "blocks";
    State = "state";
    Stage = "stage";
    Start = "START";
    Alloc = "alloc";
    FreeRequested = "free_requested";
    FreeCompleted = "free_completed";
    SegmentAlloc = "segment_alloc";
    SegmentFree = "segment_free";
    SegmentMap = "segment_map";
    SegmentUnmap = "segment_unmap";
    Oom = "oom";
    ActiveAllocated = "active_allocated";
    ActivePendingFree = "active_pending_free";
    ActiveAwaitingFree = "active_awaiting_free";
    Conf = "PYTORCH_CUDA_ALLOC_CONF";
    ExpandableSegments = "expandable_segments";
    MaxSplitSize = "max_split_size";
    Roundup = "roundup_power2_divisions";
}

impl Word {
    /// The symbol it has in the interner of [`interner`].
    pub(super) fn sym(self) -> Sym {
        // The empty string is the first.
        Sym(self as u32 + 1)
    }

    /// The word behind a symbol, if it is one of these.
    pub(super) fn of(sym: Sym) -> Option<Self> {
        Self::ALL.get((sym.0 as usize).checked_sub(1)?).map(|&(word, _)| word)
    }
}

/// An interner that holds the words first.
pub(super) fn interner() -> Interner {
    let mut names = Interner::default();
    for (_, text) in Word::ALL {
        names.intern(text);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_known_by_their_number() {
        let names = interner();
        for &(word, text) in Word::ALL {
            assert_eq!((names.find(text), Word::of(word.sym())), (Some(word.sym()), Some(word)));
        }
        assert_eq!((Word::of(Sym::EMPTY), Word::of(Sym(Word::ALL.len() as u32 + 1))), (None, None));
    }
}
