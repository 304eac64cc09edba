//! Roles of processes that were met.

use super::read::is_wait_for_child;
use super::*;

fn process(pid: u32, ppid: u32, name: &str, command: &str, gpus: &[u32], cpu_s: f64) -> Member {
    let software = Software { is_python: true, has_torch: true, ..Software::default() };
    let command = command.split(' ').map(str::to_owned).collect();
    let environment = BTreeMap::new();
    let (gpu_files, name) = (gpus.to_vec(), name.to_owned());
    Member {
        pid,
        ppid,
        started: 0,
        name,
        command,
        software,
        gpu_files,
        environment,
        cpu_s,
        awaits_child: false,
        role: Role::Other,
    }
}

fn roles(members: Vec<Member>) -> Vec<(u32, &'static str)> {
    roles_shown(members, &Shown::default())
}

fn roles_shown(mut members: Vec<Member>, shown: &Shown) -> Vec<(u32, &'static str)> {
    members.sort_by_key(|member| member.pid);
    let mut tree = Tree { members };
    tree.assign_roles(shown);
    tree.members.iter().map(|member| (member.pid, member.role.id())).collect()
}

#[test]
fn loaders_inherit_their_drivers_files() {
    let found = roles(vec![
        process(1, 0, "python3", "python3 train.py", &[0], 40.0),
        process(2, 1, "pt_data_worker", "python3 train.py", &[0], 90.0),
        process(3, 1, "python3", "python3 train.py", &[0], 80.0),
        process(4, 1, "python3", "python3 -c from multiprocessing.resource_tracker import main", &[], 0.0),
    ]);
    assert_eq!(found, [(1, "driver"), (2, "worker"), (3, "worker"), (4, "other")]);
}

#[test]
fn a_launcher_drives_nothing() {
    let mut ranks = vec![
        process(1, 0, "torchrun", "python3 torchrun train.py", &[], 3.0),
        process(2, 1, "python3", "python3 train.py", &[0, 1], 9.0),
        process(3, 1, "python3", "python3 train.py", &[0, 1], 9.0),
        process(4, 3, "pt_data_worker", "python3 train.py", &[0, 1], 9.0),
    ];
    for (at, rank) in [(1, "0"), (2, "1"), (3, "1")] {
        ranks[at].environment.insert("RANK".to_owned(), rank.to_owned());
    }
    assert_eq!(roles(ranks), [(1, "launcher"), (2, "driver"), (3, "driver"), (4, "worker")]);
}

#[test]
fn a_fork_that_holds_the_gpu_drives_it() {
    let found = roles(vec![
        process(1, 0, "python3", "python3 train.py", &[], 3.0),
        process(2, 1, "python3", "python3 train.py", &[0], 9.0),
    ]);
    assert_eq!(found, [(1, "launcher"), (2, "driver")]);
    let without_gpu = roles(vec![
        process(1, 0, "python3", "python3 train.py", &[], 3.0),
        process(2, 1, "python3", "python3 train.py", &[], 9.0),
        process(3, 2, "pt_data_worker", "python3 train.py", &[], 20.0),
    ]);
    assert_eq!(without_gpu, [(1, "launcher"), (2, "driver"), (3, "worker")]);
    let mut prepared_long = vec![
        process(1, 0, "python3", "python3 train.py", &[], 90.0),
        process(2, 1, "python3", "python3 train.py", &[], 9.0),
    ];
    prepared_long[0].awaits_child = true;
    assert_eq!(roles(prepared_long), [(1, "launcher"), (2, "driver")]);
}

#[test]
fn a_fresh_fork_of_the_driver_is_no_driver_while_it_has_no_name_yet() {
    // The driver starts the thread that feeds its workers: its main thread waits for a lock.
    assert!(is_wait_for_child("do_wait") && is_wait_for_child("do_wait.constprop.0"));
    assert!(!is_wait_for_child("futex_do_wait") && !is_wait_for_child("do_wait_intr_irq"));
    let fresh = |cpu_s| {
        vec![
            process(1, 0, "python", "python train.py", &[], 3.0),
            process(2, 1, "python", "python train.py", &[], cpu_s),
            process(3, 1, "python", "python train.py", &[], cpu_s),
        ]
    };
    let wanted = [(1, "driver"), (2, "worker"), (3, "worker")];
    assert_eq!(roles(fresh(0.0)), wanted);
    // Loaders of older versions stay without a name, and work more than their driver.
    assert_eq!(roles(fresh(90.0)), wanted);
}

#[test]
fn what_stacks_have_shown_decides() {
    let family = |awaits_child| {
        let mut all = vec![
            process(1, 0, "python", "python train.py", &[], 3.0),
            process(2, 1, "python", "python train.py", &[], 9.0),
        ];
        all[0].awaits_child = awaits_child;
        all
    };
    let loads = Shown { loads: [(2, 0)].into(), ..Shown::default() };
    assert_eq!(roles_shown(family(true), &loads), [(1, "driver"), (2, "worker")]);
    let trains = Shown { trains: [(2, 0)].into(), ..Shown::default() };
    assert_eq!(roles_shown(family(false), &trains), [(1, "launcher"), (2, "driver")]);
    // The number may have gone to another process.
    let before = Shown { trains: [(2, 7)].into(), ..Shown::default() };
    assert_eq!(roles_shown(family(false), &before), [(1, "driver"), (2, "worker")]);
}

#[test]
fn two_ranks_on_one_card_are_two_drivers() {
    let found = roles(vec![
        process(1, 0, "bash", "bash run.sh", &[], 0.0),
        process(2, 1, "python3", "python3 a.py", &[0], 9.0),
        process(3, 1, "python3", "python3 b.py", &[0], 9.0),
    ]);
    assert_eq!(found[1..], [(2, "driver"), (3, "driver")]);
}
