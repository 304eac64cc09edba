//! The report as `whyidle.ncu/1`: every kernel and shape; `schema/whyidle.ncu-1.schema.json` describes it.

use serde_json::{Value, json};
use whyidle_analysis::ncu::{Coverage, KernelFacts, Together};
use whyidle_model::NcuStall;

use super::{NcuReport, words};
use crate::Catalog;
use crate::json::{sentences, tool, worded_notes};

const SCHEMA: &str = "whyidle.ncu/1";

/// The report as a JSON value. Times are whole nanoseconds, shares 0–1.
pub(crate) fn value(report: &NcuReport, catalog: &Catalog) -> Value {
    json!({
        "schema": SCHEMA,
        "tool": tool(),
        "inputs": report.inputs,
        "gpu": (!report.gpu.is_empty()).then_some(&report.gpu),
        "launches": report.launches,
        "sentence": sentences(catalog, &words::answer(report)),
        "together": together(&report.together),
        "trace": report.coverage.as_ref().map(|(path, coverage)| self::coverage(path, coverage)),
        "kernels": report.kernels.iter().map(kernel).collect::<Vec<_>>(),
        "warnings": report.warnings,
        "quality": worded_notes(catalog, &report.quality),
    })
}

fn together(together: &Together) -> Value {
    json!({
        "weight_ns": together.weight_ns,
        "bounds": together.bounds.iter().map(|(bound, time)| json!({ "bound": bound.id(), "ns": time })).collect::<Vec<_>>(),
        "sm": together.sm,
        "dram": together.dram,
        "filled": together.filled,
        "computing": together.computing,
        "tensor": together.tensor,
        "occupancy": together.occupancy,
        "stalls": stalls(&together.stalls),
        "change": together.change.map(|(change, time)| json!({ "id": change.id(), "concerns_ns": time })),
    })
}

fn coverage(path: &str, coverage: &Coverage) -> Value {
    json!({
        "path": path,
        "steps": coverage.steps,
        "step_ns": coverage.step_ns,
        "working_ns": coverage.working_ns,
        "covered_ns": coverage.covered_ns,
        "kernels_found": coverage.found,
        "missing": coverage.missing.iter().map(|(name, time)| json!({ "name": name, "ns": time })).collect::<Vec<_>>(),
    })
}

fn kernel(kernel: &KernelFacts) -> Value {
    json!({
        "name": kernel.name,
        "function": kernel.short,
        "grid": kernel.grid,
        "block": kernel.block,
        "launches": kernel.launches,
        "duration_ns": kernel.duration_ns,
        "weight_ns": kernel.weight_ns,
        "bound": kernel.bound.map(|bound| bound.id()),
        "sm": kernel.sm,
        "memory": kernel.memory,
        "dram": kernel.dram,
        "filled": kernel.filled,
        "computing": kernel.computing(),
        "issue": kernel.issue,
        "tensor": kernel.tensor,
        "occupancy": kernel.occupancy,
        "occupancy_limit": kernel.occupancy_limit,
        "limiters": kernel.limiters.iter().map(|limiter| limiter.id()).collect::<Vec<_>>(),
        "waves": kernel.waves,
        "empty": kernel.empty,
        "stalls": stalls(&kernel.stalls),
        "change": kernel.change().map(|change| change.id()),
    })
}

fn stalls(stalls: &[(NcuStall, f64)]) -> Vec<Value> {
    stalls.iter().map(|(stall, share)| json!({ "id": stall.id(), "share": share })).collect()
}
