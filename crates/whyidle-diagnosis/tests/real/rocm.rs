//! AMD's devices: what is measured is exact, a name that begins with `hip` is no collective and no copy, and no rule or
//! remedy that rests on NVIDIA's devices is claimed. The same made trace says more under another product's name.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

use serde_json::Value;
use whyidle_analysis::device::{activities, devices, occupancy};
use whyidle_analysis::facts::Facts;
use whyidle_analysis::kernelclass::Work;
use whyidle_diagnosis::{CAUSES, Finding, Verdict, Wanted, WhatIf};
use whyidle_model::{GpuKind, Trace, Vendor};
use whyidle_readers::{ReadOptions, read_trace, read_trace_from};

use crate::support::{finding, folder, judged, judged_with, steps_add_up};

const PUBLIC: &str = "tracelens_mi300_resnet_ddp.json.gz";

/// Length of a union of intervals, by hand.
fn union(mut spans: Vec<(i64, i64)>) -> i64 {
    spans.sort_unstable();
    let (mut total, mut reached) = (0, i64::MIN);
    for (start, end) in spans {
        total += (end - start.max(reached)).max(0);
        reached = reached.max(end);
    }
    total
}

/// Nanoseconds of a number of microseconds, from its digits.
fn ns(value: &Value) -> i64 {
    let text = value.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    assert!(fraction.len() <= 3, "{text}");
    whole.parse::<i64>().unwrap() * 1_000 + format!("{fraction:0<3}").parse::<i64>().unwrap()
}

#[test]
fn busy_and_idle_of_every_device_equal_a_union_over_the_files_own_events() {
    let Some(folder) = folder("WHYIDLE_PUBLIC", "../shared/public-traces") else { return };
    let path = folder.join(PUBLIC);
    let Ok(inflated) = Command::new("gzip").arg("-dc").arg(&path).output() else {
        return eprintln!("skipped: no gzip here");
    };
    if !inflated.status.success() {
        return eprintln!("skipped: {} is not there", path.display());
    }
    let file: Value = serde_json::from_slice(&inflated.stdout).unwrap();
    let mut busy: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
    let mut communication: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
    let mut named_collective = 0;
    for event in file["traceEvents"].as_array().unwrap() {
        if matches!(event["cat"].as_str(), Some("kernel" | "gpu_memcpy" | "gpu_memset")) {
            let start = ns(&event["ts"]);
            let span = (start, start + ns(&event["dur"]));
            let device = event["args"]["device"].as_i64().unwrap();
            busy.entry(device).or_default().push(span);
            if event["cat"] == "kernel" && event["name"].as_str().unwrap().contains("nccl") {
                communication.entry(device).or_default().push(span);
                named_collective += 1;
            }
        }
    }
    let trace = read_trace(&path, &ReadOptions::default()).unwrap();
    let facts = Facts::new(&trace);
    assert_eq!(facts.vendor, Vendor::Amd);
    assert_eq!(devices(&trace).len(), busy.len());
    for (device, spans) in busy {
        let number = i32::try_from(device).unwrap();
        let found = occupancy(&trace, &activities(&trace, number), &facts.works);
        let first = spans.iter().map(|span| span.0).min().unwrap();
        let last = spans.iter().map(|span| span.1).max().unwrap();
        let resident = union(spans);
        assert_eq!(
            (found.span_ns, found.resident_ns, found.idle_ns),
            (last - first, resident, last - first - resident)
        );
        assert_eq!(found.communication_ns, union(communication.remove(&device).unwrap_or_default()));
    }
    // Communication is what RCCL's kernels say, copies are what is recorded as one, whatever `hip…` stands around.
    let collectives: Vec<_> =
        (0..trace.gpu.len()).filter(|&row| facts.works[row] == Work::Collective).collect();
    assert_eq!(collectives.len(), named_collective);
    for row in 0..trace.gpu.len() {
        let copy = matches!(facts.works[row], Work::Copy | Work::HostCopy);
        assert_eq!(copy, trace.gpu.kind[row] != GpuKind::Kernel);
    }
}

/// Everything that a verdict says, as ids of messages and pasted code.
fn said(verdict: &Verdict) -> Vec<String> {
    let of_finding = |finding: &Finding| {
        let mut all = vec![finding.remedy.summary.id.to_owned(), finding.remedy.code.clone()];
        all.extend(
            finding
                .remedy
                .steps
                .iter()
                .chain(finding.evidence.iter().map(|e| &e.text))
                .map(|m| m.id.to_owned()),
        );
        all.extend(finding.gain.iter().map(|gain| gain.change.what.to_owned()));
        all
    };
    verdict.findings.iter().flat_map(of_finding).collect()
}

