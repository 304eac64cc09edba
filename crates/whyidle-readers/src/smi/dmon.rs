//! `nvidia-smi dmon`: a line of names, a line of units, rows; the head comes again now and then. `-o D`, `-o T` and
//! `-o DT` put date and time first; without them there is no time. What a card does not have is `-`.

use super::Smi;
use crate::plain::{Decimal, local_time};

/// NVML's clock-event bits for what `dmon` counts as violations.
const POWER_CAP: f64 = 4.0;
const THERMAL: f64 = 32.0;
const MIB: f64 = 1_048_576.0;

pub(super) fn is_header(line: &str) -> bool {
    let names: Vec<&str> = line.trim_start_matches('#').split_whitespace().collect();
    let at = names.iter().position(|&name| name == "gpu");
    at.is_some_and(|at| at <= 2 && names[at + 1..].iter().any(|name| ["sm", "pwr", "fb", "mclk", "rxpci"].contains(name)))
        // `pmon` has processes.
        && !names.contains(&"pid")
}

pub(super) fn read(lines: &[&str], out: &mut Smi) {
    let Some((header, rows)) = lines.split_first() else { return };
    let names: Vec<&str> = header.trim_start_matches('#').split_whitespace().collect();
    let at = |wanted: &str| names.iter().position(|&name| name.eq_ignore_ascii_case(wanted));
    let (date, time, gpu) = (at("Date"), at("Time"), at("gpu"));
    for line in rows.iter().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        let values: Vec<&str> = line.split_whitespace().collect();
        let number = |column: Option<usize>| Decimal::Point.number(values.get(column?)?);
        let Some(index) =
            number(gpu).filter(|index| values.len() == names.len() && (0.0..1e6).contains(index))
        else {
            out.log.notes.add(whyidle_model::NoteCode::MalformedEvent, None);
            continue;
        };
        let text = |column: Option<usize>| column.and_then(|column| values.get(column)).copied();
        let t = match (text(date), text(time)) {
            (Some(date), Some(time)) => local_time(&format!("{date} {time}")),
            // A date alone says a day, a time alone no day: neither is a moment that others share.
            _ => None,
        };
        let mut row = Vec::new();
        for (name, column, scale) in [
            ("sm", "util_gpu", 1.0),
            ("mem", "util_mem", 1.0),
            ("pwr", "power_mw", 1e3),
            ("gtemp", "temp_c", 1.0),
            ("mclk", "mem_mhz", 1.0),
            ("pclk", "sm_mhz", 1.0),
            ("fb", "mem_used", MIB),
            ("rxpci", "pcie_rx_kbs", 1e3),
            ("txpci", "pcie_tx_kbs", 1e3),
        ] {
            if let Some(value) = number(at(name)) {
                row.push((column, value * scale));
            }
        }
        let (power, thermal) = (number(at("pviol")), number(at("tviol")));
        if power.is_some() || thermal.is_some() {
            let bit =
                |seen: Option<f64>, bit: f64| if seen.is_some_and(|seen| seen > 0.0) { bit } else { 0.0 };
            row.push(("throttle_reasons", bit(power, POWER_CAP) + bit(thermal, THERMAL)));
        }
        out.sample(t, index as u32, &row);
    }
}
