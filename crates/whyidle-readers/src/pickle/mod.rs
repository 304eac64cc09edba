//! Python pickles of plain data – dictionaries, lists, tuples, numbers, text – as a table of nodes that refer to each
//! other by number: the machine that keeps everything, for small files. [`op`] reads the opcodes.
//!
//! A node costs what its opcode costs in the file, so memory grows with the file and never on a length field's word.

mod input;
pub(crate) mod op;

use std::ops::Range;

use crate::budget::{Budget, Guard};
use input::Slice;
pub(crate) use input::Window;
pub(crate) use op::{Broken, Why};
use op::{Input, Op};

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
    #[cfg(test)]
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Broken> {
        let (pickle, broken) = Self::read_part(bytes, Budget::default());
        broken.map_or(Ok(pickle), Err)
    }

    /// Reads a pickle as far as it and the budget go: an opcode is a node, and a mark that is open a level of nesting. Where
    /// it breaks off, the values so far are there, but the whole is nothing.
    pub(crate) fn read_part(bytes: &'a [u8], budget: Budget) -> (Self, Option<Broken>) {
        let mut guard = Guard::new(budget);
        let mut input = Slice { bytes, at: 0 };
        let mut machine = Machine { nodes: vec![Node::None], stack: Vec::new(), memo: Vec::new(), marks: 0 };
        loop {
            let byte = input.at();
            let is_paid = guard.pays(byte) && guard.nests(machine.marks);
            let done = match op::next(&mut input) {
                _ if !is_paid => Err(Broken { byte, why: Why::Budget }),
                Ok(Op::Text(text)) => {
                    let length = text.len();
                    machine.push(Node::Text(input.at - length..input.at));
                    Ok(None)
                }
                Ok(op) => machine.step(op, bytes.len()).ok_or(Broken { byte, why: Why::Nonsense }),
                Err(broken) => Err(broken),
            };
            match done {
                Ok(None) => {}
                Ok(Some(root)) => return (Self { bytes, nodes: machine.nodes, root }, None),
                Err(broken) => return (Self { bytes, nodes: machine.nodes, root: 0 }, Some(broken)),
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
}

/// What lies on the stack.
#[derive(Clone, Copy)]
enum Slot {
    Mark,
    Node(u32),
}

struct Machine {
    nodes: Vec<Node>,
    stack: Vec<Slot>,
    memo: Vec<u32>,
    /// Marks on the stack.
    marks: u32,
}

const NOTHING: u32 = u32::MAX;

impl Machine {
    /// One operation. `Some(Some(root))` at the end; `None` where it has nothing to work on.
    fn step(&mut self, op: Op<'_>, most: usize) -> Option<Option<u32>> {
        match op {
            Op::Nothing => {}
            Op::Stop => return Some(Some(self.pop()?)),
            Op::Mark => {
                self.marks = self.marks.saturating_add(1);
                self.stack.push(Slot::Mark);
            }
            Op::Pop => {
                let is_mark = matches!(self.stack.pop()?, Slot::Mark);
                self.marks = self.marks.saturating_sub(u32::from(is_mark));
            }
            Op::PopMark => drop(self.since_mark()?),
            Op::Dup => self.stack.push(*self.stack.last()?),
            Op::None => self.push(Node::None),
            Op::Bool(value) => self.push(Node::Bool(value)),
            Op::Int(value) => self.push(Node::Int(value)),
            Op::Float(value) => self.push(Node::Float(value)),
            // The caller knows its place in the file.
            Op::Text(_) => return None,
            Op::Bytes => self.push(Node::Bytes),
            Op::EmptyList => self.push(Node::List(Vec::new())),
            Op::EmptyDict => self.push(Node::Dict(Vec::new())),
            Op::ListSinceMark => {
                let members = self.since_mark()?;
                self.push(Node::List(members));
            }
            Op::DictSinceMark => {
                let members = self.since_mark()?;
                let items = pairs(&members)?;
                self.push(Node::Dict(items));
            }
            Op::Tuple(count) => {
                let from = self.stack.len().checked_sub(count)?;
                let members = self.stack.split_off(from).into_iter().map(node).collect::<Option<_>>()?;
                self.push(Node::List(members));
            }
            Op::Append => {
                let member = self.pop()?;
                self.top_list()?.push(member);
            }
            Op::Appends => {
                let members = self.since_mark()?;
                self.top_list()?.extend(members);
            }
            Op::SetItem => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.top_dict()?.push((key, value));
            }
            Op::SetItems => {
                let members = self.since_mark()?;
                let items = pairs(&members)?;
                self.top_dict()?.extend(items);
            }
            Op::Memoize => {
                let top = node(*self.stack.last()?)?;
                self.memo.push(top);
            }
            Op::Put(number) => self.put(usize::try_from(number).ok()?, most)?,
            Op::Get(number) => {
                let number = usize::try_from(number).ok()?;
                let known = *self.memo.get(number).filter(|&&known| known != NOTHING)?;
                self.stack.push(Slot::Node(known));
            }
        }
        Some(None)
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
        self.marks = self.marks.saturating_sub(1);
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
    fn put(&mut self, number: usize, most: usize) -> Option<()> {
        let top = node(*self.stack.last()?)?;
        if number > most {
            return None;
        }
        if number >= self.memo.len() {
            self.memo.resize(number + 1, NOTHING);
        }
        self.memo[number] = top;
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
    fn a_pickle_is_read_as_far_as_its_budget_goes() {
        let why = |bytes: &[u8], budget| Pickle::read_part(bytes, budget).1.map(|broken| broken.why);
        for small in [
            Budget { nodes: 5, ..Budget::default() },
            Budget { bytes: 15, ..Budget::default() },
            Budget { nesting: 1, ..Budget::default() },
            Budget { time: std::time::Duration::ZERO, ..Budget::default() },
        ] {
            assert_eq!(why(PLAIN, small), Some(Why::Budget), "{small:?}");
        }
        assert_eq!(why(PLAIN, Budget { nesting: 2, ..Budget::default() }), None);
        let (part, _) = Pickle::read_part(PLAIN, Budget { bytes: 30, ..Budget::default() });
        assert!(part.values().len() > 3, "what came before stays");
        let deep = [vec![b'('; 1_000], vec![b't'; 1_000], vec![b'.']].concat();
        assert_eq!(why(&deep, Budget::default()), Some(Why::Budget));
    }

    #[test]
    fn code_is_never_run() {
        // cos\nsystem\n(S'true'\ntR.
        assert_eq!(
            Pickle::read(b"\x80\x02cos\nsystem\n(X\x04\x00\x00\x00truetR.").err(),
            Some(Broken { byte: 2, why: Why::Code })
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
