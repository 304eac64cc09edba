//! How long a search takes: strategies judged, seconds, seconds per 10 000 strategies; the least of five runs.
//! `cargo run --release -p whyidle-planner --example search`.

#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use std::time::Instant;

use whyidle_planner::{PlanError, Precision, Rates, Request, Setup, gpu, link, preset, search};

fn main() -> Result<(), PlanError> {
    for (model, gpus, batch) in
        [("llama-3-8b", 8, 256), ("llama-3-70b", 512, 1024), ("mixtral-8x7b", 256, 1024)]
    {
        let mut base = Setup::new(preset(model)?, 1, 8192);
        base.precision = Precision::Mixed;
        let request = Request {
            base,
            gpu: gpu("h100", &[])?,
            gpus,
            network: link("ib-ndr")?,
            global_batch: batch,
            free: 0.1,
            rates: Rates::Stated(0.5),
        };
        let mut least = f64::INFINITY;
        let mut judged = 0;
        for _ in 0..5 {
            let start = Instant::now();
            judged = search(&request)?.judged;
            least = least.min(start.elapsed().as_secs_f64());
        }
        let per = least / judged as f64 * 1e4;
        println!("{model} on {gpus}: {judged} strategies, {least:.4} s, {per:.4} s per 10 000");
    }
    Ok(())
}
