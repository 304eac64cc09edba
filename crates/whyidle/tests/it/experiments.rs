//! `bench`, `compare` and `history` on small real programs; those with PyTorch need `WHYIDLE_TEST_PYTHON`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Run, root, whyidle};
use crate::torch::{again, turn};
use crate::watching::{eventually, is_alive, kill};

/// A program that prints a step every 10 ms, and says goodbye when it is interrupted.
pub(crate) const STEPS: &str =
    "trap 'echo saved; exit 0' INT; i=0; while :; do i=$((i+1)); echo \"step $i loss 2.5\"; sleep 0.01; done";

/// A place of its own for history, locks and output: tests run beside each other.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn whyidle(&self, args: &[&str]) -> Command {
        let mut command = whyidle(args);
        command.env("XDG_DATA_HOME", self.path()).env("XDG_RUNTIME_DIR", self.path());
        command.env_remove("CUDA_VISIBLE_DEVICES");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        self.whyidle(args).output().unwrap().into()
    }

    /// The JSON that a command prints, which ends well.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let run = self.run(args);
        assert_eq!(run.status, Some(0), "{args:?}: {}{}", run.out, run.err);
        self.valid(&run.out)
    }

    /// JSON that obeys the schema that it names.
    pub(crate) fn valid(&self, text: &str) -> Value {
        let value: Value = serde_json::from_str(text).unwrap();
        let name = value["schema"].as_str().unwrap().replace('/', "-");
        let schema = root().join(format!("crates/whyidle-report/schema/{name}.schema.json"));
        let schema: Value = serde_json::from_str(&fs::read_to_string(schema).unwrap()).unwrap();
        let problems: Vec<String> =
            jsonschema::validator_for(&schema).unwrap().iter_errors(&value).map(|e| e.to_string()).collect();
        assert!(problems.is_empty(), "{problems:#?}");
        value
    }
}

pub(crate) fn learns(more: &str) -> String {
    format!("python3 {} {more}", root().join("crates/whyidle/tests/programs/learns.py").display())
}

pub(crate) fn has_python() -> bool {
    let has = Command::new("python3").arg("--version").output().is_ok();
    if !has {
        println!("skipped: there is no python3");
    }
    has
}

#[test]
fn a_program_is_measured_by_the_steps_it_prints_and_ended_as_ctrl_c_would() {
    let place = Place::new();
    let table = place.path().join("BENCHMARK.md");
    fs::write(&table, "Notes of mine.").unwrap();
    let table = table.display().to_string();
    let found = place
        .json(&["bench", "--steps", "40", "--append", &table, "--format", "json", "--", "sh", "-c", STEPS]);
    assert_eq!((&found["basis"], &found["ended"]), (&Value::from("printed-steps"), &Value::from("enough")));
    let step = found["steady"]["mean_ns"].as_i64().unwrap();
    assert!((10_000_000..1_000_000_000).contains(&step), "{step}");
    assert!(found["steady"]["count"].as_u64().unwrap() >= 40);
    let log = fs::read_to_string(found["log"].as_str().unwrap()).unwrap();
    assert!(log.starts_with("step 1 loss 2.5\n") && log.ends_with("saved\n"), "{log}");
    let again = place.run(&["bench", "--steps", "20", "--append", &table, "--", "sh", "-c", STEPS]);
    assert!(again.err.contains("step 7 loss 2.5"), "its output is passed on: {}", again.err);
    assert!(again.out.contains("A step takes") && again.out.contains("Kept as run 2"), "{}", again.out);
    let table = fs::read_to_string(&table).unwrap();
    assert!(table.starts_with("Notes of mine.\n") && table.matches("|---|").count() > 0, "{table}");
    assert_eq!(table.lines().filter(|line| line.starts_with("| 2")).count(), 2, "{table}");
    let listed = place.json(&["history", "--format", "json"]);
    let ids: Vec<i64> =
        listed["entries"].as_array().unwrap().iter().map(|e| e["id"].as_i64().unwrap()).collect();
    assert_eq!(ids, [2, 1]);
    let shown = place.json(&["history", "show", "1", "--format", "json"]);
    assert_eq!((&shown["steady"], &shown["id"]), (&found["steady"], &Value::from(1)));
    // Side by side, two single runs tell nothing.
    let apart = place.run(&["compare", "1", "2"]);
    assert!(
        apart.status == Some(0) && apart.out.contains("do not tell whether"),
        "{}{}",
        apart.out,
        apart.err
    );
}

