//! Hangs, mismatches and rates, on dumps that are written down.

use super::testing::{Op, dump, op};
use super::*;

const BOTH: &[(&str, &[u32])] = &[("0", &[0, 1])];

fn waiting(op: Op<'_>) -> Op<'_> {
    Op { over: false, ..op }
}

#[test]
fn a_rank_that_never_came_is_named() {
    let both = [op(1, "all_reduce", 8, 10), op(2, "all_reduce", 16, 20)];
    let first = [&both[..], &[waiting(op(3, "all_reduce", 32, 30))]].concat();
    let facts = facts(&[dump(0, BOTH, &first), dump(1, BOTH, &both)], &[]);
    let hang = facts.hang.expect("a hang");
    assert_eq!(
        (hang.kind, &hang.guilty[..], &hang.waiting[..]),
        (HangKind::NeverEntered, &[1][..], &[0][..])
    );
    assert_eq!((hang.operation.seq, hang.operation.bytes), (3, Some(128)));
    assert_eq!((hang.last[0].seq, hang.last[0].rank), (2, 1));
    assert!(hang.may_be_under_way(), "no time and no timeout shows that it is stuck");
    assert_eq!(facts.groups[0].entered, [(1, 2), (0, 3)]);
}

#[test]
fn time_and_the_watchdog_make_it_a_hang() {
    let first = [op(1, "all_reduce", 8, 10), waiting(op(2, "all_reduce", 8, 1_000_000_000))];
    let mut dumps = [dump(0, BOTH, &first), dump(1, BOTH, &first[..1])];
    dumps[0].written = Some(13_000_000_000);
    let hang = facts(&dumps, &[]).hang.expect("a hang");
    assert_eq!((hang.waited, hang.may_be_under_way(), hang.timed_out), (Some(12_000_000_000), false, false));
    // The file was copied long after.
    dumps[0].written = Some(9_000_000_000_000_000);
    dumps[0].dump.entries.retired[1] = true;
    let hang = facts(&dumps, &[]).hang.expect("a hang");
    assert_eq!((hang.waited, hang.may_be_under_way(), hang.timed_out), (None, false, true));
}

#[test]
fn the_search_goes_on_with_whom_the_missing_rank_waits_for() {
    // 0 waits for 1 in the world; 1 waits for 2 in a pair; 2 waits for nobody.
    let world: &[(&str, &[u32])] = &[("0", &[0, 1, 2]), ("7", &[1, 2])];
    let done = op(1, "all_reduce", 8, 10);
    let pair = |over| Op { group: 1, seq: 1, name: "broadcast", size: 4, created: 20, over };
    let dumps = [
        dump(0, &world[..1], &[done, waiting(op(2, "all_reduce", 8, 30))]),
        dump(1, world, &[done, pair(false)]),
        dump(2, world, &[done]),
    ];
    let hang = facts(&dumps, &[]).hang.expect("a hang");
    assert_eq!((hang.kind, &hang.guilty[..]), (HangKind::NeverEntered, &[2][..]));
    assert_eq!(hang.waits.len(), 2);
}

#[test]
fn ranks_that_wait_for_each_other_are_a_circle() {
    let groups: &[(&str, &[u32])] = &[("0", &[0, 1]), ("1", &[0, 1])];
    let in_group = |group| Op { group, seq: 1, name: "all_reduce", size: 8, created: 10, over: false };
    let hang = facts(&[dump(0, groups, &[in_group(0)]), dump(1, groups, &[in_group(1)])], &[]).hang;
    let hang = hang.expect("a hang");
    assert_eq!((hang.kind, hang.guilty.len(), hang.waits.len()), (HangKind::Circle, 0, 2));
}

#[test]
fn all_in_the_same_operation_accuse_nobody() {
    let ops = [op(1, "all_reduce", 8, 10), waiting(op(2, "all_reduce", 8, 20))];
    let hang = facts(&[dump(0, BOTH, &ops), dump(1, BOTH, &ops)], &[]).hang.expect("a hang");
    assert_eq!((hang.kind, hang.waiting.len(), hang.guilty.len()), (HangKind::Together, 2, 0));
}

#[test]
fn what_does_not_match_is_found() {
    for (name, size, difference) in
        [("all_reduce", 9, Difference::Size), ("all_gather", 8, Difference::Operation)]
    {
        let mine = [op(1, "all_reduce", 8, 10), waiting(op(2, "all_reduce", 8, 20))];
        let theirs = [op(1, "all_reduce", 8, 10), waiting(op(2, name, size, 20))];
        let facts = facts(&[dump(0, BOTH, &mine), dump(1, BOTH, &theirs)], &[]);
        assert_eq!((facts.mismatches.len(), facts.mismatches[0].difference), (1, difference));
        let hang = facts.hang.expect("a hang");
        assert_eq!((hang.kind, &hang.guilty[..]), (HangKind::Mismatched, &[1][..]));
        assert_eq!(hang.operation.rank, 0);
    }
}

#[test]
fn a_message_that_is_never_sent_is_told() {
    let mine = [op(1, "recv 1<-0", 8, 10), waiting(op(2, "recv 1<-0", 8, 20))];
    let theirs = [op(1, "send 0->1", 8, 10)];
    let hang = facts(&[dump(4, &[("0", &[4, 6])], &theirs), dump(6, &[("0", &[4, 6])], &mine)], &[]).hang;
    let hang = hang.expect("a hang");
    assert_eq!((hang.kind, &hang.guilty[..], &hang.waiting[..]), (HangKind::NoMessage, &[4][..], &[6][..]));
    // The other side is there too: under way.
    let theirs = [op(1, "send 0->1", 8, 10), waiting(op(2, "send 0->1", 8, 20))];
    let facts = facts(&[dump(4, &[("0", &[4, 6])], &theirs), dump(6, &[("0", &[4, 6])], &mine)], &[]);
    assert_eq!(facts.hang, None);
}

#[test]
fn rings_of_different_length_are_compared_on_what_both_hold() {
    let ops: Vec<Op<'_>> = (1..=50).map(|seq| op(seq, "all_reduce", seq % 7, 10 * seq)).collect();
    let mut short = dump(1, BOTH, &ops[30..]);
    short.dump.entries.record.iter_mut().for_each(|record| *record += 30);
    let facts = facts(&[dump(0, BOTH, &ops[..45]), short], &[]);
    // The oldest of a ring that was overwritten may be a part.
    assert_eq!((facts.groups[0].span, facts.groups[0].matched), (Some((32, 45)), 14));
    assert_eq!((facts.mismatches.len(), facts.hang), (0, None));
}

#[test]
fn members_without_a_dump_are_named() {
    let ops = [op(1, "all_reduce", 8, 10)];
    let groups: &[(&str, &[u32])] = &[("0", &[0, 1, 2, 3])];
    let facts = facts(&[dump(0, groups, &ops), dump(2, groups, &ops)], &[]);
    assert_eq!(facts.groups[0].group.missing, [1, 3]);
}

/// Steps of four collectives and 100 µs each; rank 1 is 30 µs late.
fn steps(count: i64, late: i64) -> Vec<Op<'static>> {
    let of = |step: i64| {
        let at = 1_000 + 100_000 * step + late;
        [(8, 0), (16, 10), (16, 20), (32, 30)].map(|(size, after)| (size, at + after))
    };
    (0..count)
        .flat_map(of)
        .enumerate()
        .map(|(at, (size, created))| op(at as i64 + 1, "all_reduce", size, created))
        .collect()
}

