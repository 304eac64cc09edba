//! What `ncu --csv` prints, on the raw or the details page, to a file or between a program's own output.
//!
//! Form (Nsight Compute CLI documentation, "Console Output"; checked on real prints of version 2025, of both pages):
//! lines in `==…==` are Nsight Compute's own. A header begins with `"ID"`. On the raw page a line of units follows, and
//! then a line per kernel with one column per metric; on the details page each line is one metric of a kernel, or one of
//! its rules, and units stand beside the values. Numbers are in quotes, grouped by thousands. Other lines are the
//! program's and are passed over.

mod table;
mod unit;

use std::path::Path;

use memchr::memmem;
use rustc_hash::FxHashMap;
use whyidle_model::{NcuKernels, NoteCode};

use crate::budget::{Budget, Guard};
use crate::error::{Found, ReadError};
use crate::plain::{self, Decimal, split};
use table::{Target, of_details, of_raw};

/// Rows beyond this are dropped: each launch takes Nsight Compute tens of milliseconds and more.
const MOST_KERNELS: usize = 1 << 20;
/// Warnings that are kept.
const MOST_WARNINGS: usize = 16;
/// Values that are looked at to tell English numbers from German ones.
const PROBED: usize = 1 << 16;

/// Whether a file that begins with `head` (cleaned) is such a print.
pub(crate) fn is_print(head: &str) -> bool {
    head.lines().any(is_header)
}

fn is_header(line: &str) -> bool {
    let start = line.trim_start_matches(['"', ' ']);
    start.starts_with("ID") && memmem::find(line.as_bytes(), b"Kernel Name").is_some()
}

/// Adds what the print in a file holds. A launch that is known already, from the other page of the same report, is filled
/// up.
///
/// # Errors
/// Where the file cannot be read, or holds no kernel.
pub fn read(path: &Path, kernels: &mut NcuKernels) -> Result<(), ReadError> {
    let lines = parse(&plain::read(path)?, kernels, Budget::default());
    if lines == 0 {
        return Err(ReadError::NotATrace { path: path.to_owned(), found: Found::Text });
    }
    Ok(())
}

/// As [`read`], from bytes; how many lines were of kernels.
pub fn read_bytes(bytes: &[u8], kernels: &mut NcuKernels) -> usize {
    parse(&plain::clean(bytes), kernels, Budget::default())
}

/// Reads text that was cleaned, as far as the budget goes; returns how many lines were of kernels.
pub(crate) fn parse(text: &str, kernels: &mut NcuKernels, budget: Budget) -> usize {
    let key = |row: usize| ((kernels.process[row], kernels.id[row]), row);
    let mut known: FxHashMap<(u32, u32), usize> = (0..kernels.len()).map(key).collect();
    let (mut page, mut count) = (None, 0);
    let mut guard = Guard::new(budget);
    let is_row = |line: &str| line.starts_with(|c: char| c == '"' || c.is_ascii_digit());
    for line in guard.lines(text) {
        if line.starts_with("==") {
            warn(line, kernels);
        } else if is_header(line) {
            // Fields hold no line ends: the numbers of the next lines tell their form.
            page = Some(Page::new(line, delimiter(line), after(text, line).lines()));
        } else if let Some(page) = page.as_mut().filter(|_| is_row(line)) {
            let fields = split(line, page.delimiter);
            // Nsight Compute was stopped, or the disk was full: half a line says nothing certain.
            if after(text, line).is_empty() && !page.is_whole(line, &fields) {
                kernels.notes.add(NoteCode::Truncated, None);
                continue;
            }
            let before = kernels.notes.count(NoteCode::MalformedEvent);
            page.line(&fields, &mut known, kernels);
            count += usize::from(kernels.notes.count(NoteCode::MalformedEvent) == before);
        }
    }
    if guard.is_over() {
        kernels.notes.add(NoteCode::OverBudget, None);
    }
    count
}

/// What follows a line of a text; nothing where the text ends in it.
fn after<'t>(text: &'t str, line: &str) -> &'t str {
    let end = line.as_ptr() as usize - text.as_ptr() as usize + line.len();
    &text[end..]
}

