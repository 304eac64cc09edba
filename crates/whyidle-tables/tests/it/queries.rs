//! The worked queries of `docs/sql.md`, each run on real traces, its answer held against the analysis.

use std::collections::{BTreeMap, BTreeSet};

use whyidle_analysis::communication::collectives;
use whyidle_analysis::device::devices;
use whyidle_analysis::facts::{DeviceFacts, Facts};
use whyidle_analysis::ledger::{Kind, Line};
use whyidle_model::{GpuId, GpuKind, HostId, Trace};

use crate::docs::page;
use crate::support::{Sheet, ask, ask_recording, public, read, recording, shipped};

/// The queries of the page, in order.
fn queries() -> Vec<String> {
    let page = page();
    page.split("```sql\n").skip(1).map(|rest| rest.split_once("```").unwrap().0.to_owned()).collect()
}

/// A trace with the facts of its devices.
struct Known {
    name: String,
    trace: Trace,
    facts: Facts,
    devices: Vec<DeviceFacts>,
}

impl Known {
    fn total(&self, wanted: impl Fn(Line) -> bool) -> i64 {
        let lines = Line::ALL.iter().filter(|&&line| wanted(line));
        lines.map(|&line| self.devices.iter().map(|device| device.ledger.total(line)).sum::<i64>()).sum()
    }

    fn length(&self) -> i64 {
        self.devices.iter().map(|device| device.ledger.length()).sum()
    }

    fn ask(&self, number: usize) -> Sheet {
        ask(&queries()[number - 1], &self.trace, &self.facts)
    }
}

fn known() -> impl Iterator<Item = Known> {
    shipped().into_iter().chain(public()).map(|path| {
        let trace = read(&path);
        let facts = Facts::new(&trace);
        let of = devices(&trace).into_iter().map(|device| facts.device(&trace, device, |_| true)).collect();
        Known { name: path.display().to_string(), trace, facts, devices: of }
    })
}

#[test]
fn there_are_ten() {
    assert_eq!(queries().len(), 10);
}

#[test]
fn on_every_trace_the_answers_fit_the_ledger() {
    let mut with_steps = 0;
    for known in known() {
        if known.length() == 0 {
            assert!(known.ask(1).rows.is_empty(), "{}", known.name);
            continue;
        }
        with_steps += 1;
        where_steps_go(&known);
        how_steps_differ(&known);
        longest_gaps(&known);
        kernels_by_time(&known);
        operators_by_gpu_time(&known);
        short_kernels(&known);
        synchronisations(&known);
        copies(&known);
        all_collectives(&known);
    }
    assert!(with_steps > 15, "{with_steps}");
}

fn where_steps_go(known: &Known) {
    let sheet = known.ask(1);
    let name = &known.name;
    assert_eq!(sheet.sum("traced_ns"), known.length(), "{name}");
    for (line, ns) in sheet.column("line").into_iter().zip(sheet.column("traced_ns")) {
        assert_eq!(ns.integer(), known.total(|of| of.id() == line.text()), "{name} {line:?}");
    }
    let shares: f64 = sheet.column("percent").into_iter().map(|value| value.real()).sum();
    assert!((shares - 100.0).abs() < 1.0, "{name}: {shares}");
}

fn how_steps_differ(known: &Known) {
    let sheet = known.ask(2);
    let name = &known.name;
    let steps: usize = known.devices.iter().map(|device| device.steps.used.len()).sum();
    assert_eq!(sheet.rows.len(), steps, "{name}");
    assert_eq!(sheet.sum("duration_ns"), known.length(), "{name}");
    assert_eq!(sheet.sum("working_ns"), known.total(|line| line.kind() == Kind::Working), "{name}");
    assert_eq!(sheet.sum("waiting_ns"), known.total(|line| line.kind() == Kind::Waiting), "{name}");
}

fn longest_gaps(known: &Known) {
    let sheet = known.ask(3);
    let gaps: Vec<i64> =
        known.devices.iter().flat_map(|device| &device.ledger.gaps).map(|part| part.length()).collect();
    let mut longest = gaps.clone();
    longest.sort_unstable_by_key(|&ns| std::cmp::Reverse(ns));
    longest.truncate(10);
    let found: Vec<i64> = sheet.column("duration_ns").into_iter().map(|value| value.integer()).collect();
    assert_eq!(found, longest, "{}", known.name);
}

fn kernels_by_time(known: &Known) {
    let sheet = known.ask(4);
    let busy: i64 = known
        .devices
        .iter()
        .flat_map(|device| &device.ledger.busy)
        .map(|busy| busy.piece.end - busy.piece.start)
        .sum();
    let own = sheet.sum("own_ns");
    assert!(own > 0 && own <= busy, "{}: {own} of {busy}", known.name);
    // The first one is the largest by a count of its own.
    let mut by_name: BTreeMap<&str, i64> = BTreeMap::new();
    for piece in known.devices.iter().flat_map(|device| &device.ledger.busy) {
        let name = known.trace.gpu.name[piece.piece.activity.index()];
        *by_name.entry(known.trace.names.get(name)).or_default() += piece.piece.end - piece.piece.start;
    }
    let most = by_name.values().max().copied();
    assert_eq!(sheet.column("own_ns").first().map(|value| value.integer()), most, "{}", known.name);
}

