//! Several ranks' recordings together: matching, waiting, clocks, bandwidth, verdicts from digests alone.

use std::path::PathBuf;
use std::sync::LazyLock;

use serde_json::Value;
use whyidle_analysis::communication::Kind;
use whyidle_analysis::device::devices;
use whyidle_analysis::facts::Facts;
use whyidle_analysis::ledger::Line;
use whyidle_analysis::ranks::bandwidth::speeds;
use whyidle_analysis::ranks::clock::{Offset, offsets};
use whyidle_analysis::ranks::matching::matched;
use whyidle_analysis::ranks::pipeline::pipelines;
use whyidle_analysis::ranks::split::waits;
use whyidle_analysis::ranks::{RankFacts, facts_of};
use whyidle_diagnosis::case::Case;
use whyidle_diagnosis::{Digest, Known, Ranks, Verdict, Wanted, judge, judge_ranks};
use whyidle_readers::{ReadOptions, read_trace};

use crate::support::{finding, folder};

/// A recording of two ranks.
struct Recorded {
    name: String,
    truth: Value,
    /// Per rank, with the step given: its digest, and the ledger's time in collectives, ns.
    ranks: Vec<(Digest, i64)>,
}

impl Recorded {
    fn facts(&self) -> Vec<RankFacts> {
        self.ranks.iter().map(|(digest, _)| digest.facts.clone()).collect()
    }

    fn digests(&self) -> Vec<Digest> {
        self.ranks.iter().map(|(digest, _)| digest.clone()).collect()
    }

    fn verdict(&self) -> Verdict {
        judge_ranks(&Ranks::new(self.digests()).unwrap(), None).unwrap()
    }

    fn list(&self, key: &str) -> Vec<&str> {
        self.truth[key].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect()
    }
}

/// All of them, made once.
fn recordings() -> &'static [Recorded] {
    static ALL: LazyLock<Vec<Recorded>> = LazyLock::new(read_recordings);
    &ALL
}

fn read_recordings() -> Vec<Recorded> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = [Some(root.join("testdata")), folder("WHYIDLE_LAB", "../shared/lab")];
    let mut all: Vec<Recorded> = Vec::new();
    for folder in folders.into_iter().flatten() {
        let truth: Value =
            serde_json::from_str(&std::fs::read_to_string(folder.join("truth.json")).unwrap()).unwrap();
        for (name, truth) in truth.as_object().unwrap() {
            let files = [0, 1].map(|rank| folder.join(name).join(format!("trace_rank{rank}.json.gz")));
            if files.iter().all(|file| file.is_file()) && all.iter().all(|known| known.name != *name) {
                let step_ns = (truth["step_ms"].as_f64().unwrap() * 1e6) as i64;
                let ranks = files.iter().map(|file| digest(file, step_ns)).collect();
                all.push(Recorded { name: name.clone(), truth: truth.clone(), ranks });
            }
        }
    }
    assert!(all.len() >= 4, "recordings of two ranks are always there");
    all
}

fn recording(name: &str) -> &'static Recorded {
    recordings().iter().find(|recorded| recorded.name == name).unwrap()
}

fn digest(file: &std::path::Path, step_ns: i64) -> (Digest, i64) {
    let trace = read_trace(file, &ReadOptions::default()).unwrap();
    let facts = Facts::new(&trace);
    let all = devices(&trace).into_iter().map(|device| facts.device(&trace, device, |_| true));
    let device = all.max_by_key(|device| device.occupancy.working_ns).unwrap();
    let collectives = device.ledger.total(Line::Communication);
    let (columns, activities) = facts_of(&trace, &facts, &device);
    assert_eq!(activities.len(), columns.rows.len());
    let case = Case::new(&trace, &facts, device, Known { step_given_ns: Some(step_ns), ..Known::default() });
    let verdict = judge(std::slice::from_ref(&case), Vec::new(), "trace", &Wanted::default()).unwrap();
    (Digest::new(&case, verdict), collectives)
}

#[test]
fn every_collective_is_found_on_all_its_ranks_and_split_to_the_nanosecond() {
    for recorded in recordings() {
        let facts = recorded.facts();
        let matched = matched(&facts);
        assert!(
            matched.mismatches.is_empty() && matched.unknown.iter().all(|&n| n == 0),
            "{}",
            recorded.name
        );
        assert_eq!(matched.share(&facts), 1.0, "{}", recorded.name);
        let waits = waits(&facts, &matched);
        for (exposed, (_, collectives)) in waits.exposed.iter().zip(&recorded.ranks) {
            let sum = exposed.transfer + exposed.waited() + exposed.unsplit;
            assert_eq!(sum, *collectives, "{}", recorded.name);
            assert_eq!(exposed.unsplit, 0, "{}", recorded.name);
        }
        // The rank whose transfer it is waits for nobody.
        for split in waits.splits.iter().flatten() {
            assert_eq!(split.waits.iter().min(), Some(&0));
        }
    }
}

