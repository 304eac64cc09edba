//! A stand-in for `libnvidia-ml`: the C functions that whyidle calls, answered from a recording. Tests point
//! `WHYIDLE_NVML` at it, so that the real way – find the library, look its functions up, call them – is tested on
//! machines without a GPU. `WHYIDLE_STANDIN` names the `nvml.csv` to replay.
#![expect(
    unsafe_code,
    reason = "C functions that write through the caller's pointers, under the names of the original"
)]
#![allow(clippy::missing_safety_doc, reason = "NVML's own documentation says what each pointer must be")]

pub mod links;
pub mod replay;

use std::ffi::{c_char, c_uint, c_ulonglong};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlGpmMetricsGet_t, nvmlGpmSample_t, nvmlGpmSupport_t, nvmlMemory_v2_t, nvmlProcessInfo_t,
    nvmlReturn_t, nvmlUtilization_t,
};
use replay::Replay;

const SUCCESS: nvmlReturn_t = 0;
const INVALID_ARGUMENT: nvmlReturn_t = 2;
const NOT_SUPPORTED: nvmlReturn_t = 3;
const INSUFFICIENT_SIZE: nvmlReturn_t = 7;
const UNKNOWN: nvmlReturn_t = 999;

/// Columns of the counters of unit activity, by NVML's number.
const GPM: [(c_uint, &str); 14] = [
    (1, "graphics_util"),
    (2, "sm_util"),
    (3, "sm_occupancy"),
    (4, "integer_util"),
    (5, "any_tensor_util"),
    (7, "hmma_tensor_util"),
    (10, "dram_bw_util"),
    (11, "fp64_util"),
    (12, "fp32_util"),
    (13, "fp16_util"),
    (20, "pcie_tx_per_sec"),
    (21, "pcie_rx_per_sec"),
    (60, "nvlink_total_rx_per_sec"),
    (61, "nvlink_total_tx_per_sec"),
];

static REPLAY: LazyLock<Mutex<Replay>> = LazyLock::new(|| Mutex::new(Replay::from_environment()));

fn replay() -> MutexGuard<'static, Replay> {
    REPLAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Handles are numbers from 1 on.
fn number(device: nvmlDevice_t) -> usize {
    (device as usize).wrapping_sub(1)
}

/// Writes a value of the row in force.
unsafe fn put<T>(device: nvmlDevice_t, column: &str, out: *mut T, cast: impl Fn(f64) -> T) -> nvmlReturn_t {
    let Some(value) = replay().value(number(device), column) else { return NOT_SUPPORTED };
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    unsafe { out.write(cast(value)) };
    SUCCESS
}

unsafe fn put_text(text: &str, out: *mut c_char, length: c_uint) -> nvmlReturn_t {
    if text.len() >= length as usize {
        return INVALID_ARGUMENT;
    }
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    unsafe {
        out.copy_from(text.as_ptr().cast(), text.len());
        out.add(text.len()).write(0);
    }
    SUCCESS
}

macro_rules! values {
    ($($(#[$doc:meta])* $name:ident => $column:literal;)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(device: nvmlDevice_t, out: *mut c_uint) -> nvmlReturn_t {
            // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
            unsafe { put(device, $column, out, |value| value as c_uint) }
        }
    )*};
}

values! {
    /// Power in mW.
    nvmlDeviceGetPowerUsage => "power_mw";
    /// The limit in force, mW.
    nvmlDeviceGetEnforcedPowerLimit => "power_limit_mw";
    /// The limit as shipped, mW.
    nvmlDeviceGetPowerManagementDefaultLimit => "power_limit_mw";
    /// Generation of the PCIe link now.
    nvmlDeviceGetCurrPcieLinkGeneration => "pcie_generation";
    /// Width of the PCIe link now.
    nvmlDeviceGetCurrPcieLinkWidth => "pcie_width";
    /// Generation that card and slot allow.
    nvmlDeviceGetMaxPcieLinkGeneration => "pcie_generation_most";
    /// Width that card and slot allow.
    nvmlDeviceGetMaxPcieLinkWidth => "pcie_width_most";
}

/// Starts the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlInit_v2() -> nvmlReturn_t {
    // Whoever starts the library anew, as after a reset, is answered again.
    replay().revive();
    if replay().count() == 0 { UNKNOWN } else { SUCCESS }
}

/// Ends the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlShutdown() -> nvmlReturn_t {
    SUCCESS
}

/// Words for a result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlErrorString(_: nvmlReturn_t) -> *const c_char {
    c"stand-in".as_ptr()
}

/// Version of the driver.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetDriverVersion(out: *mut c_char, length: c_uint) -> nvmlReturn_t {
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    unsafe { put_text("580.159.04", out, length) }
}

/// CUDA version of the driver.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetCudaDriverVersion_v2(out: *mut i32) -> nvmlReturn_t {
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    unsafe { out.write(13_000) };
    SUCCESS
}

/// How many GPUs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount_v2(out: *mut c_uint) -> nvmlReturn_t {
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    unsafe { out.write(replay().count() as c_uint) };
    SUCCESS
}

/// A GPU's handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(
    index: c_uint,
    out: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    if index as usize >= replay().count() {
        return INVALID_ARGUMENT;
    }
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    unsafe { out.write((index as usize + 1) as nvmlDevice_t) };
    SUCCESS
}

