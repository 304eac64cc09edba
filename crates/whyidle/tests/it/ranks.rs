//! `whyidle ranks` on the dumps and logs that ship with the readers.

use serde_json::Value;

use crate::support::{LANGUAGES, printed, run, without_version};

const DATA: &str = "crates/whyidle-readers/testdata";

fn json(folder: &str) -> Value {
    serde_json::from_str(&printed(&["ranks", &format!("{DATA}/{folder}"), "--format", "json"])).unwrap()
}

#[test]
fn the_screen_of_a_hang() {
    for lang in LANGUAGES {
        let screen = printed(&["ranks", &format!("{DATA}/flight/never_enters"), "--lang", lang]);
        insta::assert_snapshot!(format!("ranks_never_enters_{lang}"), screen);
        let links = printed(&["ranks", &format!("{DATA}/nccl/no_p2p"), "--lang", lang]);
        insta::assert_snapshot!(format!("ranks_no_p2p_{lang}"), links);
    }
}

#[test]
fn a_hang_names_rank_collective_and_stack() {
    for folder in ["flight/never_enters", "flight/json", "flight/gloo"] {
        let report = json(folder);
        let hang = &report["hang"];
        assert_eq!(
            (&hang["kind"], &hang["guilty"]),
            (&"never-entered".into(), &serde_json::json!([1])),
            "{folder}"
        );
        assert_eq!(
            (&hang["waiting"], &hang["operation"]["name"]),
            (&serde_json::json!([0]), &"all_reduce".into())
        );
        let last = hang["last"][0]["seq"].as_i64().unwrap();
        assert_eq!(hang["operation"]["seq"].as_i64(), Some(last + 1), "{folder}");
        let functions: Vec<&str> = hang["operation"]["stack"]
            .as_array()
            .unwrap()
            .iter()
            .map(|frame| frame["function"].as_str().unwrap())
            .collect();
        assert_eq!(functions.contains(&"train"), folder != "flight/json", "JSON holds no stacks");
    }
}

#[test]
fn each_kind_of_hang_is_told() {
    for (folder, kind, guilty) in [
        ("size_mismatch", "mismatched", vec![1]),
        ("other_collective", "mismatched", vec![1]),
        ("missing_send", "circle", vec![]),
    ] {
        let report = json(&format!("flight/{folder}"));
        assert_eq!(report["hang"]["kind"], kind, "{folder}");
        assert_eq!(report["hang"]["guilty"], serde_json::json!(guilty), "{folder}");
    }
    assert_eq!(json("flight/size_mismatch")["mismatches"][0]["difference"], "size");
    assert_eq!(json("flight/other_collective")["mismatches"][0]["difference"], "operation");
}

/// Rank 1 slept 20 ms in every step; the GPU was timed.
#[test]
fn a_late_rank_shows_in_its_hosts_times_and_in_durations() {
    let report = json("flight/late_rank");
    assert!(report["hang"].is_null());
    let group = &report["groups"][0];
    let late = &group["lateness"][0];
    assert_eq!((late["rank"].as_i64(), late["last"].as_i64()), (Some(1), Some(36)));
    let ms = late["median_ns"].as_f64().unwrap() / 1e6;
    assert!((19.0..23.0).contains(&ms), "{ms}");
    assert!(group["transfers"].as_array().unwrap().iter().all(|transfer| transfer["last_rank"] == 1));
    let step = report["steps"][0]["step"]["median_ns"].as_f64().unwrap() / 1e6;
    assert!((20.0..30.0).contains(&step), "{step}");
}

#[test]
fn slow_paths_come_with_their_reason() {
    for (folder, path, slow) in [
        ("p2p", "p2p", Value::Null),
        ("no_p2p", "shared-memory", "host-memory".into()),
        ("socket", "socket", "network-inside".into()),
    ] {
        let report = json(&format!("nccl/{folder}"));
        let link = &report["links"][0];
        assert_eq!((&link["path"], &link["slow"]), (&path.into(), &slow), "{folder}");
        assert_eq!(link["why"].as_array().unwrap().is_empty(), slow.is_null());
    }
}

