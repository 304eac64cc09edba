//! Exports of Nsight Systems: small ones made here by SQL, damaged ones, and a public one that is not shipped.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests fail by panicking and say what they skip"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use whyidle_model::{GpuKind, HostKind, NoteCode, Recorder, Span, Spans, Trace};
use whyidle_readers::{
    Budget, Found, Hint, ReadError, ReadOptions, find_traces, read_gpu_metrics, read_trace,
};

use super::agree::outside;
use super::mutations::{Dice, damage};
use super::{names, notes};

/// Two processes, each on its GPU, with the same correlation ids. Numbers of processes and threads as exports hold them:
/// the process in bits 24 to 47.
const P: i64 = (1 << 48) | (100 << 24);
const Q: i64 = (1 << 48) | (200 << 24);

/// Tables as Nsight Systems 2026.2 (schema 3.25) writes them, columns that are not read left out here and there.
fn schema() -> String {
    let activity = "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, \
                    greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER";
    let call = "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, \
                correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER";
    format!(
        "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
         CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT NOT NULL);
         CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
         CREATE TABLE ANALYSIS_DETAILS (globalVid INTEGER, duration INTEGER, startTime INTEGER, stopTime INTEGER);
         CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER, cuDevice INTEGER, computeMajor INTEGER, computeMinor INTEGER);
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({activity}, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL,
            gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL,
            blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, graphNodeId INTEGER);
         CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY ({activity}, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL,
            srcKind INTEGER, dstKind INTEGER);
         CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET ({activity}, value INTEGER NOT NULL, bytes INTEGER NOT NULL, memKind INTEGER);
         CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE ({activity}, graphId INTEGER NOT NULL);
         CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION ({activity}, syncType INTEGER NOT NULL, eventId INTEGER, eventSyncId INTEGER);
         CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (streamId INTEGER, correlationId INTEGER, globalPid INTEGER, eventId INTEGER, eventSyncId INTEGER);
         CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME ({call});
         CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER, overheadType INTEGER);
         CREATE TABLE OSRT_API ({call});
         CREATE TABLE SCHED_EVENTS (start INTEGER NOT NULL, cpu INTEGER NOT NULL, isSchedIn INTEGER NOT NULL, globalTid INTEGER);
         CREATE TABLE COMPOSITE_EVENTS (id INTEGER NOT NULL PRIMARY KEY, start INTEGER NOT NULL, cpu INTEGER, threadState INTEGER, globalTid INTEGER, cpuCycles INTEGER NOT NULL);
         CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, unresolved INTEGER, stackDepth INTEGER NOT NULL);
         CREATE TABLE GPU_METRICS (rawTimestamp INTEGER, timestamp INTEGER, typeId INTEGER NOT NULL, metricId INTEGER NOT NULL, value INTEGER NOT NULL);
         CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER NOT NULL, sourceId INTEGER NOT NULL, typeName TEXT NOT NULL, metricId INTEGER NOT NULL, metricName TEXT NOT NULL);
         CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER NOT NULL, timestampType INTEGER NOT NULL, source INTEGER NOT NULL, severity INTEGER NOT NULL, text TEXT NOT NULL, globalPid INTEGER);
         CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,
            globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, jsonText TEXT);
         CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);"
    )
}

