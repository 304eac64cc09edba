//! The table of GPUs with the programs on them.

use unicode_width::UnicodeWidthStr;
use whyidle_diagnosis::Message;

use super::pen::Pen;
use super::theme::Tone;
use crate::state::{Gauge, Program, Row, State, Throttle};

/// What could not be read.
const ABSENT: &str = "–";

/// A column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Busy,
    Sm,
    Tensor,
    Dram,
    Memory,
    Power,
    Clock,
    Throttle,
}

/// Columns from left to right, each with its heading, its width, and how soon it gives way on a narrow screen.
const COLUMNS: [(Column, &str, usize, u8); 8] = [
    (Column::Busy, "top-col-busy", 6, 0),
    (Column::Sm, "top-col-sm", 5, 3),
    (Column::Tensor, "top-col-tensor", 8, 4),
    (Column::Dram, "top-col-dram", 5, 7),
    (Column::Memory, "top-col-memory", 12, 1),
    (Column::Power, "top-col-power", 10, 2),
    (Column::Clock, "top-col-clock", 9, 6),
    (Column::Throttle, "top-col-throttle", 9, 5),
];
/// The number of the GPU, and the program's column at least.
const NUMBER: usize = 3;
const PROGRAM: usize = 11;

pub(super) fn draw(state: &State, focused: bool, pen: &mut Pen<'_>) {
    let mut title = pen.word("top-gpus");
    if let Some(note) = missing(state) {
        title = format!("{title} · {}", pen.catalog.message(note));
    }
    pen.heading(&title, focused);
    if state.rows.is_empty() {
        let text = pen.word("top-nothing");
        pen.put(0, 1, usize::MAX, Tone::Faint, &text);
        return;
    }
    let columns = fitting(pen.width());
    let mut x = NUMBER;
    let head = pen.word("top-col-gpu");
    pen.put(0, 1, NUMBER, Tone::Faint, &head);
    for (_, id, width, _) in &columns {
        let head = pen.word(id);
        pen.right(x + 1, 1, *width - 1, Tone::Faint, &head);
        x += width;
    }
    let head = pen.word("top-col-program");
    pen.put(x + 1, 1, usize::MAX, Tone::Faint, &head);
    let room = pen.height().saturating_sub(2);
    let from = (state.selected + 1).saturating_sub(room.max(1));
    for (y, at) in (from..state.rows.len()).take(room).enumerate() {
        line(state, state.rows[at], &columns, y + 2, pen);
        if at == state.selected && state.rows.len() > 1 {
            pen.choose(y + 2);
        }
    }
}

/// Why there are no samples of GPUs, or no more of them.
fn missing(state: &State) -> Option<&Message> {
    let notes = match &state.shown()?.verdict {
        Ok(verdict) => &verdict.quality,
        Err(refusal) => &refusal.quality,
    };
    let about_gpus = ["note-live-no-gpu", "note-live-gpu-vanished", "note-live-gpu-failed"];
    notes.iter().map(|note| &note.text).find(|text| about_gpus.contains(&text.id))
}

/// The columns for which there is room, those that matter most first.
fn fitting(width: usize) -> Vec<(Column, &'static str, usize, u8)> {
    let mut by_rank = COLUMNS;
    by_rank.sort_by_key(|column| column.3);
    let mut left = width.saturating_sub(NUMBER + PROGRAM + 1);
    let mut kept = Vec::new();
    for column in by_rank {
        if column.2 <= left {
            left -= column.2;
            kept.push(column.0);
        }
    }
    COLUMNS.into_iter().filter(|column| kept.contains(&column.0)).collect()
}

