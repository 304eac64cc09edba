//! Python pickles of plain data – dictionaries, lists, tuples, numbers, text – as a table of nodes that refer to each
//! other by number (Python's `pickletools` documents the machine; protocols 2 to 5).
//!
//! Nothing is ever executed: opcodes that name classes or call them end the reading. A node costs what its opcode costs
//! in the file, so memory grows with the file and never on a length field's word.

use std::ops::Range;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// `None`.
    None,
    /// A truth value.
    Bool(bool),
    /// A whole number; longer ones end at the limits of 64 bits.
    Int(i64),
    /// A float.
    Float(f64),
    /// Text, as its place in the file.
    Text(Range<usize>),
    /// Bytes.
    Bytes,
    /// A list, tuple or set: its members' numbers.
    List(Vec<u32>),
    /// A dictionary: its keys' and values' numbers.
    Dict(Vec<(u32, u32)>),
}

/// Where the file makes no sense, or asks for code to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Byte of the opcode.
    pub byte: usize,
    /// The file ends there: nothing before it is in doubt.
    pub at_end: bool,
}

/// A pickle's nodes.
pub(crate) struct Pickle<'a> {
    bytes: &'a [u8],
    nodes: Vec<Node>,
    root: u32,
}

impl<'a> Pickle<'a> {
    /// Reads a pickle.
    ///
    /// # Errors
    /// At the first opcode that is unknown, unfinished, has nothing to work on, or would run code.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Broken> {
        let (pickle, broken) = Self::read_part(bytes);
        broken.map_or(Ok(pickle), Err)
    }

    /// Reads a pickle as far as it goes. Where it breaks off, the values so far are there, but the whole is nothing.
    pub(crate) fn read_part(bytes: &'a [u8]) -> (Self, Option<Broken>) {
        let mut machine = Machine {
            bytes,
            at: 0,
            nodes: vec![Node::None],
            stack: Vec::new(),
            memo: Vec::new(),
            cut: false,
        };
        loop {
            let byte = machine.at;
            match machine.step() {
                Some(None) => {}
                Some(Some(root)) => return (Self { bytes, nodes: machine.nodes, root }, None),
                None => {
                    let broken = Broken { byte, at_end: machine.cut };
                    return (Self { bytes, nodes: machine.nodes, root: 0 }, Some(broken));
                }
            }
        }
    }

    /// All values, in the order in which they begin in the file.
    pub(crate) fn values(&self) -> &[Node] {
        &self.nodes
    }

    /// The whole.
    pub(crate) fn root(&self) -> &Node {
        &self.nodes[self.root as usize]
    }

    /// A member of a dictionary.
    pub(crate) fn get(&self, of: &Node, key: &str) -> Option<&Node> {
        let Node::Dict(items) = of else { return None };
        // The last of equal keys counts, as in Python.
        let found =
            items.iter().rev().find(|(name, _)| self.text(&self.nodes[*name as usize]) == Some(key))?;
        Some(&self.nodes[found.1 as usize])
    }

    /// The members of a list or tuple; none of anything else.
    pub(crate) fn list<'n>(&'n self, of: &'n Node) -> impl Iterator<Item = &'n Node> {
        let members: &[u32] = if let Node::List(members) = of { members } else { &[] };
        members.iter().map(|&member| &self.nodes[member as usize])
    }

    /// The members of a dictionary whose keys are text; none of anything else.
    pub(crate) fn dict<'n>(&'n self, of: &'n Node) -> impl Iterator<Item = (&'a str, &'n Node)> {
        let items: &[(u32, u32)] = if let Node::Dict(items) = of { items } else { &[] };
        let node = |id: u32| &self.nodes[id as usize];
        items.iter().filter_map(move |&(key, value)| Some((self.text(node(key))?, node(value))))
    }

    /// Text.
    pub(crate) fn text(&self, of: &Node) -> Option<&'a str> {
        let Node::Text(range) = of else { return None };
        std::str::from_utf8(&self.bytes[range.clone()]).ok()
    }

    /// A whole number in a dictionary.
    pub(crate) fn int(&self, of: &Node, key: &str) -> Option<i64> {
        match self.get(of, key)? {
            Node::Int(value) => Some(*value),
            Node::Bool(value) => Some(i64::from(*value)),
            _ => None,
        }
    }
}

/// What lies on the stack.
#[derive(Clone, Copy)]
enum Slot {
    Mark,
    Node(u32),
}

struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    nodes: Vec<Node>,
    stack: Vec<Slot>,
    memo: Vec<u32>,
    /// More bytes were asked for than there are.
    cut: bool,
}

