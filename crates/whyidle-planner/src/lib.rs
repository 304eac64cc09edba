//! stub
mod error; mod model; mod setup; mod memory;
pub use error::PlanError;
pub use model::*;
pub use setup::*;
pub use memory::*;
