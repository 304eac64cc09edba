//! Dictionaries that are complete as rows of a snapshot's tables.

use std::hash::Hasher;
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHasher};
use whyidle_model::{
    AllocatorAction, AllocatorEvents, AllocatorSettings, BlockState, Blocks, Frame, ImportNotes, Interner,
    MemoryMark, MemorySnapshot, MemoryStacks, NoteCode, Segments, Sym,
};

use super::values::{Lists, Value};
use super::words::{self, Word};

/// No program counts more devices; a larger number is damage.
const MOST_DEVICES: u32 = 1 << 12;

/// Rows so far.
pub(super) struct Rows {
    names: Interner,
    frames: FxHashMap<Frame, u32>,
    /// Stacks by the hash of their frames, and of each the next with the same hash.
    stack_heads: FxHashMap<u64, u32>,
    stack_next: Vec<u32>,
    stacks: MemoryStacks,
    sizes: FxHashMap<u64, u32>,
    events: AllocatorEvents,
    blocks: Blocks,
    segments: Segments,
    scratch: Vec<u32>,
    pub(super) notes: ImportNotes,
}

const NONE: u32 = u32::MAX;

impl Rows {
    pub(super) fn new() -> Self {
        Self {
            names: words::interner(),
            frames: FxHashMap::default(),
            stack_heads: FxHashMap::from_iter([(FxHasher::default().finish(), 0)]),
            stack_next: vec![NONE],
            stacks: MemoryStacks::default(),
            sizes: FxHashMap::default(),
            events: AllocatorEvents::default(),
            blocks: Blocks::default(),
            segments: Segments::default(),
            scratch: Vec::new(),
            notes: ImportNotes::default(),
        }
    }

    pub(super) fn intern(&mut self, text: &[u8]) -> Sym {
        match std::str::from_utf8(text) {
            Ok(text) => self.names.intern(text),
            Err(_) => {
                self.notes.add(NoteCode::NotUtf8, None);
                self.names.intern(&String::from_utf8_lossy(text))
            }
        }
    }

    /// Whether a dictionary with these items is a row of some table.
    pub(super) fn is_row(&self, items: &[(Value, Value)]) -> bool {
        kind(items).is_some()
    }

    /// Makes a row of a dictionary that is one.
    pub(super) fn add(&mut self, items: &[(Value, Value)], lists: &Lists<'_>) -> Value {
        match kind(items) {
            Some(Kind::Frame) => Value::Frame(self.frame(items)),
            Some(Kind::Event) => self.event(items),
            Some(Kind::Block) => self.block(items),
            Some(Kind::Segment) => self.segment(items, lists),
            None => Value::Nothing,
        }
    }

    fn frame(&mut self, items: &[(Value, Value)]) -> u32 {
        let frame = Frame {
            function: text(items, Word::Name),
            file: text(items, Word::Filename),
            line: u32::try_from(int(items, Word::Line).unwrap_or(0)).unwrap_or(0),
        };
        let next = self.stacks.frames.len() as u32;
        *self.frames.entry(frame).or_insert_with(|| {
            self.stacks.frames.push(frame);
            next
        })
    }

    /// The stack of a list's frames.
    pub(super) fn stack(&mut self, members: &[Value]) -> u32 {
        self.scratch.clear();
        self.scratch.extend(members.iter().filter_map(|member| match member {
            Value::Frame(frame) => Some(*frame),
            _ => None,
        }));
        let mut hasher = FxHasher::default();
        for &frame in &self.scratch {
            hasher.write_u32(frame);
        }
        let head = self.stack_heads.get(&hasher.finish()).copied().unwrap_or(NONE);
        let mut at = head;
        while at != NONE {
            let from = if at == 0 { 0 } else { self.stacks.ends[at as usize - 1] as usize };
            if self.stacks.members[from..self.stacks.ends[at as usize] as usize] == self.scratch[..] {
                return at;
            }
            at = self.stack_next[at as usize];
        }
        let end = u32::try_from(self.stacks.members.len() + self.scratch.len());
        let (Ok(end), Ok(stack)) = (end, u32::try_from(self.stacks.ends.len())) else {
            self.notes.add(NoteCode::TableFull, None);
            return 0;
        };
        self.stacks.members.extend_from_slice(&self.scratch);
        self.stacks.ends.push(end);
        self.stack_next.push(head);
        self.stack_heads.insert(hasher.finish(), stack);
        stack
    }

