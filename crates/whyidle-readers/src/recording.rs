//! What a directory says of the run beside its traces: `recording.json`, or the
//! `case.json` and `case_rank<N>.json` of hand-made recordings.
//!
//! Everything is found by name and everything is optional: a missing field is a missing
//! fact, an unknown one is ignored, one of an unexpected type counts as missing.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use crate::error::{Found, ReadError};

mod driven;

/// What a recording says of its run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Schema, where named (`whyidle.recording/1`).
    pub schema: Option<String>,
    /// The command that was run.
    pub command: Vec<String>,
    /// Processes that were watched.
    pub pids: Vec<u32>,
    /// Name of the host.
    pub host: Option<String>,
    /// This process's rank.
    pub rank: Option<u32>,
    /// Ranks in the job.
    pub world: Option<u32>,
    /// Unprofiled step times on the host's clock, ms. The first ones may be run-ahead.
    pub steps_host_ms: Vec<f64>,
    /// Unprofiled step time, mean, ms.
    pub step_ms_mean: Option<f64>,
    /// Steps behind `step_ms_mean`.
    pub timed_steps: Option<u32>,
    /// Mean step time while the run was sampled from outside, ms.
    pub observed_step_ms_mean: Option<f64>,
    /// Steps behind `observed_step_ms_mean`.
    pub observed_steps: Option<u32>,
    /// Steps that were profiled.
    pub active_steps: Option<u32>,
    /// Highest memory in use by tensors, bytes.
    pub max_memory_allocated: Option<u64>,
    /// Highest memory held by the caching allocator, bytes.
    pub max_memory_reserved: Option<u64>,
    /// Version of PyTorch.
    pub torch: Option<String>,
    /// Version of CUDA (or HIP), where recorded.
    pub cuda: Option<String>,
    /// Version of the driver, where recorded.
    pub driver: Option<String>,
    /// Version of Python.
    pub python: Option<String>,
    /// Product name of the GPU.
    pub gpu: Option<String>,
    /// Cores that the process may use.
    pub cpus: Option<u32>,
    /// Samples per step of this rank (of one micro-batch, where steps accumulate).
    pub batch: Option<u32>,
    /// Tokens per sample.
    pub seq: Option<u32>,
    /// Loader workers.
    pub workers: Option<u32>,
    /// The loader pins its batches.
    pub pin_memory: Option<bool>,
    /// Batches that each worker prepares ahead.
    pub prefetch_factor: Option<u32>,
    /// Automatic mixed precision was on.
    pub amp: Option<bool>,
    /// Parameters of the model.
    pub params: Option<u64>,
    /// Layers of the model.
    pub layers: Option<u32>,
    /// Width of the model.
    pub d_model: Option<u32>,
    /// `ddp`, `fsdp`, …
    pub wrap: Option<String>,
    /// Micro-batches accumulated per step.
    pub accum: Option<u32>,
    /// Gradients are reduced in the last micro-batch only.
    pub no_sync: Option<bool>,
    /// Micro-batches per step of a pipeline.
    pub micro_batches: Option<u32>,
    /// Stages of a pipeline.
    pub stages: Option<u32>,
    /// The processes that drive GPUs, as `pids` lists them.
    pub drivers: Vec<Driver>,
    /// The job of processes, where it was recorded of each: an agent watches whatever runs on its node.
    pub jobs: BTreeMap<u32, String>,
    /// The command line of processes, where it was recorded of each.
    pub commands: BTreeMap<u32, Vec<String>>,
    /// When the run was steady and undisturbed, Unix seconds.
    pub steady: Option<(f64, f64)>,
    /// What could not be had: what, why, and the detail.
    pub missing: Vec<(String, String, String)>,
    /// How many files the driving process may open.
    pub open_files_limit: Option<u64>,
    /// Size of `/dev/shm`, bytes.
    pub shm_bytes: Option<u64>,
    /// When the watch began, Unix seconds.
    pub started_s: Option<f64>,
    /// The watch began with the program.
    pub began: bool,
    /// The watch was cut short after this many seconds.
    pub cut_short_s: Option<f64>,
    /// The program ended after this many seconds of the watch, before the watch was over.
    pub ended_s: Option<f64>,
    /// Processes on the GPUs that are not the program's: physical number of the GPU, process, its memory in bytes.
    pub others_on_gpu: Vec<(u32, u32, Option<u64>)>,
}

