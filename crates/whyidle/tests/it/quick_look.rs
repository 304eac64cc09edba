//! The quick look, the triage by symptom, and the list of programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::{LANGUAGES, Run, printed, root, run, whyidle};
use crate::watching::standin;

/// What each recording shows of the symptoms. A launch-bound program is flat and low, one that waits for data or
/// collects garbage swings, whichever of its ranks is late is uneven.
const SHOWN: [(&str, &[&str]); 12] = [
    ("fed", &[]),
    ("fp32_strict", &[]),
    ("ckpt_needless", &[]),
    ("fed_small", &["flat"]),
    ("sync_item", &["flat"]),
    ("opt_forloop", &["flat"]),
    ("h2d_pageable", &["flat"]),
    ("tok_heavy_workers2", &["swings", "CPU full"]),
    ("tok_workers0", &["swings"]),
    ("gc_every_step", &["swings"]),
    ("straggler_data", &["uneven"]),
    ("attached_two_ranks", &["uneven"]),
];

/// The symptoms that a recording shows, by the first words of their lines.
fn suspects(dir: &Path) -> String {
    let text = printed(&["check", &dir.display().to_string()]);
    let lines = text.lines().filter_map(|line| line.strip_prefix("  suspect   "));
    lines.map(|line| line.split(':').next().unwrap_or(line)).collect::<Vec<_>>().join(", ")
}

#[test]
fn recordings_show_their_symptoms() {
    for (name, shown) in SHOWN {
        let found = suspects(&root().join("crates/whyidle/tests/recordings").join(name));
        assert_eq!(found.split(", ").filter(|part| !part.is_empty()).count(), shown.len(), "{name}: {found}");
        assert!(shown.iter().all(|part| found.contains(part)), "{name}: {found}");
    }
}

/// Families of causes against families of symptoms, on all recordings of the lab: whoever is the GPU's own limit
/// shows no symptom of a hungry one, and everybody else shows one.
#[test]
fn the_labs_recordings_show_theirs() {
    let lab = std::env::var_os("WHYIDLE_LAB").map_or_else(|| root().join("../shared/lab"), Into::into);
    let Ok(truth) = fs::read_to_string(lab.join("truth.json")) else {
        println!("skipped: there is no lab at {}", lab.display());
        return;
    };
    let truth: serde_json::Value = serde_json::from_str(&truth).unwrap();
    let named: BTreeMap<String, String> = truth
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(case, truth)| Some((case.clone(), truth["primary"][0].as_str()?.to_owned())))
        .collect();
    let mut judged = 0;
    let mut wrong = Vec::new();
    for (case, primary) in &named {
        let dir = lab.join(case);
        if !dir.join("nvml.csv").exists() {
            continue;
        }
        judged += 1;
        let found = suspects(&dir);
        let hungry = ["GPU at", "swings", "flat", "uneven"].iter().any(|symptom| found.contains(symptom));
        let own_limit = primary.starts_with("compute.") || primary == "memory.recompute";
        // Of these, samples show busy GPUs on every rank.
        let looks_busy = primary == "pipeline.bubble";
        if !looks_busy && hungry == own_limit {
            wrong.push(format!("{case} ({primary}): {found}"));
        }
    }
    assert!(judged >= 25, "only {judged} recordings of the lab were looked at");
    assert!(wrong.len() * 20 <= judged, "{} of {judged}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_screen() {
    for lang in LANGUAGES {
        let path = "crates/whyidle/tests/recordings/straggler_data";
        insta::assert_snapshot!(format!("check.{lang}"), printed(&["check", path, "--lang", lang]));
    }
}

#[test]
fn paths_between_cards_are_read_through_the_real_library_interface() {
    let dir = tempfile::tempdir().unwrap();
    let table = dir.path().join("nvml.csv");
    let header = "t,gpu,util_gpu,util_mem,mem_used,mem_total,power_limit_mw,pcie_generation,pcie_width,\
        pcie_generation_most,pcie_width_most,p2p,p2p_nvlink,topology,nvlinks,nvlinks_active";
    let row = |gpu: u32, width: u32, p2p: u32, active: u32| {
        format!("1.0,{gpu},0,0,1,100,700000,5,{width},5,16,{p2p},5,50,18,{active}")
    };
    fs::write(&table, format!("{header}\n{}\n{}\n", row(0, 16, 4, 18), row(1, 8, 4, 17))).unwrap();
    let found: Run = whyidle(&["check"])
        .env("WHYIDLE_NVML", standin())
        .env("WHYIDLE_STANDIN", &table)
        .output()
        .unwrap()
        .into();
    assert_eq!((found.status, found.err.as_str()), (Some(0), ""));
    for words in [
        "cannot read each other's memory (0–1)",
        "different sockets",
        "GPU 1 has 17 active NVLinks",
        "5.0 x8, although",
    ] {
        let flowing = found.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flowing.contains(words), "{words}: {}", found.out);
    }
}

#[test]
fn clear_words_where_there_is_nothing_to_check() {
    let dir = tempfile::tempdir().unwrap();
    let empty = run(&["check", &dir.path().display().to_string()]);
    assert_eq!(empty.status, Some(1));
    assert!(empty.err.contains("no samples") && empty.err.contains("whyidle attach"), "{}", empty.err);
    assert_eq!(run(&["check", "/nonexistent/recording"]).status, Some(2));
    let gone = run(&["check", "4194300"]);
    assert_eq!(gone.status, Some(2));
    assert!(gone.err.contains("there is no process 4194300"), "{}", gone.err);
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let other = run(&["check", &child.id().to_string()]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(other.status, Some(0));
    assert!(other.out.contains("have not loaded PyTorch"), "{}", other.out);
}
