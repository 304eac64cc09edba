//! What a thread does, by one stack of it.
//!
//! It is the first of these that fits, from explicit waits to plain work: the loader, saving, compiling, collectives,
//! the optimizer, backward, a function of the user's own, library code that launches work. A stack without its
//! outermost frames was torn while it was read and counts as unknown.

use whyidle_model::{Frame, Stack, Stacks};

use super::files::{is_framework, is_user_file, short_path};

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
    pub(super) fn wants_python(&self, stack: &Stack) -> bool {
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
    pub(super) fn culprit(&self, stack: &Stack, doing: Doing) -> Option<Frame> {
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