/// A process that drives a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver {
    /// Its id.
    pub pid: u32,
    /// Its rank, where its environment said.
    pub rank: Option<u32>,
    /// Physical number of its GPU, where the recorder could tell.
    pub gpu: Option<u32>,
}

impl Recording {
    /// The processes that drive GPUs are programs of their own: of different jobs, or no ranks of one.
    #[must_use]
    pub fn holds_several_programs(&self) -> bool {
        let job = |driver: &Driver| self.jobs.get(&driver.pid);
        let [first, others @ ..] = &self.drivers[..] else { return false };
        let is_apart = |one: &Driver| job(one) != job(first) || first.rank.is_none() || one.rank.is_none();
        !self.jobs.is_empty() && others.iter().any(is_apart)
    }
}

/// Reads what `dir` says of the process with number `rank`: `recording_rank<N>.json` or
/// `recording.json`, else `case_rank<N>.json`, else `case.json`. `None`: there is no such
/// file. Without a rank, rank 0 speaks where there is no file for the whole.
///
/// # Errors
/// Where a file is there but cannot be read, or is no JSON object.
pub fn read(dir: &Path, rank: Option<u32>) -> Result<Option<Recording>, ReadError> {
    let n = rank.unwrap_or(0);
    let (ranked_recording, ranked_case) = (format!("recording_rank{n}.json"), format!("case_rank{n}.json"));
    let names = match rank {
        Some(_) => [&*ranked_recording, "recording.json", &*ranked_case, "case.json"],
        None => ["recording.json", &*ranked_recording, "case.json", &*ranked_case],
    };
    for name in names {
        let path = dir.join(name);
        if path.exists() {
            return read_file(&path).map(Some);
        }
    }
    Ok(None)
}

/// As [`read`]; a description that makes no sense, as one that was half written when the watcher was killed, is
/// `(None, true)`: the tables beside it may be sound.
///
/// # Errors
/// Where the file system refuses, or the description is of a later version.
pub fn read_if_sound(dir: &Path, rank: Option<u32>) -> Result<(Option<Recording>, bool), ReadError> {
    match read(dir, rank) {
        Ok(found) => Ok((found, false)),
        Err(ReadError::Unreadable { .. } | ReadError::NotATrace { .. }) => Ok((None, true)),
        Err(error) => Err(error),
    }
}

/// A schema of this kind with a number that is not known yet.
fn is_newer(schema: &str) -> bool {
    const KNOWN: u32 = 1;
    let number = schema.strip_prefix("whyidle.recording/");
    number.and_then(|number| number.parse::<u32>().ok()).is_some_and(|number| number > KNOWN)
}

/// No description is read beyond this, bytes: the steps of weeks take less.
const LARGEST: u64 = 64 << 20;

/// Reads one such file.
///
/// # Errors
/// Where it cannot be read, or is no JSON object.
pub fn read_file(path: &Path) -> Result<Recording, ReadError> {
    let path = path.to_owned();
    if path.exists() && !path.is_file() {
        return Err(ReadError::NotATrace { path, found: Found::Binary });
    }
    let mut text = Vec::new();
    let read = fs::File::open(&path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut text));
    if read.map_err(|error| ReadError::io(&path, error))? as u64 > LARGEST {
        return Err(ReadError::Unreadable { path, byte: LARGEST });
    }
    match serde_json::from_slice::<Value>(&text) {
        Ok(value) if value.is_object() => match from_json(&value) {
            Recording { schema: Some(schema), .. } if is_newer(&schema) => {
                Err(ReadError::NewerSchema { path, schema })
            }
            recording => Ok(recording),
        },
        Ok(_) => Err(ReadError::NotATrace { path, found: Found::Json }),
        Err(error) => Err(ReadError::Unreadable { path, byte: byte_of(&text, &error) }),
    }
}

