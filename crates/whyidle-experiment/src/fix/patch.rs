//! Kept remedies as edits of the program's source, shown as unified diffs. No file is written here.

use std::collections::BTreeMap;
use std::path::Path;

use similar::TextDiff;
use whyidle_readers::progress::tries::{Did, Edit, Tried};

/// A longer source is none, bytes.
const LONGEST: u64 = 4 << 20;

/// The diffs that write the changes in the sources for good, for `git apply`; those of one file together. A file that
/// has changed meanwhile, so that a place is no longer there, is left out.
#[must_use]
pub fn patch(tried: &[Tried], dir: &Path) -> String {
    let mut by_file: BTreeMap<&str, Vec<&Edit>> = BTreeMap::new();
    for one in tried {
        if let Did::Set { place: Some((file, _)), edit: Some(edit), .. } = &one.did {
            let edits = by_file.entry(file).or_default();
            if !edits.contains(&edit) {
                edits.push(edit);
            }
        }
    }
    let one = |(file, edits): (&&str, &Vec<&Edit>)| {
        let path = Path::new(file);
        // What a program says of itself may name anything.
        let is_source = path.extension().is_some_and(|extension| extension == "py");
        let is_short =
            is_source && path.metadata().is_ok_and(|found| found.is_file() && found.len() <= LONGEST);
        let source = is_short.then(|| std::fs::read_to_string(path).ok()).flatten()?;
        let changed = edited(&source, edits)?;
        let name = path.strip_prefix(dir).unwrap_or(path).display().to_string();
        let name = name.trim_start_matches('/');
        let diff = TextDiff::from_lines(&source, &changed);
        Some(diff.unified_diff().header(&format!("a/{name}"), &format!("b/{name}")).to_string())
    };
    by_file.iter().filter_map(one).collect()
}

/// The source with the edits made.
fn edited(source: &str, edits: &[&Edit]) -> Option<String> {
    let mut places: Vec<(usize, usize, &str)> = Vec::new();
    for edit in edits {
        let (from, to) = (at(source, edit.line, edit.column)?, at(source, edit.end_line, edit.end_column)?);
        if from > to {
            return None;
        }
        places.push((from, to, &edit.text));
    }
    // From the end, so that places before stay where they are; what is put at one place keeps its order.
    places.sort_by_key(|(from, to, _)| (*from, *to));
    if places.windows(2).any(|pair| pair[0].1 > pair[1].0) {
        return None;
    }
    let mut changed = source.to_owned();
    for (from, to, text) in places.into_iter().rev() {
        changed.replace_range(from..to, text);
    }
    Some(changed)
}

/// Bytes up to a line, from 1, and a column in characters.
fn at(source: &str, line: usize, column: usize) -> Option<usize> {
    let start: usize = source.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let text = source.get(start..)?.split('\n').next()?;
    let mut ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    Some(start + ends.nth(column)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(file: &Path, edit: (usize, usize, usize, usize, &str)) -> Tried {
        let (line, column, end_line, end_column, text) = edit;
        let edit = Edit { line, column, end_line, end_column, text: text.to_owned() };
        let place = Some((file.display().to_string(), 1));
        Tried {
            name: String::new(),
            did: Did::Set { from: None, to: String::new(), place, edit: Some(edit), given: None },
        }
    }

    #[test]
    fn edits_of_one_file_become_one_diff() -> std::io::Result<()> {
        let dir = tempfile::tempdir()?;
        let file = dir.path().join("train.py");
        std::fs::write(&file, "x = 1\n数据 = DataLoader(d, num_workers=2)\nz = 3\n")?;
        let tried = [
            set(&file, (2, 31, 2, 32, "8")),
            set(&file, (2, 32, 2, 32, ", persistent_workers=True")),
            set(&file, (2, 31, 2, 32, "8")),
        ];
        let text = patch(&tried, dir.path());
        assert!(text.starts_with("--- a/train.py\n+++ b/train.py\n"), "{text}");
        assert!(text.contains("\n+数据 = DataLoader(d, num_workers=8, persistent_workers=True)\n"), "{text}");
        assert_eq!(std::fs::read_to_string(&file)?.lines().count(), 3);
        // Two different changes of one place, or a place that is not there: no patch rather than a wrong one.
        let two = [set(&file, (2, 31, 2, 32, "8")), set(&file, (2, 30, 2, 32, "9"))];
        assert_eq!(patch(&two, dir.path()), "");
        assert_eq!(patch(&[set(&file, (9, 0, 9, 1, "8"))], dir.path()), "");
        assert_eq!(patch(&[set(&file, (2, 900, 2, 901, "8"))], dir.path()), "");
        Ok(())
    }
}
