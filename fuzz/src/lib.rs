//! Doors: all that comes into whyidle from outside, each as one function of bytes. What a door lets in may be refused or
//! doubted; it may not panic, hang, or take more memory than its input is worth.
//!
//! The targets in `fuzz_targets/` call one door each, and so does the test that replays the corpus
//! (`crates/whyidle/tests/it/doors.rs`), which holds this list against the readers and network faces that there are.
//!
//! * [`files`] – doors of the readers.
//! * [`inputs`] – what is given to a command: configurations, settings, tokenizers, histories, arguments.
//! * [`network`] – doors of sockets.

pub mod files;
pub mod inputs;
pub mod network;
mod place;

/// Something that takes bytes of others.
pub struct Door {
    /// Its name: of its target, and of the folder with its corpus.
    pub name: &'static str,
    /// Lets bytes in.
    pub open: fn(&[u8]),
    /// Files and folders of the source, from `crates/` on, whose input it is.
    pub to: &'static [&'static str],
}

macro_rules! doors {
    ($($module:ident::$name:ident => [$($to:literal),+ $(,)?],)+) => {
        /// All doors.
        pub const DOORS: &[Door] =
            &[$(Door { name: stringify!($name), open: $module::$name, to: &[$($to),+] }),+];
    };
}

doors! {
    files::trace => [
        "whyidle-readers/src/kineto", "whyidle-readers/src/ascend", "whyidle-readers/src/window.rs",
        "whyidle-readers/src/check.rs", "whyidle-readers/src/source.rs",
    ],
    files::verdict => ["whyidle-readers/src/find.rs", "whyidle-readers/src/sniff.rs"],
    files::nsys => ["whyidle-readers/src/nsys"],
    files::memory => ["whyidle-readers/src/memory", "whyidle-readers/src/pickle"],
    files::flight => ["whyidle-readers/src/flight", "whyidle-readers/src/pickle"],
    files::nccl => ["whyidle-readers/src/nccl"],
    files::ncu => ["whyidle-readers/src/ncu"],
    files::logs => [
        "whyidle-readers/src/smi", "whyidle-readers/src/host", "whyidle-readers/src/dcgm",
        "whyidle-readers/src/stacks", "whyidle-readers/src/logs.rs", "whyidle-readers/src/plain.rs",
    ],
    files::losses => ["whyidle-readers/src/progress"],
    files::steps => ["whyidle-readers/src/progress"],
    files::samples => ["whyidle-readers/src/samples"],
    files::recording => ["whyidle-readers/src/recording.rs", "whyidle-readers/src/recording"],
    files::digest => ["whyidle-readers/src/digest.rs"],
    files::documents => ["whyidle-readers/src/documents"],
    files::ring => ["whyidle-agent/src/ring"],
    inputs::edits => ["whyidle-readers/src/settings"],
    inputs::model => ["whyidle-planner/src/model/config.rs", "whyidle-planner/src/gpu.rs"],
    inputs::tokenizer => ["whyidle-feed/src/tokens.rs", "whyidle-feed/src/words.rs"],
    inputs::unfinished => ["whyidle-feed/src/state.rs", "whyidle-feed/src/shards.rs"],
    inputs::runs => ["whyidle-experiment/src/documents.rs"],
    inputs::history => ["whyidle-experiment/src/history.rs"],
    inputs::agent_settings => ["whyidle-agent/src/settings.rs"],
    inputs::arguments => [
        "whyidle-observe/src/redact.rs", "whyidle-agent/src/time.rs", "whyidle-diagnosis/src/what_if.rs",
        "whyidle-experiment/src/tries.rs", "whyidle-experiment/src/sweep/vary.rs",
    ],
    network::datagrams => ["whyidle-observe/src/ondemand.rs"],
    network::metrics => ["whyidle-agent/src/http", "whyidle-agent/src/web.rs"],
    network::pages => ["whyidle-agent/src/http", "whyidle-agent/src/serve"],
    network::prometheus => ["whyidle-readers/src/prometheus", "whyidle-observe/src/prometheus.rs"],
}
