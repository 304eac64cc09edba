//! `sweep` on small real programs; those with PyTorch need `WHYIDLE_TEST_PYTHON`.

use std::fs;
use std::process::Stdio;

use serde_json::Value;

use crate::experiments::{Place, STEPS, has_python, learns};
use crate::support::root;
use crate::watching::{eventually, kill};

/// A step takes 10 ms whatever it holds, and there is no room for more than 32 samples.
const BATCH: &str = "if [ $1 -gt 32 ]; then echo 'torch.OutOfMemoryError: CUDA out of memory' >&2; exit 1; fi; \
    i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo \"step $i\"; sleep 0.01; done";

fn sleepy() -> String {
    root().join("crates/whyidle/tests/programs/sleepy.py").display().to_string()
}

/// The values of a rung, with how they fared.
fn fates(rung: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or("–").to_owned();
    let values = rung["values"].as_array().unwrap();
    values.iter().map(|tried| (text(&tried["value"]), text(&tried["fate"]))).collect()
}

fn knee(rung: &Value) -> &str {
    let at = rung["found"]["knee"].as_u64().unwrap();
    rung["values"][at as usize]["value"].as_str().unwrap()
}

/// A dataset that sleeps 4 ms a sample: sixteen workers overlap their sleep, however few cores there are.
#[test]
fn workers_that_wait_pay_beyond_the_number_of_cores() {
    let Some(python) = std::env::var_os("WHYIDLE_TEST_PYTHON") else {
        println!("skipped: WHYIDLE_TEST_PYTHON names no Python with PyTorch");
        return;
    };
    let (python, place) = (python.into_string().unwrap(), Place::new());
    let sweep = |vary: &str, more: &[&str]| {
        let head = ["sweep", "--rounds", "2", "--format", "json", "--vary", vary, "--", &python];
        place.json(&[&head, &[&*sleepy()][..], more].concat())
    };
    let found = sweep("num_workers=0,16", &["--num-workers", "0"]);
    let rung = &found["rungs"][0];
    let time = |at: usize| rung["values"][at]["ns"].as_f64().unwrap();
    assert_eq!((knee(rung), rung["basis"].as_str()), ("16", Some("hook")), "{found:#}");
    assert!(time(0) > 10.0 * time(1), "{} and {} ns", time(0), time(1));
    // In memory, workers bring nothing: a normal answer.
    let found = sweep("num_workers=0,2", &["--num-workers", "0", "--sleep-ms", "0"]);
    let rung = &found["rungs"][0];
    assert!(knee(rung) == "0" && rung["found"]["shape"] != "knee", "{found:#}");
}

#[test]
fn a_batch_doubles_to_the_first_that_does_not_fit() {
    let place = Place::new();
    let found = place.json(&[
        "sweep",
        "--vary",
        "batch=8,...",
        "--steps",
        "20",
        "--format",
        "json",
        "--",
        "sh",
        "-c",
        BATCH,
        "sh",
        "{batch}",
    ]);
    let rung = &found["rungs"][0];
    let told = |values: &[(&str, &str)]| -> Vec<(String, String)> {
        values.iter().map(|(value, fate)| ((*value).to_owned(), (*fate).to_owned())).collect()
    };
    let expected =
        told(&[("8", "measured"), ("16", "measured"), ("32", "measured"), ("64", "out-of-memory")]);
    assert_eq!(fates(rung), expected, "{found:#}");
    assert_eq!((knee(rung), &rung["per"], &rung["assumed_samples"]), ("32", &"sample".into(), &true.into()));
    assert!(found["sentence"]["text"].as_str().unwrap().contains("64 does not fit into memory"), "{found:#}");
    // The runs are kept with it, that which failed too.
    let shown = place.run(&["history", "show", "1", "-v"]);
    assert!(shown.out.contains("out of memory") && shown.out.contains("batch=64 #1"), "{}", shown.out);
    assert!(place.run(&["history"]).out.contains("[one value pays]"));
    let again = place.json(&["history", "show", "1", "--format", "json"]);
    assert_eq!((&again["rungs"], &again["sentence"]), (&found["rungs"], &found["sentence"]));
    for args in [&["history", "show", "1", "--format", "md"][..], &["--lang", "zh", "history", "show", "1"]] {
        let run = place.run(args);
        assert!(run.status == Some(0) && run.out.contains("→ 32") && run.out.contains('█'), "{}", run.out);
    }
}

