//! The page: both sides, the answer, what to beware of, then tables, what changed most first.

use fluent_bundle::FluentValue;
use whyidle_diagnosis::Message;
use whyidle_diagnosis::diff::{Diff, Figure, Row, Side};

use super::words;
use crate::Catalog;
use crate::catalog::key_of;
use crate::page::Block;
use crate::quantity;
use crate::text::shortened;

/// Rows of a table before `-v` shows more.
const ROWS: usize = 8;
/// Columns that a name gets before `-v` shows it whole: kernels have names of hundreds of characters.
const NAME: usize = 44;
/// Rows even with `-v`; JSON holds all.
const MOST_ROWS: usize = 64;
/// Differences below this share of the step are left out before `-v`.
const WORTH_A_ROW: f64 = 0.001;
/// Places whose share moved by less are left out before `-v`.
const WORTH_A_PLACE: f64 = 0.01;

struct Page<'a> {
    diff: &'a Diff,
    catalog: &'a Catalog,
    verbose: bool,
    /// The longer of both steps, ns.
    step_ns: i64,
    blocks: Vec<Block>,
    /// Some difference stands in brackets.
    has_unclear: bool,
}

pub(crate) fn blocks(diff: &Diff, catalog: &Catalog, verbose: bool) -> Vec<Block> {
    let step_ns = [diff.step.a, diff.step.b].iter().flatten().map(|figure| figure.ns).max().unwrap_or(1);
    let mut page = Page { diff, catalog, verbose, step_ns, blocks: Vec::new(), has_unclear: false };
    page.head(&diff.a, false);
    page.head(&diff.b, true);
    page.blocks.push(Block::Sentence(page.answer()));
    for caveat in &diff.caveats {
        page.blocks.push(Block::Doubt(catalog.message(&words::caveat(caveat))));
    }
    page.ledger();
    page.names();
    page.readings();
    page.places();
    if page.has_unclear {
        page.blocks.push(Block::Note(catalog.word("diff-brackets")));
    }
    page.blocks
}

