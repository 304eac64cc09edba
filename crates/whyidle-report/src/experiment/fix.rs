//! The page of a search of remedies: what to change, what it brings, what was tried besides.

use whyidle_diagnosis::{Arg, Message};
use whyidle_experiment::comparison::Finish;
use whyidle_experiment::fix::{Attempt, Fix, Outcome};
use whyidle_experiment::tries::Try;
use whyidle_experiment::tries::{Did, Tried};

use super::{tries, words};
use crate::Catalog;
use crate::page::Block;

pub(crate) fn blocks(found: &Fix, id: Option<i64>, catalog: &Catalog) -> Vec<Block> {
    let say = |message: &Message| catalog.message(message);
    let mut blocks = Vec::new();
    if let Some(cause) = &found.primary {
        blocks.push(Block::Head(say(&Message::new("fix-primary").name("cause", cause))));
    }
    blocks.push(Block::Sentence(say(&answer(found))));
    blocks.push(Block::Note(catalog.word("fix-untouched")));
    if found.ended == Some(Finish::Interrupted) {
        blocks.push(Block::Doubt(catalog.word("fix-interrupted")));
    }
    let kept = found.kept();
    if !kept.is_empty() {
        blocks.push(Block::Title(catalog.word("fix-title-keep")));
        for change in &kept {
            let places: Vec<&Tried> = found.applied.iter().filter(|one| one.name == change.name).collect();
            blocks.extend(places.iter().filter_map(|one| place(one)).map(|text| Block::Note(say(&text))));
            blocks.push(Block::Code(code(change)));
        }
    }
    if !found.patch.is_empty() {
        blocks.push(Block::Title(catalog.word("fix-title-patch")));
        blocks.push(Block::Code(found.patch.lines().map(str::to_owned).collect()));
    }
    if !found.attempts.is_empty() {
        blocks.push(Block::Title(catalog.word("fix-title-tried")));
        blocks.push(Block::Table(found.attempts.iter().map(|attempt| row(attempt, catalog)).collect()));
        blocks.push(Block::Note(catalog.word("fix-looks")));
    }
    if let Some(id) = id {
        blocks.push(Block::Note(say(&Message::new("fix-kept-as").name("id", id.to_string()))));
    }
    blocks
}

/// What the search came to.
pub(super) fn answer(found: &Fix) -> Message {
    let before = found.before_ns.unwrap_or(0);
    let kept: Vec<Arg> = found.kept().iter().map(|change| Arg::Name(change.to_string())).collect();
    let with = |id| Message::new(id).time("before", before);
    match (&found.together, found.after_ns) {
        _ if kept.is_empty() && found.attempts.is_empty() => with("fix-no-candidates"),
        _ if kept.is_empty() => with("fix-nothing"),
        (Some(effect), Some(after)) => with("fix-gain")
            .with("list", Arg::List(kept))
            .time("after", after)
            .share("share", -effect.effect)
            .message("from", words::change(effect.low))
            .message("to", words::change(effect.high))
            .with("times", words::times(1.0 / (1.0 + effect.effect))),
        (_, after) => {
            with("fix-gain-unproven").with("list", Arg::List(kept)).time("after", after.unwrap_or(before))
        }
    }
}

fn row(attempt: &Attempt, catalog: &Catalog) -> Vec<String> {
    let candidate = &attempt.candidate;
    let cause = |id| Message::new(id).name("cause", candidate.cause.clone().unwrap_or_default());
    let why = match (&candidate.cause, candidate.predicted) {
        (Some(_), Some(predicted)) => cause("fix-predicted").message("change", words::change(predicted)),
        (Some(_), None) => cause("fix-for"),
        (None, _) => Message::new("fix-unpredicted"),
    };
    let mut remark = format!("{} · {}", catalog.message(&outcome(attempt)), catalog.message(&why));
    if let Some(id) = attempt.comparison {
        let proof = Message::new("fix-proof").name("id", id.to_string());
        remark = format!("{remark} · {}", catalog.message(&proof));
    }
    let effect = attempt.effect.map(|effect| effect.effect).or(attempt.looked);
    let effect = effect.filter(|_| !matches!(attempt.outcome, Outcome::NotApplied(_)));
    let figure = effect.map_or_else(|| "–".to_owned(), |effect| catalog.difference(effect));
    vec![candidate.change.to_string(), figure, String::new(), remark]
}

