//! How busy a GPU was, from NVML's samples.
//!
//! *Resident* is the mean of `graphics_util`, which integrates over the time between two samples and is weighted by it: the share
//! of time with a kernel or collective on the GPU, copy engines not counted. Rows that were taken too soon
//! after the last one, which have no `dram_bw_util`, are left out. Cards without these counters give
//! `util_gpu` instead, which only samples.

use std::collections::BTreeMap;

use whyidle_model::Table;

/// Clock-event bits that mean trouble: hardware slow-down, thermal limits, power brake. (The software power
/// cap, bit 4, is the normal state of a busy card.)
pub const TROUBLE: u64 = 0x08 | 0x20 | 0x40 | 0x80;
/// Any bit but idle, application clocks and the display's.
const SW_POWER_CAP: u64 = 0x04;
/// Columns in percent.
const SHARES: [&str; 7] =
    ["util_gpu", "util_mem", "graphics_util", "sm_util", "sm_occupancy", "any_tensor_util", "dram_bw_util"];
/// Counters that are read at slightly different times may add up to a little more than 100 %.
const MOST_PERCENT: f64 = 105.0;
/// A trouble bit in this share of the samples is no burst.
const OFTEN: f64 = 0.1;

/// What was seen of one GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuSignals {
    /// Physical number.
    pub index: u32,
    /// Samples that count.
    pub samples: u32,
    /// Share of time with something resident.
    pub resident: f64,
    /// `resident` comes from the card's own counters, not from NVML's sampled utilisation.
    pub is_counted: bool,
    /// Mean of NVML's utilisation, as `nvidia-smi` shows it.
    pub util: Option<f64>,
    /// Mean share of time in which memory was read or written.
    pub util_memory: Option<f64>,
    /// Mean share of multiprocessors with work.
    pub sm: Option<f64>,
    /// Mean share of warps.
    pub occupancy: Option<f64>,
    /// Mean use of the tensor cores.
    pub tensor: Option<f64>,
    /// Mean use of memory bandwidth.
    pub dram: Option<f64>,
    /// Mean use of the fp32 units.
    pub fp32: Option<f64>,
    /// Mean power, W.
    pub power_w: Option<f64>,
    /// Power limit, W.
    pub limit_w: Option<f64>,
    /// Mean clock of the multiprocessors, MHz.
    pub sm_mhz: Option<f64>,
    /// Highest memory in use, and all of it, bytes.
    pub memory: Option<(f64, f64)>,
    /// Mean rate of copies from the host, bytes per second.
    pub pcie_rx: Option<f64>,
    /// Mean rate over NVLink, bytes per second.
    pub nvlink_rx: Option<f64>,
    /// Share of samples with a clock-event bit that means trouble.
    pub throttled: f64,
    /// Share of samples at the software power cap.
    pub capped: f64,
    /// Trouble bits that were seen often.
    pub trouble: u64,
    /// Shares that no card reports: below 0 or above 100 %. The file is damaged; they are left out.
    pub implausible: u32,
    /// The busy share as it was sampled: ns of Unix time, 0–1.
    pub series: Vec<(i64, f64)>,
    /// Standard deviation of the busy share between samples, relative to its mean.
    pub swing: f64,
}

impl GpuSignals {
    /// Mean power as a share of its limit; `None` where either is unknown.
    #[must_use]
    pub fn power_share(&self) -> Option<f64> {
        self.power_w.zip(self.limit_w.filter(|limit| *limit > 0.0)).map(|(power, limit)| power / limit)
    }
}

/// The GPU of the program and the others. `wanted`: its number, where known; else the one with most memory in
/// use, since a program holds memory on the card it drives.
#[must_use]
pub fn gpus(table: &Table, wanted: Option<u32>) -> (Option<GpuSignals>, Vec<GpuSignals>) {
    let mut all: Vec<GpuSignals> =
        table.keys("gpu").into_iter().filter_map(|index| one(table, index)).collect();
    let memory = |gpu: &GpuSignals| gpu.memory.map_or(0.0, |memory| memory.0);
    let at = wanted.and_then(|wanted| all.iter().position(|gpu| gpu.index == wanted)).or_else(|| {
        let by_memory = |a: &usize, b: &usize| {
            memory(&all[*a]).total_cmp(&memory(&all[*b])).then(all[*a].resident.total_cmp(&all[*b].resident))
        };
        (0..all.len()).rev().max_by(by_memory)
    });
    let own = at.map(|at| all.remove(at));
    (own, all)
}

