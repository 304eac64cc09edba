//! What Nsight Compute measured of single kernels, and what those are of a trace's steps.

use std::path::{Path, PathBuf};

use whyidle_analysis::device::devices;
use whyidle_analysis::facts::Facts;
use whyidle_analysis::ncu::{join as join_kernels, kernels, together};
use whyidle_model::{NcuKernels, Trace};
use whyidle_readers::{ReadError, ncu};
use whyidle_report::NcuReport;

use crate::ranks::quality;

/// What the prints say together, weighed by their time in the trace if there is one; and the files that cannot be read.
pub(crate) fn read(
    paths: &[PathBuf],
    trace: Option<(&Path, &Trace)>,
) -> (NcuReport, Vec<(PathBuf, ReadError)>) {
    let (mut profile, mut unread) = (NcuKernels::default(), Vec::new());
    for path in paths {
        if let Err(error) = ncu::read(path, &mut profile) {
            unread.push((path.clone(), error));
        }
    }
    let kernels = kernels(&profile);
    let mut report = NcuReport {
        inputs: paths.iter().map(|path| path.display().to_string()).collect(),
        gpu: profile.gpu.clone(),
        launches: profile.len(),
        together: together(&kernels),
        kernels,
        coverage: None,
        quality: quality(&[&profile.notes]),
        warnings: profile.warnings,
    };
    if let Some((path, trace)) = trace {
        join(&mut report, path, trace);
    }
    (report, unread)
}

/// Weighs the kernels by their time in a trace, on the GPU that works most.
fn join(report: &mut NcuReport, path: &Path, trace: &Trace) {
    let facts = Facts::new(trace);
    let device = devices(trace)
        .into_iter()
        .map(|device| facts.device(trace, device, |_| true))
        .max_by_key(|device| device.occupancy.working_ns);
    let Some(device) = device else { return };
    let coverage = join_kernels(&mut report.kernels, trace, &facts, &device);
    report.together = together(&report.kernels);
    report.coverage = Some((path.display().to_string(), coverage));
}
