//! The stack machine for snapshots: of a file of gigabytes it keeps rows, not values.
//!
//! A dictionary that is complete is told by its keys – a frame, an event, a block, a segment, a mark – and becomes a row;
//! a list of frames becomes a stack as soon as something uses it; a list of rows is a few runs. Its place in the memo then
//! holds the row's number, four bytes. What nothing needs is dropped.
//!
//! A list or dictionary is used when it is put into another one. What is added to it afterwards (which no pickler writes,
//! and is how cycles are made) is counted and left out.

use std::io::Read;

use whyidle_model::{MemorySnapshot, NoteCode};

use super::rows::Rows;
use super::values::{Lists, NONE, Open, Place, Value, join, packed, unpacked};
use super::words::Word;
use crate::budget::{Budget, Guard};
use crate::pickle::op::{self, Input, Op};
use crate::pickle::{Broken, Why, Window};

/// How many spare lists and dictionaries are kept, and how large they may be.
const SPARE: usize = 1024;
const LARGE: usize = 4096;

/// Reads a snapshot's rows.
pub(super) struct Machine {
    stack: Vec<Value>,
    memo: Vec<u32>,
    places: Vec<Place>,
    free: Vec<u32>,
    /// Room of lists and dictionaries that were used, for the next ones.
    spare_members: Vec<Vec<Value>>,
    spare_items: Vec<Vec<(Value, Value)>>,
    rows: Rows,
    guard: Guard,
    /// Marks on the stack: each is a level of nesting.
    marks: u32,
}

impl Machine {
    pub(super) fn new(budget: Budget) -> Self {
        Self {
            stack: Vec::new(),
            memo: Vec::new(),
            places: Vec::new(),
            free: Vec::new(),
            spare_members: Vec::new(),
            spare_items: Vec::new(),
            rows: Rows::new(),
            guard: Guard::new(budget),
            marks: 0,
        }
    }

    /// Runs to the end of the pickle and returns the whole. An opcode is a node of the budget.
    ///
    /// # Errors
    /// Where the budget ends; at the first opcode that makes no sense, is unfinished, or asks for code to be run.
    pub(super) fn run<R: Read>(&mut self, input: &mut Window<R>) -> Result<Value, Broken> {
        loop {
            let byte = input.at();
            if !(self.guard.pays(byte) && self.guard.nests(self.marks)) {
                return Err(Broken { byte, why: Why::Budget });
            }
            let op = op::next(input)?;
            if op == Op::Stop {
                return self.pop().ok_or(Broken { byte, why: Why::Nonsense });
            }
            self.step(op, byte).ok_or(Broken { byte, why: Why::Nonsense })?;
        }
    }

    fn step(&mut self, op: Op<'_>, byte: u64) -> Option<()> {
        match op {
            Op::Nothing | Op::Stop => {}
            Op::Mark => {
                self.marks = self.marks.saturating_add(1);
                self.stack.push(Value::Mark);
            }
            Op::Pop => {
                let value = self.stack.pop()?;
                self.marks = self.marks.saturating_sub(u32::from(value == Value::Mark));
                self.release(value);
            }
            Op::PopMark => {
                let from = self.mark()?;
                self.marks = self.marks.saturating_sub(1);
                self.drop_from(from);
            }
            Op::Dup => {
                let top = self.stack.last()?.clone();
                self.share(&top);
                self.stack.push(top);
            }
            Op::None | Op::Bytes => self.stack.push(Value::Nothing),
            Op::Bool(value) => self.stack.push(Value::Int(i64::from(value))),
            Op::Int(value) => self.stack.push(Value::Int(value)),
            Op::Float(value) => self.stack.push(Value::Float(value)),
            Op::Text(text) => {
                let sym = self.rows.intern(text);
                self.stack.push(Value::Text(sym));
            }
            Op::EmptyList => self.open_list(),
            Op::EmptyDict => self.open_dict(),
            Op::Tuple(count) => {
                let from = self.stack.len().checked_sub(count)?;
                self.tuple(from)?;
            }
            Op::ListSinceMark => {
                let from = self.unmark()?;
                self.tuple(from)?;
            }
            Op::DictSinceMark => {
                let from = self.unmark()?;
                self.open_dict();
                let dict = self.stack.pop()?;
                self.add_items(&dict, from)?;
                let dict = if self.is_row(&dict) { self.settled(dict) } else { dict };
                self.stack.push(dict);
            }
            Op::Append => {
                let from = self.stack.len().checked_sub(1)?;
                self.append(from)?;
            }
            Op::Appends => {
                let from = self.unmark()?;
                self.append(from)?;
            }
            Op::SetItem => {
                let from = self.stack.len().checked_sub(2)?;
                let dict = self.stack.get(from.checked_sub(1)?)?.clone();
                self.add_items(&dict, from)?;
            }
            Op::SetItems => {
                let from = self.unmark()?;
                let dict = self.stack.get(from.checked_sub(1)?)?.clone();
                self.add_items(&dict, from)?;
                // Picklers write all items of a small dictionary at once: it is complete.
                if self.is_row(&dict) {
                    let row = self.settled(dict);
                    self.stack[from - 1] = row;
                }
            }
            Op::Memoize => {
                let number = u32::try_from(self.memo.len()).ok().filter(|&number| number < NONE)?;
                self.put(number)?;
            }
            Op::Put(number) => {
                // Numbers of the memo follow each other; one far ahead makes no sense.
                let number = u32::try_from(number).ok().filter(|&number| u64::from(number) <= byte)?;
                self.put(number)?;
            }
            Op::Get(number) => {
                let packed = *self.memo.get(usize::try_from(number).ok()?)?;
                let value = unpacked(packed)?;
                self.share(&value);
                self.stack.push(value);
            }
        }
        Some(())
    }

