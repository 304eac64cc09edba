//! Facts about a recording: pure functions of the model, one file per question.

pub mod chain;
pub mod communication;
pub mod curves;
pub mod device;
pub mod distribution;
pub mod facts;
pub mod flight;
mod gaps;
pub mod habits;
pub mod hostclass;
pub mod kernelclass;
pub mod ledger;
pub mod levels;
mod lines;
pub mod links;
pub mod machine;
pub mod memory;
pub mod ncu;
pub mod operators;
pub mod os;
pub mod ranks;
pub mod rates;
pub mod shapes;
pub mod signals;
pub mod steps;
pub mod timeline;
pub mod totals;
pub mod tree;
pub mod vendor;
pub mod work;

#[cfg(test)]
mod gap_tests;
#[cfg(test)]
mod step_tests;
#[cfg(test)]
mod testing;
