//! `whyidle run`: starts a program, watches it, asks it for a short trace, and gives the verdict.

use std::time::Duration;

use serde_json::{Map, Value, json};
use whyidle_diagnosis::Message;
use whyidle_experiment::result::shown;
use whyidle_observe::launch::{Program, shell_status};
use whyidle_observe::ondemand::{Listener, Wanted};
use whyidle_observe::tracing::{listen, trace};
use whyidle_observe::{Flow, Missing, Options, Progress, Watch, clock};

use crate::UNREADABLE;
use crate::args::RunOptions;
use crate::experiment::verdicts::Watched;
use crate::live::{Place, Ticker, known_gpus, unwritten};
use crate::output::{Output, io_reason};
use crate::page::Page;

/// A program trains steadily after this long in its loop.
const SETTLED: Duration = Duration::from_secs(4);
/// One that is held up by its loader is seen in its steps rarely: so long after its first request for a batch it is in
/// its loop.
const SETTLED_STARVED: Duration = Duration::from_secs(12);
/// Without stacks, or without a loop that they show, this long after the start.
const SETTLED_UNSEEN: Duration = Duration::from_secs(30);

pub(crate) fn run(options: &RunOptions, output: &Output) -> u8 {
    if let Err(status) = known_gpus(&options.gpu, output) {
        return status;
    }
    let page = match Page::asked(&options.live.page.reporting(), output) {
        Ok(page) => page,
        Err(status) => return status,
    };
    let (place, recorder) = match Place::open(&options.live, output) {
        Ok(opened) => opened,
        Err(status) => return status,
    };
    let (listener, mut missing) = listener(options);
    let environment: Vec<(&str, String)> =
        listener.as_ref().map(|listener| listener.environment().to_vec()).unwrap_or_default();
    let mut program = match Program::start(&options.command, &environment) {
        Ok(program) => program,
        Err(error) => {
            let program = options.command.first().cloned().unwrap_or_default();
            let reason = io_reason(&error);
            let error =
                Message::new("cli-live-not-started").name("program", program).message("reason", reason);
            output.error(&error, None);
            return UNREADABLE;
        }
    };
    let watching = Options { gpus: options.gpu.clone(), stacks: !options.live.no_stacks };
    let began = clock::now_ns();
    let mut watch = Watch::new(&[program.pid()], recorder, watching);
    let mut more = Map::new();
    more.insert("began".to_owned(), json!(true));
    observe(options, &mut watch, &mut program, &mut more, output);
    if let Some(listener) = &listener {
        let wanted = Wanted { steps: options.trace_steps, stacks: options.stacks };
        let mut is_over = || program.ended().is_some();
        missing.extend(trace(listener, wanted, &mut watch, &mut is_over, place.dir()).err());
    }
    let judged = match watch.finish(options.command.clone(), missing, more) {
        Ok(summary) => {
            let watched = Watched::new(began, &options.command, &summary);
            let again =
                format!("whyidle run --step-ms MS -- {}", shown(&options.command, &Default::default(), &[]));
            place.verdict(&options.live, page.as_ref(), &again, watched, output)
        }
        Err(error) => unwritten(place.dir(), &error, output),
    };
    if options.stop && program.ended().is_none() {
        program.stop(Duration::from_secs(10));
    } else if program.ended().is_none() {
        output.hint(&Message::new("cli-live-goes-on"));
    }
    // The socket stays until the program is gone: without it, its exit would wait for ten seconds.
    let status = program.wait().map_or(1, shell_status);
    drop(listener);
    if options.verdict_exit || options.stop { judged } else { status }
}

/// The socket that the program's profiler polls, unless a trace is unwanted or unsafe.
fn listener(options: &RunOptions) -> (Option<Listener>, Vec<Missing>) {
    if options.no_trace {
        return (None, vec![Missing::new("trace", "not-wanted", "")]);
    }
    match listen(&options.command) {
        Ok(listener) => (Some(listener), Vec::new()),
        Err(missing) => (None, vec![missing]),
    }
}

/// Waits until the program trains steadily, then watches it for as long as was asked.
fn observe(
    options: &RunOptions,
    watch: &mut Watch,
    program: &mut Program,
    more: &mut Map<String, Value>,
    output: &Output,
) {
    let mut ticker = Ticker::new();
    let mut steady: Option<(Duration, i64)> = None;
    watch.run(&mut |progress: &Progress| {
        ticker.tick(progress, options.live.for_ + SETTLED, output);
        let seen = progress.training_samples >= 3 && progress.training_for >= SETTLED;
        let starved = progress.loader_samples >= 10 && progress.loader_for >= SETTLED_STARVED;
        if steady.is_none() && (seen || starved || progress.elapsed >= SETTLED_UNSEEN) {
            steady = Some((progress.elapsed, clock::now_ns()));
        }
        let watched = steady.is_some_and(|(since, _)| progress.elapsed >= since + options.live.for_);
        if watched || program.ended().is_some() { Flow::Stop } else { Flow::Continue }
    });
    let seconds = |ns: i64| ns as f64 / 1e9;
    if program.ended().is_some() {
        more.insert("ended_s".to_owned(), json!(watch.elapsed().as_secs_f64()));
    }
    if let Some((_, since)) = steady {
        more.insert("steady_from".to_owned(), json!(seconds(since)));
        more.insert("steady_until".to_owned(), json!(seconds(clock::now_ns())));
    }
}
