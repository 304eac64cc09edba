//! What the main thread of the driving process was doing, by its Python stacks.
//!
//! A sample belongs to the first of these that fits, from explicit waits to plain work: the loader, saving,
//! compiling, collectives, the optimizer, backward, a function of the user's own, library code that launches
//! work. A stack without its outermost frames was torn while it was read and counts as unknown.

use std::collections::{BTreeMap, HashMap};

use whyidle_model::{Frame, Stack, Stacks};

use super::files::{is_framework, is_user_file, short_path};
use super::share_error;

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doing {
    /// Waits for loader workers.
    WaitsForWorkers,
    /// Prepares data itself.
    PreparesData,
    /// Starts or stops loader workers: the border of an epoch.
    StartsLoader,
    /// Saves a checkpoint.
    Saves,
    /// Imports modules: the program starts up.
    Imports,
    /// Compiles.
    Compiles,
    /// Collects garbage.
    Collects,
    /// Is ready to run Python, but another thread of the process holds the interpreter's lock.
    WaitsForGil,
    /// Gives cached GPU memory back.
    EmptiesCache,
    /// Copies to the GPU, by the source line.
    Copies,
    /// Reads a value back or synchronises, by function or source line.
    Synchronises,
    /// Writes logs.
    Logs,
    /// Sits in a collective or a transfer between ranks.
    Communicates,
    /// Evaluates: no training step.
    Evaluates,
    /// Runs the optimizer.
    Optimizes,
    /// Runs backward: launches, or waits for the queue to have room.
    Backward,
    /// Runs library code that launches work.
    Launches,
    /// Runs a function of the user's own.
    UserCode,
    /// The stack was torn, or the thread runs no Python.
    Unknown,
}

impl Doing {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::WaitsForWorkers => "waits-for-workers",
            Self::PreparesData => "prepares-data",
            Self::StartsLoader => "starts-loader",
            Self::Saves => "saves",
            Self::Imports => "imports",
            Self::Compiles => "compiles",
            Self::Collects => "collects",
            Self::WaitsForGil => "waits-for-gil",
            Self::EmptiesCache => "empties-cache",
            Self::Copies => "copies",
            Self::Synchronises => "synchronises",
            Self::Logs => "logs",
            Self::Communicates => "communicates",
            Self::Evaluates => "evaluates",
            Self::Optimizes => "optimizes",
            Self::Backward => "backward",
            Self::Launches => "launches",
            Self::UserCode => "user-code",
            Self::Unknown => "unknown",
        }
    }
}

/// A function with its share of the samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// `TokenizeOnTheFly.__getitem__ (model.py:132)`.
    pub name: String,
    /// Share of all samples of the thread.
    pub share: f64,
    /// The text of its source line, where recorded.
    pub source: Option<String>,
}

/// What was seen of the main thread.
#[derive(Clone, Debug, PartialEq)]
pub struct MainThread {
    /// Samples.
    pub samples: u32,
    /// Samples by what it did.
    pub counts: BTreeMap<Doing, u32>,
    /// The largest places of each, largest first.
    pub places: BTreeMap<Doing, Vec<Place>>,
    /// Share of samples inside activation checkpointing.
    pub recomputes: f64,
    /// Share of samples inside pipeline scheduling.
    pub pipelines: f64,
    /// The loader was met at all, in whatever state.
    pub has_loader: bool,
    /// DDP, FSDP, pipelining, DeepSpeed or a collective was met: the process is one of several ranks.
    pub is_rank: bool,
}

impl MainThread {
    /// Share of the samples.
    #[must_use]
    pub fn share(&self, doing: Doing) -> f64 {
        f64::from(self.counts.get(&doing).copied().unwrap_or(0)) / f64::from(self.samples.max(1))
    }

    /// Half the width of the 95 % interval of a share.
    #[must_use]
    pub fn error(&self, doing: Doing) -> f64 {
        share_error(self.share(doing), self.samples)
    }

    /// The largest place of what it does.
    #[must_use]
    pub fn place(&self, doing: Doing) -> Option<&Place> {
        self.places.get(&doing)?.first()
    }
}

/// Files that only run in a job of several ranks.
const RANKS: [&str; 5] = [
    "torch/nn/parallel/distributed.py",
    "torch/distributed/distributed_c10d.py",
    "torch/distributed/fsdp/",
    "torch/distributed/pipelining/",
    "deepspeed/runtime/",
];