    fn event(&mut self, items: &[(Value, Value)]) -> Value {
        let row = self.events.len();
        let Some(row) = u32::try_from(row).ok().filter(|&row| row < NONE >> 3) else {
            self.notes.add(NoteCode::TableFull, None);
            return Value::Nothing;
        };
        let action = match word(items, Word::Action) {
            Some(Word::Alloc) => AllocatorAction::Alloc,
            Some(Word::FreeRequested) => AllocatorAction::FreeRequested,
            Some(Word::FreeCompleted) => AllocatorAction::FreeCompleted,
            Some(Word::SegmentAlloc) => AllocatorAction::SegmentAlloc,
            Some(Word::SegmentFree) => AllocatorAction::SegmentFree,
            Some(Word::SegmentMap) => AllocatorAction::SegmentMap,
            Some(Word::SegmentUnmap) => AllocatorAction::SegmentUnmap,
            Some(Word::Oom) => AllocatorAction::OutOfMemory,
            _ => AllocatorAction::Other,
        };
        let bytes = self.bytes(items, &[Word::Size]);
        let next = self.events.sizes.len() as u32;
        let size = *self.sizes.entry(bytes).or_insert(next);
        if size == next {
            self.events.sizes.push(bytes);
        }
        let address = self.bytes(items, &[Word::Addr, Word::DeviceFree]);
        self.events.action.push(action);
        self.events.address.push(address);
        self.events.size.push(size);
        self.events.times.push(int(items, Word::TimeUs).unwrap_or(0));
        self.events.stack.push(stack_of(items));
        Value::Events(row..row + 1)
    }

    fn block(&mut self, items: &[(Value, Value)]) -> Value {
        let Some(row) = u32::try_from(self.blocks.state.len()).ok().filter(|&row| row < NONE >> 3) else {
            self.notes.add(NoteCode::TableFull, None);
            return Value::Nothing;
        };
        let state = match word(items, Word::State) {
            Some(Word::ActiveAllocated) => BlockState::Allocated,
            Some(Word::ActivePendingFree | Word::ActiveAwaitingFree) => BlockState::PendingFree,
            _ => BlockState::Inactive,
        };
        let size = self.bytes(items, &[Word::Size]);
        let requested = if int(items, Word::RequestedSize).is_some() {
            self.bytes(items, &[Word::RequestedSize])
        } else {
            size
        };
        let address = self.bytes(items, &[Word::Address]);
        self.blocks.address.push(address);
        self.blocks.size.push(size);
        self.blocks.requested.push(requested);
        self.blocks.state.push(state);
        self.blocks.stack.push(stack_of(items));
        Value::Blocks(row..row + 1)
    }

    fn segment(&mut self, items: &[(Value, Value)], lists: &Lists<'_>) -> Value {
        let mut blocks: Range<u32> = 0..0;
        for run in find(items, Word::Blocks).map_or(&[][..], |list| lists.members(list)) {
            let Value::Blocks(run) = run else { continue };
            if blocks.is_empty() {
                blocks = run.clone();
            } else if blocks.end == run.start {
                blocks.end = run.end;
            } else {
                // Blocks that another segment has too.
                self.notes.add(NoteCode::MalformedEvent, None);
            }
        }
        // Before PyTorch 2.0 only blocks had addresses.
        let address = match find(items, Word::Address) {
            Some(_) => self.bytes(items, &[Word::Address]),
            None => self.blocks.address.get(blocks.start as usize).copied().unwrap_or(0),
        };
        let of = |state: BlockState, sizes: &[u64]| {
            let rows = blocks.clone().filter(|&row| self.blocks.state[row as usize] == state);
            rows.map(|row| sizes[row as usize]).fold(0_u64, u64::saturating_add)
        };
        let counted = of(BlockState::Allocated, &self.blocks.size);
        let pending = of(BlockState::PendingFree, &self.blocks.size);
        let wanted = of(BlockState::Allocated, &self.blocks.requested);
        let device = u32::try_from(int(items, Word::Device).unwrap_or(0)).ok();
        let Some(device) = device.filter(|&device| device < MOST_DEVICES) else {
            self.notes.add(NoteCode::MalformedEvent, None);
            return Value::Nothing;
        };
        let or = |rows: &mut Self, word, otherwise: u64| {
            if int(items, word).is_some() { rows.bytes(items, &[word]) } else { otherwise }
        };
        let row = self.segments.len() as u32;
        let size = self.bytes(items, &[Word::TotalSize]);
        let allocated = or(self, Word::AllocatedSize, counted);
        let active = or(self, Word::ActiveSize, counted.saturating_add(pending));
        let requested = or(self, Word::RequestedSize, wanted);
        self.segments.device.push(device);
        self.segments.address.push(address);
        self.segments.size.push(size);
        self.segments.allocated.push(allocated);
        self.segments.active.push(active);
        self.segments.requested.push(requested);
        self.segments.expandable.push(int(items, Word::IsExpandable) == Some(1));
        self.segments.blocks.push(blocks);
        Value::Segment(row)
    }

    /// The first of these members that is there, as bytes. A negative one is no size.
    fn bytes(&mut self, items: &[(Value, Value)], words: &[Word]) -> u64 {
        let value = words.iter().find_map(|&word| int(items, word)).unwrap_or(0);
        u64::try_from(value).unwrap_or_else(|_| {
            self.notes.add(NoteCode::MalformedEvent, None);
            0
        })
    }

