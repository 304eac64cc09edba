//! What was recorded beside traces and samples – memory, single kernels, ranks – each as a page of its own below the
//! verdict, and what each file contributed.
//!
//! With a verdict the JSON is `whyidle.verdict/1` with a member `evidence`; without one, `whyidle.evidence/1`, whose
//! `evidence` is the same. `schema/whyidle.evidence-1.schema.json` describes it.

use serde_json::{Value, json};
use whyidle_diagnosis::{Message, Refusal, Verdict};
use whyidle_model::MachineFacts;

use crate::json::{self, text};
use crate::page::{self, Block};
use crate::{Catalog, MemoryReport, NcuReport, RanksReport, TextOptions, machine, memory, ncu, ranks};

const SCHEMA: &str = "whyidle.evidence/1";

/// What a file contributed, or why it contributed nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Contribution {
    /// The file, as given or found.
    pub path: String,
    /// What it is: `kineto`, `flight`, `memory-snapshot`, `ncu`, …
    pub kind: &'static str,
    /// Events, rows, sightings or facts in it, used or not.
    pub rows: u64,
    /// What of it was used.
    pub text: Message,
}

/// Everything that was read beside traces and samples.
#[derive(Clone, Debug, Default)]
pub struct EvidenceReport {
    /// Every file, in the order of the pages.
    pub contributions: Vec<Contribution>,
    /// What `nvidia-smi` says of the machine; none where nothing was said of it.
    pub machine: Option<MachineFacts>,
    /// Why logs carry no verdict, where they were the only evidence for one.
    pub why: Option<Message>,
    /// Kernels that Nsight Compute measured.
    pub kernels: Option<NcuReport>,
    /// Memory snapshots, and tables of `memory_summary()`.
    pub memory: Option<MemoryReport>,
    /// Flight recorders and NCCL's logs.
    pub ranks: Option<RanksReport>,
}

/// What traces and samples came to, where there are any.
#[derive(Clone, Copy, Debug)]
pub enum Reached<'a> {
    /// A verdict.
    Verdict(&'a Verdict),
    /// Why there is none.
    Refused(&'a Refusal),
}

impl EvidenceReport {
    /// There is no page of its own.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { machine, kernels, memory, ranks, .. } = self;
        machine.is_none() && kernels.is_none() && memory.is_none() && ranks.is_none()
    }

    fn pages(&self, catalog: &Catalog, verbose: bool) -> Vec<Vec<Block>> {
        let machine = self.machine.iter().map(|facts| machine::blocks(facts, self.why.as_ref(), catalog));
        let kernels = self.kernels.iter().map(|report| ncu::described::blocks(report, catalog, verbose));
        let memory = self.memory.iter().map(|report| memory::described::blocks(report, catalog, verbose));
        let ranks = self.ranks.iter().map(|report| ranks::described::blocks(report, catalog, verbose));
        machine.chain(kernels).chain(memory).chain(ranks).collect()
    }

    fn contributed(&self, catalog: &Catalog) -> Vec<Block> {
        // What a page shows of a single file needs no list.
        let files = self.contributions.len();
        if files == 0 || files == 1 && !self.is_empty() {
            return Vec::new();
        }
        let row = |given: &Contribution| {
            vec![given.path.clone(), String::new(), String::new(), catalog.message(&given.text)]
        };
        vec![
            Block::Title(catalog.word("evidence-title")),
            Block::Table(self.contributions.iter().map(row).collect()),
        ]
    }

    fn value(&self, catalog: &Catalog) -> Value {
        json!({
            "contributions": self.contributions.iter().map(|given| json!({
                "path": given.path,
                "kind": given.kind,
                "rows": given.rows,
                "text": text(catalog, &given.text),
            })).collect::<Vec<_>>(),
            "machine": self.machine.as_ref().map(|facts| machine::value(facts, catalog)),
            "why_no_verdict": self.why.as_ref().map(|why| text(catalog, why)),
            "kernels": self.kernels.as_ref().map(|report| ncu::json::value(report, catalog)),
            "memory": self.memory.as_ref().map(|report| memory::json::value(report, catalog)),
            "ranks": self.ranks.as_ref().map(|report| ranks::json::value(report, catalog)),
        })
    }
}

/// The verdict, the pages, and what each file contributed, as text.
#[must_use]
pub fn render_evidence_text(
    reached: Option<Reached<'_>>,
    evidence: &EvidenceReport,
    catalog: &Catalog,
    options: &TextOptions,
) -> String {
    let verdict = reached.map(|reached| match reached {
        Reached::Verdict(verdict) => crate::render_text(verdict, catalog, options),
        Reached::Refused(refusal) => crate::refusal_text(refusal, catalog, options),
    });
    let pages = evidence.pages(catalog, options.verbose).into_iter().chain([evidence.contributed(catalog)]);
    let pages = pages.filter(|blocks| !blocks.is_empty()).map(|blocks| page::set_text(&blocks, options));
    let rule = format!("\n{}\n\n", "─".repeat(options.canvas().width));
    verdict.into_iter().chain(pages).collect::<Vec<_>>().join(&rule)
}

/// As [`render_evidence_text`], as Markdown.
#[must_use]
pub fn render_evidence_markdown(
    reached: Option<Reached<'_>>,
    evidence: &EvidenceReport,
    catalog: &Catalog,
) -> String {
    let verdict = reached.map(|reached| match reached {
        Reached::Verdict(verdict) => crate::render_markdown(verdict, catalog),
        Reached::Refused(refusal) => crate::refusal_markdown(refusal, catalog),
    });
    let pages = evidence.pages(catalog, true).into_iter().chain([evidence.contributed(catalog)]);
    let pages = pages.filter(|blocks| !blocks.is_empty()).map(|blocks| page::set_markdown(&blocks));
    verdict.into_iter().chain(pages).collect::<Vec<_>>().join("\n---\n\n")
}

/// As [`render_evidence_text`], as JSON.
#[must_use]
pub fn render_evidence_json(
    reached: Option<Reached<'_>>,
    evidence: &EvidenceReport,
    catalog: &Catalog,
) -> String {
    let mut value = match reached {
        Some(Reached::Verdict(verdict)) => json::value(verdict, catalog),
        Some(Reached::Refused(refusal)) => json::refusal_value(refusal, catalog),
        None => json!({ "schema": SCHEMA, "tool": json::tool() }),
    };
    value["evidence"] = evidence.value(catalog);
    json::pretty(&value)
}
