//! Traces of Ascend, made by the documented form of `trace_view.json`: none is of a real device.

mod document;

use std::time::{Duration, Instant};

use document::{
    BASE, CANN, COLLECTOR, COMMUNICATION, Document, Form, HARDWARE, MAIN, PYTHON, QUEUE, STEP, steps, us,
};
use whyidle_model::{GpuId, GpuKind, HostId, HostKind, NoteCode, Recorder, Trace};

use super::mutations::{Dice, damage};
use super::{notes, read, trace};

/// Activities as name, kind, stream, start after the base and length.
fn activities(trace: &Trace) -> Vec<(&str, GpuKind, i64, i64, i64)> {
    let rows = (0..trace.gpu.len()).map(|row| trace.gpu.get(GpuId::from_index(row)));
    rows.map(|a| {
        let stream = trace.streams[a.stream.index()];
        (trace.names.get(a.name), a.kind, stream.number, a.start - BASE, a.dur)
    })
    .collect()
}

/// The host row that launched each activity, by its name, thread and start after the base.
fn launches(trace: &Trace) -> Vec<Option<(&str, i64, i64)>> {
    let calls = || {
        (0..trace.host.len())
            .map(HostId::from_index)
            .filter(|id| trace.host.kind[id.index()] == HostKind::Runtime)
    };
    let of = |correlation: u32| {
        let call = calls().find(|id| correlation != 0 && trace.host.link[id.index()] == correlation)?;
        let event = trace.host.get(call);
        Some((trace.names.get(event.name), trace.threads[event.thread.index()].tid, event.start - BASE))
    };
    trace.gpu.correlation.iter().map(|&correlation| of(correlation)).collect()
}

const KERNEL: GpuKind = GpuKind::Kernel;

#[test]
fn a_step_is_read_to_the_nanosecond() {
    let trace = trace(&steps(Form::default(), 1));
    assert_eq!(trace.meta.recorder, Recorder::TorchNpu);
    assert_eq!(
        activities(&trace),
        [
            ("MatMulV2", KERNEL, 2, 100_000, 300_000),
            ("hcom_allReduce__428_0_1", KERNEL, 1 << 20, 450_000, 200_000),
            ("Add", KERNEL, 2, 650_000, 50_000),
            ("MEMCPY_ASYNC (device to host)", GpuKind::Memcpy, 2, 720_000, 20_000),
        ]
    );
    assert!(trace.streams.iter().all(|stream| stream.device == 3));
    // Threads of both lanes are the system's: two, of one process.
    let threads: Vec<_> = trace.threads.iter().map(|thread| (thread.pid, thread.tid)).collect();
    assert_eq!(threads, [(PYTHON, MAIN), (PYTHON, QUEUE)]);
    assert_eq!(
        launches(&trace),
        [
            Some(("Node@launch", QUEUE, 50_000)),
            Some(("Node@launch", QUEUE, 80_000)),
            Some(("Node@launch", QUEUE, 240_000)),
            // No call of CANN's is recorded for it: its operator's flow is all there is.
            Some(("torch_to_npu", MAIN, 302_000)),
        ]
    );
    // Which operator owns a task, whatever thread launched it.
    let owner = |at: usize| {
        let of = |row: &usize| {
            trace.host.kind[*row] == HostKind::Op && trace.host.link[*row] == trace.gpu.external[at]
        };
        (0..trace.host.len()).find(of).map(|row| trace.names.get(trace.host.name[row]))
    };
    assert_eq!(
        [0, 2, 3].map(owner),
        [Some("aten::mm"), Some("aten::add"), Some("acl_memcpy_device_to_host")]
    );
    assert_eq!(trace.gpu.external[1], 0);
}

#[test]
fn what_is_not_used_is_counted_and_the_trace_says_that_it_is_untested() {
    let trace = trace(&steps(Form::default(), 1));
    // Recording and waiting, parts of the collective on both lanes, the overlap analysis, a counter.
    assert_eq!(trace.notes.count(NoteCode::Unused), 2 + 4 + 2 + 1);
    assert_eq!(trace.notes.count(NoteCode::UntestedDevice), 1);
    assert!(!trace.notes.has_loss(), "{:?}", notes(&trace));
}

