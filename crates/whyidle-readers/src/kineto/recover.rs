//! What the reader does where the document is damaged: takes what can be mended, counts
//! what cannot, and goes on with the next event.

use whyidle_model::NoteCode;

use super::document::{MAX_VALUE, Reader, Stop};
use super::mend;
use super::reference::{self, Parsed};

/// Longer than the start of any event.
const CONTEXT: usize = 256;

impl Reader<'_> {
    /// Goes through what follows the trace, to the end of the file and its checksum.
    pub(super) fn rest_is_blank(&mut self) {
        let blank = |b: &u8| b.is_ascii_whitespace() || *b == 0;
        let mut counted = false;
        loop {
            if let Some(at) = self.window.rest().iter().position(|b| !blank(b)).filter(|_| !counted) {
                let at = self.window.offset() + at as u64;
                self.builder.trace.notes.add(NoteCode::MalformedEvent, Some(at));
                counted = true;
            }
            self.window.consume(usize::MAX);
            if !self.window.extend() {
                return;
            }
        }
    }

    /// Takes or leaves the event at the start of the window, which is no JSON from byte `at` on.
    pub(super) fn damaged_event(&mut self, at: usize) -> Result<(), Stop> {
        loop {
            let rest = self.window.rest();
            let ended = self.window.ended();
            if let Some(end) = mend::event_end(rest, ended) {
                if !self.mended_event(end) {
                    self.broken(at);
                }
                self.window.consume(end);
                return Ok(());
            }
            if ended {
                self.broken(at);
                self.window.consume(usize::MAX);
                return Err(Stop);
            }
            if rest.len() > MAX_VALUE {
                // Not one event but a stretch of rubbish: what may hold a start stays.
                self.broken(at);
                self.window.consume(self.window.rest().len() - CONTEXT);
                return Ok(());
            }
            self.window.extend();
        }
    }

    /// Takes the damaged event that ends before `end`, if it can be mended.
    fn mended_event(&mut self, end: usize) -> bool {
        let Some(mended) = mend::mended(&self.window.rest()[..end]) else { return false };
        let Parsed::Value((event, args), used) = reference::event(&mended.json) else { return false };
        if used != mended.json.len() {
            return false;
        }
        let at = self.window.offset();
        let notes = &mut self.builder.trace.notes;
        notes.add_many(NoteCode::MendedName, mended.strings.into(), Some(at));
        notes.add_many(NoteCode::NotUtf8, mended.utf8.into(), Some(at));
        self.builder.event(&event, &args, at);
        true
    }

    /// Skips what stands in the list of events and is none.
    pub(super) fn no_event(&mut self) -> Result<(), Stop> {
        self.broken(0);
        // Another value, whole.
        if let Parsed::Value(_, used) = reference::raw(self.window.rest()) {
            self.window.consume(used);
            return Ok(());
        }
        // Rubbish, up to the next event.
        loop {
            let rest = self.window.rest();
            if let Some(start) = mend::event_start(rest) {
                self.window.consume(start);
                return Ok(());
            }
            let rubbish = rest.len().saturating_sub(CONTEXT);
            self.window.consume(rubbish);
            if !self.window.extend() {
                return Err(Stop);
            }
        }
    }

    /// Goes to the list of events, past a header that is no JSON.
    pub(super) fn find_events(&mut self) -> Result<(), Stop> {
        const KEY: &[u8] = b"\"traceEvents\"";
        loop {
            let rest = self.window.rest();
            if let Some(at) = memchr::memmem::find(rest, KEY) {
                self.window.consume(at);
                return Ok(());
            }
            let without = rest.len().saturating_sub(KEY.len());
            self.window.consume(without);
            if !self.window.extend() {
                return Err(Stop);
            }
        }
    }
}
