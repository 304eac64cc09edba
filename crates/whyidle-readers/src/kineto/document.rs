//! Walks the document from its first byte to its last: the header's members, the list of
//! events, and the events in it.

use whyidle_model::NoteCode;

use super::build::Builder;
use super::event::{Args, Event, Member};
use super::fast::{self, Fast};
use super::reference::{self, Parsed};
use super::{header, text};
use crate::ParserChoice;
use crate::budget::Guard;
use crate::window::Window;

/// A value longer than this is not read: no event or header is.
pub(super) const MAX_VALUE: usize = 16 << 20;

/// The input ended, or is broken beyond repair: nothing more can be read.
pub(super) struct Stop;

/// Reads one document.
pub(super) struct Reader<'w> {
    pub(super) window: &'w mut Window,
    pub(super) builder: Builder,
    /// The fast parser, unless the reference is to do everything.
    fast: Option<Fast>,
    pub(super) guard: Guard,
    /// A list of events was found.
    pub(super) has_events: bool,
    /// Where the document was no JSON first.
    pub(super) first_broken: Option<u64>,
}

impl<'w> Reader<'w> {
    pub(super) fn new(window: &'w mut Window, parser: ParserChoice, guard: Guard) -> Self {
        let fast = (parser == ParserChoice::Auto).then(Fast::new);
        Self { window, builder: Builder::default(), fast, guard, has_events: false, first_broken: None }
    }

    pub(super) fn note(&mut self, code: NoteCode) {
        let at = self.window.offset();
        self.builder.trace.notes.add(code, Some(at));
    }

    /// Counts what is no JSON `at` bytes from here.
    pub(super) fn broken(&mut self, at: usize) -> Stop {
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

    /// Takes the whole document.
    pub(super) fn document(&mut self) -> Result<(), Stop> {
        if self.window.rest().len() < 3 {
            self.window.extend();
        }
        if self.window.rest().starts_with(b"\xef\xbb\xbf") {
            self.window.consume(3);
        }
        match self.peek()? {
            b'[' => {
                self.builder.expects_lanes();
                self.events()
            }
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
                    if self.guard.is_over() {
                        return Err(Stop);
                    }
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
            if !self.guard.pays(offset + at as u64) {
                break;
            }
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
                    if !self.guard.pays(at) {
                        return Err(Stop);
                    }
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
}
