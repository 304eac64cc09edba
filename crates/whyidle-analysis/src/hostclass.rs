//! What a host event's name says about it. Each distinct name is classified once.

/// Meaning of a host name, independent of where it is nested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HostClass {
    /// An operator, call or range without special meaning.
    Plain,
    /// `ProfilerStep#n`.
    StepMark,
    /// `Optimizer.step#…`.
    OptimizerStep,
    /// Loading in the training process (`num_workers=0`).
    LoadInProcess,
    /// Waiting for loader workers.
    LoadFromWorkers,
    /// A call that launches kernels, graphs apart.
    Launch,
    /// A call that launches a CUDA graph.
    GraphLaunch,
    /// A call that copies; its direction is known from what it launched.
    Copy,
    /// A call that waits for the whole device, a stream or an event.
    Synchronise,
    /// A call that makes a stream wait for an event; the host goes on.
    StreamWait,
    /// A call that records an event.
    EventRecord,
    /// A call that takes memory from, or gives it back to, the driver.
    Allocate,
    /// Compiling: dynamo, AOT, inductor, Triton.
    Compile,
    /// A garbage collection.
    Collect,
    /// Saving a checkpoint.
    Checkpoint,
    /// Writing a log: files, terminals, trackers.
    Log,
    /// `autograd::engine::evaluate_function: …`: a node of backward.
    BackwardNode,
    /// An operator that reads a value back to the host (`aten::item`).
    ReadBack,
    /// An operator that copies or casts (`aten::to`, `aten::copy_`).
    CopyOp,
    /// `nccl:…`, `record_param_comms`, `c10d::…`: the host side of a collective.
    Collective,
    /// A Python frame or builtin that only waits for another thread.
    IdleFrame,
    /// Starting or stopping the profiler itself.
    Profiler,
}

use HostClass as C;

/// The class of `name`.
#[must_use]
pub fn classify(name: &str) -> HostClass {
    if let Some(class) = classify_call(name) {
        return class;
    }
    if let Some(class) = classify_range(name) {
        return class;
    }
    if name.ends_with("(dynamo_timed)") {
        return C::Compile;
    }
    if is_frame(name) { classify_frame(name) } else { C::Plain }
}

/// Calls of CANN, which names them by their layer: `AscendCL@aclrtSynchronizeStream`, `Node@launch`.
fn classify_cann(name: &str) -> Option<HostClass> {
    // A launch that only a flow shows.
    if name == "torch_to_npu" {
        return Some(C::Launch);
    }
    let (layer, call) = name.split_once('@')?;
    if layer == "Node" {
        return (call == "launch").then_some(C::Launch);
    }
    if !matches!(layer, "AscendCL" | "Runtime") {
        return None;
    }
    let call = call.strip_prefix("aclrt").or_else(|| call.strip_prefix("rt")).unwrap_or(call);
    let class = match call {
        _ if call.contains("Synchronize") => C::Synchronise,
        _ if call.starts_with("Memcpy") => C::Copy,
        _ if call.starts_with("Memset") || call.contains("KernelLaunch") || call.contains("LaunchKernel") => {
            C::Launch
        }
        _ if call.starts_with("StreamWaitEvent") => C::StreamWait,
        _ if call.starts_with("RecordEvent") || call.starts_with("EventRecord") => C::EventRecord,
        _ if ["Malloc", "Free", "DevMalloc", "DevFree", "ReserveMem", "ReleaseMem", "MapMem", "UnmapMem"]
            .iter()
            .any(|takes| call.starts_with(takes)) =>
        {
            C::Allocate
        }
        "opCompile" | "aclopCompile" => C::Compile,
        _ => return None,
    };
    Some(class)
}

