//! `whyidle attach`: watches a program that is running already, and gives the verdict.

use serde_json::{Map, json};
use whyidle_diagnosis::Message;
use whyidle_observe::launch::interruption;
use whyidle_observe::tree::Tree;
use whyidle_observe::{Missing, Options, Watch, stack_permission};

use crate::args::AttachOptions;
use crate::live::{Place, Ticker, until, unwritten};
use crate::output::Output;
use crate::{REFUSED, UNREADABLE};

fn not_permitted(pid: u32, missing: &Missing) -> Message {
    let id = if missing.code == "other-user" { "cli-live-other-user" } else { "cli-live-no-permission" };
    Message::new(id).name("pid", pid.to_string()).name("detail", &missing.detail)
}

pub(crate) fn run(options: &AttachOptions, output: &Output) -> u8 {
    let pids: Vec<u32> = options.pids.iter().chain(&options.more_pids).copied().collect();
    let tree = Tree::of(&pids);
    if let Some(gone) = pids.iter().find(|pid| !tree.members.iter().any(|member| member.pid == **pid)) {
        let error = Message::new("cli-live-no-process").name("pid", gone.to_string());
        output.error(&error, Some(&Message::new("cli-live-list")));
        return UNREADABLE;
    }
    let Some(driver) = tree.drivers().next() else {
        // Whoever may not look into a process does not see what it has loaded either.
        if let Some(missing) = stack_permission(pids[0]) {
            output.error(&not_permitted(pids[0], &missing), Some(&Message::new("cli-live-permission-hint")));
            return REFUSED;
        }
        let error = Message::new("cli-live-no-training").name("pid", pids[0].to_string());
        output.error(&error, Some(&Message::new("cli-live-list")));
        return REFUSED;
    };
    output.hint(
        &Message::new("cli-live-watching")
            .name("pid", driver.pid.to_string())
            .name("command", driver.command.join(" "))
            .count("ranks", tree.drivers().count())
            .count("workers", tree.workers(driver.pid).count())
            .count("seconds", i64::try_from(options.live.for_.as_secs()).unwrap_or(i64::MAX)),
    );
    let command = driver.command.clone();
    let (place, recorder) = match Place::open(&options.live, output) {
        Ok(opened) => opened,
        Err(status) => return status,
    };
    let interrupted = interruption();
    let watching = Options { gpus: options.gpu.clone(), stacks: !options.live.no_stacks };
    let mut watch = Watch::new(&pids, recorder, watching);
    let mut ticker = Ticker::new();
    watch.run(&mut |progress| {
        ticker.tick(progress, options.live.for_, output);
        until(interrupted.is_set() || progress.elapsed >= options.live.for_)
    });
    let again = format!("whyidle attach {} --step-ms MS", pids[0]);
    let mut more = Map::new();
    if interrupted.is_set() {
        more.insert("cut_short_s".to_owned(), json!(watch.elapsed().as_secs_f64()));
    }
    match watch.finish(command, Vec::new(), more) {
        Ok(_) => place.verdict(&options.live, &again, output),
        Err(error) => unwritten(&error, output),
    }
}
