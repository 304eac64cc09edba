//! `whyidle diagnose`: whatever was recorded of a run, each file read as what its content says it is, and one answer.
//!
//! Traces and samples come to a verdict; what else there is – the machine, single kernels, memory, ranks – has a page of
//! its own below it. A directory is a recording: what lies in it belongs together.

mod logs;
pub(crate) mod memory;
mod ncu;

use std::path::{Path, PathBuf};

use whyidle_diagnosis::{Input, Message, Verdict};
use whyidle_model::MachineFacts;
use whyidle_readers::{
    Format as FileFormat, ReadError, ReadOptions, find_evidence, find_traces, read_trace, samples,
};
use whyidle_report::{
    Contribution, Drawn, EvidenceReport, Reached, machine_notes, render_evidence_json,
    render_evidence_markdown, render_evidence_text,
};

use self::memory::{Memory, Peak};
use crate::args::{DiagnoseOptions, Format, Showing};
use crate::diagnose::Others;
use crate::drawn::{Sources, drawn};
use crate::output::{Output, in_words};
use crate::page::{self, Page};
use crate::show::NoVerdict;
use crate::trace::{self, Question};
use crate::{REACHED, REFUSED, UNREADABLE, diagnose, ranks, show};

/// What files come to.
pub(crate) struct Answer {
    /// Traces and samples; `None` where there are none, or they carry nothing.
    reached: Option<Outcome>,
    /// What else there is.
    pub(crate) evidence: EvidenceReport,
    /// What a page draws beside a verdict, where that was asked for.
    pub(crate) drawn: Drawn,
    /// Logs stand beside a recording or a trace, or alone.
    has_logs: bool,
}

impl Answer {
    /// As it is shown; else why there is nothing to show.
    pub(crate) fn shown_as(&self) -> Result<Option<Reached<'_>>, Message> {
        match &self.reached {
            Some(Ok(verdict)) => Ok(Some(Reached::Verdict(verdict))),
            Some(Err(NoVerdict::Refused(refusal))) => Ok(Some(Reached::Refused(refusal))),
            Some(Err(NoVerdict::Unread(error))) => Err(in_words(error)),
            Some(Err(NoVerdict::NotUnderstood(wrong))) => Err(wrong.reason.clone()),
            None => Ok(None),
        }
    }
}

/// Reads all of `paths`. `is_drawn`: a page will show it.
///
/// # Errors
/// Where nothing of them can be read.
pub(crate) fn answer(
    paths: &[PathBuf],
    step_ms: Option<f64>,
    is_drawn: bool,
    output: &Output,
) -> Result<Answer, ReadError> {
    let mut given = Given::sort(paths);
    let logged = given.logs();
    let memory = given.take_memory();
    let mut reached = given.verdict(&logged, memory.peaks(), step_ms, output);
    let verdict = reached.as_ref().and_then(|reached| reached.as_ref().ok());
    let drawn = match verdict.filter(|_| is_drawn) {
        Some(verdict) => {
            let recording = given.recordings.first().map(PathBuf::as_path);
            drawn(verdict, &Sources { recording, samples: Some(&logged.samples), ..Sources::default() })
        }
        None => Drawn { command: page::command(), ..Drawn::default() },
    };
    let mut evidence = given.evidence(verdict, logged, memory)?;
    // What cannot be read is worth a word beside what can; by itself it is an error.
    let is_nothing = reached.is_none() && evidence.is_empty() && evidence.contributions.is_empty();
    let (mut unread, has_logs) = (std::mem::take(&mut given.unread), !given.logs.is_empty());
    if is_nothing && !unread.is_empty() {
        return Err(unread.swap_remove(0).1);
    }
    evidence.contributions.extend(unread.iter().map(|(path, error)| {
        let text = Message::new("evidence-nothing").message("reason", in_words(error));
        contribution(path, "unread", 0, text)
    }));
    if let Some(why) = given.nothing_to_judge(&reached, &evidence) {
        evidence.why = why;
        reached = None;
    }
    Ok(Answer { reached, evidence, drawn, has_logs })
}

