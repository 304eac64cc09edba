//! The sentence for every cause, put together as the diagnosis does it. Pieces that read well alone
//! must also read well in their places: look at the snapshots when a piece changes.

use crate::{Catalog, Lang, catalog::key_of};
use insta::assert_snapshot;
use std::fmt::Write as _;
use whyidle_diagnosis::{Arg, CAUSES, Cause, Message};

const MS: i64 = 1_000_000;

#[test]
fn the_sentence_for_every_cause() {
    for lang in Lang::ALL {
        let catalog = Catalog::new(lang);
        let mut page =
            catalog.message(&Message::new("say-healthy").time("step", 34 * MS).share("working", 0.97));
        page.push('\n');
        for cause in CAUSES.iter().filter(|cause| cause.id != "compute.bound") {
            let opening = opening(cause);
            let summaries = summaries(cause);
            let mut sentences: Vec<Vec<Message>> = summaries
                .into_iter()
                .map(|summary| [opening.clone(), vec![change(summary)]].concat())
                .collect();
            if sentences.is_empty() {
                sentences.push(opening);
            }
            let _ = writeln!(page, "\n{}", cause.id);
            for sentence in sentences {
                for message in &sentence {
                    assert_eq!(catalog.problems(message), Vec::<String>::new(), "{}", cause.id);
                }
                let _ = writeln!(page, "  {}", catalog.sentences(&sentence));
            }
        }
        page.push('\n');
        for cause in CAUSES {
            let _ = writeln!(page, "{}: {}", cause.id, catalog.message(&Message::new(cause.limit)));
        }
        assert_snapshot!(format!("sentences.{}", lang.tag()), page);
    }
}

fn opening(cause: &Cause) -> Vec<Message> {
    let because = Message::new(cause.because);
    let is_work =
        cause.id.starts_with("compute.") || matches!(cause.id, "memory.recompute" | "memory.headroom");
    let start = |id| Message::new(id).time("step", 188 * MS).time("working", 55 * MS);
    if is_work {
        let inefficient = Message::new("say-inefficient").message("because", because);
        vec![start("say-waits-somewhere").share("waiting", 0.7), inefficient]
    } else {
        vec![start("say-waits").time("waiting", 131 * MS).message("because", because)]
    }
}

fn change(summary: Message) -> Message {
    Message::new("say-change")
        .message("change", summary)
        .time("after", 57 * MS)
        .time("low", 55 * MS)
        .time("high", 61 * MS)
        .message("limit", Message::new("limit-compute.bound"))
}

/// The remedies of a cause, in a line each: `fix-data-workers`, `fix-data-workers-unknown`.
fn summaries(cause: &Cause) -> Vec<Message> {
    let key = format!("fix-{}", key_of(cause.id).replace('_', "-"));
    Catalog::sources(Lang::En)
        .iter()
        .flat_map(|source| source.lines())
        .filter_map(|line| line.split_once(" = "))
        .filter(|(id, _)| *id == key || id.starts_with(&format!("{key}-")))
        .map(|(id, text)| Message { id: id.to_owned().leak(), args: arguments(text) })
        .collect()
}

fn arguments(text: &str) -> Vec<(&'static str, Arg)> {
    let counts = ["from", "to", "workers", "micro", "factor", "count"].map(|name| (name, Arg::Count(4)));
    let mut args = Vec::from(counts);
    let names = [
        ("type", "bf16"),
        ("operator", "aten::scaled_dot_product_attention"),
        ("function", "train.py(41): metrics"),
        ("side", "50257"),
        ("padded", "50304"),
    ];
    args.extend(names.map(|(name, text)| (name, Arg::Name(text.to_owned()))));
    args.push(("bytes", Arg::Bytes(6 << 30)));
    args.retain(|(name, _)| text.contains(&format!("${name} ")));
    args
}

/// Counts are per step and rounded down: none means less than one.
#[test]
fn places_name_their_gaps_only_where_there_are_whole_ones() {
    let place =
        |count: i64| Message::new("ev-place").name("name", "aten::mm").time("time", MS).count("count", count);
    let worded = |lang, count| Catalog::new(lang).message(&place(count));
    assert_eq!(worded(Lang::En, 0), "aten::mm: 1.0 ms per traced step");
    assert_eq!(worded(Lang::En, 1), "aten::mm: 1.0 ms in 1 gap per traced step");
    assert_eq!(worded(Lang::En, 3), "aten::mm: 1.0 ms in 3 gaps per traced step");
    assert_eq!(worded(Lang::Zh, 0), "aten::mm：trace 中每步 1.0 ms");
    assert_eq!(worded(Lang::Zh, 3), "aten::mm：trace 中每步 1.0 ms，3 处空隙");
}
