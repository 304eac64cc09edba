//! `whyidle compare`: two programs in pairs, or two runs side by side.

use std::collections::BTreeMap;
use std::path::Path;

use whyidle_diagnosis::Message;
use whyidle_experiment::compare::{Event, Programs, compare};
use whyidle_experiment::comparison::Comparison;
use whyidle_experiment::history::Entry;
use whyidle_experiment::measure::Wanted;
use whyidle_experiment::result::{Basis, Run, shown};
use whyidle_experiment::stats::paired::Plan;
use whyidle_experiment::stats::steady::{Stalls, steady};
use whyidle_experiment::substitute::{self, Unset};
use whyidle_readers::recording;
use whyidle_report::{Beside, Document};

use super::options::CompareOptions;
use super::running::Pace;
use super::{bench, open, open_to_read, places, running, unusable};
use crate::args::Showing;
use crate::output::Output;
use crate::page::Page;
use crate::{REACHED, REFUSED, UNREADABLE, document};

pub(crate) fn run(options: &CompareOptions, output: &Output) -> u8 {
    let page = match Page::asked(&options.page, output) {
        Ok(page) => page,
        Err(status) => return status,
    };
    let page = page.as_ref();
    let result = match &options.what[..] {
        [a, b] if is_kept(a) && is_kept(b) => apart(options, [a, b], page, output),
        _ => together(options, page, output),
    };
    match result {
        Ok(status) | Err(status) => status,
    }
}

/// The number of an entry, or a directory.
fn is_kept(text: &str) -> bool {
    text.parse::<u32>().is_ok() || Path::new(text).is_dir()
}

/// Runs two programs in pairs.
fn together(options: &CompareOptions, page: Option<&Page>, output: &Output) -> Result<u8, u8> {
    let (path, logs) = places(&options.kept, output)?;
    let sides = sides(options, output)?;
    let mut history = open(&path, output)?;
    running::folder(&logs, output)?;
    let requests = running::requests(output)?;
    let shown: Vec<String> =
        sides.iter().map(|side| shown(&side.command, &side.environment, &side.tries)).collect();
    let _turn = running::turn(&format!("whyidle compare '{}' '{}'", shown[0], shown[1]), output)?;
    let plan = Plan::new(options.pairs as usize, options.judging.counts);
    let most = plan.most();
    let programs = Programs {
        sides,
        self_test: options.self_test,
        gives_up: false,
        plan,
        tolerance: options.judging.loss_tolerance,
        logs,
    };
    let mut pace = Pace::new();
    let compared = compare(&programs, &mut history, &requests, &mut |event| match event {
        Event::Running(_, _, status) if pace.is_due() => output.hint(&bench::progress(status)),
        Event::Ran(pair, is_b, run) => {
            let ran = Message::new("cli-compare-ran")
                .count("pair", pair + 1)
                .count("most", most)
                .name("side", side_name(*is_b))
                .time("time", run.step_ns().unwrap_or(run.wall_ns));
            output.hint(&ran);
            running::without_losses(run, &options.measuring, output);
        }
        Event::Running(..) => {}
    })
    .map_err(|error| running::stopped(&error, output))?;
    if let Some((is_b, run)) = &compared.failed {
        let reason = running::why_useless(run);
        let error =
            Message::new("cli-compare-failed").name("side", side_name(*is_b)).message("reason", reason);
        let path = run.log.clone().unwrap_or_default();
        output.error(&error, Some(&Message::new("cli-compare-failed-hint").name("path", path)));
        if compared.comparison.pairs.is_empty() {
            return Err(REFUSED);
        }
    }
    Ok(show(&compared.comparison, Some(compared.id), [&[], &[]], page, options.showing, output))
}

fn side_name(is_b: bool) -> &'static str {
    if is_b { "B" } else { "A" }
}

