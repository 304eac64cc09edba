//! Doors of the readers.

use whyidle_model::{NcclLog, NcuKernels};
use whyidle_readers::documents::{Documents, Field, Kind, Reading};
use whyidle_readers::progress::printed::Words;
use whyidle_readers::{Format, ParserChoice, ReadOptions};

use super::place::{asked, empty, with_file};

/// A trace, by either parser: what one reads, the other does too.
pub fn trace(bytes: &[u8]) {
    let read =
        |parser| whyidle_readers::read_trace_from(bytes, &ReadOptions { parser, ..ReadOptions::default() });
    match (read(ParserChoice::Auto), read(ParserChoice::Reference)) {
        (Ok(fast), Ok(reference)) => {
            assert!(fast == reference, "the parsers disagree");
            assert!(fast.events <= bytes.len() as u64 || bytes.starts_with(&[0x1f, 0x8b]));
        }
        (Err(fast), Err(reference)) => assert_eq!(fast.to_string(), reference.to_string()),
        (fast, reference) => panic!("the parsers disagree: {:?} and {:?}", fast.err(), reference.err()),
    }
}

/// Anything at all, through the whole program: found, read, judged and worded.
pub fn verdict(bytes: &[u8]) {
    with_file("anything", bytes, |path| {
        for command in ["trace", "diagnose"] {
            let said = asked(&[command], path);
            assert!(
                said.status == 0 || said.error.is_some() || !said.out.is_empty(),
                "{command} says nothing"
            );
        }
    });
}

/// A database of Nsight Systems.
pub fn nsys(bytes: &[u8]) {
    with_file("nsys.sqlite", bytes, |path| {
        let _ = whyidle_readers::read_trace(path, &ReadOptions::default());
        let _ = whyidle_readers::read_gpu_metrics(path);
    });
}

/// A snapshot of the allocator, or the table that it prints.
pub fn memory(bytes: &[u8]) {
    with_file("memory", bytes, |path| {
        let _ = whyidle_readers::memory::read(path);
        let _ = whyidle_readers::memory::read_summary(path);
    });
}

/// A dump of the flight recorder.
pub fn flight(bytes: &[u8]) {
    with_file("flight", bytes, |path| {
        let _ = whyidle_readers::flight::read(path);
    });
}

/// What NCCL logs.
pub fn nccl(bytes: &[u8]) {
    with_file("nccl", bytes, |path| {
        let _ = whyidle_readers::nccl::read(path, &mut NcclLog::default());
    });
}

/// What Nsight Compute prints.
pub fn ncu(bytes: &[u8]) {
    let mut kernels = NcuKernels::default();
    whyidle_readers::ncu::read_bytes(bytes, &mut kernels);
}

/// What `nvidia-smi`, DCGM, `iostat`, `vmstat`, `top` and samplers of stacks print, as what it looks like and as all else.
pub fn logs(bytes: &[u8]) {
    let _ = whyidle_readers::sniff(bytes);
    for format in [
        Format::Smi,
        Format::Iostat,
        Format::Top,
        Format::Vmstat,
        Format::Dcgm,
        Format::Collapsed,
        Format::Speedscope,
        Format::StackEvents,
        Format::StackDump,
    ] {
        let _ = whyidle_readers::log_of(bytes, format);
    }
}

/// Losses in files: TensorBoard, JSON, CSV, logs.
pub fn losses(bytes: &[u8]) {
    use whyidle_readers::progress::losses;
    let words = Words { loss: None, step: None };
    let whole = losses::read(bytes, 0, &words);
    assert!(whole.is_none_or(|found| found.points.len() <= bytes.len()));
    let _ = losses::read_structured(bytes, bytes.len() / 2, &words);
}

/// Steps and changes, as the start-up hook writes them, in one piece and in two.
pub fn steps(bytes: &[u8]) {
    use whyidle_readers::progress::{steps::Steps, tries};
    let mut whole = Steps::default();
    whole.feed(bytes);
    let mut pieces = Steps::default();
    let (a, b) = bytes.split_at(bytes.len() / 2);
    pieces.feed(a);
    pieces.feed(b);
    assert_eq!((whole.steps.len(), whole.dropped), (pieces.steps.len(), pieces.dropped));
    let _ = tries::read(bytes);
}

/// Tables and stacks of a recording, finished and while they grow; the first byte says which.
pub fn samples(bytes: &[u8]) {
    use whyidle_readers::samples::{FILES, Follower, read};
    let Some((which, bytes)) = bytes.split_first() else { return };
    let name = FILES[usize::from(*which) % FILES.len()];
    let mut follower = Follower::default();
    let (a, b) = bytes.split_at(bytes.len() / 2);
    follower.feed(name, a);
    follower.feed(name, b);
    follower.forget_before(0);
    let dir = empty("samples");
    std::fs::write(dir.join(name), bytes).unwrap_or_else(|error| panic!("{error}"));
    let _ = read(&dir);
}

/// The description of a recording.
pub fn recording(bytes: &[u8]) {
    let _ = whyidle_readers::recording::from_text(bytes);
    let dir = empty("recording");
    std::fs::write(dir.join("recording.json"), bytes).unwrap_or_else(|error| panic!("{error}"));
    let _ = whyidle_readers::recording::read(&dir, Some(1));
    let _ = whyidle_readers::recording::read_if_sound(&dir, None);
}

/// Digests of ranks, as `merge` takes them from other machines.
pub fn digest(bytes: &[u8]) {
    with_file("digest", bytes, |path| {
        let _ = asked(&["merge"], path);
    });
}

/// Documents of text; the first byte says as what they are read.
pub fn documents(bytes: &[u8]) {
    let Some((which, bytes)) = bytes.split_first() else { return };
    let kinds = [None, Some(Kind::Json), Some(Kind::Text), Some(Kind::Parquet), Some(Kind::Arrow)];
    let kind = kinds[usize::from(*which) % kinds.len()];
    let Some(field) = Field::parse("text") else { return };
    with_file("documents", bytes, |path| {
        for whole in [false, true] {
            let reading = Reading { field: field.clone(), kind, whole };
            let Ok(mut documents) = Documents::open(path, &reading) else { return };
            // Each chunk goes on: a file without an end would hang here.
            while let Ok(Some(mut chunk)) = documents.next(1 << 10) {
                let mut notes = std::mem::take(&mut chunk.notes);
                let _ = chunk.each(&mut notes, |_| Ok::<_, ()>(()));
            }
            if let Ok(mut again) = Documents::open(path, &reading) {
                let _ = again.skip_to(3);
                let _ = again.next(1 << 10);
            }
        }
    });
}

/// A recording of the agent's ring.
pub fn ring(bytes: &[u8]) {
    let Some((which, bytes)) = bytes.split_first() else { return };
    let dir = empty("ring");
    let one = dir.join("20260101T000000Z");
    let name = ["recording.json", "nvml.csv", "proc.csv", "system.csv"][usize::from(*which) % 4];
    let write = || std::fs::create_dir(&one).and_then(|()| std::fs::write(one.join(name), bytes));
    write().unwrap_or_else(|error| panic!("{error}"));
    let entries = whyidle_agent::ring::list(&dir).unwrap_or_default();
    let _ = whyidle_agent::ring::within(&entries, 0, i64::MAX);
}
