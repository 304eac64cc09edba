//! Strings are stored once in an export, and rows name them by number.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use whyidle_model::{Interner, NoteCode, Sym};

use super::build::Builder;
use super::database::{Database, End};

/// Longer text is no name: exports also keep files and logs here, bytes.
const LONGEST: usize = 1 << 16;

/// All strings by number.
pub(super) struct Texts(FxHashMap<i64, String>);

impl Texts {
    /// Reads `StringIds`.
    pub(super) fn read(database: &Database, builder: &mut Builder) -> Self {
        let mut texts = FxHashMap::default();
        let end = database.each("StringIds", ["id", "value"], |row| {
            let (Some(id), Some(bytes)) = (row.integer(0), row.text(1)) else { return };
            if bytes.len() <= LONGEST {
                texts.insert(id, builder.utf8(bytes).into_owned());
            }
        });
        builder.ended(end);
        Self(texts)
    }

    /// The string `id`.
    pub(super) fn get(&self, id: Option<i64>) -> Option<&str> {
        self.0.get(&id?).map(String::as_str)
    }
}

/// Symbols of the strings of one column, each looked up and put right once.
pub(super) struct Symbols<'t> {
    texts: &'t Texts,
    right: fn(&str) -> Cow<'_, str>,
    known: FxHashMap<i64, Sym>,
}

impl<'t> Symbols<'t> {
    /// Strings become names by `right`.
    pub(super) fn new(texts: &'t Texts, right: fn(&str) -> Cow<'_, str>) -> Self {
        Self { texts, right, known: FxHashMap::default() }
    }

    /// The symbol of the first of `ids` that names a string; [`Sym::EMPTY`] where none does.
    pub(super) fn first(&mut self, names: &mut Interner, ids: &[Option<i64>]) -> Sym {
        for &id in ids.iter().flatten() {
            if let Some(&sym) = self.known.get(&id) {
                return sym;
            }
            if let Some(text) = self.texts.get(Some(id)) {
                let sym = names.intern(&(self.right)(text));
                self.known.insert(id, sym);
                return sym;
            }
        }
        Sym::EMPTY
    }
}

/// Text that is shortened where it is too long to be a name.
pub(super) fn shortened(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(LONGEST)]
}

impl Builder {
    /// Bytes as text; what is no UTF-8 is replaced, and noted.
    pub(super) fn utf8<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, str> {
        let text = String::from_utf8_lossy(bytes);
        if matches!(text, Cow::Owned(_)) {
            self.note(NoteCode::NotUtf8);
        }
        text
    }

    /// Notes a table that could be read only in part.
    pub(super) fn ended(&mut self, end: End) {
        match end {
            End::Whole => {}
            End::Damaged => self.note(NoteCode::DamagedDatabase),
            End::OverBudget if self.trace.notes.count(NoteCode::OverBudget) > 0 => {}
            End::OverBudget => self.note(NoteCode::OverBudget),
        }
    }
}
