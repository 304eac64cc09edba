//! Losses that a program writes into files: event files of TensorBoard, JSON or JSON lines, CSV; whatever else is text is
//! read as printed lines are. Told by content. Of the series of a file those that are a training loss by their name count:
//! the one with the most points.
//!
//! * [`events`] – TensorBoard.
//! * [`json`] – lines of objects, `trainer_state.json` of transformers, W&B's history.
//! * [`csv`] – a table with a header, as Lightning's `metrics.csv`.

mod csv;
mod events;
mod json;

use std::collections::BTreeMap;

use super::printed::Words;

/// No file is read beyond this, bytes.
pub const LARGEST: u64 = 1 << 28;
/// Points of a file at most.
const MOST_POINTS: usize = 1 << 20;
/// Names of series at most, and bytes of a name.
const MOST_NAMES: usize = 1 << 12;
const LONGEST_NAME: usize = 256;

/// A loss: where in the training, in steps, and what; it may be NaN or infinite.
pub type Point = (f64, f64);

/// The training losses of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Name of the series.
    pub name: String,
    /// By step.
    pub points: Vec<Point>,
    /// Records, lines or values that made no sense.
    pub dropped: u64,
}

/// The training losses in `bytes`, a whole file. What lies before byte `from` is older and does not count, where the file
/// is one that is added to. `None`: the file is of no kind that holds losses, or holds none.
#[must_use]
pub fn read(bytes: &[u8], from: usize, words: &Words) -> Option<Found> {
    read_as(bytes, from, words, true)
}

/// The same of a file that is no log: text without a header of a table says nothing.
#[must_use]
pub fn read_structured(bytes: &[u8], from: usize, words: &Words) -> Option<Found> {
    read_as(bytes, from, words, false)
}

fn read_as(bytes: &[u8], from: usize, words: &Words, also_logs: bool) -> Option<Found> {
    let mut series = Series::new(words);
    match kind(bytes)? {
        Kind::Events => events::read(bytes, from, &mut series),
        Kind::Json => json::read(bytes, from, &mut series),
        Kind::Text => {
            let text = String::from_utf8_lossy(bytes);
            if !csv::read(&text, from, &mut series) && also_logs {
                lines(&text, from, &mut series);
            }
        }
    }
    series.best()
}

/// The file may hold losses: enough of its beginning says so without reading on.
#[must_use]
pub fn may_hold(beginning: &[u8]) -> bool {
    kind(beginning).is_some()
}

enum Kind {
    Events,
    Json,
    Text,
}

fn kind(bytes: &[u8]) -> Option<Kind> {
    if events::begins(bytes) {
        return Some(Kind::Events);
    }
    let beginning = &bytes[..bytes.len().min(4_096)];
    // Text has no such bytes; a letter that is cut at the end of the beginning is no fault.
    if beginning.iter().any(|byte| *byte < 32 && !b"\t\n\r\x0c\x1b".contains(byte)) {
        return None;
    }
    let first = beginning.iter().find(|byte| !byte.is_ascii_whitespace())?;
    Some(if b"{[".contains(first) { Kind::Json } else { Kind::Text })
}

/// Lines as a program prints them.
fn lines(text: &str, from: usize, series: &mut Series<'_>) {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let is_new = at >= from;
        at += line.len();
        let said = series.words.read(line);
        if let Some(loss) = said.loss.filter(|_| is_new) {
            series.add("loss", said.step, loss);
        }
    }
}

/// A training loss, by the name of its series: `loss`, `train/loss`, `Loss/train`, `train_loss_step`; not that of an
/// evaluation, and no scale of a loss.
fn is_training_loss(name: &str) -> bool {
    const OTHERS: [&str; 10] =
        ["val", "valid", "validation", "eval", "evaluation", "test", "dev", "scale", "scaler", "epoch"];
    let name = name.to_lowercase();
    let mut is_loss = false;
    for word in name.split(|c: char| !c.is_alphanumeric()) {
        if OTHERS.contains(&word) {
            return false;
        }
        is_loss |= word == "loss";
    }
    is_loss
}

/// Points by the name of their series.
struct Series<'a> {
    words: &'a Words,
    /// What the user says the name ends with.
    wanted: Option<String>,
    by_name: BTreeMap<String, Vec<(Option<f64>, f64)>>,
    count: usize,
    dropped: u64,
}

