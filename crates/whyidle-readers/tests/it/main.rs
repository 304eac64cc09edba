//! Reading whole traces: what is found in them, what is done about faults, and that
//! both parsers agree.

mod agree;
mod ascend;
mod damage;
#[cfg(feature = "documents")]
mod documents;
mod faults;
mod flight;
mod kinds;
mod logs;
mod losses;
mod memory;
mod mutations;
mod nsys;
mod progress;
mod prometheus;
mod settings;

use whyidle_model::{NoteCode, Trace};
use whyidle_readers::{ParserChoice, ReadError, ReadOptions, read_trace_from};

/// The traces that ship with the tests.
const CURRENT: &[u8] = include_bytes!("../traces/current.json");
const OF_2021: &[u8] = include_bytes!("../traces/of_2021.json");
const LIST: &[u8] = include_bytes!("../traces/list.json");

/// Reads `bytes` with both parsers, which must agree.
fn read(bytes: &[u8]) -> Result<Trace, ReadError> {
    let [auto, reference] = [ParserChoice::Auto, ParserChoice::Reference]
        .map(|parser| read_trace_from(bytes, &ReadOptions { parser, ..ReadOptions::default() }));
    match (&auto, &reference) {
        (Ok(auto), Ok(reference)) => assert!(auto == reference, "the parsers disagree"),
        (Err(auto), Err(reference)) => assert_eq!(auto.to_string(), reference.to_string()),
        _ => panic!("the parsers disagree: {:?} and {:?}", auto.err(), reference.err()),
    }
    auto
}

/// Reads `text`, which must be readable.
fn trace(text: &str) -> Trace {
    read(text.as_bytes()).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// Names of all host and GPU rows, in order.
fn names(trace: &Trace) -> Vec<&str> {
    trace.host.name.iter().chain(&trace.gpu.name).map(|&name| trace.names.get(name)).collect()
}

/// Codes and counts of all notes.
fn notes(trace: &Trace) -> Vec<(NoteCode, u64)> {
    trace.notes.sorted().iter().map(|note| (note.code, note.count)).collect()
}

#[test]
fn progress_reaches_the_size_of_the_file() -> Result<(), Box<dyn std::error::Error>> {
    use std::sync::atomic::{AtomicU64, Ordering};

    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces/current.json");
    let seen = AtomicU64::new(0);
    let progress = |bytes| seen.store(bytes, Ordering::Relaxed);
    let options = ReadOptions { progress: Some(&progress), ..ReadOptions::default() };
    whyidle_readers::read_trace(&path, &options)?;
    assert_eq!(seen.into_inner(), CURRENT.len() as u64);
    Ok(())
}
