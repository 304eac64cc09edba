//! Parts of prints that real files in `tests/it/logs.rs` do not show.

use whyidle_model::{Joined, NoteCode};

use super::*;

#[test]
fn dmon_with_date_and_time_has_times_and_missing_values_are_missing() {
    let text = "#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk  pviol  tviol     fb\n\
        #YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %    MHz    MHz      %   bool     MB\n \
        20261130   08:51:18      0    250     45      -     97     40   3201   1900     12      0   1024\n \
        20261130   08:51:18      1      -     45      -      -      -      -      -      -      -      -\n\
        #Date       Time        gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk  pviol  tviol     fb\n \
        20261130   08:51:19      0    251     45      -     96     41   3201   1905      0      1   1024\n 20261130   08:51\n";
    let log = parse(text, &mut Guard::default());
    let gpu = &log.samples.gpu;
    assert_eq!((gpu.len(), log.clock, gpu.t[0]), (3, Clock::Local, 1_796_028_678_000_000_000));
    assert_eq!(
        (gpu.number("util_gpu", 0), gpu.number("power_mw", 0), gpu.number("mem_used", 0)),
        (Some(97.0), Some(250_000.0), Some(1_073_741_824.0))
    );
    assert_eq!(
        (gpu.number("util_gpu", 1), gpu.number("gpu", 1), gpu.number("temp_c", 1)),
        (None, Some(1.0), Some(45.0))
    );
    assert_eq!(
        (gpu.number("throttle_reasons", 0), gpu.number("throttle_reasons", 2)),
        (Some(4.0), Some(32.0))
    );
    assert_eq!(log.notes.count(NoteCode::MalformedEvent), 1);
}

#[test]
fn queries_hold_any_columns_and_rows_of_nothing() {
    let text = "timestamp, uuid, clocks_event_reasons.active, utilization.gpu [%], memory.used [MiB], power.draw [W], pcie.link.width.current\n\
        2026/11/30 08:51:18.000, GPU-b, 0x0000000000000024, 3 %, 10 MiB, [N/A], 16\n\
        2026/11/30 08:51:18.001, GPU-a, [N/A], [N/A], [N/A], [N/A], [N/A]\n\
        2026/11/30 08:51:19.000, GPU-b, Not Active, 4 %, 11 MiB, 89.04 W, 16\n2026/11/30 08\n";
    let log = parse(text, &mut Guard::default());
    let gpu = &log.samples.gpu;
    assert_eq!(
        (gpu.len(), gpu.number("gpu", 0), gpu.number("gpu", 1), gpu.number("gpu", 2)),
        (3, Some(0.0), Some(1.0), Some(0.0))
    );
    assert_eq!(
        (gpu.number("throttle_reasons", 0), gpu.number("power_mw", 0), gpu.number("power_mw", 2)),
        (Some(36.0), None, Some(89_040.0))
    );
    assert!(
        ["util_gpu", "mem_used", "power_mw", "throttle_reasons"]
            .iter()
            .all(|column| gpu.number(column, 1).is_none())
    );
    assert_eq!((log.machine.cards[0].uuid.as_str(), log.machine.cards[1].uuid.as_str()), ("GPU-b", "GPU-a"));
    assert_eq!(log.notes.count(NoteCode::MalformedEvent), 1);
}

#[test]
fn german_commas_bare_numbers_and_semicolons() {
    let german = parse(
        "index, utilization.gpu [%], power.draw [W]\n0, 3 %, 89,04 W\n0, 5 %, 90,5 W\n",
        &mut Guard::default(),
    );
    assert_eq!(german.samples.gpu.number("power_mw", 0), Some(89_040.0));
    let bare = parse("index, utilization.gpu [%], memory.used [GiB]\n0, 3, 2\n", &mut Guard::default());
    assert_eq!(
        (bare.samples.gpu.number("util_gpu", 0), bare.samples.gpu.number("mem_used", 0)),
        (Some(3.0), Some(2_147_483_648.0))
    );
    let saved = parse("index;utilization.gpu [%];power.draw [W]\n0;3 %;89,04 W\n", &mut Guard::default());
    assert_eq!(saved.samples.gpu.number("power_mw", 0), Some(89_040.0));
}

