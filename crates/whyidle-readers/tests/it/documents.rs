//! Documents in every form: all come out, reading goes on anywhere, and 5 000 damaged files of each form are read or
//! refused.

use std::fs;
use std::path::{Path, PathBuf};

use whyidle_model::{ImportNotes, NoteCode};
use whyidle_readers::ReadError;
use whyidle_readers::documents::{Documents, Field, Kind, Reading};

use super::mutations::{Dice, damage};

const FORMS: [(&str, Kind); 7] = [
    ("documents.jsonl", Kind::Json),
    ("documents.jsonl.gz", Kind::Json),
    ("documents.jsonl.zst", Kind::Json),
    ("documents.parquet", Kind::Parquet),
    ("documents_plain.parquet", Kind::Parquet),
    ("documents.feather", Kind::Arrow),
    ("documents.arrow", Kind::Arrow),
];

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn reading() -> Reading {
    Reading { field: Field::parse("text").expect("a name"), kind: None, whole: false }
}

/// What is read of a file.
struct Text {
    texts: Vec<String>,
    notes: ImportNotes,
    /// Each chunk's end, and how many texts came until then.
    places: Vec<(u64, usize)>,
}

/// All that is read on from `place`.
fn read(path: &Path, place: u64, size: usize) -> Result<Text, ReadError> {
    let mut documents = Documents::open(path, &reading())?;
    documents.skip_to(place)?;
    let (mut texts, mut notes, mut places) = (Vec::new(), ImportNotes::default(), Vec::new());
    while let Some(chunk) = documents.next(size)? {
        for note in chunk.notes.sorted() {
            notes.add_many(note.code, note.count, note.first_byte);
        }
        let each = chunk.each(&mut notes, |text| {
            texts.push(text.to_owned());
            Ok::<_, ()>(())
        });
        each.expect("taking a text does not fail");
        places.push((chunk.after, texts.len()));
    }
    Ok(Text { texts, notes, places })
}

#[test]
fn every_form_holds_the_same_and_is_gone_on_with_anywhere() -> Result<(), ReadError> {
    let wanted = read(&data("documents.jsonl"), 0, 1 << 20)?.texts;
    assert_eq!(wanted.len(), 15);
    assert_eq!((wanted[0].as_str(), wanted[14].as_str()), ("first document", "the last"));
    for (name, kind) in FORMS {
        let path = data(name);
        assert_eq!(Documents::open(&path, &reading())?.kind(), kind, "{name}");
        for size in [1, 30, 100, 1 << 20] {
            let Text { texts, notes, places } = read(&path, 0, size)?;
            assert_eq!(texts, wanted, "{name}");
            let counts = [NoteCode::NoText, NoteCode::EmptyDocument].map(|code| notes.count(code));
            assert_eq!((counts, notes.has_loss()), ([3, 3], true), "{name}");
            for (place, before) in places {
                assert_eq!(read(&path, place, size)?.texts, wanted[before..], "{name} from {place}");
            }
        }
    }
    Ok(())
}

#[test]
fn what_holds_no_documents_is_refused_with_its_name() {
    let dir = tempfile::tempdir().expect("a folder");
    let refused = |bytes: &[u8]| {
        let path = dir.path().join("file");
        fs::write(&path, bytes).expect("written");
        Documents::open(&path, &reading()).err().map(|error| error.id())
    };
    assert_eq!(refused(b""), Some("read-empty"));
    assert_eq!(refused(b" \n "), Some("read-empty"));
    assert_eq!(refused(b"[\n {\"text\": 1}]"), Some("read-not-documents"));
    assert_eq!(refused(b"PK\x03\x04...."), Some("read-not-documents"));
    assert_eq!(refused(b"a\0b"), Some("read-not-documents"));
    assert_eq!(refused(b"PAR1...."), Some("read-columns"));
    assert_eq!(refused(b"ARROW1\0\0...."), Some("read-columns"));
    assert_eq!(refused(b"\x1f\x8b\x08nonsense"), Some("read-columns"));
    assert_eq!(refused(b"\x28\xb5\x2f\xfdnonsense"), Some("read-columns"));
    assert_eq!(refused(b"[a list] of words is a text"), None);
    let mut other = reading();
    other.field = Field::parse("id").expect("a name");
    for name in ["documents.parquet", "documents.feather"] {
        let error = Documents::open(&data(name), &other).err().expect("numbers are no texts");
        assert_eq!(error.id(), "read-no-column", "{name}");
    }
}

#[test]
fn damaged_files_are_read_or_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("damaged");
    for (name, _) in FORMS {
        let seed = fs::read(data(name)).expect("it ships with the tests");
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        let (mut whole, mut refused, mut noted) = (0, 0, 0);
        for turn in 0..5_000 {
            let bytes = damage(&mut dice, &seed);
            fs::write(&path, &bytes).expect("written");
            match read(&path, if turn % 8 == 0 { 7 } else { 0 }, 64) {
                Ok(Text { texts, notes, .. }) => {
                    let size: usize = texts.iter().map(String::len).sum();
                    // A compressed file may repeat what it holds, but it is small.
                    assert!(size < 1 << 24, "{name}: {size} bytes");
                    if notes
                        .sorted()
                        .iter()
                        .any(|note| note.code != NoteCode::NoText && note.code != NoteCode::EmptyDocument)
                    {
                        noted += 1;
                    } else {
                        whole += 1;
                    }
                }
                Err(_) => refused += 1,
            }
        }
        assert!(noted + refused > 500, "{name}: {whole} whole, {noted} noted, {refused} refused");
    }
}
