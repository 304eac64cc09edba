//! The page of a cause, and the list of all causes.

use crate::{Catalog, TextOptions, catalog::key_of, text::Role};
use fluent_bundle::FluentValue;
use unicode_width::UnicodeWidthStr;
use whyidle_diagnosis::{CAUSES as CURED, Takes};

/// Every cause that has a page, in the order of the list.
pub const CAUSES: [&str; 37] = [
    "data.in_process",
    "data.workers",
    "data.storage",
    "data.transfer",
    "host.launch",
    "host.sync",
    "host.python",
    "host.gc",
    "host.optimizer",
    "host.contention",
    "host.gil",
    "memory.allocator",
    "memory.recompute",
    "memory.headroom",
    "memory.offload",
    "compile.recompile",
    "io.checkpoint",
    "io.logging",
    "compute.bound",
    "compute.precision",
    "compute.attention",
    "compute.elementwise",
    "compute.alignment",
    "compute.padding",
    "comm.exposed",
    "comm.unbucketed",
    "comm.accumulation",
    "comm.sharding",
    "comm.link",
    "comm.unsplit",
    "rank.straggler",
    "pipeline.bubble",
    "gpu.shared",
    "run.startup",
    "run.epoch",
    "run.eval",
    "run.checkpoint",
];

/// The page of a cause before it is set: [`explain`] sets it as text, the book in `docs/` as Markdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CausePage {
    /// Its id.
    pub id: &'static str,
    /// What the GPU waits for, as a sentence.
    pub title: String,
    /// What it is, how it is recognised, what to change, how the gain is predicted, the traps.
    pub sections: Vec<PageSection>,
}

/// A part of the page of a cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageSection {
    /// Its heading.
    pub heading: String,
    /// Whether what is said is a list.
    pub itemised: bool,
    /// What is said: paragraphs, or items.
    pub said: Vec<String>,
    /// The command that asks for the gain, with the words before it; below everything else.
    pub ask: Option<String>,
}

/// The page of `cause`. `None` for a cause that has none.
#[must_use]
pub fn cause_page(cause: &str, catalog: &Catalog) -> Option<CausePage> {
    let id = CAUSES.into_iter().find(|known| *known == cause)?;
    let entry = |part: &str| catalog.word(&format!("cause-{}-{part}", key_of(id)));
    let section = |heading: &str, part: &str, itemised: bool| PageSection {
        heading: catalog.word(heading),
        itemised,
        said: entry(part).lines().map(str::to_owned).collect(),
        ask: None,
    };
    let mut sections = vec![
        section("report-page-what", "what", false),
        section("report-page-seen", "seen", false),
        section("report-page-remedy", "remedy", true),
    ];
    sections.extend(gain(id, catalog));
    sections.push(section("report-page-traps", "traps", true));
    Some(CausePage { id, title: entry("title"), sections })
}

/// How the gain of its remedy is predicted, and how to ask for it.
fn gain(cause: &str, catalog: &Catalog) -> Option<PageSection> {
    let lever = CURED.iter().find(|known| known.id == cause).and_then(|known| known.lever)?;
    let value = match lever.takes {
        Takes::Nothing => String::new(),
        Takes::Count(_) => "[=N]".to_owned(),
        Takes::OneOf(words) => format!("[={}]", words.join("|")),
        Takes::Name => "[=NAME]".to_owned(),
    };
    let command = format!("whyidle trace PATH --what-if {cause}{value}");
    let command = [("command", FluentValue::from(command))];
    Some(PageSection {
        heading: catalog.word("report-page-gain"),
        itemised: false,
        said: vec![catalog.word(&format!("gain-{}", key_of(cause)))],
        ask: Some(catalog.format("report-page-what-if", &command)),
    })
}

/// The page of `cause` as text. `None` for a cause that has none.
#[must_use]
pub fn explain(cause: &str, catalog: &Catalog, options: &TextOptions) -> Option<String> {
    let page = cause_page(cause, catalog)?;
    let mut canvas = options.canvas();
    canvas.put(Role::Faint, page.id).put(Role::Plain, " · ").flow_to(Role::Strong, &page.title, 2);
    for section in &page.sections {
        canvas.blank();
        canvas.put(Role::Strong, &section.heading).end();
        for said in &section.said {
            canvas.to(2).put(Role::Faint, if section.itemised { "- " } else { "" }).flow(Role::Plain, said);
        }
        if let Some(ask) = &section.ask {
            canvas.to(2).flow(Role::Faint, ask);
        }
    }
    Some(canvas.finish())
}

/// Every cause with its name.
#[must_use]
pub fn list_causes(catalog: &Catalog, options: &TextOptions) -> String {
    let mut canvas = options.canvas();
    let widest = CAUSES.iter().map(|cause| cause.width()).max().unwrap_or(0);
    for cause in CAUSES {
        canvas.put(Role::Strong, cause).to(widest + 2).flow(Role::Plain, &catalog.cause(cause));
    }
    canvas.finish()
}
