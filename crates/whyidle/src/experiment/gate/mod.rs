//! `whyidle gate`: holds new runs against a baseline, with an exit status for pipelines.

#[cfg(target_os = "linux")]
mod baseline;
pub(crate) mod options;

#[cfg(target_os = "linux")]
pub(crate) use linux::run;

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;
    use std::path::Path;

    use whyidle_diagnosis::Message;
    use whyidle_experiment::compare::log;
    use whyidle_experiment::documents;
    use whyidle_experiment::gate::{Answer, Gate, Metric, Question, judge, serves};
    use whyidle_experiment::history::History;
    use whyidle_experiment::measure::measure;
    use whyidle_experiment::result::{Run, shown};
    use whyidle_observe::clock;
    use whyidle_report::{Beside, Document, render_gate_github};

    use super::super::running::Pace;
    use super::super::{bench, open, open_to_read, places, running, unusable};
    use super::baseline::Search;
    use super::options::{GateFormat, GateOptions, MetricName};
    use crate::output::{Output, io_reason};
    use crate::page::Page;
    use crate::{REACHED, REFUSED, UNREADABLE, document};

    /// The evidence does not tell: neither of the two answers.
    const UNCLEAR: u8 = 3;
    /// The newest run of the history, with those before it of the same command and commit.
    const LAST: &str = "last";

    pub(crate) fn run(options: &GateOptions, output: &Output) -> u8 {
        match gate(options, output) {
            Ok(status) | Err(status) => status,
        }
    }

    fn gate(options: &GateOptions, output: &Output) -> Result<u8, u8> {
        if options.page.report.is_some() && options.baseline.is_empty() {
            output.error(&Message::new("cli-gate-no-page"), None);
            return Err(UNREADABLE);
        }
        let page = Page::asked(&options.page, output)?;
        let (path, logs) = places(&options.kept, output)?;
        let mut history = match path.exists() {
            true if options.command.is_empty() => Some(open_to_read(&path, output)?),
            true => Some(open(&path, output)?),
            false => None,
        };
        // Before anything runs: a baseline that is not there costs no five runs.
        let given = match &options.command[..] {
            [] => Some(kept(options, history.as_ref(), output)?),
            _ => None,
        };
        let command = match given.as_ref().and_then(|runs| runs.first()) {
            Some(run) => run.shown(),
            None => shown(&options.command, &BTreeMap::new(), &[]),
        };
        let search = Search { history: history.as_ref(), command: &command, output };
        let mut baseline = Vec::new();
        for reference in &options.baseline {
            baseline.extend(search.runs(reference)?);
        }
        let (what, runs) = match given {
            Some(runs) => (options.run.join(", "), runs),
            None => {
                let history = match &mut history {
                    Some(history) => history,
                    none => none.insert(open(&path, output)?),
                };
                (String::new(), measured(options, history, &logs, output)?)
            }
        };
        let question = Question {
            metric: metric(options.metric),
            limit: options.max_regression,
            tolerance: options.loss_tolerance,
            anyway: options.anyway,
        };
        let is_whole = runs.iter().all(serves);
        let status = if options.baseline.is_empty() && is_whole {
            REACHED
        } else {
            let found = judge((&options.baseline.join(", "), &baseline), (&what, &runs), &question);
            show(&found, page.as_ref(), options, output)
        };
        // What became slower is no baseline.
        if let Some(path) = &options.save
            && is_whole
            && status == REACHED
        {
            save(path, &runs, output)?;
        }
        Ok(status)
    }

    fn metric(name: MetricName) -> Metric {
        match name {
            MetricName::Step => Metric::Step,
            MetricName::Samples => Metric::Samples,
            MetricName::Tokens => Metric::Tokens,
            MetricName::PeakMemory => Metric::PeakMemory,
            MetricName::Energy => Metric::Energy,
        }
    }

    /// The runs of the history that were asked for, the oldest first.
    fn kept(options: &GateOptions, history: Option<&History>, output: &Output) -> Result<Vec<Run>, u8> {
        let search = Search { history, command: "", output };
        let mut runs = Vec::new();
        for text in &options.run {
            if text == LAST {
                runs.extend(last(history, options.runs as usize, output)?);
                continue;
            }
            let Ok(id) = text.parse::<i64>() else {
                output.error(&Message::new("cli-gate-no-run").name("value", text), None);
                return Err(UNREADABLE);
            };
            runs.push(search.numbered(id)?);
        }
        Ok(runs)
    }

    fn last(history: Option<&History>, most: usize, output: &Output) -> Result<Vec<Run>, u8> {
        let wrong = |error| unusable(&error, output);
        let newest = match history {
            Some(history) => history.last_run().map_err(wrong)?.map(|found| (history, found)),
            None => None,
        };
        let Some((history, (id, newest))) = newest else {
            output.error(&Message::new("cli-gate-no-last"), None);
            return Err(UNREADABLE);
        };
        // With changes that no commit holds, or without a commit, nothing tells whether older runs are of the same code.
        if newest.place.commit.is_none() || newest.place.dirty != Some(false) {
            return Ok(vec![newest]);
        }
        let revision = newest.place.revision();
        let mut runs = history.runs_of(revision.as_deref(), &newest.shown(), most).map_err(wrong)?;
        runs.retain(|(other, run)| *other == id || serves(run));
        runs.reverse();
        Ok(runs.into_iter().map(|(_, run)| run).collect())
    }

    /// Runs the command so many times; ends at the first run that measures nothing.
    fn measured(
        options: &GateOptions,
        history: &mut History,
        logs: &Path,
        output: &Output,
    ) -> Result<Vec<Run>, u8> {
        running::folder(logs, output)?;
        let requests = running::requests(output)?;
        let command = shown(&options.command, &BTreeMap::new(), &[]);
        let _turn = running::turn(&format!("whyidle gate -- {command}"), output)?;
        let mut runs = Vec::new();
        for nth in 1..=options.runs {
            let name = format!("{}-{}", clock::now_ns() / 1_000_000, std::process::id());
            let log = log(logs, &name);
            let wanted = running::wanted(&options.measuring, options.command.clone(), BTreeMap::new(), log);
            let mut pace = Pace::new();
            let run = measure(&wanted, &requests, &mut |status| {
                if pace.is_due() {
                    output.hint(&bench::progress(status));
                }
            })
            .map_err(|error| running::unmeasured(&error, output))?;
            history.add_run(&run, None).map_err(|error| unusable(&error, output))?;
            let time = run.step_ns().unwrap_or(run.wall_ns);
            let ran = Message::new("cli-gate-ran").count("run", nth).count("most", options.runs);
            output.hint(&ran.time("time", time));
            running::without_losses(&run, &options.measuring, output);
            let is_over = !serves(&run);
            runs.push(run);
            if is_over {
                break;
            }
        }
        Ok(runs)
    }

    /// Writes the runs, beside the file first: a reader never finds half of them.
    fn save(path: &Path, runs: &[Run], output: &Output) -> Result<(), u8> {
        // A baseline is replaced; anything else is somebody's.
        if path.symlink_metadata().is_ok() && documents::read(path).is_err() {
            let error = Message::new("cli-gate-no-baseline-there").name("path", path.display().to_string());
            output.error(&error, None);
            return Err(UNREADABLE);
        }
        let text: String = runs.iter().map(|run| Document::Run(run, None).json(&output.catalog)).collect();
        let shown = path.display().to_string();
        let mut beside = path.as_os_str().to_owned();
        beside.push(format!(".{}", std::process::id()));
        let written = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path));
        if let Err(error) = written {
            let _ = std::fs::remove_file(&beside);
            let error =
                Message::new("cli-not-written").name("path", shown).message("reason", io_reason(&error));
            output.error(&error, None);
            return Err(UNREADABLE);
        }
        output.say(&Message::new("cli-gate-saved").count("count", runs.len()).name("path", shown));
        Ok(())
    }

    fn show(gate: &Gate, page: Option<&Page>, options: &GateOptions, output: &Output) -> u8 {
        let status = match gate.answer {
            Answer::Within => REACHED,
            Answer::Regressed => REFUSED,
            Answer::Unclear => UNCLEAR,
        };
        let shown = Document::Gate(gate, status);
        let text = match options.format {
            GateFormat::Text => shown.text(&output.catalog, &output.text_options(options.verbose)),
            GateFormat::Json => shown.json(&output.catalog),
            GateFormat::Md => shown.markdown(&output.catalog),
            GateFormat::Github => render_gate_github(gate, &output.catalog),
        };
        document::put(&text, &shown, Beside::default(), page, status, output)
    }
}
