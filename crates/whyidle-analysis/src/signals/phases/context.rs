//! What a sample belongs to by what lies around it: start-up before the first step, the wait for a new epoch's first
//! batch, standing still.

use std::collections::BTreeSet;

use whyidle_model::{Samples, Table};

use super::Phase;
use super::of_sample::{Hint, Reading};
use crate::signals::doing::Reader;

/// A stack that does not move is suspicious after this long, ns. No step of a program in good order takes it without
/// using any CPU.
const STILL: i64 = 10_000_000_000;
/// The whole program uses less than this of one core while it stands still.
const NO_CPU: f64 = 0.02;
/// Bytes per second that a program may move while it stands still: heartbeats of stores and watchdogs.
const NO_BYTES: f64 = 10_000.0;
/// Samples at least of a stack that does not move.
const FEWEST: usize = 4;
/// Workers that are born within this time belong together, ns.
const TOGETHER: i64 = 2_000_000_000;

/// The phase of each reading; and, where the program stands still until the end, where each thread is.
pub(super) fn assign(
    samples: &Samples,
    driver: u32,
    readings: &[Reading<'_>],
    began: bool,
) -> (Vec<Phase>, Vec<(String, String)>) {
    let mut phases: Vec<Phase> = readings.iter().map(|reading| by_itself(reading.hint)).collect();
    let starts_up = startup(readings, began);
    for phase in &mut phases[..starts_up] {
        if *phase != Phase::Compile {
            *phase = Phase::Startup;
        }
    }
    let is_in_loop = |reading: &Reading<'_>| {
        matches!(
            reading.hint,
            Hint::Trains | Hint::Forward | Hint::Loads | Hint::StartsLoader | Hint::Evaluates
        )
    };
    if !readings.iter().any(is_in_loop) {
        // Neither starting up nor in a loop: what it does is nothing that is known here.
        phases[starts_up..]
            .iter_mut()
            .filter(|phase| **phase == Phase::Training)
            .for_each(|p| *p = Phase::Unknown);
    }
    borders(samples, driver, readings, &mut phases, starts_up);
    let standing = standing_still(samples, driver, readings, &mut phases);
    (phases, standing)
}

fn by_itself(hint: Hint) -> Phase {
    match hint {
        Hint::Trains | Hint::Forward | Hint::Loads | Hint::Neutral => Phase::Training,
        Hint::StartsLoader => Phase::Epoch,
        Hint::Imports => Phase::Startup,
        Hint::Compiles => Phase::Compile,
        Hint::Saves => Phase::Checkpoint,
        Hint::Evaluates => Phase::Evaluation,
    }
}

/// Whoever waits longer for a loader's batches waits for more than the first one, ns: the loader is what holds the
/// program up.
const FIRST_BATCH: i64 = 10_000_000_000;

