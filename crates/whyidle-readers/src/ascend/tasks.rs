//! What a task of the device is, by its type and name.

use whyidle_model::GpuKind;

/// Tasks that only wait, record or mark: the device does no work in them.
const CONTROL: [&str; 17] = [
    "EVENT_",
    "NOTIFY_",
    "CAPTURE_",
    "PROFILING_",
    "PROFILER_",
    "PLACE_HOLDER",
    "WRITE_VALUE",
    "MEM_WAIT_VALUE",
    "MEM_WRITE_VALUE",
    "MODEL_MAINT",
    "MODEL_EXECUTE",
    "LABEL_",
    "STREAM_SWITCH",
    "STREAM_ACTIVE",
    "END_GRAPH",
    "BARRIER",
    "CMO",
];

/// The kind of a task of type `task` called `name`; `None` for one that is no work.
///
/// Executing a model (`MODEL_EXECUTE`) is the frame around tasks that are recorded as well.
pub(super) fn kind(task: &str, name: &str) -> Option<GpuKind> {
    let (task, name) = (task.to_ascii_uppercase(), name.to_ascii_uppercase());
    let either = |test: &dyn Fn(&str) -> bool| test(&task) || test(&name);
    if CONTROL.iter().any(|control| either(&|text| text.starts_with(control))) {
        return None;
    }
    // A kernel's name may hold any word: only its type says that it is one.
    if ["AI_CORE", "AI_VECTOR_CORE", "MIX_AIC", "MIX_AIV", "MIXED_AI", "AI_CPU", "KERNEL"]
        .iter()
        .any(|core| task.starts_with(core))
    {
        return Some(GpuKind::Kernel);
    }
    if either(&|text| text.starts_with("MEMSET")) {
        return Some(GpuKind::Memset);
    }
    let copies = ["MEMCPY", "SDMA", "PCIE_DMA", "RDMA"];
    let copy = copies.iter().any(|copy| either(&|text| text.starts_with(copy)));
    Some(if copy { GpuKind::Memcpy } else { GpuKind::Kernel })
}

/// Whether something called `name` is a collective of HCCL's.
pub(super) fn is_collective(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.starts_with("hcom_") || lower.starts_with("hccl")
}

/// From where to where a copy goes, if a name says so.
pub(super) fn direction(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase().replace(['_', ' '], "");
    if lower.contains("hosttodevice") {
        Some("host to device")
    } else if lower.contains("devicetohost") {
        Some("device to host")
    } else if lower.contains("devicetodevice") {
        Some("device to device")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_that_wait_are_no_work() {
        for (task, name) in [
            ("EVENT_WAIT", "EVENT_WAIT"),
            ("EVENT_RECORD_SQE", "EVENT_RECORD"),
            ("NOTIFY_WAIT_SQE", "notify"),
            ("", "Notify_Wait"),
            ("PROFILING_ENABLE", "PROFILING_ENABLE"),
            ("WRITE_VALUE_SQE", ""),
            ("MODEL_EXECUTE", "MODEL_EXECUTE"),
        ] {
            assert_eq!(kind(task, name), None, "{task} {name}");
        }
        for (task, name, expected) in [
            ("AI_CORE", "MatMulV3", GpuKind::Kernel),
            ("AI_VECTOR_CORE", "aclnnMemcpyLike", GpuKind::Kernel),
            ("MIX_AIC", "FlashAttentionScore", GpuKind::Kernel),
            ("KERNEL_AIVEC", "Add", GpuKind::Kernel),
            ("AI_CPU", "DropOutGenMask", GpuKind::Kernel),
            ("MEMCPY_ASYNC", "MEMCPY_ASYNC", GpuKind::Memcpy),
            ("PCIE_DMA_SQE", "MEMCPY_ASYNC", GpuKind::Memcpy),
            ("SDMA_SQE", "SDMA_SQE", GpuKind::Memcpy),
            ("MEMSET", "MEMSET", GpuKind::Memset),
            ("NEW_CORE", "future_kernel", GpuKind::Kernel),
        ] {
            assert_eq!(kind(task, name), Some(expected), "{task} {name}");
        }
    }

    #[test]
    fn collectives_and_directions_are_told_by_name() {
        assert!(is_collective("hcom_allReduce__428_0_1") && is_collective("HcclAllreduce"));
        assert!(!is_collective("MatMulV2") && !is_collective("Notify_Wait"));
        assert_eq!(direction("acl_memcpy_host_to_device"), Some("host to device"));
        assert_eq!(direction("device to host ex"), Some("device to host"));
        assert_eq!(direction("aten::copy_"), None);
    }
}