/// What `recording.json` says, from its text; `None` where that is no JSON object.
#[must_use]
pub fn from_text(text: &[u8]) -> Option<Recording> {
    serde_json::from_slice::<Value>(text).ok().filter(Value::is_object).map(|value| from_json(&value))
}

fn byte_of(text: &[u8], error: &serde_json::Error) -> u64 {
    let lines = text.split_inclusive(|&b| b == b'\n').take(error.line().saturating_sub(1));
    let before: usize = lines.map(<[u8]>::len).sum();
    (before + error.column().saturating_sub(1)).min(text.len()) as u64
}

fn from_json(value: &Value) -> Recording {
    let f = Fields(value);
    Recording {
        schema: f.text(&["schema"]),
        command: f.texts("command"),
        pids: f.pids(),
        host: f.text(&["host", "host_name", "hostname"]),
        rank: f.count(&["rank"]),
        world: f.count(&["world", "world_size"]),
        steps_host_ms: f.numbers("steps_host_ms"),
        step_ms_mean: f.get("step_ms_mean").and_then(Value::as_f64).filter(|ms| *ms > 0.0),
        timed_steps: f.count(&["timed_steps"]),
        observed_step_ms_mean: f.get("observed_step_ms_mean").and_then(Value::as_f64).filter(|ms| *ms > 0.0),
        observed_steps: f.count(&["observed_steps"]),
        active_steps: f.count(&["active_steps"]),
        max_memory_allocated: f.get("max_memory_allocated").and_then(Value::as_u64),
        max_memory_reserved: f.get("max_memory_reserved").and_then(Value::as_u64),
        torch: f.text(&["torch", "torch_version"]),
        cuda: f.text(&["cuda", "cuda_version", "hip"]),
        driver: f.text(&["driver", "driver_version"]),
        python: f.text(&["python", "python_version"]),
        gpu: f.gpu(),
        cpus: f.count(&["cpus"]),
        batch: f.count(&["batch", "batch_size"]),
        seq: f.count(&["seq", "seq_len"]),
        workers: f.count(&["workers", "num_workers"]),
        pin_memory: f.flag("pin_memory"),
        prefetch_factor: f.count(&["prefetch_factor"]),
        amp: f.flag("amp"),
        params: f.get("params").and_then(Value::as_u64),
        layers: f.count(&["layers"]),
        d_model: f.count(&["d_model"]),
        wrap: f.text(&["wrap"]),
        accum: f.count(&["accum"]),
        no_sync: f.flag("no_sync"),
        micro_batches: f.count(&["micro_batches"]),
        stages: f.count(&["stages"]),
        drivers: f
            .pids()
            .into_iter()
            .map(|pid| Driver {
                pid,
                rank: driven::rank(value, pid),
                gpu: driven::gpu_index(value, Some(pid)),
            })
            .collect(),
        jobs: driven::jobs(value),
        commands: driven::commands(value),
        steady: f.seconds("steady_from").zip(f.seconds("steady_until")).filter(|(from, until)| from < until),
        missing: driven::missing(value),
        open_files_limit: f.get("open_files_limit").and_then(Value::as_u64),
        shm_bytes: f.get("shm_bytes").and_then(Value::as_u64),
        started_s: f.seconds("started"),
        began: f.flag("began").unwrap_or(false),
        cut_short_s: f.seconds("cut_short_s"),
        ended_s: f.seconds("ended_s"),
        others_on_gpu: driven::others_on_gpu(value),
    }
}

/// The members of a recording, by name. Versions may stand in an object of their own.
struct Fields<'a>(&'a Value);

