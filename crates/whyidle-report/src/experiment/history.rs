//! The list of what was run: number, time, step or effect, commit, command.

use whyidle_diagnosis::Message;
use whyidle_experiment::history::Row;

use super::words;
use crate::Catalog;
use crate::page::Block;

pub(crate) fn blocks(rows: &[Row], catalog: &Catalog) -> Vec<Block> {
    if rows.is_empty() {
        return vec![Block::Note(catalog.word("history-empty"))];
    }
    vec![Block::Table(rows.iter().map(|row| line(row, catalog)).collect())]
}

fn line(row: &Row, catalog: &Catalog) -> Vec<String> {
    let label = row.label.as_ref().map(|label| format!("  {label}")).unwrap_or_default();
    let figure = match (row.effect, row.step_ns) {
        (Some(effect), _) => catalog.difference(effect),
        (None, Some(step)) => catalog.time(step),
        (None, None) => "–".to_owned(),
    };
    let said = if row.kind == "verdict" {
        row.answer.as_deref().map(|cause| verdict(row, cause, catalog))
    } else {
        row.answer.as_deref().and_then(answer).map(|answer| catalog.word(answer))
    };
    let command = row.command.replace(['\n', '\r', '\t'], " ");
    let remark = [said, Some(command)].into_iter().flatten().collect::<Vec<_>>().join(" ");
    vec![
        format!("{:>5}  {}{label}", row.id, words::moment(row.began)),
        figure,
        row.revision.clone().unwrap_or_default(),
        remark,
    ]
}

/// What a verdict says in brief: `[verdict: GPU works 31 %; loader workers]`.
fn verdict(row: &Row, cause: &str, catalog: &Catalog) -> String {
    let said = match row.busy {
        Some(busy) => Message::new("history-verdict").share("busy", busy),
        None => Message::new("history-verdict-bare"),
    };
    catalog.message(&said.name("cause", catalog.cause(cause)))
}

/// The word for an answer.
fn answer(id: &str) -> Option<&'static str> {
    Some(match id {
        "faster" => "history-faster",
        "slower" => "history-slower",
        "alike" => "history-alike",
        "unclear" => "history-unclear",
        "compute" => "history-compute",
        "transfer" => "history-transfer",
        "prep" => "history-prep",
        "fetch" => "history-fetch",
        "knee" | "smallest" => "history-knee",
        "flat" => "history-flat",
        "kept" => "history-kept",
        _ => return None,
    })
}
