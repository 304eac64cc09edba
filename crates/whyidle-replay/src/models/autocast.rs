//! Types under autocast, operator by operator: which tensors of an fp32 program become 16 bits wide.
//!
//! The rules are PyTorch's ("CUDA op-specific behavior"): products give 16 bits, norms, softmax and
//! some functions give fp32, everything else takes the widest of its inputs. Tensors are told apart
//! by their number of elements and their order, since a trace names none.

use rustc_hash::FxHashMap;
use whyidle_analysis::operators::{OpClass, OpKind};
use whyidle_analysis::shapes::DType;
use whyidle_model::Trace;

use super::context::Launched;

/// Time of an eager kernel in 16 bits over its time in fp32 (torch 2.11, H200, tensors beyond the
/// cache): bytes halve, but arithmetic and access patterns stay.
fn halved(class: OpClass) -> f64 {
    match class {
        OpClass::Copy => 1.0,
        OpClass::CrossNorm => 0.85,
        OpClass::Softmax => 0.6,
        _ => 0.7,
    }
}

/// Types of the latest fp32 tensors of the trace under autocast, by number of elements: true for 16 bits.
#[derive(Default)]
pub(crate) struct Types {
    latest: FxHashMap<u64, [Option<bool>; 2]>,
    /// Type of the latest sum of two equal tensors: a residual stream. It starts in fp32, as an
    /// embedding does, unless norms across rows (convolutional networks) came before.
    sums: FxHashMap<u64, bool>,
    across: bool,
}

impl Types {
    fn push(&mut self, elements: u64, half: bool) {
        let row = self.latest.entry(elements).or_default();
        *row = [Some(half), row[0]];
    }

    fn is_half(&self, elements: u64) -> bool {
        self.latest.get(&elements).and_then(|row| row[0]) == Some(true)
    }

    /// A product: elements of the casts that its operands need.
    pub(crate) fn dense(&mut self, kind: &OpKind, launched: &Launched) -> f64 {
        let mut cast = 0.0;
        let operands = if launched.backward { 1 } else { kind.reads.len() };
        for &(elements, _) in kind.reads.iter().take(operands) {
            if !self.is_half(elements) {
                // A cast in forward comes back in backward, for the gradient.
                cast += elements as f64 * if launched.backward { 1.0 } else { 2.0 };
                self.push(elements, true);
            }
        }
        for &(elements, _) in &kind.writes {
            self.push(elements, true);
        }
        cast
    }

    /// Anything else: its new length over the old, and elements of the casts it needs.
    pub(crate) fn other(&mut self, trace: &Trace, kind: &OpKind, launched: &Launched) -> (f64, f64) {
        let name = trace.names.get(kind.name);
        let Some(&(out, dtype)) = kind.writes.first().or_else(|| kind.reads.first()) else {
            return (1.0, 0.0);
        };
        if dtype != DType::F32 || kind.class == OpClass::Fill {
            return (1.0, 0.0);
        }
        if matches!(kind.class, OpClass::Other | OpClass::Compiled) || kind.class.is_dense() {
            // Kernels of others and code compiled for its types stay as they are.
            kind.writes.iter().for_each(|&(elements, _)| self.push(elements, false));
            return (1.0, 0.0);
        }
        self.across |= kind.class == OpClass::CrossNorm;
        let forward = !launched.backward;
        let was_half = self.is_half(out);
        let cast = if was_half && forward { 2.0 } else { 0.0 };
        let large = |&&(elements, _): &&(u64, DType)| elements >= out / 2;
        let sums = name.starts_with("aten::add") && kind.reads.iter().filter(large).count() > 1;
        let (half, cast) = match kind.class {
            // The loss' log-softmax keeps the type of its input; what follows it wants fp32.
            OpClass::Softmax if name.contains("log_softmax") => (was_half, cast),
            OpClass::RowNorm | OpClass::Softmax => (false, cast),
            _ if forward && wants_fp32(name) => (false, cast),
            OpClass::CrossNorm => (was_half, 0.0),
            _ if sums => {
                let row = self.latest.get(&out).copied().unwrap_or_default();
                let other = self.sums.get(&out).copied().or(row[1].filter(|_| self.across));
                (row[0] == Some(true) && other == Some(true), 0.0)
            }
            // Tensors with sides decide together; one in fp32 makes the result fp32.
            _ => {
                let mut sided = kind.reads.iter().filter(|&&(elements, _)| elements > 1).peekable();
                (sided.peek().is_some() && sided.all(|&(elements, _)| self.is_half(elements)), 0.0)
            }
        };
        if sums {
            self.sums.insert(out, half);
        }
        kind.writes.iter().for_each(|&(elements, _)| self.push(elements, half));
        (if half { halved(kind.class) } else { 1.0 }, cast * out as f64)
    }
}

/// Operators that autocast runs in fp32 (PyTorch, "CUDA ops that autocast to float32"), norms and
/// softmax apart.
fn wants_fp32(name: &str) -> bool {
    let base = name.strip_prefix("aten::").unwrap_or(name);
    let base = base.trim_end_matches('_');
    matches!(
        base,
        "pow"
            | "rsqrt"
            | "exp"
            | "expm1"
            | "log"
            | "log2"
            | "log10"
            | "log1p"
            | "reciprocal"
            | "norm"
            | "sum"
            | "prod"
            | "cumsum"
            | "cumprod"
            | "softplus"
            | "tan"
            | "sinh"
            | "cosh"
            | "acos"
            | "asin"
            | "erfinv"
            | "linalg_vector_norm"
            | "mse_loss"
            | "smooth_l1_loss"
            | "dist"
    )
}
