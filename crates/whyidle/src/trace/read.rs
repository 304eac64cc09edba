//! Which traces are asked about, and each with what its directory and the command line say of it.

use std::path::PathBuf;

use whyidle_diagnosis::{Input, Known};
use whyidle_model::Trace;
use whyidle_planner::Said;
use whyidle_readers::recording::{self, Recording};
use whyidle_readers::{ReadError, ReadOptions, find_logs, find_traces, read_trace, read_trace_from};

use super::Question;
use crate::evidence::memory::peak_of;
use crate::values::{LONGEST_STEP_MS, SHORTEST_STEP_MS};

/// A trace that was read, with what its directory says of it.
pub(crate) struct Loaded {
    pub(crate) trace: Trace,
    pub(crate) input: Input,
    pub(super) known: Known,
}

/// A trace to read.
pub(crate) struct File {
    pub(super) path: PathBuf,
    /// It was found in a directory, which says more of it.
    in_directory: bool,
    /// There is no other.
    is_alone: bool,
}

/// The traces that are asked about.
pub(crate) fn files(question: &Question) -> Result<Vec<File>, ReadError> {
    let mut files = Vec::new();
    for path in &question.paths {
        if path.as_os_str() == "-" {
            files.push(File { path: path.clone(), in_directory: false, is_alone: false });
        } else if path.is_dir() || find_logs(path)?.is_empty() {
            let in_directory = question.recorded || path.is_dir();
            files.extend(find_traces(path)?.into_iter().map(|path| File {
                path,
                in_directory,
                is_alone: false,
            }));
        }
    }
    // Logs alone are no traces, and reading one says so.
    if files.is_empty() {
        files.extend(question.paths.first().map(|path| File {
            path: path.clone(),
            in_directory: false,
            is_alone: false,
        }));
    }
    if let [one] = &mut files[..] {
        one.is_alone = true;
    }
    Ok(files)
}

pub(super) fn read(
    file: &File,
    options: &Question,
    advance: &(dyn Fn(u64) + Sync),
) -> Result<Loaded, ReadError> {
    let &File { ref path, in_directory, is_alone } = file;
    let read_options =
        ReadOptions { progress: Some(advance), device: options.device, ..ReadOptions::default() };
    let trace = if path.as_os_str() == "-" {
        read_trace_from(std::io::stdin(), &read_options)?
    } else {
        read_trace(path, &read_options)?
    };
    let rank = trace.meta.distributed.as_ref().map(|job| job.rank);
    let recorded = match path.parent().filter(|_| in_directory) {
        // A description that makes no sense costs what it would have said, not the verdict.
        Some(directory) => recording::read_if_sound(directory, rank)?.0,
        None => None,
    };
    let name = options.name.clone().unwrap_or_else(|| path.display().to_string());
    let input = Input { path: name, kind: trace.meta.recorder.id(), events: trace.events, rank };
    let mut known = known(recorded.as_ref(), options.step_ms);
    if let Some(directory) = path.parent().filter(|_| in_directory && known.step_measured_ns.is_none()) {
        known.step_measured_ns = crate::diagnose::measured_step(directory, recorded.as_ref(), &trace);
    }
    if let Some(peak) = peak_of(&options.peaks, &trace).filter(|_| is_alone && known.peak_memory.is_none()) {
        known.peak_memory = Some(peak.allocated);
        known.said.peak = Some(peak.allocated);
        known.said.reserved = known.said.reserved.or(peak.reserved);
    }
    Ok(Loaded { known, trace, input })
}

/// What the command line and the recording say.
pub(crate) fn known(recorded: Option<&Recording>, step_ms: Option<f64>) -> Known {
    let ns = |ms: f64| (ms * 1e6).round() as i64;
    Known {
        step_given_ns: step_ms.map(ns),
        step_measured_ns: recorded.and_then(measured_step_ms).map(ns).filter(|&ns| ns > 0),
        workers: recorded.and_then(|recorded| recorded.workers),
        cpus: recorded.and_then(|recorded| recorded.cpus),
        peak_memory: recorded.and_then(|recorded| recorded.max_memory_allocated),
        accumulation: recorded.and_then(|recorded| recorded.accum),
        torch: recorded.and_then(|recorded| recorded.torch.clone()),
        said: recorded.map(said).unwrap_or_default(),
    }
}

/// What a recording says that the planner asks for.
pub(crate) fn said(recorded: &Recording) -> Said {
    Said {
        params: recorded.params,
        stages: recorded.stages.map(u64::from),
        micro_batches: recorded.micro_batches.or(recorded.accum).map(u64::from),
        peak: recorded.max_memory_allocated,
        reserved: recorded.max_memory_reserved,
    }
}

/// The recording's unprofiled step: its mean, else the median of its later half, where the host no
/// longer runs ahead.
pub(crate) fn measured_step_ms(recorded: &Recording) -> Option<f64> {
    let said = recorded.step_ms_mean.or_else(|| {
        let mut later = recorded.steps_host_ms[recorded.steps_host_ms.len() / 2..].to_vec();
        later.sort_by(f64::total_cmp);
        later.get(later.len() / 2).copied()
    });
    said.filter(|ms| (SHORTEST_STEP_MS..=LONGEST_STEP_MS).contains(ms))
}
