//! The text that DCGM's exporter serves (`curl host:9400/metrics`), once or several times one after the other.
//!
//! Form: Prometheus' exposition format, `NAME{label="value",…} VALUE [MILLISECONDS]`. A scrape carries no time unless the
//! server adds one; a metric of a card that comes again begins the next scrape. Names and units: DCGM's field list
//! (`dcgm_fields.h`) and the comments that the exporter prints: `DCGM_FI_PROF_*_ACTIVE` are shares 0–1, power W, clocks
//! MHz, framebuffer MiB, PCIe and NVLink bytes per second. Rows of MIG instances (`GPU_I_ID`) are left out: what they
//! share of a card cannot be added up.

use std::collections::BTreeMap;

use whyidle_model::{CardFacts, NoteCode};

use crate::budget::Guard;
use crate::logs::{Clock, Log, Rows, SECOND};

const MIB: f64 = 1_048_576.0;

/// Fields, the columns that they become, and what they are multiplied by.
const FIELDS: [(&str, &str, f64); 23] = [
    ("DCGM_FI_DEV_GPU_UTIL", "util_gpu", 1.0),
    ("DCGM_FI_DEV_MEM_COPY_UTIL", "util_mem", 1.0),
    ("DCGM_FI_DEV_POWER_USAGE", "power_mw", 1e3),
    ("DCGM_FI_DEV_POWER_MGMT_LIMIT", "power_limit_mw", 1e3),
    ("DCGM_FI_DEV_SM_CLOCK", "sm_mhz", 1.0),
    ("DCGM_FI_DEV_MEM_CLOCK", "mem_mhz", 1.0),
    ("DCGM_FI_DEV_GPU_TEMP", "temp_c", 1.0),
    ("DCGM_FI_DEV_FB_USED", "mem_used", MIB),
    ("DCGM_FI_DEV_FB_TOTAL", "mem_total", MIB),
    ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "throttle_reasons", 1.0),
    ("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "throttle_reasons", 1.0),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "graphics_util", 100.0),
    ("DCGM_FI_PROF_SM_ACTIVE", "sm_util", 100.0),
    ("DCGM_FI_PROF_SM_OCCUPANCY", "sm_occupancy", 100.0),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "any_tensor_util", 100.0),
    ("DCGM_FI_PROF_DRAM_ACTIVE", "dram_bw_util", 100.0),
    ("DCGM_FI_PROF_PIPE_FP64_ACTIVE", "fp64_util", 100.0),
    ("DCGM_FI_PROF_PIPE_FP32_ACTIVE", "fp32_util", 100.0),
    ("DCGM_FI_PROF_PIPE_FP16_ACTIVE", "fp16_util", 100.0),
    ("DCGM_FI_PROF_PCIE_TX_BYTES", "pcie_tx_per_sec", 1e-6),
    ("DCGM_FI_PROF_PCIE_RX_BYTES", "pcie_rx_per_sec", 1e-6),
    ("DCGM_FI_PROF_NVLINK_TX_BYTES", "nvlink_total_tx_per_sec", 1e-6),
    ("DCGM_FI_PROF_NVLINK_RX_BYTES", "nvlink_total_rx_per_sec", 1e-6),
];
/// Not columns themselves: with what is used they make up all of the memory.
const REST_OF_MEMORY: [&str; 2] = ["DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_RESERVED"];

pub(crate) fn is_print(head: &str) -> bool {
    head.lines().any(|line| line.starts_with("DCGM_FI_") && line.contains('{') && line.contains("gpu="))
}

/// One card in one scrape.
#[derive(Default)]
struct Scrape {
    t: Option<i64>,
    values: BTreeMap<&'static str, f64>,
}

pub(crate) fn parse(text: &str, guard: &mut Guard) -> Log {
    let mut log = Log::default();
    let mut current: BTreeMap<u32, Scrape> = BTreeMap::new();
    let (mut rows, mut scrapes, mut timed, mut untimed) = (Rows::default(), 0_i64, 0_u64, 0_u64);
    let mut close = |current: &mut BTreeMap<u32, Scrape>, rows: &mut Rows| {
        if current.is_empty() {
            return;
        }
        scrapes += 1;
        for (gpu, scrape) in std::mem::take(current) {
            let of = |name: &str| scrape.values.get(name).copied();
            let mut numbers = vec![("gpu", f64::from(gpu))];
            for (field, column, scale) in FIELDS {
                numbers.extend(of(field).map(|value| (column, value * scale)));
            }
            if let (None, Some(used), Some(free)) =
                (of("DCGM_FI_DEV_FB_TOTAL"), of("DCGM_FI_DEV_FB_USED"), of(REST_OF_MEMORY[0]))
            {
                numbers.push(("mem_total", (used + free + of(REST_OF_MEMORY[1]).unwrap_or(0.0)) * MIB));
            }
            if scrape.t.is_some() {
                timed += 1;
            } else {
                untimed += 1;
            }
            rows.push(scrape.t.unwrap_or(scrapes * SECOND), &numbers, &[]);
        }
    };
    for line in guard.lines(text).filter(|line| line.starts_with("DCGM_FI_")) {
        let Some((name, labels, value, t)) = split(line) else {
            log.notes.add(NoteCode::MalformedEvent, None);
            continue;
        };
        let label =
            |wanted: &str| labels.iter().find(|(name, _)| *name == wanted).map_or("", |(_, value)| *value);
        let Ok(gpu) = label("gpu").parse::<u32>() else {
            log.notes.add(NoteCode::MalformedEvent, None);
            continue;
        };
        facts(&mut log, gpu, &label);
        if !label("GPU_I_ID").is_empty() {
            log.notes.add(NoteCode::Unused, None);
            continue;
        }
        let known =
            FIELDS.iter().map(|(field, ..)| *field).chain(REST_OF_MEMORY).find(|field| *field == name);
        let Some(field) = known else { continue };
        if current.get(&gpu).is_some_and(|scrape| scrape.values.contains_key(field)) {
            close(&mut current, &mut rows);
        }
        let scrape = current.entry(gpu).or_default();
        scrape.values.insert(field, value);
        scrape.t = scrape.t.or(t);
    }
    close(&mut current, &mut rows);
    log.samples.gpu = rows.finish(&mut log.notes);
    log.rows = log.samples.gpu.len() as u64;
    log.clock = if timed > 0 && untimed == 0 { Clock::Unix } else { Clock::None };
    log
}

