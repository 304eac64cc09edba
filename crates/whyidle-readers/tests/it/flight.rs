//! Dumps of flight recorders and logs of NCCL: those of real programs, other versions, and damage.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use whyidle_model::{FlightDump, FlightState, LinkPath, NcclLog, NoteCode};
use whyidle_readers::{Format, ReadError, find_dumps, flight, nccl, sniff};

use super::agree::outside;
use super::mutations::{Dice, damage};

fn testdata(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(path)
}

fn dump(path: &str) -> FlightDump {
    flight::read(&testdata(path)).unwrap_or_else(|error| panic!("{error}"))
}

/// `bytes` as a file, read.
fn read(bytes: &[u8]) -> Result<FlightDump, ReadError> {
    let file = tempfile::NamedTempFile::new().unwrap_or_else(|error| panic!("{error}"));
    std::fs::write(file.path(), bytes).unwrap_or_else(|error| panic!("{error}"));
    flight::read(file.path())
}

fn notes(dump: &FlightDump) -> Vec<(NoteCode, u64)> {
    dump.notes.sorted().iter().map(|note| (note.code, note.count)).collect()
}

#[test]
fn a_dump_of_a_timeout_is_read_whole() {
    let dump = dump("flight/never_enters/flight_rank0");
    let entries = &dump.entries;
    assert_eq!((dump.version, dump.library.as_str(), entries.len()), (Some((2, 10)), "2.28.9", 221));
    assert_eq!((dump.groups.len(), &dump.groups[0].ranks[..]), (1, &[0, 1][..]));
    assert_eq!(
        (dump.groups[0].description.as_str(), dump.groups[0].last_completed),
        ("default_pg", Some(204))
    );
    assert_eq!(dump.operation(204), ("nccl", "all_reduce"));
    assert_eq!((entries.collective_seq[204], entries.bytes[204]), (205, Some(512 * 512 * 4)));
    assert_eq!((entries.state[203], entries.state[204]), (FlightState::Completed, FlightState::Scheduled));
    assert!(dump.is_over(203) && !dump.is_over(204) && !dump.is_cut());
    let stack = &dump.stacks[entries.stack[204] as usize];
    assert!(
        stack.iter().any(|frame| dump.names.get(frame.function) == "train"),
        "the program's own function"
    );
    assert_eq!(notes(&dump), []);
}

#[test]
fn json_says_the_same_without_stacks() {
    let (pickle, json) = (dump("flight/never_enters/flight_rank1"), dump("flight/json/flight_rank1.json"));
    assert_eq!(json.entries.len(), pickle.entries.len());
    assert_eq!(json.entries.created, pickle.entries.created);
    assert_eq!(json.entries.bytes, pickle.entries.bytes);
    assert_eq!(json.entries.state, pickle.entries.state);
    assert_eq!(json.groups, pickle.groups);
    assert_eq!(json.entries.started, vec![None; json.entries.len()], "0 is no time");
    assert!(json.stacks.len() == 1 && pickle.stacks.len() > 1);
}

#[test]
fn timing_gives_durations_and_messages_in_a_batch_are_over_with_it() {
    let timed = dump("flight/late_rank/flight_rank0.pickle");
    assert!(timed.entries.duration.iter().all(Option::is_some) && timed.is_cut());
    let nested = dump("flight/nested_groups/flight_rank0.pickle");
    let names: Vec<&str> = nested.groups.iter().map(|group| group.description.as_str()).collect();
    assert_eq!(names, ["default_pg", "data", "tensor", "alone"]);
    assert!((0..nested.entries.len()).all(|entry| nested.is_over(entry)));
    let messages = (0..nested.entries.len()).filter(|&entry| nested.entries.is_p2p[entry]).count();
    assert_eq!(messages, 30, "a send, a receive and what joins them in each of ten steps");
}

#[test]
fn gloo_never_completes_but_retires() {
    let dump = dump("flight/gloo/flight_rank0");
    let open: Vec<usize> = (0..dump.entries.len()).filter(|&entry| !dump.is_over(entry)).collect();
    assert_eq!(open, [48]);
    assert_eq!(
        dump.groups[dump.entries.group[48] as usize].ranks,
        [0, 1],
        "its configuration names no group"
    );
}

