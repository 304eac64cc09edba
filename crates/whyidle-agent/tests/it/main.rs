//! The agent's parts together, without the program.

// The damage is that of the readers' tests.
#[path = "../../../whyidle-readers/tests/it/damage.rs"]
mod damage;
pub(crate) mod http;
mod serve;
