//! Several ranks' recordings together: matching, waiting, clocks, bandwidth.

use std::path::PathBuf;

use whyidle_analysis::device::devices;
use whyidle_analysis::facts::Facts;
use whyidle_analysis::ledger::Line;
use whyidle_analysis::ranks::bandwidth::speeds;
use whyidle_analysis::ranks::clock::offsets;
use whyidle_analysis::ranks::matching::matched;
use whyidle_analysis::ranks::pipeline::pipelines;
use whyidle_analysis::ranks::split::waits;
use whyidle_analysis::ranks::{RankFacts, facts_of};
use whyidle_readers::{ReadOptions, read_trace};

use crate::support::folder;

/// A recording of several ranks: its name, and per rank its facts and the ledger's time in collectives, ns.
pub(crate) fn recordings() -> Vec<(String, Vec<(RankFacts, i64)>)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = [Some(root.join("testdata")), folder("WHYIDLE_LAB", "../shared/lab")];
    let mut all: Vec<(String, Vec<(RankFacts, i64)>)> = Vec::new();
    for folder in folders.into_iter().flatten() {
        let mut names: Vec<PathBuf> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        for path in names.into_iter().filter(|path| path.join("trace_rank1.json.gz").is_file()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if all.iter().any(|(known, _)| *known == name) {
                continue;
            }
            let ranks = [0, 1].map(|rank| {
                let file = path.join(format!("trace_rank{rank}.json.gz"));
                let trace = read_trace(&file, &ReadOptions::default()).unwrap();
                let facts = Facts::new(&trace);
                let all = devices(&trace).into_iter().map(|device| facts.device(&trace, device, |_| true));
                let device = all.max_by_key(|device| device.occupancy.working_ns).unwrap();
                (facts_of(&trace, &facts, &device).0, device.ledger.total(Line::Communication))
            });
            all.push((name, ranks.into()));
        }
    }
    assert!(!all.is_empty(), "a recording of two ranks is always there");
    all
}

#[test]
fn probe() {
    for (name, ranks) in recordings() {
        let facts: Vec<RankFacts> = ranks.iter().map(|(facts, _)| facts.clone()).collect();
        let met = matched(&facts);
        let waits = waits(&facts, &met);
        let complete = met.met.iter().filter(|met| met.complete).count();
        eprintln!(
            "{name}: rows {:?} met {complete}/{} mismatches {} unknown {:?} share {:.3} how {:?}",
            facts.iter().map(|f| f.rows.len()).collect::<Vec<_>>(),
            met.met.len(),
            met.mismatches.len(),
            met.unknown,
            met.share(&facts),
            met.how
        );
        for (rank, facts) in facts.iter().enumerate() {
            let (exposed, late, steps) = (&waits.exposed[rank], &waits.late[rank], facts.step_count());
            eprintln!(
                "   rank {rank}: steps {steps} ledger {:.2} ms = transfer {:.2} waited {:?} together {:.2} unsplit {:.2}; last {}/{} caused {:.1} first {:.1} backward {:.1}; work {:.1} opt {:.1} kernels {} ops {} {:?} {} {:?}",
                ranks[rank].1 as f64 / 1e6 / steps as f64,
                exposed.transfer as f64 / 1e6 / steps as f64,
                exposed.waiting.iter().map(|w| w / 1000 / steps).collect::<Vec<_>>(),
                exposed.together as f64 / 1e6 / steps as f64,
                exposed.unsplit as f64 / 1e6 / steps as f64,
                late.last,
                late.of,
                late.caused as f64 / 1e6 / steps as f64,
                late.in_first as f64 / 1e6 / steps as f64,
                late.in_backward as f64 / 1e6 / steps as f64,
                facts.work.working_ns as f64 / 1e6,
                facts.work.optimizer_ns as f64 / 1e6,
                facts.work.count,
                facts.work.operators,
                facts.micro_batches,
                facts.schedule,
                facts.strategy
            );
        }
        for offset in offsets(&facts, &met, &waits).into_iter().flatten() {
            eprintln!("   clock {offset:?}");
        }
        for speed in speeds(&facts, &met, &waits) {
            eprintln!(
                "   {:?} {} MB ×{} {} µs bus {:.0} hidden {:.2}",
                speed.kind,
                speed.bytes / 1_000_000,
                speed.count,
                speed.transfer / 1000,
                speed.bus / 1e9,
                speed.hidden
            );
        }
        for p in pipelines(&facts, &met) {
            eprintln!("   {p:?} → m=8 {:.1}", p.step_with(8, 114_613_000) as f64 / 1e6);
        }
    }
}