#[test]
fn older_and_newer_versions_are_read() {
    let bare = r#"[{"seq_id": 3, "pg_id": 0, "profiling_name": "nccl:all_reduce", "record_id": 2,
        "time_created_us": 5, "input_sizes": [[4]], "output_sizes": [[4]], "state": "scheduled"}]"#;
    let dump = read(bare.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((dump.version, dump.entries.collective_seq[0], dump.entries.created[0]), (None, 3, 5000));
    assert_eq!(dump.entries.bytes[0], None, "no type, no bytes");
    let newer = r#"{"version": "2.17", "rank": 5, "surprise": {"a": [1]}, "pg_config": {"9": {"desc": "x", "ranks": [5, 7]}},
        "entries": [{"collective_seq_id": 1, "process_group": ["9", "x"], "profiling_name": "xccl:broadcast",
        "record_id": 0, "time_created_ns": 7, "more": null}]}"#;
    let dump = read(newer.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((dump.version, dump.rank, &dump.groups[0].ranks[..]), (Some((2, 17)), Some(5), &[5, 7][..]));
    assert!(dump.version > Some((2, 4)), "versions are no decimals");
}

#[test]
fn a_dump_that_breaks_off_is_read_as_far_as_it_goes() {
    for name in ["flight/never_enters/flight_rank0", "flight/json/flight_rank0.json"] {
        let bytes = std::fs::read(testdata(name)).unwrap_or_else(|error| panic!("{error}"));
        let dump = read(&bytes[..bytes.len() / 2]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!((50..221).contains(&dump.entries.len()), "{name}: {}", dump.entries.len());
        assert_eq!(notes(&dump), [(NoteCode::Truncated, 1)], "{name}");
    }
}

#[test]
fn entries_that_make_no_sense_are_counted() {
    let text = r#"{"pg_status": {}, "version": "2.4", "entries": [1, {"profiling_name": "nccl:x"},
        {"profiling_name": "nccl:x", "collective_seq_id": 1, "time_created_ns": 0}]}"#;
    let dump = read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(notes(&dump), [(NoteCode::MalformedEvent, 2), (NoteCode::NoStart, 1)]);
}

#[test]
fn code_in_a_pickle_is_refused() {
    let bytes = b"\x80\x02}(X\x07\x00\x00\x00entriescos\nsystem\n(X\x04\x00\x00\x00truetRu.";
    assert!(matches!(read(bytes), Err(ReadError::Unreadable { byte: 16, .. })));
}

