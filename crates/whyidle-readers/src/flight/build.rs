//! The columns, entry by entry.
//!
//! What came when, by the recorder's own version (`FlightRecorder.hpp`; minor versions add keys): the first dumps are a
//! bare list; 1.x has `seq_id`, and groups by number alone (`pg_id`); 2.0 has `collective_seq_id`, `p2p_seq_id`, `op_id`;
//! then came `process_group`, types, `pg_config`, `pg_status`, `timeout_ms`, the library's version, threads. Whatever is
//! absent is a missing fact.

use rustc_hash::FxHashMap;
use whyidle_model::{FlightDump, FlightGroup, FlightState, Frame, NoteCode, Sym};

use super::data::Data;

/// What an entry takes of the budget, without its tensors and frames.
const ENTRY: usize = 32;
/// Members of an entry: twenty-odd are known.
const MOST_MEMBERS: usize = 128;
/// Frames of a stack beyond this are dropped.
const MOST_FRAMES: usize = 256;
/// Tensors of an entry, and dimensions of a tensor, beyond these are dropped.
const MOST_TENSORS: usize = 1024;
const MOST_DIMENSIONS: usize = 32;
/// Ranks of a group beyond this are dropped.
const MOST_RANKS: usize = 1 << 17;

/// A dump in the making.
pub(super) struct Builder {
    dump: FlightDump,
    groups: FxHashMap<String, u32>,
    /// Groups by the number that `pg_status` goes by.
    numbers: FxHashMap<i64, u32>,
    stacks: FxHashMap<Vec<Frame>, u32>,
    status: Vec<(i64, Option<i64>, Option<i64>)>,
    /// A key was there that only dumps have.
    known: bool,
    /// Values that may still be looked at. A pickle can name one long list a million times; a true dump holds no more
    /// values than bytes.
    budget: usize,
}

