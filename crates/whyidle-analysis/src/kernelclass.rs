//! What a kernel's name says about the work it does. Each distinct name is classified once;
//! where it was launched (optimizer, recomputation) is decided in `work.rs`.

/// Kinds of GPU work, as the ledger lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Work {
    /// Matrix products.
    Matmul,
    /// Fused attention.
    Attention,
    /// Convolutions.
    Convolution,
    /// Layer, batch, group, RMS norms.
    Normalisation,
    /// Softmax and log-softmax written out.
    Softmax,
    /// Element-wise operations, casts, concatenations, layout copies.
    Elementwise,
    /// Reductions and scans.
    Reduction,
    /// Embedding look-ups, gathers, scatters, indexing, sorting.
    Embedding,
    /// Losses.
    Loss,
    /// Parameter updates.
    Optimizer,
    /// A second forward inside backward.
    Recompute,
    /// Copies within the device and memsets.
    Copy,
    /// A copy between host and device.
    HostCopy,
    /// Collectives and point-to-point transfers.
    Collective,
    /// Anything else.
    Other,
}

impl Work {
    /// Every kind.
    pub const ALL: [Self; 15] = [
        Self::Matmul,
        Self::Attention,
        Self::Convolution,
        Self::Normalisation,
        Self::Softmax,
        Self::Elementwise,
        Self::Reduction,
        Self::Embedding,
        Self::Loss,
        Self::Optimizer,
        Self::Recompute,
        Self::Copy,
        Self::HostCopy,
        Self::Collective,
        Self::Other,
    ];
}

/// The work of a kernel called `name`.
///
/// A collective is a kernel whose name contains `nccl` or `rccl` (RCCL keeps NCCL's names), or
/// a known custom all-reduce. Other kernels named `hip…` are not: HTA counts them so, which is wrong.
#[must_use]
pub fn classify(name: &str) -> Work {
    let lower = name.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    if has(&["nccl", "rccl", "cross_device_reduce", "custom_all_reduce", "nvshmem", "deep_ep::"])
        || lower.starts_with("hcom_")
        || lower.starts_with("hccl")
    {
        return Work::Collective;
    }
    if lower.starts_with("triton_") || lower.starts_with("_triton") {
        return classify_triton(&lower);
    }
    if has(&[
        "fmha",
        "flash_fwd",
        "flash_bwd",
        "flash::",
        "sdpa",
        "flash_attn",
        "flashattn",
        "flashattention",
        "inferattention",
        "attentionkernel",
        "attentionbackwardkernel",
        "_attn_fwd",
        "_attn_bwd",
        "paged_attention",
        "mha_fwd",
        "mha_bwd",
        "ck_tile::fmha",
    ]) {
        return Work::Attention;
    }
    if has(&[
        "adam",
        "fusedlion",
        "lion_",
        "sgdmath",
        "fusedsgd",
        "fusedoptimizer",
        "lambstage",
        "fusedlamb",
        "adagrad",
        "optimizerstatic",
        "koptimizer",
        "quantizeblockwise",
        "quantize_blockwise",
        "muon_",
    ]) {
        return Work::Optimizer;
    }
    if has(&[
        "layer_norm",
        "layernorm",
        "batch_norm",
        "batchnorm",
        "bn_fw",
        "bn_bw",
        "rms_norm",
        "rmsnorm",
        "groupnorm",
        "group_norm",
        "rowwisemoments",
        "gammabeta",
        "computeinternalgradients",
        "bnf",
        "miopenspatialbatchnorm",
    ]) {
        return Work::Normalisation;
    }
    if has(&[
        "nll_loss",
        "cross_entropy",
        "crossentropy",
        "mse_kernel",
        "bce",
        "ctc_loss",
        "celoss",
        "liger_cross",
    ]) {
        return Work::Loss;
    }
    if has(&["softmax"]) {
        return Work::Softmax;
    }
    if has(&[
        "convolve",
        "conv2d",
        "conv3d",
        "conv1d",
        "wgrad",
        "dgrad",
        "fprop",
        "implicit_gemm",
        "implicit_convolve",
        "winograd",
        "cudnn::cnn",
        "im2col",
        "col2im",
        "conv_depthwise",
        "miopenconv",
        "igemm_",
        "naive_conv",
        "cask_cudnn",
    ]) {
        return Work::Convolution;
    }
    if has(&[
        "gemm",
        "nvjet",
        "cutlass",
        "cublas",
        "gemv",
        "splitk",
        "xmma",
        "cijk_",
        "matmul",
        "_mm_",
        "wgmma",
        "dot_kernel",
        "hmma",
        "s884",
        "s1688",
        "s16816",
        "tensile",
    ]) {
        return Work::Matmul;
    }
    if has(&[
        "embedding",
        "index",
        "gather",
        "scatter",
        "sort",
        "topk",
        "nonzero",
        "masked",
        "searchsorted",
        "radix",
        "unique",
    ]) && !has(&["elementwise_kernel"])
        || has(&["index_elementwise", "indexing_backward", "permute_2d"])
    {
        return Work::Embedding;
    }
    if has(&[
        "reduce_kernel",
        "reduce",
        "cumsum",
        "scan",
        "norm_kernel",
        "lpnorm",
        "argmax",
        "argmin",
        "histogram",
    ]) && !has(&["elementwise_kernel"])
    {
        return Work::Reduction;
    }
    if has(&[
        "elementwise",
        "multi_tensor_apply",
        "catarray",
        "copy_kernel",
        "fill",
        "dropout",
        "pool",
        "upsample",
        "transpose",
        "pointwise",
        "distribution",
        "activation",
        "gelu",
        "silu",
        "relu",
        "swiglu",
        "rope",
        "rotary",
        "cast",
        "foreach",
        "pad",
        "arange",
        "tri",
    ]) {
        return Work::Elementwise;
    }
    if is_npu_elementwise(&lower) { Work::Elementwise } else { Work::Other }
}