#[test]
fn names_of_processes_may_stand_anywhere_and_the_lane_of_collectives_has_two() {
    let first = trace(&steps(Form { lanes_last: false, ..Form::default() }, 2));
    let hccl = trace(&steps(Form { communication: "HCCL", ..Form::default() }, 2));
    for other in [&first, &hccl] {
        let last = trace(&steps(Form::default(), 2));
        assert_eq!(activities(other), activities(&last));
        assert_eq!(launches(other), launches(&last));
        assert_eq!(other.notes.count(NoteCode::Unused), last.notes.count(NoteCode::Unused));
    }
    let unnamed = trace(&steps(Form { communication: "AI Core Freq", ..Form::default() }, 1));
    let names: Vec<_> = activities(&unnamed).iter().map(|activity| activity.0).collect();
    // Without a lane of collectives their tasks are all that is known of them.
    assert_eq!(names, ["MatMulV2", "SDMA", "Add", "MEMCPY_ASYNC (device to host)"]);
}

#[test]
fn missing_flows_are_made_up_for_by_connections_and_operators_or_not_at_all() {
    let form = Form { host_to_device: false, ..Form::default() };
    assert_eq!(launches(&trace(&steps(form, 2))), launches(&trace(&steps(Form::default(), 2))));
    // Neither flow nor connection: the operator on the main thread.
    let form = Form { host_to_device: false, connections: false, ..Form::default() };
    let by_operator = trace(&steps(form, 1));
    assert_eq!(launches(&by_operator)[0], Some(("torch_to_npu", MAIN, 10_000)));
    let form = Form { async_npu: false, ..form };
    let orphans = trace(&steps(form, 1));
    assert!(launches(&orphans).iter().all(Option::is_none));
    assert_eq!(orphans.notes.count(NoteCode::NoLaunch), orphans.gpu.len() as u64);
    // Without connections nothing tells that a task is part of a collective.
    assert!(activities(&orphans).iter().any(|activity| activity.0 == "SDMA"));
}

#[test]
fn ids_that_differ_beyond_64_bits_are_different_flows() {
    let mut document = Document::new(Form { connections: false, ..Form::default() });
    let ids = ["340282366920938463463374607431768211456", "340282366920938463463374607431768211457"];
    for (at, id) in (0..).zip(ids) {
        let (call, task) = (at * 50_000, 10_000_000 + at * 50_000);
        document.cann("Node@launch", MAIN, call, 5_000, 0);
        document.task("Mul", "AI_VECTOR_CORE", 2, task, 1_001, 0);
        document.flow("HostToDevice", id, (CANN, MAIN, call), (HARDWARE, 2, task));
    }
    let trace = trace(&document.text());
    assert_eq!(launches(&trace), [Some(("Node@launch", MAIN, 0)), Some(("Node@launch", MAIN, 50_000))]);
    assert_eq!(trace.gpu.dur, [1_001, 1_001]);
}

#[test]
fn collections_of_garbage_lie_on_the_thread_they_stop() {
    let mut document = Document::new(Form::default());
    document.step(0);
    document.raw(format!(
        r#"{{"ph":"X","name":"GC","pid":{COLLECTOR},"tid":{MAIN},"ts":{},"dur":12.5,"cat":"GC","args":{{}}}}"#,
        us(900_000)
    ));
    let trace = trace(&document.text());
    let row = (0..trace.host.len())
        .find(|&row| trace.names.get(trace.host.name[row]) == "Python GC")
        .expect("a collection");
    let event = trace.host.get(HostId::from_index(row));
    assert_eq!(
        (event.start - BASE, event.dur, trace.threads[event.thread.index()].tid),
        (900_000, 12_500, MAIN)
    );
}

