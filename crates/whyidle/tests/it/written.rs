//! Losses that programs write into files; the other ways by which steps are told; what is set for a program.

use std::fs;

use serde_json::Value;

use crate::experiments::Place;

/// Prints steps without losses, and writes those into a folder that it makes anew: JSON lines, with a factor.
fn writes(folder: &str, factor: &str) -> String {
    format!(
        "mkdir -p {folder}/$$; for i in $(seq 30); do echo \"step $i\"; \
         echo \"{{\\\"step\\\": $i, \\\"train/loss\\\": {factor}}}\" >> {folder}/$$/metrics.jsonl; sleep 0.01; done"
    )
}

#[test]
fn losses_are_taken_from_what_a_program_writes_while_it_runs() {
    let place = Place::new();
    let folder = place.path().join("runs");
    fs::create_dir(&folder).unwrap();
    let older: String = (0..99).map(|step| format!("{{\"step\": {step}, \"loss\": 9}}\n")).collect();
    fs::write(folder.join("older.jsonl"), older).unwrap();
    let folder = folder.display().to_string();
    let bench = |factor: &str| -> Value {
        let script = writes(&folder, factor);
        place.json(&[
            "bench", "--steps", "20", "--losses", &folder, "--format", "json", "--", "sh", "-c", &script,
        ])
    };
    let first = bench("2.5");
    let losses = first["losses"].as_array().unwrap();
    assert!(losses.len() >= 20 && losses[0] == serde_json::json!([1.0, 2.5]), "{losses:?}");
    assert!(first["losses_from"].as_str().unwrap().ends_with("metrics.jsonl"));
    bench("2.5");
    let judged = |factor: &str| -> Value {
        let script = writes(&folder, factor);
        let args = ["gate", "--baseline", "1", "--baseline", "2", "--runs", "2", "--max-regression", "40%"];
        let more = ["--steps", "20", "--losses", &folder, "--format", "json", "--", "sh", "-c", &script];
        place.valid(&place.run(&[&args[..], &more].concat()).out)
    };
    let nan = judged("NaN");
    assert_eq!((&nan["answer"], &nan["reason"]), (&"regressed".into(), &"losses".into()));
    let other = judged("7.5");
    assert_eq!((&other["reason"], &other["losses"]["found"]), (&"losses".into(), &"differ".into()));
    assert_eq!(judged("2.51")["losses"]["found"], "alike");
    let none = place.run(&["bench", "--losses", "/nonexistent", "--", "true"]);
    assert!(none.status == Some(0) && none.err.contains("no losses of this run"), "{}", none.err);
}

#[test]
fn times_that_a_program_prints_are_its_steps_where_nothing_tells_more() {
    let place = Place::new();
    let script = "for i in $(seq 40); do echo \"loss 2.5 dt 188.5ms\"; sleep 0.01; done";
    let mut bench = place.whyidle(&["bench", "--steps", "20", "--format", "json", "--", "sh", "-c", script]);
    let output = bench.env_remove("PYTHONUNBUFFERED").output().unwrap();
    let found = place.valid(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(
        (&found["basis"], &found["steady"]["mean_ns"]),
        (&"printed-times".into(), &188_500_000_i64.into())
    );
    assert!(found["added"].as_array().unwrap().contains(&"PYTHONUNBUFFERED=1".into()), "{}", found["added"]);
    let shown = place.run(&["history", "show", "1", "-v"]);
    assert!(shown.out.contains("PYTHONUNBUFFERED=1"), "{}", shown.out);
    let own = place
        .whyidle(&["bench", "--format", "json", "--", "true"])
        .env("PYTHONUNBUFFERED", "x")
        .output()
        .unwrap();
    assert!(!String::from_utf8_lossy(&own.stdout).contains("PYTHONUNBUFFERED=1"));
}

/// However long a command: no line of the list is wider than the terminal.
#[test]
fn the_list_keeps_within_the_terminal() {
    let place = Place::new();
    let long = "true ".to_owned() + &"/a/very/long/path/without/a/blank".repeat(9) + "\ntrue";
    for lang in ["en", "zh"] {
        place.run(&["bench", "--", "sh", "-c", &long]);
        let listed = place.run(&["history", "--lang", lang]);
        let widest = listed.out.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 80, "{widest}: {}", listed.out);
    }
}
