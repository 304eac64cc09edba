//! A plan as `whyidle.plan/1`: figures only; `schema/whyidle.plan-1.schema.json` describes it.

use serde_json::{Value, json};
use whyidle_diagnosis::Message;
use whyidle_planner::{Candidate, Checkpointing, Framework, Moment, Range, Setup, flags, untested};

use super::{CalibratedPlan, Paced, PlanReport, words};
use crate::Catalog;
use crate::json::text;

const SCHEMA: &str = "whyidle.plan/1";

/// A plan as JSON, indented. Bytes are integers, times seconds.
pub(crate) fn set(plan: &PlanReport) -> String {
    let memory = &plan.memory;
    let e = &plan.estimate;
    let value = json!({
        "schema": SCHEMA,
        "tool": { "version": env!("CARGO_PKG_VERSION") },
        "model": {
            "name": plan.setup.model.name,
            "parameters": plan.setup.model.parameters(),
            "active_parameters": plan.setup.model.active_parameters(),
        },
        "gpu": { "name": plan.gpu.name, "memory": plan.gpu.memory as u64, "count": plan.gpus, "source": plan.gpu.source },
        "strategy": strategy(&plan.setup),
        "memory": {
            "fits": plan.missing() == 0.0,
            "missing": plan.missing() as u64,
            "allocated": memory.allocated as u64,
            "first_steps": memory.first_steps as u64,
            "reserved": memory.reserved as u64,
            "context": memory.context as u64,
            "needed": memory.needed() as u64,
            "peak": memory.peak.id(),
            "stage": memory.stage,
            "untested": untested(&plan.setup),
            "moments": memory.moments.iter().map(moment).collect::<Vec<_>>(),
        },
        "step": {
            "seconds": e.step,
            "compute": e.compute,
            "bubble": e.bubble,
            "exposed": e.exposed,
            "optimizer": e.optimizer,
            "waiting": e.waiting,
            "efficiency": plan.efficiency,
            "mfu": e.mfu,
            "tokens_per_second": e.tokens_per_second,
            "flows": e.flows.iter().map(|(flow, seconds, exposed)| json!({
                "id": flow.id,
                "bytes": flow.bytes as u64,
                "seconds": seconds,
                "exposed": exposed,
            })).collect::<Vec<_>>(),
        },
        "budget": plan.tokens.map(|tokens| {
            let cost = e.cost(tokens, plan.gpus);
            json!({
                "tokens": tokens,
                "days": cost.days,
                "gpu_hours": cost.gpu_hours,
                "price": plan.price.map(|price| price * cost.gpu_hours),
            })
        }),
        "search": plan.search.as_ref().map(|search| json!({
            "judged": search.judged,
            "fitting": search.fitting,
            "limit": search.limit,
            "best": search.best.iter().map(candidate).collect::<Vec<_>>(),
            "by_framework": search.by_framework.iter().map(|(framework, c)| json!({
                "framework": framework.id(),
                "strategy": strategy(&c.setup),
                "needed": c.memory.needed() as u64,
                "seconds": c.estimate.step,
                "flags": flags(&c.setup, *framework),
            })).collect::<Vec<_>>(),
            "too_big": search.too_big.iter().map(candidate).collect::<Vec<_>>(),
        })),
        "calibrated": plan.calibrated.as_ref().map(calibrated),
        "flags": Framework::ALL.iter().filter_map(|framework| {
            flags(&plan.setup, *framework).map(|lines| (framework.id().to_owned(), json!(lines)))
        }).collect::<serde_json::Map<_, _>>(),
    });
    format!("{value:#}\n")
}

/// Why there is no plan: a stable code, the reason with its figures, and a hint.
#[must_use]
pub fn plan_refusal_json(code: &str, reason: &Message, hint: Option<&Message>, catalog: &Catalog) -> String {
    let value = json!({
        "schema": SCHEMA,
        "tool": { "version": env!("CARGO_PKG_VERSION") },
        "refused": {
            "code": code,
            "reason": text(catalog, reason),
            "hint": hint.map(|hint| text(catalog, hint)),
        },
    });
    format!("{value:#}\n")
}

fn moment(moment: &Moment) -> Value {
    json!({
        "id": moment.id.id(),
        "bytes": moment.bytes() as u64,
        "items": moment.items.iter().map(|item| json!({ "id": item.id, "bytes": item.bytes as i64 })).collect::<Vec<_>>(),
    })
}

/// The measured step that a plan starts from.
fn calibrated(measured: &CalibratedPlan) -> Value {
    let found = &measured.calibration;
    let range = |range: &Range| json!({ "low": range.low, "high": range.high });
    let bytes = |range: &Range| json!({ "low": range.low as u64, "high": range.high as u64 });
    json!({
        "path": measured.path,
        "basis": measured.basis.id(),
        "same": measured.same,
        "counted": found.observed.counted,
        "strategy": strategy(&found.observed.setup),
        "parameters": found.observed.setup.model.parameters(),
        "peak": found.measured.peak.map(|peak| peak as u64),
        "predicted": found.measured.peak.map(|peak| (peak - found.difference) as u64),
        "seconds": found.measured.step,
        "working": found.measured.working,
        "host": found.measured.host,
        "efficiency": found.efficiency(),
        "contradicts": found.contradicts(),
        "moved": found.moved(),
        "unknown": found.observed.unknown.iter().map(|unknown| json!({
            "id": unknown.id,
            "by_peak": unknown.by_peak,
        })).collect::<Vec<_>>(),
        "allocated": bytes(&measured.allocated),
        "step": match &measured.step {
            Paced::Measured(step) => range(step),
            Paced::Stated | Paced::Unlike => Value::Null,
        },
        "give_back": measured.returned.iter().map(|each| json!({
            "id": each.saver.id.id(),
            "strategy": strategy(&each.saver.setup),
            "allocated": each.saver.memory.allocated as u64,
            "costs": each.saver.costs as i64,
            "missing": each.saver.missing as u64,
            "step": each.gain.map(|(after, method)| json!({
                "seconds": after.ns as f64 / 1e9,
                "low": after.low_ns as f64 / 1e9,
                "high": after.high_ns as f64 / 1e9,
                "method": method.id(),
            })),
        })).collect::<Vec<_>>(),
        "larger_batch": measured.larger.as_ref().map(|larger| json!({
            "batch": larger.setup.batch,
            "allocated": larger.memory.allocated as u64,
            "range": bytes(&larger.allocated),
        })),
    })
}

fn candidate(c: &Candidate) -> Value {
    json!({
        "strategy": strategy(&c.setup),
        "needed": c.memory.needed() as u64,
        "missing": c.missing as u64,
        "seconds": c.estimate.step,
        "loses": c.loses,
    })
}

fn strategy(setup: &Setup) -> Value {
    let p = &setup.parallel;
    let checkpointing = match setup.checkpointing {
        Checkpointing::None => "none".to_owned(),
        Checkpointing::Selective => "selective".to_owned(),
        Checkpointing::Full => "full".to_owned(),
        Checkpointing::Every(k) => format!("every:{k}"),
    };
    json!({
        "batch": setup.batch,
        "micro_batches": setup.micro_batches,
        "seq": setup.seq,
        "precision": words::precision(setup.precision),
        "optimizer": words::optimizer(setup.optimizer),
        "checkpointing": checkpointing,
        "offload": setup.offload != whyidle_planner::Offload::None,
        "sharding": words::sharding(p.sharding),
        "dp": p.data,
        "tp": p.tensor,
        "sp": p.sequence,
        "pp": p.pipeline,
        "chunks": p.chunks,
        "cp": p.context,
        "ep": p.expert,
    })
}
