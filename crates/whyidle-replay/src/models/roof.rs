//! Rates that kernels can reach on a device: the one place where efficiencies are defined.
//!
//! Preferred is what the trace itself shows for the same type and kind of work; else a share of
//! the product's peak. Shares are taken from published measurements, each named at its constant,
//! and not from the recordings that the predictions are held against.

use whyidle_analysis::operators::{AttentionShape, MatmulShape, OpClass, Operators};
use whyidle_analysis::rates::Rates;
use whyidle_analysis::shapes::DType;

use super::context::Launched;

/// Share of the dense peak that large matrix products of training reach.
///
/// The best shapes reach 77–87 % on NVIDIA parts (A100 87, H100 80, B200 78: "maximum achievable
/// matmul FLOPS", S. Bekman, Machine Learning Engineering, ch. accelerators), typical shapes of a
/// transformer a tenth less.
const MATMUL_SHARE: f64 = 0.73;
/// The same on AMD Instinct parts: 50–60 % in the same table.
const MATMUL_SHARE_AMD: f64 = 0.50;
/// Convolutions: those of a ResNet-50, forward and backward, channels last in bf16, reach 0.37 of
/// the peak of an H200 (torch 2.11); larger channels come closer to matrix products.
const CONVOLUTION_SHARE: f64 = 0.40;
/// fp32 outside tensor cores: cuBLAS' SIMT kernels, FMA-bound.
const MATMUL_SHARE_FP32: f64 = 0.75;

/// Share of the 16-bit peak that fused attention reaches at sequences of 1 000 to 8 000, by width of
/// a head (up to 64, above) and direction (forward, backward), FLOPs counted over half of the scores
/// if causal. FlashAttention-3 (arXiv:2407.08608), figures 5 and 6, FA-2 to cuDNN, causal.
const ATTENTION_HOPPER: [[f64; 2]; 2] = [[0.33, 0.28], [0.48, 0.40]];
/// The same before Hopper: FlashAttention-2 (arXiv:2307.08691), figures 5 and 6, A100.
const ATTENTION_AMPERE: [[f64; 2]; 2] = [[0.45, 0.36], [0.53, 0.42]];
/// Of that on AMD parts: their fused kernels reach about 0.7 of it.
const ATTENTION_AMD: f64 = 0.7;
/// fp32 memory-efficient attention, as share of the fp32 peak outside tensor cores.
const ATTENTION_FP32: f64 = 0.25;

/// Share of the data sheet's bandwidth that a streaming kernel reaches (BabelStream triad on
/// A100 to H200: 85–92 %).
const STREAM_SHARE: f64 = 0.87;

/// What a kernel takes at least: launch, tail and drain on the device, ns.
pub(crate) const LEAST_KERNEL_NS: f64 = 2_000.0;

/// A thread block walks a dot product in slices of 64, each about 0.3 µs (load, multiply, wait:
/// 8 µs for a bf16 product of 788 × 768 × 768 on an H100); longer ones than `SPLIT_K` are split over blocks.
const SLICE_K: f64 = 64.0;
const SLICE_NS: f64 = 300.0;
const SPLIT_K: u64 = 2_048;

/// An element-wise operator on less says nothing about memory: a cache may hold it. Bytes.
const LARGE_BYTES: f64 = 2e8;
/// A matrix product below this says nothing about the rate of large ones, FLOPs.
const LARGE_FLOPS: f64 = 2e9;

/// Rates that can be reached, FLOP/s and bytes/s.
#[derive(Clone, Debug, Default)]
pub struct Roof {
    rates: Option<&'static Rates>,
    /// By type: FLOPs and ns of the trace's large, aligned matrix products.
    seen: Vec<(DType, f64, f64)>,
    /// Bandwidth of the trace's own large element-wise operators, bytes/s.
    streamed: Option<f64>,
}

impl Roof {
    /// The roof of a device whose activities are `launched`.
    pub(crate) fn new(rates: Option<&'static Rates>, operators: &Operators, launched: &[Launched]) -> Self {
        let mut seen: Vec<(DType, f64, f64)> = Vec::new();
        let mut streamed: Vec<f64> = Vec::new();
        for entry in launched {
            let Some(kind) = entry.operator.map(|operator| operators.kind(operator)) else { continue };
            if matches!(kind.class, OpClass::Pointwise | OpClass::Copy) && !entry.outside {
                let bytes = kind.bytes();
                if bytes >= LARGE_BYTES && entry.total_ns > 0 {
                    streamed.push(bytes / entry.total_ns as f64 * 1e9);
                }
            }
            let (Some(shape), Some(dtype)) = (kind.matmul, kind.dtype) else { continue };
            if kind.flops < LARGE_FLOPS || entry.total_ns <= 0 || !is_aligned(shape, dtype) {
                continue;
            }
            match seen.iter_mut().find(|row| row.0 == dtype) {
                Some(row) => (row.1, row.2) = (row.1 + kind.flops, row.2 + entry.total_ns as f64),
                None => seen.push((dtype, kind.flops, entry.total_ns as f64)),
            }
        }
        streamed.sort_by(f64::total_cmp);
        Self { rates, seen, streamed: streamed.get(streamed.len() * 3 / 4).copied() }
    }

    fn is_amd(&self) -> bool {
        self.rates.is_some_and(|rates| rates.product.starts_with("MI"))
    }

    /// Peak of a type on the product, FLOP/s; fp32 without TF32.
    #[must_use]
    pub fn peak(&self, dtype: DType) -> Option<f64> {
        self.rates.and_then(|rates| rates.matmul(dtype))
    }