/// What the main thread of `driver` did; `None` without samples of it.
#[must_use]
pub fn main_thread(stacks: &Stacks, driver: u32) -> Option<MainThread> {
    const KEPT: usize = 5;
    let reader = Reader { stacks };
    let mut out = MainThread {
        samples: 0,
        counts: BTreeMap::new(),
        places: BTreeMap::new(),
        recomputes: 0.0,
        pipelines: 0.0,
        has_loader: false,
        is_rank: false,
    };
    let mut places: BTreeMap<Doing, BTreeMap<(String, Option<String>), u32>> = BTreeMap::new();
    let (mut recomputes, mut pipelines) = (0, 0);
    let holders = holders(stacks, driver);
    for seen in &stacks.seen {
        let stack = &stacks.stacks[seen.stack];
        if stack.pid != driver || stacks.names.get(stack.thread) != "MainThread" {
            continue;
        }
        let holder = seen.t.and_then(|t| holders.get(&t)).filter(|_| seen.state == 'S' && !seen.gil);
        let holder = holder.filter(|_| reader.wants_python(stack));
        let doing = if holder.is_some() { Doing::WaitsForGil } else { reader.doing(stack) };
        out.samples += seen.count;
        *out.counts.entry(doing).or_default() += seen.count;
        // Who holds the lock is to be named, not who waits for it.
        if let Some(frame) = reader.culprit(holder.map_or(stack, |&holder| &stacks.stacks[holder]), doing) {
            let source = stacks.source.get(&(frame.file, frame.line)).cloned();
            *places.entry(doing).or_default().entry((reader.in_words(frame), source)).or_default() +=
                seen.count;
        }
        let inside = |part: &str| stack.frames.iter().any(|frame| reader.file(frame).contains(part));
        recomputes += if inside("torch/utils/checkpoint.py") { seen.count } else { 0 };
        pipelines += if inside("torch/distributed/pipelining/") { seen.count } else { 0 };
        out.is_rank |= RANKS.iter().any(|part| inside(part)) && doing != Doing::Imports;
        out.has_loader |= inside("torch/utils/data/dataloader.py");
    }
    if out.samples == 0 {
        return None;
    }
    let whole = f64::from(out.samples);
    for (doing, found) in places {
        let mut found: Vec<Place> = found
            .into_iter()
            .map(|((name, source), count)| Place { name, share: f64::from(count) / whole, source })
            .collect();
        found.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.name.cmp(&b.name)));
        found.truncate(KEPT);
        out.places.insert(doing, found);
    }
    out.recomputes = f64::from(recomputes) / whole;
    out.pipelines = f64::from(pipelines) / whole;
    Some(out)
}

/// By time: the stack of the thread of `driver`, other than the main thread, that held the interpreter's lock.
fn holders(stacks: &Stacks, driver: u32) -> HashMap<i64, usize> {
    let holds = |seen: &&whyidle_model::Seen| {
        let stack = &stacks.stacks[seen.stack];
        seen.gil && stack.pid == driver && stacks.names.get(stack.thread) != "MainThread"
    };
    stacks.seen.iter().filter(holds).filter_map(|seen| Some((seen.t?, seen.stack))).collect()
}

/// Reads stacks.
pub(super) struct Reader<'a> {
    pub(super) stacks: &'a Stacks,
}

