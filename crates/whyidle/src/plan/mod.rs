//! `whyidle plan`: memory, communication and strategies before anything runs, or from one measured step.

mod calibrated;
mod described;
mod options;

pub(crate) use options::PlanOptions;

use whyidle_diagnosis::{Arg, Message};
use whyidle_planner::{
    Candidate, Estimate, Gpu, Link, Memory, PlanError, Rates, Request, Schedule, Setup, Value, estimate,
    link, memory, search,
};
use whyidle_readers::ReadError;
use whyidle_report::{Document, PlanReport, plan_refusal_json};

use crate::args::{Format, Showing};
use crate::output::Output;
use crate::page::Page;
use crate::{REACHED, REFUSED, UNREADABLE, document};
use described::{base, divide, machine};
use options::EFFICIENCY;

/// Why there is no plan.
pub(crate) enum Failure {
    /// Sizes contradict each other, or something is not known.
    Plan(PlanError),
    /// A recording cannot be read.
    Read(ReadError),
    /// Its evidence carries nothing: a stable code, the reason and a hint.
    Refused(&'static str, Message, Message),
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
    let page = match Page::asked(&options.page, output) {
        Ok(page) => page,
        Err(status) => return status,
    };
    let planned = match &options.calibrate {
        Some(path) => calibrated::plan(path, options, output),
        None => plan(options).map_err(Failure::from),
    };
    match planned {
        Ok(report) => {
            let status = if report.missing() > 0.0 { REFUSED } else { REACHED };
            let showing = Showing { format: options.format, verbose: options.verbose };
            document::show(&Document::Plan(&report), page.as_ref(), showing, status, output)
        }
        Err(Failure::Read(error)) => {
            output.read_error(&error);
            UNREADABLE
        }
        Err(Failure::Plan(error)) => {
            // What a trace does not show is no bad usage.
            let status = if error.id.starts_with("plan-unseen-") { REFUSED } else { UNREADABLE };
            refuse((error.code(), &worded(&error), hint(&error).as_ref()), status, options, output)
        }
        Err(Failure::Refused(code, reason, hint)) => {
            refuse((code, &reason, Some(&hint)), REFUSED, options, output)
        }
    }
}

/// Says why there is no plan: as JSON for programs, and for people.
fn refuse(
    (code, reason, hint): (&str, &Message, Option<&Message>),
    status: u8,
    options: &PlanOptions,
    output: &Output,
) -> u8 {
    if options.format == Format::Json {
        return output.data(&plan_refusal_json(code, reason, hint, &output.catalog), status);
    }
    output.error(reason, hint);
    status
}

/// The planner's error as a message.
fn worded(error: &PlanError) -> Message {
    error.args.iter().fold(Message::new(error.id), |message, (name, value)| match value {
        Value::Text(text) => message.name(name, text),
        Value::Count(count) => message.count(name, *count),
        Value::Bytes(bytes) => message.with(name, Arg::Bytes(i64::try_from(*bytes).unwrap_or(i64::MAX))),
    })
}

/// A command that runs, for what lacks something.
fn hint(error: &PlanError) -> Option<Message> {
    let command = match error.id {
        "plan-error-nothing" => {
            "whyidle plan --model llama-3-8b --gpu h100x8 --seq 8192 --global-batch 256".to_owned()
        }
        // What was typed, with what is missing.
        "plan-error-no-batch" => {
            let quoted =
                |arg: String| if arg.contains(char::is_whitespace) { format!("'{arg}'") } else { arg };
            let typed: Vec<_> = std::env::args().skip(1).map(quoted).collect();
            format!("whyidle {} --batch 1", typed.join(" "))
        }
        _ => return None,
    };
    Some(Message::new("cli-for-example").name("command", command))
}

/// On what a plan is made.
struct Site {
    gpu: Gpu,
    gpus: u64,
    network: Link,
}

/// One strategy, judged.
struct Judged {
    setup: Setup,
    schedule: Schedule,
    memory: Memory,
    estimate: Estimate,
    efficiency: f64,
}

impl Judged {
    /// The plan of this strategy.
    fn report(self, site: Site, options: &PlanOptions) -> PlanReport {
        PlanReport {
            setup: self.setup,
            gpu: site.gpu,
            gpus: site.gpus,
            network: site.network,
            memory: self.memory,
            estimate: self.estimate,
            schedule: self.schedule,
            efficiency: self.efficiency,
            free: options.free,
            search: None,
            tokens: options.tokens(),
            price: options.price,
            calibrated: None,
        }
    }
}

fn plan(options: &PlanOptions) -> Result<PlanReport, PlanError> {
    let (gpu, gpus) = machine(options)?;
    let mut setup = base(options, &gpu, gpus)?;
    let site = Site { gpu, gpus, network: link(&options.network)? };
    let efficiency = options.efficiency.unwrap_or(EFFICIENCY);
    if let Some(global_batch) = options.global_batch {
        return searched(options, setup, site, global_batch, Rates::Stated(efficiency), efficiency);
    }
    if options.batch.is_none() {
        return Err(PlanError::new("plan-error-no-batch"));
    }
    divide(options, &mut setup, gpus)?;
    let schedule = options.schedule.unwrap_or(setup.parallel.schedule());
    let memory = memory(&setup)?;
    let estimate = estimate(&setup, &site.gpu, &site.network, schedule, efficiency);
    Ok(Judged { setup, schedule, memory, estimate, efficiency }.report(site, options))
}

/// The best of all strategies, with `efficiency` as it is reported.
fn searched(
    options: &PlanOptions,
    base: Setup,
    site: Site,
    global_batch: u64,
    rates: Rates,
    efficiency: f64,
) -> Result<PlanReport, PlanError> {
    let request = Request {
        base: Setup { stage: 0, ..base },
        gpu: site.gpu.clone(),
        gpus: site.gpus,
        network: site.network,
        global_batch,
        free: options.free,
        rates,
    };
    let found = search(&request)?;
    let Candidate { setup, schedule, memory, estimate, .. } =
        found.best.first().or(found.too_big.first()).cloned().ok_or_else(|| {
            PlanError::new("plan-error-batch").with("batch", global_batch).with("gpus", site.gpus)
        })?;
    let judged = Judged { setup, schedule, memory, estimate, efficiency };
    Ok(PlanReport { search: Some(found), ..judged.report(site, options) })
}
