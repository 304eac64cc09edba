//! What an event is, by its category and phase: names of today and of the samples of 2021.

use whyidle_model::{GpuKind, HostKind};

/// What an event is to whyidle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Category {
    /// Something the host did.
    Host(HostKind),
    /// Something a GPU did.
    Gpu(GpuKind),
    /// A synchronisation on the GPU's clock.
    Sync,
    /// A span of the profiler itself.
    Window,
    /// An event of an accelerator that whyidle does not know, and that accelerator's name.
    Foreign(&'static str),
    /// Nothing that is used.
    Unused,
}

/// The category behind the JSON text of `cat`.
#[inline]
pub(crate) fn category(raw: &[u8]) -> Category {
    let cat = match raw {
        [b'"', cat @ .., b'"'] => cat,
        _ => return Category::Unused,
    };
    match cat {
        b"cpu_op" => Category::Host(HostKind::Op),
        b"cuda_runtime" => Category::Host(HostKind::Runtime),
        b"python_function" => Category::Host(HostKind::Python),
        b"kernel" => Category::Gpu(GpuKind::Kernel),
        b"ac2g" => Category::Unused,
        _ => by_any_name(cat),
    }
}

fn by_any_name(cat: &[u8]) -> Category {
    let is = |names: &[&str]| names.iter().any(|name| cat.eq_ignore_ascii_case(name.as_bytes()));
    let begins = |prefix: &str| {
        cat.len() >= prefix.len() && cat[..prefix.len()].eq_ignore_ascii_case(prefix.as_bytes())
    };
    if is(&["cpu_op", "operator"]) {
        Category::Host(HostKind::Op)
    } else if is(&["cuda_runtime", "runtime", "hip_runtime"]) {
        Category::Host(HostKind::Runtime)
    } else if is(&["cuda_driver", "hip_driver"]) {
        Category::Host(HostKind::Driver)
    } else if is(&["user_annotation"]) {
        Category::Host(HostKind::Annotation)
    } else if is(&["python_function"]) {
        Category::Host(HostKind::Python)
    } else if is(&["overhead"]) {
        Category::Host(HostKind::Overhead)
    } else if is(&["kernel"]) {
        Category::Gpu(GpuKind::Kernel)
    } else if is(&["gpu_memcpy", "memcpy"]) {
        Category::Gpu(GpuKind::Memcpy)
    } else if is(&["gpu_memset", "memset"]) {
        Category::Gpu(GpuKind::Memset)
    } else if is(&["cuda_sync"]) {
        Category::Sync
    } else if is(&["trace"]) {
        Category::Window
    } else if begins("mtia_") {
        Category::Foreign("MTIA")
    } else if begins("hpu_") {
        Category::Foreign("HPU")
    } else if begins("xpu_") {
        Category::Foreign("XPU")
    } else if begins("privateuse1_") {
        Category::Foreign("NPU")
    } else {
        Category::Unused
    }
}

/// Whether `Concrete Inputs` are kept for an operator: conversions and copies (where to,
/// blocking or not), attention (which kind, masked or not), convolutions (stride,
/// padding) and softmax (over which dimension). Of all others, shapes and types say enough.
pub(crate) fn keeps_inputs(name: &str) -> bool {
    matches!(
        name,
        "aten::to"
            | "aten::_to_copy"
            | "aten::copy_"
            | "aten::scaled_dot_product_attention"
            | "aten::softmax"
            | "aten::_softmax"
            | "aten::_convolution"
    ) || name.starts_with("aten::_scaled_dot_product_")
        || name.starts_with("aten::convolution")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_new_names() {
        assert_eq!(category(b"\"Operator\""), Category::Host(HostKind::Op));
        assert_eq!(category(b"\"Kernel\""), Category::Gpu(GpuKind::Kernel));
        assert_eq!(category(b"\"MTIA_ccp_events\""), Category::Foreign("MTIA"));
        assert_eq!(category(b"\"gpu_user_annotation\""), Category::Unused);
        assert_eq!(category(b"7"), Category::Unused);
    }
}
