//! `whyidle trace`: read, judge, print.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use whyidle_analysis::device::devices;
use whyidle_analysis::facts::{DeviceFacts, Facts};
use whyidle_analysis::ledger::Line;
use whyidle_diagnosis::case::Case;
use whyidle_diagnosis::{
    Input, Known, Message, NotUnderstood, QualityNote, Refusal, Verdict, Wanted, WhatIf, judge,
    refuse_device, refuse_step, refuse_trace,
};
use whyidle_model::{Severity, Trace};
use whyidle_planner::Said;
use whyidle_readers::recording::{self, Recording};
use whyidle_readers::{ReadError, ReadOptions, find_traces, read_trace, read_trace_from};
use whyidle_report::{
    CAUSES, refusal_json, refusal_markdown, refusal_text, render_json, render_markdown, render_text,
};

use crate::args::{Format, TraceOptions};
use crate::explain;
use crate::output::Output;
use crate::progress;
use crate::values::{LONGEST_STEP_MS, SHORTEST_STEP_MS};
use crate::{REACHED, REFUSED, UNREADABLE};

/// A trace that was read, with what its directory says of it.
struct Loaded {
    trace: Trace,
    input: Input,
    known: Known,
}

pub(crate) fn run(options: &TraceOptions, output: &Output) -> u8 {
    match verdict(options, output) {
        Ok(verdict) => print(&verdict, options.format, options.verbose, output),
        Err(NoVerdict::Unread(error)) => {
            output.read_error(&error);
            UNREADABLE
        }
        Err(NoVerdict::NotUnderstood(wrong)) => {
            output.error(&wrong.reason, Some(&wrong.hint));
            UNREADABLE
        }
        Err(NoVerdict::Refused(refusal)) => print_refusal(&refusal, options.format, options.verbose, output),
    }
}

/// Why there is no verdict.
pub(crate) enum NoVerdict {
    /// The input could not be read.
    Unread(ReadError),
    /// What was asked for is not understood.
    NotUnderstood(NotUnderstood),
    /// The evidence does not carry one.
    Refused(Box<Refusal>),
}

/// The verdict on traces.
pub(crate) fn verdict(options: &TraceOptions, output: &Output) -> Result<Verdict, NoVerdict> {
    let refused = |refusal: Refusal| NoVerdict::Refused(Box::new(refusal));
    let wanted = wanted(options).map_err(NoVerdict::NotUnderstood)?;
    let loaded = load(options, output).map_err(NoVerdict::Unread)?;
    let inputs: Vec<Input> = loaded.iter().map(|loaded| loaded.input.clone()).collect();
    if let Some(refusal) = not_one_job(&loaded, &inputs) {
        return Err(refused(refusal));
    }
    let facts: Vec<Option<Facts>> = loaded
        .par_iter()
        .map(|loaded| refuse_trace(&loaded.trace, &[]).is_none().then(|| Facts::new(&loaded.trace)))
        .collect();
    let judged: Vec<Result<Case<'_>, Box<Refusal>>> = loaded
        .par_iter()
        .zip(&facts)
        .map(|(loaded, facts)| match facts {
            Some(facts) => prepare(loaded, facts, options, &inputs),
            None => {
                Err(Box::new(refuse_trace(&loaded.trace, &inputs).unwrap_or_else(|| no_such_rank(&inputs))))
            }
        })
        .collect();
    let (mut cases, mut refusals) = (Vec::new(), Vec::new());
    for (judged, input) in judged.into_iter().zip(&inputs) {
        match judged {
            Ok(case) => cases.push(case),
            Err(refusal) => refusals.push((input.path.clone(), *refusal)),
        }
    }
    order(&mut cases, options.rank);
    let path = options.paths.first().map(|path| path.display().to_string()).unwrap_or_default();
    let Some(mut verdict) = judge(&cases, inputs.clone(), &path, &wanted) else {
        let refusal =
            refusals.into_iter().next().map_or_else(|| no_such_rank(&inputs), |(_, refusal)| refusal);
        return Err(refused(refusal));
    };
    verdict.quality.extend(refusals.into_iter().map(|(path, refusal)| QualityNote {
        code: "input-left-out",
        severity: Severity::Loss,
        count: 1,
        text: Message::new("note-input-left-out").name("path", path).message("reason", refusal.reason),
    }));
    Ok(verdict)
}

