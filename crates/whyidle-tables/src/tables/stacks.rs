//! Python stacks of a recording.

use crate::column::{Cell, Rows, Sink, Stop, Table, columns};
use crate::export::frame_text;
use crate::source::Sampled;

pub(super) const TABLE: Table = Table {
    name: "stacks",
    doc: "Python stacks that were seen of a running program.",
    columns: columns! {
        t_ns Integer "ns" "when, Unix time; NULL where only totals were kept";
        pid Integer "" "the process";
        thread Text "" "the thread's name";
        stack Integer "" "number of the distinct stack";
        frames Text "" "its frames, outermost first, joined by ;";
        leaf Text "" "its innermost frame; NULL: the thread runs no Python";
        state Text "" "the thread's state: R runs, S sleeps, D waits for a disk; NULL where unknown";
        gil Integer "" "1: it held the interpreter's lock";
        count Integer "" "samples";
    },
    rows: Rows::Sampled(rows),
};

fn rows(from: &Sampled<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let stacks = &from.samples.stacks;
    let joined: Vec<(String, String)> = stacks
        .stacks
        .iter()
        .map(|stack| {
            let frames: Vec<String> =
                stack.frames.iter().map(|frame| frame_text(&stacks.names, *frame)).collect();
            (frames.join(";"), frames.last().cloned().unwrap_or_default())
        })
        .collect();
    for seen in &stacks.seen {
        let stack = &stacks.stacks[seen.stack];
        let (frames, leaf) = &joined[seen.stack];
        let state = seen.state.to_string();
        sink(&[
            seen.t.into(),
            stack.pid.into(),
            stacks.names.get(stack.thread).into(),
            (seen.stack as u64).into(),
            frames.as_str().into(),
            leaf.as_str().into(),
            if seen.state == ' ' { Cell::Null } else { state.as_str().into() },
            seen.gil.into(),
            seen.count.into(),
        ])?;
    }
    Ok(())
}
