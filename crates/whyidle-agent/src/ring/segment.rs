//! One recording while it is written: rows go to its folder, and are read along, as a dashboard reads them. There is
//! one way to sample, and one to read samples; and where the disk takes no more, reading along goes on.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::{Map, Value};
use whyidle_model::Samples;
use whyidle_observe::node::Round;
use whyidle_observe::{About, Private, Recorder, Shelf};
use whyidle_readers::samples::Follower;

use crate::source::Moment;

/// Different stacks that a recording holds at most, in memory too; then the next begins.
const MOST_STACKS: usize = 3_000;

/// Bytes of files on their way to the reader, by file.
type Pieces = Rc<RefCell<Vec<(&'static str, Vec<u8>)>>>;

/// Where a recording's bytes are counted, and whether its disk failed.
#[derive(Clone, Default)]
struct Tally {
    bytes: Rc<Cell<u64>>,
    failed: Rc<RefCell<Option<io::Error>>>,
}

impl Tally {
    fn is_sound(&self) -> bool {
        self.failed.borrow().is_none()
    }

    fn note(&self, result: io::Result<()>, bytes: usize) {
        match result {
            Ok(()) => self.bytes.set(self.bytes.get() + bytes as u64),
            Err(error) => _ = self.failed.borrow_mut().get_or_insert(error),
        }
    }
}

/// A folder, where there is one, and whoever reads along.
struct Both {
    dir: Option<Private>,
    pieces: Pieces,
    tally: Tally,
}

/// A file of it.
struct Twin {
    name: &'static str,
    file: Option<File>,
    pieces: Pieces,
    tally: Tally,
}

impl Write for Twin {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pieces.borrow_mut().push((self.name, bytes.to_vec()));
        // Once one file cannot go on, none does: they belong together.
        if let Some(file) = self.file.as_mut().filter(|_| self.tally.is_sound()) {
            self.tally.note(file.write_all(bytes), bytes.len());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shelf for Both {
    fn file(&mut self, name: &'static str) -> io::Result<Box<dyn Write>> {
        let file = self.dir.as_ref().map(|dir| Private::create(&dir.0.join(name)));
        let file = match file {
            Some(Ok(file)) => Some(file),
            Some(Err(error)) => {
                self.tally.note(Err(error), 0);
                None
            }
            None => None,
        };
        Ok(Box::new(Twin { name, file, pieces: Rc::clone(&self.pieces), tally: self.tally.clone() }))
    }

    fn whole(&mut self, name: &'static str, text: &str) -> io::Result<()> {
        let Some(dir) = self.dir.as_mut() else { return Ok(()) };
        let before = fs::metadata(dir.0.join(name)).map_or(0, |about| about.len());
        let result = dir.whole(name, text);
        let is_written = result.is_ok();
        self.tally.note(result, text.len());
        if is_written {
            self.tally.bytes.set(self.tally.bytes.get().saturating_sub(before));
        }
        Ok(())
    }
}

/// What a recording holds, in bytes and stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Bytes on disk.
    pub bytes: u64,
    /// It has as many different stacks as it may.
    pub is_full: bool,
}

/// A recording while it is written.
pub struct Segment {
    recorder: Recorder,
    follower: Follower,
    pieces: Pieces,
    tally: Tally,
    dir: Option<PathBuf>,
    told: bool,
    /// When it began.
    pub began: Moment,
}

impl Segment {
    /// Begins one in `dir`; without, it is read along only.
    #[must_use]
    pub fn begin(dir: Option<PathBuf>, began: Moment) -> Option<Self> {
        let (pieces, tally) = (Pieces::default(), Tally::default());
        let shelf = Both { dir: dir.clone().map(Private), pieces: Rc::clone(&pieces), tally: tally.clone() };
        // This shelf refuses nothing.
        let recorder = Recorder::on(Box::new(shelf)).ok()?;
        Some(Self { recorder, follower: Follower::default(), pieces, tally, dir, told: false, began })
    }

    /// Whether the disk took what was written so far; that of a beginning: its headers and its description.
    pub fn is_sound(&mut self) -> bool {
        self.recorder.flush();
        self.tally.is_sound()
    }

    /// Goes on without its folder, which took nothing: it is removed.
    pub(crate) fn leave_disk(&mut self) {
        self.told = true;
        if let Some(dir) = self.dir.take() {
            // What cannot be removed is the next one's to overwrite.
            let _ = fs::remove_dir_all(dir);
        }
    }

    /// The first failure of the disk.
    #[must_use]
    pub fn why(&self) -> Option<io::ErrorKind> {
        self.tally.failed.borrow().as_ref().map(io::Error::kind)
    }

    /// Writes a round, and reads it along.
    pub fn feed(&mut self, round: Round) {
        self.recorder.round(round);
        self.recorder.flush();
        for (name, bytes) in self.pieces.borrow_mut().drain(..) {
            self.follower.feed(name, &bytes);
        }
    }

    /// What was sampled lately.
    #[must_use]
    pub fn samples(&self) -> &Samples {
        self.follower.samples()
    }

    /// Lets go of samples from before `unix_ns`; on disk they stay.
    pub fn forget_before(&mut self, unix_ns: i64) {
        self.follower.forget_before(unix_ns);
    }

    /// Where it is written.
    #[must_use]
    pub fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// What it holds.
    #[must_use]
    pub fn held(&self) -> Held {
        Held { bytes: self.tally.bytes.get(), is_full: self.recorder.held() >= MOST_STACKS }
    }

    /// The first failure of the disk, once. What was written before it stays; nothing more is.
    pub fn failure(&mut self) -> Option<io::ErrorKind> {
        let kind = self.why()?;
        (!std::mem::replace(&mut self.told, true)).then_some(kind)
    }

    /// Writes what is known of it: the programs, the cards, what changed.
    pub fn describe(&mut self, command: Vec<String>, pids: Vec<u32>, more: Map<String, Value>) {
        if self.dir.is_some() && self.tally.is_sound() {
            // Its failures are in the tally.
            let _ = self.recorder.describe(&About { command, pids, missing: Vec::new(), more });
        }
    }

    /// Ends it; the folder it is in, if it is in one.
    #[must_use]
    pub fn end(mut self) -> Option<PathBuf> {
        self.recorder.flush();
        self.dir.take()
    }
}