    /// Rate of the trace's own large, aligned matrix products of a type, FLOP/s.
    #[must_use]
    pub fn seen(&self, dtype: DType) -> Option<f64> {
        self.seen.iter().find(|row| row.0 == dtype).map(|&(_, flops, ns)| flops / ns * 1e9)
    }

    /// Rate of large matrix products of a type, FLOP/s: what the trace shows, else a share of the peak.
    #[must_use]
    pub fn matmul(&self, dtype: DType) -> Option<f64> {
        self.seen(dtype).or_else(|| self.modelled(dtype))
    }

    /// A share of the peak, FLOP/s.
    #[must_use]
    pub fn modelled(&self, dtype: DType) -> Option<f64> {
        let share = match dtype {
            _ if self.is_amd() => MATMUL_SHARE_AMD,
            DType::F32 => MATMUL_SHARE_FP32,
            _ => MATMUL_SHARE,
        };
        self.peak(dtype).map(|peak| peak * share)
    }

    /// Rate of convolutions in a type, FLOP/s.
    #[must_use]
    pub fn convolution(&self, dtype: DType) -> Option<f64> {
        let share = if self.is_amd() { CONVOLUTION_SHARE * 0.7 } else { CONVOLUTION_SHARE };
        self.peak(dtype).map(|peak| peak * share)
    }

    /// Rate of large matrix products in TF32, FLOP/s; `None` where the product has no such mode.
    #[must_use]
    pub fn tf32(&self) -> Option<f64> {
        let share = if self.is_amd() { MATMUL_SHARE_AMD } else { MATMUL_SHARE };
        self.rates.filter(|rates| rates.tf32 > rates.fp32).map(|rates| rates.tf32 * share)
    }

    /// Bandwidth that streaming kernels reach, bytes/s: a share of the product's, else what the
    /// better quarter of the trace's own large element-wise operators reach.
    #[must_use]
    pub fn bandwidth(&self) -> Option<f64> {
        self.rates.map(|rates| rates.bandwidth * STREAM_SHARE).or(self.streamed)
    }

    /// Length of `flops` on `bytes` at `rate`, ns: the longer of computing and moving.
    #[must_use]
    pub(crate) fn dense_ns(&self, flops: f64, bytes: f64, rate: f64) -> f64 {
        let moving = self.bandwidth().map_or(0.0, |bandwidth| bytes / bandwidth * 1e9);
        (flops / rate * 1e9).max(moving) + LEAST_KERNEL_NS
    }

    /// Length of a matrix product, ns: at least that of its dot products one slice after the other,
    /// which is what bounds small results.
    #[must_use]
    pub(crate) fn matmul_ns(&self, shape: MatmulShape, bytes: f64, rate: f64) -> f64 {
        let slices = (shape.k.min(SPLIT_K) as f64 / SLICE_K).ceil();
        self.dense_ns(shape.flops(), bytes, rate).max(LEAST_KERNEL_NS + slices * SLICE_NS)
    }

    /// Rate of fused attention, FLOP/s.
    #[must_use]
    pub fn attention(&self, dtype: DType, width: u64, backward: bool) -> Option<f64> {
        if dtype == DType::F32 {
            return self.peak(dtype).map(|peak| peak * ATTENTION_FP32);
        }
        // Hopper and later are the NVIDIA parts with fp8 and the memory of a data centre's.
        let hopper = |rates: &Rates| rates.fp8.is_some() && rates.bandwidth > 1.8e12;
        let table = match self.rates {
            Some(rates) if hopper(rates) && !self.is_amd() => ATTENTION_HOPPER,
            _ => ATTENTION_AMPERE,
        };
        let share = table[usize::from(width > 64)][usize::from(backward)];
        // Without the product's peak, what the trace's products reach stands for it.
        let peak = self.peak(dtype).or_else(|| self.seen(dtype).map(|seen| seen / MATMUL_SHARE))?;
        Some(peak * share * if self.is_amd() { ATTENTION_AMD } else { 1.0 })
    }

    /// Length of fused attention, ns: forward or backward.
    #[must_use]
    pub(crate) fn attention_ns(&self, shape: AttentionShape, dtype: DType, backward: bool) -> Option<f64> {
        let rate = self.attention(dtype, shape.width, backward)?;
        let flops = shape.forward_flops() * if backward { 2.5 } else { 1.0 };
        // Query, result; key, value; backward also their gradients and the result's.
        let rows = shape.queries as f64 + shape.keys as f64;
        let tensors = 2.0 * rows * if backward { 2.0 } else { 1.0 };
        let bytes = tensors * shape.heads as f64 * shape.width as f64 * dtype.bytes() as f64;
        Some(self.dense_ns(flops, bytes, rate))
    }
}

/// Elements per 16 bytes: what tensor cores load at once.
#[must_use]
pub(crate) fn grid(dtype: DType) -> u64 {
    16 / dtype.bytes().clamp(1, 16)
}

/// Whether all sides are multiples of what tensor cores load at once.
#[must_use]
pub(crate) fn is_aligned(shape: MatmulShape, dtype: DType) -> bool {
    [shape.m, shape.n, shape.k].iter().all(|side| side % grid(dtype) == 0)
}

/// Whether a class computes what tensor cores are for, attention apart.
#[must_use]
pub(crate) fn is_product(class: OpClass) -> bool {
    class.is_dense() && !matches!(class, OpClass::Attention | OpClass::AttentionBackward)
}
