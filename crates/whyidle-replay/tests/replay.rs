//! Replay on the shipped traces: it reproduces what was recorded, and less work never takes longer.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use whyidle_analysis::device::devices;
use whyidle_analysis::facts::Facts;
use whyidle_analysis::tree::NONE;
use whyidle_readers::{ReadOptions, read_trace};
use whyidle_replay::critical::critical_path;
use whyidle_replay::program::{AfterBy, HostStep, Program};
use whyidle_replay::simulate::{GONE, Lengths, Steady, fidelity, steady};
use whyidle_replay::skeleton::Skeleton;
use whyidle_replay::together::{Meeting, Member, Part, period};

fn traces() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .flat_map(|folder| ["trace.json.gz", "trace_rank0.json.gz"].map(|file| folder.join(file)))
        .filter(|path| path.is_file())
        .collect();
    all.sort();
    assert!(all.len() > 5, "the shipped traces are there");
    all
}

/// The program of a trace, and start and end of what was recorded.
fn program(path: &Path) -> (Program, i64) {
    let trace = read_trace(path, &ReadOptions::default()).unwrap();
    let facts = Facts::new(&trace);
    let device = facts.device(&trace, devices(&trace)[0], |_| true);
    let start = device.steps.used.first().unwrap().window.start;
    (Program::new(&trace, &facts, &device).unwrap(), start)
}

#[test]
fn recorded_lengths_reproduce_the_recorded_end() {
    for path in traces() {
        let (program, start) = program(&path);
        let found = fidelity(&program, start, program.recorded_end);
        assert!(found.error <= 0.005, "{}: {}", path.display(), found.error);
    }
}

/// One small program and its steady period, made once.
fn small() -> (Program, Steady) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let smallest = traces()
        .into_iter()
        .min_by_key(|path| path.metadata().map_or(u64::MAX, |file| file.len()))
        .unwrap_or(path);
    let (program, _) = program(&smallest);
    let base = steady(&program, &Lengths::recorded(&program), 0..program.steps.len());
    (program, base)
}

#[test]
fn less_work_never_takes_longer_and_replays_repeat_exactly() {
    let (program, base) = small();
    let steps = 0..program.steps.len();
    let (host, gpu) = (program.host.len(), program.gpu.len());
    proptest!(ProptestConfig::with_cases(60), |(
        hosts in prop::collection::vec((0..host, 0.0_f64..1.0), 0..200),
        gpus in prop::collection::vec((0..gpu, 0.0_f64..1.0), 0..200),
        gone in prop::collection::vec(0..gpu, 0..20),
    )| {
        let mut less = Lengths::recorded(&program);
        for (at, factor) in hosts {
            less.host[at] = (less.host[at] as f64 * factor) as i64;
        }
        for (at, factor) in gpus {
            less.gpu[at] = (less.gpu[at] as f64 * factor) as i64;
        }
        for at in gone {
            less.gpu[at] = GONE;
        }
        let found = steady(&program, &less, steps.clone());
        prop_assert!(found.period <= base.period, "{} > {}", found.period, base.period);
        prop_assert_eq!(found, steady(&program, &less, steps.clone()));
    });
}

#[test]
fn a_cut_program_replays_as_its_steps_in_the_whole() {
    for path in traces() {
        let (mut program, _) = program(&path);
        let mut lengths = Lengths::recorded(&program);
        let last = program.steps.len() - 1;
        let steps = last.min(1)..(last + 1).min(3);
        let whole = steady(&program, &lengths, steps.clone());
        program.cut(steps.clone(), &mut lengths);
        assert_eq!(program.steps.len(), steps.len());
        assert_eq!(steady(&program, &lengths, 0..steps.len()), whole, "{}", path.display());
    }
}