#[test]
fn every_report_obeys_the_schema() {
    let schema = include_str!("../../../whyidle-report/schema/whyidle.ranks-1.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let folders = ["never_enters", "json", "gloo", "size_mismatch", "other_collective", "missing_send"];
    let flight =
        folders.into_iter().chain(["nested_groups", "late_rank"]).map(|name| format!("flight/{name}"));
    for folder in flight.chain(["p2p", "no_p2p", "socket"].map(|name| format!("nccl/{name}"))) {
        let report = json(&folder);
        let errors: Vec<_> = validator
            .iter_errors(&report)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{folder}: {}", errors.join("\n"));
        let mut bad = report.clone();
        bad["surprise"] = Value::from(1);
        assert!(!validator.is_valid(&bad));
    }
}

#[test]
fn no_line_is_wider_than_the_terminal_and_everything_is_worded() {
    use unicode_width::UnicodeWidthStr;
    for folder in
        ["flight/never_enters", "flight/missing_send", "flight/late_rank", "nccl/p2p", "nccl/socket"]
    {
        for lang in LANGUAGES {
            for more in [&[][..], &["-v"], &["--format", "md"]] {
                let page = printed(&[&["ranks", &format!("{DATA}/{folder}"), "--lang", lang], more].concat());
                assert!(!page.contains("ranks-") && !page.contains("{$"), "{page}");
                // Frames stay whole: they are to be pasted.
                let prose = page.lines().filter(|line| more != ["--format", "md"] && !line.contains(".py:"));
                prose.for_each(|line| assert!(line.width() <= 80, "{}: {line}", line.width()));
            }
        }
    }
}

#[test]
fn what_carries_no_result_is_refused_or_unreadable() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let empty = put("rank0.json", r#"{"version": "2.10", "pg_status": {}, "pg_config": {}, "entries": []}"#);
    let refused = run(&["ranks", &empty]);
    assert_eq!((refused.status, refused.out.as_str()), (Some(1), ""));
    assert!(refused.err.contains("no operation"), "{}", refused.err);
    let apart = ["nested_groups/flight_rank0.pickle", "late_rank/flight_rank1.pickle"];
    let paths = apart.map(|path| format!("{DATA}/flight/{path}"));
    assert_eq!(run(&["ranks", &paths[0], &paths[1]]).status, Some(1));
    for path in
        [put("x.txt", "hello"), put("y.json", "{\"a\": 1}"), "no/such/file".to_owned(), DATA.to_owned()]
    {
        let unreadable = run(&["ranks", &path]);
        assert_eq!((unreadable.status, unreadable.out.as_str()), (Some(2), ""), "{path}");
        assert!(!unreadable.err.is_empty());
    }
}

/// Two ranks of `ddp_fed`: 2 000 entries each, nothing differs, and a step of 61.2 ms without the profiler.
#[test]
fn the_dumps_of_the_lab() {
    let lab =
        std::env::var_os("WHYIDLE_LAB").map_or_else(|| "../shared/lab".into(), std::path::PathBuf::from);
    let folder = lab.join("ddp_fed");
    if !crate::support::root().join(&folder).is_dir() {
        println!("skipped: no {}; set WHYIDLE_LAB", folder.display());
        return;
    }
    let report: Value =
        serde_json::from_str(&printed(&["ranks", folder.to_str().unwrap(), "--format", "json"])).unwrap();
    let group = &report["groups"][0];
    assert_eq!(
        (&group["entries"], &group["matched"], &group["mismatched"]),
        (&4000.into(), &1999.into(), &0.into())
    );
    assert!(report["hang"].is_null());
    for rank in report["steps"].as_array().unwrap() {
        let step = rank["step"]["median_ns"].as_f64().unwrap() / 1e6;
        assert!((60.9..61.5).contains(&step) && rank["step"]["operations"] == 20, "{step}");
    }
}

#[test]
fn the_version_is_the_programs() {
    let report = printed(&["ranks", &format!("{DATA}/nccl/no_p2p"), "--format", "json"]);
    assert!(without_version(&report).contains("\"version\": \"[version]\""));
}