fn one(table: &Table, index: u32) -> Option<GpuSignals> {
    let rows: Vec<usize> = table.rows_of("gpu", f64::from(index)).collect();
    // A row without DRAM activity was taken too soon: all its counters read 0.
    let valid: Vec<usize> =
        rows.iter().copied().filter(|&row| table.number("dram_bw_util", row).is_some()).collect();
    let is_share = |column: &str| SHARES.contains(&column);
    let plausible = |column: &str, value: &f64| !is_share(column) || (0.0..=MOST_PERCENT).contains(value);
    // A counter speaks for the time since the sample before it; the first one's stretch is not known.
    let since: BTreeMap<usize, f64> =
        rows.windows(2).map(|pair| (pair[1], (table.t[pair[1]] - table.t[pair[0]]).max(0) as f64)).collect();
    let mean = |column: &str, rows: &[usize]| {
        let values: Vec<(f64, f64)> = rows
            .iter()
            .filter_map(|&row| Some((table.number(column, row)?, since.get(&row).copied().unwrap_or(0.0))))
            .filter(|(value, _)| plausible(column, value))
            .collect();
        let time: f64 = values.iter().map(|(_, time)| time).sum();
        if time > 0.0 && !column.starts_with("util_") {
            return Some(values.iter().map(|(value, time)| value * time).sum::<f64>() / time);
        }
        (!values.is_empty()).then(|| values.iter().map(|(value, _)| value).sum::<f64>() / values.len() as f64)
    };
    let most = |column: &str| rows.iter().filter_map(|&row| table.number(column, row)).max_by(f64::total_cmp);
    let counted = mean("graphics_util", &valid);
    let util = mean("util_gpu", &rows);
    let resident = counted.or(util)? / 100.0;
    let (column, series) = if counted.is_some() { ("graphics_util", &valid) } else { ("util_gpu", &rows) };
    let busy: Vec<f64> = series
        .iter()
        .filter_map(|&row| table.number(column, row))
        .filter(|value| plausible(column, value))
        .map(|value| value / 100.0)
        .collect();
    let implausible = SHARES.iter().flat_map(|column| {
        rows.iter().filter_map(|&row| table.number(column, row).filter(|value| !plausible(column, value)))
    });
    let share = |value: Option<f64>| value.map(|value| value / 100.0);
    let mega = |value: Option<f64>| value.map(|value| value * 1e6);
    let bits: Vec<u64> = rows
        .iter()
        .filter_map(|&row| table.number("throttle_reasons", row))
        .map(|bits| bits as u64)
        .collect();
    let bits_share =
        |mask: u64| bits.iter().filter(|&&set| set & mask != 0).count() as f64 / bits.len().max(1) as f64;
    let trouble =
        (0..9).map(|bit| 1_u64 << bit).filter(|&bit| bit & TROUBLE != 0 && bits_share(bit) >= OFTEN);
    Some(GpuSignals {
        index,
        samples: u32::try_from(busy.len()).unwrap_or(u32::MAX),
        resident: resident.clamp(0.0, 1.0),
        is_counted: counted.is_some(),
        util: share(util),
        util_memory: share(mean("util_mem", &rows)),
        sm: share(mean("sm_util", &valid)),
        occupancy: share(mean("sm_occupancy", &valid)),
        tensor: share(mean("any_tensor_util", &valid)),
        dram: share(mean("dram_bw_util", &valid)),
        fp32: share(mean("fp32_util", &valid)),
        power_w: mean("power_mw", &rows).map(|mw| mw / 1e3),
        limit_w: mean("power_limit_mw", &rows).map(|mw| mw / 1e3),
        sm_mhz: mean("sm_mhz", &rows),
        memory: most("mem_used").zip(most("mem_total")),
        pcie_rx: mega(mean("pcie_rx_per_sec", &valid)),
        nvlink_rx: mega(mean("nvlink_total_rx_per_sec", &valid)),
        throttled: bits_share(TROUBLE),
        capped: bits_share(SW_POWER_CAP),
        trouble: trouble.fold(0, |all, bit| all | bit),
        implausible: u32::try_from(implausible.count()).unwrap_or(u32::MAX),
        series: series
            .iter()
            .filter_map(|&row| Some((table.t[row], table.number(column, row)?)))
            .filter(|(_, value)| plausible(column, value))
            .map(|(t, value)| (t, value / 100.0))
            .collect(),
        swing: swing(&busy),
    })
}