impl Page<'_> {
    fn answer(&self) -> String {
        self.catalog.sentences(&labelled(&words::answer(self.diff), self.catalog))
    }

    fn head(&mut self, side: &Side, is_second: bool) {
        let verdict = &side.verdict;
        let mut parts = vec![format!("{}  {}", words::side(is_second), side.path)];
        parts.extend(verdict.subject.gpu.clone());
        if let Some(rank) = verdict.subject.rank_shown.filter(|_| verdict.subject.ranks > 1) {
            parts.push(self.catalog.message(&Message::new("diff-head-rank").name("rank", rank.to_string())));
        }
        parts.push(self.catalog.steps_found(&verdict.step));
        parts.push(self.catalog.basis(&verdict.step));
        self.blocks.push(Block::Head(parts.join(" · ")));
    }

    /// The rows that are worth one and fit, and how many are left out.
    fn table(&mut self, title: &str, rows: Vec<Vec<String>>) {
        if rows.is_empty() {
            return;
        }
        let most = if self.verbose { MOST_ROWS } else { ROWS };
        let left = rows.len().saturating_sub(most);
        self.blocks.push(Block::Title(title.to_owned()));
        self.blocks.push(Block::Table(rows.into_iter().take(most).collect()));
        if left > 0 {
            let more = if self.verbose { Message::new("diff-more-still") } else { Message::new("diff-more") };
            let text = self.catalog.message(&more.count("count", left));
            self.blocks.push(Block::Note(text));
        }
    }

    fn is_worth_a_row(&self, row: &Row) -> bool {
        let difference = row.difference_ns().abs();
        difference > 0 && (self.verbose || difference as f64 >= WORTH_A_ROW * self.step_ns as f64)
    }

    /// `+3.7 ms`; in brackets where chance explains it.
    fn difference(&mut self, row: &Row) -> String {
        let ns = row.difference_ns();
        let sign = match ns {
            0 => "",
            more if more > 0 => "+",
            _ => "−",
        };
        let text = if ns == 0 { "0".to_owned() } else { format!("{sign}{}", self.catalog.time(ns.abs())) };
        self.has_unclear |= !row.clear;
        if row.clear { text } else { format!("({text})") }
    }

    /// `3.4 → 5.1 ms`: both ends in the unit of the larger one.
    fn change(&self, row: &Row) -> String {
        let of = |figure: &Option<Figure>| figure.map_or(0, |figure| figure.ns);
        let whole = of(&row.a).max(of(&row.b));
        let time = |figure: &Option<Figure>| match figure {
            None => "–".to_owned(),
            Some(figure) if figure.ns == 0 => "0".to_owned(),
            Some(figure) => self.catalog.time_like(figure.ns, whole),
        };
        format!("{} → {}", time(&row.a), time(&row.b))
    }

    fn ledger(&mut self) {
        let diff = self.diff;
        let step = vec![self.catalog.word("diff-step"), self.change(&diff.step), self.difference(&diff.step)];
        let mut rows = vec![step];
        for row in &diff.ledger {
            if self.is_worth_a_row(row) {
                rows.push(vec![self.catalog.line(&row.name), self.change(row), self.difference(row)]);
            }
        }
        let title = self.catalog.word("diff-title-ledger");
        self.table(&title, rows);
    }

    fn names(&mut self) {
        let Some(names) = &self.diff.names else { return };
        for (id, rows) in [
            ("diff-title-kernels", &names.kernels),
            ("diff-title-operators", &names.operators),
            ("diff-title-host", &names.host),
        ] {
            let title = self.catalog.word(id);
            let changed: Vec<&Row> = rows
                .iter()
                .filter(|row| !row.is_new() && !row.is_gone() && self.is_worth_a_row(row))
                .collect();
            let changed = self.named(&changed);
            self.table(&title, changed);
            for (only, is_second) in [("diff-only-b", true), ("diff-only-a", false)] {
                let there = |row: &&Row| if is_second { row.is_new() } else { row.is_gone() };
                let rows: Vec<&Row> =
                    rows.iter().filter(there).filter(|row| self.is_worth_a_row(row)).collect();
                let rows = self.named(&rows);
                let title = self.catalog.format(only, &[("what", FluentValue::from(title.as_str()))]);
                self.table(&title, rows);
            }
        }
    }

    /// Rows of names, each with how often it runs where that changed.
    fn named(&mut self, rows: &[&Row]) -> Vec<Vec<String>> {
        let short = |row: &Row| shortened(row.name.trim_start_matches("void "), NAME);
        let names: Vec<String> = rows.iter().map(|row| short(row)).collect();
        let is_told_apart = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
        let cells = rows.iter().zip(&names).map(|(row, name)| {
            let name = if !self.verbose && is_told_apart(name) { name } else { &row.name };
            let calls = self.calls(row);
            vec![name.clone(), self.change(row), self.difference(row), calls]
        });
        cells.collect()
    }

    /// `6 → 7 a step`, where that changed.
    fn calls(&self, row: &Row) -> String {
        let calls = |figure: &Option<Figure>| figure.and_then(|figure| figure.calls);
        match (calls(&row.a), calls(&row.b)) {
            (Some(a), Some(b)) if (a - b).abs() > 0.05 => {
                let args = [
                    ("a", FluentValue::from(quantity::plain(a))),
                    ("b", FluentValue::from(quantity::plain(b))),
                ];
                self.catalog.format("diff-calls", &args)
            }
            _ => String::new(),
        }
    }

    fn readings(&mut self) {
        let value = |value: Option<f64>, unit: &str| match value {
            None => "–".to_owned(),
            Some(value) if unit == "bytes/s" => {
                let bytes = self.catalog.quantity(&quantity::bytes(value as i64));
                self.catalog.format("report-per-second", &[("bytes", FluentValue::from(bytes))])
            }
            Some(value) => self.catalog.share(value),
        };
        let rows = self.diff.readings.iter().filter(|reading| self.verbose || reading.a != reading.b);
        let rows = rows
            .map(|reading| {
                let name = self.catalog.word(&format!("instrument-{}", key_of(reading.id)));
                vec![name, value(reading.a, reading.unit), format!("→ {}", value(reading.b, reading.unit))]
            })
            .collect();
        let title = self.catalog.word("diff-title-readings");
        self.table(&title, rows);
    }

    fn places(&mut self) {
        let mut rows = Vec::new();
        for place in &self.diff.places {
            let moved = place.b - place.a;
            if !self.verbose && moved.abs() < WORTH_A_PLACE {
                continue;
            }
            let share = |share: f64| self.catalog.share_in_column(share);
            let sign = if moved > 0.0 { "+" } else { "−" };
            let text = format!("{sign}{}", share(moved.abs()));
            self.has_unclear |= !place.clear;
            let text = if place.clear { text } else { format!("({text})") };
            rows.push(vec![place.name.clone(), format!("{} → {}", share(place.a), share(place.b)), text]);
        }
        let title = self.catalog.word("diff-title-places");
        self.table(&title, rows);
    }
}

/// The messages with the ids of lines in the reader's words.
pub(crate) fn labelled(messages: &[Message], catalog: &Catalog) -> Vec<Message> {
    use whyidle_diagnosis::Arg;

    fn label(message: &Message, catalog: &Catalog) -> Message {
        let arg = |name: &str, arg: &Arg| match arg {
            Arg::Name(id) if name == "line" => Arg::Name(catalog.line(id)),
            Arg::Message(inner) => Arg::Message(Box::new(label(inner, catalog))),
            Arg::List(items) => Arg::List(
                items
                    .iter()
                    .map(|item| match item {
                        Arg::Message(inner) => Arg::Message(Box::new(label(inner, catalog))),
                        other => other.clone(),
                    })
                    .collect(),
            ),
            other => other.clone(),
        };
        let args = message.args.iter().map(|(name, value)| (*name, arg(name, value))).collect();
        Message { id: message.id, args }
    }
    messages.iter().map(|message| label(message, catalog)).collect()
}
