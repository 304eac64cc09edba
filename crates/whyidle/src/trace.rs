//! `whyidle trace`: read, judge, print.

mod read;
mod refused;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use whyidle_analysis::device::devices;
use whyidle_analysis::facts::{DeviceFacts, Facts};
use whyidle_analysis::signals::{Hints, signals};
use whyidle_diagnosis::case::Case;
use whyidle_diagnosis::{
    Digest, Input, Message, NotJudged, NotOneJob, NotUnderstood, QualityNote, Ranks, Refusal, Verdict,
    Wanted, WhatIf, add_counters, judge, judge_ranks, refuse_device, refuse_step, refuse_trace,
};
use whyidle_model::{NcclLog, Samples, Severity};
use whyidle_readers::{ReadError, find_logs, nccl, other_runs, read_gpu_metrics};
use whyidle_report::CAUSES;

use crate::args::{Showing, TraceOptions};
use crate::drawn::{Sources, drawn};
use crate::evidence::memory::Peak;
use crate::explain;
use crate::output::Output;
use crate::page::Page;
use crate::progress;
use crate::show::{NoVerdict, show};

use read::read;
pub(crate) use read::{File, Loaded, files, known, measured_step_ms, said};
pub(crate) use refused::no_such_rank;
use refused::{no_such_device, no_such_step, not_one_job, not_one_run, nothing_in_common};

pub(crate) fn run(options: &TraceOptions, output: &Output) -> u8 {
    let showing = Showing { format: options.format, verbose: options.verbose };
    let page = match Page::asked(&options.page, output) {
        Ok(page) => page,
        Err(status) => return status,
    };
    let reached =
        question(options).map_err(NoVerdict::NotUnderstood).and_then(|question| verdict(&question, output));
    let status = show(&reached, showing, output);
    let Some(page) = page else { return status };
    let recording = options.paths.iter().map(PathBuf::as_path).find(|path| path.is_dir());
    let sources = Sources { recording, step: options.step.clone(), ..Sources::default() };
    page.of_outcome(&reached, |verdict| drawn(verdict, &sources), status, output)
}

/// What is asked of traces.
#[derive(Default)]
pub(crate) struct Question {
    /// Traces, directories with traces, `-` for standard input.
    pub(crate) paths: Vec<PathBuf>,
    /// Their directories say more of them, though files are given.
    pub(crate) recorded: bool,
    /// What a trace is called, if not by its path.
    pub(crate) name: Option<String>,
    /// The true step, as given.
    pub(crate) step_ms: Option<f64>,
    /// Only these steps.
    pub(crate) step: Option<RangeInclusive<i64>>,
    /// This rank at the top.
    pub(crate) rank: Option<u32>,
    /// This GPU.
    pub(crate) device: Option<i32>,
    /// No replay, and no prediction.
    pub(crate) no_replay: bool,
    /// What is wanted beside the verdict.
    pub(crate) wanted: Wanted,
    /// Peaks of memory that other files show. Of which rank they are nothing says: they are for a trace by itself.
    pub(crate) peaks: Vec<Peak>,
}

fn question(options: &TraceOptions) -> Result<Question, NotUnderstood> {
    Ok(Question {
        paths: options.paths.clone(),
        step_ms: options.step_ms,
        step: options.step.clone(),
        rank: options.rank,
        device: options.device,
        no_replay: options.no_replay,
        wanted: wanted(options)?,
        ..Question::default()
    })
}

/// The verdict on traces.
pub(crate) fn verdict(question: &Question, output: &Output) -> Result<Verdict, NoVerdict> {
    let mut verdict = of_files(question, output)?;
    verdict.quality.extend(question.paths.iter().filter_map(|path| one_of_several(path)));
    Ok(verdict)
}

/// Of several runs below a directory the newest was taken.
fn one_of_several(path: &Path) -> Option<QualityNote> {
    let (others, taken) = other_runs(path)?;
    let text =
        Message::new("note-other-runs").count("count", others).name("path", taken.display().to_string());
    Some(QualityNote { code: "other-runs", severity: Severity::Info, count: others as u64, text })
}

fn of_files(question: &Question, output: &Output) -> Result<Verdict, NoVerdict> {
    let refused = |refusal: Refusal| NoVerdict::Refused(Box::new(refusal));
    let files = files(question).map_err(NoVerdict::Unread)?;
    if files.len() == 1 {
        let one = judge_files(&files, question, output, |_, verdict| verdict).map_err(NoVerdict::Unread)?;
        let Judged { input, rank, outcome, .. } = one.into_iter().next().expect("as many as there are files");
        // A trace that names no rank is of a program of one.
        let is_another = question.rank.is_some_and(|wanted| wanted != rank.unwrap_or(0));
        return match outcome {
            Ok(_) if is_another => Err(refused(no_such_rank(&[input]))),
            Ok(mut verdict) => {
                add_metrics(&mut verdict, &files[0].path);
                Ok(verdict)
            }
            Err(refusal) => Err(NoVerdict::Refused(refusal)),
        };
    }
    let judged = digests(&files, question, output).map_err(NoVerdict::Unread)?;
    let inputs: Vec<Input> = judged.iter().map(|one| one.input.clone()).collect();
    if let Some(refusal) = not_one_job(&judged, &inputs) {
        return Err(refused(refusal));
    }
    let (mut digests, mut refusals) = (Vec::new(), Vec::new());
    for Judged { input, outcome, .. } in judged {
        match outcome {
            Ok(digest) => digests.push(digest),
            Err(refusal) => refusals.push((input.path, *refusal)),
        }
    }
    let together = match Ranks::new(digests) {
        Err(NotOneJob::Times(apart)) => return Err(refused(not_one_run(apart, inputs))),
        together => together.ok().map(|ranks| judge_ranks(&ranks, question.rank)),
    };
    if together == Some(Err(NotJudged::NothingInCommon)) {
        return Err(refused(nothing_in_common(inputs)));
    }
    let Some(Ok(mut verdict)) = together else {
        let mut refusal =
            refusals.into_iter().next().map_or_else(|| no_such_rank(&inputs), |(_, refusal)| refusal);
        refusal.inputs = inputs;
        return Err(refused(refusal));
    };
    verdict.inputs = inputs;
    verdict.quality.extend(refusals.into_iter().map(|(path, refusal)| QualityNote {
        code: "input-left-out",
        severity: Severity::Loss,
        count: 1,
        text: Message::new("note-input-left-out").name("path", path).message("reason", refusal.reason),
    }));
    Ok(verdict)
}

