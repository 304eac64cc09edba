//! The measured peaks that the tests hold predictions against are those of the recordings.

#![allow(clippy::print_stdout, reason = "a skipped test says so")]

use serde_json::Value;
use std::{env, fs, path::PathBuf};

#[test]
fn stored_peaks_are_the_recorded_ones() {
    let default = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/lab");
    let lab = env::var_os("WHYIDLE_LAB").map_or(default, PathBuf::from);
    if !lab.is_dir() {
        println!("skipped: no recordings in {}; set WHYIDLE_LAB", lab.display());
        return;
    }
    let rows: Value = serde_json::from_str(include_str!("../testdata/lab.json")).expect("test data");
    for row in rows.as_array().expect("rows") {
        let case = row["case"].as_str().expect("a case");
        let ranks = row["allocated"].as_array().expect("ranks");
        for (rank, stored) in ranks.iter().enumerate() {
            let name = if ranks.len() > 1 { format!("case_rank{rank}.json") } else { "case.json".to_owned() };
            let path = lab.join(case).join(name);
            let recorded: Value =
                serde_json::from_str(&fs::read_to_string(&path).expect("a recording")).expect("JSON");
            assert_eq!(&recorded["max_memory_allocated"], stored, "{}", path.display());
        }
    }
}
