//! What is wrong with a command line, in the words of the catalogue: clap finds it, its kind and its context choose
//! the message.

use std::error::Error;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use whyidle_diagnosis::{Arg, Message};
use whyidle_report::Lang;

use crate::help;
use crate::output::Output;
use crate::values::Unfit;
use crate::{REACHED, UNREADABLE};

/// Commands that are built in on demand, and the cargo feature of each.
const OPTIONAL: &[(&str, &str)] = &[
    ("top", "tui"),
    ("serve", "serve"),
    ("tokenize", "feed"),
    #[cfg(target_os = "linux")]
    ("agent", "agent"),
    #[cfg(target_os = "linux")]
    ("fleet", "agent"),
];

/// Prints help where it was asked for, or what is wrong; returns the exit status.
pub(crate) fn report(error: &clap::Error) -> u8 {
    if !error.use_stderr() {
        let output = Output::plain(asked_language(arguments()).as_deref());
        if error.kind() == ErrorKind::DisplayHelp && output.catalog.lang() != Lang::En {
            return help::print(arguments(), &output);
        }
        // clap's own help, and the version; a reader that goes away is no error.
        let _ = error.print();
        return REACHED;
    }
    complain(error, &Output::plain(asked_language(arguments()).as_deref()))
}

/// What the program was started with; what is no UTF-8 is replaced.
fn arguments() -> impl Iterator<Item = String> {
    std::env::args_os().map(|arg| arg.to_string_lossy().into_owned())
}

/// Says what is wrong; the exit status.
pub(crate) fn complain(error: &clap::Error, output: &Output) -> u8 {
    output.usage_error(&reason(error), hint(error).as_ref(), &usage_lines(error));
    UNREADABLE
}

/// The value of `--lang`, wherever it stands: the line was not understood as a whole.
pub(crate) fn asked_language(args: impl Iterator<Item = String>) -> Option<String> {
    let mut args = args.take_while(|arg| arg != "--");
    while let Some(arg) = args.next() {
        match arg.strip_prefix("--lang") {
            Some("") => return args.next(),
            Some(rest) if rest.starts_with('=') => return Some(rest[1..].to_owned()),
            _ => {}
        }
    }
    None
}

/// What is wrong.
fn reason(error: &clap::Error) -> Message {
    let argument = || first(error, ContextKind::InvalidArg);
    let value = first(error, ContextKind::InvalidValue);
    match error.kind() {
        ErrorKind::UnknownArgument => Message::new("cli-usage-unknown-argument").name("argument", argument()),
        ErrorKind::InvalidSubcommand => match not_built(error) {
            Some((command, _)) => Message::new("cli-usage-not-built").name("command", *command),
            None => Message::new("cli-usage-unknown-command")
                .name("command", first(error, ContextKind::InvalidSubcommand)),
        },
        ErrorKind::MissingRequiredArgument => {
            Message::new("cli-usage-missing").with("arguments", list(error, ContextKind::InvalidArg))
        }
        ErrorKind::ArgumentConflict => {
            let others = all(error, ContextKind::PriorArg);
            if others.is_empty() || others == [argument()] {
                return Message::new("cli-usage-twice").name("argument", argument());
            }
            Message::new("cli-usage-conflict")
                .name("argument", argument())
                .with("others", list(error, ContextKind::PriorArg))
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            Message::new("cli-usage-no-value").name("argument", argument())
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => Message::new("cli-usage-bad-value")
            .name("argument", argument())
            .name("value", value)
            .message("reason", unfit(error)),
        ErrorKind::TooManyValues | ErrorKind::WrongNumberOfValues | ErrorKind::TooFewValues => {
            Message::new("cli-usage-values").name("argument", argument())
        }
        ErrorKind::InvalidUtf8 => Message::new("cli-usage-not-utf8"),
        _ => Message::new("cli-usage-not-understood"),
    }
}

/// Why a value does not do.
fn unfit(error: &clap::Error) -> Message {
    if let Some(Unfit(message)) = error.source().and_then(|source| source.downcast_ref()) {
        return message.clone();
    }
    if all(error, ContextKind::ValidValue).is_empty() {
        return Message::new("cli-value-unfit");
    }
    Message::new("cli-value-one-of").with("known", list(error, ContextKind::ValidValue))
}

/// The command that this program was built without, with its feature.
fn not_built(error: &clap::Error) -> Option<&'static (&'static str, &'static str)> {
    let asked = first(error, ContextKind::InvalidSubcommand);
    OPTIONAL.iter().find(|(command, _)| *command == asked)
}

