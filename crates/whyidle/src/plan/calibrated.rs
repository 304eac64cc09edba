//! Plans that start from a measured step: a trace with what its directory says of the run, or a recording alone.

use std::path::Path;

use whyidle_analysis::device::devices;
use whyidle_analysis::facts::Facts;
use whyidle_analysis::memory::{Sites, facts};
use whyidle_diagnosis::case::Case;
use whyidle_diagnosis::{
    Basis, Known, Message, Refusal, calibrate, give_back, refuse_device, refuse_step, refuse_trace,
};
use whyidle_planner::{
    Calibration, Measured, Observed, Offload, Parallel, PlanError, Rates, Setup, by_product, estimate,
    larger_batch, link,
};
use whyidle_readers::recording::{self, Recording};
use whyidle_readers::{ReadError, ReadOptions, find_traces, memory, read_trace};
use whyidle_report::{CalibratedPlan, Paced, PlanReport};

use super::described::{change, described, divide, faster, machine, model};
use super::options::{EFFICIENCY, PlanOptions};
use super::{Failure, Judged, Site, searched};
use crate::output::Output;
use crate::progress;
use crate::trace::{measured_step_ms, said};

/// The largest batch that is looked for, times today's.
const MOST: u64 = 1 << 12;

/// Plans from the measured step at `path`.
pub(super) fn plan(path: &Path, options: &PlanOptions, output: &Output) -> Result<PlanReport, Failure> {
    let whole_directory = path.is_dir();
    let found = if whole_directory { find_traces(path) } else { Ok(vec![path.to_owned()]) };
    let traces = match found {
        Ok(traces) => traces,
        Err(error @ ReadError::NoTrace { .. }) => {
            let recorded = with_snapshot(recording::read(path, None)?, path)?.ok_or(error)?;
            return recorded_only(path, &recorded, options);
        }
        Err(error) => return Err(error.into()),
    };
    // Of several ranks the first speaks.
    let file = &traces[0];
    let bar = progress::bar(output, std::slice::from_ref(file));
    let advance = |bytes: u64| bar.inc(bytes);
    let read = read_trace(file, &ReadOptions { progress: Some(&advance), ..ReadOptions::default() });
    bar.finish_and_clear();
    let trace = match read {
        Ok(trace) => trace,
        // A recording's own file is no trace.
        Err(error @ ReadError::NotATrace { .. }) if !whole_directory => {
            let recorded = recording::read_file(file).map_err(|_| error)?;
            return recorded_only(path, &recorded, options);
        }
        Err(error) => return Err(error.into()),
    };
    let rank = trace.meta.distributed.as_ref().map(|job| job.rank);
    let recorded = if whole_directory { with_snapshot(recording::read(path, rank)?, path)? } else { None };
    let refused = |refusal: Refusal| {
        Failure::Refused(
            refusal.code,
            Message::new("plan-error-calibrate-refused").message("reason", refusal.reason),
            refusal.hint,
        )
    };
    if let Some(refusal) = refuse_trace(&trace, &[]) {
        return Err(refused(refusal));
    }
    let facts = Facts::new(&trace);
    let device = devices(&trace)
        .into_iter()
        .map(|device| facts.device(&trace, device, |_| true))
        .max_by_key(|device| device.occupancy.working_ns)
        .ok_or_else(|| PlanError::new("plan-unseen-shapes"))?;
    if let Some(refusal) = refuse_device(&trace, &facts, &device, &[]) {
        return Err(refused(refusal));
    }
    let known = Known {
        step_measured_ns: recorded.as_ref().and_then(measured_step_ms).map(|ms| (ms * 1e6).round() as i64),
        peak_memory: recorded.as_ref().and_then(|recorded| recorded.max_memory_allocated),
        said: recorded.as_ref().map(said).unwrap_or_default(),
        ..Known::default()
    };
    let case = Case::new(&trace, &facts, device, known);
    if let Some(refusal) = refuse_step(&case, &[]) {
        return Err(refused(refusal));
    }
    let described = model(options, options.seq)?;
    match (calibrate(&case, described.as_ref()), &recorded) {
        // A network that the trace does not show, but the options do: the recording measures it.
        (Err(_), Some(recorded)) if described.is_some() && recorded.max_memory_allocated.is_some() => {
            recorded_only(path, recorded, options)
        }
        (Err(error), _) => Err(error.into()),
        // Of several ranks, which one spoke.
        (Ok(calibration), _) => {
            report(if traces.len() > 1 { file } else { path }, options, calibration, Some(&case))
        }
    }
}

/// Name of a memory snapshot in a recording.
const SNAPSHOT: &str = "memory_snapshot.pickle";

/// What a directory says of its run; a memory snapshot beside it gives the peak where nothing else does.
fn with_snapshot(recorded: Option<Recording>, dir: &Path) -> Result<Option<Recording>, ReadError> {
    let path = dir.join(SNAPSHOT);
    if !path.is_file() || recorded.as_ref().is_some_and(|recorded| recorded.max_memory_allocated.is_some()) {
        return Ok(recorded);
    }
    let snapshot = memory::read(&path)?;
    let devices = facts(&snapshot, &Sites::new(&snapshot));
    let Some(fullest) = devices.iter().max_by_key(|device| device.peak.totals.allocated) else {
        return Ok(recorded);
    };
    let mut recorded = recorded.unwrap_or_default();
    recorded.max_memory_allocated = Some(fullest.peak.totals.allocated);
    recorded.max_memory_reserved = recorded.max_memory_reserved.or(Some(fullest.peak_reserved));
    Ok(Some(recorded))
}