impl<'a> Fields<'a> {
    fn get(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name).or_else(|| self.0.get("versions")?.get(name)).filter(|value| !value.is_null())
    }

    fn text(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| match self.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        })
    }

    fn texts(&self, name: &str) -> Vec<String> {
        match self.get(name) {
            Some(Value::String(text)) => vec![text.clone()],
            Some(Value::Array(list)) => list.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect(),
            _ => Vec::new(),
        }
    }

    fn count(&self, names: &[&str]) -> Option<u32> {
        names.iter().find_map(|name| u32::try_from(self.get(name)?.as_u64()?).ok())
    }

    fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name)? {
            Value::Bool(flag) => Some(*flag),
            Value::Number(number) => number.as_i64().map(|n| n != 0),
            _ => None,
        }
    }

    fn numbers(&self, name: &str) -> Vec<f64> {
        let list = self.get(name).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_f64).filter(|n| n.is_finite()).collect()
    }

    fn seconds(&self, name: &str) -> Option<f64> {
        self.get(name)?.as_f64().filter(|s| (0.0..9e9).contains(s))
    }

    fn pids(&self) -> Vec<u32> {
        let one = self.get("pid").and_then(Value::as_u64);
        let many = self.get("pids").and_then(Value::as_array);
        let all = one.into_iter().chain(many.into_iter().flatten().filter_map(Value::as_u64));
        all.filter_map(|pid| u32::try_from(pid).ok()).collect()
    }

    /// A name, or an object or a list of objects with a name.
    fn gpu(&self) -> Option<String> {
        let value = self.get("gpu").or_else(|| self.get("gpus"))?;
        let wanted = driven::gpu_index(self.0, self.pids().first().copied()).unwrap_or(0);
        let at = |list: &'a Vec<Value>| list.get(wanted as usize).or_else(|| list.first());
        let value = value.as_array().map_or(Some(value), at)?;
        value.as_str().or_else(|| value.get("name")?.as_str()).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name_and_files_by_rank() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        assert_eq!(read(dir.path(), None)?, None);
        fs::write(
            dir.path().join("case_rank1.json"),
            r#"{"rank": 1, "world": 2, "steps_host_ms": [1.5, null, 2], "step_ms_mean": 1.75, "workers": "many",
               "gpu": "NVIDIA H200", "no_sync": false, "new": {"thing": 1}}"#,
        )?;
        assert_eq!(read(dir.path(), None)?, None);
        let recording = read(dir.path(), Some(1))?.unwrap_or_default();
        assert_eq!((recording.rank, recording.world, recording.workers), (Some(1), Some(2), None));
        assert_eq!(recording.steps_host_ms, [1.5, 2.0]);
        assert_eq!(recording.no_sync, Some(false));
        fs::write(
            dir.path().join("recording.json"),
            r#"{"schema": "whyidle.recording/1", "pids": [7, 8], "gpu": [{"name": "A"}], "versions": {"torch": "2.11.0"}}"#,
        )?;
        let recording = read(dir.path(), Some(1))?.unwrap_or_default();
        assert_eq!((recording.gpu.as_deref(), recording.torch.as_deref()), (Some("A"), Some("2.11.0")));
        assert_eq!(recording.pids, [7, 8]);
        // A rank that recorded itself is believed before the whole.
        fs::write(dir.path().join("recording_rank1.json"), r#"{"rank": 1, "step_ms_mean": 3.5}"#)?;
        assert_eq!(read(dir.path(), Some(1))?.unwrap_or_default().step_ms_mean, Some(3.5));
        assert_eq!(read(dir.path(), None)?.unwrap_or_default().pids, [7, 8]);
        fs::write(dir.path().join("recording.json"), "{\n \"a\": tru }")?;
        assert!(matches!(read(dir.path(), None), Err(ReadError::Unreadable { byte: 11 | 12, .. })));
        Ok(())
    }
}
