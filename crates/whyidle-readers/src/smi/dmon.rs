//! `nvidia-smi dmon`: a line of names, a line of units, rows; the head comes again now and then. `-o D`, `-o T` and
//! `-o DT` put date and time first; without them there is no time. What a card does not have is `-`. With `--format csv`
//! commas stand between the values, and `nounit` leaves the line of units out.

use super::{Smi, When};
use crate::plain::{Decimal, local_time, time_of_day};

/// NVML's clock-event bits for what `dmon` counts as violations.
const POWER_CAP: f64 = 4.0;
const THERMAL: f64 = 32.0;
const MIB: f64 = 1_048_576.0;

pub(super) fn is_header(line: &str) -> bool {
    let names = cells(line.trim_start_matches('#'));
    let at = names.iter().position(|&name| name == "gpu");
    at.is_some_and(|at| at <= 2 && names[at + 1..].iter().any(|name| ["sm", "pwr", "fb", "mclk", "rxpci"].contains(name)))
        // `pmon` has processes.
        && !names.contains(&"pid")
}

/// The cells of a line: columns, or with `--format csv` values between commas.
pub(super) fn cells(line: &str) -> Vec<&str> {
    if line.contains(',') {
        return line.split(',').map(str::trim).collect();
    }
    line.split_whitespace().collect()
}

pub(super) fn read(lines: &[&str], out: &mut Smi) {
    let Some((header, rows)) = lines.split_first() else { return };
    let names = cells(header.trim_start_matches('#'));
    let at = |wanted: &str| names.iter().position(|&name| name.eq_ignore_ascii_case(wanted));
    let (date, time, gpu) = (at("Date"), at("Time"), at("gpu"));
    for line in rows.iter().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        let values = cells(line);
        let number = |column: Option<usize>| Decimal::Point.number(values.get(column?)?);
        let Some(index) =
            number(gpu).filter(|index| values.len() == names.len() && (0.0..1e6).contains(index))
        else {
            out.log.notes.add(whyidle_model::NoteCode::MalformedEvent, None);
            continue;
        };
        let text = |column: Option<usize>| column.and_then(|column| values.get(column)).copied();
        let when = match (text(date), text(time)) {
            (Some(date), Some(time)) => local_time(&format!("{date} {time}")).map(When::At),
            (None, Some(time)) => time_of_day(time).map(When::Of),
            // A date alone is no moment that others share.
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
        out.sample(when.unwrap_or(When::Next), index as u32, &row);
    }
}
