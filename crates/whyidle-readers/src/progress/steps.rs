//! The steps of one process, as the start-up hook writes them, one JSON object a line:
//!
//! * `{"schema": "whyidle.steps/1", "pid": 7, "rank": "0", "torch": "2.11.0", …}` – who writes;
//! * `{"i": 3, "m": 123, "u": 1795971809000000000, "o": 0, "b": 16, "t": 16384, "mem": 1, "held": 2}` – the end of a
//!   step: its number, ns of the monotonic clock and of Unix time, which optimizer, and where known the samples and
//!   tokens fetched since the step before, the peak of tensors and of the allocator in bytes;
//! * `{"error": "ValueError", "count": 1}` – something went wrong in the hook.

use serde::Deserialize;

/// The end of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Monotonic clock, ns.
    pub at: i64,
    /// Unix time, ns.
    pub unix: i64,
    /// Which optimizer, in the order in which they first stepped.
    pub optimizer: u32,
    /// Samples fetched since the step before.
    pub samples: Option<u64>,
    /// Tokens in them, where they are token ids.
    pub tokens: Option<u64>,
    /// Highest memory of tensors so far, bytes.
    pub memory: Option<u64>,
    /// Highest memory of the allocator so far, bytes.
    pub held: Option<u64>,
}

/// Who wrote a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writer {
    /// The process.
    pub pid: Option<u32>,
    /// Its rank.
    pub rank: Option<u32>,
    /// Ranks in the job.
    pub world: Option<u32>,
    /// Version of Python.
    pub python: Option<String>,
    /// Version of PyTorch.
    pub torch: Option<String>,
    /// Version of CUDA or HIP that PyTorch was built for.
    pub cuda: Option<String>,
}

/// The steps of a process, read as they are written.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// Who wrote them.
    pub writer: Writer,
    /// In order.
    pub steps: Vec<Step>,
    /// Failures in the hook.
    pub errors: u64,
    /// Lines that made no sense.
    pub dropped: u64,
    rest: Vec<u8>,
}

/// A line, whichever of the three.
#[derive(Deserialize)]
struct Line {
    schema: Option<String>,
    pid: Option<u32>,
    rank: Option<String>,
    world: Option<String>,
    python: Option<String>,
    torch: Option<String>,
    cuda: Option<String>,
    m: Option<i64>,
    u: Option<i64>,
    o: Option<u32>,
    b: Option<u64>,
    t: Option<u64>,
    mem: Option<u64>,
    held: Option<u64>,
    error: Option<String>,
    count: Option<u64>,
}

impl Steps {
    /// The next bytes of the file; a line may come in several pieces.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut rest = std::mem::take(&mut self.rest);
        rest.extend_from_slice(bytes);
        let end = rest.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        rest[..end]
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
            .for_each(|line| self.line(line));
        rest.drain(..end);
        self.rest = rest;
    }

    fn line(&mut self, bytes: &[u8]) {
        let Ok(line) = serde_json::from_slice::<Line>(bytes) else {
            self.dropped += 1;
            return;
        };
        let number = |text: Option<String>| text.and_then(|text| text.trim().parse().ok());
        let named = |text: Option<String>| text.filter(|text| !text.is_empty());
        match line {
            Line { m: Some(at), u: Some(unix), o, b, t, mem, held, .. } if at >= self.last() => {
                let tokens = t.filter(|&tokens| tokens > 0);
                let optimizer = o.unwrap_or(0);
                self.steps.push(Step { at, unix, optimizer, samples: b, tokens, memory: mem, held });
            }
            Line { error: Some(_), count, .. } => self.errors = self.errors.max(count.unwrap_or(1)),
            Line { schema: Some(_), pid, rank, world, python, torch, cuda, .. } => {
                self.writer = Writer {
                    pid,
                    rank: number(rank),
                    world: number(world),
                    python: named(python),
                    torch: named(torch),
                    cuda: named(cuda),
                };
            }
            _ => self.dropped += 1,
        }
    }

    /// No step ends before the one before it, and none before the clock began.
    fn last(&self) -> i64 {
        self.steps.last().map_or(0, |step| step.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "{\"schema\":\"whyidle.steps/1\",\"pid\":7,\"rank\":\"1\",\"world\":null,\"torch\":\"2.11.0\",\"cuda\":\"\"}\n\
        {\"i\":1,\"m\":100,\"u\":5,\"o\":0}\n{\"i\":2,\"m\":90,\"u\":6,\"o\":0}\nnonsense\n\
        {\"i\":3,\"m\":300,\"u\":7,\"o\":1,\"b\":16,\"t\":0,\"mem\":9,\"held\":10}\n{\"error\":\"ValueError\",\"count\":2}\n{\"i\":4,\"m\":4";

    #[test]
    fn pieces_of_any_size_give_the_same_steps() {
        for size in [1, 7, 10_000] {
            let mut steps = Steps::default();
            TEXT.as_bytes().chunks(size).for_each(|piece| steps.feed(piece));
            assert_eq!(
                (steps.writer.rank, steps.writer.world, steps.writer.cuda.clone()),
                (Some(1), None, None)
            );
            // A step that ends before the one before it, and a line that is no JSON.
            assert_eq!((steps.steps.len(), steps.dropped, steps.errors), (2, 2, 2));
            let last = steps.steps[1];
            assert_eq!((last.at, last.optimizer, last.samples, last.tokens), (300, 1, Some(16), None));
            assert_eq!((last.memory, last.held), (Some(9), Some(10)));
        }
    }
}
