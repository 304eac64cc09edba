//! What a gap belongs to, in names: operators, calls and the user's own frames.

use rustc_hash::FxHashMap;
use whyidle_analysis::ledger::Line;
use whyidle_analysis::tree::{Context, NONE};
use whyidle_model::{HostId, HostKind, Sym};

use super::Case;

/// A place and what it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Operator, call or frame; empty where only an annotation was active.
    pub name: String,
    /// The user's own frame around it.
    pub frame: Option<String>,
    /// Time per traced step, ns.
    pub ns: i64,
    /// How often per step.
    pub count: i64,
}

impl Case<'_> {
    /// Places that a line's gaps belong to, largest first: name, time per traced step in ns, count per step.
    #[must_use]
    pub fn places(&self, line: Line) -> Vec<Place> {
        let mut by_symbol: FxHashMap<(Sym, Option<Sym>), (i64, i64)> = FxHashMap::default();
        for part in self.device.ledger.gaps.iter().filter(|part| part.line == line) {
            let total = by_symbol.entry(self.place_of(part.leaf)).or_default();
            total.0 += part.length();
            total.1 += 1;
        }
        // Names that differ in an address alone are one.
        let mut totals: FxHashMap<(String, Option<String>), (i64, i64)> = FxHashMap::default();
        for (place, (ns, count)) in by_symbol {
            let total = totals.entry(self.in_words(place)).or_default();
            total.0 += ns;
            total.1 += count;
        }
        let mut places: Vec<Place> = totals
            .into_iter()
            .map(|((name, frame), (ns, count))| Place {
                name,
                frame,
                ns: ns / self.steps(),
                count: count / self.steps(),
            })
            .collect();
        places.sort_by(|a, b| {
            b.ns.cmp(&a.ns).then_with(|| a.name.cmp(&b.name)).then_with(|| a.frame.cmp(&b.frame))
        });
        places
    }

    /// What a host event belongs to, and the user's own frame around it.
    fn place_of(&self, leaf: u32) -> (Sym, Option<Sym>) {
        if leaf == NONE {
            return (Sym::EMPTY, None);
        }
        let id = HostId(leaf);
        let (mut frame, mut operator) = (None, None);
        for at in self.facts.tree.ancestry(id) {
            match self.trace.host.kind[at.index()] {
                HostKind::Op => operator = Some(self.trace.host.name[at.index()]),
                HostKind::Python => frame = frame.or_else(|| self.facts.as_user_frame(self.trace, at)),
                _ => {}
            }
        }
        let own = match operator {
            Some(operator) => operator,
            // An annotation alone names no work.
            None if self.trace.host.kind[id.index()] == HostKind::Annotation
                && self.facts.tree.context(id) == Context::Unnamed =>
            {
                Sym::EMPTY
            }
            None => self.trace.host.name[id.index()],
        };
        (if frame == Some(own) { Sym::EMPTY } else { own }, frame)
    }

    fn in_words(&self, (name, frame): (Sym, Option<Sym>)) -> (String, Option<String>) {
        let names = &self.trace.names;
        (readable(names.get(name)), frame.map(|frame| names.get(frame).to_owned()))
    }

    /// A host event in a few words: its operator or call, and the user's frame around it.
    #[must_use]
    pub fn describe(&self, leaf: u32) -> String {
        match self.in_words(self.place_of(leaf)) {
            (name, Some(frame)) if name.is_empty() => frame,
            (name, Some(frame)) => format!("{name} · {frame}"),
            (name, None) => name,
        }
    }

    /// The innermost frame of the user's own code around an event, where the trace has stacks.
    #[must_use]
    pub fn user_frame(&self, id: HostId) -> Option<String> {
        self.facts.user_frame(self.trace, id).map(|frame| self.trace.names.get(frame).to_owned())
    }

    /// An event lies in a frame, operator or annotation whose name contains `name`.
    #[must_use]
    pub(crate) fn is_inside(&self, id: HostId, name: &str) -> bool {
        let of = |at: HostId| self.trace.names.get(self.trace.host.name[at.index()]);
        self.facts.tree.ancestry(id).any(|at| of(at).contains(name))
    }

    /// The trace has Python frames.
    #[must_use]
    pub fn has_stacks(&self) -> bool {
        self.trace.meta.with_stack || self.trace.host.kind.contains(&HostKind::Python)
    }
}

/// A builtin's name without the address of its object.
fn readable(name: &str) -> String {
    match (name.strip_prefix("<built-in "), name.find(" object at 0x")) {
        (Some(_), Some(at)) => format!("{}>", &name[..at]),
        _ => name.to_owned(),
    }
}
