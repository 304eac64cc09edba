//! A page as blocks – sentences, tables, lines to paste – made once and set as text or Markdown.

use unicode_width::UnicodeWidthStr;

use crate::TextOptions;
use crate::text::{Canvas, Role};

/// A piece of the page.
pub(crate) enum Block {
    /// What it is about.
    Head(String),
    /// The answer.
    Sentence(String),
    /// Said beside it.
    Note(String),
    /// Something is wrong with the evidence.
    Doubt(String),
    /// A rule of thumb, and whether it holds here.
    Rule(bool, String),
    /// A heading.
    Title(String),
    /// Rows of cells.
    Table(Vec<Vec<String>>),
    /// Lines to paste.
    Code(Vec<String>),
    /// Lines that are set already, as bars.
    Chart(Vec<String>),
}

/// Blocks as text.
pub(crate) fn set_text(blocks: &[Block], options: &TextOptions) -> String {
    let mut canvas = options.canvas();
    for block in blocks {
        match block {
            Block::Head(text) => canvas.flow(Role::Plain, text),
            Block::Sentence(text) => {
                canvas.blank();
                canvas.to(2).flow(Role::Strong, text);
            }
            Block::Note(text) => {
                canvas.to(2).flow_to(Role::Faint, text, 2);
            }
            Block::Doubt(text) => {
                canvas.to(2).flow_to(Role::Warning, text, 2);
            }
            Block::Rule(holds, text) => {
                let (mark, role) = if *holds { ("+", Role::Gain) } else { ("·", Role::Plain) };
                canvas.to(2).put(role, mark).to(4).flow(Role::Plain, text);
            }
            Block::Title(text) => {
                canvas.blank();
                canvas.flow(Role::Strong, text);
            }
            Block::Table(rows) => set_table(&mut canvas, rows),
            Block::Code(lines) => {
                for line in lines {
                    canvas.to(2).put(Role::Code, line).end();
                }
            }
            Block::Chart(lines) => {
                for line in lines {
                    canvas.to(2).put(Role::Plain, line).end();
                }
            }
        }
    }
    canvas.finish()
}

/// A table: names to the left, figures to the right, what is said of a row below it. A name that leaves its figures no
/// room stands on a line of its own.
fn set_table(canvas: &mut Canvas, rows: &[Vec<String>]) {
    let on_one_line = |cell: &String| cell.replace(['\n', '\r', '\t'], " ");
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(on_one_line).collect()).collect();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
    };
    let figures: usize = [1, 2].map(&width).into_iter().filter(|&w| w > 0).map(|w| w + 2).sum();
    let names = width(0).min(canvas.width.saturating_sub(2 + figures));
    let ends = [2 + names, 4 + names + width(1), 6 + names + width(1) + width(2)];
    for row in &rows {
        let Some(name) = row.first() else { continue };
        canvas.to(2);
        if name.width() > names {
            canvas.flow_to(Role::Plain, name, 2);
        } else {
            canvas.put(Role::Plain, name);
        }
        for (cell, end) in row.iter().zip(ends).skip(1) {
            canvas.right(Role::Plain, cell, end);
        }
        canvas.end();
        if let Some(remark) = row.get(3).filter(|remark| !remark.is_empty()) {
            canvas.to(4).flow(Role::Faint, remark);
        }
    }
}

/// Blocks as Markdown.
pub(crate) fn set_markdown(blocks: &[Block]) -> String {
    let set = |block: &Block| match block {
        Block::Head(text) => format!("_{}_", inert(text)),
        Block::Sentence(text) => format!("### {}", inert(text)),
        Block::Note(text) | Block::Doubt(text) => inert(text),
        Block::Rule(_, text) => format!("- {}", inert(text)),
        Block::Title(text) => format!("**{}**", inert(text)),
        Block::Table(rows) => table(rows),
        Block::Code(lines) | Block::Chart(lines) => format!("```\n{}\n```", lines.join("\n")),
    };
    blocks.iter().map(set).collect::<Vec<_>>().join("\n\n") + "\n"
}

/// Text of others – names of kernels, of files – that stays text in Markdown: no tag, no cell of its own.
fn inert(text: &str) -> String {
    let flat = text.replace('|', "\\|").replace(['\n', '\r', '\t'], " ");
    let mut out = String::with_capacity(flat.len());
    let mut chars = flat.chars().peekable();
    while let Some(c) = chars.next() {
        // Only what could begin a tag: "<0.01 %" reads as it is.
        let begins_tag =
            c == '<' && chars.peek().is_some_and(|next| next.is_alphabetic() || "/!?".contains(*next));
        if begins_tag { out.push_str("&lt;") } else { out.push(c) }
    }
    out
}

fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let line = |row: &[String]| {
        let cells: Vec<_> =
            (0..columns).map(|column| row.get(column).map_or_else(String::new, |cell| inert(cell))).collect();
        format!("| {} |", cells.join(" | "))
    };
    let mut lines = vec![format!("|{}", " |".repeat(columns)), format!("|{}", "---|".repeat(columns))];
    lines.extend(rows.iter().map(|row| line(row)));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_stay_text() {
        let row = |name: &str| vec![name.to_owned(), "<0.01 %".to_owned()];
        let blocks = [
            Block::Sentence("a <img src=x onerror=alert(1)> b".to_owned()),
            Block::Table(vec![row("k<float>(a | b)"), row("two\nlines")]),
        ];
        let page = set_markdown(&blocks);
        assert!(page.contains("a &lt;img src=x onerror=alert(1)> b"), "{page}");
        assert!(
            page.contains("| k&lt;float>(a \\| b) | <0.01 % |") && page.contains("| two lines |"),
            "{page}"
        );
        let text = set_text(&blocks, &TextOptions::default());
        assert!(text.contains("two lines"), "{text}");
    }
}
