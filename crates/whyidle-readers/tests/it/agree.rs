//! Both parsers on every trace there is, and sums that are known from elsewhere.

use std::path::{Path, PathBuf};

use whyidle_model::{Span, Spans, Trace};
use whyidle_readers::{ParserChoice, ReadOptions, find_traces, read_trace, recording};

use super::{CURRENT, LIST, OF_2021, read};

/// A directory of traces outside the repository, if it is there.
pub(super) fn outside(variable: &str, default: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let dir = std::env::var_os(variable).map_or_else(|| root.join(default), PathBuf::from);
    if dir.is_dir() {
        return Some(dir);
    }
    #[expect(clippy::print_stderr, reason = "a skipped test should say so")]
    {
        eprintln!("skipped: no {} (set {variable})", dir.display());
    }
    None
}

fn both(path: &Path) -> Trace {
    let [auto, reference] = [ParserChoice::Auto, ParserChoice::Reference].map(|parser| {
        read_trace(path, &ReadOptions { parser, ..ReadOptions::default() })
            .unwrap_or_else(|error| panic!("{error}"))
    });
    assert!(auto == reference, "the parsers disagree on {}", path.display());
    auto
}

#[test]
fn on_the_traces_that_ship() {
    for bytes in [CURRENT, OF_2021, LIST] {
        assert!(read(bytes).is_ok_and(|trace| trace.events > 0));
    }
}

#[test]
fn on_recordings() {
    let Some(lab) = outside("WHYIDLE_LAB", "../shared/lab") else { return };
    let mut cases = 0;
    for entry in std::fs::read_dir(lab).expect("listed").flatten() {
        let Some(traces) = find_traces(&entry.path()).ok().filter(|_| entry.path().is_dir()) else {
            continue;
        };
        for path in &traces {
            let trace = both(path);
            assert!(trace.gpu.len() > 100, "{}", path.display());
            cases += 1;
        }
        let rank = (traces.len() > 1).then_some(1);
        if let Some(recording) = recording::read(&entry.path(), rank).expect("readable") {
            assert!(recording.step_ms_mean.is_some() && !recording.steps_host_ms.is_empty());
            assert_eq!(recording.rank, Some(rank.unwrap_or(0)));
        }
    }
    assert!(cases > 40, "{cases}");
}

fn span_and_union(trace: &Trace) -> (i64, i64) {
    let gpu = &trace.gpu;
    let spans = (0..gpu.len()).map(|i| Span::new(gpu.start[i], gpu.start[i] + gpu.dur[i]));
    let union = Spans::union_of(spans);
    (union.hull().map_or(0, Span::length), union.length())
}

#[test]
fn on_public_traces_whose_sums_are_known() {
    let Some(dir) = outside("WHYIDLE_PUBLIC", "../shared/public-traces") else { return };
    for path in find_traces(&dir).expect("traces") {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let trace = both(&path);
        // Distance from the first start to the last end, and union, ns: computed from the decimal digits.
        let known = match name.trim_end_matches(".json.gz") {
            "hta_v100x2_ddp" => (1_732_965_000, 1_000_613_000),
            "hta_v100x2_healthy" => (745_239_000, 717_943_000),
            "hta_a100x8_ddp" => (464_594_000, 388_587_000),
            "hta_a100x16_rank0" => (1_231_461_000, 438_424_000),
            "hta_a100x2_resnet_ddp" => (660_551_005, 157_500_014),
            "hta_alexnet_sync" => (12_920_244_000, 66_141_000),
            "hta_v100_ns" => (480_029_179, 472_454_441),
            "kineto_resnet50_workers0" => (996_477_000, 603_558_000),
            "kineto_resnet50_workers4" => (801_550_000, 614_413_000),
            "tracelens_h100_owlv2" => (1_078_288_379, 566_759_477),
            "tracelens_h100_vit" => (7_559_844, 1_225_310),
            "tracelens_mi300_resnet_ddp" => (86_567_708, 84_002_056),
            _ => continue,
        };
        assert_eq!(span_and_union(&trace), known, "{name}");
    }
}