/// Three steps of two processes: a pageable copy, a kernel, a collective, a read-back, and a CUDA graph.
fn rows() -> String {
    let mut sql = String::from(
        "INSERT INTO StringIds VALUES (1,'cudaMemcpyAsync_v3020'),(2,'cudaLaunchKernel_v7000'),(3,'cuLaunchKernelEx'),
            (4,'cudaStreamSynchronize_v3020'),(5,'sm90_xmma_gemm_bf16'),(6,'ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)'),
            (7,'step'),(8,'python3'),(9,'Command Buffer Full'),(10,'read'),(11,'cudaGraphLaunch_v10000'),(12,'PyObject_Malloc');
         INSERT INTO DIAGNOSTIC_EVENT VALUES (0,0,1,1,'Process was launched by the profiler',NULL),(5,0,1,2,'Not all events might have been collected',NULL);
         INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION','2026.2.1.210');
         INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000,'','');
         INSERT INTO ANALYSIS_DETAILS VALUES (0, 1000000, 500000, 1500000);
         INSERT INTO TARGET_INFO_GPU VALUES (0,'NVIDIA H100',85000000000,132,0,9,0);",
    );
    let mut add =
        |table: &str, values: String| sql.push_str(&format!("INSERT INTO {table} VALUES ({values});"));
    for (process, device, slower) in [(P, 0, 0), (Q, 1, 1_000)] {
        let thread = process + 7;
        add("ThreadNames", format!("8,0,{thread}"));
        for step in 0..3_i64 {
            let t = 1_000_000 + step * 100_000;
            let id = 1 + step * 10;
            let common = |at: i64, length: i64, stream: i64, id: i64| {
                format!("{},{},{device},1,NULL,{stream},{id},{process}", t + at, t + at + length)
            };
            let mut call = |at: i64, length: i64, id: i64, name: i64| {
                add(
                    "CUPTI_ACTIVITY_KIND_RUNTIME",
                    format!("{},{},0,{thread},{id},{name},0,NULL", t + at, t + at + length),
                );
            };
            call(1_000, 9_000, id, 1);
            call(12_000, 2_000, id + 1, 2);
            call(16_000, 2_000, id + 2, 3);
            call(20_000, 2_000, id + 3, 11);
            call(30_000, 60_000, id + 4, 4);
            add("CUPTI_ACTIVITY_KIND_MEMCPY", format!("{},4096,1,0,2", common(5_000, 3_000, 7, id)));
            add(
                "CUPTI_ACTIVITY_KIND_KERNEL",
                format!("{},5,5,8,2,1,128,1,1,NULL", common(15_000, 40_000 + slower, 7, id + 1)),
            );
            add(
                "CUPTI_ACTIVITY_KIND_KERNEL",
                format!("{},6,6,16,1,1,512,1,1,NULL", common(50_000, 20_000, 9, id + 2)),
            );
            add("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", format!("{},3", common(72_000, 10_000, 7, id + 3)));
            add("CUPTI_ACTIVITY_KIND_CUDA_EVENT", format!("9,{},{process},1,{step}", id + 2));
            add(
                "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                format!("{},2,1,{step}", common(60_000, 100, 7, id + 4)),
            );
            add("NVTX_EVENTS", format!("{t},{},60,NULL,{thread},NULL,7,0,NULL", t + 95_000));
            let mm = "aten::mm, seq = 4, op_id = 9, sizes = [[8, 4], [4, 2]]";
            add("NVTX_EVENTS", format!("{},{},59,'{mm}',{thread},NULL,NULL,0,NULL", t + 11_000, t + 15_000));
            add(
                "NVTX_EVENTS",
                format!(
                    "{},{},59,'ncclAllReduce',{thread},NULL,NULL,1,'{{\"NCCL communicator ID\":\"77\",\"Message size [bytes]\":4000}}'",
                    t + 15_500,
                    t + 15_900
                ),
            );
            add("OSRT_API", format!("{},{},0,{thread},0,10,0,NULL", t + 40_000, t + 41_000));
            add("SCHED_EVENTS", format!("{},3,0,{thread}", t + 42_000));
            add("SCHED_EVENTS", format!("{},4,1,{thread}", t + 49_000));
            let sample = 100 * (1 + device) + step;
            add("COMPOSITE_EVENTS", format!("{sample},{},3,0,{thread},1", t + 45_000));
            add("SAMPLING_CALLCHAINS", format!("{sample},12,8,0,0"));
            add("SAMPLING_CALLCHAINS", format!("{sample},7,8,0,1"));
            for (metric, value) in [(1, 40 + 10 * step), (2, 30), (3, 5)] {
                add("GPU_METRICS", format!("{t},{t},{},{metric},{value}", 0x2400 + device));
            }
        }
        for (metric, name) in [
            (1, "SMs Active [Throughput %]"),
            (2, "DRAM Read Bandwidth [Throughput %]"),
            (3, "DRAM Write Bandwidth [Throughput %]"),
        ] {
            add("TARGET_INFO_GPU_METRICS", format!("{},0,'GH100',{metric},'{name}'", 0x2400 + device));
        }
        add("CUPTI_ACTIVITY_KIND_OVERHEAD", format!("1000,2000,{thread},9,8"));
        add(
            "NVTX_EVENTS",
            format!(
                "900000,900500,59,'ncclCommInitRank',{thread},NULL,NULL,1,'{{\"NCCL communicator ID\":\"77\",\"No. of ranks\":2,\"Rank\":{device}}}'"
            ),
        );
        add("NVTX_EVENTS", format!("900000,NULL,34,'mark',{thread},NULL,NULL,0,NULL"));
    }
    sql
}