fn operators_by_gpu_time(known: &Known) {
    let sheet = known.ask(5);
    let mut by_name: BTreeMap<&str, i64> = BTreeMap::new();
    for piece in known.devices.iter().flat_map(|device| &device.ledger.busy) {
        let call = known.facts.tree.launch_of(piece.piece.activity);
        let op = call.and_then(|call| known.facts.tree.operator(&known.trace, call));
        if let Some(op) = op {
            let name = known.trace.names.get(known.trace.host.name[op.index()]);
            *by_name.entry(name).or_default() += piece.piece.end - piece.piece.start;
        }
    }
    for (name, ns) in sheet.column("name").into_iter().zip(sheet.column("gpu_ns")) {
        assert_eq!(by_name.get(name.text()), Some(&ns.integer()), "{}", known.name);
    }
    assert_eq!(sheet.rows.is_empty(), by_name.values().all(|&ns| ns == 0), "{}", known.name);
}

fn short_kernels(known: &Known) {
    let sheet = known.ask(6);
    let charged: BTreeSet<u32> = known
        .devices
        .iter()
        .flat_map(|device| &device.ledger.busy)
        .map(|busy| busy.piece.activity.0)
        .collect();
    let (mut kernels, mut shorter) = (0, 0);
    for id in charged.into_iter().map(GpuId) {
        let call = known.facts.tree.launch_of(id);
        if let Some(call) = call.filter(|_| known.trace.gpu.kind[id.index()] == GpuKind::Kernel) {
            kernels += 1;
            shorter += i64::from(known.trace.gpu.dur[id.index()] < known.trace.host.dur[call.index()]);
        }
    }
    assert_eq!(
        (sheet.sum("kernels"), sheet.sum("shorter_than_launch")),
        (kernels, shorter),
        "{}",
        known.name
    );
}

fn synchronisations(known: &Known) {
    let sheet = known.ask(7);
    let trace = &known.trace;
    let steps = &known.facts.host_steps;
    let calls = (0..trace.host.len()).map(HostId::from_index).filter(|id| {
        let kind = trace.host.kind[id.index()];
        let name = trace.names.get(trace.host.name[id.index()]);
        let start = trace.host.start[id.index()];
        let is_call = matches!(kind, whyidle_model::HostKind::Runtime | whyidle_model::HostKind::Driver);
        is_call
            && name.contains("Synchronize")
            && steps.iter().any(|step| step.host.start <= start && start < step.host.end)
    });
    let (count, ns) = calls.fold((0, 0), |(n, ns), id| (n + 1, ns + trace.host.dur[id.index()]));
    assert!(sheet.sum("calls") <= count && sheet.sum("ns") <= ns, "{}", known.name);
    if sheet.rows.len() < 20 {
        assert_eq!((sheet.sum("calls"), sheet.sum("ns")), (count, ns), "{}", known.name);
    }
}

fn copies(known: &Known) {
    let sheet = known.ask(8);
    let gpu = &known.trace.gpu;
    let copies = (0..gpu.len()).filter(|&row| gpu.kind[row] == GpuKind::Memcpy);
    let (count, bytes) =
        copies.fold((0, 0), |(n, bytes), row| (n + 1, bytes + i64::try_from(gpu.bytes[row]).unwrap()));
    assert_eq!(sheet.sum("copies"), count, "{}", known.name);
    let found: i64 = sheet
        .column("bytes")
        .into_iter()
        .map(|value| if *value == crate::support::Value::Null { 0 } else { value.integer() })
        .sum();
    assert_eq!(found, bytes, "{}", known.name);
    for rate in sheet.column("gb_per_s").into_iter().filter(|rate| **rate != crate::support::Value::Null) {
        assert!((0.0..10_000.0).contains(&rate.real()), "{}: {rate:?} GB/s", known.name);
    }
}

fn all_collectives(known: &Known) {
    let sheet = known.ask(9);
    let uses: Vec<_> =
        known.devices.iter().flat_map(|device| collectives(&known.trace, &known.facts, device)).collect();
    assert_eq!(sheet.sum("count"), i64::try_from(uses.len()).unwrap(), "{}", known.name);
    let exposed: i64 = uses.iter().map(|used| used.exposed_ns).sum();
    assert_eq!(sheet.sum("exposed_ns"), exposed, "{}", known.name);
    // Whatever is exposed in the steps is on the ledger; a collective at their edge may end outside.
    assert!(exposed <= known.total(|line| line == Line::Communication), "{}", known.name);
}

#[test]
fn what_a_recording_shows_while_the_gpu_is_idle() {
    let samples = recording("attached_workers");
    let sheet = ask_recording(&queries()[9], &samples);
    let total: i64 = samples
        .stacks
        .seen
        .iter()
        .filter(|seen| samples.stacks.names.get(samples.stacks.stacks[seen.stack].thread) == "MainThread")
        .map(|seen| i64::from(seen.count))
        .sum();
    assert!(!sheet.rows.is_empty());
    assert!(sheet.sum("samples") <= total);
    let shares: f64 = sheet.column("percent").into_iter().map(|value| value.real()).sum();
    assert!(shares <= 100.5, "{shares}");
    // Its main thread waits for loader workers, whatever else.
    let first = sheet.column("leaf")[0].text().replace('\'', "''");
    let frames =
        ask_recording(&format!("select frames from stacks where leaf = '{first}' limit 1"), &samples);
    assert!(frames.rows[0][0].text().contains("_MultiProcessingDataLoaderIter"), "{frames:?}");
}