    fn pop(&mut self) -> Option<Value> {
        self.stack.pop().filter(|value| *value != Value::Mark)
    }

    /// Where the last mark lies.
    fn mark(&self) -> Option<usize> {
        self.stack.iter().rposition(|value| *value == Value::Mark)
    }

    /// Takes the last mark away: where what followed it begins.
    fn unmark(&mut self) -> Option<usize> {
        let at = self.mark()?;
        self.stack.remove(at);
        self.marks = self.marks.saturating_sub(1);
        Some(at)
    }

    fn open(&mut self, open: Open) {
        let place = Place { open, memo: NONE, shared: false };
        let at = match self.free.pop() {
            Some(at) => {
                self.places[at as usize] = place;
                at
            }
            None => {
                self.places.push(place);
                (self.places.len() - 1) as u32
            }
        };
        self.stack.push(Value::Open(at));
    }

    fn open_list(&mut self) {
        let members = self.spare_members.pop().unwrap_or_default();
        self.open(Open::List(members));
    }

    fn open_dict(&mut self) {
        let items = self.spare_items.pop().unwrap_or_default();
        self.open(Open::Dict(items));
    }

    /// A tuple of what lies from `from` on. One of plain values is of no use to anybody.
    fn tuple(&mut self, from: usize) -> Option<()> {
        if self.stack[from..].contains(&Value::Mark) {
            return None;
        }
        let plain = |value: &Value| {
            matches!(value, Value::Nothing | Value::Int(_) | Value::Float(_) | Value::Text(_))
        };
        if self.stack[from..].iter().all(plain) {
            self.stack.truncate(from);
            self.stack.push(Value::Nothing);
            return Some(());
        }
        self.open_list();
        let list = self.stack.pop()?;
        self.add(&list, from);
        self.stack.push(list);
        Some(())
    }

    /// What lies from `from` on joins the list below it.
    fn append(&mut self, from: usize) -> Option<()> {
        let list = self.stack.get(from.checked_sub(1)?)?.clone();
        let is_list = match &list {
            Value::Open(at) => !matches!(self.places[*at as usize].open, Open::Dict(_)),
            Value::Stack(_) | Value::Events(_) | Value::Blocks(_) => true,
            _ => false,
        };
        if !is_list || self.stack[from..].contains(&Value::Mark) {
            return None;
        }
        self.add(&list, from);
        Some(())
    }

    fn add(&mut self, list: &Value, from: usize) {
        for at in from..self.stack.len() {
            let value = std::mem::replace(&mut self.stack[at], Value::Nothing);
            let value = if self.is_row(&value) { self.settled(value) } else { value };
            let place =
                if let Value::Open(place) = list { self.places.get_mut(*place as usize) } else { None };
            match place.map(|place| &mut place.open) {
                Some(Open::List(members)) => join(members, value),
                _ => {
                    self.rows.notes.add(NoteCode::MalformedEvent, None);
                    self.release(value);
                }
            }
        }
        self.stack.truncate(from);
    }

    /// Keys and values from `from` on join a dictionary.
    fn add_items(&mut self, dict: &Value, from: usize) -> Option<()> {
        let count = self.stack.len() - from;
        if !count.is_multiple_of(2) || self.stack[from..].contains(&Value::Mark) {
            return None;
        }
        for at in (from..self.stack.len()).step_by(2) {
            let key = std::mem::replace(&mut self.stack[at], Value::Nothing);
            let value = std::mem::replace(&mut self.stack[at + 1], Value::Nothing);
            let value = self.of_key(&key, value);
            let place =
                if let Value::Open(place) = dict { self.places.get_mut(*place as usize) } else { None };
            match place.map(|place| &mut place.open) {
                Some(Open::Dict(items)) => items.push((key, value)),
                // It was used already: what became of it stays as it is.
                _ if matches!(
                    dict,
                    Value::Open(_)
                        | Value::Events(_)
                        | Value::Blocks(_)
                        | Value::Segment(_)
                        | Value::Frame(_)
                ) =>
                {
                    self.rows.notes.add(NoteCode::MalformedEvent, None);
                    self.release(value);
                }
                _ => return None,
            }
        }
        self.stack.truncate(from);
        Some(())
    }