impl Builder {
    /// A dump from a file of so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        let dump = FlightDump { stacks: vec![Vec::new()], ..FlightDump::default() };
        Self {
            dump,
            groups: FxHashMap::default(),
            numbers: FxHashMap::default(),
            stacks: [(Vec::new(), 0)].into_iter().collect(),
            status: Vec::new(),
            known: false,
            budget: bytes.saturating_add(1 << 12),
        }
    }

    /// Takes from the budget; `false`: it is spent.
    fn spend(&mut self, values: usize) -> bool {
        let left = self.budget.checked_sub(values);
        self.budget = left.unwrap_or(0);
        left.is_some()
    }

    /// The whole: a dictionary, or a bare list of entries. `false`: it is no dump.
    pub(super) fn top<D: Data>(&mut self, top: D) -> bool {
        if top.is_list() {
            top.items().for_each(|entry| self.entry(entry));
            return !self.is_empty();
        }
        for (key, value) in top.members() {
            if key == "entries" {
                value.items().for_each(|entry| self.entry(entry));
            } else {
                self.member(&key, value);
            }
        }
        self.known || !self.is_empty()
    }

    /// A value of a dump that breaks off: an entry, a group, or the state of one, told by their keys.
    pub(super) fn loose<D: Data>(&mut self, value: D) {
        if value.get("profiling_name").is_some() {
            self.entry(value);
        } else if value.get("ranks").is_some() && value.get("desc").is_some() {
            self.group_config("", value);
        }
    }

    /// No entry was read.
    pub(super) fn is_empty(&self) -> bool {
        self.dump.entries.is_empty()
    }

    /// Something was there that only dumps have.
    pub(super) fn is_known(&self) -> bool {
        self.known
    }

    pub(super) fn note(&mut self, code: NoteCode) {
        self.dump.notes.add(code, None);
    }

    /// A member of the whole that is no list of entries.
    pub(super) fn member<D: Data>(&mut self, key: &str, value: D) {
        match key {
            "version" => self.dump.version = value.text().as_deref().and_then(version),
            "comm_lib_version" | "nccl_version" => self.dump.library = value.text().unwrap_or_default(),
            "rank" => self.dump.rank = value.int().and_then(|rank| u32::try_from(rank).ok()),
            "pg_config" => value.members().for_each(|(name, config)| self.group_config(&name, config)),
            "pg_status" => {
                for (number, state) in value.members() {
                    let int = |key: &str| state.get(key).and_then(Data::int).filter(|&seq| seq >= 0);
                    if let Ok(number) = number.parse() {
                        let last = (int("last_enqueued_collective"), int("last_completed_collective"));
                        self.status.push((number, last.0, last.1));
                    }
                }
            }
            _ => return,
        }
        self.known |= key.starts_with("pg_");
    }

    fn group_config<D: Data>(&mut self, key: &str, config: D) {
        let text = |key: &str| config.get(key).and_then(Data::text).unwrap_or_default();
        let name = Some(text("name")).filter(|name| !name.is_empty()).unwrap_or_else(|| key.to_owned());
        let group = self.group(&name, &text("desc"));
        let ranks = match config.get("ranks") {
            Some(list) if list.is_list() => list.items().take(MOST_RANKS).filter_map(Data::int).collect(),
            Some(text) => ranks(&text.text().unwrap_or_default()),
            None => Vec::new(),
        };
        let mut ranks: Vec<u32> = ranks.into_iter().filter_map(|rank| u32::try_from(rank).ok()).collect();
        ranks.sort_unstable();
        ranks.dedup();
        self.dump.groups[group as usize].ranks = ranks;
    }

    fn group(&mut self, name: &str, description: &str) -> u32 {
        let description = if description == "undefined" { "" } else { description };
        let groups = &mut self.dump.groups;
        let at = *self.groups.entry(name.to_owned()).or_insert_with(|| {
            groups.push(FlightGroup { name: name.to_owned(), ..FlightGroup::default() });
            (groups.len() - 1) as u32
        });
        let known = &mut self.dump.groups[at as usize].description;
        if known.is_empty() {
            description.clone_into(known);
        }
        at
    }

    /// One operation.
    pub(super) fn entry<D: Data>(&mut self, entry: D) {
        if !self.spend(ENTRY) {
            return self.note(NoteCode::TableFull);
        }
        if entry.members().take(MOST_MEMBERS + 1).count() > MOST_MEMBERS {
            return self.note(NoteCode::MalformedEvent);
        }
        let int = |key: &str| entry.get(key).and_then(Data::int);
        let name = entry.get("profiling_name").and_then(Data::text);
        let seq = int("collective_seq_id").or_else(|| int("seq_id"));
        let (Some(name), Some(seq), true) = (name, seq, entry.is_dict()) else {
            return self.note(NoteCode::MalformedEvent);
        };
        let created =
            int("time_created_ns").or_else(|| int("time_created_us").map(|us| us.saturating_mul(1000)));
        let Some(created) = created.filter(|&created| created > 0) else {
            return self.note(NoteCode::NoStart);
        };
        let number = int("pg_id");
        let mut named = entry.get("process_group").into_iter().flat_map(Data::items).filter_map(Data::text);
        let group = match (named.next(), number) {
            (Some(name), _) => self.group(&name, &named.next().unwrap_or_default()),
            (None, Some(number)) => self.group(&number.to_string(), ""),
            (None, None) => self.group("0", ""),
        };
        if let Some(number) = number {
            self.numbers.insert(number, group);
        }
        let operation = name.split_once(':').map_or(name.as_str(), |(_, operation)| operation);
        let is_p2p = entry.get("is_p2p").and_then(Data::truth);
        let is_p2p = is_p2p.unwrap_or(operation.starts_with("send ") || operation.starts_with("recv "));
        let (inputs, outputs) = (sizes(entry.get("input_sizes")), sizes(entry.get("output_sizes")));
        let figures = |sizes: &[Vec<i64>]| sizes.iter().map(|tensor| tensor.len() + 1).sum::<usize>();
        if !self.spend(figures(&inputs) + figures(&outputs)) {
            return self.note(NoteCode::TableFull);
        }
        let (input_types, output_types) =
            (types(entry.get("input_dtypes")), types(entry.get("output_dtypes")));
        let bytes = match (bytes(&inputs, &input_types), bytes(&outputs, &output_types)) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        let stack = self.stack(entry.get("frames"));
        // JSON writes 0 where there is no time.
        let time = |key: &str| int(key).filter(|&time| time > 0);
        let state = entry.get("state").and_then(Data::text);
        let duration = entry.get("duration_ms").and_then(Data::float);
        let names = &mut self.dump.names;
        let columns = &mut self.dump.entries;
        columns.record.push(int("record_id").unwrap_or(columns.record.len() as i64));
        columns.group.push(group);
        columns.collective_seq.push(seq);
        columns.p2p_seq.push(int("p2p_seq_id").unwrap_or(if is_p2p { seq } else { 0 }));
        columns.op.push(int("op_id").unwrap_or(seq));
        columns.name.push(names.intern(&name));
        columns.inputs.push(names.intern(&listed(&inputs)));
        columns.outputs.push(names.intern(&listed(&outputs)));
        columns.input_types.push(names.intern(&input_types.join(", ")));
        columns.output_types.push(names.intern(&output_types.join(", ")));
        columns.bytes.push(bytes);
        columns.state.push(match state.as_deref() {
            Some("scheduled") => FlightState::Scheduled,
            Some("started") => FlightState::Started,
            Some("completed") => FlightState::Completed,
            _ => FlightState::Unknown,
        });
        columns.retired.push(entry.get("retired").and_then(Data::truth).unwrap_or(false));
        columns.is_p2p.push(is_p2p);
        columns.created.push(created);
        columns.started.push(time("time_discovered_started_ns"));
        columns.completed.push(time("time_discovered_completed_ns"));
        let in_range = |ms: &f64| ms.is_finite() && (0.0..1e12).contains(ms);
        columns.duration.push(duration.filter(in_range).map(|ms| (ms * 1e6).round() as i64));
        columns.timeout.push(int("timeout_ms").filter(|&ms| ms > 0).map(|ms| ms.saturating_mul(1_000_000)));
        columns.stack.push(stack);
        let thread = entry.get("thread_name").and_then(Data::text).unwrap_or_default();
        columns.thread.push(names.intern(&thread));
    }

    fn stack<D: Data>(&mut self, frames: Option<D>) -> u32 {
        let Some(frames) = frames else { return 0 };
        let names = &mut self.dump.names;
        let frame = |frame: D| {
            let mut name = |key: &str| names.intern(&frame.get(key).and_then(Data::text).unwrap_or_default());
            let (function, file) = (name("name"), name("filename"));
            let line = frame.get("line").and_then(Data::int).and_then(|line| u32::try_from(line).ok());
            (function != Sym::EMPTY).then_some(Frame { function, file, line: line.unwrap_or(0) })
        };
        let frames: Vec<Frame> = frames.items().take(MOST_FRAMES).filter_map(frame).collect();
        // A frame is a dictionary of three.
        self.budget = self.budget.saturating_sub(7 * frames.len());
        if let Some(&known) = self.stacks.get(&frames) {
            return known;
        }
        let number = self.dump.stacks.len() as u32;
        self.stacks.insert(frames.clone(), number);
        self.dump.stacks.push(frames);
        number
    }

    /// What was launched as one is recorded part by part, and then as `coalesced`: only that entry is followed, so its
    /// state is that of the parts; and where the parts are messages, it is no collective either.
    fn join_parts(&mut self) {
        let entries = &mut self.dump.entries;
        for whole in 0..entries.len() {
            let name = self.dump.names.get(entries.name[whole]);
            if !name.ends_with("coalesced") {
                continue;
            }
            let key = |at: usize| (entries.group[at], entries.collective_seq[at], entries.p2p_seq[at]);
            let is_part = |&at: &usize| {
                key(at) == key(whole) && !self.dump.names.get(entries.name[at]).ends_with("coalesced")
            };
            let parts: Vec<usize> = (0..whole).rev().take_while(is_part).collect();
            for at in parts {
                if entries.state[at] != FlightState::Completed {
                    (entries.state[at], entries.retired[at]) = (entries.state[whole], entries.retired[whole]);
                }
                entries.is_p2p[whole] |= entries.is_p2p[at];
            }
        }
    }

    pub(super) fn finish(mut self) -> FlightDump {
        self.join_parts();
        // Gloo's configuration names no group: where there is only one, it is meant.
        let used: Vec<u32> = {
            let mut used = self.dump.entries.group.clone();
            used.sort_unstable();
            used.dedup();
            used
        };
        if let ([only], Some(&unnamed)) = (&used[..], self.groups.get(""))
            && *only != unnamed
            && self.dump.groups[*only as usize].ranks.is_empty()
        {
            self.dump.groups[*only as usize].ranks =
                std::mem::take(&mut self.dump.groups[unnamed as usize].ranks);
        }
        for (number, enqueued, completed) in std::mem::take(&mut self.status) {
            if let Some(&group) = self.numbers.get(&number) {
                let group = &mut self.dump.groups[group as usize];
                (group.last_enqueued, group.last_completed) = (enqueued, completed);
            }
        }
        self.dump
    }
}

