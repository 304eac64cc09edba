//! Names are stored once. A trace of a million events has a few thousand distinct
//! names, so every column of names is a column of `u32`.

use std::hash::Hasher;

use rustc_hash::{FxHashMap, FxHasher};

use crate::Sym;

/// Strings, each stored once and named by a [`Sym`].
#[derive(Clone, Debug)]
pub struct Interner {
    text: String,
    ends: Vec<u32>,
    /// Hash of a string to the first symbol with that hash; further ones follow in `next`.
    heads: FxHashMap<u64, u32>,
    next: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Default for Interner {
    fn default() -> Self {
        let mut interner =
            Self { text: String::new(), ends: Vec::new(), heads: FxHashMap::default(), next: Vec::new() };
        interner.intern("");
        interner
    }
}

/// Equal: the same strings under the same symbols.
impl PartialEq for Interner {
    fn eq(&self, other: &Self) -> bool {
        self.ends == other.ends && self.text == other.text
    }
}

impl Eq for Interner {}

impl Interner {
    /// The symbol of `name`, which is stored if it is new.
    ///
    /// Once four gigabytes of distinct text are stored, further new names become [`Sym::EMPTY`].
    pub fn intern(&mut self, name: &str) -> Sym {
        let mut hasher = FxHasher::default();
        hasher.write(name.as_bytes());
        let hash = hasher.finish();
        let head = self.heads.get(&hash).copied().unwrap_or(NONE);
        let mut at = head;
        while at != NONE {
            if self.get(Sym(at)) == name {
                return Sym(at);
            }
            at = self.next[at as usize];
        }
        let Ok(end) = u32::try_from(self.text.len() + name.len()) else {
            return Sym::EMPTY;
        };
        let sym = Sym::from_index(self.ends.len());
        self.text.push_str(name);
        self.ends.push(end);
        self.next.push(head);
        self.heads.insert(hash, sym.0);
        sym
    }

    /// The symbol of `name` if it was ever interned.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Sym> {
        let mut hasher = FxHasher::default();
        hasher.write(name.as_bytes());
        let mut at = self.heads.get(&hasher.finish()).copied().unwrap_or(NONE);
        while at != NONE {
            if self.get(Sym(at)) == name {
                return Some(Sym(at));
            }
            at = self.next[at as usize];
        }
        None
    }

    /// The string behind `sym`.
    #[must_use]
    pub fn get(&self, sym: Sym) -> &str {
        let index = sym.index();
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.text[start..self.ends[index] as usize]
    }

    /// How many distinct strings are stored, the empty one included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Never true: the empty string is always there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Applies `f` to each distinct string, in symbol order: the way to classify names
    /// once instead of once per event.
    pub fn map<T>(&self, mut f: impl FnMut(&str) -> T) -> Vec<T> {
        (0..self.len()).map(|i| f(self.get(Sym::from_index(i)))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_share_a_symbol_and_the_empty_one_is_first() {
        let mut names = Interner::default();
        let a = names.intern("aten::mm");
        assert_eq!(names.intern("aten::mm"), a);
        assert_ne!(names.intern("aten::addmm"), a);
        assert_eq!(names.intern(""), Sym::EMPTY);
        assert_eq!(names.get(a), "aten::mm");
        assert_eq!(names.find("aten::mm"), Some(a));
        assert_eq!(names.find("aten::bmm"), None);
        assert_eq!(names.map(str::len), vec![0, 8, 11]);
    }
}
