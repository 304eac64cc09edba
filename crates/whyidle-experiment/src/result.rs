//! What one run of a program gave: its step time, rate, memory and power, what it was measured on, and how it ended.
//! Figures and ids, no wording; kept in the history as it is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use whyidle_readers::progress::tries::Tried;

use crate::stats::losses::{self, Point};
use crate::stats::steady::Steady;
use crate::tries::{self, Try};

/// How the time of a step was told, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// From one optimizer step to the next, by the start-up hook.
    Hook,
    /// From one printed line with a step's number to the next.
    PrintedSteps,
    /// Times of steps that the program prints.
    PrintedTimes,
    /// Batches that loader workers hand over.
    Batches,
    /// Step times of a recording.
    Recorded,
    /// No steps were seen: the whole program, from its start to its end.
    Whole,
}

impl Basis {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::PrintedSteps => "printed-steps",
            Self::PrintedTimes => "printed-times",
            Self::Batches => "batches",
            Self::Recorded => "recorded",
            Self::Whole => "whole",
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// After enough steps; the program was interrupted.
    #[default]
    Enough,
    /// When the time was over.
    Time,
    /// The program ended by itself, and well.
    Itself,
    /// The program ended by itself with another status than 0.
    Failed,
    /// Out of memory.
    OutOfMemory,
    /// The user interrupted.
    Interrupted,
}

impl Ended {
    /// Stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Enough => "enough",
            Self::Time => "time",
            Self::Itself => "itself",
            Self::Failed => "failed",
            Self::OutOfMemory => "out-of-memory",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Characters of a commit by which runs are known.
pub const REVISION: usize = 10;

/// What a run was made on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Name of the host.
    pub host: Option<String>,
    /// Model of the processor.
    pub processor: Option<String>,
    /// Cores that a program may use.
    pub cores: Option<usize>,
    /// Version of the kernel.
    pub kernel: Option<String>,
    /// Product names of the GPUs of the machine.
    pub gpus: Vec<String>,
    /// Version of the GPU's driver.
    pub driver: Option<String>,
    /// Version of PyTorch.
    pub torch: Option<String>,
    /// Version of CUDA or HIP that PyTorch was built for.
    pub cuda: Option<String>,
    /// Version of Python.
    pub python: Option<String>,
    /// The commit in the working directory.
    pub commit: Option<String>,
    /// Files there differ from it.
    pub dirty: Option<bool>,
    /// Variables that bear on speed.
    pub variables: BTreeMap<String, String>,
}

impl Place {
    /// The commit, shortened, with `+` where files differ from it.
    #[must_use]
    pub fn revision(&self) -> Option<String> {
        let short: String = self.commit.as_ref()?.chars().take(REVISION).collect();
        Some(short + if self.dirty == Some(true) { "+" } else { "" })
    }

    /// What differs on `other`: its name, here, there. Variables by their names.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<(String, String, String)> {
        let known = |place: &Self| {
            let mut known: BTreeMap<String, String> = place.variables.clone();
            let fields = [
                ("host", place.host.clone()),
                ("processor", place.processor.clone()),
                ("cores", place.cores.map(|cores| cores.to_string())),
                ("kernel", place.kernel.clone()),
                ("gpus", (!place.gpus.is_empty()).then(|| place.gpus.join(", "))),
                ("driver", place.driver.clone()),
                ("torch", place.torch.clone()),
                ("cuda", place.cuda.clone()),
                ("python", place.python.clone()),
                ("commit", place.revision()),
            ];
            known.extend(fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
            known
        };
        let (here, there) = (known(self), known(other));
        let mut names: Vec<&String> = here.keys().chain(there.keys()).collect();
        names.sort();
        names.dedup();
        let of =
            |known: &BTreeMap<String, String>, name: &String| known.get(name).cloned().unwrap_or_default();
        let pairs = names.into_iter().map(|name| (name.clone(), of(&here, name), of(&there, name)));
        pairs.filter(|(_, here, there)| here != there).collect()
    }
}

/// How the GPU was used over the steady steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuUse {
    /// Physical number.
    pub index: u32,
    /// Share of time with something on it.
    pub resident: f64,
    /// By the card's counters, not by NVML's sampled utilisation.
    pub is_counted: bool,
    /// Mean power, W.
    pub power_w: Option<f64>,
    /// Highest memory in use by anyone, bytes.
    pub memory: Option<i64>,
}

/// Highest memory of the program on the GPU, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peak {
    /// In use by tensors (`max_memory_allocated`).
    pub allocated: i64,
    /// Held by the allocator (`max_memory_reserved`).
    pub held: i64,
}

