//! What `serve` shows beside the pages of results: the start page, a program that is being watched, and why something is
//! not there.

use askama::Template;
use serde_json::{Value, json};
use whyidle_diagnosis::{Message, Refusal, Verdict};
use whyidle_experiment::history::Row;

use super::both::{Both, Tongues};
use super::changes::finding_view;
use super::colours::class;
use super::ledger::column;
use super::{Frame, Needs, render};
use crate::document::Document;
use crate::page::Block;
use crate::{Catalog, Lang, quantity};

/// Findings that are shown of a running program.
const FINDINGS: usize = 3;
/// Lines of the ledger below this share are not shown of it.
const WORTH_A_LINE: f64 = 0.005;
/// Columns of what is set already.
const COLUMNS: usize = 80;

/// What there is to see.
#[derive(Clone, Debug)]
pub struct Start {
    /// Where recordings were looked for.
    pub root: String,
    /// Training programs of this machine: process and command. `None` where they cannot be seen.
    pub programs: Option<Vec<(u32, String)>>,
    /// Recordings and files.
    pub recordings: Vec<Shelved>,
    /// There are more than are listed.
    pub more: bool,
    /// Entries of the history, the newest first; else why there are none.
    pub entries: Result<Vec<Row>, Message>,
}

/// A recording or a file that may be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shelved {
    /// Its path below the root, as a link has it.
    pub link: String,
    /// The same for people.
    pub name: String,
    /// Stable id of what it is.
    pub kind: &'static str,
    /// Bytes; of a directory, of the files in it.
    pub bytes: u64,
    /// When it was written, Unix time, ns.
    pub written: i64,
}

#[derive(Template)]
#[template(path = "start.html")]
struct StartPage<'a> {
    t: &'a Tongues<'a>,
    f: &'a Frame,
    p: &'a StartView,
}

struct StartView {
    root: String,
    programs: Option<Vec<(u32, String)>>,
    recordings: Vec<(String, String, &'static str, Both, String)>,
    more: bool,
    /// Number, and the cells of the list.
    entries: Vec<(i64, Vec<Both>)>,
    /// Said where there are none.
    no_entries: Both,
}

/// The start page.
#[must_use]
pub fn render_start(start: &Start, [en, zh]: [&Catalog; 2], lang: Lang) -> String {
    let t = &Tongues { en, zh };
    let bytes = |bytes: u64| {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        t.say(|c| c.quantity(&quantity::bytes(bytes)))
    };
    let shelved = |one: &Shelved| {
        let when = if one.written > 0 { crate::moment(one.written) } else { String::new() };
        (one.link.clone(), one.name.clone(), one.kind, bytes(one.bytes), when)
    };
    let page = StartView {
        root: start.root.clone(),
        programs: start.programs.clone(),
        recordings: start.recordings.iter().map(shelved).collect(),
        more: start.more,
        entries: entries(t, start.entries.as_deref().unwrap_or_default()),
        no_entries: match &start.entries {
            Err(why) => t.message(why),
            Ok(_) => t.word("history-empty"),
        },
    };
    let title = t.word("html-site-title");
    let frame = Frame::new(t, lang, &title, super::no_data(), "", Needs::default());
    render(&StartPage { t, f: &frame, p: &page })
}

/// Entries as `history` lists them.
fn entries(t: &Tongues<'_>, rows: &[Row]) -> Vec<(i64, Vec<Both>)> {
    let cells = |catalog: &Catalog| -> Vec<Vec<String>> {
        let blocks = Document::History(rows).blocks(catalog, COLUMNS, false);
        let table = |block| if let Block::Table(rows) = block { Some(rows) } else { None };
        blocks.into_iter().find_map(table).unwrap_or_default()
    };
    let (en, zh) = (cells(t.en), cells(t.zh));
    let pair = |(en, zh): (Vec<String>, Vec<String>)| -> Vec<Both> {
        en.into_iter().zip(zh).map(|(en, zh)| Both { en, zh }).collect()
    };
    rows.iter().map(|row| row.id).zip(en.into_iter().zip(zh).map(pair)).collect()
}

#[derive(Template)]
#[template(path = "live.html")]
struct LivePage<'a> {
    t: &'a Tongues<'a>,
    f: &'a Frame,
    command: &'a str,
}

