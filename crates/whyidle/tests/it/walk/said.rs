//! What a verdict's JSON says, as it has to be found in words: every text, and every figure in its row.

use serde_json::Value;
use whyidle_report::Catalog;

/// Rows of a long table that are shown.
const ROWS: usize = 12;
/// Collectives of a group that are shown.
const TRANSFERS: usize = 6;
/// Characters that a row of several cells takes at most, with what stands between them.
const ROW: usize = 700;

/// How much of a verdict a form shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// All: text with `-v`, the page.
    Whole,
    /// Markdown: small lines of the ledger are folded into others, the rest is there.
    Folded,
    /// Text without `-v`.
    Brief,
}

/// A row: parts that stand one after the other.
struct Row {
    /// The member of the JSON.
    at: String,
    /// Each part in the words it may have, in the order of the text, or of tables that begin with the name.
    parts: [Vec<String>; 2],
    /// The least that shows it.
    form: Form,
}

/// Everything that is to be found, in groups whose rows have an order.
pub(super) struct Said {
    groups: Vec<Vec<Row>>,
}

/// Without what only sets it: tags, tables, bars, quotes. White space stays only where it tells words apart, so that it
/// matters nowhere how a line is broken.
pub(super) fn flat(text: &str) -> String {
    const SETS: &str = "|`·\\█▏▎▍▌▋▊▉*_";
    let mut out = String::with_capacity(text.len());
    let mut gap = false;
    let plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    for c in plain.chars() {
        if c.is_whitespace() || SETS.contains(c) {
            gap = true;
            continue;
        }
        let last = out.chars().next_back();
        if gap && c.is_ascii_alphanumeric() && last.is_some_and(|last| last.is_ascii_alphanumeric()) {
            out.push(' ');
        }
        gap = false;
        out.push(c);
    }
    out
}

/// Where `needle` stands in `text` from `from` on, as a word or figure of its own.
fn find(text: &str, needle: &str, from: usize) -> Option<usize> {
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    // Part of a longer figure or word; a comma or a full stop between figures may end a sentence.
    let inside = |before: &str, first: Option<char>| {
        let mut before = before.chars().rev();
        let (last, further) = (before.next(), before.next());
        let in_figure = last.is_some_and(|c| c.is_ascii_digit() || "<≥≤−".contains(c));
        let in_decimals = matches!(last, Some('.' | ',' | '–')) && is_digit(further);
        is_digit(first) && (in_figure || in_decimals)
            || first.is_some_and(|c| c.is_ascii_alphabetic()) && last.is_some_and(|c| c.is_ascii_alphabetic())
    };
    let mut at = from;
    while let Some(found) = text.get(at..)?.find(needle) {
        let (start, end) = (at + found, at + found + needle.len());
        let digit_after = text[end..].chars().next().filter(char::is_ascii_digit);
        let cut =
            needle.chars().next_back().is_some_and(|last| last.is_ascii_digit()) && digit_after.is_some();
        if !inside(&text[..start], needle.chars().next()) && !cut {
            return Some(start);
        }
        at = start + needle.chars().next().map_or(1, char::len_utf8);
    }
    None
}

impl Said {
    pub(super) fn of_verdict(report: &Value, catalog: &Catalog) -> Self {
        let mut reader =
            Reader { report, catalog, step: ns(&report["step"]["unprofiled_ms"]), groups: Vec::new() };
        reader.texts();
        reader.step();
        reader.ledger();
        reader.run();
        reader.ranks();
        reader.findings();
        reader.asked();
        reader.totals();
        reader.together();
        reader.contributions();
        Self { groups: reader.groups }
    }

    pub(super) fn count(&self) -> usize {
        self.groups.iter().map(Vec::len).sum()
    }

    /// What is not found in `text`, which is [`flat`], or not in its order.
    pub(super) fn missing_in(&self, name: &str, text: &str, form: Form) -> Vec<String> {
        let mut missing = Vec::new();
        for rows in &self.groups {
            let mut from = 0;
            for row in rows.iter().filter(|row| row.form as u8 >= form as u8) {
                match row.find(text, from) {
                    Some(at) => from = at,
                    None if from > 0 && row.find(text, 0).is_some() => {
                        missing.push(format!("{name}: {} is not in the order of the JSON", row.at));
                    }
                    None => missing.push(format!("{name}: {}: {:?} is not there", row.at, row.parts[0])),
                }
            }
        }
        missing
    }
}