/// Ids, changes and code that hold on NVIDIA's devices alone.
const NVIDIA_ONLY: [&str; 9] = [
    "fix-host-launch",
    "fix-host-launch-graphs",
    "fix-launch-static",
    "cuda_graphs",
    "fix-precision-tf32",
    "ev-tf32-alone",
    "fix-memory-allocator-grow",
    "ev-copies",
    "fix-data-transfer-pageable",
];

fn nothing_of_nvidia(verdict: &Verdict) {
    for text in said(verdict) {
        assert!(!NVIDIA_ONLY.contains(&text.as_str()), "{text}");
        assert!(!text.contains("tf32") && !text.contains("CUDA_ALLOC"), "{text}");
    }
    for found in &verdict.findings {
        let cause = CAUSES.iter().find(|cause| cause.id == found.cause).unwrap();
        assert!(cause.holds_on.contains(&Vendor::Amd), "{}", found.cause);
    }
    assert!(verdict.quality.iter().any(|note| note.code == "not-judged"));
}

#[test]
fn a_verdict_on_amd_rests_on_nothing_of_nvidia() {
    let Some(folder) = folder("WHYIDLE_PUBLIC", "../shared/public-traces") else { return };
    let Ok(trace) = read_trace(&folder.join(PUBLIC), &ReadOptions::default()) else {
        return eprintln!("skipped: {PUBLIC} is not there");
    };
    judged(
        &trace,
        None,
        |_| true,
        |result| {
            let (case, verdict) = result.unwrap_or_else(|refusal| panic!("{}", refusal.code));
            steps_add_up(case);
            nothing_of_nvidia(verdict);
            assert!(!verdict.ruling.healthy);
            assert!(verdict.ruling.primary.starts_with("comm."), "{}", verdict.ruling.primary);
        },
    );
}

