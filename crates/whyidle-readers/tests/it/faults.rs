//! Faults that traces have been met with, each in its smallest form, and what is made of them.

use std::fmt::Write as _;
use std::io::{Read, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;
use whyidle_model::{HostKind, NoteCode};
use whyidle_readers::{Budget, Found, Hint, ParserChoice, ReadError, ReadOptions, read_trace_from};

use super::{CURRENT, names, notes, read, trace};

fn events(events: &str) -> String {
    format!("{{\"traceEvents\": [{events}], \"traceName\": \"x\"}}")
}

fn op(name: &str) -> String {
    format!(r#"{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 1, "tid": 1, "ts": 10, "dur": 5}}"#)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("in memory")
}

#[test]
fn names_with_quotes_backslashes_and_line_breaks_are_mended() {
    for (written, meant) in [
        (r#"say "hi""#, r#"say "hi""#),
        (r"C:\path\x", r"C:\path\x"),
        (r"ends with \", r"ends with \"),
        ("two\nlines", "two\nlines"),
        ("bell\u{7}", "bell\u{7}"),
    ] {
        let trace = trace(&events(&[op("before"), op(written), op("after")].join(", ")));
        assert_eq!(names(&trace), ["before", meant, "after"]);
        assert_eq!(notes(&trace), [(NoteCode::MendedName, 1)], "{written}");
    }
}

#[test]
fn bytes_of_another_encoding_are_replaced() {
    let text = events(&op("caf?")).into_bytes();
    let text: Vec<u8> = text.into_iter().map(|b| if b == b'?' { 0xe9 } else { b }).collect();
    let trace = read(&text).expect("readable");
    assert_eq!(names(&trace), ["caf\u{fffd}"]);
    assert_eq!(notes(&trace), [(NoteCode::NotUtf8, 1)]);
}

#[test]
fn proper_escapes_need_no_mending() {
    let trace = trace(&events(&op(r#"a\"b\\c\u00e9\ud83d\ude00"#)));
    assert_eq!((names(&trace), notes(&trace)), (vec!["a\"b\\cé😀"], vec![]));
}

#[test]
fn words_that_are_no_numbers_are_missing_numbers() {
    let good = r#"{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 2, "args": {"est. achieved occupancy %": nan, "memory bandwidth (GB/s)": -Infinity, "stream": 7}}"#;
    let bad = r#"{"ph": "X", "cat": "cpu_op", "name": "o", "ts": NaN, "dur": 2}"#;
    let trace = trace(&events(&[good, bad].join(",")));
    assert_eq!((trace.gpu.len(), trace.streams[0].number), (1, 7));
    assert_eq!(notes(&trace), [(NoteCode::NoStart, 1), (NoteCode::NoLaunch, 1)]);
}

#[test]
fn rubbish_between_events_is_skipped() {
    for rubbish in ["{\"ph\": \"X\", \"name\" 7 }", "null", "12", "\"text\"", "}", "%&$", "[[", "{\"ph\": }"]
    {
        let trace = trace(&events(&[&op("a"), rubbish, &op("b")].join(", ")));
        assert_eq!(names(&trace), ["a", "b"], "{rubbish}");
        assert_eq!(trace.notes.count(NoteCode::MalformedEvent), 1, "{rubbish}");
    }
}

#[test]
fn a_lost_bracket_costs_one_event() {
    let broken =
        r#"{"ph": "X", "cat": "cpu_op", "name": "lost", "ts": 1, "dur": 1, "args": {"External id": 1}"#;
    let trace = trace(&events(&[&op("a"), broken, &op("b"), &op("c")].join(",\n")));
    assert_eq!((names(&trace), notes(&trace)), (vec!["a", "b", "c"], vec![(NoteCode::MalformedEvent, 1)]));
}

#[test]
fn cut_anywhere_the_rest_is_read() {
    let whole = read(CURRENT).expect("readable");
    let start = CURRENT.windows(13).position(|w| w == b"\"traceEvents\"").expect("there") + 16;
    let mut last = 0;
    for cut in (start..CURRENT.len()).step_by(7) {
        match read(&CURRENT[..cut]) {
            Ok(trace) => {
                assert!(trace.events >= last && trace.events <= whole.events);
                assert!(trace.notes.count(NoteCode::Truncated) == 1, "cut at {cut}: {:?}", notes(&trace));
                last = trace.events;
            }
            Err(error) => assert!(last == 0 && error.id() == "read-unreadable", "cut at {cut}"),
        }
    }
    assert_eq!(last, whole.events);
}

#[test]
fn cut_compressed_files_are_read_as_far_as_they_go() {
    let many: Vec<String> = (0..20_000).map(|i| op(&format!("op {}", i * 7919 % 1000))).collect();
    let whole = gzip(events(&many.join(",\n")).as_bytes());
    let trace = read(&whole[..whole.len() / 2]).expect("readable");
    assert!(trace.events > 5_000 && trace.events < 15_000);
    assert_eq!(notes(&trace), [(NoteCode::DamagedCompression, 1)]);
    // Damage in the middle, and a checksum that does not fit.
    for at in [whole.len() / 2, whole.len() - 6] {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        let trace = read(&damaged).expect("readable");
        assert_eq!(trace.notes.count(NoteCode::DamagedCompression), 1, "{:?}", notes(&trace));
    }
    assert!(matches!(read(&whole[..12]), Err(ReadError::Damaged { .. })));
    assert!(matches!(read(&[0x1f, 0x8b]), Err(ReadError::Damaged { .. })));
}

#[test]
fn members_of_a_compressed_file_follow_one_another_and_padding_is_ignored() {
    let text = events(&[op("a"), op("b")].join(","));
    let (first, second) = text.as_bytes().split_at(100);
    let file = [gzip(first), gzip(second), vec![0; 512]].concat();
    let trace = read(&file).expect("readable");
    assert_eq!((names(&trace), notes(&trace)), (vec!["a", "b"], vec![]));
}

#[test]
fn what_follows_the_trace_is_counted_unless_it_is_blank() {
    let text = events(&op("a"));
    assert_eq!(notes(&trace(&format!("{text}\r\n\0\0\n"))), []);
    assert_eq!(notes(&trace(&format!("{text} and more"))), [(NoteCode::MalformedEvent, 1)]);
}

#[test]
fn byte_order_mark_and_carriage_returns() {
    let text = format!("\u{feff}{}", events(&op("a"))).replace(", ", ",\r\n");
    assert_eq!((names(&trace(&text)), notes(&trace(&text))), (vec!["a"], vec![]));
}

#[test]
fn deep_nesting_neither_overflows_nor_is_kept() {
    let deep = format!("{}{}", "[".repeat(300_000), "]".repeat(300_000));
    let text = events(&format!(
        r#"{{"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 1, "args": {{"Input Dims": {deep}, "x": {deep}}}}}"#
    ));
    let trace = trace(&format!("{{\"deviceProperties\": {deep}, {}", &text[1..]));
    assert_eq!(names(&trace), ["a"]);
    assert_eq!(trace.names.get(trace.host.dims[0]), "");
    assert!(read("[".repeat(3_000_000).as_bytes()).is_err_and(|error| error.id() == "read-unreadable"));
    assert!(read("{\"a\":".repeat(600_000).as_bytes()).is_err());
}

#[test]
fn times_that_cannot_be_true() {
    let event = |cat: &str, times: &str| {
        format!(r#"{{"ph": "X", "cat": "{cat}", "name": "a", "pid": 0, "tid": 7{times}}}"#)
    };
    let list = [
        event("cpu_op", r#", "ts": 5"#),
        event("cpu_op", r#", "ts": 5, "dur": -1"#),
        event("cpu_op", r#", "dur": 1"#),
        event("cpu_op", r#", "ts": null, "dur": 1"#),
        event("cpu_op", r#", "ts": 1e300, "dur": 1"#),
        event("cpu_op", r#", "ts": 1, "dur": 604800000001"#),
        event("cpu_op", r#", "ts": 1, "dur": 99999999999999999999999"#),
        event("kernel", r#", "ts": 0, "dur": 0"#),
    ];
    let trace = trace(&events(&list.join(",")));
    assert_eq!((trace.host.dur.as_slice(), trace.gpu.len()), (&[0, 0][..], 0));
    assert_eq!(
        notes(&trace),
        [
            (NoteCode::NoStart, 2),
            (NoteCode::ZeroTime, 1),
            (NoteCode::AbsurdTime, 3),
            (NoteCode::NoDuration, 1),
            (NoteCode::NegativeDuration, 1),
        ]
    );
}

#[test]
fn activities_at_time_zero_are_lost_records_unless_the_trace_begins_there() {
    let kernel = |ts: u64| {
        format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "k{ts}", "ts": {ts}, "dur": 9, "args": {{"stream": 7, "Collective name": "c{ts}"}}}}"#
        )
    };
    let far = trace(&events(&[kernel(0), kernel(5_114_900_291_479), kernel(5_114_900_291_600)].join(",")));
    assert_eq!(far.gpu.len(), 2);
    assert_eq!(far.notes.count(NoteCode::ZeroTime), 1);
    assert_eq!(far.collectives.len(), 2);
    let near = trace(&events(&[kernel(0), kernel(100)].join(",")));
    assert_eq!((near.gpu.len(), near.notes.count(NoteCode::ZeroTime)), (2, 0));
}

#[test]
fn launches_activities_overlaps_and_the_window_are_checked() {
    let call = |name: &str, id: u32| {
        format!(
            r#"{{"ph": "X", "cat": "cuda_runtime", "name": "{name}", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {{"correlation": {id}}}}}"#
        )
    };
    let kernel = |ts: u32, id: u32| {
        format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "k", "ts": {ts}, "dur": 10, "args": {{"device": 0, "stream": 7, "correlation": {id}}}}}"#
        )
    };
    let window = r#"{"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 0, "dur": 100}"#;
    let list = [
        call("cudaLaunchKernel", 1),
        call("cudaMemcpyAsync", 2),
        call("cudaStreamSynchronize", 3),
        kernel(20, 1),
        kernel(25, 9),
        kernel(200, 0),
        window.to_owned(),
    ];
    let trace = trace(&events(&list.join(",")));
    assert_eq!(trace.host.kind, [HostKind::Runtime; 3]);
    assert_eq!(trace.meta.window, Some((0, 100_000)));
    assert_eq!(
        notes(&trace),
        [
            (NoteCode::OutsideWindow, 1),
            (NoteCode::NoActivity, 1),
            (NoteCode::StreamOverlap, 1),
            (NoteCode::NoLaunch, 2),
        ]
    );
}

#[test]
fn many_threads_and_names_stay_linear() {
    let mut text = String::new();
    for i in 0..60_000 {
        let _ = write!(
            text,
            r#"{{"ph":"X","cat":"cpu_op","name":"n{i}","pid":{i},"tid":"{i}","ts":{i},"dur":1}},"#
        );
        let _ = write!(
            text,
            r#"{{"ph":"M","name":"thread_name","pid":{i},"tid":{i},"ts":0,"args":{{"name":"t{i}"}}}},"#
        );
    }
    let trace = trace(&events(text.trim_end_matches(',')));
    assert_eq!((trace.threads.len(), trace.names.len()), (60_000, 120_001));
    assert_eq!(trace.names.get(trace.threads[59_999].name), "t59999");
}

#[test]
fn odd_identities_links_and_arguments() {
    let list = [
        r#"{"ph": "X", "cat": "cpu_op", "name": "a", "pid": "python", "tid": "main", "ts": 1, "dur": 1, "args": null}"#,
        r#"{"ph": "X", "cat": "cuda_runtime", "name": "b", "pid": 1.0, "tid": -7, "ts": 1, "dur": 1, "args": {"correlation": 4294967303}}"#,
        r#"{"ph": "X", "cat": "cpu_op", "name": 7, "pid": 1, "tid": 99999999999999999999, "ts": 1, "dur": 1, "args": [1]}"#,
        r#"{"ph": "X"}"#,
        r#"{}"#,
    ];
    let trace = trace(&events(&list.join(",")));
    let threads: Vec<_> = trace.threads.iter().map(|t| (t.pid, t.tid)).collect();
    assert_eq!(threads, [(-1, -1), (1, -7), (1, -1)]);
    assert_eq!((names(&trace), trace.host.link.as_slice()), (vec!["a", "b", ""], &[0, 7, 0][..]));
    assert_eq!((trace.events, notes(&trace)), (5, vec![(NoteCode::Unused, 2)]));
}

#[test]
fn a_header_that_is_no_json_does_not_hide_the_events() {
    let text = events(&op("a"));
    let trace = trace(&format!("{{\"host_name\": \"a\"b\", \"x\": nan, {}", &text[1..]));
    assert_eq!((names(&trace), notes(&trace)), (vec!["a"], vec![(NoteCode::MalformedEvent, 1)]));
}

#[test]
fn what_is_no_trace_is_named() {
    for (bytes, found, hint) in [
        (&b""[..], Found::Empty, Hint::ExportAgain),
        (b"\n \n", Found::Empty, Hint::ExportAgain),
        (b"\x80\x02}q\x00", Found::Pickle, Hint::GiveDirectory),
        (b"SQLite format 3\0...", Found::SqliteStream, Hint::GiveFile),
        (b"PK\x03\x04....", Found::Zip, Hint::Unpack),
        (b"<html><body>Log in</body></html>", Found::Html, Hint::DownloadAgain),
        (b"{\"a\": [1, 2]}", Found::Json, Hint::RecordTrace),
        (b"{\"steps_host_ms\": [1, 2]}", Found::Recording, Hint::GiveDirectory),
        (b"step time 12", Found::Text, Hint::RecordTrace),
    ] {
        let Err(error) = read(bytes) else { panic!("{found:?} was read") };
        assert!(matches!(error, ReadError::NotATrace { found: f, .. } if f == found), "{error}");
        assert_eq!(error.hint(), Some(hint));
        assert!(error.args().contains(&("path", "-".to_owned())));
    }
}

#[test]
fn broken_before_the_first_event_names_the_byte() {
    for (text, at) in [
        ("{\"schemaVersion\": 1, \"devi", 21),
        ("{\"a\": 1; }", 7),
        ("{\"traceEvents\": [{\"ph\": }]}", 24),
        ("[", 1),
    ] {
        match read(text.as_bytes()) {
            Err(ReadError::Unreadable { byte, .. }) => assert_eq!(byte, at, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn an_error_of_the_system_is_not_taken_for_the_end() {
    struct Failing(usize);
    impl Read for Failing {
        fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
            let text = b"{\"traceEvents\": [{\"ph\": \"X\"},";
            match text.get(self.0..).filter(|rest| !rest.is_empty()) {
                Some(rest) => {
                    let n = rest.len().min(buf.len());
                    buf[..n].copy_from_slice(&rest[..n]);
                    self.0 += n;
                    Ok(n)
                }
                None => Err(std::io::Error::other("the disk is gone")),
            }
        }
    }
    let result = read_trace_from(Failing(0), &ReadOptions::default());
    assert!(matches!(result, Err(ReadError::Io { .. })));
}

#[test]
fn one_byte_at_a_time_is_the_same() {
    struct Dripping<'a>(&'a [u8]);
    impl Read for Dripping<'_> {
        fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
            self.0.read(&mut buf[..1])
        }
    }
    let dripped = read_trace_from(Dripping(CURRENT), &ReadOptions::default()).expect("readable");
    assert!(dripped == read(CURRENT).expect("readable"));
}

/// What comes after the budget is spent is not read, and that is a note.
#[test]
fn a_budget_ends_the_reading_with_a_note() {
    let many: Vec<String> = (0..9).map(|at| op(&format!("op{at}"))).collect();
    let text = events(&many.join(","));
    let read = |budget: Budget, parser| {
        let options = ReadOptions { budget, parser, ..ReadOptions::default() };
        read_trace_from(text.as_bytes(), &options).expect("readable")
    };
    for parser in [ParserChoice::Auto, ParserChoice::Reference] {
        let whole = Budget::default();
        let trace = read(Budget { nodes: 4, ..whole }, parser);
        assert_eq!((trace.host.len(), notes(&trace)), (4, vec![(NoteCode::OverBudget, 1)]));
        let trace = read(Budget { bytes: 200, ..whole }, parser);
        // Three begin within 200 bytes.
        assert_eq!((trace.host.len(), notes(&trace)), (3, vec![(NoteCode::OverBudget, 1)]));
        assert!(notes(&read(Budget { nodes: 9, ..whole }, parser)).is_empty());
    }
}
