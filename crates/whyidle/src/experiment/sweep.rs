//! `whyidle sweep`: a program with several values of a setting, and which of them pays.

use std::collections::BTreeMap;
use std::time::Duration;

use whyidle_diagnosis::Message;
use whyidle_experiment::comparison::Finish;
use whyidle_experiment::history::{Entry, History};
use whyidle_experiment::result::shown;
use whyidle_experiment::substitute::Unset;
use whyidle_experiment::sweep::layout::{TooFew, Variable, layout};
use whyidle_experiment::sweep::run::{Event, Plan, SweepError, sweep};
use whyidle_experiment::sweep::setting::{Setting, SettingError};
use whyidle_experiment::sweep::vary::{MOST_VALUES, Unclear, Vary, vary};
use whyidle_experiment::sweep::{Fate, Sweep};
use whyidle_readers::settings::Unsettled;
use whyidle_report::{Document, run_failed};

use super::running::Pace;
use super::sweep_options::SweepOptions;
use super::{bench, open, places, running, unusable};
use crate::output::Output;
use crate::page::Page;
use crate::{REACHED, REFUSED, UNREADABLE, document};

/// Steady steps of a run, unless told otherwise: a sweep has many runs, and asks for larger effects.
const STEPS: usize = 50;
/// Steady time of a run at least, where the number of steps was not asked for.
const LEAST: Duration = Duration::from_secs(3);

pub(crate) fn run(options: &SweepOptions, output: &Output) -> u8 {
    match swept(options, output) {
        Ok(status) | Err(status) => status,
    }
}

fn swept(options: &SweepOptions, output: &Output) -> Result<u8, u8> {
    let page = Page::asked(&options.page, output)?;
    let variables = variables(options, output)?;
    let lookup = |name: &str| std::env::var(name).ok();
    let rungs = layout(&options.command, &variables, &lookup).map_err(|why| too_few(&why, output))?;
    let (path, logs) = places(&options.kept, output)?;
    let mut history = open(&path, output)?;
    running::folder(&logs, output)?;
    let requests = running::requests(output)?;
    let _turn = running::turn(
        &format!("whyidle sweep -- {}", shown(&options.command, &BTreeMap::new(), &[])),
        output,
    )?;
    let mut base =
        running::wanted(&options.measuring, options.command.clone(), BTreeMap::new(), Default::default());
    if options.measuring.steps.is_none() {
        (base.steps, base.least) = (STEPS, LEAST);
    }
    let plan = Plan {
        base,
        variables,
        rungs,
        most_rounds: options.rounds as usize,
        counts: options.judging.counts,
        tolerance: options.judging.loss_tolerance,
        logs,
    };
    let mut pace = Pace::new();
    let (found, id) = sweep(&plan, &mut history, &requests, &mut |event| match event {
        Event::Running(status) if pace.is_due() => output.hint(&bench::progress(status)),
        Event::Ran(value, round, run) => {
            pace.said();
            let ran = |id| Message::new(id).name("value", *value).count("round", round + 1);
            output.hint(&match run.step_ns().or(run.basis.map(|_| run.wall_ns)) {
                Some(time) => ran("cli-sweep-ran").time("time", time),
                None => ran("cli-sweep-ran-without").message("reason", run_failed(run)),
            });
        }
        Event::Running(_) => {}
    })
    .map_err(|error| match error {
        SweepError::Measure(error) => running::unmeasured(&error, output),
        SweepError::History(error) => unusable(&error, output),
        SweepError::Setting(error) => unset("", &error, output),
    })?;
    explain_failure(&found, id, &history, output);
    let status = if found.has_result() { REACHED } else { REFUSED };
    Ok(document::show(&Document::Sweep(&found, Some(id)), page.as_ref(), options.showing, status, output))
}