impl Row {
    /// Where it begins; its parts follow each other closely.
    fn find(&self, text: &str, from: usize) -> Option<usize> {
        self.parts.iter().find_map(|parts| {
            let (first, rest) = parts.split_first()?;
            let mut begin = from;
            while let Some(at) = find(text, first, begin) {
                let mut end = at + first.len();
                let follows = rest.iter().all(|part| match find(text, part, end) {
                    Some(next) if next - at <= ROW => {
                        end = next + part.len();
                        true
                    }
                    _ => false,
                });
                if follows {
                    return Some(at);
                }
                begin = at + first.chars().next().map_or(1, char::len_utf8);
            }
            None
        })
    }
}

/// Nanoseconds of a member in milliseconds.
pub(super) fn ns(ms: &Value) -> i64 {
    (ms.as_f64().unwrap_or(0.0) * 1e6).round() as i64
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text_of(value: &Value) -> &str {
    value["text"].as_str().unwrap_or_default()
}

/// Every text below `value` with the path to it; arguments are parts of their text.
pub(super) fn texts(at: &str, value: &Value, out: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) if members.contains_key("msg") => {
            out.push((at.to_owned(), text_of(value).to_owned()));
        }
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| texts(&format!("{at}.{name}"), value, out));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| texts(&format!("{at}[{index}]"), item, out));
        }
        _ => {}
    }
}

struct Reader<'a> {
    report: &'a Value,
    catalog: &'a Catalog,
    step: i64,
    groups: Vec<Vec<Row>>,
}