/// A database in a folder of its own.
struct Made {
    folder: tempfile::TempDir,
    path: PathBuf,
}

fn made(sql: &str) -> Made {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a run?#%.sqlite");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(&format!("PRAGMA page_size = 1024; BEGIN; {sql} COMMIT;")).unwrap();
    Made { folder, path }
}

fn read(path: &Path, device: Option<i32>) -> Result<Trace, ReadError> {
    read_trace(path, &ReadOptions { device, ..ReadOptions::default() })
}

#[test]
fn one_process_is_read_with_all_that_it_did() {
    let made = made(&(schema() + &rows()));
    let trace = read(&made.path, Some(0)).unwrap();
    assert_eq!(trace.meta.recorder, Recorder::NsightSystems);
    assert_eq!(trace.meta.base_unix_ns, 1_700_000_000_000_000_000 - 500_000);
    assert_eq!(
        (trace.meta.devices[0].multiprocessors, trace.meta.devices[0].compute_capability),
        (132, (9, 0))
    );
    assert_eq!(trace.gpu.len(), 12);
    let first = |kind: GpuKind| trace.gpu.kind.iter().position(|&one| one == kind).unwrap();
    let (kernel, copy) = (first(GpuKind::Kernel), first(GpuKind::Memcpy));
    assert_eq!((trace.gpu.start[kernel], trace.gpu.dur[kernel]), (1_015_000, 40_000));
    assert_eq!((trace.gpu.blocks[kernel], trace.gpu.threads[kernel]), (16, 128));
    assert_eq!(trace.gpu.bytes[copy], 4096);
    let all = names(&trace);
    for name in [
        "cudaLaunchKernel",
        "cuLaunchKernelEx",
        "cudaGraphLaunch",
        "aten::mm",
        "step",
        "Command Buffer Full",
        "Memcpy HtoD (Pageable -> Device)",
        "CUDA graph 3",
        "sm90_xmma_gemm_bf16",
    ] {
        assert!(all.contains(&name), "{name} in {all:?}");
    }
    let mm = (0..trace.host.len()).find(|&row| trace.names.get(trace.host.name[row]) == "aten::mm").unwrap();
    assert_eq!((trace.host.kind[mm], trace.host.sequence[mm]), (HostKind::Op, 4));
    assert_eq!(trace.names.get(trace.host.dims[mm]), "[[8,4],[4,2]]");
    assert_eq!(trace.threads.len(), 1);
    assert_eq!((trace.threads[0].pid, trace.threads[0].tid), (100, 7));
    assert_eq!(trace.names.get(trace.threads[0].name), "python3");
    assert_eq!(trace.syncs.len(), 3);
    assert_eq!((trace.syncs[1].wait_on_stream, trace.syncs[1].wait_on_record), (Some(9), Some(13)));
    // What NCCL says: who this is, and how much each collective moves.
    let job = trace.meta.distributed.as_ref().unwrap();
    assert_eq!((job.rank, job.world_size), (0, 2));
    assert_eq!(trace.collectives.len(), 3);
    assert_eq!(trace.collectives[0].in_elements, 4000);
    assert_eq!(
        notes(&trace),
        [
            (NoteCode::GraphsWhole, 3),
            (NoteCode::TracerWarning, 1),
            (NoteCode::OtherProcesses, 1),
            (NoteCode::Unused, 1)
        ]
    );
    // What the operating system says of the thread.
    let os = &trace.os;
    assert_eq!((&*os.calls.start, &*os.calls.dur), (&[1_040_000, 1_140_000, 1_240_000][..], &[1_000; 3][..]));
    assert_eq!(trace.names.get(os.calls.name[0]), "read");
    assert_eq!((os.off_core.start[0], &*os.off_core.dur), (1_042_000, &[7_000; 3][..]));
    assert_eq!((os.samples.t[2], trace.names.get(os.samples.function[2])), (1_245_000, "PyObject_Malloc"));
    let one = [&os.calls.thread, &os.off_core.thread, &os.samples.thread];
    assert!(one.iter().all(|threads| ***threads == [trace.host.thread[0]; 3]));
}

