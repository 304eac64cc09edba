//! Memory snapshots: those of real programs and made ones, hostile pickles, damage, and tables of `memory_summary()`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use whyidle_model::{AllocatorAction, MemorySnapshot, NoteCode};
use whyidle_readers::memory::{read, read_summary};
use whyidle_readers::{Format, ReadError, Snapshot, sniff};

use super::mutations::{Dice, damage};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn made(name: &str) -> MemorySnapshot {
    read(&path(&format!("testdata/memory/{name}.pickle.gz"))).unwrap_or_else(|error| panic!("{error}"))
}

/// The snapshot that a run on an H200 wrote, in part.
fn shipped() -> PathBuf {
    path("tests/data/memory_snapshot.pickle")
}

/// `bytes` as a file, read.
fn read_bytes(bytes: &[u8]) -> Result<MemorySnapshot, ReadError> {
    let file = tempfile::NamedTempFile::new().unwrap_or_else(|error| panic!("{error}"));
    std::fs::write(file.path(), bytes).unwrap_or_else(|error| panic!("{error}"));
    read(file.path())
}

fn why(read: Result<MemorySnapshot, ReadError>) -> Option<Snapshot> {
    match read {
        Err(ReadError::Snapshot { why, .. }) => Some(why),
        _ => None,
    }
}

