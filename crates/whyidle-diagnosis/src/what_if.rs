//! `--what-if CAUSE[=VALUE]`: a remedy that the user names, replayed; several joined with `+` are replayed together.

use crate::case::Case;
use crate::causes::{CAUSES, Lever, cause};
use crate::edit::{Edit, gain_together};
use crate::message::{Arg, Message};
use crate::verdict::{Change, Gain};

/// What may be given to a lever after `=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Nothing.
    Nothing,
    /// A whole number from one to this.
    Count(u32),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Part of a function's name.
    Name,
}

/// A value that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    /// For [`Takes::Count`].
    Count(u32),
    /// For [`Takes::OneOf`].
    Word(&'static str),
    /// For [`Takes::Name`].
    Name(String),
}

impl Setting {
    /// The number given, if one was.
    pub(crate) fn count(setting: Option<&Self>) -> Option<u32> {
        match setting {
            Some(Self::Count(count)) => Some(*count),
            _ => None,
        }
    }

    /// The word given, if one was.
    pub(crate) fn word(setting: Option<&Self>) -> Option<&'static str> {
        match setting {
            Some(Self::Word(word)) => Some(word),
            _ => None,
        }
    }
}

/// One `--what-if`: remedies to apply together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhatIf {
    /// As it was asked for.
    pub asked: String,
    remedies: Vec<(&'static str, Option<Setting>)>,
}

/// Why a `--what-if` is not understood, with a hint.
#[derive(Clone, Debug, PartialEq)]
pub struct NotUnderstood {
    /// The cause that was asked for, as it was written.
    pub cause: String,
    /// What is wrong.
    pub reason: Message,
    /// What would be right.
    pub hint: Message,
}

impl WhatIf {
    /// Reads `CAUSE[=VALUE][+CAUSE[=VALUE]…]`.
    ///
    /// # Errors
    /// An unknown cause, one without a remedy that can be replayed, or a value it does not take.
    pub fn parse(text: &str) -> Result<Self, NotUnderstood> {
        let remedies: Vec<(&'static str, Option<Setting>)> =
            text.split('+').map(remedy).collect::<Result<_, _>>()?;
        for (at, (id, _)) in remedies.iter().enumerate() {
            if remedies[..at].iter().any(|(before, _)| before == id) {
                return Err(NotUnderstood {
                    cause: (*id).to_owned(),
                    reason: Message::new("what-if-twice").name("cause", *id),
                    hint: Message::new("what-if-twice-hint"),
                });
            }
        }
        let asked = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Self { asked, remedies })
    }
}

fn remedy(text: &str) -> Result<(&'static str, Option<Setting>), NotUnderstood> {
    let (id, value) = match text.split_once('=') {
        Some((id, value)) => (id.trim(), Some(value.trim())),
        None => (text.trim(), None),
    };
    let Some(found) = cause(id) else {
        return Err(NotUnderstood {
            cause: id.to_owned(),
            reason: Message::new("what-if-unknown").name("cause", id),
            hint: Message::new("what-if-causes").name("causes", levers().join(", ")),
        });
    };
    let Some(lever) = found.lever else {
        return Err(NotUnderstood {
            cause: id.to_owned(),
            reason: Message::new("what-if-no-lever").name("cause", found.id),
            hint: Message::new("what-if-causes").name("causes", levers().join(", ")),
        });
    };
    let setting = value.map(|value| setting(lever, found.id, value)).transpose()?;
    Ok((found.id, setting))
}

fn levers() -> Vec<&'static str> {
    CAUSES.iter().filter(|cause| cause.lever.is_some()).map(|cause| cause.id).collect()
}

fn setting(lever: Lever, id: &'static str, value: &str) -> Result<Setting, NotUnderstood> {
    let read = match lever.takes {
        Takes::Nothing => None,
        Takes::Count(most) => {
            value.parse().ok().filter(|count| (1..=most).contains(count)).map(Setting::Count)
        }
        Takes::OneOf(words) => {
            words.iter().find(|word| word.eq_ignore_ascii_case(value)).map(|word| Setting::Word(word))
        }
        Takes::Name => (!value.is_empty()).then(|| Setting::Name(value.to_owned())),
    };
    read.ok_or_else(|| NotUnderstood {
        cause: id.to_owned(),
        reason: Message::new("what-if-bad-value").name("cause", id).name("value", value),
        hint: match lever.takes {
            Takes::Nothing => Message::new("what-if-takes-nothing").name("cause", id),
            Takes::Count(most) => Message::new("what-if-takes-count").name("cause", id).count("most", most),
            Takes::OneOf(words) => {
                Message::new("what-if-takes-word").name("cause", id).name("words", words.join(", "))
            }
            Takes::Name => Message::new("what-if-takes-name").name("cause", id),
        },
    })
}

/// What a `--what-if` came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// As it was asked for.
    pub asked: String,
    /// The causes in it.
    pub causes: Vec<&'static str>,
    /// What is changed, in the order of the causes.
    pub changes: Vec<Change>,
    /// What it would bring; `None` where nothing may be predicted.
    pub gain: Option<Gain>,
    /// Remarks: what is missing from the trace, what was assumed, what to beware of.
    pub notes: Vec<Message>,
}