impl Reader<'_> {
    pub(super) fn function(&self, frame: &Frame) -> &str {
        self.stacks.names.get(frame.function)
    }

    pub(super) fn file(&self, frame: &Frame) -> &str {
        self.stacks.names.get(frame.file)
    }

    /// The last part of a qualified name: `_MultiProcessingDataLoaderIter._get_data` is `_get_data`.
    pub(super) fn short(&self, frame: &Frame) -> &str {
        let name = self.function(frame);
        name.rsplit('.').next().unwrap_or(name)
    }

    pub(super) fn doing(&self, stack: &Stack) -> Doing {
        let frames = &stack.frames;
        let Some(leaf) = frames.last() else { return Doing::Unknown };
        let in_file = |part: &str| frames.iter().any(|frame| self.file(frame).contains(part));
        if in_file("importlib/_bootstrap") || in_file("<frozen importlib") {
            return Doing::Imports;
        }
        if let Some(doing) = self.loading(frames) {
            return doing;
        }
        let saves = |frame: &Frame| {
            let file = self.file(frame);
            (file.ends_with("torch/serialization.py")
                && matches!(self.short(frame), "save" | "_save" | "_legacy_save"))
                || file.contains("torch/distributed/checkpoint/")
                || (file.contains("safetensors/") && self.short(frame).starts_with("save"))
        };
        if frames.iter().any(saves) {
            return Doing::Saves;
        }
        if [
            "torch/_dynamo/convert_frame.py",
            "torch/_inductor/compile_fx.py",
            "torch/_inductor/async_compile.py",
        ]
        .iter()
        .any(|part| in_file(part))
            && !in_file("torch/_inductor/runtime/")
        {
            return Doing::Compiles;
        }
        if self.short(leaf) == "empty_cache" {
            return Doing::EmptiesCache;
        }
        let evaluates = |frame: &Frame| {
            let name = self.short(frame);
            self.is_user(frame)
                && (name.starts_with("evaluat") || name.starts_with("validat") || name == "validation_step")
                || self.file(frame).ends_with("transformers/trainer.py")
                    && matches!(name, "evaluate" | "evaluation_loop")
                || self.file(frame).contains("lightning/")
                    && self.file(frame).ends_with("loops/evaluation_loop.py")
        };
        if frames.iter().any(evaluates) {
            return Doing::Evaluates;
        }
        if in_file("logging/__init__.py") || in_file("torch/utils/tensorboard/") || in_file("wandb/") {
            return Doing::Logs;
        }
        if self.file(leaf).contains("torch/distributed/distributed_c10d.py") {
            return Doing::Communicates;
        }
        if self.short(leaf) == "synchronize" {
            return Doing::Synchronises;
        }
        if in_file("torch/optim/") {
            return Doing::Optimizes;
        }
        if self.short(leaf) == "_engine_run_backward" || self.file(leaf).ends_with("torch/autograd/graph.py")
        {
            return Doing::Backward;
        }
        self.working(frames, leaf)
    }

    /// A thread that sleeps here wants the interpreter's lock, if another one holds it: it is in Python code that does
    /// not sleep by itself. (Backward, the loader's queue, locks, sockets and `sleep` give the lock up to wait.)
    fn wants_python(&self, stack: &Stack) -> bool {
        const WAIT: [&str; 9] = [
            "threading.py",
            "queue.py",
            "selectors.py",
            "socket.py",
            "subprocess.py",
            "ssl.py",
            "connection.py",
            "popen_fork.py",
            "synchronize.py",
        ];
        let Some(leaf) = stack.frames.last() else { return false };
        let file = self.file(leaf).rsplit('/').next().unwrap_or_default();
        let source = self.stacks.source.get(&(leaf.file, leaf.line)).map_or("", String::as_str);
        let works = matches!(
            self.doing(stack),
            Doing::UserCode | Doing::Launches | Doing::Optimizes | Doing::Logs | Doing::Collects
        );
        works
            && !WAIT.contains(&file)
            && !["sleep(", ".join(", ".wait("].iter().any(|part| source.contains(part))
    }

    fn loading(&self, frames: &[Frame]) -> Option<Doing> {
        let loader: Vec<&Frame> = frames
            .iter()
            .filter(|frame| self.file(frame).ends_with("torch/utils/data/dataloader.py"))
            .collect();
        let innermost = loader.last()?;
        let named = |frame: &&&Frame, part: &str| self.function(frame).contains(part);
        let waits = |frame: &&Frame| matches!(self.short(frame), "_try_get_data" | "_get_data");
        if loader.iter().any(waits) {
            return Some(Doing::WaitsForWorkers);
        }
        if matches!(
            self.short(innermost),
            "__init__" | "_get_iterator" | "__iter__" | "_reset" | "_shutdown_workers"
        ) {
            return Some(Doing::StartsLoader);
        }
        let single = loader.iter().any(|frame| named(&frame, "_SingleProcess"));
        let fetches =
            frames.iter().any(|frame| self.file(frame).ends_with("torch/utils/data/_utils/fetch.py"));
        if single || fetches {
            return Some(Doing::PreparesData);
        }
        if loader.iter().any(|frame| named(&frame, "_MultiProcessing")) {
            return Some(Doing::WaitsForWorkers);
        }
        None
    }

    /// Neither the loader nor anything else with a name of its own.
    fn working(&self, frames: &[Frame], leaf: &Frame) -> Doing {
        if !self.is_whole(frames) {
            return Doing::Unknown;
        }
        if !self.is_user(leaf) && is_framework(self.file(leaf)) {
            return Doing::Launches;
        }
        // Inside a module's forward the user's own code launches too: its operators have no Python frames.
        if frames.iter().any(|frame| self.file(frame).ends_with("torch/nn/modules/module.py")) {
            return Doing::Launches;
        }
        // The user's own, or a library that launches nothing: the user's function around it is named.
        let Some(own) = frames.iter().rev().find(|frame| self.is_user(frame)) else { return Doing::Launches };
        let source = self.stacks.source.get(&(own.file, own.line)).map_or("", String::as_str);
        by_source(source).unwrap_or(Doing::UserCode)
    }

    /// The outermost frame is where a program, or a thread, begins.
    fn is_whole(&self, frames: &[Frame]) -> bool {
        let first = frames.first().map_or("", |frame| self.short(frame));
        matches!(
            first,
            "<module>" | "_run_module_as_main" | "_bootstrap" | "main" | "_run_code" | "spawn_main"
        )
    }

    pub(super) fn is_user(&self, frame: &Frame) -> bool {
        is_user_file(self.file(frame)) && !self.function(frame).starts_with("<frozen")
    }

    /// The frame to name: the innermost of the user's own inside the loader or saving, else the innermost.
    fn culprit(&self, stack: &Stack, doing: Doing) -> Option<Frame> {
        let frames = &stack.frames;
        let own = || frames.iter().rev().find(|frame| self.is_user(frame)).copied();
        match doing {
            Doing::PreparesData => {
                let from =
                    frames.iter().position(|f| self.file(f).ends_with("torch/utils/data/dataloader.py"))?;
                frames[from..].iter().rev().find(|frame| self.is_user(frame)).or(frames.last()).copied()
            }
            Doing::Unknown => None,
            Doing::Backward | Doing::Optimizes | Doing::Launches => frames.last().copied(),
            _ => own().or(frames.last().copied()),
        }
    }

    pub(super) fn in_words(&self, frame: Frame) -> String {
        let file = short_path(self.file(&frame));
        format!("{} ({file}:{})", self.function(&frame), frame.line)
    }
}

