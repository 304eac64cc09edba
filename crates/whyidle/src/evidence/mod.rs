//! `whyidle diagnose`: whatever was recorded of a run, each file read as what its content says it is, and one answer.
//!
//! Traces and samples come to a verdict; what else there is – memory, single kernels, ranks – has a page of its own
//! below it. A directory is a recording: what lies in it belongs together.

mod memory;

use std::path::PathBuf;

use whyidle_diagnosis::{Input, Message, Refusal, Verdict};
use whyidle_readers::{Format as FileFormat, ReadError, find_evidence, find_traces};
use whyidle_report::{
    Contribution, EvidenceReport, Reached, render_evidence_json, render_evidence_markdown,
    render_evidence_text,
};

use crate::args::{DiagnoseOptions, Format, Showing};
use crate::output::Output;
use crate::show::NoVerdict;
use crate::trace::{self, Question};
use crate::{REACHED, REFUSED, UNREADABLE, diagnose, ranks, show};

pub(crate) fn run(options: &DiagnoseOptions, output: &Output) -> u8 {
    let given = match Given::sort(&options.paths) {
        Ok(given) => given,
        Err(error) => {
            output.read_error(&error);
            return UNREADABLE;
        }
    };
    if given.recordings.len() > 1 {
        let several = Message::new("cli-several-recordings");
        output.error(&several, Some(&Message::new("cli-several-recordings-hint")));
        return UNREADABLE;
    }
    let reached = given.verdict(options, output);
    let evidence = match given.evidence(reached.as_ref().and_then(|reached| reached.as_ref().ok())) {
        Ok(evidence) => evidence,
        Err(error) => {
            output.read_error(&error);
            return UNREADABLE;
        }
    };
    match reached {
        // Nothing to judge, but something else to say.
        Some(Err(NoVerdict::Refused(refusal))) if refusal.code == "no-samples" && !evidence.is_empty() => {
            output.data(&render(None, &evidence, options.showing, output), REACHED)
        }
        // A recording by itself is judged as ever, also where it has nothing to judge.
        Some(reached) if evidence.is_empty() => show::show(&reached, options.showing, output),
        Some(Err(NoVerdict::Refused(refusal))) => refused(&refusal, &evidence, options.showing, output),
        Some(Ok(verdict)) => {
            let text = render(Some(Reached::Verdict(&verdict)), &evidence, options.showing, output);
            output.data(&text, REACHED)
        }
        Some(Err(NoVerdict::Unread(ReadError::NoTrace { .. }))) | None => {
            output.data(&render(None, &evidence, options.showing, output), REACHED)
        }
        Some(none) => show::show(&none, options.showing, output),
    }
}

/// No verdict, but other evidence: it is shown, and the exit status is that of the other evidence.
fn refused(refusal: &Refusal, evidence: &EvidenceReport, showing: Showing, output: &Output) -> u8 {
    output.data(&render(Some(Reached::Refused(refusal)), evidence, showing, output), REFUSED)
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

/// What was given, by kind.
#[derive(Default)]
struct Given {
    recordings: Vec<PathBuf>,
    traces: Vec<PathBuf>,
    /// Snapshots and summaries.
    memory: Vec<(PathBuf, FileFormat)>,
    /// Flight recorders and NCCL's logs.
    ranks: Vec<(PathBuf, FileFormat)>,
}

impl Given {
    fn sort(paths: &[PathBuf]) -> Result<Self, ReadError> {
        let mut given = Self::default();
        for path in paths {
            if path.is_dir() {
                given.recordings.push(path.clone());
            }
            for (file, format) in find_evidence(path)? {
                match format {
                    FileFormat::MemorySnapshot | FileFormat::MemorySummary => {
                        given.memory.push((file, format))
                    }
                    FileFormat::Flight | FileFormat::Nccl => given.ranks.push((file, format)),
                    // A recording finds its own traces and samples.
                    _ if path.is_dir() => {}
                    _ => given.traces.push(file),
                }
            }
        }
        Ok(given)
    }

    /// What traces and samples come to; `None` where there are none.
    fn verdict(
        &self,
        options: &DiagnoseOptions,
        output: &Output,
    ) -> Option<Result<whyidle_diagnosis::Verdict, NoVerdict>> {
        if let Some(dir) = self.recordings.first() {
            return Some(diagnose::verdict(dir, options.step_ms, output));
        }
        let question =
            Question { paths: self.traces.clone(), step_ms: options.step_ms, ..Question::default() };
        (!self.traces.is_empty()).then(|| trace::verdict(&question, output))
    }

    /// The trace that other evidence is joined with: the first.
    fn trace(&self) -> Option<PathBuf> {
        let in_recording = || find_traces(self.recordings.first()?).ok()?.into_iter().next();
        self.traces.first().cloned().or_else(in_recording)
    }

    /// What else there is.
    fn evidence(&self, verdict: Option<&Verdict>) -> Result<EvidenceReport, ReadError> {
        let mut contributions: Vec<Contribution> = verdict.into_iter().flat_map(judged).collect();
        let memory = if self.memory.is_empty() {
            None
        } else {
            Some(memory::read(&self.memory, self.trace().as_deref())?)
        };
        contributions.extend(self.memory.iter().map(|(path, format)| {
            let (kind, text) = match format {
                FileFormat::MemorySnapshot => ("memory-snapshot", Message::new("evidence-snapshot")),
                _ => ("memory-summary", Message::new("evidence-summary")),
            };
            Contribution { path: path.display().to_string(), kind, text }
        }));
        let report = if self.ranks.is_empty() { None } else { Some(ranks::report(&paths(&self.ranks))?) };
        let refused = report.as_ref().and_then(ranks::refuse);
        contributions.extend(self.ranks.iter().map(|(path, format)| {
            let (kind, text) = match format {
                FileFormat::Flight => ("flight", Message::new("evidence-dump")),
                _ => ("nccl", Message::new("evidence-nccl")),
            };
            let nothing =
                |(reason, _)| Message::new("evidence-nothing").message("reason", Message::new(reason));
            Contribution { path: path.display().to_string(), kind, text: refused.map_or(text, nothing) }
        }));
        Ok(EvidenceReport { contributions, memory, ranks: report.filter(|_| refused.is_none()) })
    }
}

/// What the verdict was reached from.
fn judged(verdict: &Verdict) -> Vec<Contribution> {
    let text = |input: &Input| match input.kind {
        "samples" => Message::new("evidence-samples").count("count", input.events),
        _ => Message::new("evidence-trace").count("count", input.events),
    };
    let of = |input: &Input| Contribution {
        path: input.path.clone(),
        kind: if input.kind == "samples" { "samples" } else { "trace" },
        text: text(input),
    };
    verdict.inputs.iter().map(of).collect()
}

fn paths(files: &[(PathBuf, FileFormat)]) -> Vec<PathBuf> {
    files.iter().map(|(path, _)| path.clone()).collect()
}