/// A spreadsheet of a country with decimal commas saves with semicolons.
fn delimiter(header: &str) -> char {
    let count = |c: char| header.matches(c).count();
    [';', '\t'].into_iter().find(|&c| count(c) > count(',')).unwrap_or(',')
}

fn warn(line: &str, kernels: &mut NcuKernels) {
    let told = line.strip_prefix("==WARNING== ").or_else(|| line.strip_prefix("==ERROR== "));
    if let Some(text) = told.filter(|text| {
        kernels.warnings.len() < MOST_WARNINGS && !kernels.warnings.iter().any(|known| known == text)
    }) {
        kernels.warnings.push(text.to_owned());
    }
}

/// Where a page has what.
#[derive(Default)]
struct Columns {
    id: Option<usize>,
    process: Option<usize>,
    name: Option<usize>,
    block: Option<usize>,
    grid: Option<usize>,
    metric: Option<usize>,
    unit: Option<usize>,
    value: Option<usize>,
    gpu: Option<usize>,
    /// Raw page: the columns that are kept.
    kept: Vec<(usize, Target)>,
    all: usize,
}

struct Page {
    delimiter: char,
    decimal: Decimal,
    columns: Columns,
    /// Raw page: factors of the columns that are kept.
    factors: Option<Vec<Option<f64>>>,
}

impl Page {
    fn new<'a>(header: &str, delimiter: char, probe: impl Iterator<Item = &'a str>) -> Self {
        let names = split(header, delimiter);
        let at = |wanted: &str| names.iter().position(|name| name.trim() == wanted);
        let mut columns = Columns {
            id: at("ID"),
            process: at("Process ID"),
            name: at("Kernel Name"),
            block: at("Block Size"),
            grid: at("Grid Size"),
            metric: at("Metric Name"),
            unit: at("Metric Unit"),
            value: at("Metric Value"),
            gpu: at("device__attribute_display_name"),
            kept: Vec::new(),
            all: names.len(),
        };
        if columns.metric.is_none() {
            columns.kept =
                names.iter().enumerate().filter_map(|(at, name)| Some((at, of_raw(name.trim())?))).collect();
        }
        let (mut values, mut seen) = (Vec::new(), 0);
        for line in probe {
            // Figures follow the columns that say which kernel it is; those hold shapes and versions.
            let fields = split(line, delimiter);
            seen += fields.len();
            match columns.value {
                Some(value) => values.extend(fields.into_iter().nth(value)),
                None => values.extend(fields.into_iter().skip(11)),
            }
            if seen > PROBED {
                break;
            }
        }
        let decimal = Decimal::of(values.iter().map(String::as_str));
        Self { delimiter, decimal, columns, factors: None }
    }

    /// Whether a line is all there: its quotes are closed, and a row of the raw page has all columns. On the details page
    /// rows are of two lengths; the shorter one ends behind the value, and in a comma.
    fn is_whole(&self, line: &str, fields: &[String]) -> bool {
        let closed = line.matches('"').count().is_multiple_of(2);
        closed
            && match self.columns.value {
                Some(value) => fields.len() > value + 1 || self.columns.all == value + 1,
                None => fields.len() == self.columns.all && !line.ends_with(self.delimiter),
            }
    }

    fn line(
        &mut self,
        fields: &[String],
        known: &mut FxHashMap<(u32, u32), usize>,
        kernels: &mut NcuKernels,
    ) {
        let get =
            |column: Option<usize>| column.and_then(|at| fields.get(at)).map_or("", |field| field.trim());
        let Ok(id) = get(self.columns.id).parse::<u32>() else {
            if get(self.columns.id).is_empty() && self.columns.metric.is_none() && self.factors.is_none() {
                self.units(fields);
            } else {
                kernels.notes.add(NoteCode::MalformedEvent, None);
            }
            return;
        };
        let is_short = match self.columns.metric {
            // Lines of rules and of metrics are of different lengths.
            Some(metric) => fields.len() <= metric,
            None => fields.len() != self.columns.all,
        };
        if is_short || get(self.columns.name).is_empty() {
            kernels.notes.add(NoteCode::MalformedEvent, None);
            return;
        }
        let process = get(self.columns.process).parse().unwrap_or(0);
        let row = match known.get(&(process, id)) {
            // The raw page says a kernel once; a file may hold both pages of one report.
            Some(&row) => row,
            None if kernels.len() >= MOST_KERNELS => {
                kernels.notes.add(NoteCode::TableFull, None);
                return;
            }
            None => {
                let (grid, block) = (sides(get(self.columns.grid)), sides(get(self.columns.block)));
                let row = kernels.push(id, process, get(self.columns.name), grid, block);
                known.insert((process, id), row);
                row
            }
        };
        if self.columns.metric.is_some() {
            self.figure(
                get(self.columns.metric),
                get(self.columns.unit),
                get(self.columns.value),
                row,
                kernels,
            );
        } else {
            self.figures(fields, row, kernels);
            if kernels.gpu.is_empty() {
                get(self.columns.gpu).clone_into(&mut kernels.gpu);
            }
        }
    }

    fn units(&mut self, fields: &[String]) {
        let factor = |(at, target): &(usize, Target)| {
            fields.get(*at).and_then(|unit| unit::factor(unit.trim(), target.unit()))
        };
        self.factors = Some(self.columns.kept.iter().map(factor).collect());
    }

    fn figures(&self, fields: &[String], row: usize, kernels: &mut NcuKernels) {
        for (n, (at, target)) in self.columns.kept.iter().enumerate() {
            // Without a line of units, values are taken as they are kept.
            let factor = self.factors.as_ref().map_or(Some(1.0), |factors| factors.get(n).copied().flatten());
            let value = fields.get(*at).and_then(|field| self.decimal.number(field));
            if let Some(value) = value.zip(factor).map(|(value, factor)| value * factor) {
                target.set(kernels, row, value);
            }
        }
    }

    fn figure(&self, name: &str, unit: &str, value: &str, row: usize, kernels: &mut NcuKernels) {
        let targets = of_details(name).or_else(|| of_raw(name).map(|target| (target, target.unit())));
        let Some((target, wanted)) = targets else { return };
        // Two sections have a "Memory Throughput": one in percent, one in bytes per second.
        if let Some(value) = self.decimal.number(value).zip(unit::factor(unit, wanted)).map(|(v, f)| v * f) {
            target.set(kernels, row, value);
        }
    }
}

