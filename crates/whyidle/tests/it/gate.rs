//! `gate` on small real programs: its three answers, where baselines come from, and what is no baseline.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::experiments::Place;

/// Prints the times of thirty steps, each of so many milliseconds and a little more: however busy the machine, these are
/// its steps.
fn steps(ms: &str) -> String {
    format!(
        "for i in 1 2 3 4 5 6 7 8 9 0; do for j in 0 1 2; do echo \"loss 2.5 dt {ms}.${{j}}ms\"; done; done"
    )
}

const QUICK: &str = "10";
const SLOW: &str = "13";

/// A gate whose program ends by itself.
fn gate<'a>(more: &[&'a str], script: &'a str) -> Vec<&'a str> {
    [&["gate", "--runs", "3"], more, &["--", "sh", "-c", script]].concat()
}

#[test]
fn a_saved_baseline_tells_a_regression_from_none_and_from_no_evidence() {
    let place = Place::new();
    let file = place.path().join("baseline.json").display().to_string();
    let (quick, slow) = (steps(QUICK), steps(SLOW));
    let saved = place.run(&gate(&["--save", &file], &quick));
    assert!(
        saved.status == Some(0) && saved.err.contains("3 runs were written"),
        "{}{}",
        saved.out,
        saved.err
    );
    let judged = |more: &[&str], script: &str, status: i32| {
        let found = place.run(&gate(&[&["--baseline", &file], more].concat(), script));
        assert_eq!(found.status, Some(status), "{}{}", found.out, found.err);
        found.out
    };
    let json = |more: &[&str], script: &str, status| -> Value {
        let text = judged(&[more, &["--format", "json"]].concat(), script, status);
        place.valid(&text)
    };
    let within = json(&[], &quick, 0);
    assert_eq!((&within["answer"], &within["reason"]), (&Value::from("within"), &Value::from("change")));
    assert_eq!(within["baseline"]["figures"].as_array().map(Vec::len), Some(3));
    let regressed = json(&[], &slow, 1);
    assert!(regressed["change"]["low"].as_f64().unwrap() > 0.05, "{regressed}");
    assert!(regressed["sentence"]["text"].as_str().unwrap().starts_with("Regression: "), "{regressed}");
    let github = judged(&["--format", "github"], &slow, 1);
    assert!(github.starts_with("::error title=whyidle%3A regression::Regression: "), "{github}");
    let failed = json(&[], "echo step 1; exit 3", 3);
    assert_eq!((&failed["reason"], &failed["failed"][1]), (&Value::from("failed"), &Value::from(3)));
    let none = json(&["--metric", "peak-memory"], &quick, 3);
    assert_eq!(none["reason"], "no-baseline");
    // A baseline of another machine.
    let elsewhere = fs::read_to_string(&file).unwrap().replace("\"gpus\": [", "\"gpus\": [\"Another GPU\", ");
    let elsewhere = elsewhere.replace("\"Another GPU\", ]", "\"Another GPU\"]");
    fs::write(&file, elsewhere).unwrap();
    let other = json(&[], &quick, 3);
    assert_eq!(
        (&other["reason"], &other["differences"][0][0]),
        (&Value::from("machine"), &Value::from("gpus"))
    );
    assert_eq!(json(&["--anyway"], &quick, 0)["answer"], "within");
}

#[test]
fn runs_of_the_history_are_judged_by_number_and_by_commit() {
    let place = Place::new();
    let here = place.path().join("repository");
    fs::create_dir(&here).unwrap();
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        let git = git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments).current_dir(&here);
        git.output().is_ok_and(|output| output.status.success())
    };
    if !git(&["init", "--quiet", "--initial-branch=main"]) {
        println!("skipped: there is no git");
        return;
    }
    let whyidle = |args: &[&str]| -> crate::support::Run {
        place.whyidle(args).current_dir(&here).output().unwrap().into()
    };
    assert!(git(&["commit", "--quiet", "--allow-empty", "--message", "a"]) && git(&["tag", "v1"]));
    // The same command; what it takes is in a variable, as code would be.
    let script = &steps("${STEP:-10}");
    let run = |step: &str, args: &[&str]| -> crate::support::Run {
        place.whyidle(args).env("STEP", step).current_dir(&here).output().unwrap().into()
    };
    for _ in 0..2 {
        assert_eq!(run(QUICK, &["bench", "--steps", "20", "--", "sh", "-c", script]).status, Some(0));
    }
    assert!(git(&["commit", "--quiet", "--allow-empty", "--message", "b"]));
    let slow = run(SLOW, &gate(&["--baseline", "v1"], script));
    assert!(slow.status == Some(1) && slow.out.contains("Regression"), "{}{}", slow.out, slow.err);
    let again = whyidle(&["gate", "--baseline", "v1", "--run", "last", "--format", "md"]);
    assert!(again.status == Some(1) && again.out.contains("### Regression"), "{}{}", again.out, again.err);
    let numbered = whyidle(&["gate", "--baseline", "1", "--baseline", "2", "--run", "2"]);
    assert_eq!(numbered.status, Some(0), "{}{}", numbered.out, numbered.err);
    let one = whyidle(&["gate", "--baseline", "1", "--run", "2"]);
    assert!(one.status == Some(3) && one.out.contains("one run on each side"), "{}{}", one.out, one.err);
    for (args, reason) in [
        (&["gate", "--baseline", "main", "--", "true"][..], "no run of this command"),
        (&["gate", "--baseline", "no-such-branch", "--run", "1"], "no commit of this repository"),
        (&["gate", "--baseline=--help", "--run", "1"], "no commit of this repository"),
        (&["gate", "--baseline", "99", "--run", "1"], "holds no 99"),
        (&["gate", "--baseline", "1", "--run", "x"], "number of the history or last"),
        (&["gate", "--baseline", "1"], "something is missing"),
        (&["gate", "--", "true"], "something is missing"),
    ] {
        let refused = whyidle(args);
        assert!(refused.status == Some(2) && refused.err.contains(reason), "{args:?}: {}", refused.err);
    }
}

#[test]
fn what_is_no_baseline_is_refused_before_anything_runs() {
    let place = Place::new();
    let file = place.path().join("baseline.json");
    let ran = place.path().join("ran");
    let script = format!("touch {}", ran.display());
    for (text, reason) in [
        ("", "holds no run"),
        ("{\"schema\": \"whyidle.plan/1\"}", "whyidle.plan/1"),
        ("{\"schema\": \"whyidle.bench/1\"}", "is damaged"),
        ("{\"schema\": \"whyidle.bench/1\", \"wall_ns\": NaN}", "no JSON from line 1"),
        ("[[[[", "no JSON from line 1"),
    ] {
        fs::write(&file, text).unwrap();
        let found = place.run(&["gate", "--baseline", file.to_str().unwrap(), "--", "sh", "-c", &script]);
        assert!(found.status == Some(2) && found.err.contains(reason), "{text}: {}", found.err);
    }
    let folder = place.run(&["gate", "--baseline", "/", "--", "sh", "-c", &script]);
    assert_eq!(folder.status, Some(2), "{}", folder.err);
    assert!(!ran.exists() && !place.path().join("whyidle/history.db").exists(), "nothing was run or made");
    let last = place.run(&["gate", "--baseline", "1", "--run", "last"]);
    assert!(last.status == Some(2) && last.err.contains("holds no run yet"), "{}", last.err);
}
