//! What a line of a training program's output says: the step, its time, the loss, samples or tokens per second. Every
//! number of the line is looked at with the words before it and the unit after it; no log format is assumed. So
//! `step 120 | loss 2.31 | dt 188.2ms`, `{'loss': 2.31, 'epoch': 0.1}`, `"loss": 2.31`, progress bars
//! (`120/1000 [00:12<01:30, 9.7it/s, loss=2.31]`) and `elapsed time per iteration (ms): 188.2` are read alike.

/// No line is looked at beyond this many bytes.
const LONGEST: usize = 4_096;
/// No step takes longer, s.
const LONGEST_STEP: f64 = 86_400.0;

/// What a line says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Printed {
    /// Number of the step, as the program counts.
    pub step: Option<f64>,
    /// Training loss; may be NaN or infinite.
    pub loss: Option<f64>,
    /// Time of a step, ns.
    pub step_ns: Option<i64>,
    /// Samples per second.
    pub samples_per_s: Option<f64>,
    /// Tokens per second.
    pub tokens_per_s: Option<f64>,
}

/// The words right before the number, where the user says which number is which; `None`: as usual.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// Before the loss.
    pub loss: Option<String>,
    /// Before the step's number.
    pub step: Option<String>,
}

impl Words {
    /// What `line` says.
    #[must_use]
    pub fn read(&self, line: &str) -> Printed {
        let mut end = line.len().min(LONGEST);
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        let line = &line[..end];
        let mut said = Printed::default();
        let numbers = Numbers { line, at: 0, key_from: 0 };
        numbers.for_each(|number| self.take(&number, &mut said));
        said
    }

    fn take(&self, number: &Number<'_>, said: &mut Printed) {
        let key = number.key.to_lowercase();
        let is_loss = match &self.loss {
            Some(words) => number.before.ends_with(words.as_str()),
            None => is_loss(&key),
        };
        let is_step = match &self.step {
            Some(words) => number.before.ends_with(words.as_str()),
            None => number.is_whole() && (is_step(&key) || number.is_of_bar()),
        };
        let positive = Some(number.value).filter(|value| value.is_finite() && *value > 0.0);
        if is_loss {
            said.loss.get_or_insert(number.value);
        } else if is_step {
            if number.value.is_finite() {
                said.step.get_or_insert(number.value);
            }
        } else if let Some(value) = positive {
            let unit = number.unit.to_lowercase();
            if let Some(seconds) = step_seconds(&key, &unit, value).filter(|s| *s < LONGEST_STEP) {
                said.step_ns.get_or_insert((seconds * 1e9).round() as i64);
            } else if is_rate(&key, &unit, &["tokens", "token", "tok", "tps"]) {
                said.tokens_per_s.get_or_insert(value);
            } else if is_rate(
                &key,
                &unit,
                &["samples", "sample", "images", "image", "img", "imgs", "seq", "sequences"],
            ) {
                said.samples_per_s.get_or_insert(value);
            }
        }
    }
}

/// `loss`, `train_loss`, `lm loss`, `train/loss`; not that of an evaluation.
fn is_loss(key: &str) -> bool {
    key.ends_with("loss")
        && !["val", "eval", "test", "dev"]
            .iter()
            .any(|other| words(key).any(|word| word == *other || word == "validation"))
}

fn is_step(key: &str) -> bool {
    ["step", "steps", "global_step", "iter", "iteration", "it", "batch"].contains(&words_end(key))
}