/// A GPU's name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetName(
    _: nvmlDevice_t,
    out: *mut c_char,
    length: c_uint,
) -> nvmlReturn_t {
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    unsafe { put_text("NVIDIA H200", out, length) }
}

/// A GPU's id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUUID(
    device: nvmlDevice_t,
    out: *mut c_char,
    length: c_uint,
) -> nvmlReturn_t {
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    unsafe { put_text(&format!("GPU-{:032}", number(device)), out, length) }
}

/// Utilisation; each call goes on to the next row.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUtilizationRates(
    device: nvmlDevice_t,
    out: *mut nvmlUtilization_t,
) -> nvmlReturn_t {
    let mut replay = replay();
    if !replay.step(number(device)) {
        return UNKNOWN;
    }
    let value = |column| replay.value(number(device), column).map(|value| value as c_uint);
    let (Some(gpu), Some(memory)) = (value("util_gpu"), value("util_mem")) else { return NOT_SUPPORTED };
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    unsafe { out.write(nvmlUtilization_t { gpu, memory }) };
    SUCCESS
}

/// Who holds memory to compute: the lines `gpu pid bytes` of the file that `WHYIDLE_STANDIN_HOLDERS` names, as they are
/// now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(
    device: nvmlDevice_t,
    count: *mut c_uint,
    out: *mut nvmlProcessInfo_t,
) -> nvmlReturn_t {
    let holders = replay::holders(number(device));
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    let room = unsafe { count.read() } as usize;
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    unsafe { count.write(holders.len() as c_uint) };
    if holders.is_empty() {
        return SUCCESS;
    }
    if out.is_null() || room < holders.len() {
        return INSUFFICIENT_SIZE;
    }
    for (at, (pid, bytes)) in holders.into_iter().enumerate() {
        let info = nvmlProcessInfo_t {
            pid,
            usedGpuMemory: bytes,
            gpuInstanceId: c_uint::MAX,
            computeInstanceId: c_uint::MAX,
        };
        // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
        unsafe { out.add(at).write(info) };
    }
    SUCCESS
}

/// Memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMemoryInfo_v2(
    device: nvmlDevice_t,
    out: *mut nvmlMemory_v2_t,
) -> nvmlReturn_t {
    let replay = replay();
    let value = |column| replay.value(number(device), column).map(|value| value as c_ulonglong);
    let (Some(total), Some(used)) = (value("mem_total"), value("mem_used")) else { return UNKNOWN };
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    let version = unsafe { (*out).version };
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    unsafe {
        out.write(nvmlMemory_v2_t { version, total, reserved: 0, free: total - used.min(total), used })
    };
    SUCCESS
}

/// A clock: 1 is that of the multiprocessors, 2 the memory's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetClockInfo(
    device: nvmlDevice_t,
    kind: c_uint,
    out: *mut c_uint,
) -> nvmlReturn_t {
    let column = if kind == 2 { "mem_mhz" } else { "sm_mhz" };
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    unsafe { put(device, column, out, |value| value as c_uint) }
}

/// The temperature.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTemperature(
    device: nvmlDevice_t,
    _: c_uint,
    out: *mut c_uint,
) -> nvmlReturn_t {
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    unsafe { put(device, "temp_c", out, |value| value as c_uint) }
}

/// Why the clock is not higher.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCurrentClocksThrottleReasons(
    device: nvmlDevice_t,
    out: *mut c_ulonglong,
) -> nvmlReturn_t {
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    unsafe { put(device, "throttle_reasons", out, |value| value as c_ulonglong) }
}

/// Whether there are counters of unit activity.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmQueryDeviceSupport(
    _: nvmlDevice_t,
    out: *mut nvmlGpmSupport_t,
) -> nvmlReturn_t {
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    unsafe { (*out).isSupportedDevice = 1 };
    SUCCESS
}

/// Makes room for a sample: the number of its GPU.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmSampleAlloc(out: *mut nvmlGpmSample_t) -> nvmlReturn_t {
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    unsafe { out.write(Box::into_raw(Box::new(0_usize)).cast()) };
    SUCCESS
}

/// Gives a sample back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmSampleFree(sample: nvmlGpmSample_t) -> nvmlReturn_t {
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    drop(unsafe { Box::from_raw(sample.cast::<usize>()) });
    SUCCESS
}

/// Takes a sample.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmSampleGet(device: nvmlDevice_t, sample: nvmlGpmSample_t) -> nvmlReturn_t {
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    unsafe { sample.cast::<usize>().write(number(device)) };
    SUCCESS
}

/// What happened between two samples: the row in force.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmMetricsGet(request: *mut nvmlGpmMetricsGet_t) -> nvmlReturn_t {
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    let request = unsafe { &mut *request };
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    let gpu = unsafe { *request.sample2.cast::<usize>() };
    let replay = replay();
    for metric in request.metrics.iter_mut().take(request.numMetrics as usize) {
        let column = GPM.iter().find(|(id, _)| *id == metric.metricId).map(|(_, column)| *column);
        let value = column.and_then(|column| replay.value(gpu, column));
        metric.nvmlReturn = if value.is_some() { SUCCESS } else { NOT_SUPPORTED };
        metric.value = value.unwrap_or(0.0);
    }
    SUCCESS
}