/// A launch in a made step: where its operator begins, the call and its length, the activity and its length, µs.
struct Launch {
    at: i64,
    call: (&'static str, i64),
    activity: (&'static str, &'static str, i64),
    dims: &'static str,
}

impl Launch {
    fn kernel(at: i64, name: &'static str, length: i64, dims: &'static str) -> Self {
        Self { at, call: ("LaunchKernel", 4), activity: ("kernel", name, length), dims }
    }
}

/// A made trace of six steps of `step` µs on the product called `name`: each holds the launches, and a last kernel.
/// Calls are CUDA's or HIP's, as the product has it.
fn made(name: &str, step: i64, launches: &[Launch]) -> Trace {
    let prefix = if name.contains("AMD") { "hip" } else { "cuda" };
    let (mut events, mut correlation) = (String::new(), 0);
    for number in 0..6 {
        let t = 1_000 + number * step;
        let _ = write!(
            events,
            r#"{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{number}","pid":9,"tid":9,"ts":{t}.125,"dur":{}}},"#,
            step - 1
        );
        let mut free = 0;
        for launch in launches {
            correlation += 1;
            let (begin, (call, length)) = (t + launch.at, launch.call);
            let start = (begin + 12).max(free);
            free = start + launch.activity.2;
            let _ = write!(
                events,
                r#"{{"ph":"X","cat":"cpu_op","name":"{}","pid":9,"tid":9,"ts":{begin}.25,"dur":{}.5,"args":{{"Input Dims":{},"Input type":["float","float"]}}}},
{{"ph":"X","cat":"cuda_runtime","name":"{prefix}{call}","pid":9,"tid":9,"ts":{begin}.75,"dur":{length},"args":{{"correlation":{correlation}}}}},
{{"ph":"X","cat":"{}","name":"{}","pid":0,"tid":7,"ts":{start}.5,"dur":{},"args":{{"device":0,"stream":7,"correlation":{correlation},"bytes":8388608}}}},"#,
                if launch.activity.0 == "kernel" { "aten::mm" } else { "aten::to" },
                length + 1,
                launch.dims,
                launch.activity.0,
                launch.activity.1,
                launch.activity.2,
            );
        }
    }
    let text = format!(
        r#"{{"schemaVersion":1,"record_shapes":1,"deviceProperties":[{{"id":0,"name":"{name}","totalGlobalMem":206141652992,"computeMajor":9,"computeMinor":4}}],"traceEvents":[{}]}}"#,
        events.trim_end_matches(',')
    );
    read_trace_from(text.as_bytes(), &ReadOptions::default()).unwrap()
}

fn verdict<T>(trace: &Trace, what_if: &[&str], check: impl FnOnce(&Verdict) -> T) -> T {
    let what_if = what_if.iter().map(|text| WhatIf::parse(text).unwrap()).collect();
    let wanted = Wanted { what_if, critical_path: false };
    let step = None;
    judged_with(
        trace,
        step,
        |_| true,
        &wanted,
        |result| {
            let (case, verdict) = result.unwrap_or_else(|refusal| panic!("{}", refusal.code));
            steps_add_up(case);
            check(verdict)
        },
    )
}

const SQUARE: &str = "[[4096,4096],[4096,4096]]";

#[test]
fn fp32_products_are_moved_to_bf16_and_tf32_is_nvidias() {
    // 137 GFLOP at 14 TFLOP/s, fp32 outside any matrix unit.
    let launches = [Launch::kernel(10, "Cijk_Ailk_Bljk_SB_MT128x128x16", 9_800, SQUARE)];
    for product in ["AMD Instinct MI210", "AMD Instinct MI300X"] {
        verdict(
            &made(product, 10_000, &launches),
            &["compute.precision=tf32", "compute.precision"],
            |verdict| {
                let found = finding(verdict, "compute.precision").expect("fp32 products");
                assert!(found.remedy.code.contains("bfloat16"), "{}", found.remedy.code);
                nothing_of_nvidia(verdict);
                assert!(verdict.what_if[0].gain.is_none(), "{product} has no TF32 that PyTorch switches on");
                assert!(verdict.what_if[1].gain.is_some());
            },
        );
    }
    let launches = [Launch::kernel(10, "cutlass_80_simt_sgemm_128x128", 9_800, SQUARE)];
    verdict(&made("NVIDIA H200", 10_000, &launches), &["compute.precision=tf32"], |verdict| {
        let said = said(verdict);
        assert!(
            said.iter().any(|id| id == "fix-precision-tf32") && said.iter().any(|id| id == "ev-tf32-alone")
        );
        assert!(verdict.what_if[0].gain.is_some());
        assert!(verdict.quality.iter().all(|note| note.code != "not-judged"));
    });
}

#[test]
fn the_grid_of_tensor_cores_is_nvidias() {
    const ODD: &str = "[[16384,1024],[1024,50257]]";
    const EVEN: &str = "[[16384,1024],[1024,4096]]";
    let trace = |product: &str| {
        let launches =
            [Launch::kernel(10, "gemm_even", 196, EVEN), Launch::kernel(40, "gemm_odd", 17_788, ODD)];
        let mut trace = made(product, 20_000, &launches);
        let half = trace.names.intern(r#"["c10::BFloat16","c10::BFloat16"]"#);
        trace.host.types.iter_mut().for_each(|types| *types = half);
        trace
    };
    verdict(&trace("AMD Instinct MI300X"), &["compute.alignment"], |verdict| {
        assert!(finding(verdict, "compute.alignment").is_none());
        let answer = &verdict.what_if[0];
        assert!(answer.gain.is_none());
        assert!(answer.notes.iter().any(|note| note.id == "what-if-other-device"), "{answer:?}");
        nothing_of_nvidia(verdict);
    });
    verdict(&trace("NVIDIA H200"), &["compute.alignment"], |verdict| {
        assert!(finding(verdict, "compute.alignment").is_some());
        assert!(verdict.what_if[0].gain.is_some());
    });
}

#[test]
fn graphs_of_launches_have_each_vendors_name_and_an_upper_limit_where_their_cost_is_unknown() {
    let launches: Vec<_> =
        (0..40).map(|n| Launch::kernel(20 + 50 * n, "Cijk_Ailk", 5, "[[8,8],[8,8]]")).collect();
    for (product, change, summary, method) in [
        ("AMD Instinct MI300X", "hip_graphs", "fix-host-launch-hip", "bound"),
        ("NVIDIA H200", "cuda_graphs", "fix-host-launch", "model"),
    ] {
        verdict(&made(product, 2_100, &launches), &[], |verdict| {
            let found = finding(verdict, "host.launch").expect("launches set the pace");
            assert_eq!(found.remedy.summary.id, summary);
            let gain = found.gain.as_ref().expect("a replay");
            assert_eq!((gain.change.what, gain.method.id()), (change, method));
            if product.contains("AMD") {
                nothing_of_nvidia(verdict);
            }
        });
    }
}

#[test]
fn copies_of_memory_without_a_name_are_not_called_pageable() {
    let copy = |name: &'static str| Launch {
        at: 20,
        call: ("MemcpyWithStream", 900),
        activity: ("gpu_memcpy", name, 800),
        dims: "[[8,8],[8,8]]",
    };
    let kernel = || Launch::kernel(950, "Cijk_Ailk", 600, "[[64,64],[64,64]]");
    for name in ["Memcpy HtoD (Host -> Device)", "CopyHostToDevice"] {
        verdict(&made("AMD Instinct MI300X", 1_700, &[copy(name), kernel()]), &[], |verdict| {
            let found = finding(verdict, "data.transfer").expect("an exposed copy");
            assert_eq!(found.remedy.summary.id, "fix-data-transfer-unnamed");
            assert!(found.evidence.iter().any(|evidence| evidence.text.id == "ev-copies-unnamed"));
            nothing_of_nvidia(verdict);
        });
    }
}
