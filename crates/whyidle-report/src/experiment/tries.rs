//! Changes that were tried in a running program: what they set, and why some did not.

use whyidle_diagnosis::{Arg, Message};
use whyidle_experiment::tries::Try;
use whyidle_experiment::tries::{Did, Tried};

/// What was changed, one message for all of it; none where nothing was.
pub(super) fn made(tries: &[Try], tried: &[Tried]) -> Option<Message> {
    let set = tried.iter().filter_map(change);
    let variables = tries.iter().filter(|asked| asked.is_variable());
    let variables = variables
        .map(|asked| Message::new("tried-change-new").name("name", &asked.name).name("to", &asked.value));
    let all: Vec<Arg> = variables.chain(set).map(|one| Arg::Message(Box::new(one))).collect();
    (!all.is_empty()).then(|| Message::new("tried-made").with("list", Arg::List(all)))
}

/// What was asked for and changed nothing.
pub(super) fn not_made(tries: &[Try], tried: &[Tried]) -> Vec<Message> {
    let set = |name: &str| tried.iter().any(|one| one.name == name && matches!(one.did, Did::Set { .. }));
    let idle = tries.iter().filter(|asked| !asked.is_variable() && !set(&asked.name));
    let one = |asked: &Try| {
        let said = tried.iter().find(|one| one.name == asked.name).map(|one| &one.did);
        let reason = match said {
            Some(Did::Not { why, detail }) => why_not(Some(why), detail.as_deref()),
            _ => why_not(None, None),
        };
        Message::new("tried-not").name("name", asked.to_string()).message("reason", reason)
    };
    idle.map(one).collect()
}

/// A change that was made: what it set, and where.
pub(super) fn change(tried: &Tried) -> Option<Message> {
    let Did::Set { from, to, place, .. } = &tried.did else { return None };
    let change = match from {
        Some(from) => Message::new("tried-change").name("from", from),
        None => Message::new("tried-change-new"),
    };
    let change = change.name("name", &tried.name).name("to", to);
    Some(match place {
        Some((file, line)) => {
            Message::new("tried-change-at").message("change", change).name("place", place_of(file, *line))
        }
        None => change,
    })
}

/// `train.py:12`.
pub(super) fn place_of(file: &str, line: u32) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    format!("{name}:{line}")
}

/// Why a change was not made, by what the hook says.
pub(super) fn why_not(why: Option<&str>, detail: Option<&str>) -> Message {
    match why {
        None => Message::new("tried-why-never"),
        Some("iterable-dataset") => Message::new("tried-why-iterable-dataset"),
        Some("already") => Message::new("tried-why-already"),
        Some("no-workers") => Message::new("tried-why-no-workers"),
        Some("no-gpu") => Message::new("tried-why-no-gpu"),
        Some("raised") => Message::new("tried-why-raised").name("detail", detail.unwrap_or("–")),
        Some("not-supported") => Message::new("tried-why-not-supported"),
        Some("no-convolutions") => Message::new("tried-why-no-convolutions"),
        Some("distributed") => Message::new("tried-why-distributed"),
        Some("no-layers") => Message::new("tried-why-no-layers"),
        Some("overridden") => Message::new("tried-why-overridden"),
        Some("in-memory-files") => Message::new("tried-why-in-memory-files"),
        Some(other) => Message::new("tried-why-other").name("why", other),
    }
}
