//! A table with a header, as Lightning's `metrics.csv`: a column for the step, one for each metric, and empty cells where a
//! row says nothing of it.

use super::{Series, step_rank};

/// Columns at most.
const MOST_COLUMNS: usize = 4_096;

/// Whether `text` is such a table; its losses from byte `from` on.
pub(super) fn read(text: &str, from: usize, series: &mut Series<'_>) -> bool {
    let mut lines = text.split_inclusive('\n');
    let Some(header) = lines.next() else { return false };
    let names: Vec<String> = cells(header).take(MOST_COLUMNS).collect();
    let is_table = names.len() > 1 && names.iter().all(|name| name.parse::<f64>().is_err());
    if !is_table || !names.iter().any(|name| series.is_wanted(name)) {
        return false;
    }
    let step = (0..names.len()).filter_map(|at| Some((step_rank(&names[at])?, at))).min().map(|(_, at)| at);
    let mut at = header.len();
    for line in lines {
        let is_new = at >= from;
        at += line.len();
        // The last row may still be being written: half a number is another one.
        if !is_new || !line.ends_with('\n') || line.trim().is_empty() {
            continue;
        }
        let cells: Vec<String> = cells(line).take(MOST_COLUMNS).collect();
        if cells.len() != names.len() {
            series.dropped += 1;
            continue;
        }
        let step = step.and_then(|at| cells[at].parse().ok());
        for (name, cell) in names.iter().zip(&cells).filter(|(_, cell)| !cell.is_empty()) {
            match cell.parse() {
                Ok(loss) => series.add(name, step, loss),
                Err(_) if series.is_wanted(name) => series.dropped += 1,
                Err(_) => {}
            }
        }
    }
    true
}

/// The cells of a row, without quotes.
fn cells(line: &str) -> impl Iterator<Item = String> + '_ {
    let mut rest = Some(line.trim_end_matches(['\n', '\r']));
    std::iter::from_fn(move || {
        let text = rest?;
        let (mut cell, mut in_quotes, mut end) = (String::new(), false, None);
        for (at, c) in text.char_indices() {
            match c {
                '"' => in_quotes = !in_quotes,
                ',' if !in_quotes => {
                    end = Some(at);
                    break;
                }
                _ => cell.push(c),
            }
        }
        rest = end.map(|end| &text[end + 1..]);
        Some(cell.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use crate::progress::printed::Words;

    #[test]
    fn lightnings_table_is_read_and_rows_of_evaluations_are_not() {
        let text = "epoch,lr,step,train_loss_step,val_loss,\"a,b\"\n0,0.1,49,2.5,,\n0,,99,,7.0,1\n0,0.1,99,nan,,\n\
            0,0.1,149,1.5,,,\n0,x,199,x,,\n0,0.1,249,1.";
        let Some(found) = read(text.as_bytes(), 0, &Words::default()) else { panic!("losses") };
        assert_eq!(
            (found.name.as_str(), found.points[0], found.dropped),
            ("train_loss_step", (49.0, 2.5), 2)
        );
        assert!(found.points.len() == 2 && found.points[1].0 == 99.0 && found.points[1].1.is_nan());
        let from = text.find("0,0.1,99").unwrap_or(0);
        assert_eq!(read(text.as_bytes(), from, &Words::default()).map(|found| found.points.len()), Some(1));
    }

    #[test]
    fn rows_without_a_step_are_counted() {
        let found = read(b"loss,lr\r\n3,1\r\n2,1\r\n", 0, &Words::default());
        assert_eq!(found.map(|found| found.points), Some(vec![(0.0, 3.0), (1.0, 2.0)]));
    }
}