#[test]
fn processes_find_their_card() {
    let text = "GPU 0: NVIDIA H200 (UUID: GPU-a)\nGPU 1: NVIDIA H200 (UUID: GPU-b)\n\
        gpu_uuid, pid, process_name, used_gpu_memory [MiB]\nGPU-b, 77, python3, 400 MiB\nGPU-b, 77, python3, 500 MiB\nGPU-b, 78, [N/A], [N/A]\n";
    let log = parse(text, &mut Guard::default());
    let card = &log.machine.cards[1];
    assert_eq!(
        (card.processes.len(), card.processes[0].memory, card.processes[1].memory),
        (2, Some(524_288_000), None)
    );
    let loose =
        parse("pid, process_name, used_gpu_memory [MiB]\n77, python3, 400 MiB\n", &mut Guard::default());
    assert_eq!(loose.machine.loose_processes.len(), 1);
}

#[test]
fn a_table_shows_processes_and_a_matrix_network_cards() {
    let table = "Mon Nov 30 08:51:18 2026       \n+---+\n| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |\n\
        |   0  NVIDIA A100-SXM4-80GB          On  |   00000000:07:00.0 Off |                    0 |\n\
        | N/A   32C    P0            320W /  400W |   70000MiB /  81920MiB |     97%      Default |\n\
        |                                         |                        |             Disabled |\n\
        | Processes:                                                                              |\n\
        |    0   N/A  N/A      1234      C   python train.py                            69990MiB |\n\
        |    0   N/A  N/A      1300      G   /usr/lib/xorg/Xorg                               4MiB |\n";
    let log = parse(table, &mut Guard::default());
    let card = &log.machine.cards[0];
    assert_eq!(
        (card.name.as_str(), card.util, card.power_w, card.limit_w),
        ("NVIDIA A100-SXM4-80GB", Some(97.0), Some(320.0), Some(400.0))
    );
    assert_eq!(
        (card.processes[0].name.as_str(), card.processes[0].memory, card.processes[1].computes),
        ("python train.py", Some(73_389_834_240), false)
    );
    assert_eq!((log.samples.gpu.len(), log.samples.gpu.number("util_gpu", 0)), (1, Some(97.0)));
    let topo = "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \tPHB\tNODE\t0-127\t0\t\tN/A\nGPU1\tPHB\t X \tNODE\t0-127\t0\t\tN/A\nNIC0\tNODE\tNODE\t X\n\nLegend:\n";
    let log = parse(topo, &mut Guard::default());
    assert_eq!(
        (log.machine.pairs.len(), log.machine.gpu_pairs().next().map(|pair| pair.joined)),
        (3, Some(Joined::Phb))
    );
}

#[test]
fn throttling_is_told_by_the_report() {
    let text = "==============NVSMI LOG==============\n\nTimestamp                    : Mon Nov 30 08:51:18 2026\nDriver Version               : 535.1\n\nGPU 00000000:00:06.0\n    Product Name             : NVIDIA H100\n    Clocks Throttle Reasons\n        SW Power Cap         : Active\n        HW Slowdown          : Active\n            HW Thermal Slowdown : Active\n    Processes\n        GPU instance ID      : N/A\n        Process ID           : 1234\n            Type             : C\n            Name             : python\n            Used GPU Memory  : 400 MiB\n";
    let log = parse(text, &mut Guard::default());
    let card = &log.machine.cards[0];
    assert_eq!(
        (card.throttle, card.processes[0].pid, card.processes[0].memory),
        (Some(0x4 | 0x8 | 0x40), 1234, Some(419_430_400))
    );
}
