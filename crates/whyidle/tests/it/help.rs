//! Help, completions and the manual page.

use crate::support::{LANGUAGES, printed, run};

const SCREEN: (usize, usize) = (40, 100);

#[test]
fn a_summary_fits_one_screen_and_so_does_every_line_of_the_help() {
    let live = [
        &["run"][..],
        &["attach"],
        &["check"],
        &["diagnose"],
        &["top"],
        &["bench"],
        &["compare"],
        &["sweep"],
        &["fix"],
        &["gate"],
        #[cfg(feature = "agent")]
        &["agent"],
    ];
    let others = [
        &[][..],
        &["trace"],
        &["digest"],
        &["merge"],
        &["ranks"],
        &["diff"],
        &["sql"],
        &["export"],
        #[cfg(feature = "feed")]
        &["tokenize"],
        &["plan"],
        &["history"],
        &["explain"],
        &["completions"],
        &["man"],
    ];
    for command in others.into_iter().chain(live) {
        let summary = printed(&[command, &["-h"]].concat());
        assert!(summary.lines().count() <= SCREEN.0, "{command:?}:\n{summary}");
        let help = printed(&[command, &["--help"]].concat());
        for line in summary.lines().chain(help.lines()) {
            assert!(line.chars().count() <= SCREEN.1, "{command:?}: {line}");
        }
    }
}

#[test]
fn the_help_of_trace() {
    insta::assert_snapshot!(printed(&["trace", "-h"]));
}

#[test]
fn the_help_of_plan() {
    insta::assert_snapshot!(printed(&["plan", "-h"]));
}

#[test]
fn examples_in_the_help_are_understood() {
    let help = printed(&["trace", "-h"]) + &printed(&["plan", "-h"]);
    for line in help.lines().filter(|line| line.starts_with("  whyidle ")) {
        let args: Vec<&str> = line.split_whitespace().skip(1).collect();
        let run = run(&args);
        // The files are not there; what matters is that the arguments are.
        assert!(!run.err.contains("--help"), "{line}: {}", run.err);
    }
}

#[test]
fn the_manual_page_and_the_completions_are_there() {
    let manual = printed(&["man"]);
    assert!(manual.contains(".TH whyidle 1"));
    for option in ["what\\-if", "step\\-ms", "calibrate", "trace\\-steps"] {
        assert!(manual.contains(option), "{option}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let completions = printed(&["completions", shell]);
        assert!(completions.contains("step-ms"), "{shell}");
    }
}

#[test]
fn every_cause_has_its_page_in_both_languages() {
    for lang in LANGUAGES {
        let list = printed(&["explain", "--lang", lang]);
        let causes: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert!(causes.len() > 20, "{list}");
        for cause in causes {
            assert!(printed(&["explain", cause, "--lang", lang]).starts_with(cause), "{cause}");
        }
    }
}

#[test]
fn a_slip_in_a_cause_is_pointed_out() {
    let run = run(&["explain", "data.worker"]);
    assert_eq!(run.status, Some(2));
    insta::assert_snapshot!(run.err, @r#"
    error: there is no cause "data.worker"

    hint: did you mean data.workers?
    "#);
}
