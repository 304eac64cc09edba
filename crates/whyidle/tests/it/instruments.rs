//! The table of what each instrument says, of shipped recordings: as people see it, and as JSON.

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::recordings::{as_it_is, copied, diagnosed, recordings};
use crate::support::{LANGUAGES, run};

/// The table's part of a page: from its title to the next blank line that follows the sentences.
fn table(name: &str, language: &str, form: &[&str]) -> String {
    let dir = recordings().join(name).display().to_string();
    let args = ["diagnose", &dir, "-v", "--lang", language];
    let page = run(&[&args[..], form].concat()).out;
    let title = if language == "en" { "what each instrument says" } else { "各项指标" };
    let after = page.split_once(title).unwrap_or_else(|| panic!("{page}")).1;
    let end = if form.is_empty() { "\n\n" } else { "</details>" };
    format!("{title}{}", after.split(end).next().unwrap_or_default())
}

#[test]
fn the_table_is_one_page_wide_in_both_languages() {
    for language in LANGUAGES {
        for name in ["fsdp_full", "h2d_pageable", "attached_two_ranks"] {
            let table = table(name, language, &[]);
            assert!(table.lines().all(|line| line.width() <= 80), "{table}");
            insta::assert_snapshot!(format!("instruments.{name}.{language}"), table);
        }
        insta::assert_snapshot!(
            format!("instruments.md.{language}"),
            table("h2d_pageable", language, &["--format", "md"])
        );
    }
}

fn instruments(report: &Value) -> &Value {
    &report["details"]["instruments"]
}

fn reading<'a>(report: &'a Value, id: &str) -> &'a Value {
    let readings = instruments(report)["readings"].as_array().unwrap();
    &readings.iter().find(|reading| reading["id"] == id).unwrap()["value"]
}

fn disagreements(report: &Value) -> Vec<&str> {
    let all = instruments(report)["disagreements"].as_array().unwrap();
    all.iter().map(|why| why["msg"].as_str().unwrap()).collect()
}

/// A recording whose GPU's samples say something else in some columns.
fn with(name: &str, columns: &[(&str, &str)]) -> Value {
    let change = |file: &str, text: String| {
        if file != "nvml.csv" {
            return text;
        }
        let header: Vec<String> = text.lines().next().unwrap().split(',').map(str::to_owned).collect();
        let line = |line: &str| {
            let mut fields: Vec<&str> = line.split(',').collect();
            for (column, value) in columns {
                let at = header.iter().position(|head| head == column).unwrap();
                // A row without the card's own counters stays one.
                if !fields[at].is_empty() {
                    fields[at] = value;
                }
            }
            fields.join(",") + "\n"
        };
        text.lines()
            .enumerate()
            .map(|(at, row)| if at == 0 { format!("{row}\n") } else { line(row) })
            .collect()
    };
    diagnosed(copied(name, &[], change).path())
}

#[test]
fn what_was_not_recorded_is_no_zero() {
    let report = diagnosed(copied("tok_workers0", &["nvml.csv", "system.csv"], as_it_is).path());
    for id in ["gpu.util", "gpu.sm", "gpu.power", "gpu.pcie", "step.working", "cpu.cores", "disk.wait"] {
        assert_eq!(reading(&report, id), &Value::Null, "{id}");
    }
    assert!(reading(&report, "cpu.program").as_f64().unwrap() > 0.5);
    assert_eq!(instruments(&report)["gpu"], Value::Null);
    // Cards without counters: the sampled utilisation does not stand in for them.
    let report = with("fed", &[("graphics_util", ""), ("sm_util", ""), ("dram_bw_util", "")]);
    assert!(reading(&report, "gpu.util").as_f64().unwrap() > 0.9);
    assert_eq!((reading(&report, "gpu.resident"), reading(&report, "gpu.sm")), (&Value::Null, &Value::Null));
}

#[test]
fn disagreements_have_their_reason() {
    assert!(!disagreements(&diagnosed(&recordings().join("fed"))).contains(&"stat-live-why-hollow"));
    let small = [("sm_util", "3.0"), ("power_mw", "150000")];
    assert!(disagreements(&with("fed", &small)).contains(&"stat-live-why-hollow"));
    assert!(disagreements(&with("fed", &small[..1])).contains(&"stat-live-why-few"));
    assert!(disagreements(&with("fed", &small[1..])).contains(&"stat-live-why-cool"));
    // Windows in which some kernel ran, though the counters add up to a fifth of the time.
    let report = with("tok_heavy_workers2", &[("util_gpu", "100")]);
    assert!(disagreements(&report).contains(&"stat-live-why-util-step"), "{:?}", disagreements(&report));
    assert!(disagreements(&diagnosed(&recordings().join("h2d_pageable"))).contains(&"stat-live-why-copies"));
}
