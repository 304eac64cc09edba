//! Runs every kernel model over recordings and holds what they predict against measured pairs.
//!
//! `cargo run --example models -- LAB_DIRECTORY [TRACE…]`: gains of `truth.json` first, then the
//! largest saving for every other case: a healthy one should have none.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::{Path, PathBuf};

use serde_json::Value;
use whyidle_analysis::device::devices;
use whyidle_analysis::facts::Facts;
use whyidle_model::Trace;
use whyidle_replay::models::{
    Context, KernelChange, alignment::alignment, attention::attention, elementwise::elementwise,
    padding::padding, precision::precision, recompute::recompute,
};

struct Row {
    cause: &'static str,
    change: KernelChange,
}

fn rows(trace: &Trace, verbose: bool) -> (f64, Vec<Row>) {
    let facts = Facts::new(trace);
    let mut best: (f64, Vec<Row>) = (0.0, Vec::new());
    for number in devices(trace) {
        let device = facts.device(trace, number, |_| true);
        let context = Context::new(trace, &facts, &device);
        let run = |cause, change: Option<KernelChange>| change.map(|change| Row { cause, change });
        let rows: Vec<Row> = [
            run("compute.precision", precision(trace, &facts, &device, &context)),
            run("compute.attention", attention(trace, &facts, &device, &context)),
            run("compute.elementwise", elementwise(trace, &facts, &device, &context)),
            run("compute.alignment", alignment(trace, &facts, &device, &context)),
            run("memory.recompute", recompute(trace, &facts, &device, &context)),
            run("compute.padding", padding(trace, &facts, &device, &context)),
        ]
        .into_iter()
        .flatten()
        .collect();
        let busy: i64 = context.launched.iter().map(|entry| entry.used_ns).sum();
        let busy = busy as f64 / 1e6 / context.steps.max(1) as f64;
        if verbose {
            println!("  device {number} {:?}", context.rates.map(|rates| rates.product));
            rows.iter().for_each(|row| show(trace, row));
        }
        if busy > best.0 {
            best = (busy, rows);
        }
    }
    best
}

fn show(trace: &Trace, row: &Row) {
    let evidence = &row.change.evidence;
    println!(
        "    {} saves {:.2} ms ({:.2}..{:.2}) of {:.2} ms in {:.0} activities; {:.2} TFLOP, {:.2} -> {:.2} GB; {:.1} of {:.1} TFLOP/s",
        row.cause,
        row.change.saved_ns_per_step as f64 / 1e6,
        row.change.low_ns_per_step as f64 / 1e6,
        row.change.high_ns_per_step as f64 / 1e6,
        evidence.time_ns_per_step as f64 / 1e6,
        evidence.activities_per_step,
        evidence.flops_per_step / 1e12,
        evidence.bytes_per_step / 1e9,
        evidence.bytes_after_per_step / 1e9,
        evidence.achieved.unwrap_or(0.0) / 1e12,
        evidence.possible.unwrap_or(0.0) / 1e12,
    );
    println!("      {:?}", evidence.facts);
    for share in evidence.operators.iter().take(4).chain(evidence.frames.iter().take(3)) {
        let name = trace.names.get(share.name);
        println!("      {:8.3} ms {:6.1}x {name}", share.ns_per_step as f64 / 1e6, share.per_step);
    }
    for shape in evidence.shapes.iter().take(3) {
        let name = trace.names.get(shape.operator);
        println!(
            "      {:8.3} ms {:6.1}x {name} {:?}",
            shape.ns_per_step as f64 / 1e6,
            shape.per_step,
            shape.inputs
        );
    }
}

fn traces(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.to_string_lossy().ends_with(".json.gz"))
        .collect();
    found.sort();
    found
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let lab = PathBuf::from(arguments.next().unwrap_or_default());
    let more: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    let verbose = std::env::var_os("VERBOSE").is_some();
    let truth: Value = std::fs::read_to_string(lab.join("truth.json"))
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or(Value::Null);
    let mut errors: Vec<(f64, String)> = Vec::new();
    let mut others: Vec<String> = Vec::new();
    for (case, entry) in truth.as_object().into_iter().flatten() {
        let step = entry["step_ms"].as_f64().unwrap_or(0.0);
        for path in traces(&lab.join(case)) {
            let Ok(trace) = whyidle_readers::read_trace(&path, &whyidle_readers::ReadOptions::default())
            else {
                continue;
            };
            if verbose {
                println!("{case} {}", path.display());
            }
            let (busy, rows) = rows(&trace, verbose);
            for row in &rows {
                let gain = entry["gains"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .find(|gain| gain["cause"] == row.cause)
                    .and_then(|gain| gain["step_ms_after"].as_f64());
                let saved = row.change.saved_ns_per_step as f64 / 1e6;
                let after = |saved: f64| step - saved;
                let (low, high) = (row.change.low_ns_per_step, row.change.high_ns_per_step);
                let line = format!(
                    "{case:22} {:20} step {step:7.1} busy {busy:7.1} saves {saved:7.2} ({:6.2}..{:6.2}) after {:7.2}",
                    row.cause,
                    low as f64 / 1e6,
                    high as f64 / 1e6,
                    after(saved)
                );
                match gain {
                    Some(truth) => {
                        let error = 100.0 * (after(saved) / truth - 1.0);
                        let inside = after(high as f64 / 1e6) <= truth && truth <= after(low as f64 / 1e6);
                        errors
                            .push((error, format!("{line} truth {truth:7.2} error {error:+5.1} % {inside}")));
                    }
                    None => others.push(format!("{line} ({:4.1} % of busy)", 100.0 * saved / busy.max(1e-9))),
                }
            }
        }
    }
    for path in more {
        let Ok(trace) = whyidle_readers::read_trace(&path, &whyidle_readers::ReadOptions::default()) else {
            continue;
        };
        if verbose {
            println!("{}", path.display());
        }
        let (busy, rows) = rows(&trace, verbose);
        for row in rows {
            let saved = row.change.saved_ns_per_step as f64 / 1e6;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            others.push(format!(
                "{name:34} {:20} busy {busy:7.2} saves {saved:7.2} ({:4.1} %)",
                row.cause,
                100.0 * saved / busy
            ));
        }
    }
    println!("== measured pairs");
    errors.iter().for_each(|(_, line)| println!("{line}"));
    let mut sizes: Vec<f64> = errors.iter().map(|(error, _)| error.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    if let Some(worst) = sizes.last() {
        println!("median {:.1} % worst {worst:.1} %", sizes[sizes.len() / 2]);
    }
    println!("== everything else");
    others.iter().for_each(|line| println!("{line}"));
}
