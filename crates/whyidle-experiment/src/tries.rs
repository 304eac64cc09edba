//! Changes that are tried before anything is edited: the start-up hook makes them while the program runs. What they are,
//! what they take, and in which order they are worth trying.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
pub use whyidle_readers::progress::tries::{Did, Edit, Tried};

/// Where a change helps. In this order they are tried: a starved GPU gains nothing from faster kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// What the program is fed.
    Data,
    /// With how many digits it computes.
    Precision,
    /// Which kernels run, and what the host does between them.
    Kernels,
    /// What ranks exchange.
    Communication,
    /// No remedy: a change that shows where time goes.
    Differential,
}

/// What a change takes after `=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// `true` or `false`; this one where nothing is given.
    Flag(bool),
    /// A whole number from, to; and the one where nothing is given.
    Count(u32, u32, Option<u32>),
    /// Megabytes, more than 0.
    Megabytes,
    /// `freeze` or `every:N`.
    Garbage,
}

/// A change that is known.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// Where it helps.
    pub stage: Stage,
    /// What it takes.
    pub takes: Takes,
}

/// The variable of PyTorch's allocator.
const ALLOCATOR: &str = "PYTORCH_CUDA_ALLOC_CONF";
/// Changes of the environment.
pub(crate) const VARIABLE: &str = "env:";

macro_rules! known {
    ($($name:literal $stage:ident $takes:expr),* $(,)?) => {
        /// Every change but `env:NAME=VALUE`.
        pub const KNOWN: &[Known] = &[$(Known { name: $name, stage: Stage::$stage, takes: $takes }),*];
    };
}

use Takes::{Count, Flag, Garbage, Megabytes};

known! {
    "workers" Data Count(0, 1_024, None),
    "prefetch_factor" Data Count(1, 1_024, None),
    "persistent_workers" Data Flag(true),
    "pin_memory" Data Flag(true),
    "threads" Data Count(1, 1_024, Some(1)),
    "bf16" Precision Flag(true),
    "tf32" Precision Flag(true),
    "compile" Kernels Flag(true),
    "fused_optimizer" Kernels Flag(true),
    "channels_last" Kernels Flag(true),
    "cudnn_benchmark" Kernels Flag(true),
    "gc" Kernels Garbage,
    "no_empty_cache" Kernels Flag(true),
    "expandable_segments" Kernels Flag(true),
    "bucket_cap_mb" Communication Megabytes,
    "static_graph" Communication Flag(true),
    "find_unused_parameters" Communication Flag(false),
    "broadcast_buffers" Communication Flag(false),
    "synthetic" Differential Flag(true),
    "cached" Differential Count(1, 100_000, Some(16)),
    "cold" Differential Flag(true),
    "truncate" Differential Count(1, 100_000, None),
}

/// A change to try.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Try {
    /// Its name, or `env:` and the name of a variable.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// Why a change is not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotUnderstood {
    /// No change of that name is known.
    Unknown,
    /// It does not take that value, or needs one.
    Value(Takes),
}

