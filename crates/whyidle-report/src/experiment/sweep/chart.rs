//! The curve of a setting as bars: a line for each value, with its figures as far as they are known.

use unicode_width::UnicodeWidthStr;
use whyidle_diagnosis::Message;
use whyidle_experiment::comparison::Per;
use whyidle_experiment::sweep::knee::Shape;
use whyidle_experiment::sweep::{Fate, Rung, Tried};

use super::words::{fate, value_name};
use crate::text::{bar, shortened};
use crate::{Catalog, quantity};

/// Columns of a value at most.
const WIDEST_VALUE: usize = 20;
/// Columns of the longest bar.
const BARS: std::ops::RangeInclusive<usize> = 8..=32;
/// From this half width on, as a share, both ends of an interval are shown.
const WIDE: f64 = 0.3;
/// Columns between figures.
const GAP: usize = 2;

/// A column of figures: its heading, and a cell for each value.
pub(crate) struct Column {
    pub(crate) heading: String,
    pub(crate) cells: Vec<String>,
}

impl Column {
    fn of(heading: String, rung: &Rung, cell: impl Fn(&Tried) -> Option<String>) -> Option<Self> {
        let of = |tried: &Tried| if has_time(tried) { cell(tried) } else { None };
        let cells: Vec<Option<String>> = rung.values.iter().map(of).collect();
        let is_empty = cells.iter().all(Option::is_none);
        let or_dash = |(cell, tried): (Option<String>, &Tried)| {
            cell.unwrap_or_else(|| if has_time(tried) { "–".to_owned() } else { String::new() })
        };
        (!is_empty)
            .then(|| Self { heading, cells: cells.into_iter().zip(&rung.values).map(or_dash).collect() })
    }

    fn width(&self) -> usize {
        self.cells.iter().map(|cell| cell.width()).max().unwrap_or(0).max(self.heading.width())
    }
}

fn has_time(tried: &Tried) -> bool {
    tried.ns.is_some()
}

fn on_one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// The bars of a setting, in lines of at most `width` columns.
pub(super) fn lines(rung: &Rung, catalog: &Catalog, width: usize) -> Vec<String> {
    let mut columns = columns(rung, catalog);
    let names: Vec<String> = rung
        .values
        .iter()
        .map(|tried| shortened(&on_one_line(&catalog.message(&value_name(tried))), WIDEST_VALUE))
        .collect();
    let name_width = names.iter().map(|name| name.width()).max().unwrap_or(0);
    let left = 2 + name_width + GAP;
    let room = |columns: &[Column]| {
        let figures: usize = columns.iter().map(|column| GAP + column.width()).sum();
        width.saturating_sub(left + figures)
    };
    // The last columns matter least.
    while room(&columns) < *BARS.start() && columns.len() > 1 {
        columns.pop();
    }
    let longest = room(&columns).clamp(*BARS.start(), *BARS.end());
    let pad = |text: &str, width: usize| " ".repeat(width.saturating_sub(text.width()));
    let mut lines = vec![" ".repeat(left + longest)];
    for column in &columns {
        lines[0] += &format!("{}{}", pad(&column.heading, GAP + column.width()), column.heading);
    }
    let length = |tried: &Tried| match (tried.ns, rung.per) {
        (None, _) => 0.0,
        (Some(ns), Per::Sample) => 1.0 / ns.max(1) as f64,
        (Some(ns), _) => ns as f64,
    };
    let whole = rung.values.iter().map(length).fold(f64::MIN_POSITIVE, f64::max);
    for (at, (tried, name)) in rung.values.iter().zip(&names).enumerate() {
        let mark = match tried.fate {
            _ if is_chosen(rung, at) => "→",
            Fate::Measured if tried.losses.forbids() => "!",
            _ => " ",
        };
        let mut line = format!("{mark} {}{name}{}", pad(name, name_width), " ".repeat(GAP));
        match fate(tried) {
            Some(word) => line += &catalog.message(&word),
            None => {
                let bar = bar(length(tried) / whole, longest);
                line += &format!("{bar}{}", pad(&bar, longest));
                for column in &columns {
                    line += &format!("{}{}", pad(&column.cells[at], GAP + column.width()), column.cells[at]);
                }
            }
        }
        lines.push(line);
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// The value at this position is the one to take: kept, or the knee.
pub(crate) fn is_chosen(rung: &Rung, at: usize) -> bool {
    match rung.kept {
        Some(kept) => kept == at,
        None => rung.found.is_some_and(|found| found.knee == at && found.shape != Shape::Flat),
    }
}

/// The figures that are known of any value, those that matter most first.
pub(crate) fn columns(rung: &Rung, catalog: &Catalog) -> Vec<Column> {
    let word = |id: &str| catalog.word(id);
    let figure = match rung.per {
        Per::Sample => {
            Column::of(word("sweep-column-rate"), rung, |tried| Some(quantity::plain(1e9 / tried.ns? as f64)))
        }
        _ => Column::of(word("sweep-column-time"), rung, |tried| Some(catalog.time(tried.ns?))),
    };
    let interval = Column::of(catalog.share(0.95), rung, |tried| {
        let (low, high) = tried.interval_ns?;
        let half = (high - low) as f64 / 2.0 / tried.ns?.max(1) as f64;
        // A wide interval is lopsided: half of it on either side would reach below nothing.
        Some(match rung.per {
            _ if half <= WIDE => format!("±{}", catalog.share(half)),
            Per::Sample => {
                let rate = |ns: i64| quantity::plain(1e9 / ns.max(1) as f64);
                format!("{}–{}", rate(high), rate(low))
            }
            _ => catalog.message(&Message::new("differential-range").time("low", low).time("high", high)),
        })
    });
    let best = Column::of(word("sweep-column-best"), rung, |tried| {
        Some(format!("{} ×", quantity::ratio(tried.to_best?.ratio)))
    });
    let busy = Column::of(word("sweep-column-busy"), rung, |tried| Some(catalog.share(tried.gpu?.resident)));
    let memory = Column::of(word("sweep-column-memory"), rung, |tried| {
        let bytes = tried.peak.map(|peak| peak.held).or(tried.gpu.and_then(|gpu| gpu.memory))?;
        Some(catalog.quantity(&quantity::bytes(bytes)))
    });
    let power = Column::of(word("sweep-column-power"), rung, |tried| {
        let watts = Message::new("bench-watts").name("power", format!("{:.0}", tried.gpu?.power_w?));
        Some(catalog.message(&watts))
    });
    [figure, interval, best, busy, memory, power].into_iter().flatten().collect()
}
