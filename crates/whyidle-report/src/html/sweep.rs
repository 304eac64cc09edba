//! A sweep on its page: for each setting the curve, and every value with its figures.

use std::fmt::Write as _;

use serde_json::{Value, json};
use whyidle_experiment::comparison::Per;
use whyidle_experiment::sweep::{Rung, Sweep, Tried};

use super::blocks;
use super::both::{Both, Tongues};
use crate::experiment::sweep::{chart, head, of_rung, shown_rungs, tail, title, words};
use crate::page::Block;

/// The page below its heading.
pub(crate) fn set(t: &Tongues<'_>, sweep: &Sweep, id: Option<i64>) -> String {
    let is_heading = |block: &Block| matches!(block, Block::Sentence(_));
    let mut out = blocks::set(t, |c| head(sweep, c).into_iter().filter(|block| !is_heading(block)).collect());
    for (at, rung) in shown_rungs(sweep).enumerate() {
        // Writing to a String cannot fail.
        let _ = write!(
            out,
            "<h2 class=\"asis\">{}</h2><div id=\"sweep-{at}\" class=\"chart needs-script\"></div>{}",
            t.message(&title(rung)),
            table(t, rung)
        );
        out += &blocks::set(t, |c| of_rung(sweep, rung, c, true));
    }
    out + &blocks::set(t, |c| tail(sweep, id, c, true))
}

/// What the script draws: for each setting that has two values with times their names, their figures, and what is said
/// of the curve. Times are ns, or samples per second.
pub(crate) fn data(t: &Tongues<'_>, sweep: &Sweep) -> Value {
    shown_rungs(sweep).map(|rung| curve(t, rung)).collect()
}

fn curve(t: &Tongues<'_>, rung: &Rung) -> Value {
    let is_rate = rung.per == Per::Sample;
    let figure = |ns: i64| if is_rate { 1e9 / ns.max(1) as f64 } else { ns as f64 };
    let of = |end: fn((i64, i64)) -> i64| -> Vec<Option<f64>> {
        rung.values.iter().map(|tried| tried.interval_ns.map(|ends| figure(end(ends)))).collect()
    };
    let plateau = rung.found.map(|found| [found.knee, found.plateau_end]);
    json!({
        "values": rung.values.iter().map(|tried| value(t, tried).value()).collect::<Vec<_>>(),
        "figures": rung.values.iter().map(|tried| tried.ns.map(figure)).collect::<Vec<_>>(),
        "low": of(|(low, _)| low),
        "high": of(|(_, high)| high),
        "rate": is_rate,
        "chosen": (0..rung.values.len()).find(|&at| chart::is_chosen(rung, at)),
        "plateau": plateau,
    })
}

fn value(t: &Tongues<'_>, tried: &Tried) -> Both {
    t.message(&words::value_name(tried))
}

fn table(t: &Tongues<'_>, rung: &Rung) -> String {
    let (en, zh) = (chart::columns(rung, t.en), chart::columns(rung, t.zh));
    let columns: Vec<_> = en.into_iter().zip(zh).collect();
    let mut out = "<div class=\"scroll\"><table class=\"plain\"><thead><tr>".to_owned();
    let _ = write!(out, "<th scope=\"col\" class=\"asis\">{}</th>", Both::same(&rung.name));
    for (en, zh) in &columns {
        let heading = Both { en: en.heading.clone(), zh: zh.heading.clone() };
        let _ = write!(out, "<th scope=\"col\" class=\"n\">{heading}</th>");
    }
    out.push_str("</tr></thead><tbody>");
    for (at, tried) in rung.values.iter().enumerate() {
        let (class, mark) = if chart::is_chosen(rung, at) {
            (" class=\"chosen\"", format!(" <span class=\"small\">← {}</span>", t.word("html-sweep-chosen")))
        } else {
            ("", String::new())
        };
        let _ = write!(out, "<tr{class}><th scope=\"row\">{}{mark}</th>", value(t, tried));
        match words::fate(tried) {
            Some(fate) => {
                let _ = write!(out, "<td colspan=\"{}\">{}</td>", columns.len().max(1), t.message(&fate));
            }
            None => {
                for (en, zh) in &columns {
                    let cell = Both { en: en.cells[at].clone(), zh: zh.cells[at].clone() };
                    let _ = write!(out, "<td class=\"n\">{cell}</td>");
                }
            }
        }
        out.push_str("</tr>");
    }
    out + "</tbody></table></div>"
}