/// A remedy, and what became of it.
#[must_use]
pub fn fix_decided(attempt: &Attempt) -> Message {
    Message::new("fix-decided")
        .name("change", attempt.candidate.change.to_string())
        .message("outcome", outcome(attempt))
}

/// What became of a remedy.
pub(crate) fn outcome(attempt: &Attempt) -> Message {
    let looked = |id| Message::new(id).message("change", words::change(attempt.looked.unwrap_or(0.0)));
    match (&attempt.outcome, &attempt.effect) {
        (Outcome::Kept, Some(effect)) => Message::new("fix-kept")
            .message("change", words::change(effect.effect))
            .message("from", words::change(effect.low))
            .message("to", words::change(effect.high)),
        (Outcome::Kept, None) => Message::new("fix-kept-bare"),
        (Outcome::NoGain, _) => looked("fix-no-gain"),
        (Outcome::NotProven, Some(effect)) => Message::new("fix-not-proven")
            .message("from", words::change(effect.low))
            .message("to", words::change(effect.high)),
        (Outcome::NotProven, None) => Message::new("fix-not-proven-bare"),
        (Outcome::LearnsOtherwise, _) => Message::new("fix-learns-otherwise"),
        (Outcome::NotApplied(why), _) => {
            Message::new("fix-not-applied").message("reason", tries::why_not(why.as_deref(), None))
        }
        (Outcome::Failed, _) => Message::new("fix-attempt-failed"),
        (Outcome::OutOfMemory, _) => Message::new("fix-attempt-memory"),
        (Outcome::Unproven, _) => looked("fix-unproven"),
    }
}

/// Where a kept change belongs.
fn place(tried: &Tried) -> Option<Message> {
    let Did::Set { to, place: Some((file, line)), given, .. } = &tried.did else { return None };
    let with = |id| {
        let setting = format!("{} = {to}", tried.name);
        Message::new(id).name("place", tries::place_of(file, *line)).name("setting", setting)
    };
    Some(match given {
        Some(given) => with("fix-place-given").name("given", given),
        None => with("fix-place"),
    })
}

/// How a change is written by hand.
fn code(change: &Try) -> Vec<String> {
    let value = match change.value.as_str() {
        "true" => "True",
        "false" => "False",
        value => value,
    };
    let lines: Vec<String> = match change.name.as_str() {
        "workers" => vec![
            format!("DataLoader(…, num_workers={value})"),
            format!("TrainingArguments(…, dataloader_num_workers={value})"),
        ],
        "prefetch_factor" => vec![format!("DataLoader(…, prefetch_factor={value})")],
        "persistent_workers" => vec![format!("DataLoader(…, persistent_workers={value})")],
        "pin_memory" => vec![format!("DataLoader(…, pin_memory={value})")],
        "threads" => vec![format!("DataLoader(…, worker_init_fn=lambda _: torch.set_num_threads({value}))")],
        "bf16" => vec![
            "with torch.autocast(\"cuda\", dtype=torch.bfloat16):".to_owned(),
            "    loss = model(…)".to_owned(),
        ],
        "tf32" => vec!["torch.set_float32_matmul_precision(\"high\")".to_owned()],
        "compile" => vec!["model.compile()".to_owned()],
        "fused_optimizer" => vec!["torch.optim.AdamW(…, fused=True)".to_owned()],
        "channels_last" => vec!["model.to(memory_format=torch.channels_last)".to_owned()],
        "cudnn_benchmark" => vec!["torch.backends.cudnn.benchmark = True".to_owned()],
        "gc" => match value.strip_prefix("every:") {
            Some(every) => vec!["gc.disable()".to_owned(), format!("if step % {every} == 0: gc.collect()")],
            None => vec!["gc.collect(); gc.freeze()".to_owned()],
        },
        "no_empty_cache" => vec!["- torch.cuda.empty_cache()".to_owned()],
        "expandable_segments" => vec![format!("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:{value}")],
        name if name.starts_with("env:") => vec![format!("{}={value}", name.trim_start_matches("env:"))],
        name => vec![format!("DistributedDataParallel(…, {name}={value})")],
    };
    lines
}
