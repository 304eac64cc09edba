//! Columns of integers as text: differences from one row to the next, which are small numbers.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes the first value and then the differences.
pub(super) fn serialize<S: Serializer>(column: &[i64], serializer: S) -> Result<S::Ok, S::Error> {
    let before = std::iter::once(&0).chain(column);
    let differences: Vec<i64> =
        column.iter().zip(before).map(|(now, before)| now.wrapping_sub(*before)).collect();
    differences.serialize(serializer)
}

/// Adds them up again.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<i64>, D::Error> {
    let mut column = Vec::<i64>::deserialize(deserializer)?;
    let mut now = 0_i64;
    for value in &mut column {
        now = now.wrapping_add(*value);
        *value = now;
    }
    Ok(column)
}
