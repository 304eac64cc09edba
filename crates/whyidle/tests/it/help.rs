//! Help, completions and the manual page.

use unicode_width::UnicodeWidthStr;

use crate::support::{LANGUAGES, printed, run, whyidle};

/// Lines and columns of a screen; the tests run the program on 80 columns.
const SCREEN: (usize, usize) = (40, 80);

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
        for lang in LANGUAGES {
            let summary = printed(&[command, &["-h", "--lang", lang]].concat());
            assert!(summary.lines().count() <= SCREEN.0, "{command:?}:\n{summary}");
            assert!(summary.contains("\n  whyidle"), "{command:?} shows no example:\n{summary}");
            let help = printed(&[command, &["--help", "--lang", lang]].concat());
            for line in summary.lines().chain(help.lines()) {
                // A command to paste is never broken.
                let is_command = line.starts_with("  whyidle ");
                assert!(is_command || line.width() <= SCREEN.1, "{command:?}: {line}");
            }
        }
    }
}

/// Chinese help has no English sentence, and English help no Chinese.
#[test]
fn help_is_in_one_language() {
    let is_chinese = |text: &str| text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
    for command in [&[][..], &["trace"], &["plan"], &["sweep"], &["history", "show"], &["man"]] {
        for how in ["-h", "--help"] {
            let [en, zh] = LANGUAGES.map(|lang| printed(&[command, &[how, "--lang", lang]].concat()));
            assert!(!is_chinese(&en), "{en}");
            let sections: Vec<&str> = zh.lines().filter(|line| !line.starts_with(' ')).collect();
            for line in sections.iter().filter(|line| !line.is_empty()) {
                assert!(is_chinese(line), "{command:?}: {line}");
            }
        }
    }
    // The locale decides where nothing is asked for.
    let help = whyidle(&["trace", "-h"]).env("LC_ALL", "zh_CN.UTF-8").output().unwrap();
    assert!(is_chinese(&String::from_utf8(help.stdout).unwrap()));
}

#[test]
fn one_name_is_one_thing() {
    let help = |command: &str| printed(&[command, "--help"]);
    // Which steps to read, and what stands before the number of one, are not of one name.
    for command in ["bench", "compare", "fix", "sweep", "gate"] {
        let help = help(command);
        for (option, is_there) in
            [("--step-prefix ", true), ("--loss-prefix ", true), ("--step ", false), ("--loss ", false)]
        {
            assert_eq!(help.contains(option), is_there, "{command}: {option}");
        }
        assert!(help.contains("10 or more"), "{command}: the least --steps");
    }
    for command in ["compare", "fix"] {
        assert!(help(command).contains("6 or more"), "{command}: the least --pairs");
    }
    assert!(help("run").contains("--trace-stacks") && !help("run").contains(" --stacks"));
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
    let manual = printed(&["man", "--lang", "zh"]);
    assert!(manual.contains(".TH whyidle 1") && manual.contains("未开 profiler 时实测的单步耗时"));
    assert!(printed(&["completions", "zsh", "--lang", "zh"]).contains("未开 profiler 时实测的单步耗时"));
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