/// Two settings that pay and one that does not, given in another order than they are tried.
#[test]
fn a_ladder_keeps_what_pays_and_rolls_back_what_does_not() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    let program = "import sys, time\nworkers, amp = int(sys.argv[1]), sys.argv[2]\n\
        for step in range(60):\n    time.sleep(0.04 / workers * (0.5 if amp == 'amp=bf16' else 1.0))\n\
        \x20   print('step', step, 'loss', 2 + 1 / (step + 1), flush=True)";
    let found = place.json(&[
        "sweep",
        "--vary",
        "env:UNHEARD=1,2",
        "--vary",
        "amp=bf16",
        "--vary",
        "workers=1,2",
        "--steps",
        "20",
        "--rounds",
        "3",
        "--format",
        "json",
        "--",
        "python3",
        "-c",
        program,
        "{workers}",
        "amp=fp32",
    ]);
    let rungs = found["rungs"].as_array().unwrap();
    let names: Vec<&str> = rungs.iter().map(|rung| rung["name"].as_str().unwrap()).collect();
    // What the first is about its name does not tell: it keeps its place.
    assert_eq!(names, ["env:UNHEARD", "workers", "amp"]);
    let kept: Vec<&Value> =
        rungs.iter().map(|rung| &rung["values"][rung["kept"].as_u64().unwrap() as usize]["value"]).collect();
    assert_eq!(kept, [&Value::Null, &Value::from("2"), &Value::from("bf16")], "{found:#}");
    let total = &found["total"];
    assert_eq!(total["is_measured_anew"], true);
    assert!((2.5..6.0).contains(&total["speedup"]["ratio"].as_f64().unwrap()), "{total:#}");
    let text = place.run(&["history", "show", "1"]).out;
    assert!(text.contains("with workers=2 and") && text.contains("the command as it is stays"), "{text}");
}

#[test]
fn a_value_in_a_file_is_changed_in_a_copy() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    let config = place.path().join("config.yaml");
    let text = "# mine\ndata:\n  sleep: 0.02 # s\n";
    fs::write(&config, text).unwrap();
    let program = "import sys, time\nsleep = float(open(sys.argv[1]).read().split('sleep: ')[1].split()[0])\n\
        for step in range(60):\n    time.sleep(sleep)\n    print('step', step, flush=True)";
    let config = config.display().to_string();
    let vary = format!("file:{config}:data.sleep=0.02,0.005");
    let args = [
        "sweep", "--vary", &vary, "--steps", "20", "--format", "json", "--", "python3", "-c", program,
        &config,
    ];
    let found = place.json(&args);
    assert_eq!((knee(&found["rungs"][0]), fs::read_to_string(&config).unwrap().as_str()), ("0.005", text));
    // Its runs name the copies, which are kept as the output is.
    let run = place.json(&["history", "show", "2", "--format", "json"]);
    let copy = run["command"][3].as_str().unwrap();
    assert_eq!(fs::read_to_string(copy).unwrap(), text.replace("0.02 #", "0.005 #"));
}

#[test]
fn a_value_that_breaks_the_program_or_its_loss_is_not_chosen() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    let sweep = |vary: &str, more: &str| {
        let command = learns(more);
        let words: Vec<&str> = command.split(' ').collect();
        let head = ["sweep", "--vary", vary, "--steps", "20", "--rounds", "2", "--format", "json", "--"];
        place.json(&[&head, &words[..]].concat())
    };
    let broken = sweep("--nan-at=10,100000", "--sleep 0.01");
    assert_eq!(knee(&broken["rungs"][0]), "10", "the first value is what others are compared with");
    let broken = sweep("--nan-at=-1,10", "--sleep 0.01");
    assert_eq!(broken["rungs"][0]["values"][1]["losses"]["found"], "not-a-number");
    assert!(broken["doubts"][0]["text"].as_str().unwrap().contains("no number"), "{broken:#}");
    let failed = sweep("--sleep=0.02,0.01,none", "--lr 0.05");
    let fates: Vec<String> = fates(&failed["rungs"][0]).into_iter().map(|(_, fate)| fate).collect();
    assert_eq!(fates, ["measured", "measured", "failed"]);
    assert_eq!(knee(&failed["rungs"][0]), "0.01");
}

