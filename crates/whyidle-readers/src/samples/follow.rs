//! A recording that is still being written, piece by piece: the same lines as the finished files, read as they
//! come.

use whyidle_model::Samples;

use super::csv::Sheet;
use super::rows::Rows;
use super::table_of;

/// Follows a recording.
#[derive(Debug, Default)]
pub struct Follower {
    samples: Samples,
    sheets: [(Sheet, Vec<u8>); 4],
    stacks: (Rows, Vec<u8>),
}

/// Tables, in the order of `sheets`.
const TABLES: [&str; 4] = ["nvml.csv", "proc.csv", "threads.csv", "system.csv"];

impl Follower {
    /// The next bytes of a file of the recording, by its name; files that hold no samples are ignored. A line may
    /// come in several pieces.
    pub fn feed(&mut self, file: &str, bytes: &[u8]) {
        if let Some(at) = TABLES.iter().position(|name| *name == file) {
            let (sheet, rest) = &mut self.sheets[at];
            let table = table_of(&mut self.samples, file);
            whole_lines(rest, bytes, |line| sheet.line(&String::from_utf8_lossy(line), table));
        } else if file == "stacks.jsonl" {
            let (rows, rest) = &mut self.stacks;
            let stacks = &mut self.samples.stacks;
            whole_lines(rest, bytes, |line| rows.line(line, stacks));
        }
    }

    /// What was read so far.
    #[must_use]
    pub fn samples(&self) -> &Samples {
        &self.samples
    }

    /// Lines that made no sense.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.sheets.iter().map(|(sheet, _)| sheet.dropped).sum::<u64>() + self.stacks.0.dropped
    }

    /// Lets go of rows and sightings from before `t`, ns of Unix time. Stacks keep their numbers: later lines refer
    /// to them.
    pub fn forget_before(&mut self, t: i64) {
        for name in TABLES {
            let table = table_of(&mut self.samples, name);
            if table.t.first().is_some_and(|&first| first < t) {
                *table = table.between(t, i64::MAX);
            }
        }
        self.samples.stacks.seen.retain(|seen| seen.t.is_none_or(|seen| seen >= t));
    }
}

fn whole_lines(rest: &mut Vec<u8>, bytes: &[u8], mut line: impl FnMut(&[u8])) {
    rest.extend_from_slice(bytes);
    let Some(end) = rest.iter().rposition(|&byte| byte == b'\n') else { return };
    rest[..end].split(|&byte| byte == b'\n').for_each(&mut line);
    rest.drain(..=end);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_size_give_what_the_whole_file_gives() {
        let table = "t,gpu,util_gpu\n1.5,0,40\nx,0,1\n2.5,0,60\n3.0,0,7";
        let stacks = "{\"stack\":0,\"pid\":7,\"thread\":\"MainThread\",\"frames\":[]}\n{\"t\":1.0,\"s\":[[0,\"R\"]]}\n{\"t\":2.0,\"s\":[[0,\"R\"]]}\n";
        for size in [1, 3, 1000] {
            let mut follower = Follower::default();
            table.as_bytes().chunks(size).for_each(|piece| follower.feed("nvml.csv", piece));
            stacks.as_bytes().chunks(size).for_each(|piece| follower.feed("stacks.jsonl", piece));
            follower.feed("recording.json", b"{}\n");
            let samples = follower.samples();
            assert_eq!(samples.gpu.t, [1_500_000_000, 2_500_000_000]);
            assert_eq!((samples.stacks.seen.len(), follower.dropped()), (2, 1));
            follower.forget_before(2_000_000_000);
            let samples = follower.samples();
            assert_eq!(
                (samples.gpu.len(), samples.stacks.seen.len(), samples.stacks.stacks.len()),
                (1, 1, 1)
            );
        }
    }
}
