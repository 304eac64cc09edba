//! Matrix products off the tensor-core grid, padded.
//!
//! Tensor cores load 16 bytes at a time along a row. A side that is no multiple of that (8 elements
//! of 16 bits) takes kernels that load element by element (`align1`), several times slower; whole
//! tiles are 64 or 128 wide ("Matrix multiplication background user's guide", NVIDIA, §4). A product
//! counts only if it is also slow for its FLOPs: many odd sides cost nothing.

use whyidle_analysis::facts::Facts;
use whyidle_analysis::operators::MatmulShape;
use whyidle_analysis::shapes::DType;
use whyidle_model::Trace;

use super::context::Launched;
use super::evidence::{Fact, Gather};
use super::roof::grid;
use super::{Change, Context, KernelChange, Spread};

/// Width of a tile: what sides are padded to.
const TILE: u64 = 64;
/// Slow for a side off the 16-byte grid: the padded product would take less than this share.
const SLOW_OFF_GRID: f64 = 0.75;
/// Slow for a side on that grid but off the tile's.
const SLOW_OFF_TILE: f64 = 0.5;
/// Only large products show what a tile costs; small ones are slow for other reasons. FLOPs.
const LARGE_FLOPS: f64 = 2e9;

/// Padded products run at 80–125 % of the rate of the others.
const SPREAD: Spread = Spread { less: 0.80, more: 1.25 };

/// The change that padding brings; `None` if no product is both odd and slow.
#[must_use]
pub fn alignment(trace: &Trace, facts: &Facts, context: &Context) -> Option<KernelChange> {
    let mut change = Change::default();
    let mut gather = Gather::new(trace, facts, context);
    let mut worst: Option<(i64, u64, u64)> = None;
    let mut possible = None;
    for (at, launched) in context.launched.iter().enumerate() {
        let Some(kind) = context.kind(launched).filter(|_| launched.total_ns > 0) else { continue };
        let (Some(shape), Some(dtype)) = (kind.matmul, kind.dtype) else { continue };
        let Some(rate) = rate(context, dtype) else { continue };
        let Some((padded, side, to)) = padded(shape, dtype) else { continue };
        let growth = padded.flops() / shape.flops();
        let ideal = context.roof.matmul_ns(padded, kind.bytes() * growth, rate);
        let factor = ideal / launched.total_ns as f64;
        let off_grid = side % grid(dtype) != 0;
        let large = kind.flops >= LARGE_FLOPS;
        let slow = match loads(trace, launched, dtype) {
            // It loads less than 16 bytes at a time: a side that matters is odd.
            Some(false) => factor < SLOW_OFF_GRID,
            // It loads 16 bytes: what is odd does not matter, or only for the tiles.
            Some(true) => factor < SLOW_OFF_TILE && large && !off_grid,
            None => large && factor < if off_grid { SLOW_OFF_GRID } else { SLOW_OFF_TILE },
        };
        if !slow {
            continue;
        }
        for &id in &launched.activities {
            change.scale(id, factor, SPREAD);
        }
        gather.launched(at);
        possible = Some(rate);
        if worst.is_none_or(|(ns, _, _)| launched.total_ns > ns) {
            worst = Some((launched.total_ns, side, to));
        }
    }
    let mut evidence = gather.finish();
    evidence.possible = possible;
    if let Some((_, side, to)) = worst {
        evidence.facts = vec![(Fact::Side, side as f64), (Fact::PaddedSide, to as f64)];
    }
    change.finish(
        context,
        false,
        evidence,
        "FLOPs of the padded product at the rate of large products on the grid",
    )
}

/// Rate to hold a product against. In fp32 the grid matters only where TF32 is in use.
fn rate(context: &Context, dtype: DType) -> Option<f64> {
    match dtype {
        DType::BF16 | DType::F16 | DType::F8 => context.roof.matmul(dtype),
        DType::F32 => {
            let seen = context.roof.seen(dtype)?;
            (seen > context.roof.peak(dtype)?).then_some(seen)
        }
        _ => None,
    }
}

/// Whether the kernel loads 16 bytes at a time, by its name: CUTLASS names the elements that operands
/// are aligned to (`…_align8`, in older cuBLAS `…_aligna4_alignc4`). `None` if the name does not say.
fn loads(trace: &Trace, launched: &Launched, dtype: DType) -> Option<bool> {
    let names = launched.activities.iter().map(|&id| trace.names.get(trace.gpu.name[id.index()]));
    names.filter_map(aligned_elements).min().map(|elements| elements >= grid(dtype))
}

