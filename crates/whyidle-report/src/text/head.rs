//! What was looked at, and the sentence.

use super::{
    canvas::{Canvas, Role},
    wrap::packed,
};
use crate::Catalog;
use fluent_bundle::FluentValue;
use whyidle_diagnosis::{Subject, Verdict};

pub(super) fn write(canvas: &mut Canvas, catalog: &Catalog, verdict: &Verdict) {
    for (i, line) in packed(&subject(catalog, verdict), canvas.width - 2).iter().enumerate() {
        canvas.to(if i == 0 { 0 } else { 2 }).put(Role::Faint, line).end();
    }
    canvas.blank();
    canvas.to(2).flow(Role::Strong, &catalog.sentences(&verdict.ruling.sentence));
}

/// `NVIDIA H200`, `1 rank`, `torch 2.11`, `2 whole steps in the trace`.
pub(crate) fn subject(catalog: &Catalog, verdict: &Verdict) -> Vec<String> {
    let subject = &verdict.subject;
    let gpu =
        if verdict.working_share.is_nan() { catalog.word("report-no-gpu") } else { gpu(catalog, subject) };
    let mut parts = vec![gpu, ranks(catalog, subject)];
    for wanted in ["torch", "cuda"] {
        if let Some((name, version)) = subject.versions.iter().find(|(name, _)| name == wanted) {
            parts.push(format!("{name} {version}"));
        }
    }
    parts.push(catalog.steps_found(&verdict.step));
    parts
}

fn gpu(catalog: &Catalog, subject: &Subject) -> String {
    let name = subject.gpu.clone().unwrap_or_else(|| catalog.word("report-unnamed-gpu"));
    if subject.gpus > 1 { format!("{} × {name}", subject.gpus) } else { name }
}

fn ranks(catalog: &Catalog, subject: &Subject) -> String {
    let read = FluentValue::from(subject.ranks as f64);
    let mut text = match subject.world_size {
        Some(world) if world as usize > subject.ranks => catalog
            .format("report-ranks-of", &[("ranks", read), ("world", FluentValue::from(f64::from(world)))]),
        _ => catalog.format("report-ranks", &[("ranks", read)]),
    };
    if let Some(rank) = subject.rank_shown
        && subject.ranks > 1
    {
        let rank = [("rank", FluentValue::from(rank.to_string()))];
        text.push_str(&catalog.word("clause-comma"));
        text.push_str(&catalog.format("report-rank-shown", &rank));
    }
    text
}