/// What the text of a source line gives away of a call that has no Python frame.
fn by_source(source: &str) -> Option<Doing> {
    let has = |parts: &[&str]| parts.iter().any(|part| source.contains(part));
    if has(&["gc.collect("]) {
        Some(Doing::Collects)
    } else if has(&[
        ".item()",
        ".tolist()",
        ".cpu()",
        ".numpy()",
        "float(loss",
        "torch.isnan(",
        "synchronize(",
    ]) {
        Some(Doing::Synchronises)
    } else if has(&[".to(", ".cuda("]) {
        Some(Doing::Copies)
    } else if has(&["print(", "log(", ".write("]) {
        Some(Doing::Logs)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use whyidle_model::{Seen, Stack};

    use super::*;

    fn stacks(frames: &[(&str, &str, u32)], source: Option<&str>) -> Stacks {
        let mut out = Stacks::default();
        let thread = out.names.intern("MainThread");
        let frames: Vec<Frame> = frames
            .iter()
            .map(|(function, file, line)| Frame {
                function: out.names.intern(function),
                file: out.names.intern(file),
                line: *line,
            })
            .collect();
        if let (Some(text), Some(leaf)) = (source, frames.last()) {
            out.source.insert((leaf.file, leaf.line), text.to_owned());
        }
        out.stacks.push(Stack { pid: 7, parents: Vec::new(), thread, frames });
        out.seen.push(Seen { t: None, stack: 0, count: 4, state: ' ', gil: false });
        out
    }

    fn doing(frames: &[(&str, &str, u32)], source: Option<&str>) -> (Doing, Option<String>) {
        let stacks = stacks(frames, source);
        let main = main_thread(&stacks, 7).unwrap_or_else(|| panic!("samples"));
        let doing = main.counts.keys().next().copied().unwrap_or(Doing::Unknown);
        (doing, main.place(doing).map(|place| place.name.clone()))
    }

    const DATALOADER: &str = "/v/lib/python3.12/site-packages/torch/utils/data/dataloader.py";

    #[test]
    fn loader_waits_and_items_prepared_in_process_are_told_apart() {
        let module = ("<module>", "/w/train.py", 288);
        let (found, _) = doing(
            &[
                module,
                ("_MultiProcessingDataLoaderIter._try_get_data", DATALOADER, 1288),
                ("Condition.wait", "/usr/lib/python3.12/threading.py", 359),
            ],
            None,
        );
        assert_eq!(found, Doing::WaitsForWorkers);
        let (found, place) = doing(
            &[
                module,
                ("_SingleProcessDataLoaderIter._next_data", DATALOADER, 795),
                ("_MapDatasetFetcher.fetch", "torch/utils/data/_utils/fetch.py", 54),
                ("TokenizeOnTheFly.__getitem__", "/w/model.py", 132),
                ("encode", "/v/lib/python3.12/site-packages/tokenizers/x.py", 1),
            ],
            None,
        );
        assert_eq!(
            (found, place.as_deref()),
            (Doing::PreparesData, Some("TokenizeOnTheFly.__getitem__ (model.py:132)"))
        );
        let (found, _) = doing(&[module, ("DataLoader.__iter__", DATALOADER, 495)], None);
        assert_eq!(found, Doing::StartsLoader);
    }

    #[test]
    fn builtins_are_told_by_their_source_line() {
        let frames = [("<module>", "train.py", 1), ("main.<locals>.<lambda>", "train.py", 157)];
        assert_eq!(doing(&frames, None).0, Doing::UserCode);
        assert_eq!(doing(&frames, Some("gc.collect()")).0, Doing::Collects);
        assert_eq!(doing(&frames, Some("total += loss.item()")).0, Doing::Synchronises);
        assert_eq!(doing(&frames, Some("x = x.to(dev)")).0, Doing::Copies);
    }

    #[test]
    fn importing_is_neither_compiling_nor_training() {
        let frames = [
            ("<module>", "/w/train.py", 30),
            ("_find_and_load", "<frozen importlib._bootstrap>", 1176),
            ("<module>", "torch/_dynamo/convert_frame.py", 3),
        ];
        assert_eq!(doing(&frames, None).0, Doing::Imports);
    }

    #[test]
    fn a_thread_that_is_ready_while_another_holds_the_lock_waits_for_it() {
        let frames = [("<module>", "/w/train.py", 1), ("metrics", "/w/train.py", 40)];
        let mut recorded = stacks(&frames, None);
        recorded.seen[0] = Seen { t: Some(5), stack: 0, count: 1, state: 'S', gil: false };
        let (thread, function) = (recorded.names.intern("Thread-1"), recorded.names.intern("log_all"));
        let file = recorded.names.intern("/w/log.py");
        let frames = vec![Frame { function, file, line: 3 }];
        recorded.stacks.push(Stack { pid: 7, parents: Vec::new(), thread, frames });
        recorded.seen.push(Seen { t: Some(5), stack: 1, count: 1, state: ' ', gil: true });
        let found = |recorded: &Stacks| main_thread(recorded, 7).unwrap_or_else(|| panic!("samples"));
        let main = found(&recorded);
        assert!((main.share(Doing::WaitsForGil) - 1.0).abs() < 1e-9);
        assert_eq!(
            main.place(Doing::WaitsForGil).map(|place| place.name.as_str()),
            Some("log_all (log.py:3)")
        );
        // On a core it runs code that needs no lock.
        recorded.seen[0].state = 'R';
        assert!(found(&recorded).share(Doing::WaitsForGil) < 1e-9);
        // Asleep of its own will.
        recorded.seen[0].state = 'S';
        let leaf = recorded.stacks[0].frames[1];
        recorded.source.insert((leaf.file, leaf.line), "time.sleep(1)".to_owned());
        assert!(found(&recorded).share(Doing::WaitsForGil) < 1e-9);
    }

    #[test]
    fn a_torn_stack_accuses_nobody() {
        assert_eq!(doing(&[("augment", "data.py", 3)], None).0, Doing::Unknown);
        assert_eq!(doing(&[("layer_norm", "torch/nn/functional.py", 2935)], None).0, Doing::Unknown);
        assert_eq!(doing(&[], None).0, Doing::Unknown);
    }

    #[test]
    fn a_library_that_launches_nothing_is_charged_to_its_caller() {
        let frames = [
            ("<module>", "/w/train.py", 1),
            ("metrics", "/w/train.py", 40),
            ("percentile", "/v/lib/python3.11/site-packages/numpy/lib/x.py", 9),
        ];
        let (found, place) = doing(&frames, None);
        assert_eq!((found, place.as_deref()), (Doing::UserCode, Some("metrics (train.py:40)")));
        let frames = [("<module>", "/w/train.py", 1), ("Linear.forward", "torch/nn/modules/linear.py", 134)];
        assert_eq!(doing(&frames, None).0, Doing::Launches);
        let frames = [
            ("<module>", "/w/train.py", 1),
            ("Module._call_impl", "torch/nn/modules/module.py", 1786),
            ("Block.forward", "/w/model.py", 80),
        ];
        assert_eq!(doing(&frames, None).0, Doing::Launches);
    }
}
