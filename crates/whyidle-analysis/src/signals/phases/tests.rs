use whyidle_model::{Seen, Stack};

use super::*;

const S: i64 = 1_000_000_000;
const DRIVER: u32 = 7;
const LOADER: &str = "torch/utils/data/dataloader.py";
const MODULE: &str = "torch/nn/modules/module.py";

type Frames<'a> = &'a [(&'a str, &'a str, u32)];

const MAIN: (&str, &str, u32) = ("<module>", "/w/train.py", 90);
const EPOCH: (&str, &str, u32) = ("train_epoch", "/w/train.py", 40);
const IMPORTS: Frames<'_> = &[MAIN, ("_find_and_load", "<frozen importlib._bootstrap>", 1)];
const BUILDS: Frames<'_> = &[MAIN, ("Block.__init__", "/w/model.py", 9)];
const BACKWARD: Frames<'_> = &[MAIN, EPOCH, ("_engine_run_backward", "torch/autograd/graph.py", 841)];
const WAITS: Frames<'_> = &[MAIN, EPOCH, ("_MultiProcessingDataLoaderIter._try_get_data", LOADER, 1275)];
const STARTS: Frames<'_> = &[MAIN, EPOCH, ("_MultiProcessingDataLoaderIter.__init__", LOADER, 1100)];
const SAVES: Frames<'_> = &[MAIN, ("checkpoint", "/w/train.py", 70), ("save", "torch/serialization.py", 967)];
const SCORE: (&str, &str, u32) = ("score", "/w/train.py", 60);
const SCORE_FORWARD: Frames<'_> = &[MAIN, SCORE, ("Module._call_impl", MODULE, 1786)];
const SCORE_WAITS: Frames<'_> =
    &[MAIN, SCORE, ("_MultiProcessingDataLoaderIter._try_get_data", LOADER, 1275)];
const COMPILES: Frames<'_> = &[MAIN, EPOCH, ("_compile", "torch/_dynamo/convert_frame.py", 1)];
const JOINS: Frames<'_> = &[MAIN, ("Event.wait", "threading.py", 655)];