fn line(state: &State, row: Row, columns: &[(Column, &'static str, usize, u8)], y: usize, pen: &mut Pen<'_>) {
    let gauge = row.gauge.and_then(|at| state.gauges.get(at));
    let number = gauge.map_or(ABSENT.to_owned(), |gauge| gauge.gpu.to_string());
    pen.right(0, y, NUMBER - 1, Tone::Plain, &number);
    let mut x = NUMBER;
    for (column, _, width, _) in columns {
        let (tone, text) =
            gauge.and_then(|gauge| cell(*column, gauge, pen)).unwrap_or((Tone::Faint, ABSENT.to_owned()));
        pen.right(x, y, *width, tone, &text);
        x += width;
    }
    let Some(program) = row.program.and_then(|at| state.programs.get(at)) else { return };
    let what = named(program, pen);
    let x = pen.put(x + 1, y, usize::MAX, Tone::Plain, &what);
    if program.ended {
        let text = pen.word("top-ended");
        let begin = x.min(pen.width().saturating_sub(text.width() + 1));
        pen.put(begin, y, usize::MAX, Tone::Warning, &format!(" {text}"));
    }
}

fn cell(column: Column, gauge: &Gauge, pen: &Pen<'_>) -> Option<(Tone, String)> {
    let share = |value: f64| pen.catalog.share((value * 100.0).round() / 100.0);
    let plain = |value: Option<f64>| value.map(|value| (Tone::Plain, share(value)));
    match column {
        Column::Busy => gauge.busy.map(|busy| {
            let sampled = if gauge.counted { "" } else { "~" };
            (Tone::Working, format!("{sampled}{}", share(busy)))
        }),
        Column::Sm => plain(gauge.sm),
        Column::Tensor => plain(gauge.tensor),
        Column::Dram => plain(gauge.dram),
        Column::Memory => gauge.memory.map(|(used, all)| {
            let gib = |bytes: f64| format!("{:.0}", bytes / f64::from(1 << 30));
            (Tone::Plain, format!("{}/{} GiB", gib(used), gib(all)))
        }),
        Column::Power => gauge.power.map(|power| match gauge.limit {
            Some(limit) => (Tone::Plain, format!("{power:.0}/{limit:.0} W")),
            None => (Tone::Plain, format!("{power:.0} W")),
        }),
        Column::Clock => gauge.clock.map(|clock| (Tone::Plain, format!("{clock:.0} MHz"))),
        Column::Throttle => gauge.throttle.map(|throttle| match throttle {
            Throttle::None => (Tone::Faint, pen.word("top-throttle-none")),
            Throttle::Power => (Tone::Plain, pen.word("top-throttle-power")),
            Throttle::Heat => (Tone::Warning, pen.word("top-throttle-heat")),
            Throttle::Hardware => (Tone::Warning, pen.word("top-throttle-hardware")),
        }),
    }
}

/// `4711 rank 0 python train.py`.
pub(super) fn named(program: &Program, pen: &Pen<'_>) -> String {
    let mut parts = Vec::new();
    parts.extend(program.pid.map(|pid| pid.to_string()));
    if let Some(rank) = program.rank {
        parts.push(pen.catalog.message(&Message::new("top-rank").name("rank", rank.to_string())));
    }
    if !program.command.is_empty() {
        parts.push(short(&program.command).to_owned());
    }
    parts.join(" ")
}

/// A command without the folder of its program.
fn short(command: &str) -> &str {
    let program = command.split(' ').next().unwrap_or(command);
    let folder = program.rfind('/').map_or(0, |at| at + 1);
    &command[folder..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_screens_keep_what_matters_most() {
        let kept = |width| fitting(width).iter().map(|column| column.1).collect::<Vec<_>>();
        assert_eq!(kept(24), ["top-col-busy"]);
        assert_eq!(kept(45), ["top-col-busy", "top-col-memory", "top-col-power"]);
        assert_eq!(kept(120).len(), COLUMNS.len());
        assert_eq!(kept(0), Vec::<&str>::new());
    }

    #[test]
    fn folders_of_programs_are_left_out() {
        assert_eq!(short("/usr/bin/python3 -u /w/train.py"), "python3 -u /w/train.py");
        assert_eq!(short("python"), "python");
        assert_eq!(short(""), "");
    }
}
