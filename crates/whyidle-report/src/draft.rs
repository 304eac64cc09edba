//! A page under way: its blocks in their order, and what pages of evidence say in the same way.

use whyidle_diagnosis::{Message, QualityNote};
use whyidle_model::Severity;

use crate::Catalog;
use crate::page::Block;
use crate::text::tail::quality_text;

/// Rows of a table before `-v` shows more.
const ROWS: usize = 8;

/// A page that is being made.
pub(crate) struct Draft<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) verbose: bool,
    /// Rows of a table even with `-v`; JSON holds all.
    most_rows: usize,
    blocks: Vec<Block>,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(catalog: &'a Catalog, verbose: bool, most_rows: usize) -> Self {
        Self { catalog, verbose, most_rows, blocks: Vec::new() }
    }

    /// The page as far as it has come.
    pub(crate) fn blocks(self) -> Vec<Block> {
        self.blocks
    }

    pub(crate) fn say(&self, message: &Message) -> String {
        self.catalog.message(message)
    }

    pub(crate) fn push(&mut self, block: Block) {
        self.blocks.push(block);
    }

    pub(crate) fn extend(&mut self, blocks: impl IntoIterator<Item = Block>) {
        self.blocks.extend(blocks);
    }

    /// The answer.
    pub(crate) fn answer(&mut self, said: &[Message]) {
        self.push(Block::Sentence(self.catalog.sentences(said)));
    }

    pub(crate) fn title(&mut self, id: &str) {
        self.push(Block::Title(self.catalog.word(id)));
    }

    pub(crate) fn note(&mut self, message: &Message) {
        self.push(Block::Note(self.say(message)));
    }

    /// The rows that fit; `more` says how many are left out.
    pub(crate) fn table(&mut self, mut rows: Vec<Vec<String>>, more: Message) {
        let most = if self.verbose { self.most_rows } else { ROWS };
        let left = rows.len().saturating_sub(most);
        rows.truncate(most);
        self.push(Block::Table(rows));
        if left > 0 {
            self.note(&more.count("count", left));
        }
    }

    /// What is wrong with the evidence, below a title of its own; what is no more than said of it only with `-v`.
    pub(crate) fn doubts(&mut self, title: &str, quality: &[QualityNote]) {
        let shown: Vec<Block> = quality
            .iter()
            .filter(|note| self.verbose || note.severity > Severity::Info)
            .map(|note| Block::Doubt(quality_text(self.catalog, note)))
            .collect();
        if !shown.is_empty() {
            self.title(title);
            self.extend(shown);
        }
    }
}