/// Tests of crates above read this database as a file; `make accept` writes it anew.
#[test]
fn the_shipped_database_is_made_of_these_rows() {
    let made = made(&(schema() + &rows()));
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/nsys/two_processes.sqlite");
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        fs::create_dir_all(shipped.parent().unwrap()).unwrap();
        fs::copy(&made.path, &shipped).unwrap();
    }
    for device in [0, 1] {
        assert!(
            read(&shipped, Some(device)).unwrap() == read(&made.path, Some(device)).unwrap(),
            "GPU {device}"
        );
    }
}

#[test]
fn the_busiest_process_is_read_unless_a_gpu_is_named() {
    let made = made(&(schema() + &rows()));
    let device = |wanted| read(&made.path, wanted).unwrap().streams[0].device;
    assert_eq!([device(None), device(Some(0)), device(Some(1)), device(Some(9))], [1, 0, 1, 1]);
}

/// Counters are means of a twentieth of a second, in the columns of a watch from outside.
#[test]
fn counters_of_the_gpu_are_samples() {
    let made = made(&(schema() + &rows()));
    let table = read_gpu_metrics(&made.path);
    assert_eq!((table.len(), table.keys("gpu")), (2, vec![0, 1]));
    let row = table.rows_of("gpu", 1.0).next().unwrap();
    // 40, 50 and 60 %; what is read and what is written add up.
    assert_eq!((table.number("sm_util", row), table.number("dram_bw_util", row)), (Some(50.0), Some(35.0)));
    assert_eq!((table.number("util_gpu", row), table.number("any_tensor_util", row)), (None, None));
    let base = read(&made.path, None).unwrap().meta.base_unix_ns;
    assert!((table.t[0] - base - 1_000_000).abs() < 50_000_000);
    assert!(read_gpu_metrics(Path::new("/nonexistent")).is_empty());
}

