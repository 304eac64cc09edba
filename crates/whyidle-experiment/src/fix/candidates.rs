//! Which remedies to try, in which order: those that the verdict's findings ask for, the largest predicted gain first;
//! then those that the program leaves room for, though nothing speaks for them, since a look at them is cheap and they
//! change no digit of what is computed.

use serde::{Deserialize, Serialize};
use whyidle_diagnosis::{Finding, Verdict};
use whyidle_readers::progress::tries::{Did, Tried};

use crate::tries::{KNOWN, Known, Stage, Takes, Try};

/// A remedy to try.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The change; of a number of workers the first of several.
    pub change: Try,
    /// The cause that it cures; none where nothing but room speaks for it.
    pub cause: Option<String>,
    /// What the step would change by, as a share of today's; negative is faster.
    pub predicted: Option<f64>,
}

/// The changes that cure a cause, the likeliest first.
const CURES: &[(&str, &[&str])] = &[
    ("data.in_process", &["workers"]),
    ("data.workers", &["workers", "prefetch_factor", "threads", "persistent_workers"]),
    ("data.storage", &["workers", "prefetch_factor"]),
    ("data.transfer", &["pin_memory"]),
    ("host.launch", &["compile", "fused_optimizer"]),
    ("host.python", &["compile", "gc"]),
    ("host.gc", &["gc"]),
    ("host.contention", &["threads"]),
    ("host.optimizer", &["fused_optimizer"]),
    ("memory.allocator", &["no_empty_cache", "expandable_segments"]),
    ("compute.precision", &["bf16", "tf32"]),
    ("compute.elementwise", &["compile"]),
    ("comm.unbucketed", &["bucket_cap_mb", "static_graph", "find_unused_parameters"]),
    ("comm.exposed", &["bucket_cap_mb", "static_graph", "find_unused_parameters", "broadcast_buffers"]),
    ("run.epoch", &["persistent_workers"]),
];

/// Changes that leave every digit as it is, and are tried where the program leaves room for them.
const HARMLESS: &[&str] = &[
    "workers",
    "persistent_workers",
    "pin_memory",
    "fused_optimizer",
    "gc",
    "no_empty_cache",
    "bucket_cap_mb",
    "find_unused_parameters",
];

/// What a look at the program asks about: every remedy, with the value that would be tried.
#[must_use]
pub fn asked() -> Vec<Try> {
    let of_the_hook = |known: &&Known| known.stage != Stage::Differential && !usual(known.name).is_variable();
    let remedies = KNOWN.iter().filter(of_the_hook);
    let mut asked = vec![Try::new("look", true)];
    // A number that no program has, so that its own is told.
    asked.extend(remedies.map(|known| match known.name {
        "workers" => Try::new("workers", -1),
        name => usual(name),
    }));
    asked
}

/// The change with the value that is tried first.
fn usual(name: &str) -> Try {
    let takes = KNOWN.iter().find(|known| known.name == name).map(|known| known.takes);
    match (name, takes) {
        ("prefetch_factor", _) => Try::new(name, 8),
        ("bucket_cap_mb", _) => Try::new(name, 25),
        (_, Some(Takes::Flag(usual))) => Try::new(name, usual),
        (_, Some(Takes::Count(_, _, usual))) => Try::new(name, usual.unwrap_or(1)),
        (_, Some(Takes::Garbage)) => Try::new(name, "freeze"),
        _ => Try::new(name, "true"),
    }
}

/// The setting that the program has today, as a look told it; `None` where the change does not apply.
fn today(looked: &[Tried], name: &str) -> Option<Option<String>> {
    looked.iter().filter(|tried| tried.name == name).find_map(|tried| match &tried.did {
        Did::Set { from, .. } => Some(from.clone()),
        Did::Not { .. } => None,
    })
}

/// Twice the workers that there are, and at least two: one alone does no more than the process that trains.
#[must_use]
pub(crate) fn next_workers(today: u32) -> u32 {
    (today * 2).max(2)
}

/// The remedies worth a look. `looked` is what a look at the program told: settings that it does not have are left out.
#[must_use]
pub fn candidates(verdict: Option<&Verdict>, looked: &[Tried]) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    let applies = |name: &str| match name {
        // Nothing in the source tells about them.
        "gc" => Some(None),
        "expandable_segments" => Some(None),
        _ => today(looked, name),
    };
    let mut add = |name: &str, finding: Option<(&Finding, f64)>| {
        let Some(today) = applies(name) else { return };
        if found.iter().any(|known| known.change.name == name) {
            return;
        }
        let change = if name == "workers" {
            let today = today.and_then(|today| today.parse().ok()).unwrap_or(0);
            Try::new(name, next_workers(today))
        } else {
            usual(name)
        };
        found.push(Candidate {
            change,
            cause: finding.map(|(finding, _)| finding.cause.to_string()),
            predicted: finding.map(|(_, predicted)| predicted).filter(|share| *share < 0.0),
        });
    };
    if let Some(verdict) = verdict {
        let step = verdict.step.unprofiled.ns;
        // Ranked by gain already.
        for finding in &verdict.findings {
            let after = finding.gain.as_ref().map_or(step, |gain| gain.step_after.ns);
            let predicted = if step > 0 { after as f64 / step as f64 - 1.0 } else { 0.0 };
            let cures =
                CURES.iter().find(|(cause, _)| *cause == &*finding.cause).map_or(&[][..], |(_, cures)| cures);
            // The prediction is of one change alone.
            let of = finding.gain.as_ref().map(|gain| match gain.change.what {
                "tf32" => "tf32",
                "autocast" => "bf16",
                _ => cures.first().copied().unwrap_or_default(),
            });
            for name in cures {
                add(name, Some((finding, if of == Some(name) { predicted } else { 0.0 })));
            }
        }
    }
    for name in HARMLESS {
        add(name, None);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, from: &str) -> Tried {
        let did =
            Did::Set { from: Some(from.to_owned()), to: String::new(), place: None, edit: None, given: None };
        Tried { name: name.to_owned(), did }
    }

    #[test]
    fn only_what_the_program_leaves_room_for_is_tried() {
        let not =
            Tried { name: "pin_memory".to_owned(), did: Did::Not { why: "no-gpu".to_owned(), detail: None } };
        let looked =
            [set("workers", "2"), not, set("fused_optimizer", "the default"), set("bf16", "float32")];
        let found: Vec<String> =
            candidates(None, &looked).iter().map(|candidate| candidate.change.to_string()).collect();
        // Less digits are nothing to try unasked.
        assert_eq!(found, ["workers=4", "fused_optimizer", "gc=freeze"]);
    }

    #[test]
    fn every_cure_is_a_change_that_is_known() {
        let names = CURES.iter().flat_map(|(_, cures)| cures.iter()).chain(HARMLESS);
        for name in names {
            assert!(KNOWN.iter().any(|known| known.name == *name), "{name}");
            let change = usual(name);
            assert!(*name == "workers" || Try::parse(&change.to_string()) == Ok(change), "{name}");
        }
        let causes = whyidle_diagnosis::CAUSES.iter().map(|cause| cause.id);
        let known: Vec<&str> = causes.collect();
        // Causes of samples and runs are not among those of traces.
        let others = ["data.storage", "host.contention", "run.epoch"];
        for (cause, _) in CURES {
            assert!(known.contains(cause) || others.contains(cause), "{cause}");
        }
    }
}