const NOTHING: u32 = u32::MAX;

impl<'a> Machine<'a> {
    /// One opcode. `Some(Some(root))` at the end; `None` where it makes no sense.
    fn step(&mut self) -> Option<Option<u32>> {
        match self.byte()? {
            // PROTO, FRAME: nothing that the data depends on.
            0x80 => (2..=5).contains(&self.byte()?).then_some(())?,
            0x95 => drop(self.take(8)?),
            b'.' => return Some(Some(self.pop()?)),
            b'(' => self.stack.push(Slot::Mark),
            b'0' => drop(self.stack.pop()?),
            b'1' => drop(self.since_mark()?),
            b'2' => self.stack.push(*self.stack.last()?),
            b'N' => self.push(Node::None),
            0x88 => self.push(Node::Bool(true)),
            0x89 => self.push(Node::Bool(false)),
            b'K' => self.unsigned_int(1)?,
            b'M' => self.unsigned_int(2)?,
            b'J' => {
                let bytes = self.take(4)?;
                let value = i32::from_le_bytes(bytes.try_into().ok()?);
                self.push(Node::Int(i64::from(value)));
            }
            0x8a => {
                let length = self.unsigned(1)?;
                self.long(length)?;
            }
            0x8b => {
                let length = self.unsigned(4)?;
                self.long(length)?;
            }
            b'G' => {
                let bytes = self.take(8)?;
                self.push(Node::Float(f64::from_be_bytes(bytes.try_into().ok()?)));
            }
            0x8c => self.sized(1, true)?,
            b'X' => self.sized(4, true)?,
            0x8d => self.sized(8, true)?,
            b'C' | b'U' => self.sized(1, false)?,
            b'B' | b'T' => self.sized(4, false)?,
            0x8e | 0x96 => self.sized(8, false)?,
            b']' | b')' | 0x8f => self.push(Node::List(Vec::new())),
            b'}' => self.push(Node::Dict(Vec::new())),
            b't' | b'l' | 0x91 => {
                let members = self.since_mark()?;
                self.push(Node::List(members));
            }
            b'd' => {
                let members = self.since_mark()?;
                let items = pairs(&members)?;
                self.push(Node::Dict(items));
            }
            count @ 0x85..=0x87 => {
                let from = self.stack.len().checked_sub(usize::from(count - 0x84))?;
                let members = self.stack.split_off(from).into_iter().map(node).collect::<Option<_>>()?;
                self.push(Node::List(members));
            }
            b'a' => {
                let member = self.pop()?;
                self.top_list()?.push(member);
            }
            b'e' | 0x90 => {
                let members = self.since_mark()?;
                self.top_list()?.extend(members);
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.top_dict()?.push((key, value));
            }
            b'u' => {
                let members = self.since_mark()?;
                let items = pairs(&members)?;
                self.top_dict()?.extend(items);
            }
            0x94 => {
                let top = node(*self.stack.last()?)?;
                self.memo.push(top);
            }
            b'q' => self.put(1)?,
            b'r' => self.put(4)?,
            b'h' => self.recall(1)?,
            b'j' => self.recall(4)?,
            // Classes and calls, and everything unknown.
            _ => return None,
        }
        Some(None)
    }

    fn byte(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let bytes = self.at.checked_add(length).and_then(|end| self.bytes.get(self.at..end));
        let Some(bytes) = bytes else {
            self.cut = true;
            return None;
        };
        let end = self.at + length;
        self.at = end;
        Some(bytes)
    }

    /// A little-endian number of so many bytes.
    fn unsigned(&mut self, width: usize) -> Option<usize> {
        let bytes = self.take(width)?;
        let value = bytes.iter().rev().fold(0_u64, |value, &byte| value << 8 | u64::from(byte));
        usize::try_from(value).ok()
    }

    fn unsigned_int(&mut self, width: usize) -> Option<()> {
        let value = self.unsigned(width)?;
        self.push(Node::Int(i64::try_from(value).ok()?));
        Some(())
    }

    /// A little-endian two's complement of any length.
    fn long(&mut self, length: usize) -> Option<()> {
        let bytes = self.take(length)?;
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
        self.push(Node::Int(value));
        Some(())
    }

    /// Text or bytes with their length before them.
    fn sized(&mut self, width: usize, is_text: bool) -> Option<()> {
        let length = self.unsigned(width)?;
        let from = self.at;
        self.take(length)?;
        self.push(if is_text { Node::Text(from..from + length) } else { Node::Bytes });
        Some(())
    }