/// Runtime and driver calls, CUDA and HIP alike.
fn classify_call(name: &str) -> Option<HostClass> {
    if let Some(class) = classify_cann(name) {
        return Some(class);
    }
    let call = name.strip_prefix("cuda").or_else(|| name.strip_prefix("hip")).or_else(|| {
        name.strip_prefix("cu").filter(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
    })?;
    let class = match call {
        _ if call.starts_with("GraphLaunch") => C::GraphLaunch,
        _ if call.contains("LaunchKernel")
            || call.contains("LaunchCooperativeKernel")
            || call == "LaunchByPtr" =>
        {
            C::Launch
        }
        _ if call.starts_with("Memcpy") => C::Copy,
        _ if call.starts_with("Memset") => C::Launch,
        _ if call.ends_with("Synchronize") => C::Synchronise,
        _ if call.starts_with("StreamWaitEvent") => C::StreamWait,
        _ if call.starts_with("EventRecord") => C::EventRecord,
        "Malloc" | "Free" | "MallocManaged" | "MallocHost" | "HostAlloc" | "FreeHost" | "HostFree"
        | "HostMalloc" | "MallocAsync" | "FreeAsync" | "ExtMallocWithFlags" => C::Allocate,
        _ if call.starts_with("MemCreate")
            || call.starts_with("MemMap")
            || call.starts_with("MemUnmap")
            || call.starts_with("MemRelease")
            || call.starts_with("MemSetAccess")
            || call.starts_with("MemAddress") =>
        {
            C::Allocate
        }
        _ => return None,
    };
    Some(class)
}

/// Annotations and operators with a fixed meaning.
fn classify_range(name: &str) -> Option<HostClass> {
    let class = match name {
        _ if name.starts_with("ProfilerStep#") => C::StepMark,
        _ if name.starts_with("Optimizer.step#") => C::OptimizerStep,
        _ if name.starts_with("enumerate(DataLoader)#") || name.starts_with("enumerate(DataPipe)#") => {
            if name.contains("_MultiProcessing") { C::LoadFromWorkers } else { C::LoadInProcess }
        }
        _ if name.starts_with("autograd::engine::evaluate_function") => C::BackwardNode,
        "aten::item"
        | "aten::_local_scalar_dense"
        | "aten::is_nonzero"
        | "aten::nonzero"
        | "aten::equal"
        | "aten::masked_select"
        | "aten::unique"
        | "aten::_unique2"
        | "aten::allclose"
        | "aten::nonzero_static" => C::ReadBack,
        "aten::to" | "aten::_to_copy" | "aten::copy_" | "aten::cuda" | "aten::cpu" | "aten::pin_memory"
        | "aten::_pin_memory" | "aten::clone" | "aten::contiguous" => C::CopyOp,
        "record_param_comms" => C::Collective,
        _ if name.starts_with("nccl:") || name.starts_with("c10d::") || name.starts_with("gloo:") => {
            C::Collective
        }
        "Python GC" => C::Collect,
        "inductor_compile"
        | "dynamo"
        | "entire_frame_compile"
        | "entire_backward_compile"
        | "backend_compile"
        | "fx_codegen_and_compile"
        | "create_aot_dispatcher_function"
        | "async_compile.wait" => C::Compile,
        _ => return None,
    };
    Some(class)
}

/// Whether `name` is a Python frame or builtin rather than an operator.
#[must_use]
pub(crate) fn is_frame(name: &str) -> bool {
    name.starts_with("<built-in ") || name.starts_with("nn.Module: ") || frame_file(name).is_some()
}

/// The file of a frame `path/file.py(41): function`.
#[must_use]
pub(crate) fn frame_file(name: &str) -> Option<&str> {
    let at = name.find(".py(").map(|at| at + 3).or_else(|| {
        // `<string>(3): f`, `<frozen importlib._bootstrap>(488): _call…`
        name.strip_prefix('<').and_then(|rest| rest.find(">(")).map(|at| at + 2)
    })?;
    name[at + 1..].contains("): ").then(|| &name[..at])
}

/// The function of a frame `path/file.py(41): function`.
#[must_use]
pub(crate) fn frame_function(name: &str) -> &str {
    name.find("): ").map_or(name, |at| &name[at + 3..])
}

/// Whether a frame is the user's own rather than a library's: a Python file that lies
/// neither in `site-packages` nor in the standard library nor in a framework.
#[must_use]
pub(crate) fn is_user_frame(name: &str) -> bool {
    const LIBRARIES: [&str; 26] = [
        "torch/",
        "torchvision/",
        "torchaudio/",
        "torchtext/",
        "transformers/",
        "accelerate/",
        "lightning/",
        "pytorch_lightning/",
        "lightning_fabric/",
        "deepspeed/",
        "megatron/",
        "numpy/",
        "pandas/",
        "datasets/",
        "tokenizers/",
        "triton/",
        "multiprocessing/",
        "concurrent/",
        "importlib/",
        "asyncio/",
        "logging/",
        "apex/",
        "peft/",
        "PIL/",
        "wandb/",
        "tensorboard/",
    ];
    const MODULES: [&str; 16] = [
        "threading.py",
        "contextlib.py",
        "functools.py",
        "selectors.py",
        "queue.py",
        "socket.py",
        "runpy.py",
        "random.py",
        "abc.py",
        "typing.py",
        "copy.py",
        "weakref.py",
        "tempfile.py",
        "json.py",
        "pickle.py",
        "subprocess.py",
    ];
    let Some(file) = frame_file(name) else { return false };
    if file.starts_with('<') {
        return false;
    }
    if file.contains("site-packages/") || file.contains("dist-packages/") || file.contains("/lib/python3") {
        return false;
    }
    !(LIBRARIES.iter().any(|library| file.starts_with(library)) || MODULES.contains(&file))
}

fn classify_frame(name: &str) -> HostClass {
    let Some(file) = frame_file(name) else { return classify_builtin(name) };
    let function = frame_function(name);
    if file.ends_with("torch/serialization.py") && matches!(function, "save" | "_save" | "_legacy_save")
        || file.contains("torch/distributed/checkpoint/") && function.contains("save")
        || file.contains("safetensors/") && function.starts_with("save")
    {
        return C::Checkpoint;
    }
    if file.ends_with("torch/utils/data/dataloader.py") {
        // The iterator's class is not in the frame; only the worker's queue tells it.
        return match function {
            "_try_get_data" | "_get_data" => C::LoadFromWorkers,
            _ => C::Plain,
        };
    }
    if file.ends_with("torch/utils/data/_utils/fetch.py") {
        return C::LoadInProcess;
    }
    if file.ends_with("logging/__init__.py")
        || file.contains("torch/utils/tensorboard/")
        || file.contains("tensorboardX/")
        || file.contains("wandb/")
        || file.contains("mlflow/")
    {
        return C::Log;
    }
    if file.ends_with("torch/cuda/memory.py") && function == "empty_cache" {
        return C::Allocate;
    }
    if file.ends_with("torch/profiler/profiler.py")
        && matches!(function, "stop_trace" | "start_trace" | "prepare_trace")
    {
        return C::Profiler;
    }
    if file.contains("torch/_dynamo/") && (function.contains("compile") || function == "transform")
        || file.contains("torch/_inductor/") && function.contains("compile")
    {
        return C::Compile;
    }
    if file == "threading.py" && matches!(function, "wait" | "join" | "_wait_for_tstate_lock" | "acquire")
        || file.ends_with("selectors.py") && function == "select"
    {
        return C::IdleFrame;
    }
    C::Plain
}

fn classify_builtin(name: &str) -> HostClass {
    let Some(what) = name.strip_prefix("<built-in ") else { return C::Plain };
    let function = what.strip_prefix("function ").or_else(|| what.strip_prefix("method ")).unwrap_or(what);
    let function = function.split([' ', '>']).next().unwrap_or(function);
    match function {
        "collect" if what.starts_with("function collect>") => C::Collect,
        "print" | "fsync" | "flush" => C::Log,
        "write" if what.contains("_io.") || what.contains("IOWrapper") => C::Log,
        "acquire" if what.contains("lock") => C::IdleFrame,
        "poll" if what.contains("select") => C::IdleFrame,
        "_cuda_emptyCache" => C::Allocate,
        "_cuda_synchronize" => C::Synchronise,
        _ => C::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_both_vendors_land_alike() {
        for (name, class) in [
            ("cudaLaunchKernel", C::Launch),
            ("cudaLaunchKernelExC", C::Launch),
            ("cuLaunchKernelEx", C::Launch),
            ("hipLaunchKernel", C::Launch),
            ("hipExtModuleLaunchKernel", C::Launch),
            ("cudaGraphLaunch", C::GraphLaunch),
            ("cudaMemcpyAsync", C::Copy),
            ("hipMemcpyWithStream", C::Copy),
            ("cudaMemsetAsync", C::Launch),
            ("cudaStreamSynchronize", C::Synchronise),
            ("hipDeviceSynchronize", C::Synchronise),
            ("cudaStreamWaitEvent", C::StreamWait),
            ("cudaMalloc", C::Allocate),
            ("cuMemSetAccess", C::Allocate),
            ("cudaEventQuery", C::Plain),
            ("cudaGetLastError", C::Plain),
            ("custom::op", C::Plain),
        ] {
            assert_eq!(classify(name), class, "{name}");
        }
    }

    #[test]
    fn calls_of_cann_are_known_by_their_layer() {
        for (name, class) in [
            ("AscendCL@aclrtSynchronizeStream", C::Synchronise),
            ("AscendCL@aclrtSynchronizeDeviceWithTimeout", C::Synchronise),
            ("AscendCL@aclrtMemcpyAsync", C::Copy),
            ("AscendCL@aclrtStreamWaitEvent", C::StreamWait),
            ("AscendCL@aclrtRecordEvent", C::EventRecord),
            ("AscendCL@aclrtMallocAlign32", C::Allocate),
            ("Runtime@DevMalloc", C::Allocate),
            ("AscendCL@aclrtFree", C::Allocate),
            ("Node@launch", C::Launch),
            ("AscendCL@aclrtLaunchKernelWithConfig", C::Launch),
            ("torch_to_npu", C::Launch),
            ("AscendCL@aclnnAdd", C::Plain),
            ("Dequeue@aclnnAdd", C::Plain),
            ("Python GC", C::Collect),
        ] {
            assert_eq!(classify(name), class, "{name}");
        }
    }

    #[test]
    fn frames_are_told_from_operators_and_the_users_from_libraries() {
        assert_eq!(classify("<built-in function collect>"), C::Collect);
        assert_eq!(classify("torch/serialization.py(944): save"), C::Checkpoint);
        assert_eq!(classify("torch/utils/data/dataloader.py(1263): _try_get_data"), C::LoadFromWorkers);
        assert_eq!(classify("aten::collect"), C::Plain);
        assert!(is_user_frame("train.py(50): step"));
        assert!(is_user_frame("model.py(49): norm"));
        assert!(is_user_frame("/home/me/train/loop.py(12): step"));
        assert!(is_user_frame("/home/me/project/data.py(41): __getitem__"));
        assert!(!is_user_frame("torch/optim/adam.py(214): step"));
        assert!(!is_user_frame("/usr/lib/python3.12/threading.py(355): wait"));
        assert!(!is_user_frame("/x/site-packages/foo/bar.py(1): f"));
        assert!(!is_user_frame("<built-in function next>"));
        assert!(!is_user_frame("aten::mm"));
        for name in [
            "torch/nn/functional.py(2914): layer_norm",
            "/usr/lib/python3.12/threading.py(1): run",
            "/venv/lib/python3.12/site-packages/transformers/trainer.py(1): train",
            "<built-in function gelu>",
            "nn.Module: Linear_0",
            "<string>(1): <module>",
        ] {
            assert!(!is_user_frame(name), "{name}");
        }
        assert_eq!(frame_function("train.py(157): <lambda>"), "<lambda>");
        assert_eq!(frame_file("<string>(3): f"), Some("<string>"));
    }
}