/// `2.10`.
fn version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once('.').unwrap_or((text.trim(), "0"));
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}

/// `[0, 1]`.
fn ranks(text: &str) -> Vec<i64> {
    text.trim_matches(['[', ']', '(', ')'])
        .split(',')
        .take(MOST_RANKS)
        .filter_map(|rank| rank.trim().parse().ok())
        .collect()
}

fn sizes<D: Data>(list: Option<D>) -> Vec<Vec<i64>> {
    let tensor = |tensor: D| tensor.items().take(MOST_DIMENSIONS).filter_map(Data::int).collect();
    list.into_iter().flat_map(Data::items).take(MOST_TENSORS).map(tensor).collect()
}

fn types<D: Data>(list: Option<D>) -> Vec<String> {
    list.into_iter().flat_map(Data::items).take(MOST_TENSORS).filter_map(Data::text).collect()
}

/// `[[1024], [2, 3]]`.
fn listed(sizes: &[Vec<i64>]) -> String {
    if sizes.is_empty() { String::new() } else { format!("{sizes:?}") }
}

/// Bytes of tensors; types that are said once hold for all.
fn bytes(sizes: &[Vec<i64>], types: &[String]) -> Option<i64> {
    let first = types.first()?;
    let mut total = 0_i64;
    for (at, sizes) in sizes.iter().enumerate() {
        let elements = sizes.iter().try_fold(1_i64, |product, &size| product.checked_mul(size))?;
        let width = width(types.get(at).unwrap_or(first))?;
        total = total.checked_add(elements.checked_mul(width)?)?;
    }
    Some(total).filter(|&total| total >= 0)
}

/// Bytes of an element, by the names of `c10::ScalarType`.
fn width(name: &str) -> Option<i64> {
    Some(match name {
        "Byte" | "Char" | "Bool" => 1,
        name if name.starts_with("Float8") => 1,
        "Short" | "UInt16" | "Half" | "BFloat16" => 2,
        "Int" | "UInt32" | "Float" | "ComplexHalf" => 4,
        "Long" | "UInt64" | "Double" | "ComplexFloat" => 8,
        "ComplexDouble" => 16,
        _ => return None,
    })
}