impl Reader<'_> {
    /// A row that is the same wherever it stands.
    fn row(at: impl Into<String>, form: Form, parts: &[String]) -> Row {
        let parts: Vec<String> =
            parts.iter().map(|part| flat(part)).filter(|part| !part.is_empty()).collect();
        Row { at: at.into(), parts: [parts, Vec::new()], form }
    }

    /// A line of a table: in text the figures come before the name, elsewhere after it, with nothing between.
    fn line(at: impl Into<String>, form: Form, name: &str, figures: &[String]) -> Row {
        let figures = figures.join(" ");
        let (text, table) = (flat(&format!("{figures} {name}")), flat(&format!("{name} {figures}")));
        Row { at: at.into(), parts: [vec![text], vec![table]], form }
    }

    fn texts(&mut self) {
        let mut found = Vec::new();
        for member in ["verdict", "findings", "what_if", "together", "details"] {
            texts(member, &self.report[member], &mut found);
        }
        let is_high = self.report["verdict"]["confidence"] == "high";
        let rows = found.into_iter().map(|(at, text)| {
            let form = match at.as_str() {
                "verdict.sentence" => Form::Brief,
                doubt if doubt.starts_with("verdict.doubts") && !is_high => Form::Brief,
                finding if finding.starts_with("findings") => Form::Folded,
                what_if if what_if.starts_with("what_if") => Form::Brief,
                _ => Form::Whole,
            };
            vec![Self::row(at, form, &[text])]
        });
        self.groups.extend(rows);
        let note = |(index, note): (usize, &Value)| {
            let form = if note["severity"] == "info" { Form::Whole } else { Form::Brief };
            Self::row(format!("quality[{index}]"), form, &[text_of(&note["text"]).to_owned()])
        };
        self.groups.push(list(&self.report["quality"]).iter().enumerate().map(note).collect());
    }

    fn step(&mut self) {
        let step = &self.report["step"];
        let time = |ns: i64| self.catalog.time(ns);
        let mut group = vec![Self::row("step.unprofiled_ms", Form::Brief, &[time(self.step)])];
        let (low, high) = (ns(&step["low_ms"]), ns(&step["high_ms"]));
        let range = self.catalog.time_range(low, high);
        if step["basis"] != "traced" && range.contains('–') {
            group.push(Self::row("step.low_ms–high_ms", Form::Brief, &[range]));
        }
        self.groups.push(group);
        let mut each: Vec<i64> = list(&step["traced_each_ns"]).iter().filter_map(Value::as_i64).collect();
        each.sort_unstable();
        if let (Some(first), Some(last)) = (each.first(), each.last()) {
            let spread = [each.len().to_string(), time(*first), time(*last)];
            self.groups.push(vec![
                Self::row("step.traced_each_ns", Form::Whole, &spread),
                Self::row(
                    "step.host_span_ms",
                    Form::Whole,
                    &[time(ns(&step["host_span_ms"])), time(ns(&step["host_ahead_ms"]))],
                ),
            ]);
        }
        if let Some(replay) = self.report["replay"].as_object() {
            let share = |name: &str| self.catalog.share(replay[name].as_f64().unwrap().abs());
            self.groups.push(vec![Self::row("replay", Form::Whole, &[share("error"), share("slack")])]);
        }
    }

    fn ledger(&mut self) {
        let shown =
            list(&self.report["ledger"]).iter().filter(|line| line["traced_ns"] != 0 || line["ms"] != 0.0);
        let row = |line: &Value| {
            let id = line["id"].as_str().unwrap();
            // Of a nanosecond, six decimals of a share show nothing.
            let share = match line["share"].as_f64().unwrap() {
                0.0 => line["ms"].as_f64().unwrap() * 1e6 / self.step as f64,
                share => share,
            };
            let figures =
                [self.catalog.share_in_column(share), self.catalog.time_like(ns(&line["ms"]), self.step)];
            let form = if line["kind"] == "waiting" && share >= 0.01 { Form::Brief } else { Form::Whole };
            Self::line(format!("ledger.{id}"), form, &self.catalog.line(id), &figures)
        };
        // Without `-v` by size, else by kind.
        let rows: Vec<Row> = shown.clone().map(row).collect();
        let (brief, whole): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.form == Form::Brief);
        self.groups.extend(brief.into_iter().map(|row| vec![row]));
        self.groups.push(whole);
        self.groups.push(shown.map(row).map(|row| Row { form: Form::Whole, ..row }).collect());
        let mut details = Vec::new();
        texts("ledger", &self.report["ledger"], &mut details);
        self.groups.extend(details.into_iter().map(|(at, text)| vec![Self::row(at, Form::Whole, &[text])]));
    }

    fn run(&mut self) {
        let run = &self.report["run"];
        let watched = run["watched_ns"].as_i64().unwrap_or(0);
        let row = |line: &Value| {
            let share = self.catalog.share_in_column(line["share"].as_f64().unwrap());
            let time = self.catalog.time_like(line["ns"].as_i64().unwrap(), watched);
            Self::row(format!("run.{}", line["id"]), Form::Whole, &[format!("{share} {time}")])
        };
        let rows = list(&run["lines"]).iter().filter(|line| line["ns"] != 0).map(row).collect();
        self.groups.push(rows);
    }

    fn ranks(&mut self) {
        let ranks = list(&self.report["ranks"]);
        let row = |rank: &Value| {
            let step = ns(&rank["step"]["unprofiled_ms"]);
            let mut parts = vec![format!("{} {}", rank["rank"], self.catalog.time(step))];
            let late = &rank["lateness"];
            if !late.is_null() {
                parts.push(self.catalog.time_like(ns(&late["caused_ms"]), step));
            }
            Self::row(format!("ranks.{}", rank["rank"]), Form::Whole, &parts)
        };
        self.groups.push(if ranks.len() > 1 { ranks.iter().map(row).collect() } else { Vec::new() });
    }

    /// The step after it, what is saved, and the interval where it says more than the figure.
    fn gain(&self, gain: &Value) -> Vec<String> {
        let bound = |sign: &str, text: String| {
            if gain["method"] == "bound" && !text.starts_with('<') { format!("{sign} {text}") } else { text }
        };
        let range = self.catalog.time_range(ns(&gain["low_ms"]), ns(&gain["high_ms"]));
        let mut parts = vec![
            bound("≥", self.catalog.time(ns(&gain["step_ms_after"]))),
            bound("≤", self.catalog.share_in_column(gain["saved"].as_f64().unwrap())),
        ];
        parts.extend(Some(range).filter(|range| range.contains('–')));
        parts
    }

    fn findings(&mut self) {
        let row = |finding: &Value| {
            let mut parts = if finding["gain"].is_null() {
                vec![self.catalog.time(ns(&finding["cost_ms"]))]
            } else {
                self.gain(&finding["gain"])
            };
            if finding["gain"].is_null() && finding["cost_ms"] == 0.0 {
                parts.clear();
            }
            parts.push(text_of(&finding["remedy"]["summary"]).to_owned());
            Self::row(format!("findings.{}", finding["cause"]), Form::Folded, &parts)
        };
        self.groups.push(list(&self.report["findings"]).iter().map(row).collect());
        let rung = |rung: &Value| {
            let change = &rung["change"];
            let named =
                [&change["from"], &change["to"]].map(|end| end.as_str().unwrap_or_default().to_owned());
            let mut parts: Vec<String> = named.into_iter().filter(|end| !end.is_empty()).collect();
            parts.extend(self.gain(rung));
            Self::row(format!("ladder.{}", rung["cause"]), Form::Brief, &parts)
        };
        let rungs: Vec<Row> = list(&self.report["ladder"]).iter().map(rung).collect();
        // With `-v` the ladder is one line of names and steps, and the page marks a ladder from two rungs on.
        self.groups.push(rungs);
    }

    fn asked(&mut self) {
        let answer = |answer: &Value| {
            let mut parts = vec![answer["asked"].as_str().unwrap().to_owned()];
            if !answer["step_ms_after"].is_null() {
                parts.extend(self.gain(answer));
            }
            Self::row(format!("what_if.{}", answer["asked"]), Form::Brief, &parts)
        };
        self.groups.push(list(&self.report["what_if"]).iter().map(answer).collect());
        let path = &self.report["critical_path"];
        let length = path["length_ns"].as_i64().unwrap_or(0);
        let part = |part: &Value, form| {
            let ns = part["ns"].as_i64().unwrap();
            let share = self.catalog.share_in_column(ns as f64 / length.max(1) as f64);
            let time = self.catalog.time_like(ns, length);
            Self::row("critical_path", form, &[format!("{share} {time}")])
        };
        let mut rows: Vec<Row> = list(&path["parts"]).iter().map(|one| part(one, Form::Brief)).collect();
        rows.extend(list(&path["names"]).iter().map(|one| part(one, Form::Whole)));
        if length > 0 {
            rows.insert(0, Self::row("critical_path.length_ns", Form::Brief, &[self.catalog.time(length)]));
        }
        self.groups.push(rows);
    }

    fn totals(&mut self) {
        let steps = self.report["step"]["count"].as_i64().unwrap().max(1);
        for (name, per) in [("kernels", steps), ("operators", steps), ("modules", steps), ("gaps", 1)] {
            let row = |total: &Value| {
                let number = |name: &str| total[name].as_i64().unwrap();
                let count = number("count");
                let count = if count % per == 0 {
                    thousands(count / per)
                } else {
                    format!("{:.1}", count as f64 / per as f64)
                };
                let time = |ns: i64| self.catalog.time(ns);
                let mut cells = vec![time(number("total_ns") / per), count, time(number("longest_ns"))];
                let kind = total["kind"].as_str().unwrap_or_default();
                cells.extend(Some(self.catalog.line(kind)).filter(|_| !kind.is_empty()));
                Self::row(format!("details.{name}"), Form::Folded, &[cells.join(" ")])
            };
            self.groups.push(list(&self.report["details"][name]).iter().take(ROWS).map(row).collect());
        }
    }

    /// What each file gave; no part of the verdict.
    fn contributions(&mut self) {
        let row = |given: &Value| {
            let parts = [given["path"].as_str().unwrap(), text_of(&given["text"])].map(str::to_owned);
            Self::row("evidence.contributions", Form::Whole, &parts)
        };
        self.groups.push(list(&self.report["evidence"]["contributions"]).iter().map(row).collect());
    }

    fn together(&mut self) {
        for group in list(&self.report["together"]["groups"]) {
            let row = |transfer: &Value| {
                let time = self.catalog.time(transfer["transfer_ns"].as_i64().unwrap());
                let hidden = self.catalog.share(transfer["hidden"].as_f64().unwrap().max(0.0));
                let bus = format!("{:.0} GB/s", transfer["bus_bytes_per_s"].as_f64().unwrap() / 1e9);
                Self::row("together.groups", Form::Whole, &[time, bus, hidden])
            };
            self.groups.push(list(&group["transfers"]).iter().take(TRANSFERS).map(row).collect());
        }
    }
}

/// `12,345`, from five digits on.
fn thousands(count: i64) -> String {
    let digits = count.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let (head, tail) = digits.split_at(digits.len() - 3);
    format!("{},{tail}", if head.len() > 3 { thousands(head.parse().unwrap()) } else { head.to_owned() })
}
