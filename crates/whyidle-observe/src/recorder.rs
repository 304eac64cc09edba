//! Writes a recording as it is made: rows are on disk within half a second, so that a watcher that is
//! killed leaves everything but its last moment.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::node::{Round, StackRow};
use crate::stacks::{Sighting, ThreadStack};
use crate::{Missing, clock, gpu, process, redact, system};

/// Schema of `recording.json`.
const SCHEMA: &str = "whyidle.recording/1";
/// How long a row may stay in memory.
const FLUSH_EVERY: Duration = Duration::from_millis(500);

/// What `recording.json` says beside the samples. Members of `more` are added as they are.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The command of the program.
    pub command: Vec<String>,
    /// The processes that drive GPUs, the first one's evidence is judged.
    pub pids: Vec<u32>,
    /// What could not be had.
    pub missing: Vec<Missing>,
    /// Further members.
    pub more: Map<String, Value>,
}

/// The columns of the tables of a recording, by file.
#[must_use]
pub fn columns() -> [(&'static str, String); 3] {
    [
        ("nvml.csv", gpu::columns()),
        ("proc.csv", process::COLUMNS.to_owned()),
        ("system.csv", system::COLUMNS.to_owned()),
    ]
}

/// Where the files of a recording go: a folder, or whoever reads along.
pub trait Shelf {
    /// A file that is written from its beginning, and grows.
    ///
    /// # Errors
    /// Where it cannot be made.
    fn file(&mut self, name: &'static str) -> io::Result<Box<dyn Write>>;

    /// A file that is written at once, in place of what it was before.
    ///
    /// # Errors
    /// Where it cannot be written.
    fn whole(&mut self, name: &'static str, text: &str) -> io::Result<()>;
}

/// A folder.
impl Shelf for PathBuf {
    fn file(&mut self, name: &'static str) -> io::Result<Box<dyn Write>> {
        Ok(Box::new(File::create(self.join(name))?))
    }

    fn whole(&mut self, name: &'static str, text: &str) -> io::Result<()> {
        replace(self, name, text, |path| File::create(path))
    }
}

/// Writes a file beside where it belongs, then puts it there: whoever reads it reads one text or the other.
fn replace(dir: &Path, name: &str, text: &str, make: fn(&Path) -> io::Result<File>) -> io::Result<()> {
    let draft = dir.join(format!(".{name}.new"));
    make(&draft)?.write_all(text.as_bytes())?;
    fs::rename(&draft, dir.join(name))
}

/// A folder whose files are for this user alone, whatever the mask of the process says.
#[cfg(unix)]
#[derive(Clone, Debug)]
pub struct Private(pub PathBuf);

#[cfg(unix)]
impl Private {
    /// Makes or empties a file that others cannot read.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn create(path: &Path) -> io::Result<File> {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};

        let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        // One that was there before keeps its mode.
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
        Ok(file)
    }
}

#[cfg(unix)]
impl Shelf for Private {
    fn file(&mut self, name: &'static str) -> io::Result<Box<dyn Write>> {
        Ok(Box::new(Self::create(&self.0.join(name))?))
    }

    fn whole(&mut self, name: &'static str, text: &str) -> io::Result<()> {
        replace(&self.0, name, text, Self::create)
    }
}

/// A recording being written.
pub struct Recorder {
    shelf: Box<dyn Shelf>,
    gpu: Sheet,
    process: Sheet,
    thread: Sheet,
    system: Sheet,
    stacks: BufWriter<Box<dyn Write>>,
    known: HashMap<(u32, Rc<ThreadStack>), usize>,
    /// By stack: process, its parents, the stack, samples.
    table: Vec<(u32, Vec<u32>, Rc<ThreadStack>, u64)>,
    /// Source lines that were written, of rounds.
    sources: HashSet<(String, u32)>,
    flushed: Instant,
    failed: Option<io::Error>,
}

/// A table that is written row by row.
struct Sheet {
    out: BufWriter<Box<dyn Write>>,
}

impl Sheet {
    fn create(shelf: &mut dyn Shelf, name: &'static str, header: &str) -> io::Result<Self> {
        let mut out = BufWriter::new(shelf.file(name)?);
        writeln!(out, "{header}")?;
        Ok(Self { out })
    }

    fn rows(&mut self, rows: &[String]) -> io::Result<()> {
        rows.iter().try_for_each(|row| writeln!(self.out, "{row}"))
    }
}

impl Recorder {
    /// Starts a recording in `dir`, which is made if it is not there.
    ///
    /// # Errors
    /// Where the folder or a file in it cannot be written.
    pub fn create(dir: &Path) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        Self::on(Box::new(dir.to_owned()))
    }

    /// Starts a recording on a shelf.
    ///
    /// # Errors
    /// Where the shelf refuses.
    pub fn on(mut shelf: Box<dyn Shelf>) -> io::Result<Self> {
        let on = shelf.as_mut();
        Ok(Self {
            gpu: Sheet::create(on, "nvml.csv", &gpu::columns())?,
            process: Sheet::create(on, "proc.csv", process::COLUMNS)?,
            thread: Sheet::create(on, "threads.csv", process::THREAD_COLUMNS)?,
            system: Sheet::create(on, "system.csv", system::COLUMNS)?,
            stacks: BufWriter::new(on.file("stacks.jsonl")?),
            shelf,
            known: HashMap::new(),
            table: Vec::new(),
            sources: HashSet::new(),
            flushed: Instant::now(),
            failed: None,
        })
    }

    pub(crate) fn gpu_rows(&mut self, rows: &[String]) {
        let result = self.gpu.rows(rows);
        self.note(result);
    }

    pub(crate) fn process_rows(&mut self, rows: &[String]) {
        let result = self.process.rows(rows);
        self.note(result);
    }

    pub(crate) fn thread_rows(&mut self, rows: &[String]) {
        let result = self.thread.rows(rows);
        self.note(result);
    }

    pub(crate) fn system_row(&mut self, row: String) {
        let result = self.system.rows(&[row]);
        self.note(result);
    }

    /// Stacks of one process at one time; `state` is that of its main thread. True for each stack that is new.
    pub(crate) fn stacks(
        &mut self,
        t: i64,
        pid: u32,
        parents: &[u32],
        stacks: Vec<Sighting>,
        state: char,
    ) -> Vec<ThreadStack> {
        let mut new = Vec::new();
        let mut seen = Vec::new();
        for Sighting { stack, gil } in stacks {
            let state = if stack.thread == "MainThread" { state } else { ' ' };
            let key = (pid, Rc::new(stack));
            let number = match self.known.get(&key) {
                Some(&number) => number,
                None => {
                    let number = self.table.len();
                    let line = stack_line(number, pid, parents, &key.1);
                    let result = writeln!(self.stacks, "{line}");
                    self.note(result);
                    self.table.push((pid, parents.to_vec(), Rc::clone(&key.1), 0));
                    new.push((*key.1).clone());
                    self.known.insert(key, number);
                    number
                }
            };
            self.table[number].3 += 1;
            let state = state.to_string();
            seen.push(if gil { json!([number, state, 1]) } else { json!([number, state]) });
        }
        if !seen.is_empty() {
            let line = format!("{{\"t\":{},\"s\":{}}}", clock::seconds(t), Value::Array(seen));
            let result = writeln!(self.stacks, "{line}");
            self.note(result);
        }
        new
    }

    /// Writes a round of samples of several programs.
    pub fn round(&mut self, round: Round) {
        self.gpu_rows(&round.gpu);
        self.process_rows(&round.process);
        if let Some(row) = round.system {
            self.system_row(row);
        }
        for StackRow { t, pid, state, stacks } in round.stacks {
            self.stacks(t, pid, &[], stacks, state);
        }
        for (file, line, text) in round.source {
            let key = (file, line);
            if !self.sources.contains(&key) {
                self.source(&key.0, line, &text);
                self.sources.insert(key);
            }
        }
        self.tick();
    }

    /// Different stacks that are held in memory.
    #[must_use]
    pub fn held(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn source(&mut self, file: &str, line: u32, text: &str) {
        let result = writeln!(self.stacks, "{}", json!({ "source": file, "line": line, "text": text }));
        self.note(result);
    }

    /// Brings rows to disk when it is time.
    pub(crate) fn tick(&mut self) {
        if self.flushed.elapsed() >= FLUSH_EVERY {
            self.flush();
        }
    }

    /// Brings every row to disk now.
    pub fn flush(&mut self) {
        self.flushed = Instant::now();
        let sheets = [&mut self.gpu, &mut self.process, &mut self.thread, &mut self.system];
        let result =
            sheets.into_iter().try_for_each(|sheet| sheet.out.flush()).and_then(|()| self.stacks.flush());
        self.note(result);
    }

    /// The first error of a write is kept: sampling goes on, and the end says it.
    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.failed.get_or_insert(error);
        }
    }

    /// Writes `recording.json`; it may be written again.
    ///
    /// # Errors
    /// Where it, or anything before it, could not be written.
    pub fn describe(&mut self, about: &About) -> io::Result<()> {
        let mut value = Map::new();
        value.insert("schema".to_owned(), json!(SCHEMA));
        value.insert("command".to_owned(), json!(redact::command(&about.command)));
        value.insert("pids".to_owned(), json!(about.pids));
        value.insert("missing".to_owned(), about.missing.iter().map(Missing::to_json).collect());
        value.extend(about.more.clone());
        self.shelf.whole("recording.json", &format!("{:#}\n", Value::Object(value)))
    }

    /// Ends the recording: everything to disk, and the stacks in their collapsed form too.
    ///
    /// # Errors
    /// The first error of any write.
    pub fn finish(mut self, about: &About) -> io::Result<()> {
        self.flush();
        let mut collapsed = String::new();
        for (pid, parents, stack, count) in &self.table {
            let processes: Vec<String> =
                parents.iter().chain([pid]).map(|pid| format!("process {pid}:\"python\"")).collect();
            collapsed.push_str(&format!("{};thread ({pid}): {}", processes.join(";"), stack.thread));
            for (function, file, line) in &stack.frames {
                collapsed.push_str(&format!(";{function} ({file}:{line})"));
            }
            collapsed.push_str(&format!(" {count}\n"));
        }
        self.shelf.whole("stacks.txt", &collapsed)?;
        self.describe(about)?;
        self.failed.take().map_or(Ok(()), Err)
    }
}

