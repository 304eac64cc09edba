//! `--query-gpu=… --format=csv` and `--query-compute-apps=… --format=csv`: any columns in any order. Units stand behind
//! the values, or with `nounits` in the header alone. What cannot be had is `[N/A]`, `[Not Supported]` and the like.
//! `noheader` leaves nothing by which columns could be told: such a print is refused, by name.

use whyidle_model::{CardProcess, NoteCode};

use super::{Smi, When, bytes};
use crate::plain::{Decimal, local_time, split};

/// Names that only these queries have: one of them makes a line a header. Shorter ones need a second.
const TELLING: [&str; 14] = [
    "utilization.",
    "memory.",
    "power.",
    "clocks.",
    "clocks_",
    "temperature.",
    "pcie.",
    "enforced.power",
    "ecc.",
    "mig.mode",
    "persistence_mode",
    "used_gpu_memory",
    "gpu_uuid",
    "driver_version",
];

/// No machine has more cards: names beyond belong to the last, numbers beyond count by their place.
const MOST_CARDS: u32 = 1_024;

pub(super) fn is_header(line: &str) -> bool {
    if line.len() > 8_192 || !line.contains([',', ';']) && !line.contains('.') {
        return false;
    }
    let names: Vec<(String, String)> = fields(line).iter().map(|field| name_and_unit(field)).collect();
    let is_name = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._".contains(&b))
            && name.as_bytes()[0].is_ascii_lowercase()
    };
    names.iter().all(|(name, _)| is_name(name))
        && names.iter().any(|(name, _)| TELLING.iter().any(|part| name.starts_with(part)))
}

/// Whether `row` may be a row below `header`: as many values.
pub(super) fn is_row(header: &str, row: &str) -> bool {
    fields(header).len() == fields(row).len()
}

/// Whether a text is such a print without its header: as many values on every line, none of them a word, and a card's
/// UUID or a time in this tool's form among them.
pub(crate) fn has_no_header(text: &str) -> bool {
    let rows: Vec<Vec<String>> =
        text.lines().filter(|line| !line.trim().is_empty()).take(64).map(fields).collect();
    let is_card = |field: &String| field.starts_with("GPU-");
    let is_time = |field: &String| field.contains('/') && local_time(field).is_some();
    let is_value = |field: &String| {
        is_card(field) || is_time(field) || field.starts_with('[') || Decimal::Point.number(field).is_some()
    };
    rows.first().is_some_and(|first| {
        first.len() > 1
            && first.iter().any(|field| is_card(field) || is_time(field))
            // The last line may be cut.
            && rows.iter().take(rows.len().max(2) - 1).all(|row| {
                row.len() == first.len() && row.iter().filter(|field| is_value(field)).count() * 2 > row.len()
            })
    })
}

/// Fields, which a comma and a space separate, so that a decimal comma separates nothing; spreadsheets save without the
/// space, or with semicolons.
fn fields(line: &str) -> Vec<String> {
    if line.contains(';') && !line.contains(", ") {
        return split(line, ';').iter().map(|field| field.trim().to_owned()).collect();
    }
    if line.contains(", ") {
        return line.split(", ").map(|field| field.trim().to_owned()).collect();
    }
    split(line, ',').iter().map(|field| field.trim().to_owned()).collect()
}

/// `memory.used [MiB]`.
fn name_and_unit(field: &str) -> (String, String) {
    let field = field.trim();
    match field.strip_suffix(']').and_then(|rest| rest.split_once(" [")) {
        Some((name, unit)) => (name.to_owned(), unit.to_owned()),
        None => (field.to_owned(), String::new()),
    }
}

pub(super) fn read(lines: &[&str], out: &mut Smi) {
    let Some((header, rows)) = lines.split_first() else { return };
    let header: Vec<(String, String)> = fields(header).iter().map(|field| name_and_unit(field)).collect();
    let rows: Vec<Vec<String>> =
        rows.iter().filter(|line| !line.trim().is_empty()).map(|line| fields(line)).collect();
    let decimal = Decimal::of(rows.iter().take(4_096).flatten().map(String::as_str));
    let mut query = Query { header, decimal, uuids: Vec::new(), last: None, place: 0 };
    let is_processes = query.column(&["pid"]).is_some();
    for row in rows {
        if row.len() != query.header.len() {
            out.log.notes.add(NoteCode::MalformedEvent, None);
        } else if is_processes {
            query.process(&row, out);
        } else {
            query.sample(&row, out);
        }
    }
}

