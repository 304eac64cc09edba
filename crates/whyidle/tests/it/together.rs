//! The ranks of a job: one verdict from traces and from digests, and what is missing, double or foreign.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::root;

const RUN: &str = "testdata/straggler_data";

fn whyidle(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_whyidle")).args(arguments).current_dir(root()).output().unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let output = whyidle(&[arguments, &["--format", "json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn shown(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn the_readmes_say_what_is_printed() {
    for (page, lang) in [("README.md", "en"), ("README.zh-CN.md", "zh")] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let verdict = json(&["trace", RUN, "--lang", lang]);
        let sentence = verdict["verdict"]["sentence"]["text"].as_str().unwrap();
        assert!(text.contains(&format!("> {sentence}\n")), "{page}: {sentence}");
    }
}

#[test]
fn digests_say_what_the_traces_say() {
    let folder = tempfile::tempdir().unwrap();
    let digests: Vec<_> = [0, 1]
        .map(|rank| {
            let out = folder.path().join(format!("{rank}.gz"));
            let trace = format!("{RUN}/trace_rank{rank}.json.gz");
            let made = whyidle(&["digest", &trace, "--recorded", "-o", shown(&out)]);
            assert!(made.status.success() && made.stdout.is_empty(), "{}", text(&made.stderr));
            assert!(fs::metadata(&out).unwrap().len() < 300_000);
            out
        })
        .into();
    let from_traces = json(&["trace", RUN]);
    // Either way round, and from the folder.
    let both = json(&["merge", shown(&digests[0]), shown(&digests[1])]);
    let turned = json(&["merge", shown(&digests[1]), shown(&digests[0])]);
    let folder_of = json(&["merge", shown(folder.path())]);
    assert_eq!(both, turned);
    assert_eq!(both, folder_of);
    assert_eq!(both, from_traces);
    // Joined in one file.
    let joined = folder.path().join("joined.gz");
    let written = whyidle(&["merge", shown(&digests[1]), shown(&digests[0]), "-o", shown(&joined)]);
    assert!(written.status.success());
    assert_eq!(json(&["merge", shown(&joined)]), both);
    // Of one rank.
    assert_eq!(json(&["merge", shown(&joined), "--rank", "0"])["subject"]["rank_shown"], 0);
    assert_eq!(whyidle(&["merge", shown(&joined), "--rank", "7"]).status.code(), Some(1));
}

#[test]
fn a_rank_given_twice_is_named_and_taken_once() {
    let trace = |rank: u32| format!("{RUN}/trace_rank{rank}.json.gz");
    let output = json(&["trace", &trace(0), &trace(1), &trace(1), "--step-ms", "210.8"]);
    assert_eq!(output["subject"]["ranks"], 2);
    let codes: Vec<&str> =
        output["quality"].as_array().unwrap().iter().map(|note| note["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"rank-twice"), "{codes:?}");
}

#[test]
fn traces_of_different_jobs_are_refused() {
    let two = whyidle(&[
        "trace",
        "testdata/straggler_data/trace_rank0.json.gz",
        "testdata/fed_small/trace.json.gz",
    ]);
    assert_eq!(two.status.code(), Some(1));
    assert!(text(&two.stdout).contains("not the ranks of one job"), "{}", text(&two.stdout));
}

#[test]
fn what_is_no_digest_is_said_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let foreign = folder.path().join("thesis.txt");
    fs::write(&foreign, "a year of work").unwrap();
    let merged = whyidle(&["merge", shown(&foreign)]);
    assert_eq!(merged.status.code(), Some(2));
    assert!(text(&merged.stderr).contains("holds no digest"), "{}", text(&merged.stderr));
    assert_eq!(whyidle(&["merge", shown(folder.path())]).status.code(), Some(2));
    let trace = "testdata/pp_m2/trace_rank0.json.gz";
    let refused = whyidle(&["digest", trace, "-o", shown(&foreign)]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "a year of work");
    // A digest is no trace, and says what it is for.
    let digest = folder.path().join("digest.gz");
    assert!(whyidle(&["digest", trace, "-o", shown(&digest)]).status.success());
    let traced = whyidle(&["trace", shown(&digest)]);
    assert_eq!(traced.status.code(), Some(2));
    assert!(text(&traced.stderr).contains("whyidle merge"), "{}", text(&traced.stderr));
    // Cut in the middle.
    let bytes = fs::read(&digest).unwrap();
    fs::write(&digest, &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(whyidle(&["merge", shown(&digest)]).status.code(), Some(2));
    // Nowhere to write.
    let nowhere = folder.path().join("none/digest.gz");
    assert_eq!(whyidle(&["digest", trace, "-o", shown(&nowhere)]).status.code(), Some(2));
}

/// A folder with the traces of `run`, their starts moved by `ahead` ns from rank to rank.
fn moved(run: &str, ahead: i64) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for rank in [0, 1] {
        let name = format!("trace_rank{rank}.json.gz");
        let inflated = Command::new("gzip").arg("-dc").arg(root().join(run).join(&name)).output().unwrap();
        let text = String::from_utf8(inflated.stdout).unwrap();
        let base = text.split_once("\"baseTimeNanoseconds\": ").expect("a base").1;
        let base = base.split(|c: char| !c.is_ascii_digit()).next().unwrap();
        let later = (base.parse::<i64>().unwrap() + rank * ahead).to_string();
        let text = text.replace(base, &later);
        fs::write(folder.path().join(name.trim_end_matches(".gz")), text).unwrap();
    }
    folder
}

#[test]
fn ranks_of_another_hour_are_refused_together() {
    let folder = moved("testdata/ddp_small", 3_600_000_000_000);
    let output = whyidle(&["trace", shown(folder.path())]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("recorded 3600"), "{}", text(&output.stdout));
    // A clock that is some milliseconds off is none of that.
    let folder = moved("testdata/ddp_small", 7_000_000);
    let verdict = json(&["trace", shown(folder.path()), "--step-ms", "63.9"]);
    assert_eq!(
        (&verdict["together"]["clocks"][1]["rank"], &verdict["subject"]["ranks"]),
        (&1.into(), &2.into())
    );
    let quality = verdict["quality"].to_string();
    assert!(!quality.contains("windows-apart"), "{quality}");
    // Most of a step off: another step may have been recorded.
    let folder = moved("testdata/ddp_small", 130_000_000);
    let verdict = json(&["trace", shown(folder.path()), "--step-ms", "63.9"]);
    let quality = verdict["quality"].to_string();
    assert!(quality.contains("windows-apart"), "{quality}");
}

#[test]
fn a_log_beside_the_traces_names_the_slow_path() {
    let folder = moved("testdata/ddp_small", 0);
    let causes = |verdict: &Value| -> Vec<String> {
        let findings = verdict["findings"].as_array().unwrap();
        findings.iter().map(|finding| finding["cause"].as_str().unwrap().to_owned()).collect()
    };
    let path = shown(folder.path()).to_owned();
    let without = json(&["trace", &path, "--step-ms", "63.9"]);
    assert!(!causes(&without).contains(&"comm.link".to_owned()), "{:?}", causes(&without));
    let log = root().join("crates/whyidle-readers/testdata/nccl/no_p2p/nccl_rank0.log");
    // Given with the traces, and lying beside them, also for digests.
    let given = json(&["trace", &path, shown(&log), "--step-ms", "63.9"]);
    fs::copy(&log, folder.path().join("nccl.log")).unwrap();
    let beside = json(&["trace", &path, "--step-ms", "63.9"]);
    assert_eq!(given, beside);
    let digest = folder.path().join("both.gz");
    assert!(whyidle(&["digest", &path, "--step-ms", "63.9", "-o", shown(&digest)]).status.success());
    assert_eq!(json(&["merge", shown(&digest)]), beside);
    let finding =
        beside["findings"].as_array().unwrap().iter().find(|finding| finding["cause"] == "comm.link");
    let finding = finding.expect("named");
    assert!(finding["evidence"].to_string().contains("NCCL_P2P_DISABLE"), "{finding}");
    assert!(finding["gain"].is_null(), "what a faster path would gain, the log does not say");
}

#[test]
fn without_replay_a_late_rank_with_a_cause_of_its_own_is_named_still() {
    let verdict = json(&["trace", RUN, "--no-replay"]);
    assert_eq!(verdict["verdict"]["primary"], "rank.straggler", "{}", verdict["verdict"]);
    let straggler = &verdict["findings"][0];
    assert_eq!((&straggler["cause"], &straggler["rank"]), (&"rank.straggler".into(), &1.into()));
    // A host that the profiler slows is none.
    let verdict = json(&["trace", "testdata/ddp_small", "--no-replay"]);
    assert!(!verdict["findings"].to_string().contains("rank.straggler"));
}

#[test]
fn a_collective_is_known_by_its_operator_whatever_its_kernel_is_called() {
    let folder = moved("testdata/ddp_small", 0);
    let path = shown(folder.path()).to_owned();
    let verdict = json(&["trace", &path, "--step-ms", "63.9"]);
    for rank in [0, 1] {
        let trace = folder.path().join(format!("trace_rank{rank}.json"));
        let renamed = fs::read_to_string(&trace).unwrap().replace("ncclDevKernel", "deviceWork");
        fs::write(&trace, renamed).unwrap();
    }
    let renamed = json(&["trace", &path, "--step-ms", "63.9"]);
    assert!(verdict["ledger"].to_string().contains("comm.exposed"));
    assert_eq!(renamed["ledger"], verdict["ledger"]);
    assert_eq!(renamed["together"]["groups"], verdict["together"]["groups"]);
}

#[test]
fn a_forbidden_path_is_named_and_its_gain_is_what_was_measured() {
    // The same program with the path allowed. A rank's replay of this trace is 0.9 % off the recording, where those in
    // `testdata` are within 0.5 %.
    const MEASURED_MS: f64 = 79.6;
    let verdict = json(&["trace", "crates/whyidle/tests/recordings/no_p2p"]);
    assert_eq!(verdict["verdict"]["primary"], "comm.link", "{}", verdict["verdict"]);
    let finding = &verdict["findings"][0];
    assert!(finding["evidence"].to_string().contains("NCCL_P2P_DISABLE"), "{finding}");
    let after = finding["gain"]["step_ms_after"].as_f64().unwrap();
    assert!((after / MEASURED_MS - 1.0).abs() < 0.1, "{after} ms");
}

#[test]
fn a_log_without_traces_is_none() {
    let log = "crates/whyidle-readers/testdata/nccl/p2p/nccl_rank0.log";
    for command in [vec!["trace", log], vec!["digest", log, "-o", "-"]] {
        let output = whyidle(&command);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {}", text(&output.stdout));
        assert!(text(&output.stderr).contains("is not a profiler trace"), "{}", text(&output.stderr));
    }
}
