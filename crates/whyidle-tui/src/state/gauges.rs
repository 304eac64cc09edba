//! What each GPU shows now.

use whyidle_analysis::signals::GpuSignals;
use whyidle_analysis::signals::gpu::gpus;
use whyidle_model::Table;

/// Values that are read in every round are means over this long, ns.
const NOW_NS: i64 = 5_000_000_000;
/// Values that are read now and then may be this old, ns.
const LATELY_NS: i64 = 30_000_000_000;

/// What holds a clock down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Throttle {
    /// Nothing.
    None,
    /// The software power limit: the normal state of a busy card.
    Power,
    /// Heat.
    Heat,
    /// The hardware: power brake or slow-down.
    Hardware,
}

/// A GPU. What could not be read is absent, never 0. Shares are of 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Gauge {
    /// Physical number.
    pub gpu: u32,
    /// Share of time with something on it.
    pub busy: Option<f64>,
    /// `busy` is counted by the card, not sampled by the driver.
    pub counted: bool,
    /// Share of multiprocessors at work.
    pub sm: Option<f64>,
    /// Use of the tensor cores.
    pub tensor: Option<f64>,
    /// Use of memory bandwidth.
    pub dram: Option<f64>,
    /// Memory in use, and all of it, bytes.
    pub memory: Option<(f64, f64)>,
    /// Power, W.
    pub power: Option<f64>,
    /// Power limit, W.
    pub limit: Option<f64>,
    /// Clock of the multiprocessors, MHz.
    pub clock: Option<f64>,
    /// What holds the clock down.
    pub throttle: Option<Throttle>,
}

/// Bits of the clock-event reasons that mean heat: software and hardware thermal slow-down.
const HEAT: u64 = 0x20 | 0x40;

/// All GPUs of a table, as they were at `now`.
pub(super) fn gauges(table: &Table, now: i64) -> Vec<Gauge> {
    let lately = table.between(now.saturating_sub(LATELY_NS), now);
    let current = signals(&lately.between(now.saturating_sub(NOW_NS), now));
    let lately_signals = signals(&lately);
    table
        .keys("gpu")
        .into_iter()
        .map(|index| {
            let now = current.iter().find(|gpu| gpu.index == index);
            let slow = lately_signals.iter().find(|gpu| gpu.index == index);
            Gauge {
                gpu: index,
                busy: now.map(|gpu| gpu.resident),
                counted: now.is_some_and(|gpu| gpu.is_counted),
                sm: now.and_then(|gpu| gpu.sm),
                tensor: now.and_then(|gpu| gpu.tensor),
                dram: now.and_then(|gpu| gpu.dram),
                power: now.and_then(|gpu| gpu.power_w),
                memory: slow.and_then(|gpu| gpu.memory),
                limit: slow.and_then(|gpu| gpu.limit_w),
                clock: slow.and_then(|gpu| gpu.sm_mhz),
                throttle: slow.and_then(|gpu| throttle(&lately, gpu)),
            }
        })
        .collect()
}

fn signals(table: &Table) -> Vec<GpuSignals> {
    let (own, others) = gpus(table, None);
    own.into_iter().chain(others).collect()
}

fn throttle(table: &Table, gpu: &GpuSignals) -> Option<Throttle> {
    table.rows_of("gpu", f64::from(gpu.index)).find_map(|row| table.number("throttle_reasons", row))?;
    Some(match gpu.trouble {
        0 if gpu.capped > 0.0 => Throttle::Power,
        0 => Throttle::None,
        bits if bits & HEAT != 0 => Throttle::Heat,
        _ => Throttle::Hardware,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_read_is_absent_and_what_is_old_goes() {
        let mut table = Table { t: vec![0, 40_000_000_000], ..Table::default() };
        table.numbers.insert("gpu".to_owned(), vec![0.0, 0.0]);
        table.numbers.insert("util_gpu".to_owned(), vec![90.0, 40.0]);
        table.numbers.insert("power_mw".to_owned(), vec![300_000.0, f64::NAN]);
        let gauge = &gauges(&table, 41_000_000_000)[0];
        assert_eq!((gauge.busy, gauge.counted, gauge.power, gauge.sm), (Some(0.4), false, None, None));
        assert_eq!((gauge.memory, gauge.throttle), (None, None));
        let gauge = &gauges(&table, 90_000_000_000)[0];
        assert_eq!((gauge.gpu, gauge.busy), (0, None), "the driver fell silent");
    }
}
