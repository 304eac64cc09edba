//! The page of a program that was fed in four ways: what bounds it, and what its data costs.

use whyidle_diagnosis::{Arg, Message};
use whyidle_experiment::comparison::Finish;
use whyidle_experiment::differential::{Bound, Differential, Fed, Feed, Unfed};

use crate::Catalog;
use crate::page::Block;

pub(crate) fn blocks(found: &Differential, id: Option<i64>, catalog: &Catalog) -> Vec<Block> {
    let say = |message: &Message| catalog.message(message);
    let mut blocks = vec![Block::Sentence(say(&answer(found)))];
    let rounds = found.fed.iter().map(|fed| fed.runs).max().unwrap_or(0);
    if rounds > 0 {
        blocks.push(Block::Note(say(&Message::new("differential-how").count("rounds", rounds))));
    }
    if found.bound.is_some() {
        blocks.extend(unfed(found).iter().map(|unfed| Block::Doubt(say(unfed))));
    }
    if found.ended == Some(Finish::Interrupted) {
        blocks.push(Block::Doubt(catalog.word("differential-interrupted")));
    }
    if !found.fed.is_empty() {
        blocks.push(Block::Title(catalog.word("differential-title")));
        blocks.push(Block::Table(
            found.fed.iter().enumerate().map(|(at, fed)| row(found, at, fed, catalog)).collect(),
        ));
    }
    blocks.push(Block::Title(catalog.word("bench-title-kept")));
    blocks.push(Block::Code(vec![found.shown()]));
    if let Some(id) = id {
        blocks.push(Block::Note(say(&Message::new("compare-kept").name("id", id.to_string()))));
    }
    blocks
}

/// What bounds the program.
pub(super) fn answer(found: &Differential) -> Message {
    let whole = found.fed.iter().map(|fed| fed.step_ns).max().unwrap_or(0).max(1);
    let with = |id, of: Bound| {
        let ns = found.stalls.iter().find(|stall| stall.of == of).map_or(0, |stall| stall.ns);
        Message::new(id).time("time", ns).share("share", ns as f64 / whole as f64)
    };
    match found.bound {
        Some(Bound::Compute) => {
            let all: i64 = found.stalls.iter().filter(|stall| stall.is_clear).map(|stall| stall.ns).sum();
            Message::new("differential-compute").share("share", all as f64 / whole as f64)
        }
        Some(Bound::Transfer) => with("differential-transfer", Bound::Transfer),
        Some(Bound::Prep) => with("differential-prep", Bound::Prep),
        Some(Bound::Fetch) => with("differential-fetch", Bound::Fetch),
        None if found.open().is_some() => {
            Message::new("differential-open").time("time", found.open().map_or(0, |stall| stall.ns))
        }
        None => {
            let reasons = unfed(found).into_iter().map(|unfed| Arg::Message(Box::new(unfed)));
            Message::new("differential-unknown").with("list", Arg::List(reasons.collect()))
        }
    }
}

fn row(found: &Differential, at: usize, fed: &Fed, catalog: &Catalog) -> Vec<String> {
    let stall = at.checked_sub(1).and_then(|at| found.stalls.get(at));
    let adds = stall.map(|stall| {
        if stall.is_clear {
            Message::new("differential-adds").time("time", stall.ns)
        } else {
            Message::new("differential-adds-unclear")
        }
    });
    let (low, high) = fed.range_ns;
    let range = Message::new("differential-range").time("low", low).time("high", high);
    vec![
        catalog.message(&feed(fed.feed)),
        catalog.time(fed.step_ns),
        catalog.message(&range),
        adds.map(|adds| catalog.message(&adds)).unwrap_or_default(),
    ]
}

/// How the program was fed.
#[must_use]
pub fn feed(feed: Feed) -> Message {
    Message::new(match feed {
        Feed::Synthetic => "differential-synthetic",
        Feed::Cached => "differential-cached",
        Feed::Warm => "differential-warm",
        Feed::Cold => "differential-cold",
    })
}

/// Which feeds did not work and why; a reason that several share is said once.
fn unfed(found: &Differential) -> Vec<Message> {
    let mut reasons: Vec<(&Unfed, Vec<Arg>)> = Vec::new();
    for (fed, why) in &found.unfed {
        let fed = Arg::Message(Box::new(feed(*fed)));
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, feeds)) => feeds.push(fed),
            None => reasons.push((why, vec![fed])),
        }
    }
    let said = |(why, feeds): (&Unfed, Vec<Arg>)| {
        Message::new("differential-unfed").with("feed", Arg::List(feeds)).message("reason", reason(why))
    };
    reasons.into_iter().map(said).collect()
}

fn reason(why: &Unfed) -> Message {
    match why {
        Unfed::NoSteps => Message::new("differential-no-steps"),
        Unfed::NoLoader => Message::new("differential-no-loader"),
        Unfed::NoFiles => Message::new("differential-no-files"),
        Unfed::InMemory => Message::new("differential-in-memory"),
        Unfed::Failed => Message::new("differential-failed"),
        Unfed::OutOfMemory => Message::new("differential-out-of-memory"),
        Unfed::Other(why) => Message::new("differential-other").name("why", why),
    }
}
