//! What no trace exceeds, whatever its format.

/// Longer than any profile: an event that claims more is faulty.
pub(crate) const MAX_LENGTH: i64 = 7 * 24 * 3_600 * 1_000_000_000;
/// Times beyond this (146 years) leave no room for sums.
pub(crate) const MAX_TIME: i64 = i64::MAX / 2;
/// Rows that a table can hold.
pub(crate) const MAX_ROWS: usize = u32::MAX as usize - 1;
