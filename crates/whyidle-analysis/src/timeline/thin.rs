//! Fewer blocks where there are more than a picture can show.

use super::{Block, Gap, UNNAMED};
use crate::lines::Line;

/// A gap of the step's length divided by this, or longer, is never part of a block.
pub(crate) const HIDES_NONE_ABOVE: i64 = 1_000;

/// Blocks that follow each other closely and are short become one. Lanes with at most `most` blocks stay as they are;
/// others keep at most about three times as many.
pub(super) fn lane(blocks: Vec<Block>, length: i64, most: usize) -> Vec<Block> {
    if blocks.len() <= most {
        return blocks;
    }
    let tiny = tiny(length, most);
    let mut merge = Merge::new(length);
    for block in blocks {
        let is_near = merge.end().is_some_and(|end| block.start - end < tiny);
        if block.length() >= tiny || !is_near {
            merge.flush();
        }
        if block.length() >= tiny { merge.whole(block) } else { merge.add(block) }
    }
    merge.finish()
}

/// The same for the device's own lane, in which pauses have names: short gaps among short blocks become part of them.
pub(super) fn device(busy: Vec<Block>, gaps: Vec<Gap>, length: i64, most: usize) -> (Vec<Block>, Vec<Gap>) {
    if busy.len() + gaps.len() <= most {
        return (busy, gaps);
    }
    let tiny = tiny(length, most);
    let mut merge = Merge::new(length);
    let mut kept = Vec::new();
    let mut gaps = gaps.into_iter().peekable();
    let mut take = |until: i64, merge: &mut Merge| {
        while let Some(gap) = gaps.next_if(|gap| gap.start < until) {
            if gap.length() >= (length / HIDES_NONE_ABOVE).min(tiny) || !merge.is_open() {
                merge.flush();
                kept.push(gap);
            } else {
                merge.pause(&gap);
            }
        }
    };
    for block in busy {
        take(block.start, &mut merge);
        if block.length() >= tiny {
            merge.flush();
            merge.whole(block);
        } else {
            merge.add(block);
        }
    }
    take(i64::MAX, &mut merge);
    (merge.finish(), kept)
}

fn tiny(length: i64, most: usize) -> i64 {
    (length / i64::try_from(most.max(1)).unwrap_or(i64::MAX)).max(1)
}

/// Collects short blocks into longer ones.
struct Merge {
    longest: i64,
    done: Vec<Block>,
    open: Option<Block>,
    /// Busy time and idle time of the open one by line.
    busy: Vec<(Line, i64)>,
    idle: Vec<(Line, i64)>,
}

impl Merge {
    fn new(length: i64) -> Self {
        let longest = (length / HIDES_NONE_ABOVE).max(1);
        Self { longest, done: Vec::new(), open: None, busy: Vec::new(), idle: Vec::new() }
    }

    fn is_open(&self) -> bool {
        self.open.is_some()
    }

    fn end(&self) -> Option<i64> {
        self.open.map(|open| open.end)
    }

    fn whole(&mut self, block: Block) {
        self.done.push(block);
    }

    /// A gap after the open block.
    fn pause(&mut self, gap: &Gap) {
        let Some(open) = &mut self.open else { return };
        open.end = open.end.max(gap.end);
        open.idle += gap.length();
        for &(line, ns) in &gap.lines {
            add(&mut self.idle, line, ns);
        }
    }

    fn add(&mut self, block: Block) {
        if self.open.is_some_and(|open| block.end - open.start > self.longest) {
            self.flush();
        }
        add(&mut self.busy, block.line, block.length());
        match &mut self.open {
            None => self.open = Some(block),
            Some(open) => {
                let pause = block.start - open.end;
                if pause > 0 {
                    open.idle += pause;
                    add(&mut self.idle, Line::Latency, pause);
                }
                open.end = open.end.max(block.end);
                open.count = open.count.saturating_add(block.count);
                if open.name != block.name {
                    open.name = UNNAMED;
                }
            }
        }
    }

    fn flush(&mut self) {
        if let Some(mut open) = self.open.take() {
            open.line = most(&self.busy).unwrap_or(open.line);
            open.waited = most(&self.idle).unwrap_or(open.waited);
            self.done.push(open);
        }
        self.busy.clear();
        self.idle.clear();
    }

    fn finish(mut self) -> Vec<Block> {
        self.flush();
        self.done
    }
}

fn add(times: &mut Vec<(Line, i64)>, line: Line, ns: i64) {
    match times.iter_mut().find(|(of, _)| *of == line) {
        Some((_, time)) => *time += ns,
        None => times.push((line, ns)),
    }
}

fn most(times: &[(Line, i64)]) -> Option<Line> {
    times.iter().max_by_key(|(line, ns)| (*ns, std::cmp::Reverse(*line))).map(|(line, _)| *line)
}
