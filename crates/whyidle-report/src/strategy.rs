//! How a job is parallel, in words.

use fluent_bundle::FluentValue;
use serde_json::{Value, json};
use whyidle_diagnosis::Trait;

use crate::Catalog;

/// Id and figures of a fact, in the order of its entry's arguments.
fn parts(one: &Trait) -> (&'static str, Vec<(&'static str, u32)>) {
    match *one {
        Trait::DataParallel { forwards, reductions } => {
            ("data-parallel", vec![("forwards", forwards), ("count", reductions)])
        }
        Trait::NoSync => ("no-sync", Vec::new()),
        Trait::FindUnused => ("find-unused", Vec::new()),
        Trait::CopiedGradients { copies } => ("copied-gradients", vec![("count", copies)]),
        Trait::BroadcastBuffers { broadcasts } => ("broadcast-buffers", vec![("count", broadcasts)]),
        Trait::Sharded { generation, forward, backward } => (
            "sharded",
            vec![("generation", u32::from(generation)), ("forward", forward), ("backward", backward)],
        ),
        Trait::Zero => ("zero", Vec::new()),
        Trait::Replicated => ("replicated", Vec::new()),
        Trait::TensorParallel { reductions } => ("tensor-parallel", vec![("count", reductions)]),
        Trait::Pipeline => ("pipeline", Vec::new()),
        Trait::SyncedCollectives { times } => ("synced", vec![("count", times)]),
    }
}

/// A fact as a sentence.
pub(crate) fn text(catalog: &Catalog, one: &Trait) -> String {
    let (id, figures) = parts(one);
    let args: Vec<_> =
        figures.iter().map(|&(name, figure)| (name, FluentValue::from(f64::from(figure)))).collect();
    catalog.format(&format!("strategy-{id}"), &args)
}

/// A fact as JSON: its id, its figures, and the sentence.
pub(crate) fn json(catalog: &Catalog, one: &Trait) -> Value {
    let (id, figures) = parts(one);
    let figures: serde_json::Map<String, Value> =
        figures.into_iter().map(|(name, figure)| (name.to_owned(), json!(figure))).collect();
    json!({ "id": id, "figures": figures, "text": text(catalog, one) })
}
