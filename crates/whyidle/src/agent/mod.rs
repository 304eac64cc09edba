//! `whyidle agent`: watches a node for months, and looks back at what it kept.

mod back;
mod options;

use std::path::Path;
use std::time::Duration;

use whyidle_agent::agent::{Agent, News};
use whyidle_agent::http::{Server, start};
use whyidle_agent::ring::Ring;
use whyidle_agent::settings::{Settings, SettingsError};
use whyidle_agent::source::{Live, Replay, Source};
use whyidle_agent::web::{Desk, router};
use whyidle_diagnosis::{Arg, Message};
use whyidle_observe::clock;
use whyidle_observe::launch::Orders;

pub(crate) use options::AgentOptions;

use crate::live::unwritten;
use crate::output::Output;
use crate::{REACHED, REFUSED, UNREADABLE};

pub(crate) fn run(options: &AgentOptions, output: &Output) -> u8 {
    let settings = match options.settings() {
        Ok(settings) => settings,
        Err(error) => return refused(&error, output),
    };
    if options.looks_back() {
        return back::run(options, &settings, output);
    }
    if options.replay.is_empty() {
        return watch(Live::default(), options, settings, output);
    }
    let dirs: Vec<&Path> = options.replay.iter().map(AsRef::as_ref).collect();
    match Replay::open(&dirs, clock::now_ns(), Some(options.speed), options.for_) {
        Ok(replay) if replay.programs() == 0 => {
            output.error(&Message::new("agent-replay-empty"), Some(&Message::new("agent-replay-hint")));
            REFUSED
        }
        Ok(replay) => watch(replay, options, settings, output),
        Err(error) => {
            output.read_error(&error);
            UNREADABLE
        }
    }
}

fn refused(error: &SettingsError, output: &Output) -> u8 {
    output.error(&error.message(), error.hint().as_ref());
    UNREADABLE
}

/// Samples, judges and answers until told to end.
fn watch(source: impl Source, options: &AgentOptions, settings: Settings, output: &Output) -> u8 {
    let orders = Orders::take();
    let listen = match settings.listen() {
        Ok(listen) => listen,
        Err(error) => return refused(&error, output),
    };
    let ring = match settings.ring.dir.as_deref().map(|dir| Ring::open(dir, settings.ring.clone())) {
        None => None,
        Some(Ok(ring)) => Some(ring),
        Some(Err(error)) => {
            let dir = settings.ring.dir.clone().unwrap_or_default();
            if error.kind() == std::io::ErrorKind::WouldBlock {
                let text = Message::new("agent-ring-taken").name("dir", dir.display().to_string());
                output.error(&text, None);
                return UNREADABLE;
            }
            return unwritten(&dir, &error, output);
        }
    };
    let desk = Desk::default();
    let server = match start(&listen, router(desk.clone())) {
        Ok(server) => server,
        Err(error) => return refused(&error.into(), output),
    };
    let scheme = if listen.tls.is_some() { "https" } else { "http" };
    let address = format!("{scheme}://{}/metrics", server.address());
    output.say(&Message::new("agent-listening").name("address", address));
    let mut agent = Agent::new(source, ring, settings.series, desk, env!("CARGO_PKG_VERSION"));
    let whole = options.for_.filter(|_| options.replay.is_empty());
    let began = std::time::Instant::now();
    let is_long_enough = |whole: Duration| began.elapsed() >= whole;
    while !orders.to_end() && !agent.is_over() && !whole.is_some_and(is_long_enough) {
        if orders.to_reload() {
            reload(options, &mut agent, &server, output);
        }
        agent.turn();
        for news in agent.news() {
            output.say(&in_words(news));
        }
        agent.rest();
    }
    agent.end();
    output.say(&Message::new("agent-ended"));
    REACHED
}

/// Reads the settings anew; those that cannot be used leave what held before.
fn reload<S: Source>(options: &AgentOptions, agent: &mut Agent<S>, server: &Server, output: &Output) {
    let renewed = options.settings().and_then(|settings| {
        server.renew(&settings.listen()?)?;
        Ok(settings)
    });
    match renewed {
        Ok(settings) => {
            agent.limit(settings.series);
            if let Some(ring) = agent.ring() {
                ring.limit(settings.ring);
            }
            output.say(&Message::new("agent-reloaded"));
        }
        Err(error) => {
            agent.failed("settings");
            output.say(&Message::new("agent-not-reloaded").message("reason", error.message()));
        }
    }
}

fn in_words(news: News) -> Message {
    match news {
        News::RingFailed(kind) => {
            Message::new("agent-ring-failed").name("reason", std::io::Error::from(kind).to_string())
        }
        News::RingRecovered => Message::new("agent-ring-recovered"),
        News::ClockJumped(ns) => Message::new("agent-clock").time("time", ns.abs()),
        News::Changed { job, pid, change, what } => {
            let what = what.into_iter().map(|text| Arg::Message(Box::new(text))).collect();
            Message::new("agent-changed")
                .name("job", job)
                .name("pid", pid.to_string())
                .time("before", change.before_ns)
                .time("after", change.after_ns)
                .with("what", Arg::List(what))
        }
    }
}
