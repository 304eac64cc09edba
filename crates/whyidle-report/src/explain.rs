//! The page of a cause, and the list of all causes.

use crate::{
    Catalog, TextOptions,
    catalog::key_of,
    text::{Canvas, Role},
};
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

/// The page of `cause`: what it is, how it is recognised, what to change, and the traps.
/// `None` for a cause that has no page.
#[must_use]
pub fn explain(cause: &str, catalog: &Catalog, options: &TextOptions) -> Option<String> {
    let cause = CAUSES.into_iter().find(|known| *known == cause)?;
    let entry = |part: &str| catalog.word(&format!("cause-{}-{part}", key_of(cause)));
    let mut canvas = options.canvas();
    canvas.put(Role::Faint, cause).put(Role::Plain, " · ").flow_to(Role::Strong, &entry("title"), 2);
    for (heading, part, itemised) in [
        ("report-page-what", "what", false),
        ("report-page-seen", "seen", false),
        ("report-page-remedy", "remedy", true),
        ("report-page-traps", "traps", true),
    ] {
        canvas.blank();
        canvas.put(Role::Strong, &catalog.word(heading)).end();
        for item in entry(part).lines() {
            canvas.to(2).put(Role::Faint, if itemised { "- " } else { "" }).flow(Role::Plain, item);
        }
        if part == "remedy" {
            write_gain(&mut canvas, catalog, cause);
        }
    }
    Some(canvas.finish())
}

/// How the gain of its remedy is predicted, and how to ask for it.
fn write_gain(canvas: &mut Canvas, catalog: &Catalog, cause: &str) {
    let lever = CURED.iter().find(|known| known.id == cause).and_then(|known| known.lever);
    let Some(lever) = lever else { return };
    canvas.blank();
    canvas.put(Role::Strong, &catalog.word("report-page-gain")).end();
    canvas.to(2).flow(Role::Plain, &catalog.word(&format!("gain-{}", key_of(cause))));
    let value = match lever.takes {
        Takes::Nothing => String::new(),
        Takes::Count(_) => "[=N]".to_owned(),
        Takes::OneOf(words) => format!("[={}]", words.join("|")),
        Takes::Name => "[=NAME]".to_owned(),
    };
    let command = format!("whyidle trace PATH --what-if {cause}{value}");
    let command = [("command", FluentValue::from(command))];
    canvas.to(2).flow(Role::Faint, &catalog.format("report-page-what-if", &command));
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