#[test]
fn one_rank_alone_is_left_unsplit() {
    let recorded = recording("ddp_small");
    let facts = [recorded.facts().remove(1)];
    let matched = matched(&facts);
    let waits = waits(&facts, &matched);
    assert_eq!((waits.exposed[0].transfer, waits.exposed[0].waited()), (0, 0));
    assert_eq!(waits.exposed[0].unsplit, recorded.ranks[1].1);
}

/// Error allowed in the middle of the window, ns.
const ALIGNED_NS: i64 = 20_000;

fn clock_of_the_second(facts: &[RankFacts]) -> Offset {
    let matched = matched(facts);
    let waits = waits(facts, &matched);
    offsets(facts, &matched, &waits)[1].unwrap()
}

#[test]
fn clocks_of_one_host_agree() {
    for recorded in recordings() {
        let offset = clock_of_the_second(&recorded.facts());
        assert!(offset.ahead.abs() <= ALIGNED_NS, "{}: {offset:?}", recorded.name);
        assert!(offset.ahead.abs() <= 2 * offset.error, "{}: {offset:?}", recorded.name);
    }
}

/// A clock that is 50 ms off and runs 20 ppm fast or slow.
#[test]
fn a_shifted_clock_is_found_again() {
    // Transfers of a pipeline agree only where the receiver waits: too few for a drift.
    for recorded in recordings().iter().filter(|recorded| recorded.name != "pp_m2") {
        for (shift, drift) in [(50_000_000_i64, 20e-6), (-50_000_000, -20e-6), (50_000_000, -20e-6)] {
            let mut facts = recorded.facts();
            let begin = facts[1].rows.start[0];
            let shifted = |time: i64| time + shift + ((time - begin) as f64 * drift).round() as i64;
            let truth = facts[1].rows.start.clone();
            let rows = &mut facts[1].rows;
            for at in 0..rows.len() {
                let end = shifted(rows.start[at] + rows.length[at]);
                rows.start[at] = shifted(rows.start[at]);
                rows.length[at] = end - rows.start[at];
            }
            let offset = clock_of_the_second(&facts);
            let middle = truth.len() / 2;
            let off = offset.align(facts[1].rows.start[middle]) - truth[middle];
            assert!(off.abs() <= ALIGNED_NS + 2_500, "{}: {off} ns, {offset:?}", recorded.name);
        }
    }
}

/// Computed by hand from the two traces: the shorter duration of the two ranks, its median, and the factors of
/// nccl-tests for two ranks (all-reduce 1, gather and scatter ½).
#[test]
fn bandwidth_is_bytes_over_the_shortest_duration() {
    let bus = |name: &str, kind: Kind, bytes: i64| {
        let recorded = recording(name);
        let facts = recorded.facts();
        let matched = matched(&facts);
        let waits = waits(&facts, &matched);
        let all = speeds(&facts, &matched, &waits);
        let one = all.iter().find(|speed| speed.kind == kind && speed.bytes / 1_000_000 == bytes).unwrap();
        assert!((one.algorithm - one.bytes as f64 / (one.transfer as f64 / 1e9)).abs() < 1.0);
        (one.transfer / 1_000, (one.bus / 1e9).round())
    };
    assert_eq!(bus("ddp_small", Kind::AllReduce, 131), (458, 286.0));
    assert_eq!(bus("fsdp_full", Kind::AllGather, 264), (511, 258.0));
    assert_eq!(bus("fsdp_full", Kind::ReduceScatter, 100), (235, 214.0));
}

#[test]
fn a_pipeline_is_found_with_its_stages_and_predicts_more_micro_batches() {
    let recorded = recording("pp_m2");
    let facts = recorded.facts();
    let found = pipelines(&facts, &matched(&facts));
    assert_eq!(found.len(), 1);
    let pipeline = &found[0];
    assert_eq!(
        (pipeline.stages.as_slice(), pipeline.micro, pipeline.schedule.id()),
        (&[0, 1][..], 2, "gpipe")
    );
    let step = (recorded.truth["step_ms"].as_f64().unwrap() * 1e6) as i64;
    let predicted = pipeline.step_with(8, step) as f64 / 1e6;
    assert!((predicted / 89.71 - 1.0).abs() < 0.04, "{predicted}");
}

