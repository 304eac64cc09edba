//! Losses in files that real programs wrote, and damaged ones.

use std::fs;

use whyidle_readers::progress::losses::{Found, read};
use whyidle_readers::progress::printed::Words;

use super::mutations::{Dice, damage};

fn file(name: &str) -> Vec<u8> {
    fs::read(format!("{}/testdata/losses/{name}", env!("CARGO_MANIFEST_DIR"))).expect("the file")
}

fn found(bytes: &[u8], from: usize) -> Found {
    read(bytes, from, &Words::default()).expect("losses")
}

#[test]
fn scalars_of_tensorboard_are_read_in_both_their_forms() {
    let events = file("events_torch");
    let plain = found(&events, 0);
    assert_eq!((plain.name.as_str(), plain.dropped), ("train/loss", 0));
    let expected: Vec<(f64, f64)> =
        (0..12).map(|n| (f64::from(n) * 10.0, 2.5 - f64::from(n) / 8.0)).collect();
    assert_eq!(plain.points, expected);
    let tensors = found(&file("events_torch_tensor"), 0);
    assert_eq!((tensors.name.as_str(), tensors.points.len(), tensors.points[1]), ("loss", 6, (1.0, 0.5)));
    assert!(tensors.points[4].1.is_nan());
    let words = Words { loss: Some("val/loss".to_owned()), step: None };
    assert!(read(&events, 0, &words).expect("losses").points.iter().all(|(_, loss)| *loss == 9.0));
}

/// A file that grows: what is there is read, however far it has come, and what was there before does not count.
#[test]
fn a_file_of_events_is_read_as_far_as_it_is_written() {
    let events = file("events_torch");
    let mut most = 0;
    for end in 0..=events.len() {
        let points = read(&events[..end], 0, &Words::default()).map_or(0, |found| found.points.len());
        assert!(points >= most, "{end}");
        most = points;
    }
    assert_eq!(most, 12);
    let half = events.len() / 2;
    let later = found(&events, half).points.len();
    assert!(later > 0 && later < 12, "{later}");
    let twice = [&events[..], &events[..]].concat();
    assert_eq!(found(&twice, 0).points.len(), 12, "each step once");
}

#[test]
fn damaged_files_are_read_as_far_as_they_make_sense() {
    const JSON: &[u8] = b"{\"step\": 10, \"loss\": 2.5}\n{\"step\": 20, \"loss\": NaN}\n{\"log_history\": [{\"loss\": 1, \"step\": 3}]}\n";
    const TABLE: &[u8] = b"epoch,step,train_loss,val_loss\n0,49,2.5,\n0,99,,7.0\n0,99,\"1.5\",\n";
    let (events, tensors) = (file("events_torch"), file("events_torch_tensor"));
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for (seed, least) in [(&events[..], 6_000), (&tensors, 3_000), (JSON, 3_000), (TABLE, 3_000)] {
        let mut understood = 0;
        for turn in 0..6_000 {
            let bytes = damage(&mut dice, seed);
            let from = if turn % 3 == 0 { bytes.len() / 2 } else { 0 };
            let Some(found) = read(&bytes, from, &Words::default()) else { continue };
            assert!(!found.points.is_empty() && found.points.len() <= bytes.len());
            assert!(found.points.iter().all(|(step, _)| step.is_finite()));
            assert!(found.points.windows(2).all(|pair| pair[0].0 < pair[1].0));
            understood += 1;
        }
        assert!(understood > least / 3, "{understood}");
    }
}

/// Checksums made right again, so that damage reaches the fields.
#[test]
fn fields_that_make_no_sense_are_no_losses() {
    let seed = file("events_torch_tensor");
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let mut understood = 0;
    for _ in 0..6_000 {
        let mut bytes = Vec::new();
        let mut at = 0;
        while at + 12 <= seed.len() {
            let length = u64::from_le_bytes(seed[at..at + 8].try_into().expect("eight bytes")) as usize;
            let data = damage(&mut dice, &seed[at + 12..at + 12 + length]);
            let head = (data.len() as u64).to_le_bytes();
            bytes.extend([&head[..], &masked(&head), &data, &masked(&data)].concat());
            at += 12 + length + 4;
        }
        if let Some(found) = read(&bytes, 0, &Words::default()) {
            understood += 1;
            assert_eq!(found.dropped, 0);
            assert!(found.points.len() <= bytes.len() / 4);
        }
    }
    assert!(understood > 1_000, "{understood}");
}

/// CRC-32C bit by bit: another way than the reader's.
fn masked(bytes: &[u8]) -> [u8; 4] {
    let mut sum = !0_u32;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0x82f6_3b78 } else { sum >> 1 };
        }
    }
    (!sum).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}
