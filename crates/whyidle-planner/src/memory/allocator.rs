//! What PyTorch's caching allocator counts for a request: `c10/cuda/CUDACachingAllocator.cpp`.

/// Smallest unit.
const UNIT: f64 = 512.0;
/// From this size on a request gets a segment of its own.
const LARGE: f64 = 10.0 * MIB;
/// Segments of large requests are multiples of this.
const STEP: f64 = 2.0 * MIB;
/// A rest of a segment up to this size is not split off: it counts as allocated.
const REST: f64 = MIB;
/// 2²⁰ bytes.
pub(super) const MIB: f64 = 1_048_576.0;

/// Bytes that count as allocated when `bytes` are asked for and a fresh segment serves them.
pub(super) fn block(bytes: f64) -> f64 {
    let asked = (bytes / UNIT).ceil() * UNIT;
    if asked < LARGE {
        return asked;
    }
    let segment = (asked / STEP).ceil() * STEP;
    if segment - asked <= REST { segment } else { asked }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_rests_count() {
        assert_eq!(block(1.0), 512.0);
        assert_eq!(block(9.0 * MIB), 9.0 * MIB);
        assert_eq!(block(11.0 * MIB), 12.0 * MIB, "1024 × 2816 in fp32");
        assert_eq!(block(10.5 * MIB), 10.5 * MIB);
        assert_eq!(block(44.0 * MIB), 44.0 * MIB);
    }
}
