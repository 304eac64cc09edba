//! Samples as curves over time: what the GPU's counters and the processes' CPU clocks said, in columns of equal length.

use whyidle_model::{Samples, Table};

/// Rows of a process are not closer than this: CPU time is counted in hundredths of a second.
const APART_NS: i64 = 500_000_000;
/// Loader workers that get a curve of their own: those with the lowest numbers.
const WORKERS: usize = 16;

/// Curves over one stretch of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// From the first sample to the last, ns.
    pub span: i64,
    /// Columns of every curve; each stands for `span / columns`.
    pub columns: usize,
    /// The curves, the GPU's first.
    pub curves: Vec<Curve>,
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The instrument: `gpu.resident`, `gpu.util`, `gpu.sm`, `gpu.tensor`, `gpu.dram`, `gpu.power` as shares of the
    /// whole; `cpu.program`, `cpu.worker` in cores.
    pub id: &'static str,
    /// Of processes: which.
    pub pid: Option<u32>,
    /// Mean of each column; `None` where nothing was sampled.
    pub values: Vec<Option<f64>>,
}

/// Times, ns, and values.
type Points = Vec<(i64, f64)>;

/// Who is looked at.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// Physical number of the GPU; none: the first with samples.
    pub gpu: Option<u32>,
    /// The process that drives it.
    pub driver: Option<u32>,
    /// Its loader workers.
    pub workers: Vec<u32>,
}

/// The curves of `samples` in so many columns; none without samples.
#[must_use]
pub fn curves(samples: &Samples, chosen: &Chosen, columns: usize) -> Curves {
    let times = || samples.gpu.t.iter().chain(&samples.process.t);
    let Some((first, last)) = times().min().zip(times().max()) else { return Curves::default() };
    let span = (last - first).max(1);
    let mut found: Vec<(&'static str, Option<u32>, Points)> = Vec::new();
    let gpu = chosen.gpu.or_else(|| samples.gpu.keys("gpu").first().copied());
    if let Some(gpu) = gpu {
        found.extend(of_gpu(&samples.gpu, gpu).into_iter().map(|(id, points)| (id, None, points)));
    }
    let workers = chosen.workers.iter().take(WORKERS).map(|&pid| ("cpu.worker", pid));
    for (id, pid) in chosen.driver.iter().map(|&pid| ("cpu.program", pid)).chain(workers) {
        let rows = samples.process.rows_of("pid", f64::from(pid));
        found.push((id, Some(pid), cores(&samples.process, rows)));
    }
    let curves = found
        .into_iter()
        .filter(|(_, _, points)| points.len() > 1)
        .map(|(id, pid, points)| Curve { id, pid, values: self::columns(&points, *last, span, columns) })
        .collect();
    Curves { span, columns, curves }
}

/// A GPU's counters; where there are none, NVML's sampled utilisation.
fn of_gpu(table: &Table, gpu: u32) -> Vec<(&'static str, Points)> {
    let rows: Vec<usize> = table.rows_of("gpu", f64::from(gpu)).collect();
    let points = |value: &dyn Fn(usize) -> Option<f64>| -> Points {
        rows.iter().filter_map(|&row| Some((table.t[row], value(row)?))).collect()
    };
    // A row without DRAM activity was taken too soon after the one before: its counters read 0.
    let counted = |column: &'static str| {
        points(&|row| {
            table.number("dram_bw_util", row)?;
            table.number(column, row).map(|percent| percent / 100.0)
        })
    };
    let share = |of: &'static str, whole: &'static str| {
        points(&|row| Some(table.number(of, row)? / table.number(whole, row).filter(|whole| *whole > 0.0)?))
    };
    let resident = counted("graphics_util");
    let busy = if resident.is_empty() {
        ("gpu.util", points(&|row| table.number("util_gpu", row).map(|percent| percent / 100.0)))
    } else {
        ("gpu.resident", resident)
    };
    vec![
        busy,
        ("gpu.sm", counted("sm_util")),
        ("gpu.tensor", counted("any_tensor_util")),
        ("gpu.dram", counted("dram_bw_util")),
        ("gpu.power", share("power_mw", "power_limit_mw")),
    ]
}

