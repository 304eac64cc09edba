//! Help in the language of the output. clap sets the English help from the definitions; for another language the same
//! definitions are walked, each of their texts is looked up in that language's table, and the page is set as other texts
//! are.

use clap::builder::PossibleValue;
use clap::{Arg, Command, CommandFactory};
use whyidle_report::{HelpPage, HelpRow, Lang, help_in, render_help};

use crate::REACHED;
use crate::args::Args;
use crate::output::Output;

/// The program's definitions with their texts in `lang`, names and options that commands inherit filled in: for
/// completions and the manual page.
pub(crate) fn command(lang: Lang) -> Command {
    let mut program = Args::command();
    program.build();
    if lang == Lang::En { program } else { translated(program, lang) }
}

/// Prints the help that `arguments` ask for.
pub(crate) fn print(arguments: impl Iterator<Item = String>, output: &Output) -> u8 {
    let mut program = Args::command();
    program.build();
    let (mut asked, mut is_long) = (&program, false);
    for argument in arguments.skip(1).take_while(|argument| argument != "--") {
        is_long |= argument == "--help";
        asked = asked.find_subcommand(&argument).unwrap_or(asked);
    }
    let page = page(asked.clone(), is_long, output.catalog.lang());
    output.data(&render_help(&page, &output.text_options(false)), REACHED)
}

/// A text in `lang`.
fn say(text: &str, lang: Lang) -> String {
    help_in(text, lang).unwrap_or(text).to_owned()
}

fn translated(command: Command, lang: Lang) -> Command {
    let in_lang = |text: &clap::builder::StyledStr| say(&text.to_string(), lang);
    let about = command.get_about().map(in_lang);
    let after = command.get_after_help().map(|text| lines(&text.to_string(), lang).join("\n"));
    let of_arg = |mut arg: Arg| {
        if let Some(help) = arg.get_help().map(in_lang) {
            arg = arg.help(help);
        }
        if let Some(help) = arg.get_long_help().map(|text| paragraphs(&text.to_string(), lang)) {
            arg = arg.long_help(help.join("\n\n"));
        }
        if let Some(heading) = arg.get_help_heading().and_then(|heading| help_in(heading, lang)) {
            arg = arg.help_heading(heading);
        }
        arg
    };
    let mut command = command.mut_args(of_arg).mut_subcommands(|below| translated(below, lang));
    if let Some(about) = about {
        command = command.about(about);
    }
    if let Some(after) = after {
        command = command.after_help(after);
    }
    command
}

/// What the help of a command holds.
fn page(mut command: Command, is_long: bool, lang: Lang) -> HelpPage {
    let usage = command.render_usage().to_string();
    let usage = usage.lines().map(|line| line.trim_start_matches("Usage:").trim().to_owned()).collect();
    let mut sections: Vec<(String, Vec<HelpRow>)> = Vec::new();
    let below = command.get_subcommands().filter(|below| !below.is_hide_set());
    let below = below.map(|below| HelpRow {
        name: below.get_name().to_owned(),
        texts: below.get_about().map(|about| say(&about.to_string(), lang)).into_iter().collect(),
    });
    sections.push((say("Commands", lang), below.collect()));
    let mut arguments: Vec<&Arg> = command.get_arguments().filter(|arg| is_shown(arg, is_long)).collect();
    // Sorted stably: the order of the definitions, what all commands share last.
    arguments.sort_by_key(|arg| (!arg.is_positional(), is_shared(arg)));
    for argument in arguments {
        let own = if argument.is_positional() { "Arguments" } else { "Options" };
        let heading = say(argument.get_help_heading().unwrap_or(own), lang);
        let row = row(argument, is_long, lang);
        match sections.iter_mut().find(|(title, _)| *title == heading) {
            Some((_, rows)) => rows.push(row),
            None => sections.push((heading, vec![row])),
        }
    }
    sections.retain(|(_, rows)| !rows.is_empty());
    let after = command.get_after_help().map(|text| lines(&text.to_string(), lang)).unwrap_or_default();
    HelpPage {
        about: command.get_about().map(|about| say(&about.to_string(), lang)).unwrap_or_default(),
        usage_title: say("Usage", lang),
        usage,
        sections,
        after,
    }
}

fn is_shown(argument: &Arg, is_long: bool) -> bool {
    let is_hidden =
        if is_long { argument.is_hide_long_help_set() } else { argument.is_hide_short_help_set() };
    !argument.is_hide_set() && !is_hidden
}

fn is_shared(argument: &Arg) -> bool {
    ["lang", "color", "progress", "help", "version"].contains(&argument.get_id().as_str())
}

