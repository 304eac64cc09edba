//! Damaged output of programs and damaged files of steps: read as far as they make sense, never more than there is.

use whyidle_readers::progress::{printed::Words, steps::Steps};

use super::mutations::{Dice, damage};

const STEPS: &[u8] = b"{\"schema\":\"whyidle.steps/1\",\"pid\":7,\"rank\":\"0\",\"torch\":\"2.11.0\"}\n\
    {\"i\":1,\"m\":100,\"u\":1795971809000000000,\"o\":0,\"b\":16,\"t\":16384}\n\
    {\"i\":2,\"m\":300,\"u\":1795971809100000000,\"o\":0,\"mem\":5,\"held\":6}\n{\"error\":\"E\",\"count\":1}\n";
const PRINTED: &[u8] = " 12%|█▏  | 120/1000 [00:12<01:30, 8.0it/s, loss=2.25]\n\
    iteration 100/ 500 | elapsed time per iteration (ms): 188.5 | lm loss: 1.03E+01 | tok/s 12345 |\n"
    .as_bytes();

#[test]
fn damaged_files_of_steps_are_read_as_far_as_they_make_sense() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut whole = 0;
    for _ in 0..6_000 {
        let bytes = damage(&mut dice, STEPS);
        let mut steps = Steps::default();
        bytes.chunks(50).for_each(|piece| steps.feed(piece));
        let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
        assert!(steps.steps.len() as u64 + steps.dropped <= lines);
        assert!(steps.steps.windows(2).all(|pair| pair[0].at <= pair[1].at));
        whole += u64::from(steps.steps.len() == 2);
    }
    assert!(whole > 1_000, "{whole}");
}

#[test]
fn damaged_output_says_nothing_that_is_no_figure() {
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let mut understood = 0;
    for _ in 0..6_000 {
        let bytes = damage(&mut dice, PRINTED);
        for line in String::from_utf8_lossy(&bytes).lines() {
            let said = Words::default().read(line);
            assert!(said.step.is_none_or(f64::is_finite) && said.step_ns.is_none_or(|ns| ns >= 0));
            understood += u64::from(said.loss.is_some());
        }
    }
    assert!(understood > 6_000, "{understood}");
}
