//! Damaged and absurd traces, all the way from bytes to a verdict: no panic, no hang, and a ledger that still adds up.

use std::fmt::Write as _;

use proptest::prelude::*;
use whyidle_diagnosis::{CAUSES, Wanted, WhatIf};
use whyidle_model::Trace;
use whyidle_readers::{ReadOptions, read_trace, read_trace_from};

use crate::support::{judged, judged_with, steps_add_up};

/// A small trace with everything in it: steps, backward on another thread, copies, a synchronisation, a
/// collective, a graph launch, Python frames.
fn seed() -> String {
    let (mut events, mut activities) = (Vec::new(), Vec::new());
    let mut correlation = 0;
    for step in 0..4 {
        let t = 1_000 * step;
        let mut host = |cat: &str, name: &str, tid: i32, start: i32, dur: i32, args: &str| {
            events.push(format!(
                r#"{{"ph":"X","cat":"{cat}","name":"{name}","pid":9,"tid":{tid},"ts":{}.125,"dur":{dur}.5,"args":{{{args}}}}}"#,
                t + start
            ));
        };
        host("user_annotation", &format!("ProfilerStep#{step}"), 9, 0, 998, r#""External id":1"#);
        host("python_function", "train.py(7): step", 9, 1, 990, r#""Python id":1"#);
        host(
            "user_annotation",
            "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
            9,
            2,
            100,
            "",
        );
        host("cpu_op", "aten::item", 9, 600, 60, r#""External id":5"#);
        host("cuda_runtime", "cudaStreamSynchronize", 9, 610, 40, r#""correlation":0"#);
        host("user_annotation", "Optimizer.step#SGD.step", 9, 700, 200, "");
        host("cpu_op", "autograd::engine::evaluate_function: MmBackward0", 10, 400, 150, "");
        for (at, call, kernel, cat, stream) in [
            (120, "cudaMemcpyAsync", "Memcpy HtoD (Pageable -> Device)", "gpu_memcpy", 7),
            (200, "cudaLaunchKernel", "gemm", "kernel", 7),
            (420, "cudaLaunchKernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "kernel", 20),
            (720, "cudaGraphLaunch", "multi_tensor_apply_kernel", "kernel", 7),
        ] {
            correlation += 1;
            let tid = if stream == 20 { 10 } else { 9 };
            let args = format!(
                r#""correlation":{correlation},"Input Dims":[[8,8],[8,8]],"Input type":["float","float"]"#
            );
            host("cpu_op", "aten::mm", tid, at - 5, 40, &args.replace("correlation", "External id"));
            host("cuda_runtime", call, tid, at, 12, &args);
            activities.push(format!(
                r#"{{"ph":"X","cat":"{cat}","name":"{kernel}","pid":0,"tid":{stream},"ts":{}.000,"dur":90.25,"args":{{"device":0,"stream":{stream},"correlation":{correlation},"bytes":4096,"grid":[4,1,1],"block":[128,1,1]}}}}"#,
                t + at + 20
            ));
        }
    }
    // The collective's stream waits for an event of the other one.
    for (name, start, id) in [("cudaEventRecord", 230, 901), ("cudaStreamWaitEvent", 410, 902)] {
        events.push(format!(
            r#"{{"ph":"X","cat":"cuda_runtime","name":"{name}","pid":9,"tid":9,"ts":{start}.000,"dur":2.5,"args":{{"correlation":{id}}}}}"#
        ));
    }
    activities.push(
        r#"{"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":20,"ts":411.000,"dur":1.0,"args":{"cuda_sync_kind":"Stream Wait Event","device":0,"stream":20,"correlation":902,"wait_on_stream":7,"wait_on_cuda_event_record_corr_id":901}}"#
            .to_owned(),
    );
    events.append(&mut activities);
    let mut text = String::from(
        r#"{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA H200","totalGlobalMem":150109880320}],"distributedInfo":{"backend":"nccl","rank":0,"world_size":2},"record_shapes":1,"traceEvents":["#,
    );
    let _ = write!(text, "{}]}}", events.join(",\n"));
    text
}

/// Values that readers and analyses may trip over.
const ABSURD: [&str; 10] = [
    "-1",
    "0",
    "9223372036854775807",
    "-9223372036854775808",
    "1e300",
    "NaN",
    "\"7\"",
    "null",
    "[]",
    "604800000000",
];

/// One damage: flip a byte, cut the end, or put an absurd value in place of a number.
fn damage(bytes: &mut Vec<u8>, kind: u8, at: usize, value: u8) {
    if bytes.is_empty() {
        return;
    }
    let at = at % bytes.len();
    match kind % 3 {
        0 => bytes[at] = value,
        1 => bytes.truncate(at.max(bytes.len() / 2)),
        _ => {
            let Some(colon) = bytes[at..].iter().position(|&b| b == b':').map(|found| at + found + 1) else {
                return;
            };
            let length = bytes[colon..]
                .iter()
                .take_while(|b| b.is_ascii_digit() || **b == b'.' || **b == b'-')
                .count();
            bytes.splice(colon..colon + length, ABSURD[value as usize % ABSURD.len()].bytes());
        }
    }
}

/// Every what-if that there is, and the critical path.
fn everything() -> Wanted {
    let levers = CAUSES.iter().filter(|cause| cause.lever.is_some()).map(|cause| cause.id.to_owned());
    let more =
        ["data.workers=64+host.launch=fused", "compute.precision=tf32", "host.python=step", "comm.exposed=8"];
    let texts = levers.chain(more.map(str::to_owned));
    Wanted { what_if: texts.map(|text| WhatIf::parse(&text).unwrap()).collect(), critical_path: true }
}

/// Judges whatever can be read of `bytes`; the ledger of any verdict must add up.
fn survive(bytes: &[u8]) {
    let Ok(trace) = read_trace_from(bytes, &ReadOptions::default()) else { return };
    survive_trace(&trace);
}

fn survive_trace(trace: &Trace) {
    for step in [None, Some(900_000)] {
        judged_with(
            trace,
            step,
            |_| true,
            &everything(),
            |result| {
                if let Ok((case, verdict)) = result {
                    assert_eq!(verdict.what_if.len(), everything().what_if.len());
                    if let Some(path) = &verdict.critical_path {
                        assert!(path.parts.iter().all(|part| part.ns >= 0), "{path:?}");
                    }
                    for gain in verdict.what_if.iter().filter_map(|answer| answer.gain.as_ref()) {
                        let after = gain.step_after;
                        assert!(after.low_ns <= after.ns && after.ns <= after.high_ns, "{gain:?}");
                    }
                    steps_add_up(case);
                    let sum: i64 = verdict.ledger.iter().map(|line| line.unprofiled.ns).sum();
                    assert_eq!(sum, verdict.step.unprofiled.ns);
                }
            },
        );
    }
}

#[test]
fn the_seed_itself_reaches_a_verdict() {
    let trace = read_trace_from(seed().as_bytes(), &ReadOptions::default()).unwrap();
    judged(
        &trace,
        None,
        |_| true,
        |result| {
            let (case, verdict) = result.unwrap_or_else(|refusal| panic!("{}", refusal.code));
            assert_eq!(case.device.steps.used.len(), 3);
            assert!(verdict.ledger.iter().any(|line| line.id == "data.workers"));
        },
    );
}

/// A step without any length once made a bound of a prediction empty.
#[test]
fn steps_that_take_no_time_are_survived() {
    let seed = seed();
    let mut parts = seed.split("\"dur\":");
    let mut timeless = parts.next().unwrap().to_owned();
    for part in parts {
        let _ = write!(
            timeless,
            "\"dur\":0{}",
            part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
        );
    }
    survive(timeless.as_bytes());
    survive(timeless.replace(".125", "").replace("\"ts\":1", "\"ts\":0").as_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn damaged_traces_end_in_a_verdict_or_a_refusal(
        damages in prop::collection::vec((0_u8..3, any::<usize>(), any::<u8>()), 1..4)
    ) {
        let mut bytes = seed().into_bytes();
        for (kind, at, value) in damages {
            damage(&mut bytes, kind, at, value);
        }
        survive(&bytes);
    }
}

/// A small export of Nsight Systems, of two processes (`whyidle-readers/tests/it/nsys.rs` makes it).
const DATABASE: &[u8] = include_bytes!("../../../whyidle-readers/testdata/nsys/two_processes.sqlite");

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, ..ProptestConfig::default() })]

    #[test]
    fn damaged_databases_end_in_a_verdict_or_a_refusal(
        damages in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)
    ) {
        let mut bytes = DATABASE.to_vec();
        for (at, value) in damages {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, &bytes).unwrap();
        if let Ok(trace) = read_trace(file.path(), &ReadOptions::default()) {
            survive_trace(&trace);
        }
    }
}
