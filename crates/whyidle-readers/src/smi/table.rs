//! The table of a plain `nvidia-smi`, once or in a loop, and the list of `nvidia-smi -L`.

use whyidle_model::{CardFacts, CardProcess};

use super::{Smi, When, bytes};
use crate::plain::{Decimal, local_time};

/// `before`: the last line above the table, its date.
pub(super) fn read(before: &str, lines: &[&str], out: &mut Smi) {
    let t = local_time(before.trim());
    let after = |line: &str, name: &str| -> String {
        line.split_once(name).and_then(|(_, rest)| rest.split_whitespace().next()).unwrap_or("").to_owned()
    };
    if let Some(head) = lines.first() {
        out.machine.driver = after(head, "Driver Version:");
        out.machine.cuda = after(head, "CUDA Version:");
    }
    out.machine.local_ns = out.machine.local_ns.or(t);
    let (mut card, mut is_processes): (Option<CardFacts>, bool) = (None, false);
    for line in lines.iter().skip(1) {
        if line.contains("Processes:") {
            finish(card.take(), t, out);
            is_processes = true;
            continue;
        }
        let cells: Vec<&str> = line.trim_matches(['|', ' ']).split('|').map(str::trim).collect();
        if is_processes {
            process(&cells, out);
            continue;
        }
        let first: Vec<&str> =
            cells.first().map(|cell| cell.split_whitespace().collect()).unwrap_or_default();
        if let ([number, name @ .., mode], true) = (&first[..], cells.len() >= 3)
            && let (Ok(index), "On" | "Off") = (number.parse(), *mode)
        {
            finish(card.take(), t, out);
            let bus = cells[1].split_whitespace().next().unwrap_or("").to_owned();
            let errors = cells[2].parse().ok();
            card = Some(CardFacts {
                index,
                name: name.join(" "),
                bus,
                persistence: Some(*mode == "On"),
                uncorrectable: errors,
                ecc: errors.map(|_: u64| true),
                ..CardFacts::default()
            });
        } else if let Some(card) = card.as_mut().filter(|_| cells.len() >= 3 && cells[1].contains("MiB /")) {
            figures(card, &first, &cells);
        } else if let Some(card) = card.as_mut() {
            match cells.last() {
                Some(&"Disabled") => card.mig = Some(false),
                Some(&"Enabled") => card.mig = Some(true),
                _ => {}
            }
        }
    }
    finish(card, t, out);
}

/// `N/A   41C    P0             92W /  700W |       0MiB / 143771MiB |      0%      Default`.
fn figures(card: &mut CardFacts, first: &[&str], cells: &[&str]) {
    let watts = |word: &&&str| word.strip_suffix('W').and_then(|watts| Decimal::Point.number(watts));
    let mut powers = first.iter().filter_map(|word| watts(&word));
    (card.power_w, card.limit_w) = (powers.next(), powers.next());
    card.temperature_c =
        first.iter().find_map(|word| word.strip_suffix('C').and_then(|c| Decimal::Point.number(c)));
    let memory: Vec<u64> = cells[1]
        .split('/')
        .filter_map(|part| {
            let mib = part.trim().strip_suffix("MiB")?;
            Decimal::Point.number(mib).map(|mib| bytes(mib, "MiB") as u64)
        })
        .collect();
    if let [used, total] = memory[..] {
        card.memory = Some((used, total));
    }
    let mut last = cells[2].split_whitespace();
    card.util = last.next().filter(|word| word.ends_with('%')).and_then(|word| Decimal::Point.number(word));
    last.next().unwrap_or("").clone_into(&mut card.compute_mode);
}

/// `0   N/A  N/A      12345      C   python                       1234MiB`.
fn process(cells: &[&str], out: &mut Smi) {
    let words: Vec<&str> = cells.first().map(|cell| cell.split_whitespace().collect()).unwrap_or_default();
    if words.first() == Some(&"No") {
        out.machine.cards.iter_mut().for_each(|card| card.listed_processes = true);
        return;
    }
    let Some(kind) = words.iter().position(|word| matches!(*word, "C" | "G" | "C+G")) else { return };
    let (Some(Ok(index)), Some(pid)) = (
        words.first().map(|word| word.parse::<u32>()),
        kind.checked_sub(1).and_then(|at| words[at].parse().ok()),
    ) else {
        return;
    };
    let memory =
        words.last().and_then(|word| word.strip_suffix("MiB")).and_then(|mib| Decimal::Point.number(mib));
    let end = words.len() - usize::from(memory.is_some() || words.last() == Some(&"N/A"));
    let name = words.get(kind + 1..end).unwrap_or_default().join(" ");
    let process = CardProcess {
        pid,
        name,
        computes: words[kind].contains('C'),
        memory: memory.map(|mib| bytes(mib, "MiB") as u64),
    };
    let card = out.card(index);
    card.listed_processes = true;
    if !card.processes.iter().any(|known| known.pid == process.pid) {
        card.processes.push(process);
    }
}

fn finish(card: Option<CardFacts>, t: Option<i64>, out: &mut Smi) {
    let Some(card) = card else { return };
    out.facts += 1;
    if let Some(t) = t {
        let mut numbers = Vec::new();
        let mut put = |column, value: Option<f64>| numbers.extend(value.map(|value| (column, value)));
        put("util_gpu", card.util);
        put("power_mw", card.power_w.map(|w| w * 1e3));
        put("power_limit_mw", card.limit_w.map(|w| w * 1e3));
        put("temp_c", card.temperature_c);
        put("mem_used", card.memory.map(|memory| memory.0 as f64));
        put("mem_total", card.memory.map(|memory| memory.1 as f64));
        out.sample(When::At(t), card.index, &numbers);
    }
    out.card(card.index).merge(card);
}

/// `GPU 0: NVIDIA H200 (UUID: GPU-04d6f633-…)`.
pub(super) fn listed(line: &str) -> Option<(u32, &str, &str)> {
    let (index, rest) = line.strip_prefix("GPU ")?.split_once(": ")?;
    let (name, uuid) = rest.trim_end().strip_suffix(')')?.rsplit_once(" (UUID: ")?;
    Some((index.parse().ok()?, name, uuid))
}

pub(super) fn read_list(lines: &[&str], out: &mut Smi) {
    for (index, name, uuid) in lines.iter().filter_map(|line| listed(line)) {
        out.facts += 1;
        out.card(index).merge(CardFacts {
            index,
            name: name.to_owned(),
            uuid: uuid.to_owned(),
            ..CardFacts::default()
        });
    }
}
