//! Tokenising ahead of training: documents in, memory-mapped token files out, so that no loader worker tokenises while a
//! GPU waits.
//!
//! * [`tokenize`] – the whole: reads, tokenises on all threads, writes, goes on after a kill.
//! * [`Settings`], [`Summary`], [`FeedError`] – what it is told, what it tells.
//!
//! The tokens are those of Hugging Face's `tokenizers`, the same library. Their order is that of the inputs, whatever
//! the number of threads. The files are those that `whyidle.TokenDataset` maps ([`formats`]).

mod added;
mod cuts;
mod encode;
mod error;
mod feeder;
pub mod formats;
mod places;
mod run;
mod settings;
mod shards;
mod state;
mod tokens;
mod words;

pub use error::FeedError;
pub use run::tokenize;
pub use settings::Settings;
pub use state::{InputCounts, ShardFacts, Summary};
