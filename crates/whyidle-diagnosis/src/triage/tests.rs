use whyidle_analysis::signals::{Hints, signals as read};
use whyidle_model::{Samples, Table};

use super::*;

/// Two rows, ten seconds apart, of each key, with the values of each column at both ends.
fn table(keys: &[(&str, &[f64])], columns: &[(&str, [f64; 2])]) -> Table {
    let count = keys[0].1.len();
    let mut table = Table { t: [vec![0; count], vec![10_000_000_000; count]].concat(), ..Table::default() };
    for (name, values) in keys {
        table.numbers.insert((*name).to_owned(), [*values, *values].concat());
    }
    for (name, ends) in columns {
        table.numbers.insert((*name).to_owned(), [vec![ends[0]; count], vec![ends[1]; count]].concat());
    }
    table
}

/// Signals of process 7 that uses `own` cores, of two workers that use `workers` each, and of a card with so many of
/// 100 bytes in use.
fn signals(memory: Option<f64>, own: f64, workers: Option<f64>) -> Signals {
    let mut samples = Samples::default();
    if let Some(memory) = memory {
        let used = [("util_gpu", [50.0; 2]), ("mem_used", [memory; 2]), ("mem_total", [100.0; 2])];
        samples.gpu = table(&[("gpu", &[0.0])], &used);
    }
    let pids: &[f64] = if workers.is_some() { &[7.0, 8.0, 9.0] } else { &[7.0] };
    samples.process = table(&[("pid", pids)], &[("sys_s", [0.0; 2])]);
    let parents = [1.0, 7.0, 7.0][..pids.len()].to_vec();
    let names =
        ["python3", "pt_data_worker", "pt_data_worker"][..pids.len()].iter().map(|name| (*name).to_owned());
    let names: Vec<String> = names.collect();
    let used: Vec<f64> =
        pids.iter().map(|pid| if *pid > 7.5 { workers.unwrap_or(0.0) } else { own } * 10.0).collect();
    let numbers = &mut samples.process.numbers;
    numbers.insert("ppid".to_owned(), [parents.clone(), parents].concat());
    numbers.insert("user_s".to_owned(), [vec![0.0; pids.len()], used].concat());
    samples.process.words.insert("cmd".to_owned(), [names.clone(), names].concat());
    read(&samples, &Hints { drivers: vec![7], ..Hints::default() })
}

fn seen(signals: &Signals, levels: Option<(f64, f64, f64)>, ranks: &[(u32, f64)]) -> Vec<&'static str> {
    let levels =
        levels.map(|(low, mean, high)| Levels { samples: 40, every_ns: 100_000_000, mean, low, high });
    let observed = Observed { signals, levels, cores: Some(8), ranks };
    let found = triage(&observed);
    assert_eq!(found.len(), 6, "every symptom is answered");
    found.into_iter().filter(|symptom| symptom.seen == Some(true)).map(|symptom| symptom.id).collect()
}

#[test]
fn each_symptom_by_itself() {
    let half = Some(10.0);
    assert_eq!(seen(&signals(half, 0.0, None), Some((0.0, 0.0, 0.01)), &[]), ["symptom-util-zero"]);
    assert_eq!(seen(&signals(half, 0.5, None), Some((0.0, 0.5, 1.0)), &[]), ["symptom-swinging"]);
    assert_eq!(seen(&signals(half, 1.0, None), Some((0.4, 0.45, 0.5)), &[]), ["symptom-flat-low"]);
    let fed = Some((0.95, 0.99, 1.0));
    assert_eq!(seen(&signals(half, 0.1, Some(0.97)), fed, &[]), ["symptom-cpu-full"]);
    assert_eq!(seen(&signals(Some(95.0), 1.0, None), fed, &[]), ["symptom-memory-full"]);
    assert_eq!(seen(&signals(half, 1.0, None), fed, &[(0, 1.0), (1, 0.3)]), ["symptom-ranks-uneven"]);
    assert_eq!(seen(&signals(half, 1.0, Some(0.2)), fed, &[(0, 0.99), (1, 0.9)]), Vec::<&str>::new());
}

#[test]
fn what_was_not_measured_is_not_judged() {
    let nothing = read(&Samples::default(), &Hints::default());
    let found = triage(&Observed { signals: &nothing, levels: None, cores: None, ranks: &[] });
    assert!(found.iter().all(|symptom| symptom.seen.is_none()), "{found:?}");
}