/// What was probably meant, or how to get what is missing.
fn hint(error: &clap::Error) -> Option<Message> {
    if let Some((_, feature)) = not_built(error) {
        return Some(Message::new("cli-usage-not-built-hint").name("feature", *feature));
    }
    let kinds = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    let near = kinds.into_iter().map(|kind| first(error, kind)).find(|near| !near.is_empty())?;
    Some(Message::new("cli-did-you-mean").name("cause", near))
}

/// Lines that show how the command is used.
fn usage_lines(error: &clap::Error) -> Vec<String> {
    let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage) else { return Vec::new() };
    let text = usage.to_string();
    let lines = text.lines().map(|line| line.trim_start_matches("Usage:").trim());
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn all(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

fn first(error: &clap::Error, kind: ContextKind) -> String {
    all(error, kind).into_iter().next().unwrap_or_default()
}

fn list(error: &clap::Error, kind: ContextKind) -> Arg {
    Arg::List(all(error, kind).into_iter().map(Arg::Name).collect())
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::args::Args;
    use crate::captured::{Captured, Place};

    /// What a program without any optional command says.
    fn said(command: &str, lang: &str) -> Captured {
        let bare = clap::Command::new("whyidle").subcommand(clap::Command::new("trace"));
        let error = bare.try_get_matches_from(["whyidle", command]).expect_err("no such command");
        let place = Place::default();
        let status = complain(&error, &Output::plain(Some(lang)).into_place(place.clone()));
        Captured { status, ..place.taken() }
    }

    #[test]
    fn a_command_that_was_not_built_in_names_its_feature() {
        for (command, feature) in OPTIONAL {
            for (lang, words) in [("en", "was built without"), ("zh", "构建时没有包含")] {
                let said = said(command, lang);
                let (error, hint) = (said.error.unwrap_or_default(), said.hint.unwrap_or_default());
                assert_eq!((said.status, said.out.as_str()), (UNREADABLE, ""), "{command}");
                assert!(error.contains(words) && error.contains(command), "{error}");
                assert!(hint.contains(&format!("--features {feature}")), "{hint}");
            }
        }
        let unknown = said("tokenise", "en").error.unwrap_or_default();
        assert!(unknown.contains("there is no command tokenise"), "{unknown}");
    }

    #[test]
    fn every_optional_command_is_told_of_and_every_feature_exists() {
        let manifest = include_str!("../Cargo.toml");
        for (command, feature) in OPTIONAL {
            assert!(manifest.lines().any(|line| line.starts_with(&format!("{feature} = ["))), "{feature}");
            // Where it is built in, its name is right; where it is not, it is told of.
            if Args::command().find_subcommand(command).is_none() {
                let error = Args::try_parse_from(["whyidle", command]).expect_err("not built in");
                assert!(not_built(&error).is_some(), "{command}");
            }
        }
        #[cfg(all(feature = "tui", feature = "serve", feature = "feed", feature = "agent"))]
        for (command, _) in OPTIONAL {
            assert!(Args::command().find_subcommand(command).is_some(), "there is no {command}");
        }
    }

    #[test]
    fn the_language_is_found_in_a_line_that_is_not_understood() {
        let asked = |line: &str| asked_language(line.split(' ').map(str::to_owned));
        assert_eq!(asked("whyidle plan --lang zh --batch x").as_deref(), Some("zh"));
        assert_eq!(asked("whyidle --lang=zh-CN plan").as_deref(), Some("zh-CN"));
        assert_eq!(asked("whyidle run -- python --lang zh"), None);
        assert_eq!(asked("whyidle --lang"), None);
    }
}