/// Kernels of Ascend bear the operator's bare name, after that of their library: `aclnnAdd_AddAiCore_Add`, `RealDiv`.
fn is_npu_elementwise(lower: &str) -> bool {
    const NAMES: [&str; 40] = [
        "abs",
        "add",
        "adds",
        "addcdiv",
        "addcmul",
        "axpy",
        "broadcastto",
        "clipbyvalue",
        "concat",
        "concatd",
        "div",
        "divs",
        "equal",
        "exp",
        "greater",
        "identity",
        "less",
        "log",
        "logicaland",
        "logicalnot",
        "maximum",
        "minimum",
        "mul",
        "muls",
        "neg",
        "oneslike",
        "pow",
        "realdiv",
        "reciprocal",
        "rsqrt",
        "select",
        "sigmoid",
        "slice",
        "sqrt",
        "square",
        "sub",
        "tensormove",
        "tile",
        "viewcopy",
        "zeroslike",
    ];
    let last = lower.rsplit('_').next().unwrap_or(lower);
    let versioned = last.len() > 2 && last.as_bytes()[last.len() - 2] == b'v';
    let bare = if versioned {
        last.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('v')
    } else {
        last
    };
    NAMES.contains(&last) || NAMES.contains(&bare)
}

/// Inductor puts the fused operators into the name: `triton_poi_fused_gelu_view_9`,
/// `triton_per_…` and `triton_red_…` are reductions with what is fused to them.
fn classify_triton(lower: &str) -> Work {
    let has = |part: &str| lower.contains(part);
    if has("_mm_")
        || has("_bmm")
        || has("_addmm")
        || has("convolution")
        || has("triton_tem_fused_mm")
        || has("triton_mm")
    {
        return Work::Matmul;
    }
    if has("flex_attention") || has("scaled_dot_product") {
        return Work::Attention;
    }
    if has("nll_loss") || has("cross_entropy") {
        return Work::Loss;
    }
    if has("layer_norm") || has("rms_norm") || has("batch_norm") || has("native_group_norm") {
        return Work::Normalisation;
    }
    if has("softmax") {
        return Work::Softmax;
    }
    if has("embedding") || has("index") || has("gather") || has("scatter") {
        return Work::Embedding;
    }
    if lower.starts_with("triton_red") || lower.starts_with("triton_per") {
        return Work::Reduction;
    }
    Work::Elementwise
}

/// Where a copy goes, from its name (`Memcpy HtoD (Pageable -> Device)`, ROCm: `CopyHostToDevice`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CopyKind {
    /// From pageable host memory to the device.
    HostToDevicePageable,
    /// From pinned host memory to the device.
    HostToDevicePinned,
    /// From host memory of an unknown sort to the device: ROCm and Ascend do not record it.
    HostToDevice,
    /// From the device to pageable host memory.
    DeviceToHostPageable,
    /// From the device to pinned host memory.
    DeviceToHostPinned,
    /// From the device to host memory of an unknown sort.
    DeviceToHost,
    /// Within a device.
    DeviceToDevice,
    /// Between devices.
    PeerToPeer,
    /// The record does not say from where to where.
    Unknown,
}

impl CopyKind {
    /// To the device.
    #[must_use]
    pub fn is_to_device(self) -> bool {
        matches!(self, Self::HostToDevicePageable | Self::HostToDevicePinned | Self::HostToDevice)
    }

    /// To the host.
    #[must_use]
    pub fn is_to_host(self) -> bool {
        matches!(self, Self::DeviceToHostPageable | Self::DeviceToHostPinned | Self::DeviceToHost)
    }
}

