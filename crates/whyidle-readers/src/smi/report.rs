//! `nvidia-smi -q`: names and values, nested by indentation.

use whyidle_model::{CardFacts, CardProcess};

use super::{Smi, When, bytes};
use crate::plain::{Decimal, local_time};

/// NVML's clock-event bits (`nvml.h`, nvmlClocksEventReason…) by the names of the report.
const REASONS: [(&str, u64); 9] = [
    ("Idle", 0x1),
    ("Applications Clocks Setting", 0x2),
    ("SW Power Cap", 0x4),
    ("HW Slowdown", 0x8),
    ("Sync Boost", 0x10),
    ("SW Thermal Slowdown", 0x20),
    ("HW Thermal Slowdown", 0x40),
    ("HW Power Brake Slowdown", 0x80),
    ("Display Clock Setting", 0x100),
];

/// The same by the names of queries.
pub(super) const REASONS_OF_QUERIES: [(&str, u64); 8] = [
    ("gpu_idle", 0x1),
    ("applications_clocks_setting", 0x2),
    ("sw_power_cap", 0x4),
    ("hw_slowdown", 0x8),
    ("sync_boost", 0x10),
    ("sw_thermal_slowdown", 0x20),
    ("hw_thermal_slowdown", 0x40),
    ("hw_power_brake_slowdown", 0x80),
];

/// Deeper nesting is no such report.
const DEEPEST: usize = 12;

pub(super) fn read(lines: &[&str], out: &mut Smi) {
    let (mut path, mut local): (Vec<(usize, String)>, Option<i64>) = (Vec::new(), None);
    let mut card: Option<CardFacts> = None;
    let mut count = 0_u32;
    for line in lines {
        let indent = line.len() - line.trim_start().len();
        let (key, value) = match line.split_once(" : ") {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (line.trim().trim_end_matches(" :").trim_end(), None),
        };
        if key.is_empty() || key.starts_with('=') {
            continue;
        }
        while path.last().is_some_and(|(deep, _)| *deep >= indent) {
            path.pop();
        }
        if indent == 0 && value.is_none() && key.starts_with("GPU ") {
            finish(card.take(), local, out);
            card = Some(CardFacts { index: count, bus: key[4..].to_owned(), ..CardFacts::default() });
            count += 1;
            path.clear();
            continue;
        } else if let (Some(card), Some(value)) = (&mut card, value) {
            let section = path.last().map_or("", |(_, name)| name.as_str());
            fact(card, &path, section, key, value);
        } else if let Some(value) = value {
            match key {
                "Timestamp" => local = local_time(value),
                "Driver Version" => value.clone_into(&mut out.machine.driver),
                "CUDA Version" => value.clone_into(&mut out.machine.cuda),
                _ => {}
            }
        }
        if path.len() < DEEPEST {
            path.push((indent, key.to_owned()));
        }
    }
    finish(card, local, out);
    out.machine.local_ns = out.machine.local_ns.or(local);
}

