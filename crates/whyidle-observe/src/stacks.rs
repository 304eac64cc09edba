//! Python stacks of a running process, without stopping it.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use py_spy::config::{LineNo, LockingStrategy};
use py_spy::{Config, PythonSpy};

use crate::rooted::read_inside;

/// A stack of one thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ThreadStack {
    /// The thread's name in Python, `MainThread`.
    pub thread: String,
    /// Frames, the outermost first: function, file, line.
    pub frames: Vec<(String, String, u32)>,
}

/// A stack as it was seen once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The stack.
    pub stack: ThreadStack,
    /// The thread held the interpreter's lock.
    pub gil: bool,
}

/// Where stacks come from.
pub trait StackSource {
    /// The stacks of a process's Python threads, now. `parent`: a watched process that it may be a fork of.
    ///
    /// # Errors
    /// In the source's own words.
    fn stacks(&mut self, pid: u32, parent: Option<u32>) -> Result<Vec<Sighting>, String>;

    /// A process is gone.
    fn forget(&mut self, pid: u32);
}

/// Stacks read by py-spy from the process's memory.
#[derive(Default)]
pub struct PySpy {
    processes: HashMap<u32, Reader>,
}

/// A process that is read: by its own reader, or by that of the process it was forked from.
enum Reader {
    Own(Box<PythonSpy>),
    /// Reads with the reader of this process: a fork has everything at the same addresses.
    Fork(u32, Names),
}

/// What py-spy remembers of the threads of one process.
#[derive(Default)]
struct Names {
    ids: HashMap<u64, remoteprocess::Tid>,
    names: HashMap<u64, Option<String>>,
}

impl StackSource for PySpy {
    fn stacks(&mut self, pid: u32, parent: Option<u32>) -> Result<Vec<Sighting>, String> {
        if !self.processes.contains_key(&pid) {
            let reader = match parent.filter(|parent| self.reads_like(pid, *parent)) {
                Some(parent) => Reader::Fork(parent, Names::default()),
                None => Reader::Own(Box::new(open(pid)?)),
            };
            self.processes.insert(pid, reader);
        }
        let Some(mut reader) = self.processes.remove(&pid) else { return Err(String::new()) };
        let traces = match &mut reader {
            Reader::Own(spy) => guarded(|| spy.get_stack_traces()),
            Reader::Fork(parent, names) => self.as_fork(pid, *parent, names),
        };
        self.processes.insert(pid, reader);
        Ok(traces?.into_iter().map(thread).collect())
    }

    fn forget(&mut self, pid: u32) {
        self.processes.remove(&pid);
    }
}

impl PySpy {
    /// `pid` is a fork of `parent`, which has a reader of its own: same program and libraries at the same places.
    fn reads_like(&self, pid: u32, parent: u32) -> bool {
        matches!(self.processes.get(&parent), Some(Reader::Own(_)))
            && layout(pid).is_some_and(|own| layout(parent).is_some_and(|other| own == other))
    }

    fn as_fork(
        &mut self,
        pid: u32,
        parent: u32,
        names: &mut Names,
    ) -> Result<Vec<py_spy::StackTrace>, String> {
        let Some(Reader::Own(spy)) = self.processes.get_mut(&parent) else { return Err(String::new()) };
        let mut swap = |spy: &mut PythonSpy| {
            std::mem::swap(&mut spy.python_thread_ids, &mut names.ids);
            std::mem::swap(&mut spy.python_thread_names, &mut names.names);
        };
        let target = remoteprocess::Pid::try_from(pid).map_err(|_| String::new())?;
        let process = remoteprocess::Process::new(target).map_err(|error| error.to_string())?;
        let own = (spy.pid, std::mem::replace(&mut spy.process, process));
        spy.pid = target;
        swap(spy);
        let traces = guarded(|| spy.get_stack_traces());
        swap(spy);
        (spy.pid, spy.process) = own;
        traces
    }
}

