//! What a setting is about, where its name tells: the order of a ladder, and whether it changes what a step holds.
//!
//! | kind | names |
//! |---|---|
//! | data | `…workers…`, `…prefetch…`, `pin_memory`, `…num_threads` |
//! | precision | `amp`, `bf16`, `fp16`, `tf32`, `…precision`, `…dtype`, `autocast`, `allow_tf32` |
//! | batch | `batch`, `bs`, `mbs`, `…batch_size`, `micro_batch` |
//! | kernels | `…compile…`, `fused`, `foreach`, `…attention…`, `attn_implementation`, `…flash…`, `cuda_graphs`, `channels_last`, `optim…` |
//! | communication | `…bucket…`, `nccl_…`, `…accumulat…`, `fsdp…`, `…sharding…`, `zero_stage`, `find_unused_parameters`, `static_graph` |
//!
//! Of a path or an option the last part is the name: `file:c.yaml:data.num_workers` and `--num-workers` are
//! `num_workers`.

use serde::{Deserialize, Serialize};

/// What a setting is about. The order is that of a ladder: a change further down shows little while one further up is
/// the limit, and precision frees the memory that a batch fills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// How data comes.
    Data,
    /// Which numbers are computed with.
    Precision,
    /// How many samples a step holds.
    Batch,
    /// How kernels are made and launched.
    Kernels,
    /// How ranks talk.
    Communication,
    /// The name does not tell.
    #[default]
    Other,
}

/// What the setting `name` is about.
#[must_use]
pub fn kind(name: &str) -> Kind {
    let last = name.rsplit([':', '.']).next().unwrap_or(name);
    let plain = last.trim_start_matches(['-', '+']).to_ascii_lowercase().replace('-', "_");
    let holds = |parts: &[&str]| parts.iter().any(|part| plain.contains(part));
    let is = |names: &[&str]| names.contains(&plain.as_str());
    let ends = |parts: &[&str]| parts.iter().any(|part| plain.ends_with(part));
    if holds(&["worker", "prefetch"]) || is(&["pin_memory"]) || ends(&["num_threads"]) {
        Kind::Data
    } else if is(&["amp", "bf16", "fp16", "tf32", "autocast", "allow_tf32"]) || ends(&["precision", "dtype"])
    {
        Kind::Precision
    } else if holds(&["bucket", "accumulat", "sharding"])
        || plain.starts_with("nccl_")
        || plain.starts_with("fsdp")
        || is(&["zero_stage", "find_unused_parameters", "static_graph"])
    {
        Kind::Communication
    } else if is(&["batch", "bs", "mbs", "micro_batch"]) || ends(&["batch_size"]) {
        Kind::Batch
    } else if holds(&["compile", "attention", "flash"])
        || is(&["fused", "foreach", "attn_implementation", "cuda_graphs", "channels_last"])
        || plain.starts_with("optim")
    {
        Kind::Kernels
    } else {
        Kind::Other
    }
}

/// Counts that begin at none: workers.
#[must_use]
pub fn begins_at_none(name: &str) -> bool {
    name.to_ascii_lowercase().contains("worker")
}

/// The order in which to try settings of these kinds, as positions: those whose kind is known change places among
/// themselves, others stay where they are.
#[must_use]
pub fn order(kinds: &[Kind]) -> Vec<usize> {
    let is_known = |at: &usize| kinds[*at] != Kind::Other;
    let mut sorted: Vec<usize> = (0..kinds.len()).filter(is_known).collect();
    sorted.sort_by_key(|at| kinds[*at]);
    let mut sorted = sorted.into_iter();
    (0..kinds.len()).map(|at| if is_known(&at) { sorted.next().unwrap_or(at) } else { at }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_they_are_about() {
        for (name, expected) in [
            ("num_workers", Kind::Data),
            ("--dataloader-num-workers", Kind::Data),
            ("file:c.yaml:data.prefetch_factor", Kind::Data),
            ("env:OMP_NUM_THREADS", Kind::Data),
            ("--bf16", Kind::Precision),
            ("trainer.precision", Kind::Precision),
            ("per_device_train_batch_size", Kind::Batch),
            ("--torch-compile", Kind::Kernels),
            ("env:NCCL_ALGO", Kind::Communication),
            ("gradient_accumulation_steps", Kind::Communication),
            ("lr", Kind::Other),
            ("", Kind::Other),
        ] {
            assert_eq!(kind(name), expected, "{name}");
        }
    }

    #[test]
    fn what_is_known_is_sorted_and_the_rest_stays() {
        let (data, other, talk) = (Kind::Data, Kind::Other, Kind::Communication);
        assert_eq!(order(&[talk, other, data]), [2, 1, 0]);
        assert_eq!(order(&[other, other]), [0, 1]);
        assert_eq!(order(&[Kind::Kernels, Kind::Batch, Kind::Precision]), [2, 1, 0]);
        assert_eq!(order(&[]), Vec::<usize>::new());
    }
}