fn stack_line(number: usize, pid: u32, parents: &[u32], stack: &ThreadStack) -> Value {
    let frames: Vec<Value> =
        stack.frames.iter().map(|(function, file, line)| json!([function, file, line])).collect();
    json!({ "stack": number, "pid": pid, "parents": parents, "thread": stack.thread, "frames": frames })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(function: &str) -> Sighting {
        let stack = ThreadStack {
            thread: "MainThread".to_owned(),
            frames: vec![(function.to_owned(), "/w/train.py".to_owned(), 157)],
        };
        Sighting { stack, gil: true }
    }

    #[test]
    fn what_is_written_is_read_back_even_if_nobody_finishes() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let mut recorder = Recorder::create(dir.path())?;
        for (at, name) in ["step", "load", "step"].into_iter().enumerate() {
            let t = 1_795_971_809_000_000_000 + at as i64 * 200_000_000;
            let new = recorder.stacks(t, 7, &[1], vec![stack(name)], 'R');
            assert_eq!(new.len(), usize::from(at < 2));
        }
        recorder.source("/w/train.py", 157, "gc.collect()");
        recorder.gpu_rows(&["1795971809.0,0,40".to_owned()]);
        recorder.flush();
        std::mem::forget(recorder);
        let found = whyidle_readers::samples::read(dir.path())?;
        let stacks = found.samples.stacks;
        assert_eq!((stacks.stacks.len(), stacks.seen.len(), stacks.source.len()), (2, 3, 1));
        assert_eq!((stacks.seen[2].t, stacks.seen[2].gil), (Some(1_795_971_809_400_000_000), true));
        // A row without all its columns is left out.
        assert_eq!((found.samples.gpu.len(), found.dropped), (0, 1));
        Ok(())
    }

    #[test]
    fn a_finished_recording_is_described() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let mut recorder = Recorder::create(dir.path())?;
        recorder.stacks(1, 7, &[], vec![stack("a;b"), stack("f")], 'S');
        let missing = vec![Missing::new("gpu", "no-nvml", "")];
        let about = About { command: vec!["python".to_owned()], pids: vec![7], missing, ..About::default() };
        recorder.finish(&about)?;
        let recorded = whyidle_readers::recording::read(dir.path(), None)?.unwrap_or_default();
        assert_eq!((recorded.pids, recorded.schema.as_deref()), (vec![7], Some(SCHEMA)));
        assert!(fs::read_to_string(dir.path().join("stacks.txt"))?.ends_with(";f (/w/train.py:157) 1\n"));
        Ok(())
    }
}