fn fact(card: &mut CardFacts, path: &[(usize, String)], section: &str, key: &str, value: &str) {
    let is_in = |name: &str| path.iter().any(|(_, known)| known == name);
    let number = || Decimal::Point.number(value);
    let flag = || match value {
        "Enabled" | "Active" | "Yes" => Some(true),
        "Disabled" | "Not Active" | "No" => Some(false),
        _ => None,
    };
    let memory =
        || number().map(|value_of| bytes(value_of, value.split_whitespace().nth(1).unwrap_or("MiB")) as u64);
    let spent = || Decimal::Point.number(value).map(|us| (us * 1e3) as u64);
    if is_in("Clocks Event Reasons") || is_in("Clocks Throttle Reasons") {
        if let (Some((_, bit)), Some(is_active)) = (REASONS.iter().find(|(name, _)| *name == key), flag()) {
            card.throttle = Some(card.throttle.unwrap_or(0) | if is_active { *bit } else { 0 });
        }
        return;
    }
    if is_in("Processes") {
        process(card, key, value);
        return;
    }
    match (section, key) {
        ("", "Product Name") => value.clone_into(&mut card.name),
        ("", "GPU UUID") => value.clone_into(&mut card.uuid),
        ("", "Persistence Mode") => card.persistence = flag(),
        ("", "Compute Mode") => value.clone_into(&mut card.compute_mode),
        ("", "Processes") => card.listed_processes = value == "None",
        ("MIG Mode", "Current") => card.mig = flag(),
        ("ECC Mode" | "Ecc Mode", "Current") => card.ecc = flag(),
        ("Volatile", key) if key.contains("Uncorrectable") => {
            card.uncorrectable =
                number().map(|count| card.uncorrectable.unwrap_or(0) + count as u64).or(card.uncorrectable);
        }
        ("Remapped Rows", "Pending") => card.remap_pending = flag(),
        ("FB Memory Usage", "Total") => {
            card.memory = memory().map(|total| (card.memory.map_or(0, |known| known.0), total))
        }
        ("FB Memory Usage", "Used") => {
            card.memory = memory().map(|used| (used, card.memory.map_or(0, |known| known.1)))
        }
        ("Utilization", "Gpu" | "GPU") => card.util = number(),
        ("Temperature", "GPU Current Temp") => card.temperature_c = number(),
        ("GPU Power Readings" | "Power Readings", "Power Draw" | "Average Power Draw") => {
            card.power_w = card.power_w.or(number())
        }
        (
            "GPU Power Readings" | "Power Readings",
            "Current Power Limit" | "Enforced Power Limit" | "Power Limit",
        ) => card.limit_w = card.limit_w.or(number()),
        ("GPU Power Readings" | "Power Readings", "Default Power Limit") => card.default_limit_w = number(),
        ("Clocks", "SM") => card.sm_mhz = number(),
        ("Max Clocks", "SM") => card.max_sm_mhz = number(),
        ("Applications Clocks", "Graphics") => card.application_mhz = number(),
        ("PCIe Generation", "Current") => {
            card.pcie = number().map(|generation| (generation as u32, card.pcie.map_or(0, |known| known.1)))
        }
        ("PCIe Generation", "Max") => {
            card.pcie_max =
                number().map(|generation| (generation as u32, card.pcie_max.map_or(0, |known| known.1)))
        }
        ("Link Width", "Current") => {
            card.pcie = width(value).map(|width| (card.pcie.map_or(0, |known| known.0), width))
        }
        ("Link Width", "Max") => {
            card.pcie_max = width(value).map(|width| (card.pcie_max.map_or(0, |known| known.0), width))
        }
        ("Clocks Event Reasons Counters", "SW Power Capping") => card.held_ns.power = spent(),
        ("Clocks Event Reasons Counters", "SW Thermal Slowdown") => card.held_ns.thermal = spent(),
        ("Clocks Event Reasons Counters", "HW Thermal Slowdown") => card.held_ns.thermal_hardware = spent(),
        ("Clocks Event Reasons Counters", "HW Power Braking") => card.held_ns.brake = spent(),
        _ => {}
    }
}

/// `16x`.
fn width(value: &str) -> Option<u32> {
    value.trim_end_matches('x').parse().ok()
}

fn process(card: &mut CardFacts, key: &str, value: &str) {
    card.listed_processes = true;
    match (key, card.processes.last_mut()) {
        ("Process ID", _) => {
            if let Ok(pid) = value.parse() {
                card.processes.push(CardProcess { pid, ..CardProcess::default() });
            }
        }
        ("Type", Some(last)) => last.computes = value.contains('C'),
        ("Name", Some(last)) => value.clone_into(&mut last.name),
        ("Used GPU Memory", Some(last)) => {
            let unit = value.split_whitespace().nth(1).unwrap_or("MiB");
            last.memory = Decimal::Point.number(value).map(|value| bytes(value, unit) as u64);
        }
        _ => {}
    }
}

/// A card's facts, and the sample that they are.
fn finish(card: Option<CardFacts>, local: Option<i64>, out: &mut Smi) {
    let Some(card) = card else { return };
    out.facts += 1;
    if local.is_some() {
        let mut numbers = Vec::new();
        let mut put = |column, value: Option<f64>| numbers.extend(value.map(|value| (column, value)));
        put("util_gpu", card.util);
        put("power_mw", card.power_w.map(|w| w * 1e3));
        put("power_limit_mw", card.limit_w.map(|w| w * 1e3));
        put("sm_mhz", card.sm_mhz);
        put("temp_c", card.temperature_c);
        put("mem_used", card.memory.map(|memory| memory.0 as f64));
        put("mem_total", card.memory.map(|memory| memory.1 as f64));
        put("throttle_reasons", card.throttle.map(|bits| bits as f64));
        out.sample(local.map_or(When::Next, When::At), card.index, &numbers);
    }
    out.card(card.index).merge(card);
}
