//! Tables of samples: comma-separated, the first line names the columns.

use std::collections::BTreeMap;

use whyidle_model::Table;

use crate::plain::split;

/// Columns of text; every other column holds numbers.
const WORDS: [&str; 7] = ["cmd", "status", "wchan", "per_cpu", "name", "state", "role"];

/// A table and the number of lines that made no sense.
pub(super) fn read(bytes: &[u8]) -> (Table, u64) {
    let text = String::from_utf8_lossy(bytes);
    // A last line without its end was cut off: its last value may be half a value.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let (mut sheet, mut table) = (Sheet::default(), Table::default());
    whole.lines().for_each(|line| sheet.line(line, &mut table));
    let dropped = sheet.dropped + sheet.garbled(&table) + u64::from(whole.len() + 1 < text.len());
    (table, dropped)
}

/// Reads a table line by line; the first line names the columns.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    header: Option<Vec<String>>,
    /// Lines that made no sense.
    pub(super) dropped: u64,
    /// By column: values that are neither a number nor empty.
    garbled: BTreeMap<String, u64>,
}

impl Sheet {
    pub(super) fn line(&mut self, line: &str, table: &mut Table) {
        let Some(header) = &self.header else {
            self.begin(line, table);
            return;
        };
        let Some(time) = header.iter().position(|name| name == "t") else { return };
        let fields = split(line, ',');
        let Some(t) =
            fields.get(time).filter(|_| fields.len() == header.len()).and_then(|text| nanoseconds(text))
        else {
            self.dropped += 1;
            return;
        };
        table.t.push(t);
        for (name, field) in header.iter().zip(fields) {
            if let Some(column) = table.numbers.get_mut(name) {
                let value = field.trim().parse();
                if value.is_err() && !field.trim().is_empty() {
                    *self.garbled.entry(name.clone()).or_default() += 1;
                }
                column.push(value.unwrap_or(f64::NAN));
            } else if let Some(column) = table.words.get_mut(name) {
                column.push(field);
            }
        }
    }

    /// Values that are no numbers though their column holds numbers; a column without any holds text that is not
    /// known here.
    pub(super) fn garbled(&self, table: &Table) -> u64 {
        let has_numbers = |name: &String| {
            table.numbers.get(name).is_some_and(|column| column.iter().any(|value| value.is_finite()))
        };
        self.garbled.iter().filter(|(name, _)| has_numbers(name)).map(|(_, count)| count).sum()
    }

    fn begin(&mut self, line: &str, table: &mut Table) {
        let mut header: Vec<String> = line.split(',').map(|name| name.trim().to_owned()).collect();
        for at in 0..header.len() {
            // Of two columns with one name the first counts.
            if header[..at].contains(&header[at]) {
                header[at].clear();
            }
        }
        if header.iter().any(|name| name == "t") {
            for name in header.iter().filter(|name| !matches!(name.as_str(), "t" | "")) {
                if WORDS.contains(&name.as_str()) {
                    table.words.insert(name.clone(), Vec::new());
                } else {
                    table.numbers.insert(name.clone(), Vec::new());
                }
            }
        }
        self.header = Some(header);
    }
}

/// Seconds with decimals as nanoseconds, digit by digit.
fn nanoseconds(text: &str) -> Option<i64> {
    let (seconds, decimals) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    if seconds.is_empty() || !seconds.bytes().chain(decimals.bytes()).all(|b| b.is_ascii_digit()) {
        return None;
    }
    let decimals: i64 = format!("{decimals:0<9}")[..9].parse().ok()?;
    seconds.parse::<i64>().ok()?.checked_mul(1_000_000_000)?.checked_add(decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name_and_values_may_be_missing() {
        let (table, dropped) =
            read(b"pid,t,cmd,rss,new\n7,1795971809.2368,\"a, \"\"b\"\"\",12,x\n8,1795971809.5,p,,\n");
        assert_eq!((table.len(), dropped), (2, 0));
        assert_eq!(table.t, [1_795_971_809_236_800_000, 1_795_971_809_500_000_000]);
        assert_eq!(table.word("cmd", 0), "a, \"b\"");
        assert_eq!(
            (table.number("rss", 0), table.number("rss", 1), table.number("new", 0)),
            (Some(12.0), None, None)
        );
        assert_eq!(table.rows_of("pid", 8.0).collect::<Vec<_>>(), [1]);
        assert_eq!(table.keys("pid"), [7, 8]);
    }

    #[test]
    fn a_line_that_was_cut_off_is_left_out() {
        let (table, dropped) = read(b"t,util_gpu\n1.0,40\n2.0,9");
        assert_eq!((table.len(), dropped), (1, 1));
        let (table, dropped) = read(b"t,util_gpu\n1.0\nx,3\n-1,3\n2.5,7\n");
        assert_eq!((table.t.clone(), dropped), (vec![2_500_000_000], 3));
    }

    #[test]
    fn values_that_are_garbled_are_counted() {
        let (table, dropped) = read(b"t,util_gpu,mem\n1.0,4\x010,\n2.0,9,\n3.0,nan,7\n");
        assert_eq!((table.len(), dropped, table.number("util_gpu", 0)), (3, 1, None));
    }

    #[test]
    fn no_bytes_make_it_panic() {
        for bytes in [&b""[..], b"\n", b"t", b"\xff\xfe\n\xff", b"t,\n,", b"t,a\n\"1,2\n3\"", b"a,b\n1,2\n"] {
            let _ = read(bytes);
        }
    }
}