fn swing(busy: &[f64]) -> f64 {
    let n = busy.len().max(1) as f64;
    let mean = busy.iter().sum::<f64>() / n;
    let variance = busy.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
    if mean > 0.0 { variance.sqrt() / mean } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(u32, f64, f64, f64, f64)]) -> Table {
        let mut table = Table { t: (0..rows.len() as i64).collect(), ..Table::default() };
        let mut put = |name: &str, values: Vec<f64>| _ = table.numbers.insert(name.to_owned(), values);
        put("gpu", rows.iter().map(|row| f64::from(row.0)).collect());
        put("util_gpu", rows.iter().map(|row| row.1).collect());
        put("graphics_util", rows.iter().map(|row| row.2).collect());
        put("dram_bw_util", rows.iter().map(|row| row.3).collect());
        put("mem_used", rows.iter().map(|row| row.4).collect());
        put("mem_total", rows.iter().map(|_| 100.0).collect());
        table
    }

    #[test]
    fn rows_taken_too_soon_do_not_count_and_true_zeros_do() {
        let nan = f64::NAN;
        let rows = [
            (0, 90.0, nan, nan, 9.0),
            (0, 90.0, 0.0, nan, 9.0),
            (0, 90.0, 40.0, 12.0, 9.0),
            (0, 90.0, 0.0, 0.0, 9.0),
        ];
        let (own, others) = gpus(&table(&rows), None);
        let own = own.unwrap_or_else(|| panic!("a GPU"));
        assert_eq!((own.resident, own.samples, own.is_counted, own.util), (0.2, 2, true, Some(0.9)));
        assert!(others.is_empty());
    }

    #[test]
    fn a_counter_counts_for_the_time_that_it_integrates_over() {
        let mut table = table(&[(0, 0.0, 0.0, 1.0, 9.0), (0, 0.0, 0.0, 1.0, 9.0), (0, 0.0, 60.0, 1.0, 9.0)]);
        table.t = vec![0, 100, 300];
        let own = gpus(&table, None).0.unwrap_or_else(|| panic!("a GPU"));
        assert!((own.resident - 0.4).abs() < 1e-12, "{}", own.resident);
    }

    #[test]
    fn the_card_in_use_is_taken_and_not_the_first() {
        let rows = [(0, 0.0, 0.0, 0.0, 1.0), (1, 80.0, 70.0, 9.0, 50.0)];
        assert_eq!(gpus(&table(&rows), None).0.map(|gpu| gpu.index), Some(1));
        assert_eq!(gpus(&table(&rows), Some(0)).0.map(|gpu| gpu.index), Some(0));
        assert_eq!(gpus(&Table::default(), None), (None, Vec::new()));
    }

    #[test]
    fn without_counters_the_sampled_utilisation_stands_in() {
        let mut table = table(&[(0, 30.0, 0.0, f64::NAN, 1.0), (0, 50.0, 0.0, f64::NAN, 1.0)]);
        table.numbers.remove("graphics_util");
        let own = gpus(&table, None).0.unwrap_or_else(|| panic!("a GPU"));
        assert_eq!((own.resident, own.is_counted), (0.4, false));
    }
}
