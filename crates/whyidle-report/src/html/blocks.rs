//! Pages made of blocks – memory, single kernels, ranks, comparisons – as HTML, both languages side by side.

use std::fmt::Write as _;

use super::both::{Both, Tongues};
use crate::Catalog;
use crate::page::Block;

/// Blocks in both languages. They are made alike, so they pair up; where a language has more, the rest stands by itself.
pub(crate) fn set(tongues: &Tongues<'_>, blocks: impl Fn(&Catalog) -> Vec<Block>) -> String {
    set_answer_first(tongues, blocks).concat()
}

/// The same in two pieces, the first of which ends with the first answer.
pub(crate) fn set_answer_first(
    tongues: &Tongues<'_>,
    blocks: impl Fn(&Catalog) -> Vec<Block>,
) -> [String; 2] {
    let (en, zh) = (blocks(tongues.en), blocks(tongues.zh));
    let first = en.iter().position(|block| matches!(block, Block::Sentence(_))).map_or(0, |at| at + 1);
    let mut out = [String::new(), String::new()];
    for (at, (en, zh)) in en.iter().zip(&zh).enumerate() {
        set_one(&mut out[usize::from(at >= first)], en, zh);
    }
    out
}

fn set_one(out: &mut String, en: &Block, zh: &Block) {
    let both = |en: &str, zh: &str| Both { en: en.to_owned(), zh: zh.to_owned() };
    // Writing to a String cannot fail.
    let _ = match (en, zh) {
        (Block::Head(a), Block::Head(b)) => write!(out, "<p class=\"faint\">{}</p>", both(a, b)),
        (Block::Sentence(a), Block::Sentence(b)) => {
            write!(out, "<p class=\"answer\">{}</p>", both(a, b))
        }
        (Block::Note(a), Block::Note(b)) => write!(out, "<p>{}</p>", both(a, b)),
        (Block::Doubt(a), Block::Doubt(b)) => write!(out, "<p class=\"doubt\">{}</p>", both(a, b)),
        (Block::Rule(holds, a), Block::Rule(_, b)) => {
            let mark = if *holds { "+" } else { "·" };
            write!(out, "<p class=\"rule\"><b aria-hidden=\"true\">{mark}</b> {}</p>", both(a, b))
        }
        (Block::Title(a), Block::Title(b)) => write!(out, "<h3>{}</h3>", both(a, b)),
        (Block::Table(a), Block::Table(b)) => {
            set_table(out, a, b);
            Ok(())
        }
        (Block::Code(a), Block::Code(_)) => {
            write!(out, "<pre><code>{}</code></pre>", Both::same(a.join("\n")))
        }
        _ => Ok(()),
    };
}

fn set_table(out: &mut String, en: &[Vec<String>], zh: &[Vec<String>]) {
    out.push_str("<div class=\"scroll\"><table class=\"plain\"><tbody>");
    let columns = en.iter().map(Vec::len).max().unwrap_or(0);
    for (a, b) in en.iter().zip(zh) {
        out.push_str("<tr>");
        for column in 0..columns {
            let cell = |row: &[String]| row.get(column).cloned().unwrap_or_default();
            let cell = Both { en: cell(a), zh: cell(b) };
            let (open, close) = match column {
                0 => ("<th scope=\"row\">", "</th>"),
                1 | 2 => ("<td class=\"n\">", "</td>"),
                _ => ("<td>", "</td>"),
            };
            let _ = write!(out, "{open}{cell}{close}");
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}
