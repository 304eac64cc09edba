//! A list of short findings, each with a mark, and the command to type next: `check`, and the list of programs.

use serde_json::{Value, json};
use whyidle_diagnosis::Message;

use super::canvas::{Canvas, Role};
use super::tail::write_next;
use crate::page::{self, Block};
use crate::{Catalog, TextOptions, json as set};

/// How an item came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Nothing to judge.
    Plain,
    /// As it should be.
    Ok,
    /// Worth a look.
    Suspect,
    /// Wrong.
    Bad,
    /// Not measured.
    Unknown,
}

/// One item.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// How it came out.
    pub mark: Mark,
    /// What is said.
    pub text: Message,
}

/// Items under titles, which are message ids without arguments, and what to type next.
#[must_use]
pub fn render_items(
    sections: &[(&'static str, Vec<Item>)],
    next: &str,
    catalog: &Catalog,
    options: &TextOptions,
) -> String {
    let mut canvas = options.canvas();
    for (title, items) in sections {
        canvas.blank();
        canvas.flow(Role::Strong, &catalog.word(title));
        canvas.blank();
        for item in items {
            write_item(&mut canvas, catalog, item);
        }
    }
    canvas.blank();
    write_next(&mut canvas, catalog, next);
    canvas.finish()
}

/// The same as `whyidle.check/1`.
#[must_use]
pub fn items_json(sections: &[(&'static str, Vec<Item>)], next: &str, catalog: &Catalog) -> String {
    let item = |item: &Item| json!({ "mark": item.mark.id(), "text": set::text(catalog, &item.text) });
    let section = |(title, items): &(&'static str, Vec<Item>)| {
        json!({
            "id": title,
            "title": catalog.word(title),
            "items": items.iter().map(item).collect::<Vec<Value>>(),
        })
    };
    set::pretty(&json!({
        "schema": "whyidle.check/1",
        "tool": set::tool(),
        "sections": sections.iter().map(section).collect::<Vec<_>>(),
        "next": next,
    }))
}

/// The same as Markdown.
#[must_use]
pub fn items_markdown(sections: &[(&'static str, Vec<Item>)], next: &str, catalog: &Catalog) -> String {
    let mut blocks = Vec::new();
    for (title, items) in sections {
        blocks.push(Block::Title(catalog.word(title)));
        let cells = |item: &Item| vec![item.mark.word(catalog), catalog.message(&item.text)];
        blocks.push(Block::Table(items.iter().map(cells).collect()));
    }
    blocks.push(Block::Title(catalog.word("report-key-next")));
    blocks.push(Block::Code(vec![next.to_owned()]));
    page::set_markdown(&blocks)
}

impl Mark {
    /// Stable id.
    fn id(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Ok => "ok",
            Self::Suspect => "suspect",
            Self::Bad => "bad",
            Self::Unknown => "unknown",
        }
    }

    /// Nothing where there is nothing to judge.
    fn word(self, catalog: &Catalog) -> String {
        match self {
            Self::Plain => String::new(),
            Self::Ok => catalog.word("mark-ok"),
            Self::Suspect => catalog.word("mark-suspect"),
            Self::Bad => catalog.word("mark-bad"),
            Self::Unknown => catalog.word("mark-unknown"),
        }
    }
}

fn write_item(canvas: &mut Canvas, catalog: &Catalog, item: &Item) {
    let role = match item.mark {
        Mark::Plain => Role::Plain,
        Mark::Ok => Role::Working,
        Mark::Suspect => Role::Warning,
        Mark::Bad => Role::Waiting,
        Mark::Unknown => Role::Faint,
    };
    canvas.to(2);
    if item.mark != Mark::Plain {
        canvas.put(role, &item.mark.word(catalog)).to(12);
    }
    canvas.flow(Role::Plain, &catalog.message(&item.text));
}