/// Why there is no result: how the first value fared.
fn explain_failure(found: &Sweep, id: i64, history: &History, output: &Output) {
    let rung = found.rungs.iter().find(|rung| rung.found.is_none());
    let Some(tried) = rung.and_then(|rung| rung.values.iter().find(|tried| tried.fate != Fate::NotRun))
    else {
        return;
    };
    if found.ended != Some(Finish::Failed) {
        return;
    }
    let runs = history.list(Some(id), 1).unwrap_or_default();
    let last = runs.first().and_then(|row| history.entry(row.id).ok().flatten());
    let reason = match (&last, tried.fate) {
        (Some(Entry::Run(run)), Fate::NoSteps) => Message::new("bench-no-steps").time("time", run.wall_ns),
        (Some(Entry::Run(run)), _) => run_failed(run),
        _ => return,
    };
    let hint = tried.log.as_ref().map(|log| Message::new("cli-compare-failed-hint").name("path", log));
    output.error(&Message::new("cli-sweep-failed").message("reason", reason), hint.as_ref());
}

/// What to vary; else the exit status, once the reason is said.
fn variables(options: &SweepOptions, output: &Output) -> Result<Vec<Variable>, u8> {
    let mut variables: Vec<Variable> = Vec::new();
    for text in &options.vary {
        let vary: Vary = vary(text).map_err(|why| unclear(text, &why, output))?;
        if variables.iter().any(|known| known.setting.name == vary.name) {
            output.error(&Message::new("cli-vary-twice").name("name", vary.name), None);
            return Err(UNREADABLE);
        }
        let setting =
            Setting::of(&vary.name, &options.command).map_err(|why| unset(&vary.name, &why, output))?;
        variables.push(Variable { setting, vary });
    }
    Ok(variables)
}

fn unclear(text: &str, why: &Unclear, output: &Output) -> u8 {
    // A list may be long.
    let text: String = text.chars().take(60).collect();
    let message = match why {
        Unclear::NoName => Message::new("cli-vary-form").name("value", text),
        Unclear::Empty => Message::new("cli-vary-empty").name("value", text),
        Unclear::Twice(value) => Message::new("cli-vary-value-twice").name("value", value),
        Unclear::TooMany => Message::new("cli-vary-many").count("most", MOST_VALUES),
        Unclear::NoNumber(value) => Message::new("cli-vary-no-number").name("value", value),
    };
    output.error(&message, Some(&Message::new("cli-vary-hint")));
    UNREADABLE
}

fn too_few(why: &TooFew, output: &Output) -> u8 {
    let (message, name) = match why {
        TooFew::Single(name) => (Message::new("cli-vary-single"), name),
        TooFew::NoStart(name) => (Message::new("cli-vary-no-start"), name),
    };
    output.error(&message.name("name", name), Some(&Message::new("cli-vary-hint")));
    UNREADABLE
}

/// Says why a setting cannot be changed.
fn unset(name: &str, why: &SettingError, output: &Output) -> u8 {
    let of = |id, path: &std::path::Path| Message::new(id).name("path", path.display().to_string());
    let (message, hint) = match why {
        SettingError::Unset(Unset::NotThere) => (
            Message::new("cli-vary-not-there").name("name", name),
            Some(
                Message::new("cli-vary-not-there-hint")
                    .name("name", name.trim_start_matches('-'))
                    .name("open", format!("{{{name}}}")),
            ),
        ),
        SettingError::Unset(_) => (Message::new("cli-vary-form").name("value", name), None),
        SettingError::FileForm(name) => {
            (Message::new("cli-vary-file-form").name("value", name), Some(Message::new("cli-vary-hint")))
        }
        SettingError::Io { path, source } => {
            (of("cli-bench-unmeasured", path).name("reason", source.to_string()), None)
        }
        SettingError::Form(path) => (of("cli-vary-no-settings", path), None),
        SettingError::Value { path, key, why } => {
            let message = match why {
                Unsettled::NotUnderstood(reason) => {
                    of("cli-vary-not-understood", path).name("reason", reason)
                }
                Unsettled::NotThere => of("cli-vary-no-such-value", path).name("name", key),
                Unsettled::NotOne => of("cli-vary-no-single-value", path).name("name", key),
            };
            (message, None)
        }
        SettingError::NoArgument(path) => {
            (of("cli-vary-no-argument", path), Some(Message::new("cli-vary-no-argument-hint")))
        }
    };
    output.error(&message, hint.as_ref());
    UNREADABLE
}