#[test]
fn a_program_that_fails_gives_its_own_status_and_is_no_measurement() {
    let place = Place::new();
    let failed = place.run(&["bench", "--", "sh", "-c", "echo no >&2; exit 3"]);
    assert!(failed.status == Some(3) && failed.out.contains("failed with status 3"), "{}", failed.out);
    let memory = place.run(&[
        "bench",
        "--",
        "sh",
        "-c",
        "echo torch.OutOfMemoryError: CUDA out of memory >&2; exit 1",
    ]);
    assert!(memory.out.contains("ran out of GPU memory"), "{}", memory.out);
    let whole = place.run(&["bench", "--", "sh", "-c", "sleep 0.05"]);
    assert!(whole.status == Some(0) && whole.out.contains("The program takes"), "{}", whole.out);
    let none = place.run(&["bench", "--", "/nonexistent/program"]);
    assert!(none.status == Some(2) && none.err.contains("could not be started"), "{}", none.err);
    let compared = place.run(&["compare", "exit 3", "true"]);
    assert!(
        compared.status == Some(1) && compared.err.contains("A showed nothing to compare"),
        "{}",
        compared.err
    );
}

#[test]
fn of_two_programs_without_steps_the_whole_is_compared() {
    let place = Place::new();
    let found = place.json(&["compare", "--pairs", "6", "--format", "json", "sleep 0.05", "sleep 0.3"]);
    assert_eq!((&found["per"], &found["effect"]["answer"]), (&Value::from("whole"), &Value::from("slower")));
    assert_eq!((&found["ended"], found["pairs"].as_array().unwrap().len()), (&Value::from("done"), 6));
    let shown = place.run(&["history", "show", "1", "-v"]);
    assert!(
        shown.out.contains("B is slower") && shown.out.contains("A6") && shown.out.contains("B6"),
        "{}",
        shown.out
    );
}

/// A learning rate that makes a program no faster and its loss another one.
#[test]
fn a_change_that_changes_the_loss_is_not_to_be_kept() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    let compare = |a: &str, b: &str| {
        let all = ["compare", "--pairs", "6", "--steps", "60", "--format", "json", &learns(a), &learns(b)];
        place.json(&all)
    };
    let wrong = compare("", "--lr 0.5 --sleep 0.0005");
    assert_eq!(
        (&wrong["losses"]["found"], &wrong["effect"]["answer"]),
        (&Value::from("differ"), &Value::from("faster"))
    );
    assert!(wrong["sentence"]["text"].as_str().unwrap().contains("Do not keep B"), "{}", wrong["sentence"]);
    let same = compare("", "--sleep 0.0005");
    assert_eq!(
        (&same["losses"]["found"], &same["effect"]["answer"]),
        (&Value::from("alike"), &Value::from("faster"))
    );
    let nan = compare("", "--nan-at 30");
    assert_eq!(
        (&nan["losses"]["found"], &nan["losses"]["at"]),
        (&Value::from("not-a-number"), &Value::from(30.0))
    );
}

#[test]
fn a_setting_is_changed_in_the_command_or_the_reason_is_said() {
    let place = Place::new();
    let found = place.json(&[
        "compare",
        "--pairs",
        "6",
        "--format",
        "json",
        "--set",
        "env:LONG=0.3",
        "--",
        "sh",
        "-c",
        "sleep ${LONG:-0.05}",
    ]);
    assert_eq!(
        (&found["effect"]["answer"], &found["b"]["environment"]["LONG"]),
        (&Value::from("slower"), &Value::from("0.3"))
    );
    let tested =
        place.json(&["compare", "--pairs", "6", "--self-test", "--format", "json", "--", "sleep", "0.05"]);
    assert!(
        tested["self_test"] == true && tested["sentence"]["text"].as_str().unwrap().contains("machine"),
        "{tested}"
    );
    for (args, reason) in [
        (&["compare", "--set", "workers=2", "--", "true"][..], "has no \"workers\""),
        (&["compare", "--set", "workers", "--", "true"], "NAME=VALUE"),
        (&["compare", "--", "true"], "nothing to compare"),
        (&["compare", "9997", "9998"], "holds no 9997"),
        (&["history", "show", "9999"], "holds no 9999"),
        (&["compare", "--counts", "70%", "a", "b"], "as 2%"),
    ] {
        let run = place.run(args);
        assert!(run.status == Some(2) && run.err.contains(reason), "{args:?}: {}", run.err);
    }
}