/// One sample a second of the main thread.
fn recorded(run: &[(Frames<'_>, usize)]) -> Samples {
    let mut samples = Samples::default();
    let out = &mut samples.stacks;
    let thread = out.names.intern("MainThread");
    let mut t = 0;
    for (frames, times) in run {
        let frames = frames
            .iter()
            .map(|(function, file, line)| whyidle_model::Frame {
                function: out.names.intern(function),
                file: out.names.intern(file),
                line: *line,
            })
            .collect();
        let stack = Stack { pid: DRIVER, parents: Vec::new(), thread, frames };
        let at = out.stacks.iter().position(|known| *known == stack).unwrap_or_else(|| {
            out.stacks.push(stack);
            out.stacks.len() - 1
        });
        for _ in 0..*times {
            out.seen.push(Seen { t: Some(t * S), stack: at, count: 1, state: 'S', gil: false });
            t += 1;
        }
    }
    samples
}

fn found(samples: &Samples, began: bool) -> Phases {
    let phases = phases(samples, DRIVER, began).unwrap_or_else(|| panic!("phases"));
    let span = super::super::span(samples).unwrap_or_default();
    assert_eq!(phases.watched(), span.1 - span.0, "phases sum to the watched time");
    assert!(
        phases
            .stretches
            .windows(2)
            .all(|pair| pair[0].until == pair[1].from && pair[0].phase != pair[1].phase)
    );
    phases
}

fn order(phases: &Phases) -> Vec<&'static str> {
    phases.stretches.iter().map(|stretch| stretch.phase.id()).collect()
}

#[test]
fn a_run_is_told_from_start_to_checkpoint() {
    let samples = recorded(&[
        (IMPORTS, 3),
        (BUILDS, 2),
        (STARTS, 1),
        (WAITS, 1),
        (COMPILES, 4),
        (BACKWARD, 6),
        (SAVES, 2),
        (BACKWARD, 6),
        (SAVES, 2),
        (BACKWARD, 3),
    ]);
    let phases = found(&samples, false);
    assert_eq!(
        order(&phases),
        ["startup", "compile", "training", "checkpoint", "training", "checkpoint", "training"]
    );
    assert_eq!(phases.total(Phase::Startup), 6_500_000_000);
    assert_eq!((phases.visits(Phase::Checkpoint), phases.period(Phase::Checkpoint)), (2, Some(8 * S)));
    assert_eq!(phases.places[&Phase::Checkpoint], "checkpoint (train.py:70)");
    assert!(phases.in_loop && phases.standing.is_empty());
}

/// A run that waits for its loader nearly all the time shows its first step late, or never.
#[test]
fn a_program_that_its_loader_holds_up_is_not_starting_up() {
    for after in [(BACKWARD, 1), (WAITS, 1)] {
        let samples = recorded(&[(IMPORTS, 3), (STARTS, 1), (WAITS, 60), after, (WAITS, 20)]);
        let phases = found(&samples, true);
        assert_eq!(order(&phases), ["startup", "training"]);
        assert_eq!(phases.total(Phase::Startup), 13_500_000_000);
    }
    // The first batch may take its time.
    let samples = recorded(&[(IMPORTS, 3), (STARTS, 1), (WAITS, 8), (BACKWARD, 20)]);
    assert_eq!(found(&samples, true).total(Phase::Startup), 11_500_000_000);
}

#[test]
fn waiting_for_new_workers_is_the_border_of_an_epoch_and_waiting_for_old_ones_is_training() {
    let samples =
        recorded(&[(BACKWARD, 4), (WAITS, 3), (BACKWARD, 2), (STARTS, 2), (WAITS, 3), (BACKWARD, 2)]);
    let phases = found(&samples, false);
    assert_eq!(order(&phases), ["training", "epoch", "training"]);
    assert_eq!(phases.total(Phase::Epoch), 5 * S);
}

#[test]
fn workers_that_are_born_tell_of_an_epoch_that_no_stack_shows() {
    let mut samples = recorded(&[(BACKWARD, 6), (WAITS, 3), (BACKWARD, 2)]);
    let table = &mut samples.process;
    for (t, pid) in [(0, 11.0), (3, 11.0), (6, 12.0), (7, 12.0)] {
        table.t.push(t * S);
        table.numbers.entry("pid".to_owned()).or_default().push(pid);
        table.numbers.entry("ppid".to_owned()).or_default().push(f64::from(DRIVER));
        table.words.entry("role".to_owned()).or_default().push("worker".to_owned());
    }
    let phases = found(&samples, false);
    assert_eq!(order(&phases), ["training", "epoch", "training"]);
}

#[test]
fn a_function_with_a_loader_and_a_forward_pass_but_no_backward_evaluates() {
    let samples = recorded(&[(BACKWARD, 5), (SCORE_WAITS, 1), (SCORE_FORWARD, 4), (BACKWARD, 3)]);
    let phases = found(&samples, false);
    assert_eq!(order(&phases), ["training", "eval", "training"]);
    assert_eq!(
        (phases.total(Phase::Evaluation), &*phases.places[&Phase::Evaluation]),
        (5 * S, "score (train.py:60)")
    );
    // Without any backward nobody can tell evaluation from a server.
    let phases = found(&recorded(&[(SCORE_WAITS, 3), (SCORE_FORWARD, 4)]), false);
    assert_eq!(phases.total(Phase::Evaluation), 0);
}

#[test]
fn what_backward_calls_back_into_trains() {
    const HOOK: Frames<'_> =
        &[MAIN, EPOCH, ("_engine_run_backward", "torch/autograd/graph.py", 841), ("hook", "/w/train.py", 12)];
    let phases = found(&recorded(&[(HOOK, 5), (SCORE_WAITS, 1), (SCORE_FORWARD, 4), (HOOK, 3)]), false);
    assert_eq!(order(&phases), ["training", "eval", "training"]);
}

#[test]
fn a_helper_of_the_dataset_and_of_the_model_evaluates_nothing() {
    const HELPER: (&str, &str, u32) = ("normalize", "/w/model.py", 5);
    let prepares: Frames<'_> = &[
        MAIN,
        EPOCH,
        ("_SingleProcessDataLoaderIter._next_data", LOADER, 790),
        ("_MapDatasetFetcher.fetch", "torch/utils/data/_utils/fetch.py", 52),
        HELPER,
    ];
    let forward: Frames<'_> = &[MAIN, EPOCH, ("Module._call_impl", MODULE, 1786), HELPER];
    let phases = found(&recorded(&[(BACKWARD, 5), (prepares, 2), (forward, 4), (BACKWARD, 3)]), false);
    assert_eq!(order(&phases), ["training"]);
}

