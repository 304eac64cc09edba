//! Names as the rest of whyidle knows them, which is as PyTorch's profiler writes them.

/// A runtime or driver call without the version and the variant that the tracer appends:
/// `cudaLaunchKernelExC_v11060`, `cudaMemcpyAsync_ptsz_v7000`. Names that end so by themselves (`cuMemAlloc_v2`) stay.
pub(super) fn call(name: &str) -> &str {
    let name = match name.rsplit_once("_v") {
        Some((name, version)) if version.len() >= 4 && version.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => name,
    };
    name.strip_suffix("_ptsz").or_else(|| name.strip_suffix("_ptds")).unwrap_or(name)
}

/// Directions of copies by `copyKind`, as CUPTI numbers them (`CUpti_ActivityMemcpyKind`).
const DIRECTIONS: [&str; 14] = [
    "Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP", "HtoD",
    "DtoH", "DtoD",
];

/// Kinds of memory by `srcKind`, `dstKind` and `memKind`, as the exports of all versions seen number them
/// (`ENUM_CUDA_MEM_KIND`).
const MEMORIES: [&str; 8] =
    ["Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static", "Unknown"];

fn of<'a>(names: &[&'a str], number: Option<i64>) -> &'a str {
    number.and_then(|number| names.get(usize::try_from(number).ok()?)).copied().unwrap_or("Unknown")
}

/// A copy: `Memcpy HtoD (Pageable -> Device)`.
pub(super) fn copy(direction: Option<i64>, from: Option<i64>, to: Option<i64>) -> String {
    format!("Memcpy {} ({} -> {})", of(&DIRECTIONS, direction), of(&MEMORIES, from), of(&MEMORIES, to))
}

/// A memset: `Memset (Device)`.
pub(super) fn memset(memory: Option<i64>) -> String {
    format!("Memset ({})", of(&MEMORIES, memory))
}

/// Synchronisations by `syncType` (`CUpti_ActivitySynchronizationType`).
pub(super) fn synchronisation(kind: Option<i64>) -> &'static str {
    of(&["Unknown", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"], kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_calls_are_dropped_and_names_kept() {
        assert_eq!(call("cudaLaunchKernelExC_v11060"), "cudaLaunchKernelExC");
        assert_eq!(call("cudaMemcpyAsync_ptsz_v7000"), "cudaMemcpyAsync");
        assert_eq!(call("cuLaunchKernel"), "cuLaunchKernel");
        assert_eq!(call("cuMemAlloc_v2"), "cuMemAlloc_v2");
    }

    #[test]
    fn copies_are_named_as_pytorch_names_them() {
        assert_eq!(copy(Some(1), Some(0), Some(2)), "Memcpy HtoD (Pageable -> Device)");
        assert_eq!(copy(Some(2), Some(2), Some(1)), "Memcpy DtoH (Device -> Pinned)");
        assert_eq!(copy(Some(99), None, Some(-1)), "Memcpy Unknown (Unknown -> Unknown)");
        assert_eq!(memset(Some(2)), "Memset (Device)");
    }
}
