//! The page of a run: the step, how it was told and what was left out, how steps differ, what the GPU did, on what.

use whyidle_diagnosis::{Arg, Message};
use whyidle_experiment::result::{REVISION, Run};

use super::words;
use crate::Catalog;
use crate::page::Block;

pub(crate) fn blocks(run: &Run, id: Option<i64>, catalog: &Catalog, verbose: bool) -> Vec<Block> {
    let say = |message: &Message| catalog.message(message);
    let mut blocks =
        vec![Block::Head(head(run, catalog)), Block::Sentence(catalog.sentences(&words::answer(run)))];
    blocks.extend(words::notes(run).iter().map(|note| Block::Note(say(note))));
    blocks.extend(words::doubts(run).iter().map(|doubt| Block::Doubt(say(doubt))));
    if let Some(steady) = run.steady.as_ref().filter(|steady| steady.quantiles_ns[0] < steady.quantiles_ns[5])
    {
        blocks.push(Block::Title(catalog.word("bench-title-steps")));
        let names = ["bench-least", "bench-p10", "bench-median", "bench-p90", "bench-p99", "bench-most"];
        let row = |(name, ns): (&str, &i64)| {
            vec![catalog.word(name), catalog.time_like(*ns, steady.quantiles_ns[2])]
        };
        blocks.push(Block::Table(names.into_iter().zip(&steady.quantiles_ns).map(row).collect()));
    }
    let gpu = gpu(run, catalog);
    if !gpu.is_empty() {
        blocks.push(Block::Title(catalog.word("bench-title-gpu")));
        blocks.push(Block::Table(gpu));
    }
    if verbose {
        blocks.push(Block::Title(catalog.word("bench-title-place")));
        blocks.push(Block::Table(place(run, catalog)));
        if !run.added.is_empty() {
            let list = run.added.iter().cloned().map(Arg::Name).collect();
            blocks.push(Block::Note(say(&Message::new("bench-added").with("list", Arg::List(list)))));
        }
        if let Some(path) = &run.losses_from {
            blocks.push(Block::Note(say(&Message::new("bench-losses-from").name("path", path))));
        }
    }
    blocks.push(Block::Title(catalog.word("bench-title-kept")));
    blocks.push(Block::Code(vec![run.shown()]));
    if let Some(id) = id {
        blocks.push(Block::Note(say(&Message::new("bench-kept").name("id", id.to_string()))));
    }
    if let Some(log) = &run.log {
        blocks.push(Block::Note(say(&Message::new("bench-log").name("path", log))));
    }
    blocks
}

/// `NVIDIA H200 · torch 2.11.0 · 0123456789+`.
pub(super) fn head(run: &Run, catalog: &Catalog) -> String {
    let place = &run.place;
    let mut parts: Vec<String> = Vec::new();
    parts.extend(place.gpus.first().cloned().or_else(|| place.processor.clone()));
    parts.extend(place.torch.as_ref().map(|version| format!("torch {version}")));
    if let Some(commit) = &place.commit {
        let short: String = commit.chars().take(REVISION).collect();
        let id = if place.dirty == Some(true) { "bench-commit-dirty" } else { "bench-commit" };
        parts.push(catalog.message(&Message::new(id).name("commit", short)));
    }
    parts.push(words::moment(run.began));
    parts.join(" · ")
}

fn gpu(run: &Run, catalog: &Catalog) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut row = |name: &str, arg: Arg, remark: Option<String>| {
        rows.push(vec![catalog.word(name), catalog.arg(&arg), String::new(), remark.unwrap_or_default()]);
    };
    if let Some(gpu) = &run.gpu {
        let name = if gpu.is_counted { "bench-resident" } else { "bench-util" };
        row(name, Arg::Share(gpu.resident), None);
    }
    if let Some(peak) = &run.peak {
        let held = Message::new("bench-held").with("bytes", Arg::Bytes(peak.held));
        row("bench-peak", Arg::Bytes(peak.allocated), Some(catalog.message(&held)));
    } else if let Some(memory) = run.gpu.as_ref().and_then(|gpu| gpu.memory) {
        row("bench-memory", Arg::Bytes(memory), None);
    }
    if let Some(power) = run.gpu.as_ref().and_then(|gpu| gpu.power_w) {
        let watts = Message::new("bench-watts").with("power", Arg::Number(power, 0));
        row("bench-power", Arg::Message(Box::new(watts)), None);
    }
    if let Some(energy) = run.energy_per_step_j() {
        let joules = Message::new("bench-joules").with("energy", words::figure(energy));
        row("bench-energy", Arg::Message(Box::new(joules)), None);
    }
    rows
}

fn place(run: &Run, catalog: &Catalog) -> Vec<Vec<String>> {
    let place = &run.place;
    let cores = place.cores.map(|cores| cores.to_string());
    let gpus = (!place.gpus.is_empty()).then(|| place.gpus.join(", "));
    let known = [
        ("bench-host", place.host.clone()),
        ("bench-processor", place.processor.clone()),
        ("bench-cores", cores),
        ("bench-gpus", gpus),
        ("bench-driver", place.driver.clone()),
        ("bench-cuda", place.cuda.clone()),
        ("bench-python", place.python.clone()),
        ("bench-kernel", place.kernel.clone()),
        ("bench-folder", Some(run.dir.clone())),
    ];
    let known = known.into_iter().filter_map(|(name, value)| Some((catalog.word(name), value?)));
    let variables = place.variables.iter().map(|(name, value)| (name.clone(), value.clone()));
    known.chain(variables).map(|(name, value)| vec![name, value]).collect()
}
