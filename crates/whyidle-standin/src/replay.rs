//! The recorded rows: `nvml.csv` of a recording, one row of one GPU after the other, over and over.

use std::collections::BTreeMap;
use std::fs;

/// The GPUs of a recording.
#[derive(Debug, Default)]
pub struct Replay {
    /// By GPU: its rows, each a map from column to value.
    gpus: Vec<Vec<BTreeMap<String, f64>>>,
    /// By GPU: the row in force.
    at: Vec<usize>,
    /// Answers left before the library falls silent; `None` for ever.
    left: Option<u64>,
    /// Answers after each start of the library.
    answers: Option<u64>,
}

impl Replay {
    /// Reads the rows that `WHYIDLE_STANDIN` names; `WHYIDLE_STANDIN_ANSWERS` limits how long it answers.
    #[must_use]
    pub fn from_environment() -> Self {
        let path = std::env::var("WHYIDLE_STANDIN").unwrap_or_default();
        let left = std::env::var("WHYIDLE_STANDIN_ANSWERS").ok().and_then(|text| text.parse().ok());
        Self { left, answers: left, ..Self::read(&fs::read_to_string(path).unwrap_or_default()) }
    }

    /// Reads rows from the text of a table.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let mut lines = text.lines();
        let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
        let mut gpus: Vec<Vec<BTreeMap<String, f64>>> = Vec::new();
        for line in lines {
            let row: BTreeMap<String, f64> = header
                .iter()
                .zip(line.split(','))
                .filter_map(|(name, value)| Some((name.trim().to_owned(), value.trim().parse().ok()?)))
                .collect();
            let gpu = row.get("gpu").map_or(0, |gpu| *gpu as usize).min(15);
            while gpus.len() <= gpu {
                gpus.push(Vec::new());
            }
            gpus[gpu].push(row);
        }
        gpus.retain(|rows| !rows.is_empty());
        Self { at: vec![0; gpus.len()], gpus, left: None, answers: None }
    }

    /// The library is started anew.
    pub fn revive(&mut self) {
        self.left = self.answers;
    }

    /// How many GPUs there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.gpus.len()
    }

    /// Goes on to the next row of a GPU; false once the library is to be silent.
    pub fn step(&mut self, gpu: usize) -> bool {
        if let Some(left) = &mut self.left {
            if *left == 0 {
                return false;
            }
            *left -= 1;
        }
        if let (Some(at), Some(rows)) = (self.at.get_mut(gpu), self.gpus.get(gpu)) {
            *at = (*at + 1) % rows.len();
        }
        true
    }

    /// A value of the row in force.
    #[must_use]
    pub fn value(&self, gpu: usize, column: &str) -> Option<f64> {
        if self.left == Some(0) {
            return None;
        }
        self.gpus.get(gpu)?.get(*self.at.get(gpu)?)?.get(column).copied()
    }
}

/// Who holds memory of a GPU: the lines `gpu pid bytes` of the file that `WHYIDLE_STANDIN_HOLDERS` names.
#[must_use]
pub fn holders(gpu: usize) -> Vec<(u32, u64)> {
    let path = std::env::var("WHYIDLE_STANDIN_HOLDERS").unwrap_or_default();
    let text = fs::read_to_string(path).unwrap_or_default();
    let holder = |line: &str| {
        let mut words = line.split_whitespace();
        let on: usize = words.next()?.parse().ok()?;
        (on == gpu).then(|| Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?)))?
    };
    text.lines().filter_map(holder).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_replayed_in_turn_and_may_end() {
        let mut replay = Replay::read("t,gpu,util_gpu,sm_util\n1,0,40,\n1,1,7,3\n2,0,50,2\n");
        assert_eq!(
            (replay.count(), replay.value(0, "util_gpu"), replay.value(0, "sm_util")),
            (2, Some(40.0), None)
        );
        assert!(replay.step(0));
        assert_eq!(replay.value(0, "util_gpu"), Some(50.0));
        assert!(replay.step(0));
        assert_eq!((replay.value(0, "util_gpu"), replay.value(1, "sm_util")), (Some(40.0), Some(3.0)));
        replay.left = Some(1);
        assert!(replay.step(0) && !replay.step(0));
        assert_eq!(replay.value(0, "util_gpu"), None);
    }
}
