//! A trace that is exported and read back is the same, and obeys Chrome's trace event format.

use std::collections::BTreeMap;
use std::path::Path;

use jsonschema::Validator;
use serde_json::Value;
use whyidle_analysis::device::devices;
use whyidle_analysis::facts::Facts;
use whyidle_model::{CollectiveOwner, GpuId, HostId, Trace};
use whyidle_readers::{ReadOptions, read_trace_from};
use whyidle_tables::Traced;
use whyidle_tables::export::chrome::{Explained, Writer};

use crate::support::{public, read, root, shipped};

/// What a finding of each sort explains.
fn findings() -> Vec<Explained> {
    let cause = |cause: &str| Explained { cause: cause.to_owned(), cost_ns: 1, step_after_ns: Some(2) };
    vec![cause("host.launch"), cause("comm.exposed"), cause("compute.bound")]
}

fn exported(traces: &[&Trace]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), traces[0]).unwrap();
    for (number, trace) in traces.iter().enumerate() {
        let facts = Facts::new(trace);
        let number = i64::try_from(number).unwrap();
        writer.add(&Traced::new(number, "trace.json", trace, &facts), &findings()).unwrap();
    }
    writer.finish().unwrap()
}

fn back(json: &[u8]) -> Trace {
    read_trace_from(json, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Everything of a trace by value: symbols differ from one reading to another.
fn host(trace: &Trace, row: usize) -> impl PartialEq + std::fmt::Debug + '_ {
    let id = HostId::from_index(row);
    let one = trace.host.get(id);
    let text = |sym| trace.names.get(sym);
    let optional = |sym: Option<_>| sym.map(text);
    (
        (one.start, one.dur, one.kind, one.link, one.sequence, one.forward_thread),
        (text(one.name), text(one.dims), text(one.types)),
        (optional(trace.host.stack(id)), optional(trace.host.concrete_inputs(id))),
        (trace.threads[one.thread.index()].pid, trace.threads[one.thread.index()].tid),
        text(trace.threads[one.thread.index()].name),
    )
}

fn gpu(trace: &Trace, row: usize) -> impl PartialEq + std::fmt::Debug + '_ {
    let one = trace.gpu.get(GpuId::from_index(row));
    (
        (one.start, one.dur, one.kind, one.correlation, one.external),
        (one.bytes, one.blocks, one.threads, trace.streams[one.stream.index()]),
        trace.names.get(one.name),
    )
}

fn collectives(trace: &Trace) -> BTreeMap<(bool, u32), String> {
    let one = |of: &whyidle_model::Collective| {
        let key = match of.owner {
            CollectiveOwner::Gpu(id) => (true, id.0),
            CollectiveOwner::Host(id) => (false, id.0),
        };
        let text = |sym| trace.names.get(sym);
        let words = [of.name, of.dtype, of.group, of.group_description, of.ranks].map(text);
        let numbers = (of.in_elements, of.out_elements, of.group_size, of.sequence, of.rank);
        (key, format!("{words:?} {numbers:?}"))
    };
    trace.collectives.iter().map(one).collect()
}

fn syncs(trace: &Trace) -> Vec<String> {
    let one = |sync: &whyidle_model::SyncRecord| {
        let kind = trace.names.get(sync.kind);
        format!("{kind} {:?}", whyidle_model::SyncRecord { kind: whyidle_model::Sym::EMPTY, ..*sync })
    };
    trace.syncs.iter().map(one).collect()
}

fn assert_same(name: &Path, a: &Trace, b: &Trace) {
    assert_eq!((a.host.len(), a.gpu.len()), (b.host.len(), b.gpu.len()), "{}", name.display());
    for row in 0..a.host.len() {
        assert_eq!(
            format!("{:?}", host(a, row)),
            format!("{:?}", host(b, row)),
            "{} host {row}",
            name.display()
        );
    }
    for row in 0..a.gpu.len() {
        assert_eq!(
            format!("{:?}", gpu(a, row)),
            format!("{:?}", gpu(b, row)),
            "{} gpu {row}",
            name.display()
        );
    }
    assert_eq!(collectives(a), collectives(b), "{}", name.display());
    assert_eq!(syncs(a), syncs(b), "{}", name.display());
    assert_eq!(a.memory, b.memory, "{}", name.display());
    let meta = |trace: &Trace| {
        let mut meta = trace.meta.clone();
        // What is exported is a trace of the profiler's form, whoever recorded it; foreign events are not in it.
        meta.recorder = whyidle_model::Recorder::Pytorch;
        meta.foreign_device = None;
        meta
    };
    assert_eq!(meta(a), meta(b), "{}", name.display());
}

/// Steps and ledgers of every device.
fn ledgers(trace: &Trace) -> Vec<String> {
    let facts = Facts::new(trace);
    devices(trace)
        .into_iter()
        .map(|device| {
            let device = facts.device(trace, device, |_| true);
            format!("{:?} {:?} {:?}", device.device, device.steps.used, device.ledger.steps)
        })
        .collect()
}