fn open(pid: u32) -> Result<PythonSpy, String> {
    let config = Config {
        blocking: LockingStrategy::NonBlocking,
        native: false,
        lineno: LineNo::LastInstruction,
        full_filenames: true,
        ..Config::default()
    };
    let pid = remoteprocess::Pid::try_from(pid).map_err(|_| String::new())?;
    guarded(|| PythonSpy::new(pid, &config))
}

thread_local! {
    /// A panic of this thread is held back.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Lets py-spy read another process's memory. What lies there is that process's: where the library takes for granted what
/// is not so, it panics, and that process has no stacks. It needs a build that unwinds.
fn guarded<T, E: Into<Box<dyn std::error::Error + Send + Sync>>>(
    read: impl FnOnce() -> Result<T, E>,
) -> Result<T, String> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let tell = std::panic::take_hook();
        // Nobody needs to read where in the library it was.
        std::panic::set_hook(Box::new(move |about| {
            if !GUARDED.get() {
                tell(about);
            }
        }));
    });
    GUARDED.set(true);
    let read = catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(false);
    match read {
        Ok(read) => read.map_err(in_words),
        Err(_) => Err("py-spy gave up on it".to_owned()),
    }
}

/// An error with its causes, the innermost last.
fn in_words(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> String {
    let error = error.into();
    let mut words = vec![error.to_string()];
    let mut at = error.source();
    while let Some(cause) = at {
        words.push(cause.to_string());
        at = cause.source();
    }
    words.dedup();
    words.join(": ")
}

fn thread(trace: py_spy::StackTrace) -> Sighting {
    let gil = trace.owns_gil;
    let line = |line: i32| u32::try_from(line).unwrap_or(0);
    let frames = trace.frames.into_iter().rev().map(|frame| (frame.name, frame.filename, line(frame.line)));
    let stack = ThreadStack { thread: trace.thread_name.unwrap_or_default(), frames: frames.collect() };
    Sighting { stack, gil }
}

/// Where Python's program and library lie in memory.
fn layout(pid: u32) -> Option<HashSet<String>> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let python = maps.lines().filter(|line| {
        let name = line.rsplit('/').next().unwrap_or_default();
        line.contains('/') && (name.starts_with("python") || name.starts_with("libpython"))
    });
    let places: HashSet<String> = python
        .filter_map(|line| Some(format!("{} {}", line.split('-').next()?, &line[line.find('/')?..])))
        .collect();
    (!places.is_empty()).then_some(places)
}

/// The text of a source line as the process sees the file; `None` where it cannot be had.
#[must_use]
pub(crate) fn source_line(pid: u32, file: &str, line: u32) -> Option<String> {
    const LARGEST_FILE: u64 = 4 << 20;
    const LONGEST_LINE: usize = 200;
    if !file.starts_with('/') {
        return None;
    }
    let text = read_inside(pid, file, LARGEST_FILE, true)?;
    let line = text.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?)?.trim();
    Some(line.chars().take(LONGEST_LINE).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_lines_are_read_as_the_process_sees_them() -> std::io::Result<()> {
        let dir = tempfile::tempdir()?;
        let file = dir.path().join("train.py");
        fs::write(&file, "import gc\n    gc.collect()\n")?;
        let line = source_line(std::process::id(), &file.to_string_lossy(), 2);
        assert_eq!(line.as_deref(), Some("gc.collect()"));
        assert_eq!(source_line(std::process::id(), &file.to_string_lossy(), 9), None);
        assert_eq!(source_line(std::process::id(), "<string>", 1), None);
        Ok(())
    }

    #[test]
    fn where_the_library_gives_up_there_are_no_stacks() {
        let panics = || -> Result<(), String> { panic!("unexpected memory") };
        assert_eq!(guarded(panics), Err("py-spy gave up on it".to_owned()));
        // Whoever is the first process, it may not be looked into, or is no Python.
        assert!(PySpy::default().stacks(1, None).is_err_and(|words| !words.is_empty()));
    }

    #[test]
    fn a_process_without_python_has_no_stacks() {
        let error = PySpy::default().stacks(std::process::id(), None);
        assert!(error.is_err_and(|words| !words.is_empty()));
    }
}