#[test]
fn the_critical_path_fills_the_steps_and_shortening_it_alone_shortens_them() {
    for path in traces() {
        let (program, _) = program(&path);
        let lengths = Lengths::recorded(&program);
        let steps = 0..program.steps.len();
        let found = critical_path(&program, &lengths, steps.clone());
        let sum: i64 = found.gpu.iter().chain(&found.host).sum::<i64>() + found.latency_ns + found.pause_ns;
        assert_eq!(sum, found.total_ns, "{}", path.display());
        let period = steady(&program, &lengths, steps.clone()).period;
        let per_step = found.total_ns / found.steps;
        assert!((per_step - period).abs() * 200 <= period, "{}: {per_step} {period}", path.display());

        // Whatever is not on the path may go: the step stays as it is, or what was hidden behind it shows.
        let mut off = lengths.clone();
        off.gpu.iter_mut().zip(&found.gpu).filter(|(_, on)| **on == 0).for_each(|(ns, _)| *ns = 0);
        off.host.iter_mut().zip(&found.host).filter(|(_, on)| **on == 0).for_each(|(ns, _)| *ns = 0);
        let without_the_rest = steady(&program, &off, steps.clone()).period;
        assert!(
            (without_the_rest - period).abs() * 50 <= period,
            "{}: {without_the_rest} {period}",
            path.display()
        );
        // What is on it counts.
        let mut on = lengths.clone();
        on.gpu.iter_mut().zip(&found.gpu).filter(|(_, on)| **on > 0).for_each(|(ns, _)| *ns /= 2);
        on.host.iter_mut().zip(&found.host).filter(|(_, on)| **on > 0).for_each(|(ns, _)| *ns /= 2);
        assert!(steady(&program, &on, steps).period < period, "{}", path.display());
    }
}

/// Every kind of edge is needed: without it some trace is no longer reproduced.
#[test]
fn without_a_kind_of_edge_the_replay_goes_astray() {
    const FREE: i64 = i64::MIN / 4;
    type Cut = fn(&mut Program);
    let kinds: [(&str, Cut); 5] = [
        ("launch", |program| program.gpu.iter_mut().for_each(|node| node.latency = FREE)),
        ("stream order", |program| program.gpu.iter_mut().for_each(|node| node.gap = FREE)),
        ("awaited streams", |program| {
            program.gpu.iter_mut().for_each(|node| (node.after, node.not_before) = (NONE, i64::MIN));
        }),
        ("device to host", |program| {
            for node in &mut program.host {
                match &mut node.step {
                    HostStep::Launch { blocks, .. } => *blocks = false,
                    HostStep::Wait { target } => *target = NONE,
                    HostStep::Work => {}
                }
            }
        }),
        ("host order", |program| program.host.iter_mut().for_each(|node| node.length = 0)),
    ];
    for (kind, cut) in kinds {
        let error = |path: &PathBuf| {
            let (mut program, start) = program(path);
            cut(&mut program);
            fidelity(&program, start, program.recorded_end).error
        };
        let worst = traces().iter().map(error).fold(0.0, f64::max);
        assert!(worst > 0.01, "without {kind} edges the worst error is {worst}");
    }
}

#[test]
fn slack_is_small_and_no_gap_becomes_a_delay() {
    for path in traces() {
        let (program, start) = program(&path);
        let found = fidelity(&program, start, program.recorded_end);
        assert!(found.slack <= 0.01, "{}: slack {}", path.display(), found.slack);
        // Between the nodes of a graph, where the profiler shows nothing.
        assert!(found.unrecorded <= 0.03, "{}: {}", path.display(), found.unrecorded);
        // Distances that edges keep are launch latencies and hand-overs, never a wait.
        for node in &program.gpu {
            assert!(node.gap <= 80_000 && node.lag <= 60_000, "{}: {node:?}", path.display());
        }
    }
}

