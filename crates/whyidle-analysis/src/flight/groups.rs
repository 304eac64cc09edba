//! Which process groups there are, who is in them, and whose dump is there.
//!
//! A group is its name together with its members: names are counted per rank, and groups of different ranks may share
//! one. Where a dump does not say who is in a group, those whose dumps hold the name are taken for it.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::RankDump;

/// A process group, seen from all dumps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// What the program calls it; empty where it does not.
    pub description: String,
    /// Global ranks in it.
    pub ranks: Vec<u32>,
    /// The dumps do not say who is in it: `ranks` are those that were seen.
    pub ranks_seen_only: bool,
    /// Members whose dump is there: the dump, and the group's number in it.
    pub dumps: Vec<(usize, u32)>,
    /// Members without a dump.
    pub missing: Vec<u32>,
    /// Entries in all dumps.
    pub entries: u64,
}

impl Group {
    /// How it is called: by the program, else by its name.
    #[must_use]
    pub fn label(&self) -> &str {
        if self.description.is_empty() { &self.name } else { &self.description }
    }
}

/// The groups with entries, or whose members are known; the largest first, then by name.
#[must_use]
pub fn groups(dumps: &[RankDump]) -> Vec<Group> {
    let mut found: BTreeMap<(&str, &[u32]), Group> = BTreeMap::new();
    // A rank that says nothing of the members belongs where others of that name say them, if that is one place.
    let mut stated: FxHashMap<&str, Vec<&[u32]>> = FxHashMap::default();
    for group in dumps.iter().flat_map(|dump| &dump.dump.groups).filter(|group| !group.ranks.is_empty()) {
        let known = stated.entry(&group.name).or_default();
        if !known.contains(&group.ranks.as_slice()) {
            known.push(&group.ranks);
        }
    }
    for (at, dump) in dumps.iter().enumerate() {
        let mut entries = vec![0_u64; dump.dump.groups.len()];
        dump.dump.entries.group.iter().for_each(|&group| entries[group as usize] += 1);
        for (number, group) in dump.dump.groups.iter().enumerate() {
            let elsewhere = stated.get(group.name.as_str()).filter(|places| places.len() == 1);
            let ranks = match (group.ranks.is_empty(), elsewhere) {
                (true, Some(places)) if places[0].contains(&dump.rank) => places[0],
                _ => &group.ranks,
            };
            if entries[number] == 0 && (ranks.is_empty() || group.name.is_empty()) {
                continue;
            }
            let whole = found.entry((&group.name, ranks)).or_insert_with(|| Group {
                name: group.name.clone(),
                ranks: ranks.to_vec(),
                ranks_seen_only: ranks.is_empty(),
                ..Group::default()
            });
            if whole.description.is_empty() {
                whole.description.clone_from(&group.description);
            }
            whole.dumps.push((at, number as u32));
            whole.entries += entries[number];
        }
    }
    let mut groups: Vec<Group> = found.into_values().filter(|group| group.entries > 0).collect();
    for group in &mut groups {
        let mut present: Vec<u32> = group.dumps.iter().map(|&(at, _)| dumps[at].rank).collect();
        present.sort_unstable();
        if group.ranks_seen_only {
            group.ranks.clone_from(&present);
        }
        group.missing =
            group.ranks.iter().copied().filter(|rank| present.binary_search(rank).is_err()).collect();
    }
    groups.sort_by(|a, b| b.ranks.len().cmp(&a.ranks.len()).then_with(|| a.name.cmp(&b.name)));
    groups
}