/// One list that is named a hundred thousand times: the work is bounded by the file's size.
#[test]
fn a_pickle_that_repeats_itself_takes_no_more_than_its_bytes() {
    let mut bytes = b"\x80\x02}(X\x09\x00\x00\x00pg_config}X\x07\x00\x00\x00entries](".to_vec();
    let text = |text: &str| [&[b'X', text.len() as u8, 0, 0, 0], text.as_bytes()].concat();
    bytes.push(b'}');
    bytes.extend(b"q\x01(");
    bytes.extend(
        [text("profiling_name"), text("nccl:x"), text("collective_seq_id"), b"K\x01".to_vec()].concat(),
    );
    bytes.extend([text("time_created_ns"), b"K\x01".to_vec(), text("input_sizes"), b"](".to_vec()].concat());
    (0..1000).for_each(|_| bytes.extend(b"](K\x01K\x02e"));
    bytes.extend(b"eu");
    (0..100_000).for_each(|_| bytes.extend(b"h\x01"));
    bytes.extend(b"eu.");
    let start = Instant::now();
    let dump = read(&bytes).unwrap_or_else(|error| panic!("{error}"));
    assert!(dump.entries.len() <= bytes.len() / 1000 && dump.notes.count(NoteCode::TableFull) > 0);
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn files_are_told_apart_by_what_is_in_them() {
    let kinds = |folder: &str| -> Vec<Format> {
        let found = find_dumps(&testdata(folder)).unwrap_or_else(|error| panic!("{error}"));
        found.into_iter().map(|(_, format)| format).collect()
    };
    assert_eq!(kinds("flight/never_enters"), [Format::Flight; 2]);
    assert_eq!(kinds("flight/json"), [Format::Flight; 2]);
    assert_eq!(kinds("nccl/p2p"), [Format::Nccl; 2]);
    assert!(matches!(find_dumps(&testdata("flight")), Err(ReadError::NoDump { .. })));
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces/current.json");
    assert!(matches!(find_dumps(&trace), Err(ReadError::NotADump { .. })));
    assert_eq!(sniff(super::CURRENT), Some(Format::Kineto));
}

#[test]
fn logs_of_a_real_run_say_who_talks_over_what() {
    for (folder, path, channels) in
        [("p2p", LinkPath::P2p, 24), ("no_p2p", LinkPath::SharedMemory, 4), ("socket", LinkPath::Socket, 2)]
    {
        let mut log = NcclLog::default();
        for rank in [0, 1] {
            let file = testdata(&format!("nccl/{folder}/nccl_rank{rank}.log"));
            nccl::read(&file, &mut log).unwrap_or_else(|error| panic!("{error}"));
        }
        assert_eq!((log.version.as_str(), log.ranks.len()), ("2.28.9+cuda13.0", 2), "{folder}");
        assert!(log.links.iter().all(|link| link.path == path), "{folder}");
        assert_eq!(log.channels, Some(channels), "{folder}");
        assert_eq!(log.notes.sorted(), [], "{folder}");
    }
}

#[test]
fn damaged_dumps_and_logs_are_read_or_refused() {
    let small = |path: &str| std::fs::read(testdata(path)).unwrap_or_else(|error| panic!("{error}"));
    let json = small("flight/json/flight_rank1.json");
    let seeds = [
        small("flight/gloo/flight_rank0"),
        small("flight/nested_groups/flight_rank1.pickle"),
        json[..json.len() / 8].to_vec(),
        small("flight/missing_send/flight_rank1"),
        small("nccl/socket/nccl_rank1.log"),
        small("nccl/no_p2p/nccl_rank0.log"),
    ];
    let dir = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let file = dir.path().join("x");
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let mut read_well = [0, 0];
    for turn in 0..15_000 {
        let which = turn % seeds.len();
        let bytes = damage(&mut dice, &seeds[which]);
        std::fs::write(&file, &bytes).unwrap_or_else(|error| panic!("{error}"));
        let before = Instant::now();
        if which < 4 {
            if let Ok(dump) = flight::read(&file) {
                read_well[0] += 1;
                assert!(dump.entries.len() <= bytes.len() && dump.stacks.len() <= bytes.len() + 1);
                assert!(dump.entries.group.iter().all(|&group| (group as usize) < dump.groups.len()));
            }
        } else {
            let mut log = NcclLog::default();
            read_well[1] += usize::from(nccl::read(&file, &mut log).is_ok());
            assert!(log.links.len() <= bytes.len());
        }
        assert!(before.elapsed() < Duration::from_secs(5), "turn {turn} hangs");
    }
    assert!(read_well[0] > 2_000 && read_well[1] > 3_000, "{read_well:?}");
}

/// Two ranks, 110 steps of 20 collectives and 9 at the start: the ring holds the last 2 000.
#[test]
fn the_dumps_of_the_lab_are_read_whole() {
    let Some(lab) = outside("WHYIDLE_LAB", "../shared/lab") else { return };
    let file = lab.join("ddp_fed/flight_recorder_rank0.pickle");
    let dump = flight::read(&file).unwrap_or_else(|error| panic!("{error}"));
    let entries = &dump.entries;
    assert_eq!((entries.len(), entries.record[0], entries.collective_seq[0]), (2000, 209, 210));
    assert!(dump.is_cut() && (0..2000).all(|entry| dump.is_over(entry)));
    assert_eq!((dump.groups[0].last_enqueued, notes(&dump)), (Some(2209), vec![]));
}

/// As values, what stands there would take some twenty times the memory of its text.
#[test]
fn an_entry_of_any_length_is_left_out() -> std::io::Result<()> {
    let text = std::fs::read_to_string(testdata("flight/json/flight_rank0.json"))?;
    let of = |text: &str| read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let long = format!("\"entries\":[{{\"frames\": [{}0]}}, ", "[],".repeat(1 << 19));
    let (plain, longer) = (of(&text), of(&text.replacen("\"entries\":[", &long, 1)));
    assert_eq!(longer.notes.count(NoteCode::OverBudget), 1);
    assert_eq!(longer.entries.len(), plain.entries.len());
    Ok(())
}
