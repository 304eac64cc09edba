//! Traces of the PyTorch profiler (Kineto): JSON in Chrome's trace format, either an
//! object with a header and `traceEvents`, or a bare list of events.
//!
//! * `event` – the raw parts of one event; `fast` and `reference` – the parsers that find
//!   them; `mend` – what is done with an event that is no JSON.
//! * `category`, `number`, `text`, `header` – what the parts mean.
//! * `build` – columns; `check` – what only the whole trace can tell.

mod build;
mod category;
mod check;
mod event;
mod fast;
mod header;
mod keys;
mod mend;
mod number;
mod reference;
mod strings;
mod text;

#[cfg(test)]
mod tests;

use whyidle_model::{NoteCode, Trace};

use crate::ParserChoice;
use crate::source::Window;
use build::Builder;
use event::{Args, Event, Member};
use fast::Fast;
use reference::Parsed;

/// A value longer than this is not read: no event or header is.
const MAX_VALUE: usize = 16 << 20;

/// Longer than the start of any event.
const CONTEXT: usize = 256;

/// Why nothing could be read.
#[derive(Debug)]
pub(crate) enum Failure {
    /// JSON, but no events in it.
    NoEvents,
    /// Broken at this byte, before any event.
    Unreadable(u64),
}

/// Reads the trace in `window`.
pub(crate) fn read(window: &mut Window, parser: ParserChoice) -> Result<Trace, Failure> {
    let fast = (parser == ParserChoice::Auto).then(Fast::new);
    let mut reader =
        Reader { window, builder: Builder::default(), fast, has_events: false, first_broken: None };
    let cut = reader.document().is_err();
    if !cut {
        reader.rest_is_blank();
    }
    if reader.window.is_damaged() {
        reader.note(NoteCode::DamagedCompression);
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

/// The input ended, or is broken beyond repair: nothing more can be read.
struct Stop;

struct Reader<'w> {
    window: &'w mut Window,
    builder: Builder,
    /// The fast parser, unless the reference is to do everything.
    fast: Option<Fast>,
    has_events: bool,
    first_broken: Option<u64>,
}

impl Reader<'_> {
    fn note(&mut self, code: NoteCode) {
        let at = self.window.offset();
        self.builder.trace.notes.add(code, Some(at));
    }

    fn broken(&mut self, at: usize) -> Stop {
        let at = self.window.offset() + at as u64;
        self.first_broken.get_or_insert(at);
        self.builder.trace.notes.add(NoteCode::MalformedEvent, Some(at));
        Stop
    }

    /// The next byte that is no white space, which stays in the window.
    fn peek(&mut self) -> Result<u8, Stop> {
        loop {
            let rest = self.window.rest();
            let blank = rest.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(rest.len());
            self.window.consume(blank);
            if let Some(&byte) = self.window.rest().first() {
                return Ok(byte);
            }
            if !self.window.extend() {
                return Err(Stop);
            }
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), Stop> {
        if self.peek()? == byte {
            self.window.consume(1);
            Ok(())
        } else {
            Err(self.broken(0))
        }
    }

    /// Goes through what follows the trace, to the end of the file and its checksum.
    fn rest_is_blank(&mut self) {
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

    fn document(&mut self) -> Result<(), Stop> {
        if self.window.rest().len() < 3 {
            self.window.extend();
        }
        if self.window.rest().starts_with(b"\xef\xbb\xbf") {
            self.window.consume(3);
        }
        match self.peek()? {
            b'[' => self.events(),
            b'{' => {
                self.window.consume(1);
                self.members().or_else(|Stop| {
                    // A header that is no JSON may still have a list of events after it.
                    if self.has_events || self.first_broken.is_none() {
                        return Err(Stop);
                    }
                    self.find_events()?;
                    self.members()
                })
            }
            _ => Err(self.broken(0)),
        }
    }

    /// Takes the members of the outermost object.
    fn members(&mut self) -> Result<(), Stop> {
        loop {
            match self.peek()? {
                b'}' => {
                    self.window.consume(1);
                    return Ok(());
                }
                b',' => self.window.consume(1),
                b'"' => {
                    let mut key = String::new();
                    self.value(|_, raw| key = text::text(raw).unwrap_or_default().into_owned())?;
                    self.expect(b':')?;
                    if key == "traceEvents" && self.peek()? == b'[' {
                        self.events()?;
                    } else {
                        self.peek()?;
                        self.value(|builder, raw| header::member(&mut builder.trace.meta, &key, raw))?;
                    }
                }
                _ => return Err(self.broken(0)),
            }
        }
    }

    /// Takes the value at the start of the window.
    fn value(&mut self, mut take: impl FnMut(&mut Builder, &[u8])) -> Result<(), Stop> {
        loop {
            let rest = self.window.rest();
            let ended = self.window.ended();
            match reference::raw(rest) {
                // A number that touches the end of the window may go on.
                Parsed::Value(raw, used) if used < rest.len() || ended => {
                    take(&mut self.builder, raw);
                    self.window.consume(used);
                    return Ok(());
                }
                Parsed::Broken(at) => return Err(self.broken(at)),
                _ if rest.len() > MAX_VALUE => return Err(self.broken(0)),
                _ if ended => return Err(Stop),
                _ => {
                    self.window.extend();
                }
            }
        }
    }

    fn events(&mut self) -> Result<(), Stop> {
        self.expect(b'[')?;
        self.has_events = true;
        loop {
            match self.peek()? {
                b']' => {
                    self.window.consume(1);
                    return Ok(());
                }
                b',' => self.window.consume(1),
                b'{' => {
                    if !self.fast_events() {
                        self.event()?;
                    }
                }
                _ => self.no_event()?,
            }
        }
    }

    /// Takes events for as long as the fast parser is not surprised; false: there was none.
    fn fast_events(&mut self) -> bool {
        let Some(parser) = &mut self.fast else { return false };
        let rest = self.window.rest();
        let offset = self.window.offset();
        let (mut event, mut args) = (Event::default(), Args::default());
        let (mut at, mut used) = (0, 0);
        while let Some(length) = parser.event(&rest[at..], &mut event, &mut args) {
            self.builder.event(&event, &args, offset + at as u64);
            used = at + length;
            match fast::next_event(rest, used) {
                Some(next) => at = next,
                None => break,
            }
            // Most events without arguments are flows; clearing what is clear costs time.
            if !event[Member::Args].is_empty() {
                args = Args::default();
            }
            event = Event::default();
        }
        self.window.consume(used);
        used > 0
    }

    /// Takes the event at the start of the window.
    fn event(&mut self) -> Result<(), Stop> {
        loop {
            let rest = self.window.rest();
            match reference::event(rest) {
                Parsed::Value((event, args), used) => {
                    let at = self.window.offset();
                    self.builder.event(&event, &args, at);
                    self.window.consume(used);
                    return Ok(());
                }
                Parsed::Incomplete if rest.len() <= MAX_VALUE => {
                    if !self.window.extend() {
                        return Err(Stop);
                    }
                }
                Parsed::Incomplete => return self.damaged_event(0),
                Parsed::Broken(at) => return self.damaged_event(at),
            }
        }
    }

    /// Takes or leaves the event at the start of the window, which is no JSON from byte `at` on.
    fn damaged_event(&mut self, at: usize) -> Result<(), Stop> {
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
    fn no_event(&mut self) -> Result<(), Stop> {
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
    fn find_events(&mut self) -> Result<(), Stop> {
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