impl Try {
    /// Reads `NAME` or `NAME=VALUE`.
    ///
    /// # Errors
    /// An unknown name, or a value that it does not take. `gc` alone is `gc=freeze`.
    pub fn parse(text: &str) -> Result<Self, NotUnderstood> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (text.trim(), None),
        };
        if let Some(variable) = name.strip_prefix(VARIABLE) {
            let value = value.filter(|_| !variable.is_empty()).ok_or(NotUnderstood::Unknown)?;
            return Ok(Self::new(name, value));
        }
        let known = KNOWN.iter().find(|known| known.name == name).ok_or(NotUnderstood::Unknown)?;
        let wrong = NotUnderstood::Value(known.takes);
        let taken = match (known.takes, value) {
            (Flag(usual), None) => usual.to_string(),
            (Flag(_), Some(value)) if value.eq_ignore_ascii_case("true") => "true".to_owned(),
            (Flag(_), Some(value)) if value.eq_ignore_ascii_case("false") => "false".to_owned(),
            (Count(_, _, Some(usual)), None) => usual.to_string(),
            (Count(least, most, _), Some(value)) => {
                let count: u32 = value.parse().map_err(|_| wrong)?;
                if !(least..=most).contains(&count) {
                    return Err(wrong);
                }
                count.to_string()
            }
            (Megabytes, Some(value)) => {
                let size: f64 = value.parse().map_err(|_| wrong)?;
                if !(size > 0.0 && size < 1e6) {
                    return Err(wrong);
                }
                size.to_string()
            }
            (Garbage, None) => "freeze".to_owned(),
            (Garbage, Some("freeze")) => "freeze".to_owned(),
            (Garbage, Some(value)) => {
                let every = value.strip_prefix("every:").and_then(|every| every.parse::<u32>().ok());
                format!("every:{}", every.filter(|every| *every > 0).ok_or(wrong)?)
            }
            _ => return Err(wrong),
        };
        Ok(Self { name: known.name.to_owned(), value: taken })
    }

    /// One of which name and value are known to be right.
    #[must_use]
    pub fn new(name: &str, value: impl ToString) -> Self {
        Self { name: name.to_owned(), value: value.to_string() }
    }

    /// Where it helps; variables may do anything.
    #[must_use]
    pub fn stage(&self) -> Stage {
        KNOWN.iter().find(|known| known.name == self.name).map_or(Stage::Kernels, |known| known.stage)
    }

    /// It is made by the environment alone, without the hook.
    #[must_use]
    pub fn is_variable(&self) -> bool {
        self.name.starts_with(VARIABLE) || self.name == "expandable_segments"
    }

    /// Sets the variables that it consists of. `inherited` gives those of the tool's own environment.
    pub fn put(
        &self,
        environment: &mut BTreeMap<String, String>,
        inherited: impl Fn(&str) -> Option<String>,
    ) {
        if let Some(variable) = self.name.strip_prefix(VARIABLE) {
            environment.insert(variable.to_owned(), self.value.clone());
        } else if self.name == "expandable_segments" {
            let before =
                environment.get(ALLOCATOR).cloned().or_else(|| inherited(ALLOCATOR)).unwrap_or_default();
            let others = before.split(',').filter(|part| {
                !part.trim().is_empty() && !part.trim_start().starts_with("expandable_segments")
            });
            let set = format!("expandable_segments:{}", if self.value == "true" { "True" } else { "False" });
            let all: Vec<&str> = others.chain([set.as_str()]).collect();
            environment.insert(ALLOCATOR.to_owned(), all.join(","));
        }
    }
}

impl std::fmt::Display for Try {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.value == "true" {
            write!(f, "{}", self.name)
        } else {
            write!(f, "{}={}", self.name, self.value)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_as_they_are_written() {
        let shown = |text: &str| Try::parse(text).map(|tried| tried.to_string());
        for (text, expected) in [
            ("workers=8", "workers=8"),
            ("pin_memory", "pin_memory"),
            ("pin_memory=False", "pin_memory=false"),
            ("find_unused_parameters", "find_unused_parameters=false"),
            ("gc", "gc=freeze"),
            ("gc=every:100", "gc=every:100"),
            ("bucket_cap_mb=50", "bucket_cap_mb=50"),
            ("cached", "cached=16"),
            ("env:OMP_NUM_THREADS=1", "env:OMP_NUM_THREADS=1"),
        ] {
            assert_eq!(shown(text).as_deref(), Ok(expected), "{text}");
            assert_eq!(shown(expected).as_deref(), Ok(expected), "{text}: it is read as it is shown");
        }
        for text in ["", "speed", "env:=1", "env:A"] {
            assert_eq!(shown(text), Err(NotUnderstood::Unknown), "{text}");
        }
        for text in [
            "workers",
            "workers=x",
            "workers=-1",
            "gc=every:0",
            "bucket_cap_mb=0",
            "bucket_cap_mb=NaN",
            "tf32=maybe",
        ] {
            assert!(matches!(shown(text), Err(NotUnderstood::Value(_))), "{text}");
        }
    }

    #[test]
    fn variables_join_what_is_set() {
        let mut environment = BTreeMap::new();
        let inherited = |name: &str| {
            (name == ALLOCATOR).then(|| "max_split_size_mb:64,expandable_segments:False".to_owned())
        };
        Try::new("expandable_segments", "true").put(&mut environment, inherited);
        Try::new("env:A", "b").put(&mut environment, inherited);
        Try::new("workers", 8).put(&mut environment, inherited);
        assert_eq!(environment.len(), 2);
        assert_eq!(environment[ALLOCATOR], "max_split_size_mb:64,expandable_segments:True");
    }
}