/// Seconds per step, if that is what the number is.
fn step_seconds(key: &str, unit: &str, value: f64) -> Option<f64> {
    match unit {
        "ms/step" | "ms/it" | "ms/iter" | "ms/batch" => return Some(value / 1e3),
        "s/step" | "s/it" | "s/iter" | "s/batch" | "sec/step" | "sec/it" => return Some(value),
        "it/s" | "steps/s" | "step/s" | "iter/s" | "iters/s" | "batch/s" | "it/sec" | "steps/sec" => {
            return Some(1.0 / value);
        }
        _ => {}
    }
    let of_step = [
        "dt",
        "step_time",
        "step time",
        "iter_time",
        "iter time",
        "batch_time",
        "batch time",
        "time/step",
        "iteration time",
    ];
    let of_step = of_step.iter().any(|name| key.ends_with(name))
        || key.contains("time per iteration")
        || key.contains("time per step");
    match unit {
        "ms" if of_step => Some(value / 1e3),
        "s" | "sec" if of_step => Some(value),
        "" if of_step && key.ends_with("(ms") => Some(value / 1e3),
        "" if of_step && key.ends_with("(s") => Some(value),
        _ => match key {
            "step_time_ms" | "ms_per_step" => Some(value / 1e3),
            "step_time_s" | "s_per_step" => Some(value),
            "steps_per_second" | "steps_per_sec" => Some(1.0 / value),
            _ => None,
        },
    }
}

/// Things per second: `1234 tok/s`, `tokens/s: 1234`, `tokens_per_second=1234`.
fn is_rate(key: &str, unit: &str, things: &[&str]) -> bool {
    let per_second = |text: &str, thing: &str| {
        text.strip_prefix(thing).is_some_and(|rest| {
            ["/s", "/sec", "/second", "_per_sec", "_per_second", " per second", " per sec", "_per_s"]
                .contains(&rest)
        }) || thing == "tps" && text == "tps"
    };
    let last = key.rsplit([' ', '.']).next().unwrap_or(key);
    let last_of_path = key.rsplit_once("train/").map_or(last, |(_, rest)| rest);
    things.iter().any(|thing| {
        per_second(unit, thing)
            || per_second(last_of_path, thing)
            || per_second(key, thing)
            || per_second(last, thing)
    })
}

fn words(key: &str) -> impl Iterator<Item = &str> {
    key.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The last word, with what joins words in it.
fn words_end(key: &str) -> &str {
    key.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(key)
}

/// A number of a line.
struct Number<'a> {
    value: f64,
    text: &'a str,
    /// The line up to the number.
    before: &'a str,
    /// Words between the number before, or a mark that parts things, and this one.
    key: &'a str,
    /// What follows at once, or after a space: letters, `/`.
    unit: &'a str,
    /// The line after the number.
    after: &'a str,
}

impl Number<'_> {
    fn is_whole(&self) -> bool {
        self.text.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// `120/1000 [` of a progress bar, `[ 120/1000]` of others.
    fn is_of_bar(&self) -> bool {
        let Some(rest) = self.after.strip_prefix('/') else { return false };
        let rest = rest.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        rest.starts_with(" [") || rest.starts_with(']') && self.before.trim_end().ends_with('[')
    }
}

/// The numbers of a line, in order.
struct Numbers<'a> {
    line: &'a str,
    at: usize,
    key_from: usize,
}

impl<'a> Iterator for Numbers<'a> {
    type Item = Number<'a>;

    fn next(&mut self) -> Option<Number<'a>> {
        let bytes = self.line.as_bytes();
        while self.at < bytes.len() {
            let start = self.at;
            let in_word =
                start > 0 && (bytes[start - 1].is_ascii_alphanumeric() || b"_.".contains(&bytes[start - 1]));
            let length = if in_word { 0 } else { number_length(&bytes[start..]) };
            let text = self.line.get(start..start + length).unwrap_or("");
            let Some(value) = parse(text) else {
                if b",;|".contains(&bytes[start]) {
                    self.key_from = start + 1;
                }
                self.at += 1;
                continue;
            };
            let end = start + length;
            let before = &self.line[..start];
            let key = self.line.get(self.key_from..start).unwrap_or("");
            let key = key.trim_matches(|c: char| !c.is_alphanumeric() && c != '(').trim_end_matches('(');
            let after = &self.line[end..];
            let unit = after.strip_prefix(' ').unwrap_or(after);
            let unit_end = unit.find(|c: char| !c.is_alphabetic() && c != '/').unwrap_or(unit.len());
            self.at = end;
            self.key_from = end;
            return Some(Number { value, text, before, key, unit: &unit[..unit_end], after });
        }
        None
    }
}

