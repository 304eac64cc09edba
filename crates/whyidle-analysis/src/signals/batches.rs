//! The time per batch, from outside: loader workers hand each batch over by writing the same number of bytes
//! to a pipe (its tensors travel in shared memory), so `wchar` grows in equal quanta.

use std::f64::consts::TAU;

use whyidle_model::Table;

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

/// No batch is handed over in fewer bytes: the pickled handles of one shared tensor.
const SMALLEST: u32 = 400;
const LARGEST: u32 = 4_096;
/// Fewer batches give no mean.
const FEWEST: u32 = 8;
/// How well multiples of the quantum must meet the growth, 0–1.
const FIT: f64 = 0.6;

/// The batches of the workers with these numbers; `None` where their writing shows no quantum.
#[must_use]
pub fn batches(table: &Table, workers: &[u32]) -> Option<Batches> {
    let mut growths: Vec<f64> = Vec::new();
    let (mut total, mut first_t, mut last_t) = (0.0, i64::MAX, i64::MIN);
    for &pid in workers {
        let rows: Vec<usize> = table.rows_of("pid", f64::from(pid)).collect();
        let start = rows.first().and_then(|&row| table.number("wchar", row))?;
        let mut before = start;
        for &row in &rows {
            let Some(now) = table.number("wchar", row) else { continue };
            if now < before {
                return None;
            }
            if now > before {
                first_t = first_t.min(table.t[row]);
                last_t = last_t.max(table.t[row]);
            }
            growths.push(now - start);
            before = now;
        }
        total += before - start;
    }
    let plateaus: Vec<f64> = growths.into_iter().filter(|growth| *growth > 0.0).collect();
    if plateaus.is_empty() {
        return None;
    }
    let fit = |quantum: f64| {
        let (mut re, mut im) = (0.0, 0.0);
        for growth in &plateaus {
            let (sin, cos) = (TAU * growth / quantum).sin_cos();
            re += cos;
            im += sin;
        }
        re.hypot(im) / plateaus.len() as f64
    };
    let best = (SMALLEST..=LARGEST)
        .map(|q| (q, fit(f64::from(q))))
        .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    let count = (total / f64::from(best.0)).round() as u32;
    if best.1 < FIT || count < FEWEST || last_t <= first_t {
        return None;
    }
    let span = (last_t - first_t) as f64;
    let period = |batches: u32| (span / f64::from(batches.max(1))) as i64;
    Some(Batches {
        count,
        quantum: best.0,
        period_ns: period(count - 1),
        low_ns: period(count),
        high_ns: period(count - 2),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two workers that write a batch of 668 bytes in turn every 50 ms, sampled every 60 ms.
    fn table(quantum: f64, batches: i64) -> Table {
        let mut table = Table::default();
        let (mut pids, mut written) = (Vec::new(), Vec::new());
        for sample in 0..(batches * 50 / 60) {
            for pid in [11_i64, 12] {
                let t = sample * 60_000_000;
                let own = (t / 50_000_000 + (pid - 11)) / 2;
                table.t.push(t);
                pids.push(pid as f64);
                written.push(9_000.0 + own as f64 * quantum);
            }
        }
        table.numbers.insert("pid".to_owned(), pids);
        table.numbers.insert("wchar".to_owned(), written);
        table
    }

    #[test]
    fn quanta_are_counted_as_batches() {
        let found = batches(&table(668.0, 80), &[11, 12]).unwrap_or_else(|| panic!("batches"));
        assert_eq!(found.quantum, 668);
        let error = (found.period_ns - 50_000_000).abs() as f64 / 50e6;
        assert!(
            error < 0.04 && found.low_ns < found.period_ns && found.period_ns < found.high_ns,
            "{found:?}"
        );
    }

    #[test]
    fn writing_without_a_quantum_counts_nothing() {
        let mut table = table(668.0, 80);
        if let Some(written) = table.numbers.get_mut("wchar") {
            for (at, value) in written.iter_mut().enumerate() {
                *value = 9_000.0 + (at as f64).powf(2.3) * 37.0;
            }
        }
        assert_eq!(batches(&table, &[11, 12]), None);
        assert_eq!(batches(&Table::default(), &[11]), None);
    }
}