/// The framework's events come first: an export that was interrupted may hold nothing else, and then it is a trace
/// without a device, as any list is.
#[test]
fn an_interrupted_export_keeps_what_it_holds() {
    let whole = steps(Form { lanes_last: false, ..Form::default() }, 2);
    let open = whole.trim_end_matches(']');
    let trace_open = trace(open);
    assert_eq!(trace_open.notes.count(NoteCode::Truncated), 1);
    assert_eq!(activities(&trace_open), activities(&trace(&whole)));
    let half = &whole[..whole.len() / 2];
    let trace_half = trace(half);
    assert_eq!(trace_half.meta.recorder, Recorder::TorchNpu);
    assert_eq!(trace_half.notes.count(NoteCode::Truncated), 1);
    assert!(trace_half.gpu.len() < activities(&trace(&whole)).len());
    // Without the lanes at its end nothing says whose it is.
    let lanes_last = steps(Form::default(), 1);
    let cut = lanes_last.rfind(r#", {"name":"process_name","pid":437675"#).expect("the mark of a process");
    let unknown = trace(&lanes_last[..cut]);
    assert_eq!((unknown.meta.recorder, unknown.gpu.len()), (Recorder::Pytorch, 0));
    assert!(unknown.notes.count(NoteCode::Unused) > 20);
}

#[test]
fn values_of_wrong_types_cost_their_event_and_nothing_else() {
    let bad = [
        r#"{"name":"Mul","pid":[1],"tid":{"a":2},"ts":"12.5","dur":"3.5","ph":"X","args":{"Task Type":5}}"#
            .to_owned(),
        format!(
            r#"{{"name":"Mul","pid":{HARDWARE},"tid":2,"ts":null,"dur":1,"ph":"X","args":{{"Task Type":"AI_CORE"}}}}"#
        ),
        format!(
            r#"{{"name":"Mul","pid":{HARDWARE},"tid":2,"ts":"soon","dur":1,"ph":"X","args":{{"Task Type":"AI_CORE"}}}}"#
        ),
        format!(
            r#"{{"name":"Mul","pid":{HARDWARE},"tid":2,"ts":{},"dur":-4,"ph":"X","args":{{"Task Type":"AI_CORE"}}}}"#,
            us(800_000)
        ),
        format!(
            r#"{{"name":7,"pid":"{HARDWARE}","tid":"2","ts":{},"dur":"2.5","ph":"X","args":{{"Task Type":"AI_CORE"}}}}"#,
            us(810_000)
        ),
        format!(r#"{{"name":"N","pid":{CANN},"tid":"main","ts":{},"dur":1,"ph":"X","args":[]}}"#, us(0)),
        format!(r#"{{"ph":"s","cat":"HostToDevice","pid":{CANN},"tid":1,"ts":1}}"#),
        format!(r#"{{"ph":"f","cat":"async_npu","id":{{}},"pid":{COMMUNICATION},"tid":1,"ts":"x"}}"#),
        r#"{"ph":"M","name":"process_name","pid":null,"args":{"name":["Ascend Hardware"]}}"#.to_owned(),
        r#"{"ph":"M","name":"process_name"}"#.to_owned(),
        "7".to_owned(),
        "null".to_owned(),
    ];
    let good = trace(&steps(Form::default(), 1));
    let mut document = Document::new(Form::default());
    document.step(0);
    bad.into_iter().for_each(|event| document.raw(event));
    let trace = trace(&document.text());
    assert_eq!(trace.notes.count(NoteCode::NoStart), 2);
    assert_eq!(trace.notes.count(NoteCode::NegativeDuration), 1);
    let found = activities(&trace);
    assert_eq!(found[..good.gpu.len()], activities(&good));
    // One of no length, and one whose numbers are text.
    let more: Vec<_> = found[good.gpu.len()..].iter().map(|a| (a.0, a.3, a.4)).collect();
    assert_eq!(more, [("Mul", 800_000, 0), ("", 810_000, 2_500)]);
}

#[test]
fn damaged_traces_of_ascend_are_read_or_refused() {
    let seeds = [steps(Form::default(), 1), steps(Form { lanes_last: false, ..Form::default() }, 2)];
    let mut dice = Dice(0x0a5c_e2d0_0000_0001);
    let (mut of_ascend, mut others) = (0, 0);
    for turn in 0..6_000 {
        let bytes = damage(&mut dice, seeds[turn % seeds.len()].as_bytes());
        let before = Instant::now();
        if let Ok(trace) = read(&bytes) {
            let rows = (trace.host.len() + trace.gpu.len()) as u64;
            assert!(rows <= trace.events && trace.events <= bytes.len() as u64);
            assert!(trace.gpu.dur.iter().chain(&trace.host.dur).all(|&dur| dur >= 0));
            let ascend = trace.meta.recorder == Recorder::TorchNpu;
            assert_eq!(trace.notes.count(NoteCode::UntestedDevice), u64::from(ascend));
            *(if ascend { &mut of_ascend } else { &mut others }) += 1;
        }
        assert!(before.elapsed() < Duration::from_secs(5), "turn {turn} hangs");
    }
    assert!(of_ascend > 3_000 && others > 100, "{of_ascend} of Ascend, {others} of others");
}

#[test]
fn a_step_is_as_long_as_it_was_made() {
    let trace = trace(&steps(Form::default(), 3));
    let starts: Vec<_> = activities(&trace).iter().filter(|a| a.0 == "MatMulV2").map(|a| a.3).collect();
    assert_eq!(starts, [100_000, STEP + 100_000, 2 * STEP + 100_000]);
}