    /// The snapshot. `None`: the whole is something else.
    pub(super) fn finish(mut self, whole: &[(Value, Value)], lists: &Lists<'_>) -> Option<MemorySnapshot> {
        let segments = find(whole, Word::Segments)?;
        let traces = find(whole, Word::DeviceTraces).map_or(&[][..], |traces| lists.members(traces));
        if !matches!(segments, Value::Open(_)) {
            return None;
        }
        let mut histories: Vec<Vec<Range<u32>>> = Vec::new();
        // Every event is of one device: a list that many name would cost its length each time.
        let mut left = self.events.len().saturating_mul(2);
        for trace in traces.iter().take(MOST_DEVICES as usize) {
            let mut history = Vec::new();
            for run in lists.members(trace) {
                let Value::Events(rows) = run else { continue };
                match left.checked_sub(rows.len()) {
                    Some(rest) => {
                        left = rest;
                        history.push(rows.clone());
                    }
                    None => self.notes.add(NoteCode::OverBudget, None),
                }
            }
            histories.push(history);
        }
        let settings = find(whole, Word::AllocatorSettings).map(|settings| self.settings(settings, lists));
        let marks = find(whole, Word::Annotations).map_or(&[][..], |marks| lists.members(marks));
        let marks = marks.iter().filter_map(|mark| self.mark(lists.items(mark))).collect();
        let settings = settings.unwrap_or_default();
        Some(MemorySnapshot { histories, settings, marks, ..self.part() })
    }

    /// The tables alone.
    pub(super) fn part(self) -> MemorySnapshot {
        MemorySnapshot {
            names: self.names,
            segments: self.segments,
            blocks: self.blocks,
            events: self.events,
            stacks: self.stacks,
            notes: self.notes,
            ..MemorySnapshot::default()
        }
    }

    fn settings(&self, settings: &Value, lists: &Lists<'_>) -> AllocatorSettings {
        let items = lists.items(settings);
        let divisions = find(items, Word::Roundup).map_or(&[][..], |divisions| lists.items(divisions));
        AllocatorSettings {
            known: !items.is_empty(),
            text: self.names.get(text(items, Word::Conf)).to_owned(),
            expandable: int(items, Word::ExpandableSegments) == Some(1),
            // Without a limit, -1 or the largest number there is.
            max_split: int(items, Word::MaxSplitSize)
                .filter(|&size| size < i64::MAX)
                .and_then(|size| u64::try_from(size).ok()),
            rounds_up: divisions.iter().any(|(_, parts)| matches!(parts, Value::Int(parts) if *parts > 0)),
        }
    }

    fn mark(&self, items: &[(Value, Value)]) -> Option<MemoryMark> {
        (word(items, Word::Stage) == Some(Word::Start)).then(|| MemoryMark {
            name: self.names.get(text(items, Word::Name)).to_owned(),
            device: u32::try_from(int(items, Word::Device).unwrap_or(0)).unwrap_or(0),
            time: int(items, Word::TimeUs).unwrap_or(0).saturating_mul(1000),
        })
    }
}

enum Kind {
    Frame,
    Event,
    Block,
    Segment,
}

/// What a dictionary is, by its keys.
fn kind(items: &[(Value, Value)]) -> Option<Kind> {
    let (mut has_line, mut has_file, mut has_state, mut has_size) = (false, false, false, false);
    for (key, _) in items {
        let Value::Text(sym) = key else { continue };
        match Word::of(*sym) {
            Some(Word::Action) => return Some(Kind::Event),
            Some(Word::TotalSize) => return Some(Kind::Segment),
            Some(Word::Line) => has_line = true,
            Some(Word::Filename) => has_file = true,
            Some(Word::State) => has_state = true,
            Some(Word::Size) => has_size = true,
            _ => {}
        }
    }
    match () {
        () if has_line && has_file => Some(Kind::Frame),
        () if has_state && has_size => Some(Kind::Block),
        () => None,
    }
}

/// A member of a dictionary; the last of equal keys counts, as in Python.
fn find(items: &[(Value, Value)], word: Word) -> Option<&Value> {
    let wanted = Value::Text(word.sym());
    items.iter().rev().find(|(key, _)| *key == wanted).map(|(_, value)| value)
}

fn int(items: &[(Value, Value)], word: Word) -> Option<i64> {
    match find(items, word)? {
        Value::Int(value) => Some(*value),
        Value::Float(value) => Some(*value as i64),
        _ => None,
    }
}

fn text(items: &[(Value, Value)], word: Word) -> Sym {
    if let Some(Value::Text(sym)) = find(items, word) { *sym } else { Sym::EMPTY }
}

fn word(items: &[(Value, Value)], key: Word) -> Option<Word> {
    Word::of(text(items, key))
}

fn stack_of(items: &[(Value, Value)]) -> u32 {
    if let Some(Value::Stack(stack)) = find(items, Word::Frames) { *stack } else { 0 }
}