/// The kind of the copy called `name`.
#[must_use]
pub fn classify_copy(name: &str) -> CopyKind {
    let lower = name.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    let (pinned, pageable) = (has(&["pinned"]), has(&["pageable"]));
    if has(&["htod", "hosttodevice", "host to device"]) {
        match (pinned, pageable) {
            (true, _) => CopyKind::HostToDevicePinned,
            (_, true) => CopyKind::HostToDevicePageable,
            _ => CopyKind::HostToDevice,
        }
    } else if has(&["dtoh", "devicetohost", "device to host"]) {
        match (pinned, pageable) {
            (true, _) => CopyKind::DeviceToHostPinned,
            (_, true) => CopyKind::DeviceToHostPageable,
            _ => CopyKind::DeviceToHost,
        }
    } else if has(&["ptop", "peer"]) {
        CopyKind::PeerToPeer
    } else if lower == "memcpy_async" {
        // What Ascend calls every copy.
        CopyKind::Unknown
    } else {
        CopyKind::DeviceToDevice
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_names_land_where_an_engineer_would_put_them() {
        for (name, work) in [
            ("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", Work::Matmul),
            (
                "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1>(…)",
                Work::Matmul,
            ),
            ("Cijk_Ailk_Bljk_BBS_BH_MT128x128x32_MI32x32x8x1", Work::Matmul),
            ("cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x64", Work::Attention),
            (
                "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float>)",
                Work::Attention,
            ),
            (
                "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<float>",
                Work::Normalisation,
            ),
            ("void at::native::(anonymous namespace)::cunn_SoftMaxBackward<8, c10::BFloat16>", Work::Softmax),
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>",
                Work::Elementwise,
            ),
            ("void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float>>", Work::Reduction),
            ("void at::native::vectorized_gather_kernel<16, long>(char*)", Work::Embedding),
            (
                "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor<float>>",
                Work::Optimizer,
            ),
            ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", Work::Collective),
            ("void cask_cudnn::computeOffsetsKernel(cask_cudnn::ComputeOffsetsParams)", Work::Convolution),
            ("triton_poi_fused_gelu_view_9", Work::Elementwise),
            ("triton_per_fused__to_copy_add_native_layer_norm_backward_view_7", Work::Normalisation),
            ("triton_red_fused_sum_4", Work::Reduction),
            ("MatMulV3", Work::Matmul),
            ("aclnnMatmul_MatMulV2_BatchMatMulV2", Work::Matmul),
            ("FlashAttentionScoreGrad", Work::Attention),
            ("LayerNormGradV3", Work::Normalisation),
            ("SoftmaxV2", Work::Softmax),
            ("Conv2DBackpropFilter", Work::Convolution),
            ("ApplyAdamW", Work::Optimizer),
            ("Cast", Work::Elementwise),
            ("aclnnAdd_AddAiCore_Add", Work::Elementwise),
            ("RealDiv", Work::Elementwise),
            ("ConcatV2", Work::Elementwise),
            ("GatherV2", Work::Embedding),
            ("ReduceSum", Work::Reduction),
            ("hcom_allReduce__428_0_1", Work::Collective),
            // HIP's names are nobody's collective.
            ("hipcubScanKernel", Work::Reduction),
            ("hip_hccl_like_name", Work::Other),
            ("MystoryKernel", Work::Other),
            // "lambda" is not LAMB.
            (
                "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}>",
                Work::Elementwise,
            ),
        ] {
            assert_eq!(classify(name), work, "{name}");
        }
    }

    #[test]
    fn copies_are_told_by_direction_and_memory() {
        assert_eq!(classify_copy("Memcpy HtoD (Pageable -> Device)"), CopyKind::HostToDevicePageable);
        assert_eq!(classify_copy("Memcpy DtoH (Device -> Pinned)"), CopyKind::DeviceToHostPinned);
        assert_eq!(classify_copy("Memcpy DtoD (Device -> Device)"), CopyKind::DeviceToDevice);
        assert_eq!(classify_copy("Memcpy PtoP (Device -> Device)"), CopyKind::PeerToPeer);
        // ROCm does not say which memory, and older versions of it say it in their own words.
        assert_eq!(classify_copy("Memcpy HtoD (Host -> Device)"), CopyKind::HostToDevice);
        assert_eq!(classify_copy("CopyHostToDevice"), CopyKind::HostToDevice);
        assert_eq!(classify_copy("CopyDeviceToHost"), CopyKind::DeviceToHost);
        assert_eq!(classify_copy("CopyDeviceToDevice"), CopyKind::DeviceToDevice);
        assert_eq!(classify_copy("MEMCPY_ASYNC"), CopyKind::Unknown);
        assert_eq!(classify_copy("MEMCPY_ASYNC (device to host)"), CopyKind::DeviceToHost);
    }
}
