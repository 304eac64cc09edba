//! Answers of Prometheus: a real one, and ten thousand damaged ones.

use whyidle_readers::prometheus::{NoAnswer, read};

use super::mutations::{Dice, damage};

/// `sum by (job_id, user, waiting_for) (…)`, as the server wrote it.
const REAL: &[u8] = include_bytes!("../../testdata/prometheus/vector.json");
const REFUSED: &[u8] = include_bytes!("../../testdata/prometheus/refused.json");

#[test]
fn a_real_answer_is_read_whole() {
    let answer = read(REAL).expect("an answer");
    assert_eq!((answer.samples.len(), answer.unusable, answer.warnings.len()), (3, 0, 0));
    let first = &answer.samples[0];
    assert_eq!((first.label("job_id"), first.label("user")), ("4711", "ada"));
    assert!(first.value > 0.0 && first.at > 1_700_000_000_000_000_000);
    let refused = read(REFUSED);
    assert!(matches!(&refused, Err(NoAnswer::Refused { kind, .. }) if kind == "bad_data"), "{refused:?}");
}

#[test]
fn damaged_answers_are_read_or_refused() {
    let mut dice = Dice(0x51ed_270b_9f3c_a1d7);
    let (mut read_well, mut refused) = (0, 0);
    for turn in 0..10_000 {
        let bytes = damage(&mut dice, if turn % 8 == 0 { REFUSED } else { REAL });
        match read(&bytes) {
            Ok(answer) => {
                read_well += 1;
                assert!(answer.samples.iter().all(|sample| sample.value.is_finite()));
                let labels = answer.samples.iter().flat_map(|sample| &sample.labels);
                let text: usize = labels.map(|(name, value)| name.len() + value.len()).sum();
                // A character that may not be shown becomes one of three bytes.
                assert!(text <= 3 * bytes.len());
                assert!(answer.samples.iter().all(|sample| {
                    sample
                        .labels
                        .iter()
                        .all(|(name, value)| !(name.clone() + value).contains(char::is_control))
                }));
            }
            Err(_) => refused += 1,
        }
    }
    assert!(read_well > 500 && refused > 1_000, "{read_well} read, {refused} refused");
}
