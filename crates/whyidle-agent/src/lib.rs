//! Watches a node for months: the training programs on it as they come and go, as metrics and as recordings of the
//! moments that matter.
//!
//! * [`http`] – the server that answers, for every page and metric that whyidle serves.
//! * [`serve`] – pages of recordings, the history, and programs while they run.

pub mod http;
pub mod serve;
