//! Settings in a program's environment and source that are known to cost speed.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Check, State};
use crate::tree::Member;

/// Variables of NCCL that replace what it would find out by itself.
const PINNED: [&str; 8] = [
    "NCCL_ALGO",
    "NCCL_PROTO",
    "NCCL_P2P_LEVEL",
    "NCCL_MIN_NCHANNELS",
    "NCCL_MAX_NCHANNELS",
    "NCCL_BUFFSIZE",
    "NCCL_NSOCKS_PERTHREAD",
    "NCCL_SOCKET_NTHREADS",
];

/// What is known of a variable with this value; nothing is said of the others.
pub(super) fn setting(name: &str, value: &str) -> Option<(&'static str, State)> {
    let value = value.trim();
    let on = !matches!(value.to_ascii_lowercase().as_str(), "" | "0" | "false" | "off" | "no");
    match name {
        "CUDA_LAUNCH_BLOCKING" if on => Some(("look-env-blocking", State::Bad)),
        "PYTORCH_NO_CUDA_MEMORY_CACHING" if on => Some(("look-env-no-caching", State::Bad)),
        "CUDA_VISIBLE_DEVICES" if matches!(value, "" | "-1") => Some(("look-env-no-gpu", State::Bad)),
        "CUDA_DEVICE_MAX_CONNECTIONS" if value == "1" => Some(("look-env-connections", State::Suspect)),
        "NCCL_P2P_DISABLE" | "NCCL_SHM_DISABLE" | "NCCL_IB_DISABLE" | "NCCL_NVLS_ENABLE"
            if on == (name != "NCCL_NVLS_ENABLE") =>
        {
            Some(("look-env-nccl", State::Suspect))
        }
        "NCCL_DEBUG" if matches!(value, "INFO" | "TRACE") => Some(("look-env-nccl-debug", State::Suspect)),
        "NCCL_BLOCKING_WAIT" | "TORCH_NCCL_BLOCKING_WAIT" if on => {
            Some(("look-env-nccl-blocking", State::Suspect))
        }
        "TORCH_DISTRIBUTED_DEBUG" if value.eq_ignore_ascii_case("DETAIL") => {
            Some(("look-env-dist-debug", State::Bad))
        }
        "NVIDIA_TF32_OVERRIDE" if value == "0" => Some(("look-env-tf32", State::Suspect)),
        "TORCHDYNAMO_DISABLE" | "TORCH_COMPILE_DISABLE" if on => {
            Some(("look-env-no-compile", State::Suspect))
        }
        "PYTHONDEVMODE" if on => Some(("look-env-debug", State::Suspect)),
        "PYTHONMALLOC" if value.contains("debug") => Some(("look-env-debug", State::Suspect)),
        "LD_PRELOAD" if value.contains("asan") || value.contains("tsan") => {
            Some(("look-env-debug", State::Bad))
        }
        "CUBLAS_WORKSPACE_CONFIG" if on => Some(("look-env-deterministic", State::Suspect)),
        _ if PINNED.contains(&name) => Some(("look-env-nccl-pinned", State::Suspect)),
        _ => None,
    }
}

/// Calls that slow every step and are meant for debugging or for exact repetition.
const CALLS: [(&str, &str, State); 4] = [
    ("set_detect_anomaly(True", "look-source-anomaly", State::Bad),
    ("detect_anomaly()", "look-source-anomaly", State::Bad),
    ("detect_anomaly=True", "look-source-anomaly", State::Bad),
    ("use_deterministic_algorithms(True", "look-source-deterministic", State::Suspect),
];

/// What the script that a process runs says of itself: the file that its command names.
pub(super) fn of_source(driver: &Member) -> Vec<Check> {
    const LARGEST: u64 = 4 << 20;
    let Some(script) = driver.command.iter().skip(1).find(|word| word.ends_with(".py")) else {
        return Vec::new();
    };
    let root = PathBuf::from(format!("/proc/{}/root", driver.pid));
    let path = match Path::new(script).strip_prefix("/") {
        Ok(inside) => root.join(inside),
        Err(_) => PathBuf::from(format!("/proc/{}/cwd", driver.pid)).join(script),
    };
    let is_small = fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() <= LARGEST);
    let text = if is_small { fs::read_to_string(&path).unwrap_or_default() } else { String::new() };
    let name = Path::new(script).file_name().map(|name| name.to_string_lossy().into_owned());
    calls(&text)
        .into_iter()
        .map(|(line, id, state)| {
            let place = format!("{}:{line}", name.clone().unwrap_or_default());
            Check::new(id, state, &[("place", &place)])
        })
        .collect()
}

/// The first line of each such call.
fn calls(text: &str) -> Vec<(usize, &'static str, State)> {
    let mut found: Vec<(usize, &'static str, State)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let code = line.split('#').next().unwrap_or("");
        for (call, id, state) in CALLS {
            if code.contains(call) && !found.iter().any(|(_, known, _)| *known == id) {
                found.push((at + 1, id, state));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_settings_are_judged_by_their_value() {
        let id = |name, value| setting(name, value).map(|(id, _)| id);
        assert_eq!(setting("CUDA_LAUNCH_BLOCKING", "1"), Some(("look-env-blocking", State::Bad)));
        assert_eq!(id("CUDA_LAUNCH_BLOCKING", "0"), None);
        assert_eq!(id("CUDA_VISIBLE_DEVICES", "0,1"), None);
        assert_eq!(id("CUDA_VISIBLE_DEVICES", ""), Some("look-env-no-gpu"));
        assert_eq!(id("NCCL_P2P_DISABLE", "1"), Some("look-env-nccl"));
        assert_eq!((id("NCCL_NVLS_ENABLE", "0"), id("NCCL_NVLS_ENABLE", "1")), (Some("look-env-nccl"), None));
        assert_eq!(id("TORCH_DISTRIBUTED_DEBUG", "DETAIL"), Some("look-env-dist-debug"));
        assert_eq!(id("NCCL_ALGO", "Ring"), Some("look-env-nccl-pinned"));
        assert_eq!(id("PYTHONMALLOC", "malloc_debug"), Some("look-env-debug"));
        assert_eq!(id("RANK", "1"), None);
    }

    #[test]
    fn calls_count_where_they_are_made() {
        let text = "import torch\n# torch.autograd.set_detect_anomaly(True)\nwith torch.autograd.detect_anomaly():\n  pass\n\
            torch.autograd.set_detect_anomaly(True)\ntorch.use_deterministic_algorithms(True)\n";
        assert_eq!(
            calls(text),
            [(3, "look-source-anomaly", State::Bad), (6, "look-source-deterministic", State::Suspect)]
        );
        assert!(calls("").is_empty());
    }
}
