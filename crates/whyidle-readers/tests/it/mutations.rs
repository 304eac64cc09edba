//! Ten thousand damaged traces: none may panic, hang, or take more memory than it should.

use std::time::{Duration, Instant};

pub(super) use super::damage::{Dice, damage};
use super::{CURRENT, LIST, OF_2021, read};

#[test]
fn damaged_traces_are_read_or_refused() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let start = Instant::now();
    let (mut read_well, mut refused) = (0, 0);
    // The long seed is worth fewer turns: it is as many events again each time.
    let seeds = [LIST, OF_2021, LIST, OF_2021, LIST, OF_2021, LIST, OF_2021, CURRENT];
    for turn in 0..12_000 {
        let seed = seeds[turn % seeds.len()];
        let bytes = damage(&mut dice, seed);
        let before = Instant::now();
        match read(&bytes) {
            Ok(trace) => {
                read_well += 1;
                let rows = trace.host.len() + trace.gpu.len() + trace.syncs.len() + trace.memory.time.len();
                assert!(rows as u64 <= trace.events && trace.events <= bytes.len() as u64);
                let text: usize = trace.names.map(str::len).iter().sum();
                // A byte that is no UTF-8 takes three.
                assert!(text <= 3 * bytes.len());
            }
            Err(error) => {
                refused += 1;
                assert!(!error.args().is_empty());
            }
        }
        assert!(before.elapsed() < Duration::from_secs(5), "turn {turn} hangs");
    }
    assert!(
        read_well > 6_000 && refused > 100,
        "{read_well} read, {refused} refused in {:?}",
        start.elapsed()
    );
}