#[test]
fn nothing_is_written_beside_the_file() {
    let made = made(&(schema() + &rows()));
    let before = fs::read(&made.path).unwrap();
    read(&made.path, None).unwrap();
    let found: Vec<_> =
        fs::read_dir(made.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(fs::read(&made.path).unwrap(), before);
    assert_eq!(find_traces(made.folder.path()).unwrap(), std::slice::from_ref(&made.path));
}

/// Tables exist only where something was recorded; old versions lack columns.
#[test]
fn any_table_and_any_column_may_be_missing() {
    let all = schema() + &rows();
    let tables: Vec<String> = all
        .split("CREATE TABLE ")
        .skip(1)
        .map(|rest| rest.split(' ').next().unwrap().to_owned())
        .filter(|table| table != "StringIds")
        .collect();
    assert!(tables.len() > 10);
    for table in &tables {
        let made = made(&format!("{all} DROP TABLE {table};"));
        read(&made.path, Some(0)).unwrap_or_else(|error| panic!("without {table}: {error}"));
    }
    for (table, column) in [
        ("CUPTI_ACTIVITY_KIND_KERNEL", "greenContextId"),
        ("CUPTI_ACTIVITY_KIND_KERNEL", "demangledName"),
        ("CUPTI_ACTIVITY_KIND_MEMCPY", "srcKind"),
        ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "eventSyncId"),
        ("NVTX_EVENTS", "jsonText"),
        ("NVTX_EVENTS", "textId"),
        ("ANALYSIS_DETAILS", "startTime"),
        ("TARGET_INFO_GPU", "cuDevice"),
    ] {
        let made = made(&format!("{all} ALTER TABLE {table} DROP COLUMN {column};"));
        let trace = read(&made.path, Some(0)).unwrap_or_else(|error| panic!("without {column}: {error}"));
        assert_eq!(trace.gpu.len(), 12, "without {table}.{column}");
    }
    // Without the owner of any activity, all rows are one process's.
    let mut sql = all;
    for table in ["KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE", "SYNCHRONIZATION", "CUDA_EVENT"] {
        let table = format!("CUPTI_ACTIVITY_KIND_{table}");
        sql.push_str(&format!("ALTER TABLE {table} DROP COLUMN globalPid;"));
    }
    assert_eq!(read(&made(&sql).path, None).unwrap().gpu.len(), 24);
}

#[test]
fn faulty_rows_are_noted() {
    let kernel = |start: &str, end: &str| {
        format!(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({start},{end},0,1,NULL,7,1,{P},5,5,1,1,1,1,1,1,NULL);"
        )
    };
    let nullable = schema().replace(" NOT NULL", "");
    let sql = nullable
        + &kernel("NULL", "5")
        + &kernel("1000", "NULL")
        + &kernel("1000", "900")
        + &kernel("0", "0")
        + &kernel("-9223372036854775808", "9223372036854775807")
        + &kernel("'text'", "x'00'")
        + &kernel("7", "9");
    let trace = read(&made(&sql).path, None).unwrap();
    for (code, count) in [
        (NoteCode::NoStart, 2),
        (NoteCode::NoDuration, 1),
        (NoteCode::NegativeDuration, 1),
        (NoteCode::ZeroTime, 1),
        (NoteCode::AbsurdTime, 1),
    ] {
        assert_eq!(trace.notes.count(code), count, "{code:?}");
    }
    assert_eq!(trace.gpu.len(), 3);
}

#[test]
fn rows_beyond_the_budget_are_not_read() {
    let made = made(&(schema() + &rows()));
    let budget = Budget { nodes: 60, ..Budget::default() };
    let trace = read_trace(&made.path, &ReadOptions { budget, ..ReadOptions::default() }).unwrap();
    assert_eq!(trace.notes.count(NoteCode::OverBudget), 1);
    assert!(trace.events <= 60, "{}", trace.events);
}

#[test]
fn what_is_no_export_is_told_so() {
    let other = made("CREATE TABLE history (id INTEGER); CREATE VIEW NVTX_EVENTS AS SELECT * FROM history;");
    let error = read(&other.path, None).unwrap_err();
    assert!(matches!(error, ReadError::NotATrace { found: Found::Sqlite, .. }), "{error}");
    assert_eq!(error.hint(), Some(Hint::ExportNsys));
    assert!(find_traces(other.folder.path()).is_err());
    // Views are not read, whatever they are called.
    let view = schema().replace("CREATE TABLE NVTX_EVENTS", "CREATE TABLE RENAMED")
        + "CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE r(start) AS (SELECT 1 UNION ALL SELECT start FROM r) SELECT * FROM r;";
    assert!(read(&made(&view).path, None).unwrap().host.is_empty());
    let broken = tempfile::tempdir().unwrap().keep().join("broken.sqlite");
    fs::write(&broken, b"SQLite format 3\0 and no more").unwrap();
    let error = read(&broken, None).unwrap_err();
    assert_eq!((error.id(), error.hint()), ("read-database", Some(Hint::ExportNsys)));
    fs::remove_dir_all(broken.parent().unwrap()).unwrap();
}