/// The first reading that waits for a batch which cannot be the first.
fn starves(readings: &[Reading<'_>]) -> Option<usize> {
    let asks = |hint| matches!(hint, Hint::Loads | Hint::StartsLoader);
    let mut since = None;
    readings.iter().position(|reading| match reading.hint {
        hint if asks(hint) => reading.t - *since.get_or_insert(reading.t) > FIRST_BATCH,
        // What runs between two batches.
        Hint::Neutral => false,
        _ => {
            since = None;
            false
        }
    })
}

/// Readings before the first step, where the start was seen: the watch began with the program, or it imports.
fn startup(readings: &[Reading<'_>], began: bool) -> usize {
    let steps = |reading: &Reading<'_>| matches!(reading.hint, Hint::Trains | Hint::Forward);
    let first = readings.iter().position(steps).unwrap_or(readings.len());
    let first = starves(&readings[..first]).unwrap_or(first);
    let imports = readings[..first].iter().rposition(|reading| reading.hint == Hint::Imports);
    match imports {
        _ if began => first,
        // Imports while it runs are no start-up of the program.
        Some(_) if !readings[..first].iter().any(|reading| reading.hint == Hint::Evaluates) => first,
        _ => 0,
    }
}

/// The waits for the first batch of workers that were just born belong to the border of the epoch.
fn borders(samples: &Samples, driver: u32, readings: &[Reading<'_>], phases: &mut [Phase], from: usize) {
    let waits = |at: usize| readings[at].hint == Hint::Loads;
    let mut extend = |start: usize| {
        for (at, phase) in phases.iter_mut().enumerate().skip(start) {
            if !waits(at) {
                break;
            }
            *phase = Phase::Epoch;
        }
    };
    for at in from..readings.len() {
        if readings[at].hint == Hint::StartsLoader && at + 1 < readings.len() {
            extend(at + 1);
        }
    }
    for born in births(&samples.process, driver) {
        let after = readings.partition_point(|reading| reading.t < born);
        if after >= from.max(1) && after < readings.len() && readings[after].t - born < TOGETHER {
            extend(after);
        }
    }
}

/// When loader workers were born, ns of Unix time, but for those that were there from the start.
fn births(table: &Table, driver: u32) -> Vec<i64> {
    let mut known: BTreeSet<u32> = BTreeSet::new();
    let mut births: Vec<i64> = Vec::new();
    let Some(&start) = table.t.first() else { return births };
    for row in 0..table.len() {
        let Some(pid) = table.number("pid", row).map(|pid| pid as u32) else { continue };
        let is_worker =
            table.word("role", row) == "worker" || table.word("cmd", row).starts_with("pt_data_worker");
        let is_own = table.number("ppid", row).is_some_and(|parent| (parent - f64::from(driver)).abs() < 0.5);
        if is_worker && is_own && known.insert(pid) && table.t[row] > start + TOGETHER {
            let is_new = births.last().is_none_or(|last| table.t[row] - last > TOGETHER);
            births.extend(is_new.then_some(table.t[row]));
        }
    }
    births
}

/// Marks where the main thread's stack did not move while the program did nothing; says where every thread stands if
/// that is so at the end.
fn standing_still(
    samples: &Samples,
    driver: u32,
    readings: &[Reading<'_>],
    phases: &mut [Phase],
) -> Vec<(String, String)> {
    let mut standing = Vec::new();
    let mut from = 0;
    for at in 1..=readings.len() {
        if at < readings.len() && readings[at].number == readings[from].number {
            continue;
        }
        let (start, end) = (readings[from].t, readings[at - 1].t);
        if at - from >= FEWEST && end - start >= STILL && does_nothing(&samples.process, start, end) {
            phases[from..at].fill(Phase::Stuck);
            if at == readings.len() {
                standing = where_threads_are(samples, driver, start);
            }
        }
        from = at;
    }
    standing
}

/// No process of the program used CPU or moved bytes between `from` and `until`. Without counters nobody knows.
fn does_nothing(table: &Table, from: i64, until: i64) -> bool {
    let part = table.between(from, until);
    let seconds = (until - from) as f64 / 1e9;
    let growth = |column: &str| -> Option<f64> {
        let of = |pid: u32| {
            let values: Vec<f64> =
                part.rows_of("pid", f64::from(pid)).filter_map(|row| part.number(column, row)).collect();
            Some(values.last()? - values.first()?)
        };
        let growths: Vec<f64> = part.keys("pid").into_iter().filter_map(of).collect();
        (!growths.is_empty()).then(|| growths.iter().sum())
    };
    let Some(cpu) = growth("user_s").zip(growth("sys_s")).map(|(user, system)| user + system) else {
        return false;
    };
    let bytes = growth("rchar").unwrap_or(0.0) + growth("wchar").unwrap_or(0.0);
    cpu < NO_CPU * seconds && bytes < NO_BYTES * seconds
}

/// Threads whose stack was the same in every sample since `from`, the main thread first.
fn where_threads_are(samples: &Samples, driver: u32, from: i64) -> Vec<(String, String)> {
    const MOST: usize = 8;
    let stacks = &samples.stacks;
    let reader = Reader { stacks };
    let mut threads: Vec<(String, Option<usize>)> = Vec::new();
    for seen in stacks.seen.iter().filter(|seen| seen.t.is_some_and(|t| t >= from)) {
        let stack = &stacks.stacks[seen.stack];
        if stack.pid != driver || stack.frames.is_empty() {
            continue;
        }
        let name = stacks.names.get(stack.thread);
        match threads.iter_mut().find(|(known, _)| known == name) {
            Some((_, number)) => *number = number.filter(|number| *number == seen.stack),
            None => threads.push((name.to_owned(), Some(seen.stack))),
        }
    }
    threads.sort_by_key(|(name, _)| name != "MainThread");
    let place = |number: usize| stacks.stacks[number].frames.last().map(|frame| reader.in_words(*frame));
    threads.into_iter().filter_map(|(name, number)| Some((name, place(number?)?))).take(MOST).collect()
}
