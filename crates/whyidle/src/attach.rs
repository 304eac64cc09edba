//! `whyidle attach`: watches a program that is running already, and gives the verdict.

use serde_json::{Map, json};
use whyidle_diagnosis::Message;
use whyidle_observe::launch::interruption;
use whyidle_observe::{Options, Watch, clock, redact};

use crate::REFUSED;
use crate::args::AttachOptions;
use crate::experiment::verdicts::Watched;
use crate::live::{Place, Ticker, known_gpus, training, until, unwritten};
use crate::output::Output;
use crate::page::Page;

pub(crate) fn run(options: &AttachOptions, output: &Output) -> u8 {
    if let Err(status) = known_gpus(&options.gpu, output) {
        return status;
    }
    let pids: Vec<u32> = options.pids.iter().chain(&options.more_pids).copied().collect();
    let tree = match training(&pids, output) {
        Ok(tree) => tree,
        Err(status) => return status,
    };
    let Some(driver) = tree.drivers().next() else { return REFUSED };
    output.hint(
        &Message::new("cli-live-watching")
            .name("pid", driver.pid.to_string())
            .name("command", redact::command(&driver.command).join(" "))
            .count("ranks", tree.drivers().count())
            .count("workers", tree.workers(driver.pid).count())
            .count("seconds", i64::try_from(options.live.for_.as_secs()).unwrap_or(i64::MAX)),
    );
    let command = driver.command.clone();
    let page = match Page::asked(&options.live.page.reporting(), output) {
        Ok(page) => page,
        Err(status) => return status,
    };
    let opened =
        if options.part { Place::beside(&options.live, output) } else { Place::open(&options.live, output) };
    let (place, recorder) = match opened {
        Ok(opened) => opened,
        Err(status) => return status,
    };
    let interrupted = interruption();
    let watching = Options { gpus: options.gpu.clone(), stacks: !options.live.no_stacks };
    let began = clock::now_ns();
    let mut watch = Watch::new(&pids, recorder, watching);
    let mut ticker = Ticker::new();
    let mut was_ended = true;
    watch.run(&mut |progress| {
        ticker.tick(progress, options.live.for_, output);
        was_ended = !(interrupted.is_set() || progress.elapsed >= options.live.for_);
        until(!was_ended)
    });
    let again = format!("whyidle attach {} --step-ms MS", pids[0]);
    let mut more = Map::new();
    if interrupted.is_set() {
        more.insert("cut_short_s".to_owned(), json!(watch.elapsed().as_secs_f64()));
    } else if was_ended {
        more.insert("ended_s".to_owned(), json!(watch.elapsed().as_secs_f64()));
    }
    match watch.finish(command.clone(), Vec::new(), more) {
        // Whoever records the rest gives the verdict on all of it.
        Ok(_) if options.part => 0,
        Ok(summary) => {
            let watched = Watched::new(began, &command, &summary);
            place.verdict(&options.live, page.as_ref(), &again, watched, output)
        }
        Err(error) => unwritten(place.dir(), &error, output),
    }
}
