//! `whyidle diagnose` on what Nsight Compute, `nvidia-smi` and samplers of stacks print.

use serde_json::Value;

use crate::support::{LANGUAGES, printed, root};

const DATA: &str = "crates/whyidle-readers/testdata";
/// A trace of the same kind of program on the same card.
const RAW: &str = "crates/whyidle-readers/testdata/ncu/raw.csv";

fn path(name: &str) -> String {
    format!("{DATA}/{name}")
}

fn json(files: &[&str]) -> Value {
    let files: Vec<String> = files.iter().map(|name| path(name)).collect();
    let mut arguments: Vec<&str> = vec!["diagnose", "--format", "json"];
    arguments.extend(files.iter().map(String::as_str));
    serde_json::from_str(&printed(&arguments)).unwrap()
}

/// The page on kernels.
fn kernels(files: &[&str]) -> Value {
    json(files)["evidence"]["kernels"].take()
}

#[test]
fn the_screens_of_kernels_and_of_a_machine() {
    for lang in LANGUAGES {
        let page = printed(&["diagnose", RAW, "--lang", lang]);
        insta::assert_snapshot!(format!("logs_ncu_{lang}"), page);
        let machine = printed(&[
            "diagnose",
            &path("logs/q.txt"),
            &path("logs/topo.txt"),
            &path("logs/top.txt"),
            "--lang",
            lang,
        ]);
        insta::assert_snapshot!(format!("logs_machine_{lang}"), machine);
        let stacks =
            printed(&["diagnose", &path("logs/py-spy.raw"), &path("logs/iostat.txt"), "--lang", lang, "-v"]);
        insta::assert_snapshot!(format!("logs_stacks_{lang}"), crate::support::without_version(&stacks));
    }
}

/// What a program on an H200 left in a minute: a query, `dmon`, `top`, the processes and the report.
const MINUTE: [&str; 5] = ["query.csv", "dmon_dt.txt", "top.txt", "apps.csv", "q.txt"];

#[test]
fn the_screen_of_one_minute_in_five_files() {
    use unicode_width::UnicodeWidthStr;
    let files = MINUTE.map(|name| path(&format!("logs/h200/{name}")));
    for lang in LANGUAGES {
        let args: Vec<&str> =
            ["diagnose", "--lang", lang].into_iter().chain(files.iter().map(String::as_str)).collect();
        let page = printed(&args);
        assert!(page.lines().all(|line| line.width() <= 80), "{page}");
        insta::assert_snapshot!(format!("logs_minute_{lang}"), page);
    }
}

#[test]
fn what_nvidia_smi_says_of_a_bad_query_is_refused_by_name() {
    for (name, words) in [
        ("bad_query.csv", "what nvidia-smi says of a field that it does not have"),
        ("query_noheader.csv", "without the header that names its columns"),
    ] {
        let refused = crate::support::run(&["diagnose", &path(&format!("logs/h200/{name}"))]);
        assert_eq!((refused.status, refused.out.as_str()), (Some(2), ""));
        assert!(refused.err.contains(words) && refused.err.contains("--help-query-gpu"), "{}", refused.err);
    }
}

#[test]
fn stacks_without_times_are_not_called_watched_and_those_by_time_say_so() {
    for (lang, words, other) in
        [("en", "sightings without times", "watched for"), ("zh", "采样没有时间", "观察 0 秒")]
    {
        let page = printed(&["diagnose", &path("logs/py-spy.raw"), "--lang", lang]);
        let head = page.lines().next().unwrap();
        assert!(head.contains(words) && !head.contains(other), "{head}");
    }
    let refused = crate::support::run(&["diagnose", &path("logs/h200/stacks_cuda.txt.gz")]);
    assert_eq!(refused.status, Some(1));
    assert!(refused.out.contains("by the time that operators took themselves"), "{}", refused.out);
}

