//! Stacks as they were met, and what each shows.

use whyidle_model::{Frame, Seen, Stack};

use super::*;

fn stacks(frames: &[(&str, &str, u32)], source: Option<&str>) -> Stacks {
    let mut out = Stacks::default();
    let thread = out.names.intern("MainThread");
    let frames: Vec<Frame> = frames
        .iter()
        .map(|(function, file, line)| Frame {
            function: out.names.intern(function),
            file: out.names.intern(file),
            line: *line,
        })
        .collect();
    if let (Some(text), Some(leaf)) = (source, frames.last()) {
        out.source.insert((leaf.file, leaf.line), text.to_owned());
    }
    out.stacks.push(Stack { pid: 7, parents: Vec::new(), thread, frames });
    out.seen.push(Seen { t: None, stack: 0, count: 4, state: ' ', gil: false });
    out
}

fn doing(frames: &[(&str, &str, u32)], source: Option<&str>) -> (Doing, Option<String>) {
    let stacks = stacks(frames, source);
    let main = main_thread(&stacks, 7).unwrap_or_else(|| panic!("samples"));
    let doing = main.counts.keys().next().copied().unwrap_or(Doing::Unknown);
    (doing, main.place(doing).map(|place| place.name.clone()))
}

const DATALOADER: &str = "/v/lib/python3.12/site-packages/torch/utils/data/dataloader.py";

#[test]
fn loader_waits_and_items_prepared_in_process_are_told_apart() {
    let module = ("<module>", "/w/train.py", 288);
    let (found, _) = doing(
        &[
            module,
            ("_MultiProcessingDataLoaderIter._try_get_data", DATALOADER, 1288),
            ("Condition.wait", "/usr/lib/python3.12/threading.py", 359),
        ],
        None,
    );
    assert_eq!(found, Doing::WaitsForWorkers);
    let (found, place) = doing(
        &[
            module,
            ("_SingleProcessDataLoaderIter._next_data", DATALOADER, 795),
            ("_MapDatasetFetcher.fetch", "torch/utils/data/_utils/fetch.py", 54),
            ("TokenizeOnTheFly.__getitem__", "/w/model.py", 132),
            ("encode", "/v/lib/python3.12/site-packages/tokenizers/x.py", 1),
        ],
        None,
    );
    assert_eq!(
        (found, place.as_deref()),
        (Doing::PreparesData, Some("TokenizeOnTheFly.__getitem__ (model.py:132)"))
    );
    let (found, _) = doing(&[module, ("DataLoader.__iter__", DATALOADER, 495)], None);
    assert_eq!(found, Doing::StartsLoader);
}

#[test]
fn builtins_are_told_by_their_source_line() {
    let frames = [("<module>", "train.py", 1), ("main.<locals>.<lambda>", "train.py", 157)];
    assert_eq!(doing(&frames, None).0, Doing::UserCode);
    assert_eq!(doing(&frames, Some("gc.collect()")).0, Doing::Collects);
    assert_eq!(doing(&frames, Some("total += loss.item()")).0, Doing::Synchronises);
    assert_eq!(doing(&frames, Some("x = x.to(dev)")).0, Doing::Copies);
}

#[test]
fn importing_is_neither_compiling_nor_training() {
    let frames = [
        ("<module>", "/w/train.py", 30),
        ("_find_and_load", "<frozen importlib._bootstrap>", 1176),
        ("<module>", "torch/_dynamo/convert_frame.py", 3),
    ];
    assert_eq!(doing(&frames, None).0, Doing::Imports);
}

#[test]
fn a_thread_that_is_ready_while_another_holds_the_lock_waits_for_it() {
    let frames = [("<module>", "/w/train.py", 1), ("metrics", "/w/train.py", 40)];
    let mut recorded = stacks(&frames, None);
    recorded.seen[0] = Seen { t: Some(5), stack: 0, count: 1, state: 'S', gil: false };
    let (thread, function) = (recorded.names.intern("Thread-1"), recorded.names.intern("log_all"));
    let file = recorded.names.intern("/w/log.py");
    let frames = vec![Frame { function, file, line: 3 }];
    recorded.stacks.push(Stack { pid: 7, parents: Vec::new(), thread, frames });
    recorded.seen.push(Seen { t: Some(5), stack: 1, count: 1, state: ' ', gil: true });
    let found = |recorded: &Stacks| main_thread(recorded, 7).unwrap_or_else(|| panic!("samples"));
    let main = found(&recorded);
    assert!((main.share(Doing::WaitsForGil) - 1.0).abs() < 1e-9);
    assert_eq!(main.place(Doing::WaitsForGil).map(|place| place.name.as_str()), Some("log_all (log.py:3)"));
    // On a core it runs code that needs no lock.
    recorded.seen[0].state = 'R';
    assert!(found(&recorded).share(Doing::WaitsForGil) < 1e-9);
    // Asleep of its own will.
    recorded.seen[0].state = 'S';
    let leaf = recorded.stacks[0].frames[1];
    recorded.source.insert((leaf.file, leaf.line), "time.sleep(1)".to_owned());
    assert!(found(&recorded).share(Doing::WaitsForGil) < 1e-9);
}

#[test]
fn a_torn_stack_accuses_nobody() {
    assert_eq!(doing(&[("augment", "data.py", 3)], None).0, Doing::Unknown);
    assert_eq!(doing(&[("layer_norm", "torch/nn/functional.py", 2935)], None).0, Doing::Unknown);
    assert_eq!(doing(&[], None).0, Doing::Unknown);
}

#[test]
fn a_library_that_launches_nothing_is_charged_to_its_caller() {
    let frames = [
        ("<module>", "/w/train.py", 1),
        ("metrics", "/w/train.py", 40),
        ("percentile", "/v/lib/python3.11/site-packages/numpy/lib/x.py", 9),
    ];
    let (found, place) = doing(&frames, None);
    assert_eq!((found, place.as_deref()), (Doing::UserCode, Some("metrics (train.py:40)")));
    let frames = [("<module>", "/w/train.py", 1), ("Linear.forward", "torch/nn/modules/linear.py", 134)];
    assert_eq!(doing(&frames, None).0, Doing::Launches);
    let frames = [
        ("<module>", "/w/train.py", 1),
        ("Module._call_impl", "torch/nn/modules/module.py", 1786),
        ("Block.forward", "/w/model.py", 80),
    ];
    assert_eq!(doing(&frames, None).0, Doing::Launches);
}