#[test]
fn an_interrupted_sweep_keeps_what_there_is() {
    let place = Place::new();
    let script = STEPS.replace("i=0;", "i=0; echo run >> \"$0\";");
    let marks = place.path().join("marks").display().to_string();
    let mut sweeping = place
        .whyidle(&["sweep", "--vary", "env:N=1,2,3", "--steps", "20", "--", "sh", "-c", &script, &marks])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    eventually("the second value runs", || {
        fs::read_to_string(&marks).is_ok_and(|marks| marks.lines().count() >= 2)
    });
    kill(sweeping.id(), "-INT");
    assert_eq!(sweeping.wait().unwrap().code(), Some(0));
    let found = place.json(&["history", "show", "1", "--format", "json"]);
    assert_eq!(
        (&found["ended"], &found["rungs"][0]["values"][0]["fate"]),
        (&"interrupted".into(), &"measured".into())
    );
    assert_eq!(found["rungs"][0]["values"][2]["fate"], "not-run");
}

#[test]
fn what_cannot_be_varied_is_refused_with_a_reason() {
    let place = Place::new();
    let path = |name: &str| place.path().join(name).display().to_string();
    fs::write(path("c.json"), "{\"a\": {\"b\": 1}}").unwrap();
    fs::write(path("bad.toml"), "a = [").unwrap();
    let many = (0..2_000).map(|at| at.to_string()).collect::<Vec<_>>().join(",");
    for (vary, reason) in [
        ("workers=1,2", "has no \"workers\""),
        ("", "takes NAME=VALUE"),
        ("=1,2", "takes NAME=VALUE"),
        ("--x=", "one of the values is empty"),
        ("--x=1,,2", "one of the values is empty"),
        ("--x=1,2,1", "\"1\" is given twice"),
        ("--x=a,b,...", "cannot go on"),
        ("{n}=1", "only one value"),
        (&format!("--x={many}"), "more than 64"),
        (&format!("file:{}:a.b=1,2", path("c.json")), "no argument of the command names"),
        (&format!("file:{}:a.c=1,2", path("c.json")), "holds no a.c"),
        (&format!("file:{}:a=1,2", path("c.json")), "no single value"),
        (&format!("file:{}:a=1,2", path("bad.toml")), "cannot be read"),
        (&format!("file:{}:a=1,2", path("none.yaml")), "none.yaml"),
        (&format!("file:{}:a=1,2", path("marks")), "no TOML, YAML or JSON"),
        ("file:x=1,2", "file:PATH"),
    ] {
        let vary = if vary == "{n}=1" { "n=1" } else { vary };
        let run = place.run(&["sweep", "--vary", vary, "--", "true", "{n}"]);
        assert!(run.status == Some(2) && run.err.contains(reason), "{vary}: {}", run.err);
    }
    let twice = place.run(&["sweep", "--vary", "--x=1,2", "--vary", "--x=3,4", "--", "true"]);
    assert!(twice.status == Some(2) && twice.err.contains("given twice"), "{}", twice.err);
    let none = place.run(&["sweep", "--vary", "--x=1,2", "--", "/nonexistent/program"]);
    assert!(none.status == Some(2) && none.err.contains("could not be started"), "{}", none.err);
    let fails = place.run(&["sweep", "--vary", "env:N=1,2", "--", "sh", "-c", "echo no >&2; exit 3"]);
    assert!(fails.status == Some(1) && fails.err.contains("status 3"), "{}{}", fails.out, fails.err);
    let stepless = place.run(&["sweep", "--vary", "env:N=1,2", "--for", "1", "--", "sleep", "60"]);
    assert!(
        stepless.status == Some(1) && stepless.err.contains("no step"),
        "{}{}",
        stepless.out,
        stepless.err
    );
    // Without steps, a program that ends is compared as a whole.
    let whole = place.json(&[
        "sweep",
        "--vary",
        "s=0.05,0.3",
        "--rounds",
        "2",
        "--format",
        "json",
        "--",
        "sleep",
        "{s}",
    ]);
    assert_eq!((&whole["rungs"][0]["per"], knee(&whole["rungs"][0])), (&"whole".into(), "0.05"));
}
