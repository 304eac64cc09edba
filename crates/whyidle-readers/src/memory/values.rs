//! Values of the machine: what lies on its stack, what is still open, and four bytes for each in the memo.

use std::ops::Range;

use whyidle_model::Sym;

/// What lies on the stack, or in a list or dictionary that is still open.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// A mark.
    Mark,
    /// Something that nothing needs.
    Nothing,
    /// A whole number or a truth value.
    Int(i64),
    /// A number that is no whole one.
    Float(f64),
    /// Text.
    Text(Sym),
    /// A list or dictionary: its place among the open ones.
    Open(u32),
    /// A distinct frame.
    Frame(u32),
    /// A distinct stack.
    Stack(u32),
    /// Events, as rows.
    Events(Range<u32>),
    /// Blocks, as rows.
    Blocks(Range<u32>),
    /// A segment, as a row.
    Segment(u32),
}

/// A list or dictionary.
#[derive(Debug)]
pub(super) enum Open {
    /// A list, tuple or set.
    List(Vec<Value>),
    /// A dictionary; of equal keys the last counts.
    Dict(Vec<(Value, Value)>),
    /// It was used: this is what became of it.
    Used(Value),
}

/// Where a list or dictionary is kept while it is open.
pub(super) struct Place {
    /// It, or what became of it.
    pub(super) open: Open,
    /// Its number in the memo.
    pub(super) memo: u32,
    /// Something else refers to this place too.
    pub(super) shared: bool,
}

/// No number, no value.
pub(super) const NONE: u32 = u32::MAX;

/// In the memo, a value takes four bytes: what it is in the upper three bits, and a number.
const NUMBER: u32 = (1 << 29) - 1;

/// Lists and dictionaries that are still open.
pub(super) struct Lists<'a>(pub(super) &'a [Place]);

impl<'a> Lists<'a> {
    /// Members of a list; none of anything else.
    pub(super) fn members(&self, value: &'a Value) -> &'a [Value] {
        match value {
            Value::Open(at) => match &self.0[*at as usize].open {
                Open::List(members) => members,
                _ => &[],
            },
            _ => std::slice::from_ref(value),
        }
    }

    /// Items of a dictionary; none of anything else.
    pub(super) fn items(&self, value: &Value) -> &'a [(Value, Value)] {
        let Value::Open(at) = value else { return &[] };
        if let Open::Dict(items) = &self.0[*at as usize].open { items } else { &[] }
    }
}

/// A value joins a list: rows that follow each other are one run.
pub(super) fn join(members: &mut Vec<Value>, value: Value) {
    match (members.last_mut(), &value) {
        (Some(Value::Events(run)), Value::Events(more)) if run.end == more.start => run.end = more.end,
        (Some(Value::Blocks(run)), Value::Blocks(more)) if run.end == more.start => run.end = more.end,
        _ => members.push(value),
    }
}

/// A value in four bytes.
pub(super) fn packed(value: &Value) -> u32 {
    let (kind, number) = match value {
        Value::Text(sym) => (1, sym.0),
        Value::Open(at) => (2, *at),
        Value::Frame(frame) => (3, *frame),
        Value::Stack(stack) => (4, *stack),
        Value::Events(rows) => (5, rows.start),
        Value::Blocks(rows) => (6, rows.start),
        Value::Segment(row) => (7, *row),
        _ => (0, 0),
    };
    // Beyond half a billion of a kind nothing is remembered.
    if number < NUMBER { kind << 29 | number } else { 0 }
}

/// The value of four bytes; `None` where there is none.
pub(super) fn unpacked(packed: u32) -> Option<Value> {
    if packed == NONE {
        return None;
    }
    let number = packed & NUMBER;
    Some(match packed >> 29 {
        1 => Value::Text(Sym(number)),
        2 => Value::Open(number),
        3 => Value::Frame(number),
        4 => Value::Stack(number),
        5 => Value::Events(number..number + 1),
        6 => Value::Blocks(number..number + 1),
        7 => Value::Segment(number),
        _ => Value::Nothing,
    })
}
