//! `whyidle` alone: the training programs of this machine, each with the command to type.

use std::collections::BTreeMap;

use whyidle_diagnosis::{Arg, Message};
use whyidle_observe::redact;
use whyidle_observe::tree::{Member, training_programs};
use whyidle_report::{Item, Mark, render_items};

use crate::REACHED;
use crate::output::Output;

/// Lists the training programs that run on this machine.
pub(crate) fn run(output: &Output) -> u8 {
    let programs = training_programs();
    let items: Vec<Item> = items(&programs);
    let (title, next) = match (launchers(&programs).first(), programs.first()) {
        (Some((launcher, _)), _) => ("list-title", format!("whyidle attach {launcher}")),
        (None, Some(first)) => ("list-title", format!("whyidle attach {}", first.pid)),
        (None, None) => ("list-nothing", "whyidle run -- python train.py".to_owned()),
    };
    let text = render_items(&[(title, items)], &next, &output.catalog, &output.text_options(false));
    output.data(&text, REACHED)
}

fn items(programs: &[Member]) -> Vec<Item> {
    let jobs = launchers(programs).into_iter().map(|(launcher, ranks)| {
        Message::new("list-job").name("pid", launcher.to_string()).count("ranks", ranks)
    });
    let each = programs.iter().map(|program| {
        Message::new("list-program")
            .name("pid", program.pid.to_string())
            .with("about", Arg::List(about(program)))
    });
    jobs.chain(each).map(|text| Item { mark: Mark::Plain, text }).collect()
}

/// What is known of a program: its GPUs, its rank, its command.
fn about(program: &Member) -> Vec<Arg> {
    let mut parts = Vec::new();
    let mut add = |message: Message| parts.push(Arg::Message(Box::new(message)));
    if !program.gpu_files.is_empty() {
        let gpus: Vec<String> = program.gpu_files.iter().map(u32::to_string).collect();
        add(Message::new("list-gpus").name("gpus", gpus.join(" ")));
    }
    if let Some(rank) = program.number("RANK") {
        add(Message::new("list-rank").name("rank", rank.to_string()));
    }
    parts.push(Arg::Name(shortened(&redact::command(&program.command).join(" "))));
    parts
}

/// Processes that started several ranks, with their number: to watch one watches them all.
fn launchers(programs: &[Member]) -> Vec<(u32, usize)> {
    let mut ranks: BTreeMap<u32, usize> = BTreeMap::new();
    for program in programs.iter().filter(|program| program.number("RANK").is_some() && program.ppid > 1) {
        *ranks.entry(program.ppid).or_default() += 1;
    }
    ranks.into_iter().filter(|(_, ranks)| *ranks > 1).collect()
}

/// A command of somebody else's: not too long, and without characters that steer a terminal.
pub(crate) fn shortened(command: &str) -> String {
    const LONGEST: usize = 200;
    let printable = command.chars().map(|c| if whyidle_model::is_hidden(c) { ' ' } else { c });
    if command.chars().count() <= LONGEST {
        return printable.collect();
    }
    printable.take(LONGEST - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn commands_are_shown_short_and_harmless() {
        assert_eq!(shortened("python\u{1b}[2J train.py"), "python [2J train.py");
        assert_eq!(shortened(&"x".repeat(500)).chars().count(), 200);
    }
}
