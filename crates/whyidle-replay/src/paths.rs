//! Lists of [`Paths`] as text: what differs from the list before.
//!
//! From one collective to the next a host mostly only goes on by some time, which moves all of its paths alike. So of
//! each path is kept how much further it moved than the first of its list: mostly nothing.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::skeleton::Paths;

/// All lists end to end, as columns.
#[derive(Default, Serialize, Deserialize)]
struct Columns {
    /// Paths of each list.
    counts: Vec<u32>,
    /// Source of each, less the one foretold.
    sources: Vec<i64>,
    /// Its ns, less those foretold.
    ns: Vec<i64>,
}

/// What is foretold of the path that follows `known` in a list: the one in its place in the list before, moved as far
/// as the first; where there is none, the path before it.
fn foretold(before: &Paths, known: &Paths) -> (u32, i64) {
    let moved = known.first().zip(before.first()).map_or(0, |(now, then)| now.1.wrapping_sub(then.1));
    let same = before.get(known.len()).map(|&(source, ns)| (source, ns.wrapping_add(moved)));
    same.or(known.last().copied()).unwrap_or_default()
}

/// Writes the differences.
pub(crate) fn serialize<S: Serializer>(lists: &[Paths], serializer: S) -> Result<S::Ok, S::Error> {
    let mut columns = Columns::default();
    let mut before = &Paths::new();
    for list in lists {
        columns.counts.push(u32::try_from(list.len()).unwrap_or(u32::MAX));
        let mut known = Paths::with_capacity(list.len());
        for &(source, ns) in list {
            let told = foretold(before, &known);
            columns.sources.push(i64::from(source) - i64::from(told.0));
            columns.ns.push(ns.wrapping_sub(told.1));
            known.push((source, ns));
        }
        before = list;
    }
    columns.serialize(serializer)
}

/// Puts them together again.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Paths>, D::Error> {
    let Columns { counts, sources, ns } = Columns::deserialize(deserializer)?;
    let whole: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    if whole != sources.len() as u64 || sources.len() != ns.len() {
        return Err(D::Error::custom("paths of unequal length"));
    }
    let mut differences = sources.into_iter().zip(ns);
    let mut lists: Vec<Paths> = Vec::with_capacity(counts.len());
    let none = Paths::new();
    for count in counts {
        let before = lists.last().unwrap_or(&none);
        let mut list = Paths::with_capacity(count as usize);
        for (source, ns) in differences.by_ref().take(count as usize) {
            let told = foretold(before, &list);
            let source = u32::try_from(i64::from(told.0).wrapping_add(source));
            list.push((source.map_err(D::Error::custom)?, told.1.wrapping_add(ns)));
        }
        lists.push(list);
    }
    Ok(lists)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};

    use crate::skeleton::Paths;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Kept(#[serde(with = "super")] Vec<Paths>);

    proptest! {
        #[test]
        fn lists_come_back_as_they_were(
            lists in prop::collection::vec(prop::collection::vec((any::<u32>(), any::<i64>()), 0..6), 0..8)
        ) {
            let kept = Kept(lists);
            let text = serde_json::to_string(&kept).expect("it can be written");
            prop_assert_eq!(serde_json::from_str::<Kept>(&text).expect("it can be read"), kept);
        }
    }

    #[test]
    fn paths_that_move_together_are_zeros() {
        let kept = Kept(vec![vec![(0, 10), (4, 70)], vec![(0, 35), (4, 95)]]);
        let text = serde_json::to_string(&kept).expect("it can be written");
        assert_eq!(text, r#"{"counts":[2,2],"sources":[0,4,0,0],"ns":[10,60,25,0]}"#);
    }

    #[test]
    fn columns_that_do_not_fit_are_refused() {
        for text in [
            r#"{"counts":[2],"sources":[0],"ns":[0]}"#,
            r#"{"counts":[4294967295,4294967295],"sources":[],"ns":[]}"#,
            r#"{"counts":[1],"sources":[-1],"ns":[0]}"#,
        ] {
            assert!(serde_json::from_str::<Kept>(text).is_err(), "{text}");
        }
    }
}