#[test]
fn damaged_databases_are_read_or_refused() {
    let seed = fs::read(made(&(schema() + &rows())).path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.sqlite");
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let (mut read_well, mut damaged, mut refused) = (0, 0, 0);
    for turn in 0..6_000 {
        let bytes = damage(&mut dice, &seed);
        fs::write(&path, &bytes).unwrap();
        let before = Instant::now();
        match read(&path, None) {
            Ok(trace) => {
                let bins = read_gpu_metrics(&path).len();
                assert!(bins <= bytes.len());
                let rows = trace.host.len() + trace.gpu.len() + trace.syncs.len();
                assert!(rows as u64 <= trace.events && trace.events <= 16 * bytes.len() as u64);
                damaged += u32::from(trace.notes.count(NoteCode::DamagedDatabase) > 0);
                read_well += 1;
            }
            Err(error) => {
                assert!(!error.args().is_empty());
                refused += 1;
            }
        }
        assert!(before.elapsed() < Duration::from_secs(5), "turn {turn} hangs");
    }
    assert!(
        read_well > 1_000 && damaged > 100 && refused > 100,
        "{read_well} read, {damaged} of them damaged, {refused} refused"
    );
}

/// Span and busy time of each GPU, by SQL alone.
fn by_hand(path: &Path) -> Vec<(i32, i64, i64)> {
    let connection = Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut statement = connection
        .prepare(
            "WITH activity(device, s, e) AS (
                SELECT deviceId, start, end FROM CUPTI_ACTIVITY_KIND_KERNEL
                UNION ALL SELECT deviceId, start, end FROM CUPTI_ACTIVITY_KIND_MEMCPY
                UNION ALL SELECT deviceId, start, end FROM CUPTI_ACTIVITY_KIND_MEMSET),
             ordered AS (
                SELECT device, s, e, max(e) OVER (PARTITION BY device ORDER BY s, e
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM activity)
             SELECT device, max(e) - min(s), sum(max(0, e - max(s, coalesce(before, s)))) FROM ordered
             GROUP BY device ORDER BY device",
        )
        .unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn busy_and_idle_of_a_public_export_equal_sql() {
    let Some(folder) = outside("WHYIDLE_PUBLIC", "../shared/public-traces") else { return };
    let path = folder.join("nsys_h100_2gpu.sqlite");
    if !path.is_file() {
        return eprintln!("skipped: {} is not there", path.display());
    }
    let expected = by_hand(&path);
    assert_eq!(expected.len(), 2);
    for (device, span, busy) in expected {
        let trace = read(&path, Some(device)).unwrap();
        assert!(trace.streams.iter().all(|stream| stream.device == device));
        let activity =
            |row: usize| Span::new(trace.gpu.start[row], trace.gpu.start[row] + trace.gpu.dur[row]);
        let all = Spans::union_of((0..trace.gpu.len()).map(activity));
        let hull = all.hull().unwrap().length();
        eprintln!("GPU {device}: span {span} ns, busy {busy} ns, idle {} ns", span - busy);
        assert_eq!((hull, all.length(), hull - all.length()), (span, busy, span - busy));
        let operators = trace.host.kind.iter().filter(|&&kind| kind == HostKind::Op).count();
        assert!(operators > 8_000, "{operators}");
    }
}