/// Replays a case with the remedies asked for.
pub(crate) fn answer(case: &Case<'_>, asked: &WhatIf) -> Answer {
    let mut notes = Vec::new();
    let mut edits: Vec<Edit<'_>> = Vec::new();
    for (id, setting) in &asked.remedies {
        let Some(cause) = cause(id) else { continue };
        let edit = cause.edit(case, setting.as_ref());
        match edit {
            Some(edit) => {
                notes.extend(remarks(case, id, setting.as_ref()));
                edits.push(edit);
            }
            None if !cause.holds(case) => {
                let vendor = case.facts.vendor.name();
                notes.push(Message::new("what-if-other-device").name("cause", *id).name("vendor", vendor));
            }
            None => notes.push(why_not(case, id, setting.as_ref())),
        }
    }
    let usable = case.replay.as_ref().is_some_and(|replayed| replayed.is_usable());
    let gain = if edits.is_empty() { None } else { gain_together(case, &edits.iter().collect::<Vec<_>>()) };
    if !usable {
        notes.push(Message::new("what-if-no-replay"));
    }
    let causes = asked.remedies.iter().map(|(id, _)| *id).collect();
    let changes = edits.iter().map(|edit| edit.change.clone()).collect();
    Answer { asked: asked.asked.clone(), causes, changes, gain, notes }
}

/// Why a remedy changes nothing in this trace.
fn why_not(case: &Case<'_>, id: &'static str, setting: Option<&Setting>) -> Message {
    match (id, setting) {
        ("data.workers", Some(Setting::Count(count)))
            if case.known.workers.is_some_and(|now| *count < now) =>
        {
            let now = case.known.workers.unwrap_or_default();
            Message::new("what-if-fewer-workers").count("now", now)
        }
        (_, Some(Setting::Name(name))) => Message::new("what-if-no-such-name").name("name", name),
        _ => Message::new("what-if-nothing-there").name("cause", id),
    }
}

/// What must be known beside an answer.
fn remarks(case: &Case<'_>, id: &str, setting: Option<&Setting>) -> Option<Message> {
    match id {
        "comm.exposed" if has_batch_norm(case) => Some(Message::new("what-if-batch-norm")),
        "data.workers" if case.known.workers.is_none() && setting.is_some() => {
            Some(Message::new("what-if-workers-unknown"))
        }
        "memory.headroom" => Some(memory_of(case, Setting::count(setting).unwrap_or(1))),
        "pipeline.bubble" => Some(Message::new("what-if-per-sample")),
        _ => None,
    }
}

/// Whether memory allows a batch so many times as large, as far as can be said.
fn memory_of(case: &Case<'_>, times: u32) -> Message {
    let capacity = case.properties().map(|gpu| gpu.memory_bytes).filter(|&bytes| bytes > 0);
    match case.known.peak_memory.zip(capacity) {
        Some((peak, capacity)) if peak as f64 * f64::from(times) > capacity as f64 => {
            Message::new("what-if-memory").with("bytes", Arg::Bytes(i64::try_from(peak).unwrap_or(i64::MAX)))
        }
        Some(_) => Message::new("what-if-per-sample"),
        None => Message::new("what-if-memory-unknown"),
    }
}

/// Statistics of a batch depend on its size.
fn has_batch_norm(case: &Case<'_>) -> bool {
    case.trace.host.name.iter().any(|&name| case.trace.names.get(name).contains("batch_norm"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_and_values_are_read() {
        let read = WhatIf::parse("data.workers=12").expect("sound");
        assert_eq!(read.remedies, [("data.workers", Some(Setting::Count(12)))]);
        let read = WhatIf::parse("compute.precision = tf32 + host.gc").expect("sound");
        assert_eq!(read.remedies, [("compute.precision", Some(Setting::Word("tf32"))), ("host.gc", None)]);
    }

    #[test]
    fn what_is_wrong_is_said_with_a_hint() {
        for (text, reason, hint) in [
            ("data.worker", "what-if-unknown", "what-if-causes"),
            ("", "what-if-unknown", "what-if-causes"),
            ("compute.bound", "what-if-no-lever", "what-if-causes"),
            ("data.workers=0", "what-if-bad-value", "what-if-takes-count"),
            ("data.workers=99999999999", "what-if-bad-value", "what-if-takes-count"),
            ("data.workers=many", "what-if-bad-value", "what-if-takes-count"),
            ("compute.precision=fp64", "what-if-bad-value", "what-if-takes-word"),
            ("host.gc=1", "what-if-bad-value", "what-if-takes-nothing"),
            ("host.python=", "what-if-bad-value", "what-if-takes-name"),
            ("host.gc+", "what-if-unknown", "what-if-causes"),
        ] {
            let wrong = WhatIf::parse(text).expect_err("wrong");
            assert_eq!((wrong.reason.id, wrong.hint.id), (reason, hint), "{text}");
        }
    }
}