/// Adds what the tracer itself recorded of the GPU's counters.
fn add_metrics(verdict: &mut Verdict, path: &Path) {
    let gpu = read_gpu_metrics(path);
    if gpu.is_empty() {
        return;
    }
    let samples = Samples { gpu, ..Samples::default() };
    let device = u32::try_from(verdict.subject.device).ok();
    add_counters(verdict, &signals(&samples, &Hints { gpu: device, ..Hints::default() }));
}

/// The digest of each trace, with what NCCL's logs beside them say of its paths.
pub(crate) fn digests(
    files: &[File],
    question: &Question,
    output: &Output,
) -> Result<Vec<Judged<Digest>>, ReadError> {
    let mut log = NcclLog::default();
    let mut places: Vec<&Path> = Vec::new();
    for path in question.paths.iter().filter(|path| path.as_os_str() != "-") {
        let beside = path.parent().filter(|_| question.recorded && !path.is_dir());
        places.extend([path.as_path()].into_iter().chain(beside));
    }
    let logs: BTreeSet<PathBuf> =
        places.into_iter().map(find_logs).collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
    for file in logs {
        nccl::read(&file, &mut log)?;
    }
    judge_files(files, question, output, |case, verdict| Digest::new(case, verdict).with_log(&log))
}

/// A trace that was judged by itself, with what was made of that.
pub(crate) struct Judged<T> {
    pub(crate) input: Input,
    pub(crate) rank: Option<u32>,
    world: Option<u32>,
    pub(crate) outcome: Result<T, Box<Refusal>>,
}

/// Judges every trace by itself and keeps what `then` makes of it: no more traces are in memory at a time than there
/// are threads.
pub(crate) fn judge_files<T: Send>(
    files: &[File],
    question: &Question,
    output: &Output,
    then: impl Fn(&Case<'_>, Verdict) -> T + Sync,
) -> Result<Vec<Judged<T>>, ReadError> {
    let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    let bar = progress::bar(output, &paths);
    let advance = |bytes: u64| bar.inc(bytes);
    let judged = files.par_iter().map(|file| judge_file(file, question, &advance, &then)).collect();
    bar.finish_and_clear();
    judged
}

/// Reads one trace after the other and hands each to `then` with its facts: no more than one is in memory at a time.
pub(crate) fn each_file<E: From<ReadError>>(
    files: &[File],
    question: &Question,
    output: &Output,
    mut then: impl FnMut(&Loaded, &Facts) -> Result<(), E>,
) -> Result<(), E> {
    let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    let bar = progress::bar(output, &paths);
    let advance = |bytes: u64| bar.inc(bytes);
    let done = files.iter().try_for_each(|file| {
        let loaded = read(file, question, &advance)?;
        then(&loaded, &Facts::new(&loaded.trace))
    });
    bar.finish_and_clear();
    done
}

/// The verdict on one trace that was read; `None` where it carries none.
pub(crate) fn alone(loaded: &Loaded, facts: &Facts, question: &Question) -> Option<Verdict> {
    let inputs = [loaded.input.clone()];
    if refuse_trace(&loaded.trace, &inputs).is_some() {
        return None;
    }
    let case = prepare(loaded, facts, question, &inputs).ok()?;
    judge(std::slice::from_ref(&case), inputs.to_vec(), &loaded.input.path, &question.wanted)
}

fn judge_file<T>(
    file: &File,
    question: &Question,
    advance: &(dyn Fn(u64) + Sync),
    then: &(impl Fn(&Case<'_>, Verdict) -> T + Sync),
) -> Result<Judged<T>, ReadError> {
    let loaded = read(file, question, advance)?;
    let job = loaded.trace.meta.distributed.as_ref();
    let (rank, world) = (job.map(|job| job.rank), job.map(|job| job.world_size));
    let inputs = [loaded.input.clone()];
    let outcome = match refuse_trace(&loaded.trace, &inputs) {
        Some(refusal) => Err(Box::new(refusal)),
        None => {
            let facts = Facts::new(&loaded.trace);
            prepare(&loaded, &facts, question, &inputs).and_then(|case| {
                let given = question.paths.first().map(|path| path.display().to_string());
                let path = question.name.clone().or(given).unwrap_or_default();
                let cases = std::slice::from_ref(&case);
                let verdict = judge(cases, inputs.to_vec(), &path, &question.wanted);
                verdict.map(|verdict| then(&case, verdict)).ok_or_else(|| Box::new(no_such_rank(&inputs)))
            })
        }
    };
    let [input] = inputs;
    Ok(Judged { input, rank, world, outcome })
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

fn prepare<'a>(
    loaded: &'a Loaded,
    facts: &'a Facts,
    options: &Question,
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
        return Err(Box::new(no_such_device(trace, inputs)));
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