/// Two streams: the second's kernel is launched early and starts when the first's has ended.
fn two_streams(sync: &str, late_us: i64) -> Program {
    let call = |name: &str, ts: i64, id: i64| {
        format!(
            r#"{{"ph":"X","cat":"cuda_runtime","name":"{name}","pid":1,"tid":1,"ts":{ts},"dur":5,"args":{{"correlation":{id}}}}},"#
        )
    };
    let kernel = |stream: i64, ts: i64, id: i64| {
        format!(
            r#"{{"ph":"X","cat":"kernel","name":"k{id}","pid":0,"tid":{stream},"ts":{ts},"dur":100,"args":{{"device":0,"stream":{stream},"correlation":{id}}}}},"#
        )
    };
    let mut events = String::new();
    for step in 0..2 {
        let (t, id) = (1_000 * step, 10 * step);
        events += &format!(
            r#"{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{step}","pid":1,"tid":1,"ts":{t},"dur":999}},"#
        );
        events += &(call("cudaLaunchKernel", t + 10, id + 1) + &kernel(7, t + 20, id + 1));
        events += &(call("cudaEventRecord", t + 20, id + 2) + &call("cudaStreamWaitEvent", t + 26, id + 3));
        events += &(call("cudaLaunchKernel", t + 40, id + 4) + &kernel(20, t + 120 + late_us, id + 4));
        if !sync.is_empty() {
            let (wait, record) = (id + 3, id + 2);
            events += &format!(
                r#"{{"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":20,"ts":{},"dur":1,"args":{{"cuda_sync_kind":"{sync}","device":0,"stream":20,"correlation":{wait},"wait_on_stream":7,"wait_on_cuda_event_record_corr_id":{record}}}}},"#,
                t + 27
            );
        }
    }
    let text = format!(r#"{{"schemaVersion":1,"traceEvents":[{}]}}"#, events.trim_end_matches(','));
    let trace = whyidle_readers::read_trace_from(text.as_bytes(), &ReadOptions::default()).unwrap();
    let facts = Facts::new(&trace);
    let device = facts.device(&trace, 0, |_| true);
    Program::new(&trace, &facts, &device).unwrap()
}

#[test]
fn a_wait_between_streams_is_taken_from_its_record_or_inferred_and_says_which() {
    let recorded = two_streams("Stream Wait Event", 3);
    assert_eq!((recorded.gpu[1].after, recorded.gpu[1].after_by), (0, AfterBy::Recorded));
    assert_eq!((recorded.gpu[1].lag, recorded.slack), (3_000, 0));
    let inferred = two_streams("", 20);
    assert_eq!((inferred.gpu[1].after, inferred.gpu[1].after_by), (0, AfterBy::Inferred));
    assert_eq!((inferred.gpu[1].lag, inferred.slack), (20_000, 0));
    // Nothing ended shortly before it started: the time is slack, not a delay.
    let unexplained = two_streams("", 300);
    assert_eq!(unexplained.gpu[1].lag, 0);
    assert_eq!(unexplained.slack, 2 * 300_000);
}

/// Host work that goes on from one step into the next is part of both, and the last step's tail, where a profiler may
/// be stopping, is not taken for a step's.
#[test]
fn host_work_belongs_to_the_step_in_which_it_runs() {
    let mut events = String::new();
    for step in 0..4 {
        let t = 1_000 * step;
        events += &format!(
            r#"{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{step}","pid":1,"tid":1,"ts":{t},"dur":{}}},
            {{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{},"dur":5,"args":{{"correlation":{}}}}},
            {{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":{},"dur":50,"args":{{"device":0,"stream":7,"correlation":{}}}}},"#,
            if step == 3 { 90_000 } else { 1_000 },
            t + 600,
            step + 1,
            t + 610,
            step + 1,
        );
    }
    // From the middle of step 1 into step 2.
    events += r#"{"ph":"X","cat":"cpu_op","name":"aten::work","pid":1,"tid":1,"ts":1900,"dur":300}"#;
    let text = format!(r#"{{"schemaVersion":1,"traceEvents":[{events}]}}"#);
    let trace = whyidle_readers::read_trace_from(text.as_bytes(), &ReadOptions::default()).unwrap();
    let facts = Facts::new(&trace);
    let device = facts.device(&trace, 0, |_| true);
    let mut program = Program::new(&trace, &facts, &device).unwrap();
    let length = |program: &Program, step: usize| -> i64 {
        program.host[program.steps[step].clone()].iter().map(|node| node.length).sum()
    };
    assert_eq!([0, 1, 2].map(|step| length(&program, step)), [1_000_000; 3]);
    assert_eq!(length(&program, 3), 90_000_000);
    let mut lengths = Lengths::recorded(&program);
    program.level_tail(&mut lengths, 1..4);
    assert_eq!(length(&program, 3), 1_000_000);
    assert_eq!(lengths.host, Lengths::recorded(&program).host);
}

/// A rank whose collectives take as long as recorded, alone: its skeleton must take as long as its whole replay.
#[test]
fn a_skeleton_takes_as_long_as_the_replay_that_it_was_made_from() {
    for path in traces() {
        let (program, _) = program(&path);
        for (every, lengths) in [(7, Lengths::recorded(&program)), (50, halved(&program))] {
            let steps = 0..program.steps.len();
            let whole = steady(&program, &lengths, steps.clone()).period;
            let is_collective = |node: usize| node.is_multiple_of(every).then(|| program.gpu[node].length);
            let (skeleton, activities) = Skeleton::new(&program, &lengths, steps, is_collective);
            assert!(skeleton.is_sound() && activities.len() == skeleton.len());
            let meetings: Vec<Meeting> = activities
                .iter()
                .map(|&id| Meeting {
                    instance: None,
                    part: Part::Member,
                    transfer: program.gpu.iter().find(|node| node.activity == id).unwrap().length,
                })
                .collect();
            let alone = period(&[Member { skeleton: &skeleton, meetings: &meetings }]).unwrap();
            let error = (alone - whole).abs() as f64 / whole as f64;
            assert!(error <= 0.002, "{}: {alone} for {whole}", path.display());
        }
    }
}

fn halved(program: &Program) -> Lengths {
    let mut lengths = Lengths::recorded(program);
    lengths.host.iter_mut().for_each(|ns| *ns /= 2);
    lengths
}

/// Two ranks that do the same and meet in every collective take as long as one; a slower one slows both.
#[test]
fn ranks_that_meet_take_as_long_as_the_slower_one() {
    let (program, base) = small();
    let steps = 0..program.steps.len();
    let is_collective = |node: usize| node.is_multiple_of(20).then(|| program.gpu[node].length);
    let fast = Lengths::recorded(&program);
    let mut slow = fast.clone();
    slow.host.iter_mut().for_each(|ns| *ns *= 3);
    slow.gpu.iter_mut().for_each(|ns| *ns *= 2);
    let of = |lengths: &Lengths| Skeleton::new(&program, lengths, steps.clone(), is_collective).0;
    let meetings = |skeleton: &Skeleton, alone: bool| -> Vec<Meeting> {
        let nodes = (0..program.gpu.len()).filter(|node| node.is_multiple_of(20));
        let transfers = nodes.map(|node| program.gpu[node].length);
        transfers
            .zip(0..skeleton.len() as u32)
            .map(|(transfer, at)| Meeting { instance: (!alone).then_some(at), part: Part::Member, transfer })
            .collect()
    };
    let (fast, slow) = (of(&fast), of(&Lengths { gpu: slow.gpu, ..slow }));
    let together = |ranks: &[&Skeleton]| {
        let all: Vec<Vec<Meeting>> = ranks.iter().map(|rank| meetings(rank, false)).collect();
        let members: Vec<Member<'_>> =
            ranks.iter().zip(&all).map(|(skeleton, meetings)| Member { skeleton, meetings }).collect();
        period(&members).unwrap()
    };
    let near = |a: i64, b: i64| (a - b).abs() as f64 <= 0.002 * b as f64;
    assert!(near(together(&[&fast, &fast]), base.period));
    let alone = period(&[Member { skeleton: &slow, meetings: &meetings(&slow, true) }]).unwrap();
    assert!(alone > base.period);
    // The slow rank does not wait for the fast one.
    let both = together(&[&fast, &slow]);
    assert!(both >= base.period && both >= alone * 98 / 100, "{both} for {alone}");
}
