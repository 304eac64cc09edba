//! Who made the device of a trace.

use whyidle_model::{HostKind, Recorder, Trace, Vendor};

/// The maker of the device whose activities `trace` holds.
///
/// By what recorded it; else by the product's name, by versions in the header, and where there is no header by the
/// names of runtime calls. Without any sign of another one it is NVIDIA's: traces without device properties are CUDA's.
#[must_use]
pub fn vendor(trace: &Trace) -> Vendor {
    let meta = &trace.meta;
    if meta.recorder == Recorder::TorchNpu {
        return Vendor::Huawei;
    }
    if let Some(gpu) = meta.devices.first() {
        return vendor_of_product(&gpu.name);
    }
    let by_version = meta.versions.iter().any(|(key, _)| key.starts_with("hip_") || key.starts_with("roc"));
    if by_version || calls_hip(trace) { Vendor::Amd } else { Vendor::Nvidia }
}

/// The maker of the product called `name`.
#[must_use]
pub fn vendor_of_product(name: &str) -> Vendor {
    let upper = name.to_ascii_uppercase();
    for word in upper.split(|c: char| !c.is_ascii_alphanumeric()) {
        match word {
            "AMD" | "INSTINCT" | "RADEON" => return Vendor::Amd,
            "ASCEND" => return Vendor::Huawei,
            _ => {}
        }
    }
    Vendor::Nvidia
}

/// A runtime call of HIP is in the trace; kernels may be called anything.
fn calls_hip(trace: &Trace) -> bool {
    let is_hip = trace.names.map(|name| {
        name.strip_prefix("hip").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
    });
    let host = &trace.host;
    (0..host.len()).any(|row| host.kind[row] == HostKind::Runtime && is_hip[host.name[row].index()])
}

#[cfg(test)]
mod tests {
    use whyidle_model::DeviceProperties;

    use super::*;
    use crate::testing::Made;

    #[test]
    fn the_maker_follows_from_what_the_trace_says_of_itself() {
        assert_eq!(vendor(&Trace::default()), Vendor::Nvidia);
        let made = Made::new().call("hipStreamSynchronize", 0, 5);
        assert_eq!(vendor(&made.trace), Vendor::Amd);
        // A kernel's or operator's name is no call.
        let made = Made::new().op("hipify::op", 1, 0, 5).kernel("hipCubScan", 0, 5, 5);
        assert_eq!(vendor(&made.trace), Vendor::Nvidia);
        for (name, expected) in [
            ("AMD Instinct MI300X", Vendor::Amd),
            ("Radeon RX 7900 XTX", Vendor::Amd),
            ("NVIDIA H200", Vendor::Nvidia),
            ("Tesla V100-SXM2-16GB", Vendor::Nvidia),
        ] {
            let mut trace = Trace::default();
            trace
                .meta
                .devices
                .push(DeviceProperties { name: name.to_owned(), ..DeviceProperties::default() });
            assert_eq!(vendor(&trace), expected, "{name}");
        }
        let mut trace = Trace::default();
        trace.meta.versions.push(("hip_runtime_version".to_owned(), "60443483".to_owned()));
        assert_eq!(vendor(&trace), Vendor::Amd);
        trace.meta.recorder = Recorder::TorchNpu;
        assert_eq!(vendor(&trace), Vendor::Huawei);
    }
}
