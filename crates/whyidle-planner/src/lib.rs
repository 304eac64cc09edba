//! stub
mod error; mod model;
pub use error::PlanError;
pub use model::*;
