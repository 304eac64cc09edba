//! Starts a program whose output is kept, line by line with the time it came, and ends it as Ctrl-C would: for
//! measurements that end before the program does. It has no terminal and reads from nowhere.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, set_parent_process_death_signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use crate::clock::now_ns;
use crate::launch::is_gone;

/// The log holds this much of the output, bytes; what comes after it is only passed on.
const LONGEST_LOG: u64 = 64 << 20;
/// A line that goes on for longer is cut, bytes.
const LONGEST_LINE: usize = 16 << 10;
/// So long a program may take to end after an interrupt, and after a request to terminate.
const PATIENCE: [(Signal, Duration); 2] =
    [(Signal::INT, Duration::from_secs(10)), (Signal::TERM, Duration::from_secs(5))];

/// A line of output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When its end arrived, ns of Unix time.
    pub at: i64,
    /// Without its end; cut where it is very long. What is no UTF-8 is replaced.
    pub text: String,
}

/// What to start.
#[derive(Clone, Debug, Default)]
pub struct Start<'a> {
    /// Program and arguments.
    pub command: &'a [String],
    /// Additional environment.
    pub environment: Vec<(String, String)>,
    /// Pass the output on to standard error, until it is asked to end.
    pub pass_on: bool,
}

/// How a program that was to end did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// It ended by itself before it was asked.
    Itself,
    /// It ended when it was asked.
    Asked,
    /// It, or something that it started, had to be killed.
    Killed,
}

/// A program under measurement.
pub struct Captured {
    child: Child,
    group: Pid,
    lines: Receiver<Line>,
    readers: Vec<JoinHandle<()>>,
    /// It was asked to end: what it says of that, as a traceback, goes into the log alone.
    is_asked: Arc<AtomicBool>,
}