/// Who else was there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Others {
    /// Cores that other programs kept busy, on average; estimated.
    pub cores: f64,
    /// Names of those that used most, with their cores.
    pub names: Vec<(String, f64)>,
    /// Processes of others on the GPUs: physical number, process.
    pub on_gpu: Vec<(u32, u32)>,
}

/// Other programs that keep more cores busy than this are worth a word.
const BUSY: f64 = 0.5;

impl Others {
    /// They may have disturbed the measurement.
    #[must_use]
    pub fn disturb(&self) -> bool {
        self.cores >= BUSY || !self.on_gpu.is_empty()
    }
}

/// One run of a program. Times are ns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// When it began, Unix time.
    pub began: i64,
    /// From its start to the end of the measurement.
    pub wall_ns: i64,
    /// From its start to the end of its first step.
    pub startup_ns: Option<i64>,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Variables that were set for it.
    pub environment: BTreeMap<String, String>,
    /// Where it ran.
    pub dir: String,
    /// On what.
    pub place: Place,
    /// How steps were told; absent where nothing was.
    pub basis: Option<Basis>,
    /// Steps that one figure of the series stands for: more than one where the program prints every few steps.
    pub steps_per_figure: u32,
    /// The step time.
    pub steady: Option<Steady>,
    /// Samples of a step, over all ranks.
    pub samples_per_step: Option<f64>,
    /// Tokens of a step, over all ranks.
    pub tokens_per_step: Option<f64>,
    /// Samples per second as the program prints them, median.
    pub printed_samples_per_s: Option<f64>,
    /// Tokens per second, likewise.
    pub printed_tokens_per_s: Option<f64>,
    /// Use of the GPU.
    pub gpu: Option<GpuUse>,
    /// Memory on the GPU.
    pub peak: Option<Peak>,
    /// Losses that were printed or written, by step.
    #[serde(serialize_with = "losses::write", deserialize_with = "losses::read")]
    pub losses: Vec<Point>,
    /// The file that they are from; absent where they were printed.
    #[serde(default)]
    pub losses_from: Option<String>,
    /// How it ended.
    pub ended: Ended,
    /// Its exit status, where it ended by itself.
    pub status: Option<i32>,
    /// Who else was there.
    pub others: Others,
    /// Where its output is kept.
    pub log: Option<String>,
    /// Changes that were asked for.
    #[serde(default)]
    pub tries: Vec<Try>,
    /// What became of them.
    #[serde(default)]
    pub tried: Vec<Tried>,
    /// Failures inside the start-up hook.
    pub hook_errors: u64,
    /// Variables that were set so that its steps can be seen: `NAME=value`, or a name alone where the value was of this run.
    #[serde(default)]
    pub added: Vec<String>,
    /// The step times behind `steady`, for judging stalls together with other runs; not kept.
    #[serde(skip)]
    pub series: Vec<i64>,
}

impl Run {
    /// Mean time of a step.
    #[must_use]
    pub fn step_ns(&self) -> Option<i64> {
        self.steady.as_ref().map(|steady| steady.mean_ns)
    }

    /// Samples per second: from the batches that were seen, else as printed.
    #[must_use]
    pub fn samples_per_s(&self) -> Option<f64> {
        self.per_second(self.samples_per_step).or(self.printed_samples_per_s)
    }

    /// Tokens per second, likewise.
    #[must_use]
    pub fn tokens_per_s(&self) -> Option<f64> {
        self.per_second(self.tokens_per_step).or(self.printed_tokens_per_s)
    }

    fn per_second(&self, per_step: Option<f64>) -> Option<f64> {
        let step = self.step_ns().filter(|ns| *ns > 0)?;
        per_step.map(|things| things * 1e9 / step as f64)
    }

    /// Energy of the GPU for a step, J: mean power times the step.
    #[must_use]
    pub fn energy_per_step_j(&self) -> Option<f64> {
        Some(self.gpu?.power_w? * self.step_ns()? as f64 / 1e9)
    }

    /// The command and the variables set for it, as one would type it.
    #[must_use]
    pub fn shown(&self) -> String {
        shown(&self.command, &self.environment, &self.tries)
    }

    /// Time beyond that of its steps from its start until they were steady, ns: for importing, compiling, warming up.
    #[must_use]
    pub fn overhead_ns(&self) -> Option<i64> {
        let steady = self.steady.as_ref()?;
        let steps = i64::try_from(steady.warmup_steps).unwrap_or(i64::MAX);
        Some((self.startup_ns? + steady.warmup_ns - steps.saturating_mul(steady.mean_ns)).max(0))
    }
}

