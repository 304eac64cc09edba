//! The time per batch, from outside: loader workers hand each batch over by writing the same number of bytes
//! to a pipe (its tensors travel in shared memory), so `wchar` grows in equal quanta.

mod quantum;
#[cfg(test)]
mod tests;

use whyidle_model::Table;

use quantum::{Growth, quantum};

/// Batches that the workers delivered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Batches {
    /// How many.
    pub count: u32,
    /// Bytes written per batch.
    pub quantum: u32,
    /// Mean time between them, ns, with the error of one batch.
    pub period_ns: i64,
    /// Lower end, ns.
    pub low_ns: i64,
    /// Upper end, ns.
    pub high_ns: i64,
}

/// Fewer batches give no mean.
const FEWEST: u32 = 8;
/// Rows before and after one that tell the rate around it.
const AROUND: usize = 2;

/// The batches of the workers with these numbers; `None` where their writing shows no quantum, or may show another.
#[must_use]
pub fn batches(table: &Table, workers: &[u32]) -> Option<Batches> {
    let mut growths: Vec<Growth> = Vec::new();
    for &pid in workers {
        growths.extend(growths_of(table, pid)?);
    }
    let quantum = quantum(&growths)?;
    let grew = || growths.iter().filter(|growth| growth.bytes > 0.0);
    let (first, last) = (grew().map(|growth| growth.t).min()?, grew().map(|growth| growth.t).max()?);
    // What came until the first growth was seen began at a time that nobody saw.
    let mut over: Vec<i64> = growths.iter().map(|growth| growth.over_ns).collect();
    over.sort_unstable();
    let with_first = first.saturating_add(over[over.len() / 2] / 4);
    let bytes =
        |after: i64| growths.iter().filter(|growth| growth.t > after).map(|growth| growth.bytes).sum::<f64>();
    let count = (bytes(i64::MIN) / quantum).round() as u32;
    let since = bytes(with_first) / quantum;
    if count < FEWEST || last <= first || since < f64::from(FEWEST) - 1.0 {
        return None;
    }
    let period = |batches: f64| ((last - first) as f64 / batches.max(1.0)) as i64;
    Some(Batches {
        count,
        quantum: quantum.round() as u32,
        period_ns: period(since),
        low_ns: period(since + 1.0),
        high_ns: period(since - 1.0),
    })
}

/// Sampled much faster than batches come, a batch that is written in parts is seen in parts: growths between two rests are
/// one. Unless two samples of three see none, parts of one batch cannot be told from the next.
fn bursts(growths: Vec<Growth>) -> Vec<Growth> {
    let rests = growths.iter().filter(|growth| growth.bytes <= 0.0).count();
    if 3 * rests <= 2 * growths.len() {
        return growths;
    }
    let mut out: Vec<Growth> = Vec::with_capacity(growths.len());
    for growth in growths {
        match out.last_mut() {
            Some(last) if last.bytes > 0.0 && growth.bytes > 0.0 => {
                *last = Growth {
                    t: growth.t,
                    over_ns: last.over_ns + growth.over_ns,
                    bytes: last.bytes + growth.bytes,
                    ..*last
                };
            }
            _ => out.push(growth),
        }
    }
    out
}

/// What the worker wrote from row to row; `None` where nobody knows, or where it is not one process.
fn growths_of(table: &Table, pid: u32) -> Option<Vec<Growth>> {
    let rows = table.rows_of("pid", f64::from(pid));
    let seen: Vec<(i64, f64)> =
        rows.filter_map(|row| Some((table.t[row], table.number("wchar", row)?))).collect();
    seen.first()?;
    let mut out: Vec<Growth> = Vec::with_capacity(seen.len());
    for pair in seen.windows(2) {
        let [(before, had), (t, has)] = [pair[0], pair[1]];
        if has < had {
            return None;
        }
        let is_first = out.last().is_none_or(|last| last.bytes <= 0.0);
        out.push(Growth { t, over_ns: (t - before).max(0), bytes: has - had, smooth: 0.0, is_first });
    }
    let mut out = bursts(out);
    for at in 0..out.len() {
        let around = at.saturating_sub(AROUND)..(at + AROUND + 1).min(out.len());
        let mut rates: Vec<f64> = around
            .filter(|other| *other != at && out[*other].over_ns > 0)
            .map(|other| out[other].bytes / out[other].over_ns as f64)
            .collect();
        rates.sort_by(f64::total_cmp);
        // A median: one odd growth says nothing of the rate at its neighbours.
        let (low, high) = (rates.len().saturating_sub(1) / 2, rates.len() / 2);
        let rate = rates.get(low).zip(rates.get(high)).map_or(0.0, |(low, high)| f64::midpoint(*low, *high));
        out[at].smooth = rate * out[at].over_ns as f64;
    }
    Some(out)
}