pub(crate) fn run(options: &DiagnoseOptions, output: &Output) -> u8 {
    let page = match Page::asked(&options.page, output) {
        Ok(page) => page,
        Err(status) => return status,
    };
    if several_recordings(&options.paths) {
        let several = Message::new("cli-several-recordings");
        output.error(&several, Some(&Message::new("cli-several-recordings-hint")));
        return UNREADABLE;
    }
    let answer = match answer(&options.paths, options.step_ms, page.is_some(), output) {
        Ok(answer) => answer,
        Err(error) => {
            output.read_error(&error);
            return UNREADABLE;
        }
    };
    let (reached, evidence) = (&answer.reached, &answer.evidence);
    let write = |status: u8| match (&page, answer.shown_as()) {
        (Some(page), Ok(shown)) => page.of(shown, evidence, &answer.drawn, status, output),
        _ => status,
    };
    write(match reached {
        // A recording or a trace by itself is judged as ever; a log that carries no verdict says what it holds.
        Some(reached)
            if evidence.is_empty()
                && evidence.contributions.len() < 2
                && (reached.is_ok() || !answer.has_logs) =>
        {
            show::show(reached, options.showing, output)
        }
        Some(Ok(verdict)) => {
            output.data(&render(Some(Reached::Verdict(verdict)), evidence, options.showing, output), REACHED)
        }
        Some(Err(NoVerdict::Refused(refusal))) => {
            let refused = Some(Reached::Refused(refusal));
            output.data(&render(refused, evidence, options.showing, output), REFUSED)
        }
        None => output.data(&render(None, evidence, options.showing, output), REACHED),
        Some(none) => show::show(none, options.showing, output),
    })
}

/// There are different folders among them.
fn several_recordings(paths: &[PathBuf]) -> bool {
    let folders = paths.iter().filter(|path| path.is_dir());
    let folders: std::collections::BTreeSet<PathBuf> =
        folders.map(|path| path.canonicalize().unwrap_or_else(|_| path.clone())).collect();
    folders.len() > 1
}

fn render(
    reached: Option<Reached<'_>>,
    evidence: &EvidenceReport,
    showing: Showing,
    output: &Output,
) -> String {
    match showing.format {
        Format::Text => {
            let options = output.text_options(showing.verbose);
            render_evidence_text(reached, evidence, &output.catalog, &options)
        }
        Format::Json => render_evidence_json(reached, evidence, &output.catalog),
        Format::Md => render_evidence_markdown(reached, evidence, &output.catalog),
    }
}

/// A verdict, or why there is none.
type Outcome = Result<Verdict, NoVerdict>;

/// What was given, by kind.
#[derive(Default)]
struct Given {
    recordings: Vec<PathBuf>,
    traces: Vec<PathBuf>,
    /// Prints of Nsight Compute.
    kernels: Vec<PathBuf>,
    /// Snapshots and summaries.
    memory: Vec<(PathBuf, FileFormat)>,
    /// Flight recorders and NCCL's logs.
    ranks: Vec<(PathBuf, FileFormat)>,
    /// What other tools print: series, stacks, facts of the machine.
    logs: Vec<PathBuf>,
    /// What could not be read, and why.
    unread: Vec<(PathBuf, ReadError)>,
}

impl Given {
    fn sort(paths: &[PathBuf]) -> Self {
        let mut given = Self::default();
        let mut seen = Vec::new();
        for path in paths {
            // The same file twice says the same once.
            let same = path.canonicalize().unwrap_or_else(|_| path.clone());
            if seen.contains(&same) {
                continue;
            }
            seen.push(same);
            if path.is_dir() {
                given.recordings.push(path.clone());
            }
            let found = match find_evidence(path) {
                Ok(found) => found,
                Err(error) => {
                    given.unread.push((path.clone(), error));
                    continue;
                }
            };
            for (file, format) in found {
                let name = file.file_name().map(|name| name.to_string_lossy());
                match format {
                    FileFormat::MemorySnapshot | FileFormat::MemorySummary => {
                        given.memory.push((file, format))
                    }
                    FileFormat::Flight | FileFormat::Nccl => given.ranks.push((file, format)),
                    FileFormat::Ncu => given.kernels.push(file),
                    // A recording finds its own traces and samples.
                    _ if path.is_dir() && name.is_some_and(|name| samples::FILES.contains(&&*name)) => {}
                    _ if FileFormat::LOGS.contains(&format) => given.logs.push(file),
                    _ if path.is_dir() => {}
                    _ => given.traces.push(file),
                }
            }
        }
        given
    }

    /// What the logs hold together.
    fn logs(&mut self) -> logs::Logged {
        let paths: Vec<&Path> = self.logs.iter().map(PathBuf::as_path).collect();
        let (logged, unread) = logs::read(&paths);
        self.logs.retain(|path| unread.iter().all(|(of, _)| of != path));
        self.unread.extend(unread);
        logged
    }

    /// What snapshots and summaries hold.
    fn take_memory(&mut self) -> Memory {
        let (memory, unread) = Memory::read(&self.memory);
        self.memory.retain(|(path, _)| unread.iter().all(|(of, _)| of != path));
        self.unread.extend(unread);
        memory
    }

    /// What traces and samples come to; `None` where there are none.
    fn verdict(
        &self,
        logged: &logs::Logged,
        peaks: Vec<Peak>,
        step_ms: Option<f64>,
        output: &Output,
    ) -> Option<Outcome> {
        let question = Question { paths: self.traces.clone(), step_ms, peaks, ..Question::default() };
        let mut reached = match self.recordings.first() {
            Some(dir) => {
                let others = Others { samples: &logged.samples, peaks: question.peaks };
                diagnose::verdict_with(dir, others, step_ms, output)
            }
            None if !self.traces.is_empty() => {
                trace::verdict(&question, output).map(|verdict| logs::beside(verdict, logged))
            }
            None if !self.logs.is_empty() => return Some(logs::verdict(logged, step_ms)),
            None => return None,
        };
        if let Ok(verdict) = &mut reached {
            verdict.quality.extend(machine_notes(&logged.machine));
        }
        Some(reached)
    }

