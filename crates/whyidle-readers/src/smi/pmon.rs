//! `nvidia-smi pmon`: processes on each card, second by second. Who they are becomes facts of the card; shares of the card
//! per process are not used.

use whyidle_model::CardProcess;

use super::Smi;
use super::dmon::cells;

pub(super) fn is_header(line: &str) -> bool {
    let names = cells(line.trim_start_matches('#'));
    ["gpu", "pid", "type", "command"].iter().all(|wanted| names.contains(wanted))
}

pub(super) fn read(lines: &[&str], out: &mut Smi) {
    let Some((header, rows)) = lines.split_first() else { return };
    let names = cells(header.trim_start_matches('#'));
    let at = |wanted: &str| names.iter().position(|&name| name == wanted);
    for line in rows.iter().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        let values = cells(line);
        let get = |wanted: &str| at(wanted).and_then(|at| values.get(at)).copied().unwrap_or("");
        let (Ok(index), true) = (get("gpu").parse::<u32>(), values.len() >= names.len()) else {
            out.log.notes.add(whyidle_model::NoteCode::MalformedEvent, None);
            continue;
        };
        let card = out.card(index);
        card.listed_processes = true;
        // A card without processes has a row of `-`.
        if let Ok(pid) = get("pid").parse::<u32>()
            && !card.processes.iter().any(|known| known.pid == pid)
        {
            // The command comes last and may hold spaces.
            let name = at("command").and_then(|at| values.get(at..)).unwrap_or_default().join(" ");
            let memory = get("fb").parse::<u64>().ok().map(|mib| mib << 20);
            let computes = get("type").contains('C');
            card.processes.push(CardProcess { pid, name, computes, memory });
        }
        out.facts += 1;
    }
}