/// What pickles are made of.
fn text(text: &str) -> Vec<u8> {
    [b"X", &(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
}

/// A snapshot without anything, its lists' contents given.
fn whole(segments: &[u8], traces: &[u8]) -> Vec<u8> {
    [b"\x80\x02}(", &text("segments")[..], segments, &text("device_traces"), traces, b"u."].concat()
}

#[test]
fn a_snapshot_of_a_real_run_is_read_whole() {
    let snapshot = read(&shipped()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(snapshot.devices(), [0]);
    assert_eq!(snapshot.segments.size.iter().sum::<u64>(), 19_214_106_624, "max_memory_reserved");
    let allocations = snapshot.events.action.iter().filter(|action| **action == AllocatorAction::Alloc);
    assert_eq!((allocations.count(), snapshot.history(0).count()), (1_840, snapshot.events.len()));
    assert_eq!(snapshot.notes.sorted(), []);
    assert!(!snapshot.settings.expandable && snapshot.settings.max_split.is_none());
}

#[test]
fn protocols_say_the_same() {
    let healthy = made("healthy");
    assert_eq!(healthy.events.len(), 594);
    let stack: Vec<_> = healthy.stacks.get(healthy.events.stack[0]).collect();
    assert!(stack.iter().any(|frame| healthy.names.get(frame.function) == "forward" && frame.line == 20));
    for protocol in [2, 5] {
        assert_eq!(made(&format!("healthy_protocol{protocol}")), healthy, "protocol {protocol}");
    }
}

#[test]
fn code_is_refused_and_never_run() {
    // cos\nsystem\n(S'true'\ntR.
    let classic = whole(b"]", b"cos\nsystem\n(X\x04\x00\x00\x00truetR");
    assert_eq!(why(read_bytes(&classic)), Some(Snapshot::Code));
    for opcode in [0x93, 0x81, 0x82, b'b', b'R', b'i', b'o', 0x92, b'P', b'Q'] {
        let asks = [text("os"), text("system"), vec![opcode]].concat();
        assert_eq!(why(read_bytes(&whole(b"]", &asks))), Some(Snapshot::Code), "{opcode:#x}");
    }
}

#[test]
fn cycles_and_shared_nodes_are_data() {
    // A list that holds itself, as segments and as traces.
    let cycle = b"]q\x01h\x01a";
    let read_cycle = read_bytes(&whole(cycle, b"h\x01")).unwrap_or_else(|error| panic!("{error}"));
    assert!(read_cycle.devices().is_empty());
    // A dictionary that holds itself under every key that is looked for.
    let keys = ["frames", "blocks", "segments"].map(|key| [&text(key)[..], b"h\x01"].concat()).concat();
    let own = [b"}q\x01(", &text("action")[..], &text("alloc"), &keys, b"u"].concat();
    let snapshot = read_bytes(&whole(b"]", &[b"]]", &own[..], b"h\x01aaa"].concat()));
    let snapshot = snapshot.unwrap_or_else(|error| panic!("{error}"));
    assert!(snapshot.events.len() <= 1);
    // The same event and the same frames twice: each is one row.
    let frame =
        [b"}(", &text("name")[..], &text("f"), &text("filename"), &text("a.py"), &text("line"), b"K\x07u"]
            .concat();
    let event = |frames: &[u8]| {
        [b"}q\x02(", &text("action")[..], &text("alloc"), &text("frames"), frames, b"u"].concat()
    };
    let list = [b"]q\x01", &frame[..], b"a"].concat();
    let events = [b"](](", &event(&list)[..], b"h\x02", &event(b"h\x01"), b"ee"].concat();
    let snapshot = read_bytes(&whole(b"]", &events)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((snapshot.events.len(), snapshot.history(0).count()), (2, 3));
    // A list of two events under a hundred devices: each event counts twice at most.
    let many = [b"](](", &event(&list)[..], &event(b"h\x01"), b"eq\x09", &b"h\x09".repeat(99), b"e"].concat();
    let snapshot = read_bytes(&whole(b"]", &many)).unwrap_or_else(|error| panic!("{error}"));
    let rows: usize = (0..128).map(|device| snapshot.history(device).count()).sum();
    assert!(snapshot.events.len() == 2 && rows <= 4, "{rows}");
    assert!(snapshot.notes.count(NoteCode::OverBudget) > 0);
    assert_eq!((snapshot.stacks.len(), &snapshot.events.stack[..]), (2, &[1, 1][..]));
}

#[test]
fn bombs_take_no_more_than_their_bytes() {
    // Lengths that are not there.
    for bomb in [
        b"X\xff\xff\xff\xff".as_slice(),
        b"\x8d\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"\x8b\xff\xff\xff\x7f",
        b"r\xff\xff\xff\x7f",
    ] {
        let read = why(read_bytes(&whole(b"]", &[b"]", bomb].concat())));
        assert!(matches!(read, Some(Snapshot::Cut | Snapshot::Nonsense)), "{bomb:?}: {read:?}");
    }
    // Doubling: each list holds the one before twice, a billion laughs.
    let doubled = (1..60_u8).flat_map(|n| [b']', b'q', n, b'h', n - 1, b'a', b'h', n - 1, b'a']);
    let laughs: Vec<u8> = b"]q\x00".iter().copied().chain(doubled).collect();
    let start = Instant::now();
    let segments = [b"]", &laughs[..], b"a"].concat();
    assert_eq!(
        why(read_bytes(&whole(&segments, b"]"))),
        Some(Snapshot::Nonsense),
        "sixty lists are left on the stack"
    );
    // Nesting a million deep, and frames that are named again and again.
    let deep = [vec![b']'; 1_000_000], vec![b'a'; 999_999]].concat();
    assert!(read_bytes(&whole(&deep, b"]")).is_ok());
    let deep = [vec![b'('; 1_000_000], vec![b't'; 1_000_000]].concat();
    assert!(read_bytes(&whole(b"]", &deep)).is_ok());
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn what_is_cut_or_something_else_is_refused() {
    let bytes = std::fs::read(shipped()).unwrap_or_else(|error| panic!("{error}"));
    for length in [1, 2, 100, bytes.len() / 2, bytes.len() - 1] {
        assert_eq!(why(read_bytes(&bytes[..length])), Some(Snapshot::Cut), "{length}");
    }
    assert!(matches!(read_bytes(b"\x80\x04}."), Err(ReadError::NotATrace { .. })));
    assert!(matches!(read_bytes(b""), Err(ReadError::NotATrace { .. })));
    assert_eq!(why(read_bytes(b"\x80\x04s.")), Some(Snapshot::Nonsense));
    assert!(matches!(read(Path::new("nothing")), Err(ReadError::Io { .. })));
}

#[test]
fn kinds_are_told_by_content() {
    let head = |name: &str| {
        let mut bytes = std::fs::read(path(name)).unwrap_or_else(|error| panic!("{error}"));
        bytes.truncate(1 << 16);
        sniff(&bytes)
    };
    assert_eq!(head("tests/data/memory_snapshot.pickle"), Some(Format::MemorySnapshot));
    assert_eq!(head("testdata/memory/emptied.pickle.gz"), Some(Format::MemorySnapshot));
    assert_eq!(head("testdata/memory/summary.txt"), Some(Format::MemorySummary));
    assert_eq!(head("testdata/flight/gloo/flight_rank0"), Some(Format::Flight));
    assert_eq!(sniff(b"\x80\x04}\x94."), None);
}

#[test]
fn rows_that_make_no_sense_are_counted() {
    let segment =
        [b"](}(", &text("device")[..], b"J\xff\xff\xff\xff", &text("total_size"), b"K\x01ue"].concat();
    let event =
        [b"](](}(", &text("action")[..], &text("alloc"), &text("size"), b"J\xff\xff\xff\xffuee"].concat();
    let snapshot = read_bytes(&whole(&segment, &event)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((snapshot.segments.len(), snapshot.events.bytes(0)), (0, 0));
    assert_eq!(snapshot.notes.count(NoteCode::MalformedEvent), 2);
}

#[test]
fn tables_are_read_from_a_log() {
    let tables = read_summary(&path("testdata/memory/summary.txt")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(tables.len(), 2);
    assert_eq!((tables[0].device, tables[0].retries, tables[0].out_of_memory), (0, 3, 1));
    assert_eq!(tables[1].allocated.map(|row| row.peak >> 20), Some(72_614));
    assert!(matches!(read_summary(&shipped()), Err(ReadError::NotATrace { .. })));
}

/// The table of a real run, against the counters that it prints: to the unit of each figure, which PyTorch chooses by
/// its size (`torch/cuda/memory.py`, `_format_size`).
#[test]
fn tables_of_real_runs_are_the_allocators_own_counters() {
    let truth = std::fs::read(path("testdata/memory/h200/truth.json")).unwrap_or_default();
    let truth: serde_json::Value = serde_json::from_slice(&truth).unwrap_or_default();
    let printed = |bytes: u64| {
        let mut unit = 1;
        while bytes / unit >= 768 * 1024 {
            unit *= 1024;
        }
        bytes / unit * unit
    };
    for case in ["healthy", "evaluate", "fragmented"] {
        for form in ["summary", "summary_short"] {
            let tables = read_summary(&path(&format!("testdata/memory/h200/{case}.{form}.txt")));
            let tables = tables.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!((tables.len(), tables[0].device, tables[0].notes.sorted().len()), (1, 0, 0));
            let stats = &truth[case]["stats"];
            for (row, key) in [
                (tables[0].allocated, "allocated_bytes"),
                (tables[0].active, "active_bytes"),
                (tables[0].requested, "requested_bytes"),
                (tables[0].reserved, "reserved_bytes"),
                (tables[0].non_releasable, "inactive_split_bytes"),
            ] {
                let row = row.unwrap_or_else(|| panic!("{case} {form}: no {key}"));
                let of = |when: &str| stats[format!("{key}.all.{when}")].as_u64().map(printed);
                assert_eq!(
                    (Some(row.current), Some(row.peak)),
                    (of("current"), of("peak")),
                    "{case} {form} {key}"
                );
            }
            assert_eq!(Some(tables[0].retries), stats["num_alloc_retries"].as_u64());
            assert_eq!(Some(tables[0].out_of_memory), stats["num_ooms"].as_u64());
            assert_eq!(tables[0].segments.map(|row| row.peak), stats["segment.all.peak"].as_u64());
        }
    }
}

#[test]
fn damaged_snapshots_are_read_or_refused() {
    let inflated = |name: &str| {
        let file = std::fs::File::open(path(&format!("testdata/memory/{name}.pickle.gz")));
        let mut bytes = Vec::new();
        let mut inflate = flate2::read::GzDecoder::new(file.unwrap_or_else(|error| panic!("{error}")));
        std::io::Read::read_to_end(&mut inflate, &mut bytes).unwrap_or_else(|error| panic!("{error}"));
        bytes
    };
    let zipped = std::fs::read(path("testdata/memory/small_pieces.pickle.gz"))
        .unwrap_or_else(|error| panic!("{error}"));
    let summary =
        std::fs::read(path("testdata/memory/summary.txt")).unwrap_or_else(|error| panic!("{error}"));
    let seeds = [inflated("small_pieces"), inflated("fragmented"), inflated("evaluation"), zipped, summary];
    let dir = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let file = dir.path().join("x");
    let mut dice = Dice(0x6a09_e667_f3bc_c908);
    let mut read_well = [0, 0];
    for turn in 0..10_000 {
        let which = turn % seeds.len();
        let bytes = damage(&mut dice, &seeds[which]);
        std::fs::write(&file, &bytes).unwrap_or_else(|error| panic!("{error}"));
        let before = Instant::now();
        if which < 4 {
            if let Ok(snapshot) = read(&file) {
                read_well[0] += 1;
                // A row takes some bytes of the inflated file.
                let most = if which == 3 { seeds[0].len() } else { bytes.len() };
                assert!(
                    snapshot.events.len() + snapshot.blocks.size.len() + snapshot.stacks.members.len()
                        <= 8 * most
                );
                assert!(snapshot.events.stack.iter().all(|&stack| (stack as usize) < snapshot.stacks.len()));
                assert!(snapshot.history(0).all(|row| row < snapshot.events.len()));
            }
        } else {
            read_well[1] += usize::from(read_summary(&file).is_ok());
        }
        assert!(before.elapsed() < Duration::from_secs(5), "turn {turn} hangs");
    }
    assert!(read_well[0] > 300 && read_well[1] > 1_500, "{read_well:?}");
}
