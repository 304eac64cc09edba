//! The crate as a whole: catalogues against each other and against those who use them,
//! and finished pages of hand-made verdicts.

mod catalogues;
mod diff;
mod documents;
mod experiment;
mod fleet;
mod gate;
mod html;
mod job;
mod pages;
mod plan;
mod sample;
mod schema;
mod sentences;
mod sweep;
