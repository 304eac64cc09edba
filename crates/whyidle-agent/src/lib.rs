//! Watches a node for months: the training programs on it as they come and go, as metrics and as recordings of the
//! moments that matter.
//!
//! * [`http`] – the server that answers, for every page and metric that whyidle serves.

pub mod http;