impl Captured {
    /// Starts it in a process group of its own; its output also goes into `log`, which is overwritten.
    ///
    /// # Errors
    /// Where it cannot be started, or the log cannot be written.
    pub fn start(start: &Start<'_>, log: &Path) -> io::Result<Self> {
        let (program, arguments) =
            start.command.split_first().ok_or_else(|| io::Error::other("no command"))?;
        let log = Arc::new(Mutex::new((File::create(log)?, 0)));
        let mut starting = Command::new(program);
        starting.args(arguments).process_group(0).stdin(Stdio::null());
        starting.stdout(Stdio::piped()).stderr(Stdio::piped());
        starting.envs(start.environment.iter().map(|(name, value)| (name, value)));
        ends_with_this_process(&mut starting);
        let mut child = starting.spawn()?;
        let group = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?)
            .ok_or_else(|| io::Error::other("process 0"))?;
        let (sender, lines) = channel();
        let is_asked = Arc::new(AtomicBool::new(false));
        let mut readers = Vec::new();
        let pipes: [Option<Box<dyn Read + Send>>; 2] = [
            child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
            child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
        ];
        for pipe in pipes.into_iter().flatten() {
            let (log, sender, is_asked) = (Arc::clone(&log), sender.clone(), Arc::clone(&is_asked));
            let pass_on = start.pass_on;
            let thread = std::thread::Builder::new().name("output".to_owned());
            let passes = move || pass_on && !is_asked.load(Ordering::Relaxed);
            readers.push(thread.spawn(move || read(pipe, &log, &sender, passes))?);
        }
        Ok(Self { child, group, lines, readers, is_asked })
    }

    /// Its process id, which is that of its group too.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The lines that came since the last call.
    pub fn lines(&self) -> impl Iterator<Item = Line> + '_ {
        self.lines.try_iter()
    }

    /// Its status, if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Ends the program and all of its group: an interrupt first, as Ctrl-C sends it, so that it can save and close;
    /// then a request to terminate; then for good. A second request to stop skips the patience.
    pub fn stop(&mut self, requests: &Requests) -> Stopped {
        if self.ended().is_some() && is_gone(self.group) {
            return Stopped::Itself;
        }
        self.is_asked.store(true, Ordering::Relaxed);
        let asked = requests.count();
        for (signal, patience) in PATIENCE {
            let _ = kill_process_group(self.group, signal);
            let until = Instant::now() + patience;
            while Instant::now() < until && requests.count() < asked.max(1) + 1 {
                if self.ended().is_some() && is_gone(self.group) {
                    return Stopped::Asked;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        let _ = kill_process_group(self.group, Signal::KILL);
        let _ = self.child.wait();
        Stopped::Killed
    }

    /// Waits for the rest of the output of a program that has ended: the lines since the last call, and its status.
    pub fn finish(mut self) -> (Vec<Line>, Option<ExitStatus>) {
        let status = self.ended();
        // What left the group may hold the pipes open for good.
        let until = Instant::now() + Duration::from_secs(2);
        while self.readers.iter().any(|reader| !reader.is_finished()) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        (self.lines.try_iter().collect(), status)
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        if self.ended().is_none() {
            let _ = kill_process_group(self.group, Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// Where the watcher is killed, nobody else would end what it measures, or give the GPU back.
fn ends_with_this_process(starting: &mut Command) {
    let ask = || Ok(set_parent_process_death_signal(Some(Signal::TERM))?);
    // SAFETY: between fork and exec only what is safe in a signal handler may be called; this is one system call.
    #[expect(unsafe_code, reason = "the program itself has to ask for it, before it is what was asked for")]
    unsafe {
        starting.pre_exec(ask);
    }
}

fn read(mut pipe: impl Read, log: &Mutex<(File, u64)>, lines: &Sender<Line>, passes_on: impl Fn() -> bool) {
    let mut buffer = [0; 8 << 10];
    let mut line = Vec::new();
    let say = |line: &mut Vec<u8>| {
        if !line.is_empty() {
            let text = String::from_utf8_lossy(line).into_owned();
            let _ = lines.send(Line { at: now_ns(), text });
            line.clear();
        }
    };
    loop {
        let read = match pipe.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let bytes = &buffer[..read];
        if passes_on() {
            let _ = io::stderr().lock().write_all(bytes);
        }
        {
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            let room = LONGEST_LOG.saturating_sub(log.1).min(read as u64) as usize;
            // A full disk must not end the program.
            let _ = log.0.write_all(&bytes[..room]);
            log.1 += room as u64;
        }
        for &byte in bytes {
            // A progress bar goes back to the start of its line.
            if byte == b'\n' || byte == b'\r' {
                say(&mut line);
            } else if line.len() < LONGEST_LINE {
                line.push(byte);
            }
        }
    }
    say(&mut line);
}

/// Requests to stop: Ctrl-C, or the like, as often as they came.
pub struct Requests {
    count: Arc<AtomicUsize>,
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Requests {
    /// From now on a request to stop is counted instead of ending the watcher.
    ///
    /// # Errors
    /// Where the system refuses to pass signals on.
    pub fn listen() -> io::Result<Self> {
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let (count, handle) = (Arc::new(AtomicUsize::new(0)), signals.handle());
        let counted = Arc::clone(&count);
        let thread = std::thread::Builder::new().name("requests".to_owned()).spawn(move || {
            signals.forever().for_each(|_| _ = counted.fetch_add(1, Ordering::Relaxed));
        })?;
        Ok(Self { count, handle, thread: Some(thread) })
    }

    /// How often it was asked to stop.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// It was asked to stop.
    #[must_use]
    pub fn any(&self) -> bool {
        self.count() > 0
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, log: &Path) -> io::Result<Captured> {
        let command = ["sh", "-c", script].map(str::to_owned);
        let environment = vec![("WHYIDLE_TEST".to_owned(), "7".to_owned())];
        Captured::start(&Start { command: &command, environment, pass_on: false }, log)
    }

    #[test]
    fn output_is_kept_and_cut_into_lines() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let log = dir.path().join("log");
        let mut program = sh("printf 'a\\rb\\nc'; echo $WHYIDLE_TEST >&2; exit 3", &log)?;
        let status = program.child.wait()?;
        let (mut lines, ended) = program.finish();
        lines.sort_by(|a, b| a.text.cmp(&b.text));
        assert_eq!(lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), ["7", "a", "b", "c"]);
        assert_eq!((status.code(), ended.and_then(|status| status.code())), (Some(3), Some(3)));
        assert_eq!(std::fs::read(&log)?.len(), 7);
        Ok(())
    }

    #[test]
    fn a_program_is_interrupted_before_it_is_killed() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let requests = Requests::listen()?;
        let log = dir.path().join("log");
        let mut polite = sh("trap 'echo saved; exit 0' INT; echo ready; while :; do sleep 0.01; done", &log)?;
        while polite.lines.recv().map_err(io::Error::other)?.text != "ready" {}
        assert_eq!(polite.stop(&requests), Stopped::Asked);
        let (lines, status) = polite.finish();
        assert_eq!((lines[0].text.as_str(), status.and_then(|status| status.code())), ("saved", Some(0)));
        Ok(())
    }

    #[test]
    fn a_program_that_ended_is_said_to_have_done_so() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let requests = Requests::listen()?;
        let mut program = sh("true", &dir.path().join("log"))?;
        program.child.wait()?;
        assert_eq!(program.stop(&requests), Stopped::Itself);
        Ok(())
    }
}