    /// A value as its key's meaning wants it: frames as a stack, rows as rows.
    fn of_key(&mut self, key: &Value, value: Value) -> Value {
        if *key == Value::Text(Word::Frames.sym()) {
            return self.as_stack(value);
        }
        if self.is_row(&value) { self.settled(value) } else { value }
    }

    /// A dictionary whose keys are those of a row, or what one became.
    fn is_row(&self, value: &Value) -> bool {
        match value {
            Value::Open(at) => match &self.places[*at as usize].open {
                Open::Dict(items) => self.rows.is_row(items),
                Open::Used(_) => true,
                Open::List(_) => false,
            },
            _ => false,
        }
    }

    /// What a dictionary becomes: a row if it is one. It is used by this.
    fn settled(&mut self, value: Value) -> Value {
        let Value::Open(at) = value else { return value };
        let place = &mut self.places[at as usize];
        match &mut place.open {
            Open::Used(became) => became.clone(),
            Open::Dict(items) => {
                let items = std::mem::take(items);
                if !self.rows.is_row(&items) {
                    self.places[at as usize].open = Open::Dict(items);
                    return value;
                }
                let lists = Lists(&self.places);
                let row = self.rows.add(&items, &lists);
                self.release_items(items);
                self.use_up(at, row.clone());
                row
            }
            Open::List(_) => value,
        }
    }

    /// A list of frames as a stack; anything else has none.
    fn as_stack(&mut self, value: Value) -> Value {
        let at = match value {
            Value::Open(at) => at,
            Value::Stack(_) => return value,
            _ => return Value::Stack(0),
        };
        let stack = match &mut self.places[at as usize].open {
            Open::Used(became) => return became.clone(),
            Open::List(members) => {
                let members = std::mem::take(members);
                let stack = self.rows.stack(&members);
                self.release_members(members);
                stack
            }
            Open::Dict(_) => 0,
        };
        self.use_up(at, Value::Stack(stack));
        Value::Stack(stack)
    }

    /// A list or dictionary became something else: so says its number in the memo, and its place is free unless something
    /// else refers to it.
    fn use_up(&mut self, at: u32, became: Value) {
        let place = &mut self.places[at as usize];
        if place.shared {
            place.open = Open::Used(became);
            return;
        }
        place.open = Open::Used(Value::Nothing);
        let memo = place.memo;
        if memo != NONE {
            self.memo[memo as usize] = packed(&became);
        }
        self.free.push(at);
    }

    /// A list or dictionary that nothing needs: its place is free if nothing else refers to it.
    fn release(&mut self, value: Value) {
        let mut left = vec![value];
        while let Some(value) = left.pop() {
            let Value::Open(at) = value else { continue };
            let place = &mut self.places[at as usize];
            if place.shared || place.memo != NONE {
                continue;
            }
            match std::mem::replace(&mut place.open, Open::Used(Value::Nothing)) {
                Open::List(members) => left.extend(members),
                Open::Dict(items) => left.extend(items.into_iter().flat_map(|(key, value)| [key, value])),
                Open::Used(_) => {}
            }
            self.free.push(at);
        }
    }

    fn release_members(&mut self, mut members: Vec<Value>) {
        for member in members.drain(..) {
            if let Value::Open(_) = member {
                self.release(member);
            }
        }
        if self.spare_members.len() < SPARE && members.capacity() < LARGE {
            self.spare_members.push(members);
        }
    }

    fn release_items(&mut self, mut items: Vec<(Value, Value)>) {
        for value in items.drain(..).flat_map(|(key, value)| [key, value]) {
            if let Value::Open(_) = value {
                self.release(value);
            }
        }
        if self.spare_items.len() < SPARE && items.capacity() < LARGE {
            self.spare_items.push(items);
        }
    }

    fn drop_from(&mut self, from: usize) {
        while self.stack.len() > from {
            if let Some(value) = self.stack.pop() {
                self.release(value);
            }
        }
    }

    fn share(&mut self, value: &Value) {
        if let Value::Open(at) = value {
            self.places[*at as usize].shared = true;
        }
    }

    fn put(&mut self, number: u32) -> Option<()> {
        let value = self.stack.last()?;
        if *value == Value::Mark {
            return None;
        }
        let packed = packed(value);
        let at = if let Value::Open(at) = value { Some(*at) } else { None };
        let number = number as usize;
        if number >= self.memo.len() {
            self.memo.resize(number + 1, NONE);
        }
        self.memo[number] = packed;
        if let Some(at) = at {
            let place = &mut self.places[at as usize];
            // A second number for the same: the place itself must last.
            place.shared |= place.memo != NONE;
            place.memo = number as u32;
        }
        Some(())
    }

    /// The snapshot. `None`: the whole is something else.
    pub(super) fn finish(self, whole: &Value) -> Option<MemorySnapshot> {
        let lists = Lists(&self.places);
        self.rows.finish(lists.items(whole), &lists)
    }

    /// What was read until the budget ended: segments and blocks. Which device an event is of, only the whole tells.
    pub(super) fn part(mut self) -> MemorySnapshot {
        self.rows.notes.add(NoteCode::OverBudget, None);
        self.rows.part()
    }
}
