//! The opcodes of Python pickles, protocols 2 to 5 (Python's `pickletools` documents them): bytes in, one operation of
//! the stack machine after the other out. Two machines use it: one keeps everything, one only what a snapshot needs.
//!
//! Nothing is ever executed: opcodes that name classes or call them end the reading, by name. Lengths are never trusted:
//! an input gives only bytes that are there.

/// Where the file makes no sense, ends, or asks for code to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Byte of the opcode.
    pub byte: u64,
    /// What is wrong there.
    pub why: Why,
}

/// What is wrong with a pickle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The file ends: nothing before it is in doubt.
    Cut,
    /// It names a class or asks for a call (`GLOBAL`, `REDUCE`, …).
    Code,
    /// An opcode that is unknown, or has nothing to work on.
    Nonsense,
    /// Nothing: the budget does not go further.
    Budget,
}

/// Bytes, one after the other.
pub(crate) trait Input {
    /// How many were taken.
    fn at(&self) -> u64;

    /// The next `length` bytes; `None` if there are fewer. Of very long text an input may give the beginning alone.
    fn take(&mut self, length: u64) -> Option<&[u8]>;
}

/// An operation.
#[derive(Debug, PartialEq)]
pub(crate) enum Op<'a> {
    /// Nothing that the data depends on.
    Nothing,
    /// The end: the value on top is the whole.
    Stop,
    /// A mark.
    Mark,
    /// The value on top goes.
    Pop,
    /// Everything since the last mark goes, and the mark.
    PopMark,
    /// The value on top once more.
    Dup,
    /// `None`.
    None,
    /// A truth value.
    Bool(bool),
    /// A whole number; longer ones end at the limits of 64 bits.
    Int(i64),
    /// A float.
    Float(f64),
    /// Text, not checked to be UTF-8.
    Text(&'a [u8]),
    /// Bytes.
    Bytes,
    /// An empty list, tuple or set.
    EmptyList,
    /// An empty dictionary.
    EmptyDict,
    /// A list, tuple or set of what came since the mark.
    ListSinceMark,
    /// A dictionary of what came since the mark.
    DictSinceMark,
    /// A tuple of that many values.
    Tuple(usize),
    /// The value on top joins the list below it.
    Append,
    /// The values since the mark join the list below it.
    Appends,
    /// The two values on top join the dictionary below them.
    SetItem,
    /// The values since the mark join the dictionary below it.
    SetItems,
    /// The value on top gets the memo's next number.
    Memoize,
    /// The value on top gets this number.
    Put(u64),
    /// The value of this number once more.
    Get(u64),
}

/// The next operation.
///
/// # Errors
/// At the first opcode that is unknown or unfinished, or would run code.
pub(crate) fn next<I: Input>(input: &mut I) -> Result<Op<'_>, Broken> {
    let byte = input.at();
    let broken = |why| Broken { byte, why };
    let cut = || broken(Why::Cut);
    let opcode = unsigned(input, 1).ok_or_else(cut)?;
    Ok(match opcode as u8 {
        0x80 => match unsigned(input, 1).ok_or_else(cut)? {
            2..=5 => Op::Nothing,
            _ => return Err(broken(Why::Nonsense)),
        },
        0x95 => input.take(8).map(|_| Op::Nothing).ok_or_else(cut)?,
        b'.' => Op::Stop,
        b'(' => Op::Mark,
        b'0' => Op::Pop,
        b'1' => Op::PopMark,
        b'2' => Op::Dup,
        b'N' => Op::None,
        0x88 => Op::Bool(true),
        0x89 => Op::Bool(false),
        b'K' => int(unsigned(input, 1)).ok_or_else(cut)?,
        b'M' => int(unsigned(input, 2)).ok_or_else(cut)?,
        b'J' => int(unsigned(input, 4).map(|value| u64::from(value as u32))).map(signed).ok_or_else(cut)?,
        0x8a => long(input, 1).ok_or_else(cut)?,
        0x8b => long(input, 4).ok_or_else(cut)?,
        b'G' => Op::Float(f64::from_bits(unsigned(input, 8).ok_or_else(cut)?.swap_bytes())),
        0x8c => text(input, 1).ok_or_else(cut)?,
        b'X' => text(input, 4).ok_or_else(cut)?,
        0x8d => text(input, 8).ok_or_else(cut)?,
        b'C' | b'U' => bytes(input, 1).ok_or_else(cut)?,
        b'B' | b'T' => bytes(input, 4).ok_or_else(cut)?,
        0x8e | 0x96 => bytes(input, 8).ok_or_else(cut)?,
        b']' | b')' | 0x8f => Op::EmptyList,
        b'}' => Op::EmptyDict,
        b't' | b'l' | 0x91 => Op::ListSinceMark,
        b'd' => Op::DictSinceMark,
        count @ 0x85..=0x87 => Op::Tuple(usize::from(count - 0x84)),
        b'a' => Op::Append,
        b'e' | 0x90 => Op::Appends,
        b's' => Op::SetItem,
        b'u' => Op::SetItems,
        0x94 => Op::Memoize,
        b'q' => Op::Put(unsigned(input, 1).ok_or_else(cut)?),
        b'r' => Op::Put(unsigned(input, 4).ok_or_else(cut)?),
        b'h' => Op::Get(unsigned(input, 1).ok_or_else(cut)?),
        b'j' => Op::Get(unsigned(input, 4).ok_or_else(cut)?),
        // GLOBAL, INST, OBJ, REDUCE, BUILD, NEWOBJ, EXT1–4, NEWOBJ_EX, STACK_GLOBAL, PERSID, BINPERSID.
        b'c' | b'i' | b'o' | b'R' | b'b' | 0x81..=0x84 | 0x92 | 0x93 | b'P' | b'Q' => {
            return Err(broken(Why::Code));
        }
        _ => return Err(broken(Why::Nonsense)),
    })
}

/// A little-endian number of up to eight bytes.
fn unsigned<I: Input>(input: &mut I, width: u64) -> Option<u64> {
    let bytes = input.take(width)?;
    Some(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

fn int(value: Option<u64>) -> Option<Op<'static>> {
    value.map(|value| Op::Int(i64::try_from(value).unwrap_or(i64::MAX)))
}

/// A number of four bytes has a sign.
fn signed(op: Op<'static>) -> Op<'static> {
    if let Op::Int(value) = op { Op::Int(i64::from(value as u32 as i32)) } else { op }
}

/// A little-endian two's complement of any length.
fn long<I: Input>(input: &mut I, width: u64) -> Option<Op<'_>> {
    let length = unsigned(input, width)?;
    let bytes = input.take(length)?;
    let negative = bytes.last().is_some_and(|&byte| byte >= 0x80);
    let fill = if negative { 0xff } else { 0 };
    let value = if bytes.iter().skip(8).all(|&byte| byte == fill) {
        let mut eight = [fill; 8];
        let kept = bytes.len().min(8);
        eight[..kept].copy_from_slice(&bytes[..kept]);
        i64::from_le_bytes(eight)
    } else if negative {
        i64::MIN
    } else {
        i64::MAX
    };
    Some(Op::Int(value))
}

fn text<I: Input>(input: &mut I, width: u64) -> Option<Op<'_>> {
    let length = unsigned(input, width)?;
    input.take(length).map(Op::Text)
}

fn bytes<I: Input>(input: &mut I, width: u64) -> Option<Op<'_>> {
    let length = unsigned(input, width)?;
    input.take(length).map(|_| Op::Bytes)
}