impl<'a> Series<'a> {
    fn new(words: &'a Words) -> Self {
        // What stands before a printed number – `loss=`, `"loss":` – without what is no part of a name.
        let wanted = words
            .loss
            .as_ref()
            .map(|text| text.trim_matches(|c: char| c.is_whitespace() || "\"'=:".contains(c)).to_owned());
        Self { words, wanted, by_name: BTreeMap::new(), count: 0, dropped: 0 }
    }

    fn is_wanted(&self, name: &str) -> bool {
        match &self.wanted {
            Some(end) => name.ends_with(end.as_str()),
            None => is_training_loss(name),
        }
    }

    fn add(&mut self, name: &str, step: Option<f64>, loss: f64) {
        if name.len() > LONGEST_NAME || !self.is_wanted(name) {
            return;
        }
        if self.count >= MOST_POINTS || !self.by_name.contains_key(name) && self.by_name.len() >= MOST_NAMES {
            self.dropped += 1;
            return;
        }
        self.count += 1;
        let step = step.filter(|step| step.is_finite());
        self.by_name.entry(name.to_owned()).or_default().push((step, loss));
    }

    /// The series with the most points; of equals the one with the shortest name. A step that comes again – a resumed
    /// run, a second rank – counts as it came first.
    fn best(self) -> Option<Found> {
        let best = self
            .by_name
            .into_iter()
            .min_by_key(|(name, points)| (std::cmp::Reverse(points.len()), name.len(), name.clone()));
        let (name, points) = best?;
        let is_numbered = points.iter().all(|(step, _)| step.is_some());
        let place = |(nth, (step, loss)): (usize, &(Option<f64>, f64))| match step {
            Some(step) if is_numbered => (*step, *loss),
            _ => (nth as f64, *loss),
        };
        let mut points: Vec<Point> = points.iter().enumerate().map(place).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points.dedup_by(|later, first| later.0 == first.0);
        Some(Found { name, points, dropped: self.dropped })
    }
}

/// Whether a name is that of the step's number; the smaller, the surer.
fn step_rank(name: &str) -> Option<usize> {
    ["step", "_step", "global_step", "trainer/global_step", "iteration", "iter", "steps", "batch"]
        .iter()
        .position(|known| name.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<(String, Vec<Point>)> {
        read(text.as_bytes(), 0, &Words::default()).map(|found| (found.name, found.points))
    }

    #[test]
    fn names_of_training_losses_are_known() {
        for name in ["loss", "train/loss", "Loss/train", "train_loss_step", "lm loss", "train.loss", "LOSS"] {
            assert!(is_training_loss(name), "{name}");
        }
        for name in
            ["val_loss", "eval/loss", "loss/validation", "loss_scale", "train_loss_epoch", "closs", "lr"]
        {
            assert!(!is_training_loss(name), "{name}");
        }
    }

    #[test]
    fn a_log_is_read_as_printed_lines_are() {
        let log = "starting\nstep 10 loss 2.5 val_loss 9\nstep 20 loss nan\n";
        let Some((name, points)) = found(log) else { panic!("losses") };
        assert_eq!((name.as_str(), points[0], points[1].0), ("loss", (10.0, 2.5), 20.0));
        assert!(points[1].1.is_nan());
        let later = read(log.as_bytes(), log.len() - 8, &Words::default());
        assert_eq!(later, None, "the line began before");
    }

    #[test]
    fn what_holds_none_says_so() {
        for text in ["", "\n", "{}", "[]", "a,b\n1,2\n", "nothing here\n", "PK\u{3}\u{4}"] {
            assert_eq!(found(text), None, "{text}");
        }
        assert!(!may_hold(b"\x80\x02}q\x00") && may_hold(b"step,loss\n") && may_hold("é".as_bytes()));
    }

    #[test]
    fn the_longest_series_counts_and_each_step_once() {
        let lines = "{\"step\": 1, \"train/loss\": 3, \"aux_loss\": 1}\n{\"step\": 2, \"train/loss\": 2}\n\
            {\"step\": 2, \"train/loss\": 7}\n";
        assert_eq!(found(lines), Some(("train/loss".to_owned(), vec![(1.0, 3.0), (2.0, 2.0)])));
        let words = Words { loss: Some("aux_loss\": ".to_owned()), step: None };
        let found = read(lines.as_bytes(), 0, &words);
        assert_eq!(found.map(|found| found.points), Some(vec![(1.0, 1.0)]));
    }
}