fn row(argument: &Arg, is_long: bool, lang: Lang) -> HelpRow {
    let mut texts = match argument.get_long_help().filter(|_| is_long) {
        Some(text) => paragraphs(&text.to_string(), lang),
        None => argument.get_help().map(|text| say(&text.to_string(), lang)).into_iter().collect(),
    };
    let takes_values = argument.get_action().takes_values();
    let values: Vec<PossibleValue> = argument.get_possible_values();
    let is_listed = takes_values && !values.is_empty() && !argument.is_hide_possible_values_set();
    let mut beside = Vec::new();
    let defaults = argument.get_default_values();
    if takes_values && !defaults.is_empty() && !argument.is_hide_default_value_set() {
        let defaults: Vec<_> = defaults.iter().map(|value| value.to_string_lossy()).collect();
        beside.push(format!("[{}{}]", say("default:", lang), defaults.join(" ")));
    }
    if is_listed && !is_long {
        let names: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
        beside.push(format!("[{}{}]", say("possible values:", lang), names.join(", ")));
    }
    match (texts.last_mut(), beside.is_empty()) {
        (Some(text), false) => *text += &format!(" {}", beside.join(" ")),
        (None, false) => texts.push(beside.join(" ")),
        _ => {}
    }
    for value in values.iter().filter(|_| is_listed && is_long) {
        let told = value.get_help().map(|text| say(&text.to_string(), lang)).unwrap_or_default();
        texts.push(format!("{}  {told}", value.get_name()).trim_end().to_owned());
    }
    HelpRow { name: name(argument), texts }
}

/// `-o, --report <FILE>`, `<PATH>...`.
fn name(argument: &Arg) -> String {
    if argument.is_positional() {
        return argument.to_string();
    }
    let short = argument.get_short().map_or_else(|| "    ".to_owned(), |short| format!("-{short}, "));
    let long = argument.get_long().map(|long| format!("--{long}")).unwrap_or_default();
    let values = argument.get_value_names().filter(|_| argument.get_action().takes_values());
    let values = values.into_iter().flatten().map(|value| format!(" <{value}>")).collect::<String>();
    format!("{short}{long}{values}")
}

fn paragraphs(text: &str, lang: Lang) -> Vec<String> {
    text.split("\n\n").map(|part| say(part, lang)).collect()
}

/// Lines after the options. Of an example, what is said of it stands behind it, two spaces or more apart.
fn lines(text: &str, lang: Lang) -> Vec<String> {
    let line = |line: &str| match line.strip_prefix("  whyidle") {
        Some(rest) => match rest.trim_start().split_once("  ").or_else(|| said_of_nothing(rest)) {
            Some((_, told)) => {
                let told = told.trim_start();
                line[..line.len() - told.len()].to_owned() + &say(told, lang)
            }
            None => line.to_owned(),
        },
        None => say(line, lang),
    };
    text.lines().map(line).collect()
}

/// `whyidle` alone, with what is said of it.
fn said_of_nothing(rest: &str) -> Option<(&str, &str)> {
    rest.starts_with("  ").then(|| ("", rest.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every text of the English help, where it stands.
    fn texts(command: &Command, found: &mut Vec<String>) {
        let mut page = |is_long| {
            let HelpPage { about, sections, after, .. } = page(command.clone(), is_long, Lang::En);
            found.push(about);
            for (title, rows) in sections {
                found.push(title);
                found.extend(rows.into_iter().flat_map(|row| row.texts));
            }
            found.extend(after);
        };
        page(false);
        page(true);
        command.get_subcommands().for_each(|below| texts(below, found));
    }

    #[test]
    fn every_text_of_the_help_is_there_in_chinese() {
        let mut program = Args::command();
        program.build();
        let chinese = |text: &str| text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
        let mut missing = std::collections::BTreeSet::new();
        let mut walk = vec![program];
        while let Some(command) = walk.pop() {
            for is_long in [false, true] {
                let [en, zh] = [Lang::En, Lang::Zh].map(|lang| page(command.clone(), is_long, lang));
                assert_eq!(en.sections.len(), zh.sections.len(), "{}", command.get_name());
                let all = |page: &HelpPage| -> Vec<String> {
                    let rows = page.sections.iter().flat_map(|(title, rows)| {
                        [title.clone()].into_iter().chain(rows.iter().flat_map(|row| row.texts.clone()))
                    });
                    [page.about.clone()].into_iter().chain(rows).chain(page.after.clone()).collect()
                };
                for (en, zh) in all(&en).into_iter().zip(all(&zh)) {
                    // Names and commands are the same in both.
                    let is_command = en.starts_with("  whyidle") && !en.trim().contains("  ");
                    let is_same = is_command || en.chars().all(|c| c.is_ascii_lowercase());
                    if !is_same && !chinese(&zh) {
                        missing.insert(en);
                    }
                }
            }
            walk.extend(command.get_subcommands().cloned());
        }
        let missing: Vec<String> = missing.into_iter().collect();
        assert!(missing.is_empty(), "without Chinese:\n{}", missing.join("\n"));
    }

    #[test]
    fn nothing_in_the_table_is_left_over() {
        let mut program = Args::command();
        program.build();
        let mut found = Vec::new();
        texts(&program, &mut found);
        let found = found.join("\n") + "\nUsage\ndefault:\npossible values:";
        let left: Vec<&str> = whyidle_report::help_texts().filter(|text| !found.contains(text)).collect();
        // Features that are not built have texts too.
        if cfg!(all(feature = "agent", feature = "serve", feature = "feed", feature = "tui")) {
            assert!(left.is_empty(), "{left:#?}");
        }
    }

    #[test]
    fn an_example_keeps_its_command() {
        assert_eq!(
            lines("  whyidle top                      all training programs of this machine", Lang::Zh),
            ["  whyidle top                      本机的全部训练程序"]
        );
        assert_eq!(lines("  whyidle man | man -l -", Lang::Zh), ["  whyidle man | man -l -"]);
    }
}
