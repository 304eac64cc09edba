//! The page: the answer, what to change, what makes up the peak, memory over time, and where the rest lies.

use whyidle_analysis::memory::{Apart, DeviceMemory, Stretch};
use whyidle_diagnosis::Message;

use super::{MemoryReport, SnapshotReport, summary, words};
use crate::Catalog;
use crate::draft::Draft;
use crate::page::Block;

/// Rows even with `-v`; JSON holds all.
const MOST_ROWS: usize = 40;
/// Columns of the picture of memory over time.
const COLUMNS: usize = 60;

struct Page<'a> {
    page: Draft<'a>,
}

pub(crate) fn blocks(report: &MemoryReport, catalog: &Catalog, verbose: bool) -> Vec<Block> {
    let mut page = Page { page: Draft::new(catalog, verbose, MOST_ROWS) };
    for snapshot in &report.snapshots {
        page.snapshot(snapshot);
    }
    for (path, table) in &report.summaries {
        page.page.extend(summary::blocks(path, table, catalog));
    }
    page.page.blocks()
}

impl Page<'_> {
    fn table(&mut self, rows: Vec<Vec<String>>) {
        self.page.table(rows, Message::new("memory-more"));
    }

    fn bytes(&self, bytes: u64) -> String {
        self.page.catalog.arg(&words::bytes(bytes))
    }

    fn snapshot(&mut self, report: &SnapshotReport) {
        let Some(memory) = report.fullest() else {
            let head = Message::new("memory-head").name("path", &report.path);
            self.page.push(Block::Head(self.page.say(&head)));
            self.page.push(Block::Sentence(self.page.catalog.word("memory-empty")));
            self.page.doubts("memory-title-evidence", &report.quality);
            return;
        };
        self.head(report, memory);
        self.page.answer(&words::answer(report, memory));
        self.headroom(report, memory);
        self.advice(memory);
        self.parts(report, memory);
        self.growth(report, memory);
        self.timeline(memory);
        self.totals(memory);
        self.driver(report, memory);
        self.others(report, memory);
        self.page.doubts("memory-title-evidence", &report.quality);
    }

    fn head(&mut self, report: &SnapshotReport, memory: &DeviceMemory) {
        let mut parts = vec![
            self.page.say(&Message::new("memory-head").name("path", &report.path)),
            self.page.say(&Message::new("memory-head-device").name("device", memory.device.to_string())),
        ];
        if let Some((from, until)) = memory.span {
            let events =
                Message::new("memory-head-events").count("count", memory.events).time("time", until - from);
            parts.push(self.page.say(&events));
        }
        self.page.push(Block::Head(parts.join(" · ")));
    }

    fn headroom(&mut self, report: &SnapshotReport, memory: &DeviceMemory) {
        let Some(capacity) = report.capacity(memory.device) else { return };
        let free = capacity.saturating_sub(memory.peak_reserved);
        let text = Message::new("memory-headroom")
            .with("capacity", words::bytes(capacity))
            .with("free", words::bytes(free))
            .share("share", words::share(free, capacity));
        self.page.note(&text);
    }

    fn advice(&mut self, memory: &DeviceMemory) {
        if memory.advice.is_empty() {
            return;
        }
        self.page.title("memory-title-change");
        for &advice in &memory.advice {
            let said: Vec<Message> =
                [words::advised(advice)].into_iter().chain(words::conditions(advice)).collect();
            self.page.push(Block::Rule(true, self.page.catalog.sentences(&said)));
            let code = words::code(advice);
            if !code.is_empty() {
                self.page.push(Block::Code(code.iter().map(|line| format!("  {line}")).collect()));
            }
        }
    }

    fn parts(&mut self, report: &SnapshotReport, memory: &DeviceMemory) {
        if memory.parts.is_empty() || memory.span.is_none() {
            return;
        }
        self.page.title("memory-title-parts");
        let whole = memory.peak.totals.allocated;
        let row = |part: &whyidle_analysis::memory::Part| {
            vec![
                self.page.say(&words::part(&report.sites, part)),
                self.bytes(part.bytes),
                self.page.catalog.share(words::share(part.bytes, whole)),
            ]
        };
        let rows = memory.parts.iter().map(row).collect();
        self.table(rows);
    }

    fn growth(&mut self, report: &SnapshotReport, memory: &DeviceMemory) {
        let Some(growth) = &memory.growth else {
            if self.page.verbose
                && let Some((by, count)) = memory.periods
            {
                self.page.title("memory-title-growth");
                self.page
                    .note(&Message::new("memory-no-growth").message("periods", words::found_by(by, count)));
            }
            return;
        };
        self.page.title("memory-title-growth");
        let rows = growth
            .sites
            .iter()
            .map(|grown| {
                let per = Message::new("memory-per-period").with("bytes", words::bytes(grown.per_period));
                vec![self.page.say(&words::site(&report.sites[grown.site as usize])), self.page.say(&per)]
            })
            .collect();
        self.table(rows);
        if let Some((by, count)) = memory.periods {
            self.page.note(&words::found_by(by, count));
        }
    }

    fn timeline(&mut self, memory: &DeviceMemory) {
        let (Some((from, until)), true) = (memory.span, memory.timeline.len() > 1) else { return };
        self.page.title("memory-title-timeline");
        let top = memory.peak.totals.allocated;
        self.page.push(Block::Code(vec![picture(&memory.timeline, from, until, top)]));
        self.page
            .note(&Message::new("memory-timeline").with("top", words::bytes(top)).time("time", until - from));
    }

    fn totals(&mut self, memory: &DeviceMemory) {
        self.page.title("memory-title-totals");
        let (peak, end) = (memory.peak.totals, memory.end);
        let has_history = memory.span.is_some();
        let row = |id: &'static str, peak: u64, end: u64| {
            let peak = if has_history { self.bytes(peak) } else { String::new() };
            vec![self.page.catalog.word(id), peak, self.bytes(end)]
        };
        let word = |id: &'static str| if has_history { self.page.catalog.word(id) } else { String::new() };
        let mut rows = vec![
            vec![String::new(), word("memory-at-peak"), self.page.catalog.word("memory-at-end")],
            row("memory-row-allocated", peak.allocated, end.allocated),
            row("memory-row-requested", peak.requested, end.requested),
            row("memory-row-active", peak.active, end.active),
            row("memory-row-reserved", peak.reserved, end.reserved),
            row("memory-row-cached", peak.cached(), end.cached()),
        ];
        if self.page.verbose || !memory.fragmentation.failures.is_empty() {
            let at_end = |id: &'static str, bytes: u64| {
                vec![self.page.catalog.word(id), String::new(), self.bytes(bytes)]
            };
            rows.push(at_end("memory-row-releasable", memory.fragmentation.releasable));
            rows.push(at_end("memory-row-split", memory.fragmentation.split));
            rows.push(at_end("memory-row-largest", memory.fragmentation.largest_free));
        }
        self.page.push(Block::Table(rows));
    }

    fn driver(&mut self, report: &SnapshotReport, memory: &DeviceMemory) {
        let churn = &memory.churn;
        let mut said = Vec::new();
        if churn.came > 0 {
            said.push(
                Message::new("memory-came")
                    .count("count", churn.came)
                    .with("bytes", words::bytes(churn.came_bytes)),
            );
        }
        if churn.went > 0 {
            said.push(
                Message::new("memory-went")
                    .count("count", churn.went)
                    .with("bytes", words::bytes(churn.went_bytes)),
            );
        }
        if churn.emptied > 0 {
            said.push(Message::new("memory-emptied").count("count", churn.emptied));
        }
        if memory.fragmentation.grew_while_free > 0 && churn.went > 0 {
            said.push(
                Message::new("memory-grew")
                    .count("count", memory.fragmentation.grew_while_free)
                    .with("bytes", words::bytes(memory.fragmentation.grew_bytes)),
            );
        }
        let gaps =
            report.trace.iter().flat_map(|trace| &trace.gaps).find(|(device, _)| *device == memory.device);
        said.extend(gaps.map(|(_, found)| {
            match found {
                Ok(found) => Message::new("memory-gaps")
                    .count("calls", found.came + found.went + found.failed)
                    .count("gaps", found.gaps)
                    .share("share", found.share()),
                Err(Apart::Times(apart)) => Message::new("memory-gaps-apart").time("time", *apart),
                Err(Apart::NoClock) => Message::new("memory-gaps-no-clock"),
                Err(Apart::NoHistory) => Message::new("memory-gaps-no-history"),
            }
        }));
        if said.is_empty() {
            return;
        }
        self.page.title("memory-title-driver");
        for message in &said {
            self.page.note(message);
        }
    }

    /// Devices beside the fullest.
    fn others(&mut self, report: &SnapshotReport, memory: &DeviceMemory) {
        let others: Vec<_> = report.devices.iter().filter(|other| other.device != memory.device).collect();
        if others.is_empty() {
            return;
        }
        self.page.title("memory-title-others");
        let rows = others
            .iter()
            .map(|other| {
                let device = Message::new("memory-head-device").name("device", other.device.to_string());
                vec![
                    self.page.say(&device),
                    self.bytes(other.peak.totals.allocated),
                    self.bytes(other.peak_reserved),
                ]
            })
            .collect();
        self.table(rows);
    }
}

/// Most allocated over time, one mark per stretch of equal length; a stretch in which nothing happens stays as it was.
fn picture(timeline: &[Stretch], from: i64, until: i64, top: u64) -> String {
    const MARKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let length = (until - from) / COLUMNS as i64 + 1;
    let mut highest: [Option<u64>; COLUMNS] = [None; COLUMNS];
    for stretch in timeline {
        let at = usize::try_from((stretch.start - from) / length).unwrap_or(0).min(COLUMNS - 1);
        highest[at] = Some(highest[at].unwrap_or(0).max(stretch.high));
    }
    let mut last = timeline.first().map_or(0, |stretch| stretch.low);
    highest
        .iter()
        .map(|high| {
            last = high.unwrap_or(last);
            let mark = (words::share(last, top) * MARKS.len() as f64).ceil() as usize;
            MARKS[mark.clamp(1, MARKS.len()) - 1]
        })
        .collect()
}
