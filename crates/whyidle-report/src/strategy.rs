//! How a job is parallel, in words.

use fluent_bundle::FluentValue;
use serde_json::{Value, json};
use whyidle_diagnosis::Trait;

use crate::Catalog;

/// Entry and figures of a fact, in the order of the entry's arguments.
fn parts(one: &Trait) -> (&'static str, Vec<(&'static str, u32)>) {
    match *one {
        Trait::DataParallel { forwards, reductions } => {
            ("strategy-data-parallel", vec![("forwards", forwards), ("count", reductions)])
        }
        Trait::NoSync => ("strategy-no-sync", Vec::new()),
        Trait::FindUnused => ("strategy-find-unused", Vec::new()),
        Trait::CopiedGradients { copies } => ("strategy-copied-gradients", vec![("count", copies)]),
        Trait::BroadcastBuffers { broadcasts } => ("strategy-broadcast-buffers", vec![("count", broadcasts)]),
        Trait::Sharded { generation, forward, backward } => (
            "strategy-sharded",
            vec![("generation", u32::from(generation)), ("forward", forward), ("backward", backward)],
        ),
        Trait::Zero => ("strategy-zero", Vec::new()),
        Trait::Replicated => ("strategy-replicated", Vec::new()),
        Trait::TensorParallel { reductions } => ("strategy-tensor-parallel", vec![("count", reductions)]),
        Trait::Pipeline => ("strategy-pipeline", Vec::new()),
        Trait::SyncedCollectives { times } => ("strategy-synced", vec![("count", times)]),
    }
}

/// A fact as a sentence.
pub(crate) fn text(catalog: &Catalog, one: &Trait) -> String {
    let (id, figures) = parts(one);
    let args: Vec<_> =
        figures.iter().map(|&(name, figure)| (name, FluentValue::from(f64::from(figure)))).collect();
    catalog.format(id, &args)
}

/// A fact as every text is in JSON: worded, with its message and arguments.
pub(crate) fn json(catalog: &Catalog, one: &Trait) -> Value {
    let (key, figures) = parts(one);
    let args: serde_json::Map<String, Value> =
        figures.into_iter().map(|(name, figure)| (name.to_owned(), json!({ "count": figure }))).collect();
    json!({ "text": text(catalog, one), "msg": key, "args": args })
}
