//! Ascend, made by the documented form of its traces: steps, the ledger, and what is not claimed of such a device.

#[path = "../../../whyidle-readers/tests/it/ascend/document.rs"]
#[expect(dead_code, reason = "the reader's tests use all of it")]
mod document;

use document::{Form, STEP, steps};
use whyidle_analysis::device::{activities, occupancy};
use whyidle_analysis::facts::Facts;
use whyidle_analysis::ledger::Line;
use whyidle_diagnosis::{CAUSES, Wanted, WhatIf};
use whyidle_model::{Severity, Trace, Vendor};
use whyidle_readers::{ReadOptions, read_trace_from};

use crate::support::{judged, judged_with, steps_add_up};

/// Three marks: the first step begins before the trace does, so two are whole.
fn made(form: Form) -> Trace {
    read_trace_from(steps(form, 3).as_bytes(), &ReadOptions::default()).unwrap()
}

#[test]
fn busy_and_idle_count_work_and_no_waiting() {
    let trace = made(Form::default());
    let facts = Facts::new(&trace);
    assert_eq!(facts.vendor, Vendor::Huawei);
    let found = occupancy(&trace, &activities(&trace, 3), &facts.works);
    // From the first product to the last copy; per step 300 + 200 + 50 + 20 µs, of which the collective 200.
    assert_eq!((found.span_ns, found.resident_ns), (2 * STEP + 640_000, 3 * 570_000));
    assert_eq!((found.compute_ns, found.communication_ns, found.overlap_ns), (3 * 350_000, 3 * 200_000, 0));
}

#[test]
fn two_steps_are_split_to_the_nanosecond() {
    for form in [Form::default(), Form { communication: "HCCL", lanes_last: false, ..Form::default() }] {
        let trace = made(form);
        judged(
            &trace,
            None,
            |_| true,
            |result| {
                let (case, _) = result.unwrap_or_else(|refusal| panic!("{}", refusal.code));
                steps_add_up(case);
                let lengths: Vec<_> =
                    case.device.steps.used.iter().map(|step| step.window.length()).collect();
                assert_eq!(lengths, [STEP, STEP]);
                let ledger = &case.device.ledger;
                assert_eq!(ledger.total(Line::Matmul), 2 * 300_000);
                assert_eq!(ledger.total(Line::Elementwise), 2 * 50_000);
                assert_eq!(ledger.total(Line::Communication), 2 * 200_000);
                let waiting: i64 =
                    [Line::HostSync, Line::HostLaunch, Line::HostPython, Line::Latency, Line::DeviceWait]
                        .iter()
                        .map(|&line| ledger.total(line))
                        .sum();
                // The copy that reads back belongs to the wait for it; nothing is left without an owner.
                assert_eq!((waiting, ledger.total(Line::Unexplained)), (2 * (STEP - 550_000), 0));
            },
        );
    }
}

#[test]
fn what_rests_on_cuda_is_not_claimed_and_no_step_is_estimated() {
    let trace = made(Form::default());
    let what_if = ["compute.precision", "compute.elementwise", "host.launch", "host.optimizer", "host.sync"];
    let wanted = Wanted {
        what_if: what_if.iter().map(|text| WhatIf::parse(text).unwrap()).collect(),
        critical_path: false,
    };
    judged_with(
        &trace,
        None,
        |_| true,
        &wanted,
        |result| {
            let (_, verdict) = result.unwrap_or_else(|refusal| panic!("{}", refusal.code));
            assert_eq!(verdict.step.basis.id(), "traced");
            let note = |code| verdict.quality.iter().find(|note| note.code == code).unwrap();
            assert_eq!(note("untested-device").severity, Severity::Suspect);
            assert_eq!(note("not-judged").count, 5);
            for found in &verdict.findings {
                let cause = CAUSES.iter().find(|cause| cause.id == found.cause).unwrap();
                assert!(cause.holds_on.contains(&Vendor::Huawei), "{}", found.cause);
                let code = &found.remedy.code;
                assert!(
                    !code.contains("cuda") && !code.contains("CUDA") && !code.contains("compile"),
                    "{code}"
                );
            }
            // Graphs of launches are CUDA's and HIP's; deferring a value is anybody's.
            let answers: Vec<_> = verdict.what_if.iter().map(|answer| answer.changes.is_empty()).collect();
            assert_eq!(answers, [true, true, true, true, false]);
        },
    );
}

#[test]
fn without_any_flow_there_is_a_verdict_or_a_reason() {
    let form = Form { host_to_device: false, async_npu: false, connections: false, ..Form::default() };
    judged(
        &made(form),
        None,
        |_| true,
        |result| match result {
            Ok((case, _)) => steps_add_up(case),
            Err(refusal) => assert!(!refusal.code.is_empty()),
        },
    );
}
