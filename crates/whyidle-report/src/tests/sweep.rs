//! Sweeps: worded completely in both languages, within the page, and JSON that obeys its schema.

use serde_json::Value;
use unicode_width::UnicodeWidthStr;
use whyidle_experiment::comparison::{Finish, Per};
use whyidle_experiment::result::{Basis, GpuUse, Others, Peak};
use whyidle_experiment::stats::losses::{Distance, Losses};
use whyidle_experiment::sweep::kinds::Kind;
use whyidle_experiment::sweep::knee::{Ratio, Reach, Shape};
use whyidle_experiment::sweep::{Fate, Found, Rung, Sweep, Total, Tried};

use crate::{Catalog, Document, Lang, TextOptions};

const SCHEMA: &str = include_str!("../../schema/whyidle.sweep-1.schema.json");
const DISTANCE: Distance =
    Distance { distance: 0.3, allowed: 0.02, own: 0.001, last_a: 2.3, last_b: 29.5, pieces: 16 };
const PLAIN: TextOptions = TextOptions { width: 80, colour: false, verbose: true };

fn tried(value: &str, ms: f64, best: f64, counts: f64) -> Tried {
    let ratio = ms / best;
    Tried {
        value: Some(value.to_owned()),
        runs: 2,
        ns: Some((ms * 1e6) as i64),
        interval_ns: Some(((ms * 0.98e6) as i64, (ms * 1.02e6) as i64)),
        to_best: Some(Ratio { ratio, interval: Some((ratio * 0.97, ratio * 1.03)) }),
        reach: Some(if ratio > 1.0 + counts { Reach::Beyond } else { Reach::Within }),
        losses: Losses::Alike(DISTANCE),
        log: Some("/tmp/1.log".to_owned()),
        gpu: Some(GpuUse { index: 0, resident: 0.31, is_counted: true, power_w: Some(320.0), memory: None }),
        peak: Some(Peak { allocated: 1 << 30, held: 3 << 30 }),
        ..Tried::default()
    }
}

fn rung(name: &str, kind: Kind, curve: &[(&str, f64)], knee: usize, shape: Shape) -> Rung {
    let best = curve.iter().map(|(_, ms)| *ms).fold(f64::INFINITY, f64::min);
    let speedup = curve[0].1 / curve[knee].1;
    Rung {
        name: name.to_owned(),
        kind,
        values: curve.iter().map(|(value, ms)| tried(value, *ms, best, 0.02)).collect(),
        rounds: 3,
        basis: Some(Basis::Hook),
        noise: Some(0.013),
        found: Some(Found {
            knee,
            plateau_end: curve.len() - 1,
            best: knee,
            shape,
            is_sure: true,
            reference: 0,
            speedup: Ratio { ratio: speedup, interval: Some((speedup * 0.95, speedup * 1.05)) },
            within: Some(0.015),
        }),
        ..Rung::default()
    }
}

fn workers() -> Rung {
    let curve = [("0", 65.0), ("1", 66.0), ("2", 33.0), ("4", 17.0), ("8", 8.6), ("16", 5.1), ("32", 5.1)];
    rung("num_workers", Kind::Data, &curve, 5, Shape::Knee)
}

fn sweep(rungs: Vec<Rung>) -> Sweep {
    Sweep {
        command: ["python", "train.py"].map(str::to_owned).into(),
        counts: 0.02,
        most_rounds: 8,
        cores: Some(2),
        is_ladder: rungs.len() > 1,
        rungs,
        ended: Some(Finish::Done),
        ..Sweep::default()
    }
}

fn with(of: impl Fn(&mut Rung)) -> Sweep {
    let mut rung = workers();
    of(&mut rung);
    sweep(vec![rung])
}

fn found(rung: &mut Rung, of: impl Fn(&mut Found)) {
    rung.found.iter_mut().for_each(of);
}