#[test]
fn the_verdict_on_all_ranks_is_the_planted_one() {
    for recorded in recordings() {
        let (name, verdict) = (&recorded.name, recorded.verdict());
        let primary = verdict.ruling.primary;
        assert!(recorded.list("primary").contains(&primary), "{name}: {primary}");
        for wanted in recorded.list("findings") {
            assert!(finding(&verdict, wanted).is_some(), "{name}: no {wanted}");
        }
        for absent in recorded.list("absent") {
            let family = format!("{absent}.");
            let there = verdict.findings.iter().find(|f| f.cause == absent || f.cause.starts_with(&family));
            assert!(there.is_none(), "{name}: {absent}");
        }
        let late: Vec<u32> = verdict
            .ranks
            .iter()
            .filter(|rank| rank.lateness.as_ref().is_some_and(|late| late.straggler))
            .map(|rank| rank.rank)
            .collect();
        let planted = recorded.list("primary").contains(&"rank.straggler");
        assert_eq!(late, if planted { vec![1] } else { vec![] }, "{name}");
        // Every rank's ledger still adds up, in the trace and in the true step.
        for rank in &verdict.ranks {
            let sum: i64 = rank.ledger.iter().map(|line| line.unprofiled.ns).sum();
            assert_eq!(sum, rank.step.unprofiled.ns, "{name}");
            let traced: i64 = rank.ledger.iter().map(|line| line.traced_ns).sum();
            assert_eq!(traced, rank.step.traced_each_ns.iter().sum::<i64>(), "{name}");
        }
    }
    let straggler = recording("straggler_data").verdict();
    assert_eq!(straggler.subject.rank_shown, Some(1));
    let own = finding(&straggler, "data.workers").unwrap();
    assert_eq!(own.rank, Some(1));
}

/// Replayed over all ranks, against what was measured after the change; a range where repeated timings differ.
#[test]
fn gains_across_ranks_are_what_was_measured() {
    for recorded in recordings() {
        let verdict = recorded.verdict();
        for measured in recorded.truth["gains"].as_array().unwrap() {
            let cause = measured["cause"].as_str().unwrap();
            let after = measured["step_ms_after"].as_f64().unwrap();
            let low = measured["low_ms"].as_f64().unwrap_or(after);
            let high = measured["high_ms"].as_f64().unwrap_or(after);
            let gain = finding(&verdict, cause).and_then(|finding| finding.gain.as_ref());
            let predicted =
                gain.unwrap_or_else(|| panic!("{}: no gain for {cause}", recorded.name)).step_after.ns;
            let predicted = predicted as f64 / 1e6;
            let error = if predicted < low {
                predicted / low - 1.0
            } else if predicted > high {
                predicted / high - 1.0
            } else {
                0.0
            };
            let name = &recorded.name;
            eprintln!(
                "{name}: {cause} predicted {predicted:.1}, measured {low}–{high} ms: {:+.1} %",
                100.0 * error
            );
            let limit = if matches!(cause, "rank.straggler" | "pipeline.bubble") { 0.04 } else { 0.10 };
            assert!(error.abs() <= limit, "{name}: {cause}");
        }
    }
}

#[test]
fn a_digest_comes_back_as_it_was_and_says_the_same() {
    for recorded in recordings() {
        let before = recorded.digests();
        let texts: Vec<Vec<u8>> = before.iter().map(|digest| serde_json::to_vec(digest).unwrap()).collect();
        let after: Vec<Digest> = texts.iter().map(|text| serde_json::from_slice(text).unwrap()).collect();
        assert!(before == after, "{}", recorded.name);
        assert!(after.iter().all(Digest::is_sound), "{}", recorded.name);
        // In any order.
        let turned: Vec<Digest> = after.into_iter().rev().collect();
        let again = judge_ranks(&Ranks::new(turned).unwrap(), None).unwrap();
        assert!(again == recorded.verdict(), "{}", recorded.name);
    }
}

