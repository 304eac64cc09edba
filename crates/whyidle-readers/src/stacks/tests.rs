//! Stacks of each tool; real files are read in `tests/it/logs.rs`.

use super::*;
use crate::budget::Guard;

fn shown(log: &Log) -> Vec<(u32, String, String, u32)> {
    let stacks = &log.samples.stacks;
    stacks
        .seen
        .iter()
        .map(|seen| {
            let stack = &stacks.stacks[seen.stack];
            let frames = stack
                .frames
                .iter()
                .map(|frame| format!("{}:{}", stacks.names.get(frame.function), frame.line))
                .collect::<Vec<_>>();
            (stack.pid, stacks.names.get(stack.thread).to_owned(), frames.join(";"), seen.count)
        })
        .collect()
}

#[test]
fn collapsed_stacks_without_processes_are_of_process_0() {
    let log = collapsed::parse(
        "<module> (a.py:20);main (a.py:19) 4\n 1\nThread._bootstrap (threading.py:1);run (a.py:2) 3\nprocess 7:\"p\";thread (7);f (a.py:1) 2\nrubbish\n<module> (a.py:20);main (a.py:19) 4\n",
        &mut Guard::default(),
    );
    let found = shown(&log);
    assert_eq!(found[0], (0, "MainThread".into(), "<module>:20;main:19".into(), 8));
    assert_eq!((found[1].1.as_str(), found[2].0, found[2].1.as_str()), ("", 7, "MainThread"));
    assert_eq!((log.rows, log.notes.count(NoteCode::MalformedEvent)), (13, 1));
}

#[test]
fn what_the_profiler_exports_is_weighted_by_time() {
    let text = "train.py(12):_main;model.py(40):_forward;torch/nn/functional.py(9):_linear 1523\n<built-in>_method;train.py(3):_f 7\n";
    assert!(collapsed::is_print("train.py(12):_main;model.py(40):_forward 1523\n"));
    let log = collapsed::parse(text, &mut Guard::default());
    assert!(log.is_weighted_by_time);
    assert_eq!(shown(&log)[0], (0, "MainThread".into(), "main:12;forward:40;linear:9".into(), 1523));
}

#[test]
fn ordinary_text_is_no_stack() {
    for text in ["step 3\nloss 4\n", "a;b;c 3\n", "", "f (x) y\n", "epoch (1) 3\nf (a.py:1) z\n"] {
        assert!(!collapsed::is_print(text), "{text}");
    }
}

#[test]
fn a_dump_shows_who_runs_and_who_holds_the_lock() {
    let text = "Process 7: python a.py\nPython v3.11.7 (/usr/bin/python3.11)\n\nThread 7 (active+gil): \"MainThread\"\n    main (a.py:19)\n        Locals:\n            end: (1)\n    <module> (a.py:20)\nThread 9 (idle): \"side\"\n    side (a.py:10)\n";
    let log = dump::parse(text, &mut Guard::default());
    assert_eq!(
        shown(&log),
        [(7, "MainThread".into(), "<module>:20;main:19".into(), 1), (7, "side".into(), "side:10".into(), 1)]
    );
    assert_eq!(
        log.samples.stacks.seen.iter().map(|seen| (seen.state, seen.gil)).collect::<Vec<_>>(),
        [('R', true), ('S', false)]
    );
}

#[test]
fn profiles_of_speedscope_name_process_and_thread() {
    let text = r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[{"type":"sampled","name":"Process 7 Thread 9 \"MainThread\"","samples":[[0,1],[0,1],[5]]},{"type":"evented"}],"shared":{"frames":[{"name":"main","file":"a.py","line":3},{"name":"f"}]}}"#;
    let log = speedscope::parse(text, &mut Guard::default());
    assert_eq!(shown(&log), [(7, "MainThread".into(), "main:3;f:0".into(), 2)]);
    assert_eq!((log.notes.count(NoteCode::MalformedEvent), log.notes.count(NoteCode::Unused)), (1, 1));
}
