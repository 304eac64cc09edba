//! Help in another language than English: a table from the English texts, which stand beside the options they are of, and
//! the page, set as other texts are.

use unicode_width::UnicodeWidthStr;

use crate::text::Role;
use crate::{Lang, TextOptions};

/// English and Chinese in turn, a line each, pairs apart by an empty line.
const CHINESE: &str = include_str!("../locales/zh-CN/help.txt");
/// Names of options beyond this many columns have their texts below them.
const WIDEST_NAME: usize = 30;

/// The help of a command.
#[derive(Clone, Debug, Default)]
pub struct HelpPage {
    /// What it does.
    pub about: String,
    /// `Usage`.
    pub usage_title: String,
    /// How it is called, a line for each way.
    pub usage: Vec<String>,
    /// Arguments, options, subcommands, under their headings.
    pub sections: Vec<(String, Vec<HelpRow>)>,
    /// Examples, and what the exit status says.
    pub after: Vec<String>,
}

/// An option, an argument, or a subcommand.
#[derive(Clone, Debug, Default)]
pub struct HelpRow {
    /// As it is typed.
    pub name: String,
    /// What is said of it, a paragraph each.
    pub texts: Vec<String>,
}

fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = CHINESE.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>();
    let pairs = lines.split(|line| line.is_empty()).filter_map(|pair| match pair {
        [en, zh] => Some((*en, *zh)),
        _ => None,
    });
    pairs.collect::<Vec<_>>().into_iter()
}

/// A text of the help in `lang`; `None` where it stays as it is.
#[must_use]
pub fn help_in(text: &str, lang: Lang) -> Option<&'static str> {
    match lang {
        Lang::En => None,
        Lang::Zh => pairs().find(|(en, _)| *en == text).map(|(_, zh)| zh),
    }
}

/// The English texts of the table.
pub fn help_texts() -> impl Iterator<Item = &'static str> {
    pairs().map(|(en, _)| en)
}

/// The page as text.
#[must_use]
pub fn render_help(page: &HelpPage, options: &TextOptions) -> String {
    let mut canvas = options.canvas();
    canvas.flow(Role::Plain, &page.about);
    canvas.blank();
    for (nth, line) in page.usage.iter().enumerate() {
        if nth == 0 {
            canvas.put(Role::Strong, &page.usage_title);
        }
        canvas.to(page.usage_title.width()).put(Role::Plain, line).end();
    }
    let names = page.sections.iter().flat_map(|(_, rows)| rows).map(|row| row.name.width());
    let column = 4 + names.filter(|&width| width <= WIDEST_NAME).max().unwrap_or(0);
    for (title, rows) in &page.sections {
        canvas.blank();
        canvas.flow(Role::Strong, title);
        for row in rows {
            canvas.to(2).put(Role::Plain, &row.name);
            if row.name.width() + 4 > column || row.texts.is_empty() {
                canvas.end();
            }
            for text in &row.texts {
                canvas.to(column).flow(Role::Plain, text);
            }
        }
    }
    if !page.after.is_empty() {
        canvas.blank();
    }
    for line in &page.after {
        match line.as_str() {
            "" => canvas.blank(),
            // A command is never broken.
            example if example.starts_with("  ") => {
                canvas.to(2).put(Role::Plain, example.trim_start()).end();
            }
            text => canvas.flow(Role::Plain, text),
        }
    }
    canvas.finish()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_table_is_pairs_each_once() {
        let blocks = CHINESE.split("\n\n").filter(|block| !block.trim_start().starts_with('#')).count();
        assert_eq!(pairs().count(), blocks, "an entry is no pair");
        let once: BTreeSet<&str> = help_texts().collect();
        assert_eq!(once.len(), blocks, "a text is there twice");
        for (en, zh) in pairs() {
            assert!(!en.chars().any(|c| c > '\u{2e80}'), "{en}");
            assert!(zh.chars().any(|c| c > '\u{2e80}'), "{zh}");
        }
    }

    #[test]
    fn texts_stand_beside_their_names_and_long_names_above() {
        let row = |name: &str, text: &str| HelpRow { name: name.to_owned(), texts: vec![text.to_owned()] };
        let page = HelpPage {
            about: "做什么".to_owned(),
            usage_title: "用法：".to_owned(),
            usage: vec!["whyidle x".to_owned(), "whyidle y".to_owned()],
            sections: vec![(
                "选项".to_owned(),
                vec![row("-a", "甲"), row("--a-name-that-is-far-too-long-for-a-column", "乙")],
            )],
            after: vec!["示例：".to_owned(), "  whyidle x".to_owned()],
        };
        let text = render_help(&page, &TextOptions { width: 40, ..TextOptions::default() });
        assert_eq!(
            text,
            "做什么\n\n用法：whyidle x\n      whyidle y\n\n选项\n  -a  甲\n  \
             --a-name-that-is-far-too-long-for-a-column\n      乙\n\n示例：\n  whyidle x\n"
        );
    }
}
