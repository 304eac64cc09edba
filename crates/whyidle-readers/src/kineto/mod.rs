//! Traces of the PyTorch profiler (Kineto): JSON in Chrome's trace format, either an
//! object with a header and `traceEvents`, or a bare list of events.
//!
//! * `event` – the raw parts of one event; `reference` – the parser that finds them.
//! * `category`, `number`, `text`, `header` – what the parts mean.
//! * `build` – columns; `check` – what only the whole trace can tell.

mod build;
mod category;
mod check;
mod event;
mod header;
mod number;
mod reference;
mod text;

use whyidle_model::{NoteCode, Trace};

use crate::ParserChoice;
use crate::source::Window;
use build::Builder;
use reference::Parsed;

/// A value longer than this is not read: no event or header is.
const MAX_VALUE: usize = 64 << 20;

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
    let _ = parser;
    let mut reader = Reader { window, builder: Builder::default(), has_events: false, first_broken: None };
    let cut = reader.document().is_err();
    if reader.window.is_damaged() {
        reader.note(NoteCode::DamagedCompression);
    } else if cut && reader.first_broken.is_none() {
        reader.note(NoteCode::Truncated);
    }
    let Reader { window, builder, has_events, first_broken } = reader;
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

    fn document(&mut self) -> Result<(), Stop> {
        if self.window.rest().len() < 3 {
            self.window.extend();
        }
        if self.window.rest().starts_with(b"\xef\xbb\xbf") {
            self.window.consume(3);
        }
        match self.peek()? {
            b'[' => self.events(),
            b'{' => self.object(),
            _ => Err(self.broken(0)),
        }
    }

    fn object(&mut self) -> Result<(), Stop> {
        self.expect(b'{')?;
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
                b'{' => self.event()?,
                _ => {
                    self.note(NoteCode::MalformedEvent);
                    self.value(|_, _| ())?;
                }
            }
        }
    }

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
                Parsed::Broken(at) => return Err(self.broken(at)),
                Parsed::Incomplete if rest.len() > MAX_VALUE => return Err(self.broken(0)),
                Parsed::Incomplete => {
                    if !self.window.extend() {
                        return Err(Stop);
                    }
                }
            }
        }
    }
}