fn facts<'a>(log: &mut Log, gpu: u32, label: &dyn Fn(&str) -> &'a str) {
    if log.machine.driver.is_empty() {
        label("DCGM_FI_DRIVER_VERSION").clone_into(&mut log.machine.driver);
    }
    let is_mig = !label("GPU_I_ID").is_empty();
    match log.machine.cards.iter_mut().find(|card| card.index == gpu) {
        Some(card) => card.mig = card.mig.or(is_mig.then_some(true)),
        None => log.machine.cards.push(CardFacts {
            index: gpu,
            uuid: label("UUID").to_owned(),
            bus: label("pci_bus_id").to_owned(),
            name: label("modelName").to_owned(),
            mig: is_mig.then_some(true),
            ..CardFacts::default()
        }),
    }
}

type Line<'a> = (&'a str, Vec<(&'a str, &'a str)>, f64, Option<i64>);

/// Name, labels, value, and the time in ns where one is given.
fn split(line: &str) -> Option<Line<'_>> {
    let (name, rest) = line.split_once('{')?;
    let (mut labels, mut rest) = (Vec::new(), rest);
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(after) = rest.strip_prefix('}') {
            rest = after;
            break;
        }
        let (label, after) = rest.split_once("=\"")?;
        // A quote in a value is escaped.
        let end = (0..after.len())
            .find(|&at| after.as_bytes()[at] == b'"' && (at == 0 || after.as_bytes()[at - 1] != b'\\'))?;
        labels.push((label, &after[..end]));
        rest = &after[end + 1..];
    }
    let mut words = rest.split_whitespace();
    let value = words.next()?.parse().ok().filter(|value: &f64| value.is_finite())?;
    let t = words
        .next()
        .and_then(|word| word.parse::<i64>().ok())
        .and_then(|ms| ms.checked_mul(1_000_000))
        .filter(|t| *t > 0);
    Some((name, labels, value, t))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the form of a real scrape of an L4 (exporter of DCGM 4, driver 580.105), values changed.
    const TEXT: &str = "# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).\n# TYPE DCGM_FI_DEV_SM_CLOCK gauge\n\
        DCGM_FI_DEV_SM_CLOCK{gpu=\"0\",UUID=\"GPU-c2\",pci_bus_id=\"00000000:31:00.0\",device=\"nvidia0\",modelName=\"NVIDIA L4\",Hostname=\"h\",DCGM_FI_DRIVER_VERSION=\"580.105.08\"} 2040\n\
        DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-c2\"} 97\nDCGM_FI_DEV_FB_FREE{gpu=\"0\"} 22000\nDCGM_FI_DEV_FB_USED{gpu=\"0\"} 563\nDCGM_FI_DEV_FB_RESERVED{gpu=\"0\"} 470\n\
        DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\"} 0.31\nDCGM_FI_PROF_DRAM_ACTIVE{gpu=\"0\"} 0.05\nDCGM_FI_PROF_PCIE_RX_BYTES{gpu=\"0\"} 17544\n\
        DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 3\nDCGM_FI_DEV_GPU_UTIL{gpu=\"x\"} 3\nDCGM_FI_DEV_GPU_UTIL{gpu=\"1\",GPU_I_ID=\"2\"} 3\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\" 3\n";

    #[test]
    fn a_field_that_comes_again_begins_the_next_scrape() {
        assert!(is_print(TEXT) && !is_print("# HELP DCGM_FI_DEV_GPU_UTIL\n"));
        let log = parse(TEXT, &mut Guard::default());
        let gpu = &log.samples.gpu;
        assert_eq!((gpu.len(), log.clock), (2, Clock::None));
        assert_eq!((gpu.number("util_gpu", 0), gpu.number("util_gpu", 1)), (Some(97.0), Some(3.0)));
        assert_eq!(
            (gpu.number("graphics_util", 0), gpu.number("mem_total", 0)),
            (Some(31.0), Some(23_033.0 * MIB))
        );
        assert_eq!((gpu.number("sm_mhz", 0), gpu.number("sm_mhz", 1)), (Some(2_040.0), None));
        assert_eq!((log.notes.count(NoteCode::MalformedEvent), log.notes.count(NoteCode::Unused)), (2, 1));
        assert_eq!(
            (log.machine.driver.as_str(), log.machine.cards[0].name.as_str(), log.machine.cards[1].mig),
            ("580.105.08", "NVIDIA L4", Some(true))
        );
        let timed = parse("DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 97 1796028678000\n", &mut Guard::default());
        assert_eq!((timed.clock, timed.samples.gpu.t[0]), (Clock::Unix, 1_796_028_678 * SECOND));
    }
}
