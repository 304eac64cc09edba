//! Traces of other people: exact measures, and the verdict an engineer would give. None is shipped.

use whyidle_analysis::device::{activities, devices, occupancy};
use whyidle_analysis::facts::Facts;
use whyidle_model::Trace;
use whyidle_readers::{ReadOptions, read_trace};

use crate::support::{finding, folder, judged, steps_add_up};

fn public(name: &str) -> Option<Trace> {
    let path = folder("WHYIDLE_PUBLIC", "../shared/public-traces")?.join(format!("{name}.json.gz"));
    match read_trace(&path, &ReadOptions::default()) {
        Ok(trace) => Some(trace),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// Span, resident, idle, compute, communication and their overlap, ns: plain unions over kernels, copies and
/// memsets, summed independently with exact decimals.
const EXACT: [(&str, [i64; 6]); 9] = [
    ("hta_v100x2_ddp", [1_732_965_000, 1_000_613_000, 732_352_000, 620_516_000, 357_343_000, 0]),
    ("hta_a100x8_ddp", [464_594_000, 388_587_000, 76_007_000, 281_336_000, 163_535_000, 75_614_000]),
    ("hta_a100x16_rank0", [1_231_461_000, 438_424_000, 793_037_000, 210_998_000, 187_870_000, 2_553_000]),
    ("hta_a100x2_resnet_ddp", [660_551_005, 157_500_014, 503_050_991, 115_655_847, 46_876_493, 7_317_025]),
    // Times are absolute here: sums in floating point are off by 8 µs.
    ("hta_v100_ns", [480_029_179, 472_454_441, 7_574_738, 468_153_602, 0, 0]),
    ("tracelens_h100_owlv2", [1_078_288_379, 566_759_477, 511_528_902, 551_451_628, 0, 0]),
    ("tracelens_mi300_resnet_ddp", [86_567_708, 84_002_056, 2_565_652, 25_739_303, 71_516_523, 15_891_299]),
    ("kineto_resnet50_workers0", [996_477_000, 603_558_000, 392_919_000, 591_532_000, 0, 0]),
    ("kineto_resnet50_workers4", [801_550_000, 614_413_000, 187_137_000, 594_868_000, 0, 0]),
];

#[test]
fn measures_equal_independent_sums_to_the_nanosecond() {
    for (name, expected) in EXACT {
        let Some(trace) = public(name) else { continue };
        let facts = Facts::new(&trace);
        let device = devices(&trace)[0];
        let found = occupancy(&trace, &activities(&trace, device), &facts.works);
        let found = [
            found.span_ns,
            found.resident_ns,
            found.idle_ns,
            found.compute_ns,
            found.communication_ns,
            found.overlap_ns,
        ];
        assert_eq!(found, expected, "{name}");
    }
}

/// An export of Nsight Systems: the same measures, by SQL over its tables, for the process of each GPU.
#[test]
fn an_export_of_nsight_systems_gives_the_same_measures_and_a_ledger_that_adds_up() {
    let Some(folder) = folder("WHYIDLE_PUBLIC", "../shared/public-traces") else { return };
    for (device, span, resident, compute) in
        [(0, 969_447_605, 962_890_247, 22_385_163), (1, 969_258_578, 962_810_705, 22_444_359)]
    {
        let options = ReadOptions { device: Some(device), ..ReadOptions::default() };
        let trace = match read_trace(&folder.join("nsys_h100_2gpu.sqlite"), &options) {
            Ok(trace) => trace,
            Err(error) => return eprintln!("skipped: {error}"),
        };
        let facts = Facts::new(&trace);
        assert_eq!(devices(&trace), [device]);
        let found = occupancy(&trace, &activities(&trace, device), &facts.works);
        assert_eq!(
            (found.span_ns, found.resident_ns, found.idle_ns, found.compute_ns),
            (span, resident, span - resident, compute)
        );
        judged(
            &trace,
            None,
            |_| true,
            |result| {
                let (case, verdict) = result.unwrap_or_else(|refusal| panic!("{}", refusal.code));
                steps_add_up(case);
                // Weights are brought from host memory layer by layer while the GPU waits.
                assert_eq!((verdict.ruling.primary, verdict.ruling.healthy), ("data.transfer", false));
            },
        );
    }
}

/// Primary cause, and whether the run is healthy.
fn verdict(name: &str) -> Option<(&'static str, bool, Vec<&'static str>)> {
    let trace = public(name)?;
    Some(judged(
        &trace,
        None,
        |_| true,
        |result| {
            let (_, verdict) = result.unwrap_or_else(|refusal| panic!("{name}: {}", refusal.code));
            let causes = verdict.findings.iter().map(|finding| finding.cause).collect();
            (verdict.ruling.primary, verdict.ruling.healthy, causes)
        },
    ))
}

#[test]
fn loading_in_the_training_process_is_named() {
    for name in ["kineto_resnet50_workers0", "tracelens_h100_owlv2"] {
        let Some((primary, healthy, _)) = verdict(name) else { return };
        assert_eq!((primary, healthy), ("data.in_process", false), "{name}");
    }
}

/// Host operators take 10–27 % longer beside four workers than beside none; the interval allows for that.
#[test]
fn four_workers_bring_a_step_within_the_predicted_interval() {
    let (Some(before), Some(after)) =
        (public("kineto_resnet50_workers0"), public("kineto_resnet50_workers4"))
    else {
        return;
    };
    let measured = judged(
        &after,
        None,
        |_| true,
        |result| {
            let mut steps =
                result.unwrap_or_else(|refusal| panic!("{}", refusal.code)).1.step.traced_each_ns.clone();
            steps.sort_unstable();
            steps[steps.len() / 2]
        },
    );
    judged(
        &before,
        None,
        |_| true,
        |result| {
            let (_, verdict) = result.unwrap_or_else(|refusal| panic!("{}", refusal.code));
            let gain = finding(verdict, "data.in_process").and_then(|finding| finding.gain.clone()).unwrap();
            let predicted = gain.step_after;
            eprintln!("predicted {predicted:?}, measured {measured}");
            assert!(predicted.low_ns <= measured && measured <= predicted.high_ns);
        },
    );
}

#[test]
fn late_launches_and_small_reductions_are_told_apart() {
    let Some((primary, _, _)) = verdict("hta_a100x2_resnet_ddp") else { return };
    assert_eq!(primary, "host.launch");
    let (primary, _, causes) = verdict("hta_v100x2_ddp").unwrap();
    assert_eq!(primary, "host.launch");
    assert!(causes.contains(&"comm.unbucketed"), "{causes:?}");
}

#[test]
fn a_device_that_waits_for_events_is_not_launch_bound() {
    let Some((primary, healthy, causes)) = verdict("hta_a100x16_rank0") else { return };
    assert_eq!((primary, healthy), ("comm.unsplit", false));
    assert!(!causes.contains(&"host.launch"), "{causes:?}");
}

#[test]
fn healthy_runs_get_no_wait_alleged() {
    for name in ["hta_v100_ns", "hta_v100x2_healthy"] {
        let Some((primary, healthy, _)) = verdict(name) else { return };
        assert!(healthy, "{name}");
        assert!(primary.starts_with("compute."), "{name}: {primary}");
    }
}

#[test]
fn what_cannot_carry_a_verdict_is_refused_by_name() {
    for (name, code) in [("hta_mtia", "foreign-device"), ("hta_alexnet_sync", "too-little")] {
        let Some(trace) = public(name) else { return };
        judged(
            &trace,
            None,
            |_| true,
            |result| {
                assert_eq!(result.err().map(|refusal| refusal.code), Some(code), "{name}");
            },
        );
    }
}

/// Windows of one step each: the cause stays, and each line keeps its share within ± 5 % of the step.
#[test]
fn different_windows_of_one_run_agree() {
    for name in ["hta_v100_ns", "hta_a100x16_rank0"] {
        let Some(trace) = public(name) else { return };
        let steps: Vec<i64> = judged(
            &trace,
            None,
            |_| true,
            |result| result.unwrap().0.device.steps.used.iter().map(|step| step.number).collect(),
        );
        assert!(steps.len() >= 4, "{name}");
        let windows: Vec<(&str, Vec<f64>)> = steps
            .iter()
            .map(|&step| {
                judged(
                    &trace,
                    None,
                    |number| number == step,
                    |result| {
                        let (case, verdict) = result.unwrap();
                        let shares = case.device.ledger.steps[0]
                            .iter()
                            .map(|ns| *ns as f64 / case.traced_step() as f64);
                        (verdict.ruling.primary, shares.collect())
                    },
                )
            })
            .collect();
        for line in 0..windows[0].1.len() {
            let mean = windows.iter().map(|window| window.1[line]).sum::<f64>() / windows.len() as f64;
            for (primary, shares) in &windows {
                assert_eq!(*primary, windows[0].0, "{name}");
                assert!(
                    (shares[line] - mean).abs() <= 0.05,
                    "{name}: line {line}, {} against {mean}",
                    shares[line]
                );
            }
        }
    }
}
