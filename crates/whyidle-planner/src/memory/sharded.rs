//! The moments where parameters are shared out and gathered unit by unit: FSDP2, ZeRO-3.
//!
//! A unit is a layer; embedding, final norm and head form the root unit. A large root unit, not the
//! layers, often sets the peak: its reduce-scatter holds the unsharded gradient, the shard, the fp32
//! shard, and the gradient of its last parameter, which a loop variable keeps alive.

use super::moments::{Facts, inputs, items};
use super::states::{Local, optimizer_bytes, widths};
use super::{Moment, MomentId};
use crate::setup::{Offload, Precision, Setup, Sharding};

pub(super) fn moments(setup: &Setup, local: &Local, facts: &Facts) -> Vec<Moment> {
    let n = setup.parallel.data as f64;
    let z = &facts.z;
    // Bytes of a gathered element and of a shard's: fp32 shards, 16-bit gathered with `Mixed`.
    let gathered = widths(setup.precision).0;
    let shard = if setup.precision == Precision::Pure16 { 2.0 } else { 4.0 };
    let trained = local.trained(setup);
    let offload = setup.offload;
    let weights = if offload == Offload::All { 0.0 } else { shard * local.all / n };
    let optimizer = if offload == Offload::None { optimizer_bytes(setup, local) / n } else { 0.0 };
    let gradients = if offload == Offload::All { 0.0 } else { shard * trained / n };
    let resident = if setup.micro_batches > 1 { gradients } else { 0.0 };
    let kept = facts.loss.kept * facts.logits;
    let workspace = facts.base.iter().find(|item| item.id == "workspace").map_or(0.0, |item| item.bytes);
    let base = items(&[
        ("weights", weights),
        ("optimizer", optimizer),
        ("gradients", resident),
        ("workspace", workspace),
        ("inputs", inputs(setup)),
    ]);
    let keep = setup.parallel.sharding == Sharding::KeepGathered;
    let recomputes = Facts::recomputes(setup);
    let again = if recomputes { facts.one.total() } else { 0.0 };
    let root = gathered * local.root;
    let unit = gathered * local.one_layer;
    let whole = if keep { gathered * local.layers } else { 0.0 };
    // At the loss: the root unit, and the last layer, which is not dropped just to be gathered again.
    let top = root + if keep { whole } else { unit };
    let forward = facts.loss.forward * facts.logits + facts.fused_loss(setup);
    let backward = facts.loss.backward * facts.logits + facts.fused_loss(setup);
    let (mlp, _) = facts.transients(setup, local);
    // Near the top of backward: gathered units (the next one is prefetched: flat buffer and copy), the
    // gradients of two units, and the shard of one.
    let (held, saved) = if keep {
        (root + whole - unit, facts.layers - facts.one.total() * f64::from(u8::from(!recomputes)))
    } else {
        (root + 3.0 * unit, facts.layers)
    };
    let in_flight = if setup.lora.is_some() { 0.0 } else { 2.0 * unit + shard * local.one_layer / n };
    let output = gathered * local.output;
    let fresh = if resident > 0.0 { 0.0 } else { 1.0 };
    let scatter = if setup.lora.is_some() {
        0.0
    } else {
        root + root / n + shard * local.root / n + output.max(gathered * local.root - output).min(output)
    };
    let table: [(MomentId, Vec<(&'static str, f64)>); 6] = [
        (
            MomentId::LossForward,
            vec![("gathered", top), ("activations", facts.layers), ("ends", facts.ends), ("loss", forward)],
        ),
        (
            MomentId::LossBackward,
            vec![("gathered", top), ("activations", facts.layers), ("ends", facts.ends), ("loss", backward)],
        ),
        (
            MomentId::HeadBackward,
            vec![
                ("gathered", root + whole),
                ("activations", facts.layers),
                ("loss", kept),
                ("unsharded-gradients", output),
                ("transient", 8.0 * z.n * z.d),
            ],
        ),
        (
            MomentId::LayerBackward,
            vec![
                ("gathered", held),
                ("activations", saved),
                ("recomputed", again),
                ("loss", kept),
                ("unsharded-gradients", output + in_flight),
                ("transient", if keep { 0.0 } else { mlp }),
            ],
        ),
        (
            MomentId::BackwardEnd,
            vec![
                ("loss", kept),
                ("new-gradients", fresh * shard * (trained - local.root).max(0.0) / n),
                ("unsharded-gradients", scatter),
            ],
        ),
        (
            MomentId::Optimizer,
            vec![
                ("loss", kept),
                ("new-gradients", fresh * gradients),
                ("optimizer-temporary", facts.temporary / n),
            ],
        ),
    ];
    table
        .into_iter()
        .map(|(id, own)| {
            let mut all = base.clone();
            all.extend(items(&own));
            Moment { id, items: all }
        })
        .collect()
}