/// Plans from a recording without a trace: the run is described by the options, the recording measures it.
fn recorded_only(path: &Path, recorded: &Recording, options: &PlanOptions) -> Result<PlanReport, Failure> {
    let unseen = |id| PlanError::new(id).with("path", path.display().to_string());
    let (Some(step_ms), Some(peak)) = (measured_step_ms(recorded), recorded.max_memory_allocated) else {
        return Err(unseen("plan-unseen-recording").into());
    };
    let model =
        model(options, recorded.seq.map(u64::from))?.ok_or_else(|| PlanError::new("plan-error-nothing"))?;
    // What was measured is the recording's own batch; what the options change of it is planned afterwards.
    let own = |recorded: Option<u32>, given: Option<u64>| recorded.map(u64::from).or(given);
    let (Some(batch), Some(seq)) = (own(recorded.batch, options.batch), own(recorded.seq, options.seq))
    else {
        return Err(unseen("plan-unseen-sizes").into());
    };
    let (named, count) = machine(options)?;
    let gpu = recorded.gpu.as_deref().and_then(|name| by_product(name, 0)).unwrap_or(named);
    let gpus = recorded.world.map_or(count, u64::from);
    let mut setup = described(options, model, &gpu, gpus)?;
    (setup.batch, setup.seq) = (batch, seq);
    setup.micro_batches = recorded.micro_batches.or(recorded.accum).map_or(setup.micro_batches, u64::from);
    divide(options, &mut setup, gpus)?;
    setup.check()?;
    let said = said(recorded);
    let observed = Observed::described(setup, gpu.clone(), &said).map_err(PlanError::from)?;
    let network = link(&options.network)?;
    let schedule = observed.setup.parallel.schedule();
    let optimizer = estimate(&observed.setup, &gpu, &network, schedule, EFFICIENCY).optimizer;
    let step = step_ms / 1e3;
    let measured = Measured {
        peak: Some(peak as f64),
        reserved: recorded.max_memory_reserved.map(|bytes| bytes as f64),
        ..Measured::new(step, step, optimizer.min(0.5 * step))
    };
    report(path, options, Calibration::new(observed, gpu, measured)?, None)
}

/// The plan that the options ask for, from a calibrated setup.
fn report(
    path: &Path,
    options: &PlanOptions,
    measured: Calibration,
    case: Option<&Case<'_>>,
) -> Result<PlanReport, Failure> {
    let mut setup: Setup = measured.observed.setup.clone();
    change(options, &mut setup);
    let (mut gpu, gpus) = match options.gpu {
        Some(_) => machine(options)?,
        None => (measured.gpu.clone(), setup.parallel.world()),
    };
    faster(&mut gpu, options);
    let calibration = measured.clone().on(gpu.clone());
    let site = Site { gpu, gpus, network: link(&options.network)? };
    let known = calibration.compares(&setup) || options.global_batch.is_some() && calibration.alike(&setup);
    // A rate that is stated is not the measured one.
    let by_pace = known && options.efficiency.is_none();
    let plan = match options.global_batch {
        Some(global_batch) => around(options, setup, site, global_batch, &calibration, by_pace)?,
        None => one(options, setup, site, &calibration, by_pace)?,
    };
    // Of a whole step as it was measured, nothing is estimated.
    let same = plan.search.is_none()
        && plan.setup == measured.observed.setup
        && !calibration.moved()
        && options.efficiency.is_none();
    let (_, allocated) = calibration.memory(&plan.setup);
    let step = match (by_pace, options.efficiency) {
        (true, _) => Paced::Measured(calibration.estimate(&plan.setup, &plan.network, plan.schedule).1),
        (false, Some(_)) => Paced::Stated,
        (false, None) => Paced::Unlike,
    };
    let returned = if same { give_back(case, &measured, options.free, &plan.network) } else { Vec::new() };
    let larger = if same { larger_batch(&measured, options.free, MOST) } else { None };
    let about = CalibratedPlan {
        path: path.display().to_string(),
        basis: case.map_or(Basis::Measured, |case| case.basis),
        traced: case.is_some(),
        returned,
        larger,
        calibration,
        same,
        allocated,
        step,
    };
    Ok(PlanReport { calibrated: Some(about), ..plan })
}

/// The one strategy that the options name.
fn one(
    options: &PlanOptions,
    mut setup: Setup,
    site: Site,
    calibration: &Calibration,
    by_pace: bool,
) -> Result<PlanReport, PlanError> {
    divide(options, &mut setup, site.gpus)?;
    setup.check()?;
    let schedule = options.schedule.unwrap_or(setup.parallel.schedule());
    let (memory, _) = calibration.memory(&setup);
    let (estimate, efficiency) = if by_pace {
        (calibration.estimate(&setup, &site.network, schedule).0, calibration.efficiency())
    } else {
        let efficiency = options.efficiency.unwrap_or(EFFICIENCY);
        (estimate(&setup, &site.gpu, &site.network, schedule, efficiency), efficiency)
    };
    Ok(Judged { setup, schedule, memory, estimate, efficiency }.report(site, options))
}

/// The best of all strategies for the measured network, with what was measured of its memory and its pace.
fn around(
    options: &PlanOptions,
    setup: Setup,
    site: Site,
    global_batch: u64,
    calibration: &Calibration,
    by_pace: bool,
) -> Result<PlanReport, PlanError> {
    let base = Setup { parallel: Parallel::default(), micro_batches: 1, offload: Offload::None, ..setup };
    let known = Box::new(calibration.clone());
    let (rates, efficiency) = if by_pace {
        (Rates::Measured(known), calibration.long_efficiency())
    } else {
        let efficiency = options.efficiency.unwrap_or(EFFICIENCY);
        (Rates::Remembered(known, efficiency), efficiency)
    };
    searched(options, base, site, global_batch, rates, efficiency)
}