/// CPU seconds per second between rows of one process that are at least half a second apart: cores it used.
#[must_use]
pub fn cores(table: &Table, rows: impl Iterator<Item = usize>) -> Vec<(i64, f64)> {
    let mut points = Vec::new();
    let mut before: Option<(i64, f64)> = None;
    for row in rows {
        let Some(used) = table.number("user_s", row).zip(table.number("sys_s", row)) else { continue };
        let (t, used) = (table.t[row], used.0 + used.1);
        match before {
            Some((at, had)) if t - at >= APART_NS => {
                points.push((t, (used - had).max(0.0) / ((t - at) as f64 / 1e9)));
                before = Some((t, used));
            }
            Some(_) => {}
            None => before = Some((t, used)),
        }
    }
    points
}

/// A curve in `columns` columns that end at `now`: the mean of each; `None` where nothing was sampled for longer than a
/// column.
#[must_use]
pub fn columns(points: &[(i64, f64)], now: i64, span: i64, columns: usize) -> Vec<Option<f64>> {
    let mut sums = vec![(0.0, 0_u32); columns];
    let width = (span / (columns.max(1) as i64)).max(1);
    for &(t, value) in points {
        let ago = now - t;
        let back = (ago / width) as usize;
        if ago >= 0 && back < columns {
            let at = columns - 1 - back;
            sums[at] = (sums[at].0 + value, sums[at].1 + 1);
        }
    }
    let mut means: Vec<Option<f64>> =
        sums.into_iter().map(|(sum, count)| (count > 0).then(|| sum / f64::from(count))).collect();
    // Columns narrower than the pace of sampling are bridged, a silence is not.
    let mut gaps: Vec<i64> = points.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    gaps.sort_unstable();
    let usual = gaps.get(gaps.len() / 2).copied().unwrap_or(0);
    let bridged = (2 * usual / width) as usize;
    let mut last: Option<(usize, f64)> = None;
    for (at, mean) in means.iter_mut().enumerate() {
        match (*mean, last) {
            (Some(value), _) => last = Some((at, value)),
            (None, Some((from, value))) if at - from <= bridged => *mean = Some(value),
            (None, _) => {}
        }
    }
    means
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_means_and_silence_is_a_gap() {
        let points = [(10, 0.25), (11, 0.75), (31, 1.0)];
        assert_eq!(columns(&points, 39, 40, 4), [None, Some(0.5), Some(0.5), Some(1.0)]);
        let silent = [(0, 0.5), (1, 0.5), (2, 0.5), (90, 0.5)];
        let quiet = columns(&silent, 99, 100, 10).iter().filter(|column| column.is_none()).count();
        assert_eq!(quiet, 8);
        assert_eq!(columns(&[], 9, 10, 3), [None, None, None]);
        assert!(columns(&points, 39, 40, 0).is_empty());
    }

    #[test]
    fn a_card_without_counters_shows_its_utilisation_and_a_process_its_cores() {
        let mut samples = Samples::default();
        samples.gpu.t = (0..10).map(|at| at * 100_000_000).collect();
        samples.gpu.numbers.insert("gpu".to_owned(), vec![3.0; 10]);
        samples.gpu.numbers.insert("util_gpu".to_owned(), vec![50.0; 10]);
        samples.process.t = vec![0, 500_000_000, 900_000_000];
        samples.process.numbers.insert("pid".to_owned(), vec![7.0; 3]);
        samples.process.numbers.insert("user_s".to_owned(), vec![1.0, 1.25, 1.65]);
        samples.process.numbers.insert("sys_s".to_owned(), vec![0.0; 3]);
        let found = curves(&samples, &Chosen { driver: Some(7), ..Chosen::default() }, 4);
        let ids: Vec<&str> = found.curves.iter().map(|curve| curve.id).collect();
        // Two rows of the process are half a second apart: one point makes no curve.
        assert_eq!(ids, ["gpu.util"]);
        assert_eq!(found.curves[0].values, [Some(0.5); 4]);
        let rows = samples.process.rows_of("pid", 7.0);
        assert_eq!(cores(&samples.process, rows), [(500_000_000, 0.5)]);
    }
}