/// Bytes of the number at the start; 0 if there is none.
fn number_length(bytes: &[u8]) -> usize {
    for word in [&b"nan"[..], b"inf", b"-inf", b"Infinity", b"-Infinity"] {
        let follows = bytes.get(word.len()).is_some_and(u8::is_ascii_alphanumeric);
        if bytes.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)) && !follows {
            return word.len();
        }
    }
    let digits =
        |from: usize| bytes[from.min(bytes.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let sign = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let whole = digits(sign);
    let mut end = sign + whole;
    let mut fraction = 0;
    if bytes.get(end) == Some(&b'.') {
        fraction = digits(end + 1);
        if fraction > 0 {
            end += 1 + fraction;
        }
    }
    if whole + fraction == 0 {
        return 0;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}

fn parse(text: &str) -> Option<f64> {
    if text.is_empty() { None } else { text.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Printed {
        Words::default().read(line)
    }

    #[test]
    fn lines_of_usual_programs_are_understood() {
        for (line, step, loss, ms) in [
            ("step 120 | loss 2.3125 | dt 188.2ms | tok/s 12345", Some(120.0), Some(2.3125), Some(188.2)),
            ("iter 100: loss 3.1, time 52.10ms, mfu 31.2%", Some(100.0), Some(3.1), None),
            ("{'loss': 2.5, 'grad_norm': 1.25, 'learning_rate': 5e-05, 'epoch': 0.1}", None, Some(2.5), None),
            ("{\"step\": 7, \"train_loss\": 0.5, \"val_loss\": 9.0}", Some(7.0), Some(0.5), None),
            (
                " 12%|█▏        | 120/1000 [00:12<01:30,  8.0it/s, loss=2.25]",
                Some(120.0),
                Some(2.25),
                Some(125.0),
            ),
            (
                " iteration      100/  500000 | elapsed time per iteration (ms): 188.5 | lm loss: 1.03E+01 | loss scale: 1.0 |",
                Some(100.0),
                Some(10.3),
                Some(188.5),
            ),
            ("Epoch: [0][ 10/5005]  Time  0.3 ( 0.5)  Loss 6.9 (7.0)", Some(10.0), Some(6.9), None),
            ("val loss 2.0", None, None, None),
            ("eval_loss: 2.0, loss_scale=65536", None, None, None),
            ("epoch 3 done", None, None, None),
            ("", None, None, None),
        ] {
            let said = read(line);
            assert_eq!(
                (said.step, said.loss, said.step_ns.map(|ns| ns as f64 / 1e6)),
                (step, loss, ms),
                "{line}"
            );
        }
    }

    #[test]
    fn rates_are_read_with_the_words_before_or_after_them() {
        for line in ["tokens/s: 1500", "1500 tok/s", "tokens_per_second=1500", "speed 1500.0 tokens/sec"] {
            assert_eq!(read(line).tokens_per_s, Some(1500.0), "{line}");
        }
        for line in ["img/s 320", "320 samples/s", "train_samples_per_second: 1, samples_per_second: 320"] {
            assert_eq!(read(line).samples_per_s, Some(320.0), "{line}");
        }
    }

    #[test]
    fn losses_that_are_no_number_are_losses() {
        assert!(read("step 3 loss nan").loss.is_some_and(f64::is_nan));
        assert_eq!(read("loss=inf").loss, Some(f64::INFINITY));
        assert_eq!(read("nancy inferred loss: -inf").loss, Some(f64::NEG_INFINITY));
    }

    #[test]
    fn the_user_can_say_what_stands_before_the_number() {
        let words = Words { loss: Some("cost=".to_owned()), step: Some("n ".to_owned()) };
        let said = words.read("n 5 cost=0.25 loss=9");
        assert_eq!((said.step, said.loss), (Some(5.0), Some(0.25)));
    }
}
