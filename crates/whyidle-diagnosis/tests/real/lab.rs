//! The planted cause is named, and nothing else is alleged.

use whyidle_diagnosis::Verdict;

use crate::support::{Recorded, finding, lab};

/// What is wrong with a verdict, in words; empty if nothing is.
fn faults(recorded: &Recorded, verdict: &Verdict) -> Vec<String> {
    let mut faults = Vec::new();
    let primary = recorded.list("primary");
    if !primary.contains(&verdict.ruling.primary) {
        faults.push(format!("primary is {}, not one of {primary:?}", verdict.ruling.primary));
    }
    for cause in recorded.list("findings") {
        if finding(verdict, cause).is_none() {
            faults.push(format!("{cause} was not found"));
        }
    }
    let step = verdict.step.unprofiled.ns;
    for finding in &verdict.findings {
        let gain = finding.saved_ns(step) as f64 / step as f64;
        let belongs =
            |family: &&str| finding.cause == *family || finding.cause.starts_with(&format!("{family}."));
        if recorded.list("absent").iter().any(belongs) && (finding.share >= 0.05 || gain >= 0.05) {
            faults.push(format!("{} is alleged: cost {:.3}, gain {gain:.3}", finding.cause, finding.share));
        }
    }
    if primary.contains(&"compute.bound") && !verdict.ruling.healthy {
        faults.push("a healthy run was called ill".to_owned());
    }
    faults
}

#[test]
fn with_the_true_step_every_planted_cause_is_named() {
    let mut wrong = Vec::new();
    for recorded in lab().iter().filter(|recorded| !recorded.needs_all_ranks()) {
        recorded.judged(Some(recorded.step_ns()), |_, verdict| {
            wrong.extend(
                faults(recorded, verdict).into_iter().map(|fault| format!("{}: {fault}", recorded.name)),
            );
        });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn without_the_true_step_at_least_nine_in_ten_are() {
    let all: Vec<Recorded> = lab().into_iter().filter(|recorded| !recorded.needs_all_ranks()).collect();
    let mut wrong = Vec::new();
    for recorded in &all {
        recorded.judged(None, |_, verdict| {
            let faults = faults(recorded, verdict);
            if !faults.is_empty() {
                wrong.push(format!("{}: {}", recorded.name, faults.join("; ")));
            }
        });
    }
    assert!(wrong.len() * 10 <= all.len(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

#[test]
fn a_rank_that_waits_inside_collectives_is_never_healthy() {
    for recorded in lab().iter().filter(|recorded| recorded.needs_all_ranks()) {
        recorded.judged(Some(recorded.step_ns()), |_, verdict| {
            assert!(!verdict.ruling.healthy, "{}", recorded.name);
            assert!(
                verdict.ruling.doubts.iter().any(|doubt| doubt.id == "doubt-one-rank"),
                "{}",
                recorded.name
            );
        });
    }
}