/// What is wanted beside the verdict.
fn wanted(options: &TraceOptions) -> Result<Wanted, NotUnderstood> {
    let parse = |text: &String| WhatIf::parse(text).map_err(suggest);
    let what_if = options.what_if.iter().map(parse).collect::<Result<_, _>>()?;
    Ok(Wanted { what_if, critical_path: options.critical_path })
}

/// A cause that has a page is known, though it cannot be replayed; a slip finds what was meant.
fn suggest(mut wrong: NotUnderstood) -> NotUnderstood {
    if wrong.reason.id == "what-if-unknown" {
        if CAUSES.contains(&wrong.cause.as_str()) {
            wrong.reason = Message::new("what-if-no-lever").name("cause", &wrong.cause);
        } else if let Some(near) = explain::nearest(&wrong.cause) {
            wrong.hint = Message::new("cli-did-you-mean").name("cause", near);
        }
    }
    wrong
}

/// Several traces must be the ranks of one job: each with a rank of its own, of the same number of ranks.
fn not_one_job(loaded: &[Loaded], inputs: &[Input]) -> Option<Refusal> {
    if loaded.len() < 2 {
        return None;
    }
    let jobs: Vec<_> = loaded.iter().map(|loaded| loaded.trace.meta.distributed.as_ref()).collect();
    let mut ranks: Vec<u32> = jobs.iter().flatten().map(|job| job.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let sizes_agree =
        jobs.windows(2).all(|pair| pair[0].map(|job| job.world_size) == pair[1].map(|job| job.world_size));
    if ranks.len() == loaded.len() && sizes_agree {
        return None;
    }
    Some(Refusal {
        code: "not-one-job",
        reason: Message::new("refusal-not-one-job").count("count", loaded.len()),
        hint: Message::new("refusal-not-one-job-hint"),
        inputs: inputs.to_vec(),
        quality: Vec::new(),
    })
}

fn load(options: &TraceOptions, output: &Output) -> Result<Vec<Loaded>, ReadError> {
    let mut files: Vec<(PathBuf, bool)> = Vec::new();
    for path in &options.paths {
        if path.as_os_str() == "-" {
            files.push((path.clone(), false));
        } else {
            let in_directory = path.is_dir();
            files.extend(find_traces(path)?.into_iter().map(|file| (file, in_directory)));
        }
    }
    let paths: Vec<PathBuf> = files.iter().map(|(path, _)| path.clone()).collect();
    let bar = progress::bar(output, &paths);
    let advance = |bytes: u64| bar.inc(bytes);
    let loaded =
        files.par_iter().map(|(path, in_directory)| read(path, *in_directory, options, &advance)).collect();
    bar.finish_and_clear();
    loaded
}

fn read(
    path: &Path,
    in_directory: bool,
    options: &TraceOptions,
    advance: &(dyn Fn(u64) + Sync),
) -> Result<Loaded, ReadError> {
    let read_options = ReadOptions { progress: Some(advance), ..ReadOptions::default() };
    let trace = if path.as_os_str() == "-" {
        read_trace_from(std::io::stdin(), &read_options)?
    } else {
        read_trace(path, &read_options)?
    };
    let rank = trace.meta.distributed.as_ref().map(|job| job.rank);
    let recorded = match path.parent().filter(|_| in_directory) {
        Some(directory) => recording::read(directory, rank)?,
        None => None,
    };
    let input = Input { path: path.display().to_string(), kind: "kineto", events: trace.events, rank };
    let mut known = known(recorded.as_ref(), options.step_ms);
    if let Some(directory) = path.parent().filter(|_| in_directory && known.step_measured_ns.is_none()) {
        known.step_measured_ns = crate::diagnose::measured_step(directory, recorded.as_ref(), &trace);
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

fn prepare<'a>(
    loaded: &'a Loaded,
    facts: &'a Facts,
    options: &TraceOptions,
    inputs: &[Input],
) -> Result<Case<'a>, Box<Refusal>> {
    let trace = &loaded.trace;
    let keep = |number: i64| options.step.as_ref().is_none_or(|range| range.contains(&number));
    let wanted = |device: &i32| options.device.is_none_or(|wanted| wanted == *device);
    let device: Option<DeviceFacts> = devices(trace)
        .into_iter()
        .filter(wanted)
        .map(|device| facts.device(trace, device, keep))
        .max_by_key(|device| device.occupancy.working_ns);
    let Some(device) = device else {
        return Err(Box::new(Refusal {
            code: "no-such-device",
            reason: Message::new("refusal-no-such-device"),
            hint: Message::new("refusal-no-such-device-hint").name("devices", list(&devices(trace))),
            inputs: inputs.to_vec(),
            quality: Vec::new(),
        }));
    };
    if let Some(refusal) = no_such_step(trace, facts, &device, options, inputs) {
        return Err(Box::new(refusal));
    }
    match refuse_device(trace, facts, &device, inputs) {
        Some(refusal) => Err(Box::new(refusal)),
        None => {
            let known = loaded.known.clone();
            let case = if options.no_replay {
                Case::without_replay(trace, facts, device, known)
            } else {
                Case::new(trace, facts, device, known)
            };
            refuse_step(&case, inputs).map_or(Ok(case), |refusal| Err(Box::new(refusal)))
        }
    }
}

/// `--step` named only steps that are not there, or not whole.
fn no_such_step(
    trace: &Trace,
    facts: &Facts,
    device: &DeviceFacts,
    options: &TraceOptions,
    inputs: &[Input],
) -> Option<Refusal> {
    if options.step.is_none() || !device.steps.used.is_empty() {
        return None;
    }
    let whole: Vec<i64> =
        facts.device(trace, device.device, |_| true).steps.used.iter().map(|step| step.number).collect();
    let (first, last) = (whole.first()?, whole.last()?);
    Some(Refusal {
        code: "no-such-step",
        reason: Message::new("refusal-no-such-step"),
        hint: Message::new("refusal-no-such-step-hint")
            .name("first", first.to_string())
            .name("last", last.to_string()),
        inputs: inputs.to_vec(),
        quality: Vec::new(),
    })
}

fn list(devices: &[i32]) -> String {
    devices.iter().map(i32::to_string).collect::<Vec<_>>().join(", ")
}

fn no_such_rank(inputs: &[Input]) -> Refusal {
    Refusal {
        code: "no-such-rank",
        reason: Message::new("refusal-no-such-rank"),
        hint: Message::new("refusal-no-such-rank-hint"),
        inputs: inputs.to_vec(),
        quality: Vec::new(),
    }
}

/// Puts the rank to show first: the one asked for, else the one that waits least inside collectives,
/// because that is the one the others wait for.
fn order(cases: &mut Vec<Case<'_>>, rank: Option<u32>) {
    if let Some(rank) = rank {
        let known = cases.iter().any(|case| case.rank().is_some());
        if known && !cases.iter().any(|case| case.rank() == Some(rank)) {
            cases.clear();
            return;
        }
        cases.sort_by_key(|case| (case.rank() != Some(rank), case.rank()));
        return;
    }
    let waits = |case: &Case<'_>| case.device.ledger.total(Line::Communication);
    let first = (0..cases.len()).min_by_key(|&at| (waits(&cases[at]), cases[at].rank()));
    if let Some(first) = first {
        let case = cases.remove(first);
        cases.sort_by_key(Case::rank);
        cases.insert(0, case);
    }
}

pub(crate) fn print(verdict: &Verdict, format: Format, verbose: bool, output: &Output) -> u8 {
    let text = match format {
        Format::Text => render_text(verdict, &output.catalog, &output.text_options(verbose)),
        Format::Json => render_json(verdict, &output.catalog),
        Format::Md => render_markdown(verdict, &output.catalog),
    };
    output.data(&text, REACHED)
}

pub(crate) fn print_refusal(refusal: &Refusal, format: Format, verbose: bool, output: &Output) -> u8 {
    let text = match format {
        Format::Text => refusal_text(refusal, &output.catalog, &output.text_options(verbose)),
        Format::Json => refusal_json(refusal, &output.catalog),
        Format::Md => refusal_markdown(refusal, &output.catalog),
    };
    output.data(&text, REFUSED)
}
