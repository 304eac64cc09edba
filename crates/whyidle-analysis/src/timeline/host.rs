//! What the host's threads did during a step, as lanes of nested events.

use whyidle_model::{HostId, HostKind, Span, Trace};

use super::{Block, Lane, Names, thin};
use crate::facts::Facts;
use crate::hostclass::HostClass;
use crate::lines::Line;

/// Threads that are shown: the main one and those that launch with it.
const THREADS: usize = 2;
/// Lanes of a thread.
const DEPTH: usize = 4;

/// The threads of the host chain inside `window`. Of Python's frames only the user's own are shown, a stack has dozens that
/// say nothing of this program; and none that lasts all the step. Marks of steps are left out.
pub(super) fn lanes(trace: &Trace, facts: &Facts, window: Span, most: usize, names: &mut Names) -> Vec<Lane> {
    let mut lanes = Vec::new();
    for &thread in facts.chain.threads.iter().take(THREADS) {
        let mut of_thread: Vec<Vec<Block>> = vec![Vec::new(); DEPTH];
        // Ends of the events around the one that is looked at.
        let mut around: Vec<i64> = Vec::new();
        for &row in &facts.tree.threads()[thread] {
            let id = HostId(row);
            let (from, until) = (trace.host.start[id.index()], trace.host.end(id));
            if from >= window.end || until <= window.start || !is_shown(trace, facts, id, window) {
                continue;
            }
            while around.last().is_some_and(|end| *end <= from) {
                around.pop();
            }
            let depth = around.len();
            around.push(until);
            if let Some(blocks) = of_thread.get_mut(depth) {
                let line = Line::of_context(facts.tree.context(id));
                let name = names.of(trace, trace.host.name[id.index()]);
                let (start, end) = (from.max(window.start), until.min(window.end));
                blocks.push(Block::one(start - window.start, end - window.start, line, name));
            }
        }
        let thread = trace.threads[thread];
        lanes.extend(of_thread.into_iter().enumerate().filter(|(_, blocks)| !blocks.is_empty()).map(
            |(depth, blocks)| Lane {
                number: thread.tid,
                name: trace.names.get(thread.name).to_owned(),
                depth,
                blocks: thin::lane(blocks, window.length(), most),
            },
        ));
    }
    lanes
}

fn is_shown(trace: &Trace, facts: &Facts, id: HostId, window: Span) -> bool {
    if facts.tree.class(trace, id) == HostClass::StepMark {
        return false;
    }
    if trace.host.kind[id.index()] != HostKind::Python {
        return true;
    }
    let spans_it = trace.host.start[id.index()] <= window.start && trace.host.end(id) >= window.end;
    !spans_it && facts.as_user_frame(trace, id).is_some()
}