/// `(256, 1, 1)`.
fn sides(text: &str) -> [u32; 3] {
    let mut sides = [0; 3];
    let parts = text.trim_matches(['(', ')', ' ']).split([',', ';']);
    for (side, part) in sides.iter_mut().zip(parts) {
        *side = part.trim().parse().unwrap_or(0);
    }
    sides
}

#[cfg(test)]
mod tests {
    use super::*;
    use whyidle_model::{NcuMetric, NcuStall};

    const RAW: &str = "==PROF== Connected to process 1 (/usr/bin/python3)\nmy loss is 3\n\
        ==WARNING== Note: Running with unmodified GPU clocks.\n\
        \"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"gpu__time_duration.sum\",\"sm__throughput.avg.pct_of_peak_sustained_elapsed\",\"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio\",\"new\"\n\
        \"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"us\",\"%\",\"inst\",\"furlong\"\n\
        \"0\",\"9\",\"python3\",\"h\",\"void k<int, 3>(T1)\",\"1\",\"7\",\"(256, 1, 1)\",\"(1,056, 2, 1)\",\"0\",\"9.0\",\"1,205.5\",\"64.81\",\"0.25\",\"1\"\n\
        \"1\",\"9\",\"python3\",\"h\",\"k2\",\"1\",\"7\",\"(32, 1, 1)\",\"(4, 1, 1)\",\"0\",\"9.0\",\"n/a\",\"nan\",\"no data\",\"1\"\n\
        \"2\",\"9\",\"python3\",\"h\"\n";

    fn parsed(text: &str) -> NcuKernels {
        let mut kernels = NcuKernels::default();
        assert!(parse(text, &mut kernels, Budget::default()) > 0);
        kernels
    }

    #[test]
    fn the_other_page_of_a_report_fills_up() {
        let mut kernels = parsed(RAW);
        let details = "\"ID\",\"Process ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\"0\",\"9\",\"k\",\"Waves Per SM\",\"\",\"1.5\"\n";
        assert_eq!(parse(details, &mut kernels, Budget::default()), 1);
        assert_eq!((kernels.len(), kernels.metric(NcuMetric::Waves, 0)), (2, Some(1.5)));
    }

