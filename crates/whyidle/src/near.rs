//! What was probably meant by a word that is not known.

/// The known word most like `word`, if one is like it at all.
pub(crate) fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str> + Clone) -> Option<&'k str> {
    let lower = word.to_ascii_lowercase();
    let distance = |id: &str| edit_distance(&lower, id);
    let near = known.clone().min_by_key(|id| (distance(id), id.len()))?;
    let contained = || known.clone().find(|id| !word.is_empty() && id.contains(word));
    if distance(near) * 3 <= near.len() { Some(near) } else { contained() }
}

/// Levenshtein distance.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = corner + usize::from(from != *to);
            corner = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_near_and_nonsense_is_not() {
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        let words = ["duration_ns", "name", "kernels"];
        assert_eq!(nearest("Kernel", words.into_iter()), Some("kernels"));
        assert_eq!(nearest("duration", words.into_iter()), Some("duration_ns"));
        assert_eq!(nearest("xyzzy", words.into_iter()), None);
    }
}
