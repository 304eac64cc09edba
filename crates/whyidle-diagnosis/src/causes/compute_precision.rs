//! `compute.precision`: products run in fp32 and leave the tensor cores' 16-bit rate unused; or bf16 runs
//! with a gradient scaler that it does not need.

use whyidle_replay::models::{Fact, precision};

use super::kernels::{kernel_finding, rates};
use super::support::{counted, remedy, timed};
use crate::case::Case;
use crate::message::Message;
use crate::verdict::{Change, Finding};

const CODE: &str = "torch.backends.cuda.matmul.fp32_precision = \"tf32\"
with torch.autocast(\"cuda\", dtype=torch.bfloat16):
    loss = model(batch)";

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    let change = precision::precision(case.trace, case.facts, &case.device, case.models())?;
    let fact = |fact| change.evidence.fact(fact).filter(|&value| value > 0.0);
    let mut evidence: Vec<_> = rates(&change.evidence).into_iter().collect();
    if let Some(ns) = fact(Fact::Tf32SavedNs) {
        evidence.push(timed(Message::new("ev-tf32-alone").time("time", ns as i64), ns as i64, None));
    }
    if let (Some(casts), Some(ns)) = (fact(Fact::Casts), fact(Fact::CastNs)) {
        let text = Message::new("ev-casts").count("count", casts as i64).time("time", ns as i64);
        evidence.push(counted(text, casts as i64));
    }
    if let Some(ns) = fact(Fact::GradScalerNs) {
        evidence.push(timed(Message::new("ev-grad-scaler").time("time", ns as i64), ns as i64, None));
    }
    let steps = ["fix-precision-tf32", "fix-precision-loss", "fix-precision-scaler"];
    let what = Change { what: "autocast", from: None, to: Some("bf16".to_owned()) };
    let remedy = remedy(Message::new("fix-compute-precision"), &steps, CODE);
    kernel_finding(case, "compute.precision", &change, what, evidence, remedy)
}
