//! What `torch.cuda.memory_summary()` printed, on a page: peaks since the start, failures and retries.

use whyidle_diagnosis::Message;
use whyidle_model::{MemorySummary, SummaryRow};

use super::words::bytes;
use crate::Catalog;
use crate::page::Block;

/// The answer, sentence by sentence.
pub(super) fn answer(table: &MemorySummary) -> Vec<Message> {
    let mut said = Vec::new();
    match (table.allocated, table.reserved) {
        (Some(allocated), Some(reserved)) => said.push(
            Message::new("memory-summary-peak")
                .with("allocated", bytes(allocated.peak))
                .with("reserved", bytes(reserved.peak)),
        ),
        _ => said.push(Message::new("memory-summary-none")),
    }
    if table.out_of_memory > 0 {
        said.push(Message::new("memory-summary-failed").count("count", table.out_of_memory));
    }
    if table.retries > 0 {
        said.push(Message::new("memory-summary-retries").count("count", table.retries));
    }
    if table.out_of_memory == 0 && table.retries == 0 && table.allocated.is_some() {
        said.push(Message::new("memory-summary-fine"));
    }
    said
}

pub(super) fn blocks(path: &str, table: &MemorySummary, catalog: &Catalog) -> Vec<Block> {
    let head = [
        catalog.message(&Message::new("memory-summary-head").name("path", path)),
        catalog.message(&Message::new("memory-head-device").name("device", table.device.to_string())),
    ];
    let mut blocks = vec![Block::Head(head.join(" · ")), Block::Sentence(catalog.sentences(&answer(table)))];
    let mut rows =
        vec![vec![String::new(), catalog.word("memory-summary-most"), catalog.word("memory-summary-now")]];
    for (id, row) in rows_of(table) {
        let Some(row) = row else { continue };
        rows.push(vec![catalog.word(id), catalog.arg(&bytes(row.peak)), catalog.arg(&bytes(row.current))]);
    }
    blocks.push(Block::Title(catalog.word("memory-title-totals")));
    blocks.push(Block::Table(rows));
    blocks.push(Block::Note(catalog.word("memory-summary-rounded")));
    blocks
}

/// The rows of bytes.
pub(super) fn rows_of(table: &MemorySummary) -> [(&'static str, Option<SummaryRow>); 5] {
    [
        ("memory-row-allocated", table.allocated),
        ("memory-row-requested", table.requested),
        ("memory-row-active", table.active),
        ("memory-row-reserved", table.reserved),
        ("memory-row-split", table.non_releasable),
    ]
}
