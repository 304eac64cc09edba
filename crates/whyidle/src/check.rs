//! `whyidle check`: the quick look; and `whyidle` alone: the training programs of this machine.

use whyidle_diagnosis::Message;
use whyidle_observe::check::{Check, State, checks};
use whyidle_observe::tree::{Member, Tree, training_programs};
use whyidle_report::{Item, Mark, render_items};

use crate::args::CheckOptions;
use crate::output::Output;
use crate::{REACHED, UNREADABLE};

pub(crate) fn run(options: &CheckOptions, output: &Output) -> u8 {
    let tree = options.pid.map(|pid| Tree::of(&[pid]));
    if let (Some(pid), Some(tree)) = (options.pid, &tree)
        && tree.members.is_empty()
    {
        let error = Message::new("cli-live-no-process").name("pid", pid.to_string());
        output.error(&error, Some(&Message::new("cli-live-list")));
        return UNREADABLE;
    }
    let mut items: Vec<Item> = Vec::new();
    if let (Some(pid), Some(tree)) = (options.pid, &tree)
        && tree.drivers().next().is_none()
    {
        let text = Message::new("cli-live-no-training").name("pid", pid.to_string());
        items.push(Item { mark: Mark::Suspect, text });
    }
    items.extend(checks(tree.as_ref()).iter().map(item));
    let next = match options.pid {
        Some(pid) => format!("whyidle attach {pid}"),
        None => "whyidle".to_owned(),
    };
    let text = render_items("look-title", &items, &next, &output.catalog, &output.text_options(false));
    output.data(&text, REACHED)
}

fn item(check: &Check) -> Item {
    let mark = match check.state {
        State::Ok => Mark::Ok,
        State::Suspect => Mark::Suspect,
        State::Bad => Mark::Bad,
    };
    let mut text = Message::new(check.id);
    for (name, value) in &check.found {
        text = text.name(name, value);
    }
    Item { mark, text }
}

/// Lists the training programs that run on this machine, with the command to type.
pub(crate) fn list(output: &Output) -> u8 {
    let programs = training_programs();
    let line = |member: &Member| {
        let gpus: Vec<String> = member.gpu_files.iter().map(u32::to_string).collect();
        let id = if gpus.is_empty() { "list-program" } else { "list-program-gpu" };
        let mut text = Message::new(id)
            .name("pid", member.pid.to_string())
            .name("command", shortened(&member.command.join(" ")));
        if !gpus.is_empty() {
            text = text.name("gpus", gpus.join(", "));
        }
        Item { mark: Mark::Plain, text }
    };
    let items: Vec<Item> = programs.iter().map(line).collect();
    let (title, next) = match programs.first() {
        Some(first) => ("list-title", format!("whyidle attach {}", first.pid)),
        None => ("list-nothing", "whyidle run -- python train.py".to_owned()),
    };
    let text = render_items(title, &items, &next, &output.catalog, &output.text_options(false));
    output.data(&text, REACHED)
}

fn shortened(command: &str) -> String {
    const LONGEST: usize = 200;
    if command.chars().count() <= LONGEST {
        return command.to_owned();
    }
    command.chars().take(LONGEST - 1).chain(['…']).collect()
}