pub(super) fn sweeps() -> Vec<Sweep> {
    let fates = [Fate::OutOfMemory, Fate::Failed, Fate::NoSteps, Fate::OtherBasis, Fate::NotRun];
    let mut kept = workers();
    (kept.before, kept.kept) = (Some(0), Some(5));
    let mut flat = rung("--amp", Kind::Precision, &[("off", 5.0), ("on", 5.05)], 0, Shape::Flat);
    (flat.before, flat.kept, flat.values[0].value) = (Some(0), Some(0), None);
    let back = Rung { before: Some(0), kept: Some(0), ..workers() };
    let total = Total {
        per: Per::Step,
        before_ns: 3_200_000_000,
        after_ns: 950_000_000,
        speedup: Ratio { ratio: 3.4, interval: Some((3.2, 3.6)) },
        losses: Losses::Alike(DISTANCE),
        is_measured_anew: true,
    };
    let ladder = Sweep { total: Some(total), ..sweep(vec![kept.clone(), flat.clone(), back.clone()]) };
    let bare =
        Total { speedup: Ratio { ratio: 3.4, interval: None }, losses: Losses::Differ(DISTANCE), ..total };
    let mut first_failed = kept.clone();
    found(&mut first_failed, |found| found.reference = 1);
    let mut once = kept.clone();
    found(&mut once, |found| found.speedup.interval = None);
    vec![
        with(|_| {}),
        with(|rung| {
            rung.values.truncate(6);
            rung.values[3].losses = Losses::Unknown;
        }),
        with(|rung| rung.values.iter_mut().skip(6).for_each(|tried| tried.ns = Some(9_000_000))),
        with(|rung| rung.values[6].reach = Some(Reach::Beyond)),
        with(|rung| found(rung, |found| found.speedup.interval = None)),
        with(|rung| found(rung, |found| found.speedup.ratio = 0.9)),
        with(|rung| {
            found(rung, |found| (found.is_sure, found.within) = (false, None));
            rung.values[6].to_best = Some(Ratio { ratio: 0.98, interval: None });
        }),
        with(|rung| {
            found(rung, |found| found.is_sure = false);
            (rung.rounds, rung.noise) = (1, None);
        }),
        with(|rung| found(rung, |found| found.shape = Shape::Flat)),
        with(|rung| {
            found(rung, |found| (found.shape, found.within, found.is_sure) = (Shape::Flat, Some(0.2), false))
        }),
        with(|rung| found(rung, |found| (found.shape, found.knee) = (Shape::Smallest, 0))),
        with(|rung| {
            for (tried, fate) in rung.values.iter_mut().zip(fates) {
                *tried = Tried {
                    fate,
                    status: Some(3),
                    runs: 1,
                    log: Some("/tmp/2.log".to_owned()),
                    ..Tried { value: tried.value.clone(), ..Tried::default() }
                };
            }
            rung.values[1].status = None;
        }),
        with(|rung| {
            rung.values[6].fate = Fate::OutOfMemory;
            rung.values[6].ns = None;
            rung.values[1].losses = Losses::Differ(DISTANCE);
            rung.values[2].losses = Losses::NotANumber { at: 40.0 };
            rung.values[3].unsettled = 2;
            rung.values[4].losses = Losses::OwnNotANumber { at: 4.0 };
        }),
        with(|rung| {
            (rung.per, rung.assumed_samples, rung.name) = (Per::Sample, true, "batch".to_owned());
            rung.values[2].losses = Losses::NotANumber { at: 40.0 };
        }),
        with(|rung| {
            rung.per = Per::Whole;
            rung.values.iter_mut().skip(1).for_each(|tried| (tried.fate, tried.ns) = (Fate::Failed, None));
        }),
        Sweep { ended: Some(Finish::Failed), ..with(|rung| rung.found = None) },
        Sweep { ended: Some(Finish::Interrupted), ..with(|_| {}) },
        Sweep { ended: None, others: Others { cores: 2.0, ..Others::default() }, ..with(|_| {}) },
        ladder.clone(),
        Sweep { total: Some(bare), ..ladder.clone() },
        Sweep { total: None, ..ladder },
        sweep(vec![first_failed, once, Rung { found: None, ..back.clone() }]),
        sweep(vec![flat, back]),
        sweep(vec![Rung::default(), Rung::default()]),
        Sweep::default(),
    ]
}

#[test]
fn every_sweep_is_worded_in_both_languages_and_fits_the_page() {
    for lang in Lang::ALL {
        let catalog = Catalog::new(lang);
        for sweep in sweeps() {
            let text = Document::Sweep(&sweep, Some(7)).text(&catalog, &PLAIN);
            for page in [&text, &Document::Sweep(&sweep, None).markdown(&catalog)] {
                let is_key = |word: &&str| word.starts_with("sweep-") || word.starts_with("compare-");
                let left: Vec<&str> = page.split_whitespace().filter(is_key).collect();
                assert!(left.is_empty() && !page.contains(['{', '}', '$']), "{left:?} in\n{page}");
            }
            for line in text.lines() {
                assert!(line.width() <= 80, "{line}");
            }
        }
    }
}

#[test]
fn long_values_and_narrow_pages_keep_their_bars() {
    let catalog = Catalog::new(Lang::En);
    let sweep = with(|rung| {
        rung.values[2].value =
            Some("NCCL_ALGO:a very long value\nof two lines that no column holds".repeat(3));
    });
    for width in [60, 80, 120] {
        let text = Document::Sweep(&sweep, None).text(&catalog, &TextOptions { width, ..PLAIN });
        let chart = text.lines().filter(|line| line.contains(|c| ('█'..='▏').contains(&c)));
        assert!(chart.clone().count() == 7 && chart.clone().all(|line| line.width() <= width), "{text}");
    }
}

#[test]
fn json_obeys_its_schema() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("a sound schema");
    for sweep in sweeps() {
        let document = Document::Sweep(&sweep, Some(1)).json(&Catalog::new(Lang::En));
        let document: Value = serde_json::from_str(&document).expect("JSON");
        let problems: Vec<String> =
            validator.iter_errors(&document).map(|error| format!("{error}")).collect();
        assert!(problems.is_empty(), "{problems:#?}\n{document:#}");
    }
}
