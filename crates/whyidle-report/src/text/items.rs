//! A list of short findings, each with a mark, and the command to type next: `check`, and the list of programs.

use whyidle_diagnosis::Message;

use super::canvas::{Canvas, Role};
use super::tail::write_next;
use crate::{Catalog, TextOptions};

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

fn write_item(canvas: &mut Canvas, catalog: &Catalog, item: &Item) {
    let (key, role) = match item.mark {
        Mark::Plain => ("", Role::Plain),
        Mark::Ok => ("mark-ok", Role::Working),
        Mark::Suspect => ("mark-suspect", Role::Warning),
        Mark::Bad => ("mark-bad", Role::Waiting),
        Mark::Unknown => ("mark-unknown", Role::Faint),
    };
    canvas.to(2);
    if !key.is_empty() {
        canvas.put(role, &catalog.word(key)).to(12);
    }
    canvas.flow(Role::Plain, &catalog.message(&item.text));
}
