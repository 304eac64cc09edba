//! `compute.bound`: the GPU works; nothing waits and nothing is found to be wasteful.
//!
//! The ruling when no finding gains more than its interval, never a finding itself.

use crate::case::Case;
use crate::verdict::Finding;

pub(super) fn check(_case: &Case<'_>) -> Option<Finding> {
    None
}