/// What A and B run.
fn sides(options: &CompareOptions, output: &Output) -> Result<[Wanted; 2], u8> {
    let wanted =
        |command, environment| running::wanted(&options.measuring, command, environment, Default::default());
    if let [a, b] = &options.what[..] {
        let shell = |text: &String| vec!["sh".to_owned(), "-c".to_owned(), text.clone()];
        return Ok([wanted(shell(a), BTreeMap::new()), wanted(shell(b), BTreeMap::new())]);
    }
    if options.command.is_empty() || options.set.is_empty() && options.tries.is_empty() && !options.self_test
    {
        output.error(&Message::new("cli-compare-what"), Some(&Message::new("cli-compare-what-hint")));
        return Err(UNREADABLE);
    }
    let (mut command, mut environment) = (options.command.clone(), BTreeMap::new());
    for change in &options.set {
        let Some((name, value)) = change.split_once('=') else {
            output.error(&Message::new("cli-set-form").name("value", change), None);
            return Err(UNREADABLE);
        };
        substitute::set(&mut command, &mut environment, name, value)
            .map_err(|why| unset(&why, (change, name, value), output))?;
    }
    let mut changed = wanted(command, environment);
    changed.tries.clone_from(&options.tries);
    Ok([wanted(options.command.clone(), BTreeMap::new()), changed])
}

/// Says why a setting could not be changed.
fn unset(why: &Unset, (change, name, value): (&str, &str, &str), output: &Output) -> u8 {
    let named = |id| Message::new(id).name("name", name);
    match why {
        Unset::NotThere => {
            output.error(
                &named("cli-set-not-there"),
                Some(&named("cli-set-not-there-hint").name("value", value)),
            );
        }
        Unset::Open => output.error(&named("cli-set-open"), Some(&Message::new("cli-set-open-hint"))),
        Unset::NoName => output.error(&Message::new("cli-set-form").name("value", change), None),
    }
    UNREADABLE
}

/// Two runs of the history, or two recordings, side by side.
fn apart(
    options: &CompareOptions,
    what: [&String; 2],
    page: Option<&Page>,
    output: &Output,
) -> Result<u8, u8> {
    let mut runs = Vec::new();
    for text in what {
        runs.push(match text.parse() {
            Ok(id) => kept(options, id, output)?,
            Err(_) => recorded(Path::new(text), output)?,
        });
    }
    let plan = Plan::new(options.pairs as usize, options.judging.counts);
    let comparison = Comparison::apart(&runs[0], &runs[1], &plan, options.judging.loss_tolerance);
    let series = [&runs[0].series[..], &runs[1].series[..]];
    Ok(show(&comparison, None, series, page, options.showing, output))
}

fn kept(options: &CompareOptions, id: i64, output: &Output) -> Result<Run, u8> {
    let (path, _) = places(&options.kept, output)?;
    let found = open_to_read(&path, output)?.entry(id).map_err(|error| unusable(&error, output))?;
    let refused = |message: Message| {
        output.error(&message.name("id", id.to_string()), Some(&Message::new("cli-history-none-hint")));
        UNREADABLE
    };
    match found {
        Some(Entry::Run(run)) => Ok(*run),
        Some(_) => Err(refused(Message::new("cli-history-no-run"))),
        None => Err(refused(Message::new("cli-history-none"))),
    }
}

/// The step times of a recording as a run.
fn recorded(dir: &Path, output: &Output) -> Result<Run, u8> {
    let found = recording::read(dir, None).map_err(|error| {
        output.read_error(&error);
        UNREADABLE
    })?;
    let found = found.unwrap_or_default();
    let series: Vec<i64> = found.steps_host_ms.iter().map(|ms| (ms * 1e6).round() as i64).collect();
    let Some(steady) = steady(&series, Stalls::SetAside) else {
        let error = Message::new("cli-compare-no-steps").name("path", dir.display().to_string());
        output.error(&error, None);
        return Err(REFUSED);
    };
    let mut run = Run {
        command: if found.command.is_empty() { vec![dir.display().to_string()] } else { found.command },
        basis: Some(Basis::Recorded),
        steps_per_figure: 1,
        steady: Some(steady),
        samples_per_step: found.batch.map(f64::from),
        series,
        ..Run::default()
    };
    run.place.torch = found.torch;
    run.place.cuda = found.cuda;
    run.place.driver = found.driver;
    run.place.python = found.python;
    run.place.gpus.extend(found.gpu);
    run.place.host = found.host;
    Ok(run)
}

/// Prints a comparison, and writes its page; its exit status.
fn show(
    comparison: &Comparison,
    id: Option<i64>,
    series: [&[i64]; 2],
    page: Option<&Page>,
    showing: Showing,
    output: &Output,
) -> u8 {
    let has_result = comparison.effect.is_some() || comparison.apart && !comparison.pairs.is_empty();
    let status = if has_result { REACHED } else { REFUSED };
    let shown = Document::Comparison(comparison, id);
    let text = document::set(&shown, showing, output);
    document::put(&text, &shown, Beside { series, ..Beside::default() }, page, status, output)
}