    /// There is nothing to judge, but something else to say: why there is no verdict, if that needs saying.
    fn nothing_to_judge(
        &self,
        reached: &Option<Outcome>,
        evidence: &EvidenceReport,
    ) -> Option<Option<Message>> {
        match reached {
            _ if evidence.is_empty() => None,
            Some(Err(NoVerdict::Refused(refusal))) if refusal.code == "no-samples" => Some(None),
            Some(Err(NoVerdict::Refused(refusal)))
                if self.recordings.is_empty() && self.traces.is_empty() =>
            {
                Some(evidence.machine.as_ref().map(|_| refusal.reason.clone()))
            }
            _ => None,
        }
    }

    /// The trace that other evidence is joined with: the first.
    fn trace(&self) -> Option<PathBuf> {
        let in_recording = || find_traces(self.recordings.first()?).ok()?.into_iter().next();
        self.traces.first().cloned().or_else(in_recording)
    }

    /// What else there is.
    fn evidence(
        &mut self,
        verdict: Option<&Verdict>,
        logged: logs::Logged,
        memory: Memory,
    ) -> Result<EvidenceReport, ReadError> {
        let mut evidence = EvidenceReport::default();
        let of_logs = self.logs.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        let judged = verdict.into_iter().flat_map(|verdict| &verdict.inputs);
        evidence.contributions =
            judged.filter(|input| !of_logs.contains(&input.path)).map(judge_from).collect();
        evidence.contributions.extend(logged.given);
        evidence.machine = Some(logged.machine).filter(|machine: &MachineFacts| !machine.is_empty());
        // Read once for all that is joined with it.
        let trace = match self.trace().filter(|_| !self.kernels.is_empty() || memory.has_snapshots()) {
            Some(path) => {
                let trace = read_trace(&path, &ReadOptions::default())?;
                Some((path, trace))
            }
            None => None,
        };
        let trace = trace.as_ref().map(|(path, trace)| (path.as_path(), trace));
        if !self.kernels.is_empty() {
            let (report, unread) = ncu::read(&self.kernels, trace);
            self.kernels.retain(|path| unread.iter().all(|(of, _)| of != path));
            self.unread.extend(unread);
            let text = || Message::new("evidence-kernels").count("count", report.launches);
            let rows = report.launches as u64;
            evidence
                .contributions
                .extend(self.kernels.iter().map(|path| contribution(path, "ncu", rows, text())));
            evidence.kernels = Some(report).filter(|_| !self.kernels.is_empty());
        }
        if !self.memory.is_empty() {
            evidence.memory = Some(memory.report(trace));
            evidence.contributions.extend(self.memory.iter().map(|(path, format)| {
                let text = match format {
                    FileFormat::MemorySnapshot => Message::new("evidence-snapshot"),
                    _ => Message::new("evidence-summary"),
                };
                contribution(path, format.id(), 1, text)
            }));
        }
        if !self.ranks.is_empty() {
            let paths: Vec<PathBuf> = self.ranks.iter().map(|(path, _)| path.clone()).collect();
            let report = ranks::report(&paths)?;
            let refused = ranks::refuse(&report);
            evidence.contributions.extend(self.ranks.iter().map(|(path, format)| {
                let text = match format {
                    FileFormat::Flight => Message::new("evidence-dump"),
                    _ => Message::new("evidence-nccl"),
                };
                let nothing =
                    |(reason, _)| Message::new("evidence-nothing").message("reason", Message::new(reason));
                contribution(path, format.id(), 1, refused.map_or(text, nothing))
            }));
            evidence.ranks = Some(report).filter(|_| refused.is_none());
        }
        Ok(evidence)
    }
}

/// What each file contributed to a verdict that rests on traces and samples alone.
pub(crate) fn of_inputs(inputs: &[Input]) -> EvidenceReport {
    EvidenceReport { contributions: inputs.iter().map(judge_from).collect(), ..EvidenceReport::default() }
}

/// What the verdict was reached from.
fn judge_from(input: &Input) -> Contribution {
    let (kind, text) = match input.kind {
        "samples" => ("samples", Message::new("evidence-samples")),
        kind => (kind, Message::new("evidence-trace")),
    };
    let text = text.count("count", input.events);
    Contribution { path: input.path.clone(), kind, rows: input.events, text }
}

fn contribution(path: &Path, kind: &'static str, rows: u64, text: Message) -> Contribution {
    Contribution { path: path.display().to_string(), kind, rows, text }
}
