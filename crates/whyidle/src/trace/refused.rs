//! Refusals that come from what was asked of traces, not from what is in them.

use whyidle_analysis::device::devices;
use whyidle_analysis::facts::{DeviceFacts, Facts};
use whyidle_diagnosis::{Input, Message, Refusal};
use whyidle_model::Trace;

use super::{Judged, Question};

/// Several traces must be ranks of one job: of the same number of ranks.
pub(super) fn not_one_job<T>(judged: &[Judged<T>], inputs: &[Input]) -> Option<Refusal> {
    let world = judged.first().and_then(|one| one.world);
    let of_it = |one: &Judged<T>| one.world == world && one.rank < world;
    let agree = world.is_some_and(|world| world > 1) && judged.iter().all(of_it);
    (!agree).then(|| Refusal {
        code: "not-one-job",
        reason: Message::new("refusal-not-one-job").count("count", judged.len()),
        hint: Message::new("refusal-not-one-job-hint"),
        inputs: inputs.to_vec(),
        quality: Vec::new(),
    })
}

/// They are of different programs, or recorded different steps.
pub(super) fn nothing_in_common(inputs: Vec<Input>) -> Refusal {
    Refusal {
        code: "nothing-in-common",
        reason: Message::new("refusal-nothing-in-common"),
        hint: Message::new("refusal-not-one-job-hint"),
        inputs,
        quality: Vec::new(),
    }
}

/// They may say the same number of ranks and still be of different days.
pub(super) fn not_one_run(apart: i64, inputs: Vec<Input>) -> Refusal {
    Refusal {
        code: "not-one-run",
        reason: Message::new("refusal-not-one-run").time("time", apart),
        hint: Message::new("refusal-not-one-job-hint"),
        inputs,
        quality: Vec::new(),
    }
}

/// `--step` named only steps that are not there, or not whole.
pub(super) fn no_such_step(
    trace: &Trace,
    facts: &Facts,
    device: &DeviceFacts,
    options: &Question,
    inputs: &[Input],
) -> Option<Refusal> {
    if options.step.is_none() || !device.steps.used.is_empty() {
        return None;
    }
    let whole: Vec<i64> =
        facts.device(trace, device.device, |_| true).steps.used.iter().map(|step| step.number).collect();
    let (first, last) = (whole.first()?, whole.last()?);
    Some(Refusal {
        code: "no-such-step",
        reason: Message::new("refusal-no-such-step"),
        hint: Message::new("refusal-no-such-step-hint")
            .name("first", first.to_string())
            .name("last", last.to_string()),
        inputs: inputs.to_vec(),
        quality: Vec::new(),
    })
}

/// `--device` named none that the trace has.
pub(super) fn no_such_device(trace: &Trace, inputs: &[Input]) -> Refusal {
    Refusal {
        code: "no-such-device",
        reason: Message::new("refusal-no-such-device"),
        hint: Message::new("refusal-no-such-device-hint").name("devices", list(&devices(trace))),
        inputs: inputs.to_vec(),
        quality: Vec::new(),
    }
}

fn list(devices: &[i32]) -> String {
    devices.iter().map(i32::to_string).collect::<Vec<_>>().join(", ")
}

pub(crate) fn no_such_rank(inputs: &[Input]) -> Refusal {
    Refusal {
        code: "no-such-rank",
        reason: Message::new("refusal-no-such-rank"),
        hint: Message::new("refusal-no-such-rank-hint"),
        inputs: inputs.to_vec(),
        quality: Vec::new(),
    }
}
