//! Running programs, watched in a thread of this process. The watch writes the recording that `attach` writes, and
//! this side reads it as it grows: there is one way to sample, and one to read samples.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use whyidle_model::Samples;
use whyidle_observe::{Options, Recorder, Shelf, Watch};
use whyidle_readers::recording::{self, Recording};
use whyidle_readers::samples::Follower;

use super::{Source, Status, extent};

/// Older samples are let go of, ns.
const KEPT_NS: i64 = 600_000_000_000;
/// How often what is known beside the samples is written anew.
const DESCRIBE_EVERY: Duration = Duration::from_secs(3);

/// A part of the recording.
enum Piece {
    /// The next bytes of a file.
    Bytes(&'static str, Vec<u8>),
    /// A whole file.
    Whole(&'static str, Vec<u8>),
    /// The programs are gone.
    Ended,
}

/// Hands a recording to the other side.
struct Channel(Sender<Piece>);

struct Pipe(&'static str, Sender<Piece>);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = Piece::Bytes(self.0, bytes.to_vec());
        self.1.send(piece).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shelf for Channel {
    fn file(&mut self, name: &'static str) -> io::Result<Box<dyn Write>> {
        Ok(Box::new(Pipe(name, self.0.clone())))
    }

    fn whole(&mut self, name: &'static str, text: &str) -> io::Result<()> {
        let piece = Piece::Whole(name, text.as_bytes().to_vec());
        self.0.send(piece).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}

/// Programs that are watched.
pub struct Live {
    pieces: Receiver<Piece>,
    follower: Follower,
    recorded: Recording,
    status: Status,
    stop: Arc<AtomicBool>,
    watcher: Option<JoinHandle<()>>,
}

impl Live {
    /// Begins to watch the programs of `pids`.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn watch(pids: &[u32], options: Options) -> io::Result<Self> {
        let (sender, pieces) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let (pids, stopping) = (pids.to_vec(), Arc::clone(&stop));
        let watcher = std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || watch(&pids, options, &sender, &stopping))?;
        Ok(Self {
            pieces,
            follower: Follower::default(),
            recorded: Recording::default(),
            status: Status::Live,
            stop,
            watcher: Some(watcher),
        })
    }
}

fn watch(pids: &[u32], options: Options, sender: &Sender<Piece>, stop: &AtomicBool) {
    // Everything fails here only once the other side is gone: then nobody is left to tell.
    let Ok(recorder) = Recorder::on(Box::new(Channel(sender.clone()))) else { return };
    let mut watch = Watch::new(pids, recorder, options);
    let mut described: Option<Instant> = None;
    while !stop.load(Ordering::Relaxed) {
        if described.is_none_or(|at| at.elapsed() >= DESCRIBE_EVERY) {
            described = Some(Instant::now());
            if describe(&mut watch).is_err() {
                return;
            }
        }
        let Some(pause) = watch.turn() else {
            let _ = describe(&mut watch);
            let _ = sender.send(Piece::Ended);
            return;
        };
        std::thread::sleep(pause);
    }
}

fn describe(watch: &mut Watch) -> io::Result<()> {
    let command = watch.tree().drivers().next().map(|driver| driver.command.clone()).unwrap_or_default();
    watch.describe(command)
}

impl Source for Live {
    fn poll(&mut self, _: Duration) -> bool {
        let mut new = false;
        loop {
            match self.pieces.try_recv() {
                Ok(Piece::Bytes(name, bytes)) => self.follower.feed(name, &bytes),
                Ok(Piece::Whole("recording.json", text)) => {
                    // Once the last process is gone, what was known of it stays.
                    let recorded = recording::from_text(&text).filter(|recorded| !recorded.pids.is_empty());
                    self.recorded = recorded.unwrap_or_else(|| std::mem::take(&mut self.recorded));
                }
                Ok(Piece::Whole(..)) => {}
                Ok(Piece::Ended) => self.status = Status::Ended,
                Err(TryRecvError::Disconnected) if self.status == Status::Live => {
                    self.status = Status::Broken;
                    return true;
                }
                Err(_) => break,
            }
            new = true;
        }
        if new {
            self.follower.forget_before(self.now().saturating_sub(KEPT_NS));
        }
        new
    }

    fn samples(&self) -> &Samples {
        self.follower.samples()
    }

    fn recorded(&self) -> &Recording {
        &self.recorded
    }

    fn now(&self) -> i64 {
        extent(self.samples()).map_or(0, |(_, last)| last)
    }

    fn status(&self) -> Status {
        self.status
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(watcher) = self.watcher.take() {
            // A thread that panicked has said so already.
            let _ = watcher.join();
        }
    }
}