#[test]
fn a_program_that_only_builds_is_starting_up_if_its_start_was_seen_and_else_unknown() {
    let phases = found(&recorded(&[(BUILDS, 8)]), true);
    assert_eq!((order(&phases), phases.in_loop), (vec!["startup"], false));
    let phases = found(&recorded(&[(BUILDS, 8)]), false);
    assert_eq!((order(&phases), phases.in_loop), (vec!["unknown"], false));
}

#[test]
fn standing_still_needs_a_stack_that_does_not_move_and_counters_that_do_not_either() {
    let counters = |samples: &mut Samples, cpu: [f64; 2]| {
        for (t, cpu) in [(5, cpu[0]), (30, cpu[1])] {
            samples.process.t.push(t * S);
            for (name, value) in [("pid", f64::from(DRIVER)), ("user_s", cpu), ("sys_s", 0.0)] {
                samples.process.numbers.entry(name.to_owned()).or_default().push(value);
            }
        }
    };
    let run: &[(Frames<'_>, usize)] = &[(BACKWARD, 5), (JOINS, 30)];
    let mut stuck = recorded(run);
    counters(&mut stuck, [9.0, 9.1]);
    let phases = found(&stuck, false);
    assert_eq!(order(&phases), ["training", "stuck"]);
    assert_eq!(phases.standing, [("MainThread".to_owned(), "Event.wait (threading.py:655)".to_owned())]);
    let mut busy = recorded(run);
    counters(&mut busy, [9.0, 30.0]);
    assert_eq!(order(&found(&busy, false)), ["training"]);
    assert_eq!(order(&found(&recorded(run), false)), ["training"], "without counters nobody knows");
}

#[test]
fn time_for_which_no_sample_speaks_is_unknown() {
    let mut samples = recorded(&[(BACKWARD, 8)]);
    samples.stacks.seen[7].t = Some(60 * S);
    let phases = found(&samples, false);
    assert_eq!(order(&phases), ["training", "unknown", "training"]);
    assert_eq!(phases.total(Phase::Unknown), (60 - 6) * S - 2 * REACH);
    assert!(super::phases(&recorded(&[(BACKWARD, 3)]), DRIVER, false).is_none());
    // Counts without times have no order.
    samples.stacks.seen.iter_mut().for_each(|seen| seen.t = None);
    assert!(super::phases(&samples, DRIVER, false).is_none());
}

/// Lightning's loops have no function that is called `evaluate`.
#[test]
fn the_evaluation_loops_of_lightning_evaluate() {
    for package in ["pytorch_lightning", "lightning/pytorch"] {
        let file = format!("/v/site-packages/{package}/loops/evaluation_loop.py");
        let validates: Frames<'_> =
            &[MAIN, ("_EvaluationLoop.run", &file, 139), ("Module._call_impl", MODULE, 1786)];
        let samples = recorded(&[(BACKWARD, 6), (validates, 3), (BACKWARD, 2)]);
        assert_eq!(order(&found(&samples, false)), ["training", "eval", "training"]);
    }
}
