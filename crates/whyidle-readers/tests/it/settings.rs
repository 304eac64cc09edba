//! Damaged files of settings: refused, or changed in the one place that was meant.

use whyidle_readers::settings::{Form, set, value};

use super::mutations::{Dice, damage};

const FILES: [(Form, &str); 3] = [
    (Form::Toml, "# a\n[data] # b\nnum_workers = 2 # c\nname = \"x\"\nlist = [1, 2, { a = 1 }]\n"),
    (
        Form::Yaml,
        "# ä\ndata:\n  num_workers: 2 # c\n  name: \"x\"\n  list: [1, 2, {a: 1}]\n  other: &a\n    - *a\n",
    ),
    (
        Form::Json,
        "{\"note\": \"a long text in which damage does no harm, since it is a text whatever stands there, and so on\",\n\
         \"data\": {\"num_workers\": 2, \"name\": \"x\", \"list\": [1, 2, {\"a\": 1}]},\n\
         \"more\": \"another long text in which damage does no harm, since it is a text whatever stands there\"}\n",
    ),
];

#[test]
fn damaged_settings_are_refused_or_changed_in_one_place() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for (form, text) in FILES {
        let mut changed = 0;
        for _ in 0..6_000 {
            let damaged = String::from_utf8_lossy(&damage(&mut dice, text.as_bytes())).into_owned();
            let Ok(new) = set(&damaged, form, "data.num_workers", "77") else { continue };
            changed += 1;
            assert_eq!(value(&new, form, "data.num_workers").as_deref(), Ok("77"), "{damaged}");
            let alike = damaged.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
            let alike_behind =
                damaged.bytes().rev().zip(new.bytes().rev()).take_while(|(a, b)| a == b).count();
            // What differs is one short piece.
            assert!(alike + alike_behind + 60 >= damaged.len(), "{form:?}\n{damaged}\n{new}");
        }
        assert!(changed > 150, "{form:?}: {changed}");
    }
}

#[test]
fn deep_and_long_settings_end() {
    for (form, open) in [(Form::Toml, "a = ["), (Form::Yaml, "["), (Form::Json, "[")] {
        let deep = format!("{open}{}", "[".repeat(20_000));
        assert!(set(&deep, form, "a", "1").is_err());
    }
    assert!(set(&"#\n".repeat(3 << 20), Form::Yaml, "a", "1").is_err());
}
