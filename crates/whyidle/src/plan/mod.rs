//! `whyidle plan`: memory, communication and strategies before anything runs, or from one measured step.

mod calibrated;
mod described;
mod options;

pub(crate) use options::PlanOptions;

use whyidle_diagnosis::Message;
use whyidle_planner::{Gpu, PlanError, Request, Setup, estimate, link, memory, search};
use whyidle_readers::ReadError;
use whyidle_report::{PlanReport, render_plan_json, render_plan_markdown, render_plan_text};

use crate::args::Format;
use crate::output::Output;
use crate::{REACHED, REFUSED, UNREADABLE};
use described::{base, divide, machine, schedule};
use options::EFFICIENCY;

/// Why there is no plan.
pub(crate) enum Failure {
    /// Sizes contradict each other, or something is not known.
    Plan(PlanError),
    /// A recording cannot be read.
    Read(ReadError),
    /// Its evidence carries nothing.
    Refused(Message, Message),
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        Self::Plan(error)
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

pub(crate) fn run(options: &PlanOptions, output: &Output) -> u8 {
    let planned = match &options.calibrate {
        Some(path) => calibrated::plan(path, options, output),
        None => plan(options).map_err(Failure::from),
    };
    match planned {
        Ok(report) => {
            let text = match options.format {
                Format::Text => {
                    render_plan_text(&report, &output.catalog, &output.text_options(options.verbose))
                }
                Format::Json => render_plan_json(&report),
                Format::Md => render_plan_markdown(&report, &output.catalog),
            };
            output.data(&text, if report.missing() > 0.0 { REFUSED } else { REACHED })
        }
        Err(Failure::Plan(error)) => {
            let message = error
                .args
                .iter()
                .fold(Message::new(error.id), |message, (name, value)| message.name(name, value.clone()));
            output.error(&message, None);
            // What a trace does not show is no bad usage.
            if error.id.starts_with("plan-unseen-") { REFUSED } else { UNREADABLE }
        }
        Err(Failure::Read(error)) => {
            output.read_error(&error);
            UNREADABLE
        }
        Err(Failure::Refused(message, hint)) => {
            output.error(&message, Some(&hint));
            REFUSED
        }
    }
}

fn plan(options: &PlanOptions) -> Result<PlanReport, PlanError> {
    let (gpu, gpus) = machine(options)?;
    let mut setup = base(options, &gpu, gpus)?;
    let efficiency = options.efficiency.unwrap_or(EFFICIENCY);
    if let Some(global_batch) = options.global_batch {
        return searched(options, setup, gpu, gpus, global_batch, (efficiency, 0.0));
    }
    divide(options, &mut setup, gpus)?;
    let network = link(&options.network)?;
    let schedule = options.schedule.unwrap_or(schedule(&setup.parallel));
    Ok(PlanReport {
        memory: memory(&setup)?,
        estimate: estimate(&setup, &gpu, &network, schedule, efficiency),
        setup,
        gpu,
        gpus,
        network,
        schedule,
        efficiency,
        free: options.free,
        search: None,
        tokens: options.tokens(),
        price: options.price,
        calibrated: None,
    })
}

/// The best of all strategies; `rates` are the efficiency and the bytes to add to each peak.
fn searched(
    options: &PlanOptions,
    base: Setup,
    gpu: Gpu,
    gpus: u64,
    global_batch: u64,
    (efficiency, extra): (f64, f64),
) -> Result<PlanReport, PlanError> {
    let network = link(&options.network)?;
    let base = Setup { stage: 0, ..base };
    let request = Request {
        base,
        gpu: gpu.clone(),
        gpus,
        network,
        global_batch,
        free: options.free,
        efficiency,
        extra,
    };
    let found = search(&request)?;
    let best =
        found.best.first().or(found.too_big.first()).cloned().ok_or_else(|| {
            PlanError::new("plan-error-batch").with("batch", global_batch).with("gpus", gpus)
        })?;
    Ok(PlanReport {
        setup: best.setup,
        gpu,
        gpus,
        network,
        memory: best.memory,
        estimate: best.estimate,
        schedule: best.schedule,
        efficiency,
        free: options.free,
        search: Some(found),
        tokens: options.tokens(),
        price: options.price,
        calibrated: None,
    })
}