#[test]
fn an_interrupted_experiment_ends_its_program_and_keeps_what_there_is_and_nobody_measures_beside_it() {
    let place = Place::new();
    let ready = place.path().join("ready");
    let script = STEPS.replace("i=0;", &format!("i=0; touch {};", ready.display()));
    let mut first = place
        .whyidle(&["bench", "--steps", "100000", "--", "sh", "-c", &script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    eventually("the program runs", || ready.exists());
    let second = place.run(&["bench", "--", "true"]);
    assert_eq!(second.status, Some(1));
    assert!(
        second.err.contains("whyidle bench") && second.err.contains(&first.id().to_string()),
        "{}",
        second.err
    );
    let output = place.path().join("whyidle/output");
    let has_steps = || {
        let logs = fs::read_dir(&output).into_iter().flatten().flatten();
        logs.filter_map(|log| fs::read_to_string(log.path()).ok()).any(|text| text.contains("step 30 "))
    };
    eventually("thirty steps were printed", has_steps);
    kill(first.id(), "-INT");
    assert_eq!(first.wait().unwrap().code(), Some(0));
    let found = place.json(&["history", "show", "1", "--format", "json"]);
    assert_eq!(found["ended"], "interrupted");
    assert!(found["steady"]["count"].as_u64().unwrap() >= 10, "{found}");
    assert!(fs::read_to_string(found["log"].as_str().unwrap()).unwrap().ends_with("saved\n"));
}

/// Whoever is killed cannot end its program: the system does.
#[test]
fn a_killed_experiment_takes_its_program_with_it() {
    for (signal, verb) in [
        ("-KILL", "bench"),
        ("-TERM", "bench"),
        ("-HUP", "bench"),
        ("-KILL", "fix"),
        ("-TERM", "fix"),
        ("-TERM", "sweep"),
    ] {
        let place = Place::new();
        let file = place.path().join("pid");
        let script =
            STEPS.replace("i=0;", &format!("i=0; echo $$ > {0}.new; mv {0}.new {0};", file.display()));
        let script = format!("{script} # --workers");
        let mut args = vec![verb, "--steps", "100000"];
        if verb == "sweep" {
            args.extend(["--vary", "env:A=1,2"]);
        }
        args.extend(["--", "sh", "-c", &script]);
        let mut watcher = place.whyidle(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        eventually("the program runs", || file.exists());
        let program: u32 = fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        kill(watcher.id(), signal);
        watcher.wait().unwrap();
        eventually(&format!("the program of {verb} ends after {signal}"), || !is_alive(program));
    }
}

/// Of an unmodified PyTorch program: steps, samples, loss and version, also where a compiler has its model.
#[test]
fn steps_of_pytorch_are_seen_from_outside() {
    let Some(python) = std::env::var_os("WHYIDLE_TEST_PYTHON") else {
        println!("skipped: WHYIDLE_TEST_PYTHON names no Python with PyTorch");
        return;
    };
    let python = python.into_string().unwrap();
    let program = root().join("crates/whyidle/tests/programs/steps.py").display().to_string();
    let place = Place::new();
    for more in [&[][..], &["--compile"]] {
        let args = [&["bench", "--steps", "100", "--format", "json", "--", &python, &program], more].concat();
        let found = place.json(&args);
        assert_eq!(
            (&found["basis"], &found["hook_errors"]),
            (&Value::from("hook"), &Value::from(0)),
            "{more:?}"
        );
        assert_eq!(
            (&found["samples_per_step"], &found["ended"]),
            (&Value::from(4.0), &Value::from("enough"))
        );
        assert!(
            found["place"]["torch"].as_str().unwrap().starts_with('2')
                && !found["losses"].as_array().unwrap().is_empty()
        );
        let startup = found["startup_ns"].as_i64().unwrap();
        assert!(startup > 100_000_000 && found["wall_ns"].as_i64().unwrap() > startup, "{found}");
    }
}

/// A verdict is kept with the job that it belongs to, and shown as it was; not where nobody wants it, and a history that
/// does not serve is no failure of the run.
#[test]
fn verdicts_of_runs_are_kept_with_their_job() {
    let Some(python) = std::env::var_os("WHYIDLE_TEST_PYTHON") else {
        println!("skipped: WHYIDLE_TEST_PYTHON names no Python with PyTorch");
        return;
    };
    let python = python.into_string().unwrap();
    let program = root().join("crates/whyidle/tests/programs/steps.py").display().to_string();
    let place = Place::new();
    let run = |more: &[&str]| -> Run {
        let args =
            [&["run", "--no-trace", "--for", "12s", "--stop", "--format", "json"], more, &["--"]].concat();
        place
            .whyidle(&[&args[..], &[&python, &program]].concat())
            .env("WHYIDLE_JOB", "4711")
            .output()
            .unwrap()
            .into()
    };
    let _turn = turn();
    let kept = again(|| run(&[]), |kept| kept.status == Some(0));
    assert_eq!(kept.status, Some(0), "{}{}", kept.out, kept.err);
    // The program prints before and after it.
    let printed = &kept.out[kept.out.find("{\n").unwrap()..];
    let mut documents = serde_json::Deserializer::from_str(printed).into_iter::<Value>();
    let said = documents.next().unwrap().unwrap();
    let shown = place.json(&["history", "show", "1", "--format", "json"]);
    assert_eq!((&shown["verdict"], &shown["ledger"]), (&said["verdict"], &said["ledger"]));
    // A busy machine takes too few samples now and then.
    assert_eq!(again(|| run(&["--no-history"]), |run| run.status == Some(0)).status, Some(0));
    let listed = place.json(&["history", "--format", "json"]);
    let entries = listed["entries"].as_array().unwrap();
    assert_eq!(
        (entries.len(), &entries[0]["kind"], &entries[0]["job"]),
        (1, &"verdict".into(), &"4711".into())
    );
    let job = place.json(&["history", "--job", "4711", "--format", "json"]);
    assert_eq!(
        (job["parts"].as_array().unwrap().len(), &job["parts"][0]["cause"]),
        (1, &said["verdict"]["primary"])
    );
    let text = place.run(&["history", "show", "1"]);
    assert!(text.status == Some(0) && !text.out.is_empty(), "{}", text.err);
    fs::write(place.path().join("whyidle/history.db"), "no database ".repeat(200)).unwrap();
    let unkept = again(|| run(&[]), |unkept| unkept.status == Some(0));
    assert!(unkept.status == Some(0) && unkept.err.contains("was not kept"), "{}", unkept.err);
}

#[test]
fn a_job_that_nothing_is_known_of_is_said_to_be_none() {
    let place = Place::new();
    for prepare in [false, true] {
        if prepare {
            place.run(&["bench", "--", "true"]);
        }
        let none = place.run(&["history", "--job", "12"]);
        assert!(none.status == Some(2) && none.err.contains("nothing of a job \"12\""), "{}", none.err);
    }
    let bench = place.whyidle(&["bench", "--", "true"]).env("SLURM_JOB_ID", "12").output().unwrap();
    assert!(bench.status.success());
    let found = place.json(&["history", "--job", "12", "--format", "json"]);
    assert_eq!((&found["job"], found["parts"].as_array().unwrap().len()), (&"12".into(), 1));
}

/// A traceback shows the line of the source, in which a loss of 1 seems to stand.
#[test]
fn what_an_interrupted_program_says_is_no_loss() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    let source = "import time\nfor i in range(100000):\n    time.sleep(0.004); print(f'step {i} loss {1/(i+7):.4f}', flush=True)\n";
    let program = place.path().join("train.py");
    fs::write(&program, source).unwrap();
    let program = program.display().to_string();
    let found = place.json(&["bench", "--steps", "20", "--format", "json", "--", "python3", &program]);
    let losses = found["losses"].as_array().unwrap();
    assert!(losses.len() >= 20 && losses.iter().all(|point| point[1].as_f64() < Some(0.2)), "{losses:?}");
}
