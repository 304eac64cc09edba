//! Objects with a loss: one a line (`{"step": 3, "loss": 2.5}`, W&B's `{"_step": 3, "train/loss": 2.5}`), in a list, or in
//! the `log_history` of transformers' `trainer_state.json`. Objects in objects are looked into: `{"train": {"loss": 2.5}}`.
//! Python writes `NaN` and `Infinity` into JSON, which knows neither: they are losses all the same.

use std::borrow::Cow;

use serde_json::Value;

use super::{Series, step_rank};

/// Objects in objects.
const DEEPEST: usize = 4;

pub(super) fn read(bytes: &[u8], from: usize, series: &mut Series<'_>) {
    // One document counts as a whole: it is written anew each time.
    if let Ok(document) = serde_json::from_slice::<Value>(&in_words(bytes)) {
        let is_one_line = !bytes.trim_ascii().contains(&b'\n');
        if !(is_one_line && from >= bytes.len()) {
            take(&document, series);
        }
        return;
    }
    let mut at = 0;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let is_new = at >= from;
        at += line.len();
        if !is_new || line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<Value>(&in_words(line)) {
            Ok(value) => take(&value, series),
            // The last line may still be being written.
            Err(_) if line.ends_with(b"\n") => series.dropped += 1,
            Err(_) => {}
        }
    }
}

fn take(value: &Value, series: &mut Series<'_>) {
    match value {
        Value::Array(values) => {
            values.iter().filter(|value| value.is_object()).for_each(|one| take(one, series))
        }
        Value::Object(object) => match object.get("log_history") {
            Some(Value::Array(entries)) => entries.iter().for_each(|entry| row(entry, series)),
            _ => row(value, series),
        },
        _ => series.dropped += 1,
    }
}

/// One object: its step, and its losses.
fn row(value: &Value, series: &mut Series<'_>) {
    let mut numbers = Vec::new();
    flatten(value, "", 0, &mut numbers);
    let step = numbers.iter().filter_map(|(name, value)| Some((step_rank(name)?, *value)));
    let step = step.min_by_key(|(rank, _)| *rank).map(|(_, step)| step);
    for (name, value) in &numbers {
        series.add(name, step, *value);
    }
}

fn flatten(value: &Value, name: &str, depth: usize, numbers: &mut Vec<(String, f64)>) {
    match value {
        Value::Object(object) if depth < DEEPEST => {
            for (key, value) in object {
                let name = if name.is_empty() { key.clone() } else { format!("{name}/{key}") };
                flatten(value, &name, depth + 1, numbers);
            }
        }
        Value::Number(number) => numbers.extend(number.as_f64().map(|number| (name.to_owned(), number))),
        Value::String(text) => numbers.extend(no_number(text).map(|number| (name.to_owned(), number))),
        _ => {}
    }
}

/// What is written for a number that is none.
fn no_number(text: &str) -> Option<f64> {
    match text {
        "NaN" | "nan" => Some(f64::NAN),
        "Infinity" | "inf" => Some(f64::INFINITY),
        "-Infinity" | "-inf" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// The text with bare `NaN`, `Infinity` and `-Infinity` put into quotes.
fn in_words(bytes: &[u8]) -> Cow<'_, [u8]> {
    const WORDS: [&[u8]; 3] = [b"NaN", b"-Infinity", b"Infinity"];
    if !WORDS.iter().any(|word| memchr::memmem::find(bytes, word).is_some()) {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len() + 16);
    let (mut at, mut in_text) = (0, false);
    while let Some(&byte) = bytes.get(at) {
        if in_text && byte == b'\\' {
            out.extend_from_slice(&bytes[at..bytes.len().min(at + 2)]);
            at += 2;
            continue;
        }
        in_text ^= byte == b'"';
        if let Some(word) = WORDS.iter().find(|word| !in_text && bytes[at..].starts_with(word)) {
            out.push(b'"');
            out.extend_from_slice(word);
            out.push(b'"');
            at += word.len();
            continue;
        }
        out.push(byte);
        at += 1;
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use crate::progress::printed::Words;

    fn points(text: &str, from: usize) -> Vec<(f64, f64)> {
        read(text.as_bytes(), from, &Words::default()).map(|found| found.points).unwrap_or_default()
    }

    #[test]
    fn lines_documents_and_histories_are_read_alike() {
        let expected = [(10.0, 2.5), (20.0, 2.25)];
        for text in [
            "{\"step\": 10, \"loss\": 2.5}\n{\"step\": 20, \"loss\": 2.25}\n",
            "[{\"iteration\": 10, \"loss\": 2.5}, {\"iteration\": 20, \"loss\": 2.25}]",
            "{\"_step\":10,\"train/loss\":2.5,\"_runtime\":3}\n{\"_step\":20,\"train/loss\":2.25}\n{\"_step\":21,\"lr\":1}",
            "{\"best_metric\": null, \"log_history\": [{\"epoch\": 0.1, \"loss\": 2.5, \"step\": 10},\n \
             {\"eval_loss\": 9, \"step\": 10}, {\"loss\": 2.25, \"step\": 20}], \"global_step\": 20}",
            "{\"step\": 10, \"train\": {\"loss\": 2.5}, \"val\": {\"loss\": 9}}\n{\"step\": 20, \"train\": {\"loss\": 2.25}}\n",
        ] {
            assert_eq!(points(text, 0), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_a_loss() {
        let found = points(
            "{\"step\": 1, \"loss\": NaN, \"note\": \"a NaN \\\" NaN\"}\n{\"step\": 2, \"loss\": -Infinity}\n",
            0,
        );
        assert!(found[0].1.is_nan() && found[1] == (2.0, f64::NEG_INFINITY), "{found:?}");
    }

    #[test]
    fn older_lines_and_a_line_that_is_being_written_do_not_count() {
        let text = "{\"step\": 1, \"loss\": 3}\nnonsense\n{\"step\": 2, \"loss\": 2}\n{\"step\": 3, \"lo";
        let found = read(text.as_bytes(), 0, &Words::default());
        assert_eq!(found.map(|found| (found.points.len(), found.dropped)), Some((2, 1)));
        assert_eq!(points(text, 24), [(2.0, 2.0)]);
    }
}
