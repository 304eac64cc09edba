//! `nvidia-smi topo -m`: a matrix of devices. Columns are separated by tabs, which some terminals and forums turn into
//! spaces; the head is underlined with escapes. What stands behind the devices is cores and NUMA nodes near each card.

use whyidle_model::{Joined, Pair};

use super::Smi;

/// More devices than any machine has.
const MOST: usize = 256;

pub(super) fn is_header(line: &str) -> bool {
    let mut words = line.split_whitespace();
    line.starts_with(['\t', ' ']) && words.next() == Some("GPU0") && line.contains("Affinity")
}

pub(super) fn read(lines: &[&str], out: &mut Smi) {
    let Some((header, rows)) = lines.split_first() else { return };
    let is_device = |name: &&str| !name.contains("Affinity") && !name.contains("NUMA");
    let names: Vec<String> =
        cells(header).into_iter().skip(1).take_while(is_device).take(MOST).map(str::to_owned).collect();
    for line in rows {
        let cells = cells(line);
        let Some(name) = cells.first().filter(|name| names.iter().any(|known| known == *name)) else {
            if line.trim().is_empty() {
                continue;
            }
            break;
        };
        let from = names.iter().position(|known| known == name).unwrap_or(0);
        out.facts += 1;
        for (to, cell) in cells.iter().skip(1).take(names.len()).enumerate() {
            // The matrix is symmetric: the upper half says it all.
            if let Some(joined) = joined(cell).filter(|_| to > from) {
                let pair = Pair { a: names[from].clone(), b: names[to].clone(), joined };
                if !out.machine.pairs.contains(&pair) {
                    out.machine.pairs.push(pair);
                }
            }
        }
        let near = |at: usize| cells.get(1 + names.len() + at).map_or("", |cell| *cell).to_owned();
        if name.starts_with("GPU") && !near(0).is_empty() {
            out.machine.near.push(((*name).to_owned(), near(0), near(1)));
            if let Ok(index) = name[3..].parse() {
                let _ = out.card(index);
            }
        }
    }
}

/// The cells of a line, the first of which is the device; of the head it is empty.
fn cells(line: &str) -> Vec<&str> {
    if line.contains('\t') {
        return line.split('\t').map(str::trim).collect();
    }
    let mut cells: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    if line.starts_with(' ') {
        cells.insert(0, "");
    }
    cells
}

fn joined(cell: &str) -> Option<Joined> {
    Some(match cell {
        "PIX" => Joined::Pix,
        "PXB" => Joined::Pxb,
        "PHB" => Joined::Phb,
        "NODE" => Joined::Node,
        "SYS" | "SOC" => Joined::Sys,
        nvlink => Joined::NvLink(nvlink.strip_prefix("NV")?.parse().ok()?),
    })
}
