//! Prints of other tools: real files of each, recognised by what they hold, however they were redirected; and damaged ones.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use whyidle_model::{Joined, NcuKernels, NcuMetric};
use whyidle_readers::{
    Clock, Format, Found, Log, ReadError, find_evidence, format_of, log_of, ncu, read_log, sniff,
};

use super::agree::outside;
use super::mutations::{Dice, damage};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(data(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn log(name: &str, format: Format) -> Log {
    read_log(&data(&format!("logs/{name}")), format).unwrap_or_else(|error| panic!("{error}"))
}

/// Real files, each with what it is.
const FILES: [(&str, Format); 28] = [
    ("logs/dmon.txt", Format::Smi),
    ("logs/q.txt", Format::Smi),
    ("logs/topo.txt", Format::Smi),
    ("logs/table.txt", Format::Smi),
    ("logs/iostat.txt", Format::Iostat),
    ("logs/iostat.iso.txt", Format::Iostat),
    ("logs/iostat.plain.txt", Format::Iostat),
    ("logs/iostat.old.txt", Format::Iostat),
    ("logs/iostat.json", Format::Iostat),
    ("logs/top.txt", Format::Top),
    ("logs/py-spy.raw", Format::Collapsed),
    ("logs/py-spy.plain.raw", Format::Collapsed),
    ("logs/py-spy.speedscope", Format::Speedscope),
    ("logs/py-spy.chrometrace", Format::StackEvents),
    ("logs/py-spy.dump.txt", Format::StackDump),
    ("logs/py-spy.dump.locals.txt", Format::StackDump),
    ("logs/py-spy.dump.json", Format::StackDump),
    ("ncu/raw.csv", Format::Ncu),
    ("logs/h200/query.csv", Format::Smi),
    ("logs/h200/query_nounits.csv", Format::Smi),
    ("logs/h200/apps.csv", Format::Smi),
    ("logs/h200/dmon_dt.txt", Format::Smi),
    ("logs/h200/dmon_csv.txt", Format::Smi),
    ("logs/h200/pmon.txt", Format::Smi),
    ("logs/h200/plain.txt", Format::Smi),
    ("logs/h200/q.txt", Format::Smi),
    ("logs/h200/top.txt", Format::Top),
    ("logs/h200/vmstat.txt", Format::Vmstat),
];

#[test]
fn each_is_recognised_by_what_it_holds() {
    for (name, format) in FILES {
        let text = String::from_utf8(bytes(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(sniff(text.as_bytes()), Some(format), "{name}");
        assert_eq!(format_of(&data(name)).ok().flatten(), Some(format), "{name}");
        // As Windows and PowerShell redirect it.
        let lines = text.replace('\n', "\r\n");
        let wide: Vec<u8> =
            [0xff, 0xfe].into_iter().chain(lines.encode_utf16().flat_map(u16::to_le_bytes)).collect();
        let marked = [b"\xef\xbb\xbf", lines.as_bytes()].concat();
        for other in [wide, marked] {
            // JSON is not redirected by people.
            if text.starts_with(['{', '[']) {
                continue;
            }
            assert_eq!(sniff(&other), Some(format), "{name}");
            if format != Format::Ncu {
                let (plain, other) = (log_of(text.as_bytes(), format), log_of(&other, format));
                assert_eq!((plain.rows, &plain.machine), (other.rows, &other.machine), "{name}");
            }
        }
    }
}

#[test]
fn other_text_is_none_of_them() {
    for text in [
        "step,loss\n1,2.5\n",
        "Traceback (most recent call last):\n  File \"a.py\", line 3\n",
        "# gpu notes\n",
        "{\"a\": 1}",
        "[1, 2]",
        "memory.used is high\n",
        "t,gpu,util_gpu\n1.0,0,3\n",
    ] {
        assert_eq!(sniff(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn dmon_and_a_query_in_one_file() {
    let log = log("dmon.txt", Format::Smi);
    let gpu = &log.samples.gpu;
    // The query's row has a time, the rows of dmon have none: they do not mix.
    assert_eq!((gpu.len(), log.clock), (1, Clock::Local));
    assert_eq!(
        (gpu.number("power_mw", 0), gpu.number("sm_mhz", 0), gpu.number("mem_total", 0)),
        (Some(89_040.0), Some(345.0), Some(150_754_820_096.0))
    );
    let text = String::from_utf8(bytes("logs/dmon.txt")).unwrap_or_default();
    let alone = log_of(text.split("index,").next().unwrap_or("").as_bytes(), Format::Smi);
    let gpu = &alone.samples.gpu;
    assert_eq!((gpu.len(), alone.clock), (4, Clock::None));
    assert_eq!(
        (gpu.number("power_mw", 0), gpu.number("sm_mhz", 3), gpu.number("util_gpu", 0)),
        (Some(150_000.0), Some(345.0), Some(0.0))
    );
}

#[test]
fn the_report_the_matrix_and_the_table_are_facts_of_the_machine() {
    let report = log("q.txt", Format::Smi).machine;
    let card = &report.cards[0];
    assert_eq!(
        (card.name.as_str(), report.driver.as_str(), report.cuda.as_str()),
        ("NVIDIA H200", "580.159.04", "13.0")
    );
    assert_eq!((card.limit_w, card.default_limit_w, card.throttle), (Some(700.0), Some(700.0), Some(1)));
    assert_eq!(
        (card.persistence, card.mig, card.ecc, card.uncorrectable),
        (Some(true), Some(false), Some(true), Some(0))
    );
    assert_eq!((card.pcie, card.pcie_max, card.max_sm_mhz), (Some((5, 16)), Some((5, 16)), Some(1_980.0)));
    assert_eq!((card.held_ns.power, card.listed_processes, card.processes.len()), (Some(0), true, 0));
    let topo = log("topo.txt", Format::Smi).machine;
    assert_eq!(topo.gpu_pairs().map(|pair| pair.joined).collect::<Vec<_>>(), [Joined::NvLink(18)]);
    assert_eq!(topo.near[0], ("GPU0".to_owned(), "0-31".to_owned(), "0".to_owned()));
    let table = log("table.txt", Format::Smi);
    assert_eq!(
        (table.machine.cards.len(), table.machine.cards[1].power_w, table.samples.gpu.len()),
        (2, Some(80.0), 2)
    );
}

/// 2026-11-30 08:58:10 by the clock of the machine, ns.
const AT_58_10: i64 = 1_796_029_090_000_000_000;

#[test]
fn queries_and_dmon_of_one_minute_agree() {
    let query = log("h200/query.csv", Format::Smi);
    let gpu = &query.samples.gpu;
    assert_eq!((gpu.len(), query.clock, gpu.t[0]), (25, Clock::Local, AT_58_10 + 478_000_000));
    let row = |column: &str| gpu.number(column, 0);
    assert_eq!(
        (row("util_gpu"), row("util_mem"), row("power_mw")),
        (Some(98.0), Some(11.0), Some(651_770.0))
    );
    assert_eq!((row("mem_used"), row("mem_total")), (Some(2_925.0 * MIB), Some(143_771.0 * MIB)));
    assert_eq!(
        (row("sm_mhz"), row("temp_c"), row("power_limit_mw"), row("throttle_reasons")),
        (Some(1_980.0), Some(58.0), Some(700_000.0), Some(0.0))
    );
    let card = &query.machine.cards[0];
    assert_eq!((card.name.as_str(), card.pcie, card.mig), ("NVIDIA H200", Some((5, 16)), Some(false)));

    let bare = log("h200/query_nounits.csv", Format::Smi);
    let gpu = &bare.samples.gpu;
    assert_eq!((gpu.len(), gpu.t[0]), (13, AT_58_10 + 474_000_000));
    assert_eq!((gpu.number("util_gpu", 12), gpu.number("power_mw", 12)), (Some(98.0), Some(657_240.0)));

    let dated = log("h200/dmon_dt.txt", Format::Smi);
    let gpu = &dated.samples.gpu;
    assert_eq!((gpu.len(), dated.clock, gpu.t[0]), (6, Clock::Local, AT_58_10));
    assert_eq!(
        (gpu.number("power_mw", 5), gpu.number("mem_used", 5)),
        (Some(659_000.0), Some(2_925.0 * MIB))
    );
    assert_eq!((gpu.number("pcie_rx_kbs", 1), gpu.number("pcie_tx_kbs", 5)), (Some(16_000.0), Some(5_000.0)));

    // With times of the day alone, and commas.
    let day = log("h200/dmon_csv.txt", Format::Smi);
    let gpu = &day.samples.gpu;
    assert_eq!((gpu.len(), day.clock, gpu.t[0]), (4, Clock::Day, AT_58_10 % 86_400_000_000_000));
    for row in 0..2 {
        for column in ["util_gpu", "util_mem", "power_mw", "temp_c", "sm_mhz", "mem_mhz"] {
            assert_eq!(gpu.number(column, row), dated.samples.gpu.number(column, row), "{column}");
        }
    }
    for log in [query, bare, dated, day] {
        assert_eq!(log.notes.sorted(), []);
    }
}

const MIB: f64 = 1_048_576.0;

#[test]
fn each_print_of_nvidia_smi_names_the_process_on_the_card() {
    for (name, memory) in [
        ("apps.csv", Some(2_916 << 20)),
        ("plain.txt", Some(2_916 << 20)),
        ("q.txt", Some(2_916 << 20)),
        ("pmon.txt", None),
    ] {
        let log = log(&format!("h200/{name}"), Format::Smi);
        let processes = &log.machine.cards[0].processes;
        assert_eq!(processes.len(), 1, "{name}");
        assert_eq!((processes[0].pid, processes[0].memory), (5_436, memory), "{name}");
        assert!(processes[0].name.contains("python3") && processes[0].computes, "{name}");
        assert_eq!(log.notes.sorted(), [], "{name}");
    }
    let plain = log("h200/plain.txt", Format::Smi);
    let card = &plain.machine.cards[0];
    assert_eq!((card.util, card.power_w, card.temperature_c), (Some(99.0), Some(654.0), Some(58.0)));
}

#[test]
fn vmstat_becomes_counters() {
    let log = log("h200/vmstat.txt", Format::Vmstat);
    let system = &log.samples.system;
    assert_eq!((system.len(), log.clock, system.t[0]), (3, Clock::Local, AT_58_10 + 2_000_000_000));
    // The first line is about the time since the machine started; then a second each.
    let of =
        |column: &str| [0, 1, 2].map(|row| (system.number(column, row).unwrap_or(f64::NAN) * 100.0).round());
    assert_eq!((of("cpu_user"), of("cpu_sys")), ([0.0, 6.0, 12.0], [0.0, 1.0, 1.0]));
    assert_eq!((of("cpu_idle"), of("disk_read")), ([0.0, 93.0, 187.0], [0.0; 3]));
    assert_eq!(log.notes.sorted(), []);
}

#[test]
fn what_the_profiler_exports_is_read_with_its_time() {
    // Sums over the lines, counted by other means.
    for (name, sum) in [("stacks_cuda.txt.gz", 216_714), ("stacks_cpu.txt.gz", 106_951)] {
        let path = data(&format!("logs/h200/{name}"));
        assert_eq!(format_of(&path).ok().flatten(), Some(Format::Collapsed), "{name}");
        let log = read_log(&path, Format::Collapsed).unwrap_or_else(|error| panic!("{error}"));
        assert!(log.is_weighted_by_time, "{name}");
        assert_eq!((log.rows, log.notes.sorted()), (sum, Vec::new()), "{name}");
        let stacks = &log.samples.stacks;
        let first = &stacks.stacks[0].frames[0];
        assert_eq!(
            (stacks.names.get(first.function), stacks.names.get(first.file)),
            ("<module>", "train.py")
        );
    }
}

#[test]
fn a_query_without_a_header_and_an_error_are_told_apart_from_other_text() {
    let found = |name: &str| match find_evidence(&data(&format!("logs/h200/{name}"))) {
        Err(ReadError::NotEvidence { found, .. }) => Some(found),
        _ => None,
    };
    assert_eq!(found("query_noheader.csv"), Some(Found::NoHeader));
    assert_eq!(found("bad_query.csv"), Some(Found::SmiError));
}

#[test]
fn iostat_becomes_counters() {
    for (name, clock, rows) in [
        ("iostat.txt", Clock::Local, 2),
        ("iostat.iso.txt", Clock::Local, 2),
        ("iostat.plain.txt", Clock::None, 1),
        ("iostat.old.txt", Clock::Local, 1),
        ("iostat.json", Clock::Local, 1),
    ] {
        let log = log(name, Format::Iostat);
        let system = &log.samples.system;
        assert_eq!((system.len(), log.clock), (rows, clock), "{name}");
        let of = |column: &str| system.number(column, rows - 1).unwrap_or(f64::NAN);
        // Two cores, a second per report.
        let all = of("cpu_user") + of("cpu_sys") + of("cpu_idle") + of("cpu_iowait");
        assert!((all - 2.0 * rows as f64).abs() < 0.01, "{name}: {all}");
        assert!(of("disk_read") >= 0.0, "{name}");
        assert!(log.notes.sorted().is_empty(), "{name}: {:?}", log.notes.sorted());
    }
    let old = log("iostat.old.txt", Format::Iostat);
    assert_eq!(old.samples.system.number("disk_read", 0), Some(1_640.0 * 1_024.0));
}

#[test]
fn top_shows_processes_and_the_machine() {
    let log = log("top.txt", Format::Top);
    assert_eq!((log.rows, log.clock), (3, Clock::Day));
    let (system, process) = (&log.samples.system, &log.samples.process);
    assert_eq!((system.len(), system.number("mem_total", 0)), (3, Some(24_105.6 * 1_048_576.0)));
    let rows: Vec<usize> = process.rows_of("pid", 11_013.0).collect();
    assert_eq!(
        (process.word("cmd", rows[0]), process.word("status", rows[0]), process.number("user_s", rows[0])),
        ("python3", "running", Some(1.62))
    );
    assert!(log.notes.sorted().is_empty(), "{:?}", log.notes.sorted());
}

#[test]
fn stacks_of_py_spy_agree_across_its_formats() {
    let main = |log: &Log| {
        let stacks = &log.samples.stacks;
        let is_main =
            |seen: &&whyidle_model::Seen| stacks.names.get(stacks.stacks[seen.stack].thread) == "MainThread";
        let (main, all): (u32, u32) = (
            stacks.seen.iter().filter(is_main).map(|seen| seen.count).sum(),
            stacks.seen.iter().map(|seen| seen.count).sum(),
        );
        let tokenise = stacks.seen.iter().filter(is_main).filter(|seen| {
            stacks.stacks[seen.stack]
                .frames
                .iter()
                .any(|frame| stacks.names.get(frame.function) == "tokenise")
        });
        (main, all, tokenise.map(|seen| seen.count).sum::<u32>())
    };
    // Chrome's events do not tell how many samples they are: rather too few.
    for (name, format, fewest) in [
        ("py-spy.raw", Format::Collapsed, 30),
        ("py-spy.speedscope", Format::Speedscope, 30),
        ("py-spy.chrometrace", Format::StackEvents, 10),
    ] {
        let log = log(name, format);
        let (main, all, tokenise) = main(&log);
        // Two seconds at 20 Hz of two threads.
        assert!(
            (fewest..=44).contains(&main) && all > main && tokenise > 0,
            "{name}: {main} of {all}, {tokenise}"
        );
        assert!(log.samples.stacks.seen.iter().all(|seen| seen.t.is_none()) && log.clock == Clock::None);
        assert!(log.notes.sorted().is_empty(), "{name}: {:?}", log.notes.sorted());
    }
    for name in ["py-spy.dump.txt", "py-spy.dump.locals.txt", "py-spy.dump.json"] {
        let log = log(name, Format::StackDump);
        assert_eq!((log.rows, log.samples.stacks.stacks.len()), (2, 2), "{name}");
    }
    assert_eq!(main(&log("py-spy.plain.raw", Format::Collapsed)).0, 19);
}

#[test]
fn kernels_of_both_pages_are_read() {
    let read = |name: &str| {
        let mut kernels = NcuKernels::default();
        ncu::read(&data(name), &mut kernels).unwrap_or_else(|error| panic!("{error}"));
        kernels
    };
    let raw = read("ncu/raw.csv");
    assert_eq!((raw.len(), raw.gpu.as_str(), raw.warnings.len()), (13, "NVIDIA H200", 2));
    let flash = (0..raw.len()).find(|&row| raw.names.get(raw.name[row]).starts_with("cudnn")).unwrap_or(0);
    assert_eq!(
        (raw.duration_ns(flash), raw.metric(NcuMetric::Sm, flash), raw.metric(NcuMetric::Tensor, flash)),
        (Some(56_672), Some(42.88), Some(17.34))
    );
    assert!(
        NcuMetric::ALL.iter().all(|&metric| raw.metric(metric, flash).is_some() || metric == NcuMetric::L1),
        "{:?}",
        NcuMetric::ALL.iter().filter(|&&metric| raw.metric(metric, flash).is_none()).collect::<Vec<_>>()
    );
    let details = read("ncu/details.csv");
    assert_eq!(
        (details.len(), details.metric(NcuMetric::Waves, 0), details.metric(NcuMetric::LimitBlocks, 0)),
        (1, Some(0.0), Some(32.0))
    );
}

/// Two prints of one program, which Nsight Compute ended in the middle of a step.
#[test]
fn prints_that_nsight_compute_ended_say_why() {
    for (name, launches) in [("raw", 56), ("details", 24)] {
        let mut found = NcuKernels::default();
        ncu::read(&data(&format!("ncu/h200/{name}.csv.gz")), &mut found)
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((found.len(), found.notes.sorted().len()), (launches, 0), "{name}");
        assert!(found.warnings.iter().any(|text| text.starts_with("Failed to profile \"reduce_kernel\"")));
        assert!(
            (0..launches)
                .all(|row| found.duration_ns(row).is_some() && found.metric(NcuMetric::Sm, row).is_some()),
            "{name}"
        );
    }
}

/// The files as they were recorded, where they are at hand.
#[test]
fn the_lab_is_read_whole() {
    let Some(lab) = outside("WHYIDLE_LAB", "../shared/lab") else { return };
    for (name, kernels) in [("ncu/raw.csv", 25), ("ncu/details.csv", 10)] {
        let mut found = NcuKernels::default();
        ncu::read(&lab.join(name), &mut found).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((found.len(), found.notes.sorted().len()), (kernels, 0), "{name}");
        assert!(
            (0..kernels).all(|row| found.duration_ns(row).is_some_and(|ns| ns > 1_000)
                && found.metric(NcuMetric::Sm, row).is_some()),
            "{name}"
        );
    }
    for (host, cards) in [("host1", 1), ("host2", 2)] {
        for name in ["nvidia-smi.txt", "nvidia-smi-q.txt", "nvidia-smi-topo.txt"] {
            let path = lab.join(host).join(name);
            assert_eq!(format_of(&path).ok().flatten(), Some(Format::Smi), "{}", path.display());
            let log = read_log(&path, Format::Smi).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!((log.machine.cards.len(), log.notes.sorted().len()), (cards, 0), "{}", path.display());
        }
    }
}

/// Each reader: whatever the damage, nothing panics, hangs, or takes more rows than there are bytes.
#[test]
fn damaged_prints_are_read_or_refused() {
    const TURNS: usize = 5_000;
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    for (name, format) in FILES.into_iter().chain([("ncu/details.csv", Format::Ncu)]) {
        let whole = bytes(name);
        // The damage is the same wherever it is; a shorter seed is read faster.
        let seed = if format == Format::Smi || whole.starts_with(b"{") || whole.starts_with(b"[") {
            &whole[..]
        } else {
            &whole[..whole.len().min(6_000)]
        };
        for turn in 0..TURNS {
            let bytes = damage(&mut dice, seed);
            let before = Instant::now();
            let _ = sniff(&bytes);
            if format == Format::Ncu {
                let mut kernels = NcuKernels::default();
                let lines = ncu::read_bytes(&bytes, &mut kernels);
                assert!(kernels.len() <= lines && lines <= bytes.len(), "{name}, turn {turn}");
            } else {
                let log = log_of(&bytes, format);
                let samples = &log.samples;
                let rows = samples.gpu.len()
                    + samples.process.len()
                    + samples.system.len()
                    + samples.stacks.stacks.len();
                assert!(rows <= bytes.len() && log.machine.pairs.len() <= bytes.len(), "{name}, turn {turn}");
                for table in [&samples.gpu, &samples.process, &samples.system] {
                    assert!(
                        table.numbers.values().all(|column| column.len() == table.len()),
                        "{name}, turn {turn}"
                    );
                    assert!(
                        table.words.values().all(|column| column.len() == table.len()),
                        "{name}, turn {turn}"
                    );
                }
            }
            assert!(before.elapsed() < Duration::from_secs(5), "{name}, turn {turn} hangs");
        }
    }
}

/// DCGM's text is in the form of a real scrape; no file of one ships.
#[test]
fn damaged_scrapes_are_read_or_refused() {
    let seed = b"# TYPE DCGM_FI_DEV_GPU_UTIL gauge\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-c2\",modelName=\"NVIDIA L4\"} 97 1796028678000\nDCGM_FI_DEV_FB_USED{gpu=\"0\"} 563\nDCGM_FI_PROF_DRAM_ACTIVE{gpu=\"1\",GPU_I_ID=\"\"} 0.05\n";
    let mut dice = Dice(7);
    for turn in 0..5_000 {
        let bytes = damage(&mut dice, seed);
        let log = log_of(&bytes, Format::Dcgm);
        assert!(log.samples.gpu.len() <= bytes.len(), "turn {turn}");
    }
}
