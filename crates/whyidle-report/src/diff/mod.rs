//! What changed from one trace or recording to another, in words: the step, the ledger, kernels and operators by name.
//!
//! [`words`] has the sentences, [`described`] the page, `json` the schema `whyidle.diff/1`.

pub(crate) mod described;
pub(crate) mod json;
pub(crate) mod words;