/// Kernels of one program on both sides: all but the optimizer's, before which Nsight Compute ended, are found again.
#[test]
fn a_trace_of_the_same_program_says_which_kernels_are_missing() {
    let mut report = json(&["ncu/h200/raw.csv.gz", "ncu/h200/trace.json.gz"]);
    let kernels = report["evidence"]["kernels"].take();
    let joined = &kernels["trace"];
    assert_eq!((&kernels["launches"], &joined["kernels_found"]), (&56.into(), &25.into()));
    let missing = joined["missing"].as_array().unwrap();
    assert!(
        !missing.is_empty()
            && missing.iter().all(|kernel| kernel["name"].as_str().unwrap().contains("multi_tensor_apply")),
        "{missing:#?}"
    );
    let ns = |name: &str| joined[name].as_i64().unwrap() as f64;
    // Counted from both files by function and size alone, over all of the trace: 97.86 %.
    assert!((ns("covered_ns") / ns("working_ns") - 0.9786).abs() < 0.002, "{joined}");
    let weights: i64 = kernels["kernels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|kernel| kernel["weight_ns"].as_i64().unwrap())
        .sum();
    // Nothing ran side by side: the sum is the union, but for rounding per kernel.
    assert!((weights as f64 * 2.0 - ns("covered_ns")).abs() < 100.0, "{weights} {joined}");
}

#[test]
fn what_limits_kernels_is_weighted_by_time() {
    let report = kernels(&["ncu/raw.csv"]);
    assert_eq!(
        (report["launches"].as_u64(), report["kernels"].as_array().map(Vec::len)),
        (Some(13), Some(13))
    );
    let limited = |bound: &str| {
        report["together"]["bounds"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["bound"] == bound)
            .map_or(0, |row| row["ns"].as_u64().unwrap())
    };
    let all = report["together"]["weight_ns"].as_u64().unwrap();
    let by_kernels: u64 = report["kernels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|kernel| kernel["weight_ns"].as_u64().unwrap())
        .sum();
    assert_eq!(all, by_kernels);
    assert!(limited("compute") > limited("latency"), "{report:#}");
    let attention = report["kernels"]
        .as_array()
        .unwrap()
        .iter()
        .find(|kernel| kernel["name"].as_str().unwrap().starts_with("cudnn"))
        .unwrap();
    assert_eq!((&attention["bound"], &attention["change"]), (&"latency".into(), &Value::Null));
    assert_eq!(attention["limiters"], serde_json::json!(["registers", "shared-memory"]));
}

#[test]
fn reports_of_kernels_obey_their_schema() {
    let schema = include_str!("../../../whyidle-report/schema/whyidle.ncu-1.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for file in ["ncu/raw.csv", "ncu/details.csv"] {
        let report = kernels(&[file]);
        let errors: Vec<_> = validator
            .iter_errors(&report)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{file}: {}", errors.join("\n"));
        let mut bad = report.clone();
        bad["surprise"] = Value::from(1);
        assert!(!validator.is_valid(&bad));
        bad = report;
        bad["kernels"][0]["bound"] = Value::from("fast");
        assert!(!validator.is_valid(&bad));
    }
}

/// The lab's kernels in the lab's trace: what they are of a step is a union, and never more than its work.
#[test]
fn kernels_are_found_again_in_a_trace() {
    let lab = std::env::var_os("WHYIDLE_LAB").map_or_else(|| root().join("../shared/lab"), Into::into);
    if !lab.join("ncu/raw.csv").exists() {
        println!("skipped: no recordings in {}; set WHYIDLE_LAB", lab.display());
        return;
    }
    let (raw, trace) = (lab.join("ncu/raw.csv"), lab.join("fed/trace.json.gz"));
    let page = printed(&["diagnose", raw.to_str().unwrap(), trace.to_str().unwrap(), "--format", "json"]);
    let mut report: Value = serde_json::from_str(&page).unwrap();
    let report = report["evidence"]["kernels"].take();
    let found = &report["trace"];
    let ns = |name: &str| found[name].as_i64().unwrap();
    assert_eq!((found["steps"].as_u64(), found["kernels_found"].as_u64()), (Some(2), Some(2)));
    assert!(0 < ns("covered_ns") && ns("covered_ns") < ns("working_ns") && ns("working_ns") <= ns("step_ns"));
    // 16.3 of 113.6 ms, counted independently from the trace's kernels of that name and shape.
    assert!((ns("covered_ns") as f64 / ns("working_ns") as f64 - 0.1437).abs() < 0.001, "{found}");
    assert!(
        report["kernels"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|kernel| kernel["weight_ns"].as_i64() > Some(0))
            .count()
            == 2
    );
}

#[test]
fn no_line_is_wider_than_the_terminal_and_everything_is_worded() {
    use unicode_width::UnicodeWidthStr;
    for files in
        [&["ncu/raw.csv"][..], &["ncu/details.csv"], &["logs/q.txt", "logs/topo.txt", "logs/dmon.txt"]]
    {
        for lang in LANGUAGES {
            for more in [&[][..], &["-v"], &["--format", "md"]] {
                let files: Vec<String> = files.iter().map(|name| path(name)).collect();
                let mut arguments = vec!["diagnose", "--lang", lang];
                arguments.extend(files.iter().map(String::as_str));
                arguments.extend(more);
                let page = printed(&arguments);
                assert!(
                    !page.contains("ncu-")
                        && !page.contains("machine-")
                        && !page.contains("log-")
                        && !page.contains("{$"),
                    "{page}"
                );
                // Names of kernels and files have no place to break.
                let prose = page.lines().filter(|line| more.is_empty() && !line.contains('/'));
                prose.for_each(|line| assert!(line.width() <= 80, "{}: {line}", line.width()));
            }
        }
    }
}