/// The least number of elements that follows `align` in a kernel's name.
fn aligned_elements(name: &str) -> Option<u64> {
    let after = name.split("_align").skip(1).filter_map(|rest| {
        let digits = rest.trim_start_matches(['a', 'b', 'c', 'n', 'e', 'd', '_']);
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse().ok()
    });
    after.min()
}

/// The product with its odd sides padded, the worst of them, and what it becomes; `None` if all fit.
/// A side below a tile is padded to the 16-byte grid only.
fn padded(shape: MatmulShape, dtype: DType) -> Option<(MatmulShape, u64, u64)> {
    let grid = grid(dtype);
    let pad =
        |side: u64| side.checked_next_multiple_of(if side < TILE { grid } else { TILE }).unwrap_or(side);
    let new = MatmulShape { m: pad(shape.m), n: pad(shape.n), k: pad(shape.k), ..shape };
    let sides = [(shape.n, new.n), (shape.k, new.k), (shape.m, new.m)];
    let odd = sides.iter().find(|(side, _)| side % grid != 0);
    let worst = odd.or_else(|| sides.iter().find(|(side, to)| side != to))?;
    Some((new, worst.0, worst.1))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{BF16_2, Program};
    use super::*;

    #[test]
    fn kernels_say_what_they_are_aligned_to() {
        assert_eq!(
            aligned_elements("cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1>(x)"),
            Some(1)
        );
        assert_eq!(
            aligned_elements("cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_tn_align8>"),
            Some(8)
        );
        assert_eq!(aligned_elements("sm80_xmma_gemm_f32f32_tn_n_ffma_aligna4_alignc4_execute"), Some(4));
        assert_eq!(aligned_elements("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"), None);
    }

    #[test]
    fn sides_are_padded_to_the_grid_they_miss() {
        let shape = |m, n, k| MatmulShape { batch: 1, m, n, k };
        assert_eq!(padded(shape(16384, 50304, 1024), DType::BF16), None);
        let (new, side, to) = padded(shape(16384, 50257, 1024), DType::BF16).expect("odd");
        assert_eq!((new, side, to), (shape(16384, 50304, 1024), 50257, 50304));
        let (new, side, to) = padded(shape(16384, 1024, 50257), DType::BF16).expect("odd");
        assert_eq!((new.k, side, to), (50304, 50257, 50304));
        assert_eq!(padded(shape(64, 64, 8), DType::BF16), None);
        assert_eq!(padded(shape(64, 10, 64), DType::BF16).map(|p| p.2), Some(16));
        assert_eq!(padded(shape(64, 1000, 64), DType::BF16).map(|p| (p.1, p.2)), Some((1000, 1024)));
    }

    const ON_GRID: &str = "[[16384,1024],[1024,4096]]";
    const ODD: &str = "[[16384,1024],[1024,50257]]";

    /// A product on the grid at 700 TFLOP/s, and another one.
    fn beside(dims: &str, kernel: &str, ns: i64) -> Option<KernelChange> {
        let program = Program::on("NVIDIA H200").steps(|p, _| {
            p.op("aten::mm", ON_GRID, BF16_2, "nvjet_sm90_tst_256x128", 196_000);
            p.op("aten::mm", dims, BF16_2, kernel, ns);
        });
        program.change(alignment)
    }

    #[test]
    fn an_odd_side_in_a_slow_kernel_is_padded() {
        let change = beside(ODD, "cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1>", 17_788_000);
        let change = change.expect("slow");
        let after = 17_788_000 - change.saved_ns_per_step;
        assert!((2_300_000..2_600_000).contains(&after), "{after}");
        assert_eq!(change.evidence.fact(Fact::PaddedSide), Some(50304.0));
        assert!(!change.removed_launches && change.low_ns_per_step < change.saved_ns_per_step);
    }

    #[test]
    fn odd_sides_that_cost_nothing_are_left_alone() {
        // As fast as the others; slow, but not for its sides; small.
        assert!(beside(ODD, "nvjet_sm90_tst_192x192", 2_500_000).is_none());
        let tall = "[[5185,1024],[1024,4096]]";
        assert!(
            beside(tall, "cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_tn_align8>", 300_000).is_none()
        );
        assert!(beside("[[33,65],[65,33]]", "nvjet", 4_000).is_none());
    }
}
