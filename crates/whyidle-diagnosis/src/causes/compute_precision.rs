//! `compute.precision`: products run in fp32 and leave the tensor cores' 16-bit rate unused; or bf16 runs
//! with a gradient scaler that it does not need.

use whyidle_analysis::shapes::DType;
use whyidle_model::Vendor;
use whyidle_replay::models::precision::{TypesSeen, precision, precision_in, tf32, types_seen};
use whyidle_replay::models::{Fact, KernelChange};

use super::kernels::{kernel_finding, rates};
use super::support::{WORTH, counted, finding, remedy, timed};
use crate::case::Case;
use crate::edit::{Edit, around};
use crate::message::Message;
use crate::verdict::{Change, Estimate, Evidence, Finding, Gain, Method};
use crate::what_if::Setting;

const BF16_CODE: &str = "torch.backends.cuda.matmul.fp32_precision = \"tf32\"
with torch.autocast(\"cuda\", dtype=torch.bfloat16):
    loss = model(batch)";

/// Where TF32 is not PyTorch's to switch on.
const BF16_ALONE_CODE: &str = "with torch.autocast(\"cuda\", dtype=torch.bfloat16):
    loss = model(batch)";

const FP16_CODE: &str = "scaler = torch.amp.GradScaler()
with torch.autocast(\"cuda\", dtype=torch.float16):
    loss = model(batch)
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()";

/// What autocast makes of the host's work for operators: each cast is four operators and a launch, as many as the
/// product that it serves. Between 1.5 and 2.1 in two launch-bound programs (H200).
const AUTOCAST_HOST: f64 = 1.7;
const UNSURE_HOST: f64 = 1.25;

/// First compute capability whose tensor cores take bf16 (Ampere).
const BF16_SINCE: u32 = 8;

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let seen = types_seen(case.trace, case.models());
    match precision(case.trace, case.facts, case.models()) {
        Some(change) => products(case, &change, seen),
        None => scaler(case, seen),
    }
}

/// Products that could run in 16 bits.
fn products(case: &Case<'_>, change: &KernelChange, seen: TypesSeen) -> Option<Finding> {
    let mut evidence: Vec<_> = rates(&change.evidence).into_iter().collect();
    let tf32 = has_tf32(case);
    if let Some(ns) = change.evidence.fact(Fact::Tf32SavedNs).filter(|&ns| tf32 && ns > 0.0) {
        evidence.push(timed(Message::new("ev-tf32-alone").time("time", ns as i64), ns as i64, None));
    }
    if case.share(seen.cast_ns_per_step) >= WORTH {
        let count = seen.casts_per_step.round() as i64;
        let text = Message::new("ev-casts").count("count", count).time("time", seen.cast_ns_per_step);
        evidence.push(counted(text, count));
    }
    let half = half_type(case);
    let code = match (half, tf32) {
        ("bf16", true) => BF16_CODE,
        ("bf16", false) => BF16_ALONE_CODE,
        _ => FP16_CODE,
    };
    let steps = ["fix-precision-tf32", "fix-precision-loss", "fix-precision-scaler"];
    let steps = if tf32 { &steps[..] } else { &steps[1..] };
    let remedy = remedy(Message::new("fix-compute-precision").name("type", half), steps, code);
    kernel_finding(case, "compute.precision", change, edit(case, None), evidence, remedy)
}

/// Products in 16 bits under autocast, or in TF32, at the rate of that type; autocast's casts are added.
///
/// Autocast adds casts around every product, so the host's work for operators grows as well.
pub(super) fn edit<'a>(case: &'a Case<'_>, setting: Option<&Setting>) -> Option<Edit<'a>> {
    let wanted = Setting::word(setting);
    if wanted == Some("tf32") {
        if !has_tf32(case) {
            return None;
        }
        let model = tf32(case.trace, case.facts, case.models())?;
        let change = Change { what: "tf32", from: Some("fp32".to_owned()), to: Some("tf32".to_owned()) };
        return Some(Edit::of_kernels(case, change, model));
    }
    let model = match wanted {
        Some("bf16") => precision_in(case.trace, case.facts, case.models(), DType::BF16)?,
        Some("fp16") => precision_in(case.trace, case.facts, case.models(), DType::F16)?,
        _ => precision(case.trace, case.facts, case.models())?,
    };
    let to = wanted.unwrap_or_else(|| half_type(case));
    let change = Change { what: "autocast", from: None, to: Some(to.to_owned()) };
    Some(Edit::of_kernels(case, change, model).with_slower_host(AUTOCAST_HOST).slowing_host(UNSURE_HOST))
}

/// Whether PyTorch can put fp32 products into TF32 here. AMD's MI200 has no such type, and what MI300 has is no
/// setting of PyTorch's.
fn has_tf32(case: &Case<'_>) -> bool {
    case.facts.vendor == Vendor::Nvidia
}

/// The 16-bit type that the GPU's tensor cores take: fp16 on NVIDIA's before Ampere. AMD's numbers of architectures
/// are no compute capabilities; all its parts whose rates are known take bf16.
fn half_type(case: &Case<'_>) -> &'static str {
    let major = case.properties().map_or(0, |gpu| gpu.compute_capability.0);
    let before = case.facts.vendor == Vendor::Nvidia && (1..BF16_SINCE).contains(&major);
    if before { "fp16" } else { "bf16" }
}

/// Gradient scaling beside bf16, whose range needs none.
fn scaler(case: &Case<'_>, seen: TypesSeen) -> Option<Finding> {
    let ns = seen.needless_scaling_ns_per_step;
    if case.share(ns) < WORTH {
        return None;
    }
    let gain = Gain {
        step_after: around(case, case.step.ns - ns, 0.02),
        method: Method::Bound,
        change: Change { what: "removed", from: None, to: None },
        next_limit: "compute.bound",
    };
    let evidence: Vec<Evidence> = vec![timed(Message::new("ev-grad-scaler").time("time", ns), ns, None)];
    let remedy = remedy(Message::new("fix-compute-precision-scaler"), &["fix-precision-scaler"], "");
    Some(finding(case, "compute.precision", Estimate::exact(ns), Some(gain), evidence, remedy))
}
