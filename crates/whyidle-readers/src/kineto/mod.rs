//! Traces of the PyTorch profiler (Kineto): JSON in Chrome's trace format, either an
//! object with a header and `traceEvents`, or a bare list of events.
//!
//! * `document` – the walk from the first byte to the last; `recover` and `mend` – what is
//!   done where it is no JSON.
//! * `event` – the raw parts of one event; `reference` and `fast` (with `keys` and
//!   `strings`) – the two parsers that find them.
//! * `category`, `number`, `text`, `header` – what the parts mean.
//! * `build` – columns.

mod build;
mod category;
mod document;
mod event;
mod fast;
mod header;
mod keys;
mod mend;
mod number;
mod recover;
mod reference;
mod strings;
mod text;

#[cfg(test)]
mod tests;

pub(crate) use build::Times;
pub(crate) use event::{Arg, Args, Event, Member};
pub(crate) use number::identity;
pub(crate) use text::text;

use whyidle_model::{NoteCode, Trace};

use crate::ParserChoice;
use crate::budget::{Budget, Guard};
use crate::window::Window;
use document::Reader;

/// Why nothing could be read.
#[derive(Debug)]
pub(crate) enum Failure {
    /// JSON, but no events in it.
    NoEvents,
    /// Broken at this byte, before any event.
    Unreadable(u64),
}

/// Reads the trace in `window`.
pub(crate) fn read(window: &mut Window, parser: ParserChoice, budget: Budget) -> Result<Trace, Failure> {
    let mut reader = Reader::new(window, parser, Guard::new(budget));
    let cut = reader.document().is_err();
    if !cut {
        reader.rest_is_blank();
    }
    if reader.window.is_damaged() {
        reader.note(NoteCode::DamagedCompression);
    } else if reader.guard.is_over() {
        reader.note(NoteCode::OverBudget);
    } else if cut && reader.first_broken.is_none() {
        reader.note(NoteCode::Truncated);
    }
    let Reader { window, builder, has_events, first_broken, .. } = reader;
    match first_broken {
        Some(byte) if builder.trace.events == 0 => return Err(Failure::Unreadable(byte)),
        None if cut && builder.trace.events == 0 => return Err(Failure::Unreadable(window.offset())),
        _ if !has_events => return Err(Failure::NoEvents),
        _ => {}
    }
    Ok(builder.finish())
}
