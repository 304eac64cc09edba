//! The last minutes of the chosen line, as curves.

use whyidle_model::{Samples, Table};

use super::State;

/// The curves begin at most this long ago, ns.
const LONGEST_NS: i64 = 600_000_000_000;
/// And at least this long ago, so that they do not race at the start.
const SHORTEST_NS: i64 = 60_000_000_000;

/// What a curve shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// Share of time with something on the GPU.
    Busy,
    /// Share of multiprocessors at work.
    Sm,
    /// Power as a share of its limit.
    Power,
    /// Memory in use as a share of all.
    Memory,
    /// Cores that the driving process uses; a full column is one core.
    Cores,
}

/// Curves over one stretch of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// How long ago they begin, ns.
    pub span: i64,
    /// Points, oldest first: ns of Unix time and a share of the full column.
    pub curves: Vec<(Curve, Vec<(i64, f64)>)>,
}

pub(super) fn history(samples: &Samples, state: &State) -> History {
    let span = (state.now - state.first).clamp(SHORTEST_NS, LONGEST_NS);
    let from = state.now.saturating_sub(span);
    let gauge = state.row().and_then(|row| state.gauges.get(row.gauge?));
    let table = &samples.gpu;
    let inside = |t: i64| (from..=state.now).contains(&t);
    let mut curves = Vec::new();
    if let Some(gauge) = gauge {
        let rows: Vec<usize> =
            table.rows_of("gpu", f64::from(gauge.gpu)).filter(|&row| inside(table.t[row])).collect();
        let curve = |value: &dyn Fn(usize) -> Option<f64>| -> Vec<(i64, f64)> {
            rows.iter().filter_map(|&row| Some((table.t[row], value(row)?))).collect()
        };
        // Rows without DRAM activity were taken too soon.
        let counted = |column: &'static str| {
            move |row: usize| {
                table.number("dram_bw_util", row)?;
                table.number(column, row).map(|value| value / 100.0)
            }
        };
        let busy = curve(&counted("graphics_util"));
        let sampled = |row| table.number("util_gpu", row).map(|value| value / 100.0);
        curves.push((Curve::Busy, if busy.is_empty() { curve(&sampled) } else { busy }));
        curves.push((Curve::Sm, curve(&counted("sm_util"))));
        if let Some(limit) = gauge.limit.filter(|limit| *limit > 0.0) {
            let power = |row| table.number("power_mw", row).map(|value| value / 1e3 / limit);
            curves.push((Curve::Power, curve(&power)));
        }
        let memory = |row| Some(table.number("mem_used", row)? / table.number("mem_total", row)?);
        curves.push((Curve::Memory, curve(&memory)));
    }
    if let Some(pid) = state.program().and_then(|(_, program)| program.pid) {
        curves.push((Curve::Cores, cores(&samples.process, pid, &inside)));
    }
    curves.retain(|(_, points)| !points.is_empty());
    History { span, curves }
}

/// CPU seconds per second between two rows of a process; they are counted in hundredths, so rows are not closer
/// than half a second.
fn cores(table: &Table, pid: u32, inside: &dyn Fn(i64) -> bool) -> Vec<(i64, f64)> {
    const APART_NS: i64 = 500_000_000;
    let mut points = Vec::new();
    let mut before: Option<(i64, f64)> = None;
    for row in table.rows_of("pid", f64::from(pid)).filter(|&row| inside(table.t[row])) {
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

impl History {
    /// A curve in `columns` columns that end at `now`: the mean of each; `None` where nothing was sampled for
    /// longer than a column.
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
        let gaps: Vec<i64> = points.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        let mut sorted = gaps;
        sorted.sort_unstable();
        let usual = sorted.get(sorted.len() / 2).copied().unwrap_or(0);
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_means_and_silence_is_a_gap() {
        let points = [(10, 0.25), (11, 0.75), (31, 1.0)];
        assert_eq!(History::columns(&points, 39, 40, 4), [None, Some(0.5), Some(0.5), Some(1.0)]);
        let silent = [(0, 0.5), (1, 0.5), (2, 0.5), (90, 0.5)];
        let columns = History::columns(&silent, 99, 100, 10);
        assert_eq!(columns.iter().filter(|column| column.is_none()).count(), 8);
        assert_eq!(History::columns(&[], 9, 10, 3), [None, None, None]);
        assert!(History::columns(&points, 39, 40, 0).is_empty());
    }
}