/// The page of a program that is being watched; it is filled by events, see [`live_event`].
#[must_use]
pub fn render_live(pid: u32, command: &str, [en, zh]: [&Catalog; 2], lang: Lang) -> String {
    let t = &Tongues { en, zh };
    let title = t.message(&Message::new("html-live-title").name("pid", pid.to_string()));
    let data = json!({ "pid": pid });
    let frame = Frame::new(t, lang, &title, data, "", Needs { live: true, ..Needs::default() });
    render(&LivePage { t, f: &frame, command })
}

/// What a running program is told to have come to. Texts are pairs, English and Chinese.
#[must_use]
pub fn live_event(reached: Result<&Verdict, &Refusal>, seen_s: f64, [en, zh]: [&Catalog; 2]) -> String {
    let t = &Tongues { en, zh };
    let mut event = match reached {
        Ok(verdict) => of_verdict(t, verdict),
        Err(refusal) => json!({
            "sentence": t.word("html-live-too-early").value(),
            "then": t.message(&refusal.reason).value(),
        }),
    };
    let seen = Message::new("html-live-seen").time("time", (seen_s * 1e9).round() as i64);
    event["seen"] = t.message(&seen).value();
    event.to_string()
}

/// The last event: why there will be no more.
#[must_use]
pub fn live_end(why: &Message, [en, zh]: [&Catalog; 2]) -> String {
    let t = &Tongues { en, zh };
    json!({ "end": t.message(why).value() }).to_string()
}

fn of_verdict(t: &Tongues<'_>, verdict: &Verdict) -> Value {
    let sentence = &verdict.ruling.sentence;
    let share = |share: f64| if share.is_nan() { Both::same("–") } else { t.say(|c| c.share(share)) };
    let line = |line: &whyidle_diagnosis::Line| {
        json!({
            "class": class(line.id),
            "name": t.say(|c| c.line(line.id)).value(),
            "share": line.share,
            "text": column(t, line.share).value(),
        })
    };
    let finding = |finding: &whyidle_diagnosis::Finding| {
        let view = finding_view(t, verdict, finding);
        json!({ "name": view.name.value(), "cost": view.cost.value(), "summary": view.summary.value() })
    };
    let shown = verdict.ledger.iter().filter(|line| line.share >= WORTH_A_LINE);
    json!({
        "sentence": sentence.first().map(|first| t.message(first)).unwrap_or_default().value(),
        "then": t.say(|c| c.sentences(sentence.get(1..).unwrap_or_default())).value(),
        "step": t.time(verdict.step.unprofiled.ns).value(),
        "working": share(verdict.working_share).value(),
        "resident": share(verdict.resident_share).value(),
        "confidence": t.say(|c| c.confidence_and_doubts(&verdict.ruling)).value(),
        "lines": shown.map(line).collect::<Vec<_>>(),
        "findings": verdict.findings.iter().take(FINDINGS).map(finding).collect::<Vec<_>>(),
    })
}

#[derive(Template)]
#[template(path = "notice.html")]
struct NoticePage<'a> {
    t: &'a Tongues<'a>,
    f: &'a Frame,
    title: &'a Both,
    hint: &'a Both,
}

/// A page that says why something is not shown.
#[must_use]
pub fn render_notice(what: &Message, hint: Option<&Message>, [en, zh]: [&Catalog; 2], lang: Lang) -> String {
    let t = &Tongues { en, zh };
    let title = t.message(what);
    let hint = hint.map(|hint| t.message(hint)).unwrap_or_default();
    let frame = Frame::new(t, lang, &title, super::no_data(), "", Needs::default());
    render(&NoticePage { t, f: &frame, title: &title, hint: &hint })
}