/// Many ranks made from two: rank 37 is late, and the clocks of the second host are 7 ms ahead.
#[test]
fn one_late_rank_of_many_is_found_with_its_cause() {
    const RANKS: u32 = 64;
    const LATE: u32 = 37;
    let recorded = recording("straggler_data");
    let (fast, slow) = (&recorded.ranks[0].0, &recorded.ranks[1].0);
    let digests: Vec<Digest> = (0..RANKS)
        .map(|rank| {
            let mut digest = if rank == LATE { slow.clone() } else { fast.clone() };
            digest.facts.rank = rank;
            digest.facts.world_size = RANKS;
            digest.facts.groups[0].ranks = (0..RANKS).collect();
            let ahead = if rank >= RANKS / 2 { 7_000_000 } else { 0 };
            // Each comes a little earlier or later than the next, and all end together.
            let jitter = i64::from(rank.wrapping_mul(2_654_435_761) % 5_000);
            let rows = &mut digest.facts.rows;
            for at in 0..rows.len() {
                let early = if rank == LATE { 0 } else { jitter };
                rows.start[at] += ahead - early;
                rows.length[at] += early;
            }
            digest
        })
        .collect();
    let ranks = Ranks::new(digests).unwrap();
    let verdict = judge_ranks(&ranks, None).unwrap();
    assert_eq!(verdict.ruling.primary, "rank.straggler");
    assert_eq!(verdict.subject.rank_shown, recorded.ranks[1].0.verdict.subject.rank_shown);
    let late = finding(&verdict, "rank.straggler").unwrap();
    assert_eq!(late.rank, Some(LATE));
    let clocks = &verdict.together.as_ref().unwrap().clocks;
    assert_eq!(clocks.len(), RANKS as usize);
    for clock in clocks {
        let ahead = if clock.rank >= RANKS / 2 { 7_000_000 } else { 0 };
        assert!((clock.ahead_ns - ahead).abs() <= 2 * ALIGNED_NS, "{clock:?}");
    }
}

/// A digest with some of its JSON changed.
fn changed(digest: &Digest, change: impl FnOnce(&mut Value)) -> Digest {
    let mut value = serde_json::to_value(digest).unwrap();
    change(&mut value);
    serde_json::from_value(value).unwrap()
}

/// Rank 1 of the straggler's run, but with twice the kernels and no wait for data.
#[test]
fn a_rank_that_does_more_work_is_late_because_of_it() {
    let recorded = recording("straggler_data");
    let busier = changed(&recorded.ranks[1].0, |digest| {
        for kernel in digest["facts"]["work"]["kernels"].as_array_mut().unwrap() {
            for field in ["count", "total_ns"] {
                kernel[field] = (2 * kernel[field].as_i64().unwrap()).into();
            }
        }
        for line in digest["verdict"]["ledger"].as_array_mut().unwrap() {
            if line["id"] == "data.workers" {
                line["id"] = "host.launch".into();
            }
        }
    });
    let ranks = Ranks::new(vec![recorded.ranks[0].0.clone(), busier]).unwrap();
    let verdict = judge_ranks(&ranks, None).unwrap();
    let late = finding(&verdict, "rank.straggler").unwrap();
    assert_eq!((late.rank, late.remedy.summary.id), (Some(1), "fix-straggler-work"));
    // Work is shared out, not gone.
    let after = late.gain.as_ref().unwrap().step_after.ns as f64 / verdict.step.unprofiled.ns as f64;
    assert!((0.6..0.9).contains(&after), "{after}");
}

/// Collectives a tenth as fast as recorded take a slow path; as they were recorded they do not.
#[test]
fn a_slow_link_is_named_and_a_fast_one_is_not() {
    let recorded = recording("ddp_small");
    assert!(finding(&recorded.verdict(), "comm.link").is_none());
    let slow: Vec<Digest> = recorded
        .digests()
        .into_iter()
        .map(|mut digest| {
            let rows = &mut digest.facts.rows;
            rows.length.iter_mut().for_each(|ns| *ns *= 10);
            digest
        })
        .collect();
    let verdict = judge_ranks(&Ranks::new(slow).unwrap(), None).unwrap();
    let link = finding(&verdict, "comm.link").unwrap();
    assert!(link.evidence.iter().any(|evidence| evidence.text.id == "ev-link-speed"));
}

/// What was damaged is refused or judged, never a panic.
#[test]
fn damaged_digests_are_refused_or_read() {
    const DAMAGES: u64 = 5_000;
    let recorded = recording("pp_m2");
    let texts: Vec<Vec<u8>> =
        recorded.digests().iter().map(|digest| serde_json::to_vec(digest).unwrap()).collect();
    let whole: Digest = serde_json::from_slice(&texts[0]).unwrap();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        // Marsaglia's xorshift.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let (mut read, mut judged) = (0, 0);
    for _ in 0..DAMAGES {
        let mut text = texts[1].clone();
        for _ in 0..=next() % 3 {
            let at = (next() as usize) % text.len();
            match next() % 4 {
                0 => text[at] = b"0123456789-,]}\"e."[(next() as usize) % 17],
                1 => text.truncate(at.max(1)),
                2 => text.insert(at, b'9'),
                _ => {
                    text.remove(at);
                }
            }
        }
        let Ok(digest) = serde_json::from_slice::<Digest>(&text) else { continue };
        read += 1;
        if digest.is_sound()
            && let Ok(ranks) = Ranks::new(vec![whole.clone(), digest])
        {
            judged += 1;
            let _ = judge_ranks(&ranks, None);
        }
    }
    assert!(read > 100 && judged > 50, "{read} read, {judged} judged");
}
