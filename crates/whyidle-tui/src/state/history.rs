//! The last minutes of the chosen line, as curves.

use whyidle_analysis::curves;
use whyidle_model::Samples;

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
        let table = &samples.process;
        let rows = table.rows_of("pid", f64::from(pid)).filter(|&row| inside(table.t[row]));
        curves.push((Curve::Cores, curves::cores(table, rows)));
    }
    curves.retain(|(_, points)| !points.is_empty());
    History { span, curves }
}