    #[test]
    fn the_raw_page_is_read_with_units() {
        let kernels = parsed(RAW);
        assert_eq!((kernels.len(), kernels.warnings.len()), (2, 1));
        assert_eq!(kernels.duration_ns(0), Some(1_205_500));
        assert_eq!(kernels.metric(NcuMetric::Sm, 0), Some(64.81));
        assert_eq!(kernels.stall(NcuStall::Barrier, 0), Some(0.25));
        assert_eq!((kernels.block[0], kernels.grid[1]), ([256, 1, 1], [4, 1, 1]));
        assert_eq!((kernels.duration_ns(1), kernels.metric(NcuMetric::Sm, 1)), (None, None));
        assert_eq!(kernels.notes.count(NoteCode::MalformedEvent), 1, "a line that was cut off");
    }

    #[test]
    fn a_print_that_breaks_off_is_noted() {
        let whole = RAW.strip_suffix("\"2\",\"9\",\"python3\",\"h\"\n").unwrap_or_default().trim_end();
        assert_eq!(parsed(whole).notes.sorted(), [], "only the end of the line is missing");
        for cut in [1, 3, 6, 20] {
            let kernels = parsed(&whole[..whole.len() - cut]);
            assert_eq!((kernels.len(), kernels.notes.count(NoteCode::Truncated)), (1, 1), "{cut}");
        }
    }

    #[test]
    fn a_print_is_read_as_far_as_its_budget_goes() {
        let no_time = std::time::Duration::ZERO;
        for (budget, rows) in [
            (Budget { nodes: 6, ..Budget::default() }, 1),
            (Budget { bytes: RAW.find("\"k2\"").unwrap_or(0) as u64, ..Budget::default() }, 1),
            (Budget { time: no_time, ..Budget::default() }, 0),
        ] {
            let mut kernels = NcuKernels::default();
            parse(RAW, &mut kernels, budget);
            assert_eq!((kernels.len(), kernels.notes.count(NoteCode::OverBudget)), (rows, 1), "{budget:?}");
        }
    }

    #[test]
    fn german_numbers_are_read_as_what_they_are() {
        let german =
            RAW.replace("1,205.5", "1.205,5").replace("64.81", "64,81").replace("\"0.25\"", "\"0,25\"");
        let kernels = parsed(&german);
        assert_eq!(
            (kernels.duration_ns(0), kernels.metric(NcuMetric::Sm, 0)),
            (Some(1_205_500), Some(64.81))
        );
        // As a German spreadsheet saves it.
        let semicolons = german.replace("\",\"", "\";\"");
        assert_eq!(parsed(&semicolons).metric(NcuMetric::Sm, 0), Some(64.81));
    }

    #[test]
    fn the_details_page_is_read_by_names_and_units() {
        let head = "\"ID\",\"Process ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\",\"Rule Name\"\n";
        let line = |name: &str, unit: &str, value: &str| {
            format!(
                "\"0\",\"9\",\"k\",\"(1, 1, 1)\",\"(2, 1, 1)\",\"s\",\"{name}\",\"{unit}\",\"{value}\",\n"
            )
        };
        let text = [
            head.to_owned(),
            line("Duration", "msecond", "1.5"),
            line("Memory Throughput", "Gbyte/second", "700"),
            line("Memory Throughput", "%", "36.75"),
            line("Compute (SM) [%]", "%", "64.81"),
            line("Achieved Occupancy", "%", "79.80"),
            "\"0\",\"9\",\"k\",\"(1, 1, 1)\",\"(2, 1, 1)\",\"s\",\"\",\"\",\"\",\"SOLBottleneck\",\"OPT\",\"text\"\n".to_owned(),
        ];
        let kernels = parsed(&text.concat());
        assert_eq!((kernels.len(), kernels.duration_ns(0)), (1, Some(1_500_000)));
        assert_eq!(kernels.metric(NcuMetric::Memory, 0), Some(36.75));
        assert_eq!(
            (kernels.metric(NcuMetric::Sm, 0), kernels.metric(NcuMetric::Occupancy, 0)),
            (Some(64.81), Some(79.80))
        );
        assert!(kernels.notes.sorted().is_empty());
    }
}
