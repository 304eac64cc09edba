//! Dependency graph of the traced steps, its replay, the profiler's cost, and what-if.

pub mod critical;
pub mod edits;
pub mod models;
mod paths;
pub mod profiler_cost;
pub mod program;
pub mod simulate;
pub mod skeleton;
pub mod together;
pub mod unprofiled;
