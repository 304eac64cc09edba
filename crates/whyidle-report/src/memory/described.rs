//! The page: the answer, what to change, what makes up the peak, memory over time, and where the rest lies.

use whyidle_analysis::memory::{Apart, DeviceMemory, Stretch};
use whyidle_diagnosis::Message;
use whyidle_model::Severity;

use super::{MemoryReport, SnapshotReport, summary, words};
use crate::Catalog;
use crate::page::Block;
use crate::text::tail::quality_text;

/// Rows of a table before `-v` shows more.
const ROWS: usize = 8;
/// Rows even with `-v`; JSON holds all.
const MOST_ROWS: usize = 40;
/// Columns of the picture of memory over time.
const COLUMNS: usize = 60;

struct Page<'a> {
    catalog: &'a Catalog,
    verbose: bool,
    blocks: Vec<Block>,
}

pub(crate) fn blocks(report: &MemoryReport, catalog: &Catalog, verbose: bool) -> Vec<Block> {
    let mut page = Page { catalog, verbose, blocks: Vec::new() };
    for snapshot in &report.snapshots {
        page.snapshot(snapshot);
    }
    for (path, table) in &report.summaries {
        page.blocks.extend(summary::blocks(path, table, catalog));
    }
    page.blocks
}

impl Page<'_> {
    fn say(&self, message: &Message) -> String {
        self.catalog.message(message)
    }

    fn title(&mut self, id: &'static str) {
        self.blocks.push(Block::Title(self.catalog.word(id)));
    }

    fn note(&mut self, message: &Message) {
        let text = self.say(message);
        self.blocks.push(Block::Note(text));
    }

    /// The rows that fit, and how many are left out.
    fn table(&mut self, mut rows: Vec<Vec<String>>) {
        let most = if self.verbose { MOST_ROWS } else { ROWS };
        let left = rows.len().saturating_sub(most);
        rows.truncate(most);
        self.blocks.push(Block::Table(rows));
        if left > 0 {
            self.note(&Message::new("memory-more").count("count", left));
        }
    }

    fn bytes(&self, bytes: u64) -> String {
        self.catalog.arg(&words::bytes(bytes))
    }

    fn snapshot(&mut self, report: &SnapshotReport) {
        let Some(memory) = report.fullest() else {
            let head = Message::new("memory-head").name("path", &report.path);
            self.blocks.push(Block::Head(self.say(&head)));
            self.blocks.push(Block::Sentence(self.catalog.word("memory-empty")));
            self.quality(report);
            return;
        };
        self.head(report, memory);
        self.blocks.push(Block::Sentence(self.catalog.sentences(&words::answer(report, memory))));
        self.headroom(report, memory);
        self.advice(memory);
        self.parts(report, memory);
        self.growth(report, memory);
        self.timeline(memory);
        self.totals(memory);
        self.driver(report, memory);
        self.others(report, memory);
        self.quality(report);
    }

    fn head(&mut self, report: &SnapshotReport, memory: &DeviceMemory) {
        let mut parts = vec![
            self.say(&Message::new("memory-head").name("path", &report.path)),
            self.say(&Message::new("memory-head-device").name("device", memory.device.to_string())),
        ];
        if let Some((from, until)) = memory.span {
            let events =
                Message::new("memory-head-events").count("count", memory.events).time("time", until - from);
            parts.push(self.say(&events));
        }
        self.blocks.push(Block::Head(parts.join(" · ")));
    }

    fn headroom(&mut self, report: &SnapshotReport, memory: &DeviceMemory) {
        let Some(capacity) = report.capacity(memory.device) else { return };
        let free = capacity.saturating_sub(memory.peak_reserved);
        let text = Message::new("memory-headroom")
            .with("capacity", words::bytes(capacity))
            .with("free", words::bytes(free))
            .share("share", words::share(free, capacity));
        self.note(&text);
    }

    fn advice(&mut self, memory: &DeviceMemory) {
        if memory.advice.is_empty() {
            return;
        }
        self.title("memory-title-change");
        for &advice in &memory.advice {
            let said: Vec<Message> =
                [words::advised(advice)].into_iter().chain(words::conditions(advice)).collect();
            self.blocks.push(Block::Rule(true, self.catalog.sentences(&said)));
            let code = words::code(advice);
            if !code.is_empty() {
                self.blocks.push(Block::Code(code.iter().map(|line| format!("  {line}")).collect()));
            }
        }
    }

    fn parts(&mut self, report: &SnapshotReport, memory: &DeviceMemory) {
        if memory.parts.is_empty() || memory.span.is_none() {
            return;
        }
        self.title("memory-title-parts");
        let whole = memory.peak.totals.allocated;
        let row = |part: &whyidle_analysis::memory::Part| {
            vec![
                self.say(&words::part(&report.sites, part)),
                self.bytes(part.bytes),
                self.catalog.share(words::share(part.bytes, whole)),
            ]
        };
        let rows = memory.parts.iter().map(row).collect();
        self.table(rows);
    }

    fn growth(&mut self, report: &SnapshotReport, memory: &DeviceMemory) {
        let Some(growth) = &memory.growth else {
            if self.verbose
                && let Some((by, count)) = memory.periods
            {
                self.title("memory-title-growth");
                self.note(&Message::new("memory-no-growth").message("periods", words::found_by(by, count)));
            }
            return;
        };
        self.title("memory-title-growth");
        let rows = growth
            .sites
            .iter()
            .map(|grown| {
                let per = Message::new("memory-per-period").with("bytes", words::bytes(grown.per_period));
                vec![self.say(&words::site(&report.sites[grown.site as usize])), self.say(&per)]
            })
            .collect();
        self.table(rows);
        if let Some((by, count)) = memory.periods {
            self.note(&words::found_by(by, count));
        }
    }

    fn timeline(&mut self, memory: &DeviceMemory) {
        let (Some((from, until)), true) = (memory.span, memory.timeline.len() > 1) else { return };
        self.title("memory-title-timeline");
        let top = memory.peak.totals.allocated;
        self.blocks.push(Block::Code(vec![picture(&memory.timeline, from, until, top)]));
        self.note(&Message::new("memory-timeline").with("top", words::bytes(top)).time("time", until - from));
    }

    fn totals(&mut self, memory: &DeviceMemory) {
        self.title("memory-title-totals");
        let (peak, end) = (memory.peak.totals, memory.end);
        let has_history = memory.span.is_some();
        let row = |id: &'static str, peak: u64, end: u64| {
            let peak = if has_history { self.bytes(peak) } else { String::new() };
            vec![self.catalog.word(id), peak, self.bytes(end)]
        };
        let word = |id: &'static str| if has_history { self.catalog.word(id) } else { String::new() };
        let mut rows = vec![
            vec![String::new(), word("memory-at-peak"), self.catalog.word("memory-at-end")],
            row("memory-row-allocated", peak.allocated, end.allocated),
            row("memory-row-requested", peak.requested, end.requested),
            row("memory-row-active", peak.active, end.active),
            row("memory-row-reserved", peak.reserved, end.reserved),
            row("memory-row-cached", peak.cached(), end.cached()),
        ];
        if self.verbose || !memory.fragmentation.failures.is_empty() {
            let at_end =
                |id: &'static str, bytes: u64| vec![self.catalog.word(id), String::new(), self.bytes(bytes)];
            rows.push(at_end("memory-row-releasable", memory.fragmentation.releasable));
            rows.push(at_end("memory-row-split", memory.fragmentation.split));
            rows.push(at_end("memory-row-largest", memory.fragmentation.largest_free));
        }
        self.blocks.push(Block::Table(rows));
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
        self.title("memory-title-driver");
        for message in &said {
            self.note(message);
        }
    }

    /// Devices beside the fullest.
    fn others(&mut self, report: &SnapshotReport, memory: &DeviceMemory) {
        let others: Vec<_> = report.devices.iter().filter(|other| other.device != memory.device).collect();
        if others.is_empty() {
            return;
        }
        self.title("memory-title-others");
        let rows = others
            .iter()
            .map(|other| {
                let device = Message::new("memory-head-device").name("device", other.device.to_string());
                vec![
                    self.say(&device),
                    self.bytes(other.peak.totals.allocated),
                    self.bytes(other.peak_reserved),
                ]
            })
            .collect();
        self.table(rows);
    }

    fn quality(&mut self, report: &SnapshotReport) {
        let shown: Vec<Block> = report
            .quality
            .iter()
            .filter(|note| self.verbose || note.severity > Severity::Info)
            .map(|note| Block::Doubt(quality_text(self.catalog, note)))
            .collect();
        if !shown.is_empty() {
            self.title("memory-title-evidence");
            self.blocks.extend(shown);
        }
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
