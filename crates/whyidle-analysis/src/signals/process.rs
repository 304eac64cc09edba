//! CPU time and waits of one process, from its counters in `/proc`.

use whyidle_model::Table;

/// What was seen of a process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProcessSignals {
    /// Samples.
    pub samples: u32,
    /// CPU seconds of its own code per second, in cores.
    pub user: f64,
    /// CPU seconds in the kernel per second, in cores.
    pub system: f64,
    /// Share of samples in which its main thread waited for a disk.
    pub disk: f64,
    /// Voluntary switches of its main thread per second.
    pub voluntary: Option<f64>,
    /// Switches per second at which its main thread lost its core to another.
    pub involuntary: Option<f64>,
    /// Minor page faults per second.
    pub faults: Option<f64>,
    /// Bytes read from storage per second.
    pub read_rate: Option<f64>,
    /// Bytes written to storage per second.
    pub write_rate: Option<f64>,
    /// Highest resident memory, bytes.
    pub memory: Option<f64>,
    /// Most files that it had open.
    pub open_files: Option<f64>,
}

impl ProcessSignals {
    /// CPU seconds per second, in cores.
    #[must_use]
    pub fn cores(&self) -> f64 {
        self.user + self.system
    }
}

/// What was seen of process `pid`; `None` with fewer than two samples.
#[must_use]
pub fn process(table: &Table, pid: u32) -> Option<ProcessSignals> {
    let rows: Vec<usize> = table.rows_of("pid", f64::from(pid)).collect();
    let (&first, &last) = (rows.first()?, rows.last()?);
    let seconds = (table.t[last] - table.t[first]) as f64 / 1e9;
    if seconds <= 0.0 {
        return None;
    }
    // A counter that falls belongs to another process, or was reset: nothing is known of it.
    let rate = |column: &str| {
        let growth = table.number(column, last)? - table.number(column, first)?;
        (growth >= 0.0).then_some(growth / seconds)
    };
    let most = |column: &str| rows.iter().filter_map(|&row| table.number(column, row)).max_by(f64::total_cmp);
    let waits = rows.iter().filter(|&&row| table.word("status", row).starts_with("disk")).count();
    Some(ProcessSignals {
        samples: u32::try_from(rows.len()).unwrap_or(u32::MAX),
        user: rate("user_s")?,
        system: rate("sys_s")?,
        disk: waits as f64 / rows.len() as f64,
        voluntary: rate("vctx"),
        involuntary: rate("ivctx"),
        faults: rate("minflt"),
        read_rate: rate("read_bytes"),
        write_rate: rate("write_bytes"),
        memory: most("rss"),
        open_files: most("open_files"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_growth_over_time_and_never_negative() {
        let mut table = Table { t: vec![0, 2_000_000_000], ..Table::default() };
        for (name, values) in
            [("pid", [7.0, 7.0]), ("user_s", [1.0, 2.0]), ("sys_s", [0.5, 0.7]), ("vctx", [9.0, 3.0])]
        {
            table.numbers.insert(name.to_owned(), values.to_vec());
        }
        table.words.insert("status".to_owned(), vec!["disk-sleep".to_owned(), "running".to_owned()]);
        let found = process(&table, 7).unwrap_or_else(|| panic!("two rows"));
        assert_eq!((found.user, found.disk, found.voluntary), (0.5, 0.5, None));
        assert!((found.system - 0.1).abs() < 1e-9);
        assert_eq!(process(&table, 8), None);
    }
}