struct Query {
    header: Vec<(String, String)>,
    decimal: Decimal,
    /// Cards by the names they were given, in order.
    uuids: Vec<String>,
    last: Option<String>,
    place: u32,
}

impl Query {
    fn column(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|wanted| self.header.iter().position(|(name, _)| name == wanted))
    }

    fn text<'a>(&self, row: &'a [String], names: &[&str]) -> Option<&'a str> {
        let text = row.get(self.column(names)?)?.as_str();
        (!text.is_empty() && !text.starts_with('[') && text != "N/A").then_some(text)
    }

    fn number(&self, row: &[String], names: &[&str]) -> Option<f64> {
        self.decimal.number(self.text(row, names)?)
    }

    /// Memory, by the unit behind the value or in the header.
    fn memory(&self, row: &[String], names: &[&str]) -> Option<f64> {
        let unit =
            self.text(row, names)?.split_whitespace().nth(1).unwrap_or(&self.header[self.column(names)?].1);
        Some(bytes(self.number(row, names)?, unit))
    }

    fn flag(&self, row: &[String], names: &[&str]) -> Option<bool> {
        match self.text(row, names)? {
            "Enabled" | "Active" | "Yes" => Some(true),
            "Disabled" | "Not Active" | "No" => Some(false),
            _ => None,
        }
    }

    /// The card's number: as it says, by its own name in the order of appearance, by its place among rows of one time.
    fn index(&mut self, row: &[String]) -> u32 {
        if let Some(index) =
            self.number(row, &["index"]).filter(|index| (0.0..f64::from(MOST_CARDS)).contains(index))
        {
            return index as u32;
        }
        let name = self.text(row, &["gpu_uuid", "uuid", "gpu_bus_id", "pci.bus_id", "gpu_serial", "serial"]);
        if let Some(name) = name {
            let at = self.uuids.iter().position(|known| known == name).unwrap_or_else(|| {
                if self.uuids.len() < MOST_CARDS as usize {
                    self.uuids.push(name.to_owned());
                }
                self.uuids.len() - 1
            });
            return u32::try_from(at).unwrap_or(u32::MAX);
        }
        let time = self.text(row, &["timestamp"]).map(str::to_owned);
        self.place = if time.is_some() && time == self.last { (self.place + 1).min(MOST_CARDS) } else { 0 };
        self.last = time;
        self.place
    }

    fn process(&mut self, row: &[String], out: &mut Smi) {
        let Some(pid) = self.number(row, &["pid"]).filter(|pid| (1.0..4e9).contains(pid)) else {
            out.log.notes.add(NoteCode::MalformedEvent, None);
            return;
        };
        let memory = self.memory(row, &["used_gpu_memory", "used_memory"]);
        let process = CardProcess {
            pid: pid as u32,
            name: self.text(row, &["process_name", "name"]).unwrap_or("").to_owned(),
            computes: true,
            memory: memory.map(|bytes| bytes as u64),
        };
        out.facts += 1;
        let uuid = self.text(row, &["gpu_uuid"]).map(str::to_owned);
        let bus = self.text(row, &["gpu_bus_id"]).map(str::to_owned);
        if uuid.is_none() && bus.is_none() {
            add(&mut out.machine.loose_processes, process);
            return;
        }
        let is = |card: &whyidle_model::CardFacts| {
            uuid.as_ref().is_some_and(|uuid| card.uuid == *uuid)
                || bus.as_ref().is_some_and(|bus| card.bus == *bus)
        };
        let at = out.machine.cards.iter().position(is).unwrap_or_else(|| {
            let index = u32::try_from(out.machine.cards.len()).unwrap_or(u32::MAX);
            let card = out.card(index);
            card.uuid = uuid.clone().unwrap_or_default();
            card.bus = bus.clone().unwrap_or_default();
            out.machine.cards.len() - 1
        });
        out.machine.cards[at].listed_processes = true;
        add(&mut out.machine.cards[at].processes, process);
    }

    fn sample(&mut self, row: &[String], out: &mut Smi) {
        let index = self.index(row);
        let t = self.text(row, &["timestamp"]).and_then(local_time).map_or(When::Next, When::At);
        let mut numbers: Vec<(&str, f64)> = Vec::new();
        let columns: [(&str, &[&str], f64); 7] = [
            ("util_gpu", &["utilization.gpu"], 1.0),
            ("util_mem", &["utilization.memory"], 1.0),
            ("power_mw", &["power.draw", "power.draw.average", "power.draw.instant"], 1e3),
            ("power_limit_mw", &["enforced.power.limit", "power.limit"], 1e3),
            ("sm_mhz", &["clocks.current.sm", "clocks.sm", "clocks.current.graphics", "clocks.gr"], 1.0),
            ("mem_mhz", &["clocks.current.memory", "clocks.mem"], 1.0),
            ("temp_c", &["temperature.gpu"], 1.0),
        ];
        for (column, names, scale) in columns {
            if let Some(value) = self.number(row, names) {
                numbers.push((column, value * scale));
            }
        }
        for (column, name) in [("mem_used", "memory.used"), ("mem_total", "memory.total")] {
            if let Some(value) = self.memory(row, &[name]) {
                numbers.push((column, value));
            }
        }
        if let Some(bits) = self.throttle(row) {
            numbers.push(("throttle_reasons", bits as f64));
        }
        out.sample(t, index, &numbers);
        self.facts(row, index, out);
    }

    /// Clock-event bits: the mask, or columns of single reasons.
    fn throttle(&self, row: &[String]) -> Option<u64> {
        if let Some(bits) =
            self.number(row, &["clocks_event_reasons.active", "clocks_throttle_reasons.active"])
        {
            return Some(bits as u64);
        }
        let mut bits = None;
        for (reason, bit) in super::report::REASONS_OF_QUERIES {
            let names =
                [format!("clocks_event_reasons.{reason}"), format!("clocks_throttle_reasons.{reason}")];
            if let Some(is_active) = self.flag(row, &[&names[0], &names[1]]) {
                bits = Some(bits.unwrap_or(0) | if is_active { bit } else { 0 });
            }
        }
        bits
    }

    fn facts(&self, row: &[String], index: u32, out: &mut Smi) {
        let text = |names: &[&str]| self.text(row, names).unwrap_or("").to_owned();
        let whole = |names: &[&str]| self.number(row, names).map(|value| value as u32);
        let memory = self.memory(row, &["memory.used"]).zip(self.memory(row, &["memory.total"]));
        let card = whyidle_model::CardFacts {
            index,
            bus: text(&["pci.bus_id", "gpu_bus_id"]),
            uuid: text(&["uuid", "gpu_uuid"]),
            name: text(&["name", "gpu_name"]),
            persistence: self.flag(row, &["persistence_mode"]),
            mig: self.flag(row, &["mig.mode.current"]),
            ecc: self.flag(row, &["ecc.mode.current"]),
            uncorrectable: self
                .number(row, &["ecc.errors.uncorrected.volatile.total"])
                .map(|count| count as u64),
            compute_mode: text(&["compute_mode"]),
            limit_w: self.number(row, &["enforced.power.limit", "power.limit"]),
            default_limit_w: self.number(row, &["power.default_limit"]),
            max_sm_mhz: self.number(row, &["clocks.max.sm"]),
            throttle: self.throttle(row),
            pcie: whole(&["pcie.link.gen.current", "pcie.link.gen.gpucurrent"])
                .zip(whole(&["pcie.link.width.current"])),
            pcie_max: whole(&["pcie.link.gen.max"]).zip(whole(&["pcie.link.width.max"])),
            memory: memory.map(|(used, total)| (used as u64, total as u64)),
            ..whyidle_model::CardFacts::default()
        };
        if out.machine.driver.is_empty() {
            out.machine.driver = text(&["driver_version"]);
        }
        out.card(index).merge(card);
    }
}

fn add(processes: &mut Vec<CardProcess>, process: CardProcess) {
    match processes.iter_mut().find(|known| known.pid == process.pid) {
        Some(known) => known.memory = known.memory.max(process.memory),
        None => processes.push(process),
    }
}
