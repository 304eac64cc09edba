//! Ascending numbers as text: stretches without a hole, as `[first, how many]`. A group of thousands is one of them.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// No job has more ranks than this.
const MOST: u32 = 1 << 20;

/// Writes the stretches.
pub(super) fn serialize<S: Serializer>(ranks: &[u32], serializer: S) -> Result<S::Ok, S::Error> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &rank in ranks {
        match runs.last_mut() {
            Some((first, count)) if *first + *count == rank => *count += 1,
            _ => runs.push((rank, 1)),
        }
    }
    runs.serialize(serializer)
}

/// Reads them back.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u32>, D::Error> {
    let runs = Vec::<(u32, u32)>::deserialize(deserializer)?;
    let mut ranks: Vec<u32> = Vec::new();
    for (first, count) in runs {
        let end = first.checked_add(count).filter(|&end| end <= MOST);
        let end = end.ok_or_else(|| D::Error::custom("more ranks than a job can have"))?;
        if ranks.last().is_some_and(|&last| last >= first) {
            return Err(D::Error::custom("ranks out of order"));
        }
        ranks.extend(first..end);
    }
    Ok(ranks)
}