    fn push(&mut self, node: Node) {
        let id = u32::try_from(self.nodes.len()).unwrap_or(NOTHING);
        self.nodes.push(node);
        self.stack.push(Slot::Node(id));
    }

    fn pop(&mut self) -> Option<u32> {
        node(self.stack.pop()?)
    }

    /// What was pushed since the last mark, which goes too.
    fn since_mark(&mut self) -> Option<Vec<u32>> {
        let mark = self.stack.iter().rposition(|slot| matches!(slot, Slot::Mark))?;
        let members = self.stack.split_off(mark + 1).into_iter().map(node).collect();
        self.stack.pop();
        members
    }

    fn top_list(&mut self) -> Option<&mut Vec<u32>> {
        let top = node(*self.stack.last()?)?;
        if let Node::List(members) = self.nodes.get_mut(top as usize)? { Some(members) } else { None }
    }

    fn top_dict(&mut self) -> Option<&mut Vec<(u32, u32)>> {
        let top = node(*self.stack.last()?)?;
        if let Node::Dict(items) = self.nodes.get_mut(top as usize)? { Some(items) } else { None }
    }

    /// Numbers of the memo follow each other; one far ahead makes no sense.
    fn put(&mut self, width: usize) -> Option<()> {
        let (number, top) = (self.unsigned(width)?, node(*self.stack.last()?)?);
        if number > self.bytes.len() {
            return None;
        }
        if number >= self.memo.len() {
            self.memo.resize(number + 1, NOTHING);
        }
        self.memo[number] = top;
        Some(())
    }

    fn recall(&mut self, width: usize) -> Option<()> {
        let number = self.unsigned(width)?;
        let known = *self.memo.get(number).filter(|&&known| known != NOTHING)?;
        self.stack.push(Slot::Node(known));
        Some(())
    }
}

fn node(slot: Slot) -> Option<u32> {
    if let Slot::Node(id) = slot { Some(id) } else { None }
}

fn pairs(members: &[u32]) -> Option<Vec<(u32, u32)>> {
    members.len().is_multiple_of(2).then(|| members.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `{'a': [1, -2, 2**40, 2**70, 'x'], 'b': (True, None, 0.5)}`, with the list shared under `c`.
    const PLAIN: &[u8] = b"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01a\x94]\x94(K\x01J\xfe\xff\xff\xff\x8a\x06\
        \x00\x00\x00\x00\x00\x01\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x40\x8c\x01xe\x8c\x01b\x88NG\x3f\xe0\x00\x00\x00\x00\
        \x00\x00\x87\x8c\x01ch\x02u.";

    #[test]
    fn plain_data_is_read() {
        let read = Pickle::read(PLAIN).unwrap_or_else(|broken| panic!("{broken:?}"));
        let list = read.get(read.root(), "a").expect("a");
        let numbers: Vec<&Node> = read.list(list).collect();
        assert_eq!(numbers[..4], [&Node::Int(1), &Node::Int(-2), &Node::Int(1 << 40), &Node::Int(i64::MAX)]);
        assert_eq!(read.text(numbers[4]), Some("x"));
        let tuple: Vec<&Node> = read.list(read.get(read.root(), "b").expect("b")).collect();
        assert_eq!(tuple, [&Node::Bool(true), &Node::None, &Node::Float(0.5)]);
        assert_eq!(read.get(read.root(), "c"), Some(list));
    }

    #[test]
    fn code_is_never_run() {
        // cos\nsystem\n(S'true'\ntR.
        assert_eq!(
            Pickle::read(b"\x80\x02cos\nsystem\n(X\x04\x00\x00\x00truetR.").err(),
            Some(Broken { byte: 2, at_end: false })
        );
        // STACK_GLOBAL, NEWOBJ, BUILD, REDUCE.
        for opcode in [0x93, 0x81, b'b', b'R', b'i', b'o', 0x92] {
            let bytes = [b"\x80\x04\x8c\x02os\x8c\x06system".as_slice(), &[opcode], b"."].concat();
            assert!(Pickle::read(&bytes).is_err(), "{opcode:#x}");
        }
    }

    proptest! {
        #[test]
        fn damage_is_an_error_or_other_data(at in 0..PLAIN.len(), byte: u8, cut in 0..PLAIN.len()) {
            let mut bytes = PLAIN.to_vec();
            bytes[at] = byte;
            bytes.truncate(cut);
            if let Ok(read) = Pickle::read(&bytes) {
                prop_assert!(read.nodes.len() <= bytes.len() + 1);
            }
        }

        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Pickle::read(&bytes);
        }
    }
}
