//! What each figure of a page counts: the notes at its end, which the figures link to.

use super::both::{Both, Tongues};

/// A definition; `id` is what links point to.
pub(crate) struct Definition {
    pub(crate) id: &'static str,
    pub(crate) term: Both,
    pub(crate) text: Both,
}

/// Name of the anchor, entry of the term, entry of its definition.
const ENTRIES: [(&str, &str, &str); 17] = [
    ("step", "html-term-step", "html-def-step"),
    ("basis", "html-term-basis", "html-def-basis"),
    ("interval", "html-term-interval", "html-def-interval"),
    ("working", "html-term-working", "html-def-working"),
    ("resident", "html-term-resident", "html-def-resident"),
    ("ledger", "html-term-ledger", "html-def-ledger"),
    ("share", "html-term-share", "html-def-share"),
    ("traced", "html-term-traced", "html-def-traced"),
    ("waiting", "html-term-waiting", "html-def-waiting"),
    ("rest", "html-term-rest", "html-def-rest"),
    ("cost", "html-term-cost", "html-def-cost"),
    ("after", "html-term-after", "html-def-after"),
    ("method", "html-term-method", "html-def-method"),
    ("confidence", "html-term-confidence", "html-def-confidence"),
    ("replay", "html-term-replay", "html-def-replay"),
    ("ranks", "html-term-ranks", "html-def-ranks"),
    ("signals", "html-term-signals", "html-def-signals"),
];

pub(crate) fn definitions(t: &Tongues<'_>) -> Vec<Definition> {
    ENTRIES
        .into_iter()
        .map(|(id, term, text)| Definition { id, term: t.word(term), text: t.word(text) })
        .collect()
}
