//! The tables against the analysis they come from, on every trace.

use std::collections::BTreeMap;

use whyidle_analysis::device::devices;
use whyidle_analysis::facts::Facts;
use whyidle_analysis::ledger::Line;
use whyidle_model::Trace;
use whyidle_tables::export::csv::Folder;
use whyidle_tables::sql::Database;
use whyidle_tables::{Rows, Sampled, TABLES, Traced, create};

use crate::support::{ask, ask_recording, public, read, recording, root, shipped};

/// Time by line over all steps of all devices, ns.
fn ledger(trace: &Trace, facts: &Facts) -> BTreeMap<String, i64> {
    let mut lines = BTreeMap::new();
    for device in devices(trace) {
        let device = facts.device(trace, device, |_| true);
        for line in Line::ALL {
            let ns = device.ledger.total(*line);
            if ns != 0 {
                *lines.entry(line.id().to_owned()).or_default() += ns;
            }
        }
    }
    lines
}

fn by_line(sql: &str, trace: &Trace, facts: &Facts) -> BTreeMap<String, i64> {
    let sheet = ask(sql, trace, facts);
    sheet.rows.iter().map(|row| (row[0].text().to_owned(), row[1].integer())).collect()
}

fn assert_tables_agree(name: &str, trace: &Trace) {
    let facts = Facts::new(trace);
    let lines = ledger(trace, &facts);
    let asked = |sql: &str| by_line(sql, trace, &facts);
    assert_eq!(asked("select line, sum(traced_ns) from ledger group by line"), lines, "{name}");
    // Gaps and busy stretches cover the steps, line by line.
    let covered = "select line, sum(duration_ns) from (select line, duration_ns from gaps union all \
                   select line, duration_ns from busy) group by line";
    assert_eq!(asked(covered), lines, "{name}");
    let whole = ask(
        "select (select coalesce(sum(duration_ns), 0) from steps) steps, \
                (select coalesce(sum(own_ns), 0) from kernels) own, \
                (select coalesce(sum(duration_ns), 0) from busy) busy, \
                (select count(*) from kernels) kernels, (select count(*) from launches) launches, \
                (select count(*) from ops) ops, (select count(*) from kernels k \
                   left join launches l on l.id = k.launch where k.launch is not null and l.id is null) lost, \
                (select count(*) from kernels where line is null and own_ns > 0) astray",
        trace,
        &facts,
    );
    assert_eq!(whole.sum("steps"), lines.values().sum::<i64>(), "{name}");
    assert_eq!(whole.sum("own"), whole.sum("busy"), "{name}");
    assert_eq!(whole.sum("kernels"), i64::try_from(trace.gpu.len()).unwrap(), "{name}");
    assert_eq!(whole.sum("launches") + whole.sum("ops"), i64::try_from(trace.host.len()).unwrap(), "{name}");
    assert_eq!((whole.sum("lost"), whole.sum("astray")), (0, 0), "{name}");
}

#[test]
fn tables_agree_with_the_ledger_on_every_shipped_trace() {
    for path in shipped() {
        assert_tables_agree(&path.display().to_string(), &read(&path));
    }
}

#[test]
fn tables_agree_with_the_ledger_on_public_traces() {
    for path in public() {
        assert_tables_agree(&path.display().to_string(), &read(&path));
    }
}

/// Own time of a thread's events sums to the time in which anything was active on it.
#[test]
fn own_time_sums_to_the_active_time_of_threads() {
    let trace = read(&root().join("testdata/gc_every_step/trace.json.gz"));
    let facts = Facts::new(&trace);
    let active: i64 = (0..trace.threads.len())
        .flat_map(|thread| facts.tree.segments(&trace, thread))
        .filter(|segment| segment.leaf != whyidle_analysis::tree::NONE)
        .map(|segment| segment.end - segment.start)
        .sum();
    let calls: i64 = {
        let sheet = ask(
            "select sum(duration_ns) ns from launches where id not in (select parent from launches where parent is not null)",
            &trace,
            &facts,
        );
        sheet.sum("ns")
    };
    let own = ask("select sum(self_ns) ns from ops", &trace, &facts).sum("ns");
    assert!(own > 0 && own < active, "{own} {active}");
    assert!((own + calls - active).abs() <= active / 50, "{own} + {calls} against {active}");
}

#[test]
fn samples_and_stacks_of_a_recording_are_all_there() {
    let samples = recording("attached_workers");
    let sheet = ask_recording(
        "select avg(value) share, count(*) n from samples where source = 'gpu' and metric = 'util_gpu'",
        &samples,
    );
    let column: Vec<f64> =
        (0..samples.gpu.len()).filter_map(|row| samples.gpu.number("util_gpu", row)).collect();
    assert_eq!(sheet.sum("n"), i64::try_from(column.len()).unwrap());
    let mean = column.iter().sum::<f64>() / column.len() as f64;
    assert!((sheet.rows[0][0].real() - mean).abs() < 1e-9);
    let seen: i64 = samples.stacks.seen.iter().map(|seen| i64::from(seen.count)).sum();
    assert_eq!(ask_recording("select sum(count) n from stacks", &samples).sum("n"), seen);
}

/// The database in a file and the CSV files hold the same rows.
#[test]
fn a_database_and_a_folder_of_csv_hold_the_same() {
    let trace = read(&root().join("testdata/ddp_small/trace_rank0.json.gz"));
    let (facts, samples) = (Facts::new(&trace), recording("attached_gc"));
    let traced = Traced::new(0, "a, \"b\".json", &trace, &facts);
    let sampled = Sampled { samples: &samples };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("out.sqlite");
    let mut database = Database::create(&file).unwrap();
    let all: Vec<_> = TABLES.iter().collect();
    database.add_trace(&all, &traced).unwrap();
    database.add_samples(&all, &sampled).unwrap();
    drop(database);
    let mut folder = Folder::create(dir.path()).unwrap();
    folder.add_trace(&traced).unwrap();
    folder.add_samples(&sampled).unwrap();
    folder.finish().unwrap();
    let database = rusqlite::Connection::open(&file).unwrap();
    for table in TABLES {
        let count: i64 = database
            .query_row(&format!("select count(*) from {}", table.name), [], |row| row.get(0))
            .unwrap();
        let text = std::fs::read_to_string(dir.path().join(format!("{}.csv", table.name))).unwrap();
        assert_eq!(text.matches("\r\n").count() as i64, count + 1, "{}", table.name);
        let is_empty = matches!(table.name, "memory");
        assert_eq!(count == 0, is_empty, "{}", table.name);
        let schema: String = database
            .query_row("select sql from sqlite_schema where name = ?", [table.name], |row| row.get(0))
            .unwrap();
        assert_eq!(schema, create(table), "the documentation travels with the database");
        assert!(matches!(table.rows, Rows::Traced(_)) || ["samples", "stacks"].contains(&table.name));
    }
    let path: String = database.query_row("select path from traces", [], |row| row.get(0)).unwrap();
    assert_eq!(path, "a, \"b\".json");
}