#[test]
fn steps_and_lateness_are_measured() {
    let dumps = [dump(0, BOTH, &steps(50, 0)), dump(1, BOTH, &steps(50, 30_000))];
    let facts = facts(&dumps, &[]);
    for pace in &facts.paces {
        let Pace::Steps { operations, count, median, .. } = pace else { panic!("{pace:?}") };
        assert_eq!((*operations, *count, *median), (4, 49, 100_000));
    }
    let late = &facts.groups[0].lateness;
    assert_eq!((late[0].rank, late[0].median, late[0].last, late[0].steps), (1, 30_000, 50, 50));
    let whole = (0, 100_000 * 60);
    assert_eq!(pace(&dumps, &[whole]), [Pace::Profiled, Pace::Profiled]);
    let (Pace::Steps { count, .. }, _) = (&pace(&dumps, &[(0, 100_000 * 10)])[0], ()) else {
        panic!("steps")
    };
    assert_eq!(*count, 39);
}

#[test]
fn what_does_not_show_steps_is_said() {
    let of = |ops: &[Op<'_>]| pace(&[dump(0, BOTH, ops)], &[]).remove(0);
    assert_eq!(of(&steps(1, 0)), Pace::TooShort);
    let alike: Vec<Op<'_>> = (1..60).map(|seq| op(seq, "all_reduce", 8, 10 * seq)).collect();
    assert_eq!(of(&alike), Pace::Alike);
    let irregular: Vec<Op<'_>> = (1..60).map(|seq| op(seq, "all_reduce", seq * seq, 10 * seq)).collect();
    assert_eq!(of(&irregular), Pace::Irregular);
}

#[test]
fn durations_are_used_where_there_are_any() {
    let mut dumps = [dump(0, BOTH, &steps(5, 0)), dump(1, BOTH, &steps(5, 0))];
    assert_eq!(facts(&dumps, &[]).groups[0].transfers, []);
    dumps[0].dump.entries.duration.iter_mut().for_each(|duration| *duration = Some(900_000));
    dumps[1].dump.entries.duration.iter_mut().for_each(|duration| *duration = Some(200_000));
    let transfers = facts(&dumps, &[]).groups.remove(0).transfers;
    let of_16 = transfers.iter().find(|transfer| transfer.bytes == Some(64)).expect("that size");
    assert_eq!(
        (of_16.count, of_16.transfer, of_16.waiting, of_16.last),
        (10, 200_000, 700_000, Some((1, 10)))
    );
}

/// 4 096 ranks, forty collectives each; one of them never comes to the last.
#[test]
fn thousands_of_ranks_are_compared_in_seconds() {
    let ranks: Vec<u32> = (0..4096).collect();
    let groups: &[(&str, &[u32])] = &[("0", &ranks)];
    let mut ops = steps(10, 0);
    ops.push(waiting(op(41, "all_reduce", 8, 2_000_000)));
    let of = |rank: u32| dump(rank, groups, if rank == 1234 { &ops[..40] } else { &ops });
    let dumps: Vec<RankDump> = ranks.iter().map(|&rank| of(rank)).collect();
    let start = std::time::Instant::now();
    let facts = facts(&dumps, &[]);
    let hang = facts.hang.expect("a hang");
    assert_eq!(
        (hang.kind, &hang.guilty[..], hang.waiting.len()),
        (HangKind::NeverEntered, &[1234][..], 4095)
    );
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn a_damaged_dump_accuses_nobody() {
    let both = [op(1, "all_reduce", 8, 10), op(2, "all_reduce", 16, 20)];
    let first = [&both[..], &[waiting(op(3, "all_reduce", 32, 30))]].concat();
    let mut dumps = [dump(0, BOTH, &first), dump(1, BOTH, &both)];
    dumps[1].dump.notes.add(whyidle_model::NoteCode::Truncated, None);
    let facts = facts(&dumps, &[]);
    let hang = facts.hang.expect("a hang");
    assert_eq!((hang.kind, &hang.guilty[..], &hang.waiting[..]), (HangKind::Unexplained, &[][..], &[0][..]));
    assert_eq!((&facts.groups[0].damaged[..], &facts.groups[0].entered[..]), (&[1][..], &[(0, 3)][..]));
}

#[test]
fn dumps_of_another_day_are_of_another_run() {
    const MINUTE: i64 = 60_000_000_000;
    let at = |ns: i64| [op(1, "all_reduce", 8, ns), op(2, "all_reduce", 8, ns + 20)];
    let dumps = |ns| [dump(0, BOTH, &at(1)), dump(1, BOTH, &at(ns))];
    assert_eq!(apart(&dumps(MINUTE)), None);
    assert_eq!(apart(&dumps(3 * MINUTE)), Some(3 * MINUTE - 21));
}
