//! How the GPUs reach each other, from optional columns: `p2p` and `p2p_nvlink` hold the number of NVML's status,
//! `topology` that of its level, `nvlinks` and `nvlinks_active` how many links there are. Both cards of a pair say the
//! same; the lower one is asked.

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlReturn_t};

use super::{INVALID_ARGUMENT, NOT_SUPPORTED, SUCCESS, number, put, replay};

/// Which capability is asked for: links of NVLink.
const NVLINK: c_uint = 2;

/// Whether one GPU can use another's memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetP2PStatus(
    one: nvmlDevice_t,
    _: nvmlDevice_t,
    capability: c_uint,
    out: *mut c_uint,
) -> nvmlReturn_t {
    let column = if capability == NVLINK { "p2p_nvlink" } else { "p2p" };
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    unsafe { put(one, column, out, |value| value as c_uint) }
}

/// How far apart two GPUs are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTopologyCommonAncestor(
    one: nvmlDevice_t,
    _: nvmlDevice_t,
    out: *mut c_uint,
) -> nvmlReturn_t {
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    unsafe { put(one, "topology", out, |value| value as c_uint) }
}

/// Whether a link is active.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetNvLinkState(
    device: nvmlDevice_t,
    link: c_uint,
    out: *mut c_uint,
) -> nvmlReturn_t {
    let replay = replay();
    let value = |column| replay.value(number(device), column).map(|value| value as c_uint);
    let Some(all) = value("nvlinks") else { return NOT_SUPPORTED };
    if link >= all {
        return INVALID_ARGUMENT;
    }
    // SAFETY: the pointer is one that NVML asks its caller for: valid, and of this type.
    unsafe { out.write(c_uint::from(link < value("nvlinks_active").unwrap_or(all))) };
    SUCCESS
}
