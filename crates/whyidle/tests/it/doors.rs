//! The doors of `fuzz/`: each is held to its corpus, and every reader and network face has one.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::root;
use damage::{Dice, damage};

#[path = "../../../whyidle-readers/tests/it/damage.rs"]
mod damage;
#[path = "../../../../fuzz/src/lib.rs"]
#[allow(unreachable_pub, dead_code, reason = "the crate for cargo-fuzz, as it is")]
mod fuzz;

/// Parts of the readers that take no bytes: how much may be read, errors, and what is written.
const NO_DOORS: [&str; 7] =
    ["budget.rs", "error.rs", "lib.rs", "limits.rs", "places.rs", "source.rs", "written.rs"];

/// Nothing of a corpus is large: it is opened at every test.
const LARGEST: u64 = 64 << 10;

fn corpus(door: &str) -> Vec<(String, Vec<u8>)> {
    let folder = root().join("fuzz/corpus").join(door);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), fs::read(path).unwrap())).collect()
}

#[test]
fn what_once_went_wrong_goes_well() {
    for door in fuzz::DOORS {
        let files = corpus(door.name);
        assert!(!files.is_empty(), "{} has nothing to begin with", door.name);
        for (name, bytes) in files {
            assert!(bytes.len() as u64 <= LARGEST, "{}/{name} is large", door.name);
            let start = Instant::now();
            (door.open)(&bytes);
            // A door that hangs would be found by nobody otherwise; libFuzzer calls a tenth of this slow.
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "{}/{name} takes {:?}",
                door.name,
                start.elapsed()
            );
        }
    }
}

/// Opens a door; whether it panics.
fn breaks(door: &fuzz::Door, bytes: &[u8]) -> bool {
    catch_unwind(AssertUnwindSafe(|| (door.open)(bytes))).is_err()
}

/// `WHYIDLE_DAMAGE` asks for more of it. What breaks a door is kept in the folder for tests' files, and named.
#[test]
fn damaged_corpora_are_let_in_or_refused() {
    let turns: usize =
        std::env::var("WHYIDLE_DAMAGE").ok().and_then(|turns| turns.parse().ok()).unwrap_or(12);
    let mut broken = Vec::new();
    for door in fuzz::DOORS {
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        let start = Instant::now();
        let mut opened = 0_usize;
        for (name, seed) in corpus(door.name) {
            for turn in 0..turns {
                let bytes = damage(&mut dice, &seed);
                opened += 1;
                if breaks(door, &bytes) {
                    let kept = format!("{}/{}-{name}-{turn}", env!("CARGO_TARGET_TMPDIR"), door.name);
                    fs::write(&kept, &bytes).unwrap();
                    broken.push(kept);
                    break;
                }
            }
        }
        println!("{}: {opened} in {:.1} s", door.name, start.elapsed().as_secs_f64());
    }
    assert_eq!(broken, [""; 0]);
}

#[test]
fn every_reader_and_every_network_face_has_a_door() {
    let crates = root().join("crates");
    let held: BTreeSet<&str> = fuzz::DOORS.iter().flat_map(|door| door.to).copied().collect();
    for path in &held {
        assert!(crates.join(path).exists(), "there is no {path}");
    }
    let mut missing = Vec::new();
    for entry in fs::read_dir(crates.join("whyidle-readers/src")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let path = format!("whyidle-readers/src/{name}");
        if !NO_DOORS.contains(&&*name) && !held.contains(&*path) {
            missing.push(path);
        }
    }
    for path in sources(&crates) {
        let text = fs::read_to_string(crates.join(&path)).unwrap();
        let is_face =
            ["TcpListener", "TcpStream", "UdpSocket", "UnixDatagram", "UnixListener", "UnixStream", "ureq::"]
                .iter()
                .any(|word| text.contains(word));
        let is_held = held.iter().any(|held| path.starts_with(held));
        if is_face && !is_held && !path.contains("/tests") {
            missing.push(path);
        }
    }
    assert_eq!(missing, [""; 0], "no door of fuzz/src/lib.rs leads there");
}

/// Sources of the crates, from `crates/` on.
fn sources(crates: &Path) -> Vec<String> {
    let mut folders: Vec<_> =
        fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path().join("src")).collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path.strip_prefix(crates).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    files.sort();
    files
}

#[test]
fn each_door_has_its_target_and_nothing_else_has() {
    let names: BTreeSet<String> = fuzz::DOORS.iter().map(|door| door.name.to_owned()).collect();
    let listed = |folder: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(root().join("fuzz").join(folder)).unwrap();
        entries
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .collect()
    };
    assert_eq!(listed("fuzz_targets"), names);
    assert_eq!(listed("corpus"), names);
    let cargo = fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
    for name in &names {
        let target = fs::read_to_string(root().join(format!("fuzz/fuzz_targets/{name}.rs"))).unwrap();
        assert!(target.contains(&format!("::{name}(bytes)")), "{name} opens another door");
        assert!(cargo.contains(&format!("\nname = \"{name}\"\n")), "{name} is not built");
    }
}
