//! Handles of threads and streams by their two numbers: of a few looked up a million
//! times, or of many thousands, in either case at once.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Handles by an outer number (process, device) and an inner one (thread, stream).
pub(crate) struct Places<O, H> {
    all: FxHashMap<(O, i64), H>,
    last: Option<(O, i64, H)>,
}

impl<O, H> Default for Places<O, H> {
    fn default() -> Self {
        Self { all: FxHashMap::default(), last: None }
    }
}

impl<O: Copy + Eq + Hash, H: Copy> Places<O, H> {
    /// The handle of a place; `new` makes one for a place that was not met before.
    pub(crate) fn get(&mut self, outer: O, inner: i64, new: impl FnOnce() -> H) -> H {
        if let Some((last_outer, last_inner, handle)) = self.last
            && last_outer == outer
            && last_inner == inner
        {
            return handle;
        }
        let handle = *self.all.entry((outer, inner)).or_insert_with(new);
        self.last = Some((outer, inner, handle));
        handle
    }
}