fn assert_round_trip(path: &Path) {
    let trace = read(path);
    let again = back(&exported(&[&trace]));
    assert_same(path, &trace, &again);
    assert_eq!(ledgers(&trace), ledgers(&again), "{}", path.display());
}

#[test]
fn every_shipped_trace_comes_back_with_the_same_ledger() {
    let traces = shipped();
    assert!(traces.len() > 15, "{traces:?}");
    for path in traces {
        assert_round_trip(&path);
    }
}

#[test]
fn every_public_trace_comes_back_with_the_same_ledger() {
    for path in public() {
        assert_round_trip(&path);
    }
}

#[test]
fn an_export_of_nsight_systems_comes_back_as_a_trace_of_the_profiler() {
    assert_round_trip(&root().join("crates/whyidle-readers/testdata/nsys/two_processes.sqlite"));
}

#[test]
fn of_several_ranks_the_first_is_read_back() {
    let ranks = [0, 1].map(|rank| read(&root().join(format!("testdata/ddp_small/trace_rank{rank}.json.gz"))));
    let again = back(&exported(&[&ranks[0], &ranks[1]]));
    assert_same(Path::new("ddp_small"), &ranks[0], &again);
    assert_eq!(ledgers(&ranks[0]), ledgers(&again));
}

fn validator() -> Validator {
    let schema: Value = serde_json::from_str(include_str!("chrome.schema.json")).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

#[test]
fn what_is_written_obeys_the_format() {
    let validator = validator();
    for name in ["fed_small/trace.json.gz", "tiny_cudagraph/trace.json.gz", "pp_m2/trace_rank1.json.gz"] {
        let json = exported(&[&read(&root().join("testdata").join(name))]);
        let mut value: Value = serde_json::from_slice(&json).unwrap();
        // Most events are of a few forms: a stretch of either end holds all, and the whole takes long.
        let events = value["traceEvents"].as_array_mut().unwrap();
        let mut kept: Vec<Value> = events.iter().take(3_000).cloned().collect();
        kept.extend(events.iter().rev().take(3_000).cloned());
        kept.extend(events.iter().step_by(17).cloned());
        *events = kept;
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .take(5)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{name}:\n{}", errors.join("\n"));
    }
}

#[test]
fn the_schema_notices_what_perfetto_would_not_take() {
    let validator = validator();
    let event = |event: Value| serde_json::json!({ "traceEvents": [event] });
    let good = serde_json::json!({ "ph": "X", "name": "a", "pid": 1, "tid": 2, "ts": 0.5, "dur": 1 });
    assert!(validator.is_valid(&event(good.clone())));
    for (member, bad) in [
        ("ph", Value::from("Z")),
        ("ts", Value::from("soon")),
        ("dur", Value::from(-1)),
        ("pid", Value::Null),
        ("args", Value::from(3)),
    ] {
        let mut spoilt = good.clone();
        spoilt[member] = bad;
        assert!(!validator.is_valid(&event(spoilt)), "{member}");
    }
    let mut open = good;
    open.as_object_mut().unwrap().remove("dur");
    assert!(!validator.is_valid(&event(open)));
}

/// Start, end and category.
type Slice = (i64, i64, String);

/// Perfetto draws slices of one track only where they nest.
#[test]
fn slices_of_whyidles_own_tracks_never_overlap_and_the_ledger_covers_each_step() {
    let trace = read(&root().join("testdata/sync_item/trace.json.gz"));
    let value: Value = serde_json::from_slice(&exported(&[&trace])).unwrap();
    let ns = |event: &Value, member: &str| {
        let text = event[member].to_string();
        let (whole, decimals) = text.split_once('.').unwrap_or((&text, "0"));
        whole.parse::<i64>().unwrap() * 1000 + format!("{decimals:0<3}").parse::<i64>().unwrap()
    };
    let mut tracks: BTreeMap<(i64, i64), Vec<Slice>> = BTreeMap::new();
    for event in value["traceEvents"].as_array().unwrap() {
        let category = event["cat"].as_str().unwrap_or_default();
        if category.starts_with("whyidle_") {
            let (start, dur) = (ns(event, "ts"), ns(event, "dur"));
            let track = (event["pid"].as_i64().unwrap(), event["tid"].as_i64().unwrap());
            tracks.entry(track).or_default().push((start, start + dur, category.to_owned()));
        }
    }
    let length = |wanted: &str| -> i64 {
        tracks.values().flatten().filter(|slice| slice.2 == wanted).map(|slice| slice.1 - slice.0).sum()
    };
    assert_eq!(tracks.len(), 4, "steps, ledger, gaps, host.launch");
    assert!(length("whyidle_step") > 0);
    assert_eq!(length("whyidle_ledger"), length("whyidle_step"));
    for slices in tracks.values_mut() {
        slices.sort();
        assert!(slices.windows(2).all(|pair| pair[0].1 <= pair[1].0));
    }
}