/// What may be kept of a command, of the variables set for it and of what is tried in it: all but their secrets.
#[must_use]
pub fn without_secrets(
    command: &[String],
    environment: &BTreeMap<String, String>,
    tries: &[Try],
) -> (Vec<String>, BTreeMap<String, String>, Vec<Try>) {
    let variable = |(name, value): (&String, &String)| (name.clone(), hidden(name, value));
    let tried = |tried: &Try| {
        let name = tried.name.strip_prefix(tries::VARIABLE).unwrap_or(&tried.name);
        Try::new(&tried.name, hidden(name, &tried.value))
    };
    let environment = environment.iter().map(variable).collect();
    (bared(command), environment, tries.iter().map(tried).collect())
}

#[cfg(target_os = "linux")]
use whyidle_observe::redact::{command as bared, variable as hidden};

/// Elsewhere no program is run, and what is read was kept by one that hides secrets.
#[cfg(not(target_os = "linux"))]
fn bared(command: &[String]) -> Vec<String> {
    command.to_vec()
}

#[cfg(not(target_os = "linux"))]
fn hidden(_: &str, value: &str) -> String {
    value.to_owned()
}

/// A command as one would type it, and in brackets what is tried in it; without secrets.
#[must_use]
pub fn shown(command: &[String], environment: &BTreeMap<String, String>, tries: &[Try]) -> String {
    let (command, environment, tries) = without_secrets(command, environment, tries);
    let set = environment.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
    let tried: Vec<String> = tries.iter().map(Try::to_string).collect();
    let tried = (!tried.is_empty()).then(|| format!("[{}]", tried.join(" ")));
    set.chain([typed(&command)]).chain(tried).collect::<Vec<_>>().join(" ")
}

/// A command that holds no secrets as one would type it: one of whyidle's own.
#[must_use]
pub fn typed(command: &[String]) -> String {
    // What was given as one text is shown as that text.
    match command {
        [shell, flag, text] if shell == "sh" && flag == "-c" => text.clone(),
        words => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%{}".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_follow_from_steps_and_batches() {
        let steady = Steady { mean_ns: 200_000_000, ..Steady::default() };
        let gpu = GpuUse { index: 0, resident: 0.5, is_counted: true, power_w: Some(300.0), memory: None };
        let run = Run {
            steady: Some(steady),
            samples_per_step: Some(16.0),
            printed_samples_per_s: Some(1.0),
            printed_tokens_per_s: Some(9.0),
            gpu: Some(gpu),
            ..Run::default()
        };
        assert_eq!((run.samples_per_s(), run.tokens_per_s()), (Some(80.0), Some(9.0)));
        assert_eq!(run.energy_per_step_j(), Some(60.0));
    }

    #[test]
    fn what_differs_between_two_places_is_named() {
        let place = |torch: &str, dirty| Place {
            torch: Some(torch.to_owned()),
            commit: Some("0123456789abcdef".to_owned()),
            dirty: Some(dirty),
            ..Place::default()
        };
        let text = |name: &str, here: &str, there: &str| (name.to_owned(), here.to_owned(), there.to_owned());
        let found = place("2.10", false).differences(&place("2.11", true));
        assert_eq!(found, [text("commit", "0123456789", "0123456789+"), text("torch", "2.10", "2.11")]);
        assert_eq!(place("2.10", false).differences(&place("2.10", false)), []);
    }

    #[test]
    fn commands_are_shown_as_they_would_be_typed() {
        let words = |text: &[&str]| text.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let set = [("A".to_owned(), "x y".to_owned())].into_iter().collect();
        assert_eq!(
            shown(&words(&["python", "t.py", "--name=it's"]), &set, &[]),
            "A='x y' python t.py '--name=it'\\''s'"
        );
        assert_eq!(
            shown(&words(&["sh", "-c", "python t.py | cat"]), &BTreeMap::new(), &[]),
            "python t.py | cat"
        );
        let (command, set) =
            (words(&["t.py", "--api-key", "X"]), [("MY_TOKEN".to_owned(), "Y".to_owned())].into());
        let tries = [Try::new("env:HF_TOKEN", "Z"), Try::new("workers", 8)];
        let text = shown(&command, &set, &tries);
        assert_eq!(
            text,
            "MY_TOKEN='[redacted]' t.py --api-key '[redacted]' [env:HF_TOKEN=[redacted] workers=8]"
        );
        // What was kept is shown as what is given again: a gate finds its runs by it.
        let (command, set, tries) = without_secrets(&command, &set, &tries);
        assert_eq!(shown(&command, &set, &tries), text);
    }
}
