//! A list of short findings, each with a mark, and the command to type next: `check`, and the list of programs.

use whyidle_diagnosis::Message;

use super::canvas::Role;
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
}

/// One item.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// How it came out.
    pub mark: Mark,
    /// What is said.
    pub text: Message,
}

/// Items under a title, which is a message id without arguments, and what to type next.
#[must_use]
pub fn render_items(
    title: &'static str,
    items: &[Item],
    next: &str,
    catalog: &Catalog,
    options: &TextOptions,
) -> String {
    let mut canvas = options.canvas();
    canvas.flow(Role::Strong, &catalog.word(title));
    canvas.blank();
    for item in items {
        let (key, role) = match item.mark {
            Mark::Plain => ("", Role::Plain),
            Mark::Ok => ("mark-ok", Role::Working),
            Mark::Suspect => ("mark-suspect", Role::Warning),
            Mark::Bad => ("mark-bad", Role::Waiting),
        };
        canvas.to(2);
        if !key.is_empty() {
            canvas.put(role, &catalog.word(key)).to(12);
        }
        canvas.flow(Role::Plain, &catalog.message(&item.text));
    }
    canvas.blank();
    write_next(&mut canvas, catalog, next);
    canvas.finish()
}
