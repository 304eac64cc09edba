//! GPUs through NVML, which is looked for when the program runs: without it everything else goes on.

use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::gpm::{GpmSample, gpm_metrics_get};
use nvml_wrapper::struct_wrappers::device::ProcessInfo;
use nvml_wrapper::{Device, Nvml};

use crate::Missing;
use crate::clock::{now_ns, seconds};
use crate::links::{Link, links, nvlinks};

/// Names of the library, the first that loads is used. `WHYIDLE_NVML` names another one.
const LIBRARIES: [&str; 2] = ["libnvidia-ml.so.1", "libnvidia-ml.so"];

/// Utilisation counters of the card that can be read between two samples, with their columns.
const GPM: [(&str, GpmMetricId); 14] = [
    ("graphics_util", GpmMetricId::GraphicsUtil),
    ("sm_util", GpmMetricId::SmUtil),
    ("sm_occupancy", GpmMetricId::SmOccupancy),
    ("integer_util", GpmMetricId::IntegerUtil),
    ("any_tensor_util", GpmMetricId::AnyTensorUtil),
    ("hmma_tensor_util", GpmMetricId::HmmaTensorUtil),
    ("dram_bw_util", GpmMetricId::DramBwUtil),
    ("fp32_util", GpmMetricId::Fp32Util),
    ("fp16_util", GpmMetricId::Fp16Util),
    ("fp64_util", GpmMetricId::Fp64Util),
    ("pcie_tx_per_sec", GpmMetricId::PcieTxPerSec),
    ("pcie_rx_per_sec", GpmMetricId::PcieRxPerSec),
    ("nvlink_total_rx_per_sec", GpmMetricId::NvlinkTotalRxPerSec),
    ("nvlink_total_tx_per_sec", GpmMetricId::NvlinkTotalTxPerSec),
];

/// Columns of `nvml.csv`.
pub(crate) fn columns() -> String {
    let gpm: Vec<&str> = GPM.iter().map(|(name, _)| *name).collect();
    format!(
        "t,gpu,util_gpu,util_mem,power_mw,energy_mj,sm_mhz,mem_mhz,mem_used,mem_total,temp_c,throttle_reasons,\
         power_limit_mw,{}",
        gpm.join(",")
    )
}

/// What is said once of a GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Card {
    /// Physical number.
    pub index: u32,
    /// Product name.
    pub name: String,
    /// Unique id.
    pub uuid: String,
    /// Bytes of memory.
    pub memory: u64,
    /// Power limit in force, mW.
    pub power_limit_mw: Option<u32>,
    /// Power limit as shipped, mW.
    pub power_default_mw: Option<u32>,
    /// PCIe generation and width now.
    pub pcie: Option<(u32, u32)>,
    /// PCIe generation and width that card and slot allow.
    pub pcie_most: Option<(u32, u32)>,
    /// Highest clock of the multiprocessors, MHz.
    pub sm_most_mhz: Option<u32>,
    /// Clock that applications are given, MHz; below the highest where somebody set it.
    pub sm_set_mhz: Option<u32>,
    /// Why the clock is not higher now, as NVML's bits.
    pub throttle: Option<u64>,
    /// Active NVLinks, and all of them.
    pub nvlinks: Option<(u32, u32)>,
    /// Processes that compute on it, with their memory in bytes where known. Numbers are the host's.
    pub processes: Holders,
    /// Counters of unit activity can be read.
    pub has_gpm: bool,
}

/// Processes that hold memory of a GPU, with the bytes where known.
pub type Holders = Vec<(u32, Option<u64>)>;

/// The GPUs of this machine.
pub struct Gpus {
    nvml: &'static Nvml,
    devices: Vec<Device<'static>>,
    last: Vec<Option<GpmSample<'static>>>,
    gpm: Vec<bool>,
    rounds: u64,
    /// Reading failed this many times in a row.
    failures: u32,
}

/// Memory, clocks, limits and temperature change slowly, and each costs a call into the driver.
const SLOW_EVERY: u64 = 4;
/// The energy counter costs 5 ms of CPU a call on an H200, fifty times any other.
const ENERGY_EVERY: u64 = 64;
/// Rounds at the start whose counters are left out: between the first two samples they read almost nothing.
const SETTLING: u64 = 2;
/// After so many failed rounds the library is given up: the driver was unloaded or the card fell off.
const GIVE_UP: u32 = 12;

/// After so many failed rounds, whoever can start the library anew does.
const SILENT: u32 = 3;

impl Gpus {
    /// Opens the library and every GPU.
    ///
    /// # Errors
    /// Where there is no library, no driver or no GPU.
    pub fn open() -> Result<Self, Missing> {
        let nvml: &'static Nvml = Box::leak(Box::new(load()?));
        let failed = |error: NvmlError| Missing::new("gpu", "nvml-failed", error.to_string());
        let count = nvml.device_count().map_err(failed)?;
        let devices: Vec<Device<'static>> =
            (0..count).filter_map(|at| nvml.device_by_index(at).ok()).collect();
        if devices.is_empty() {
            return Err(Missing::new("gpu", "no-gpu", String::new()));
        }
        let gpm = devices.iter().map(|device| device.gpm_support().unwrap_or(false)).collect();
        let last = devices.iter().map(|_| None).collect();
        Ok(Self { nvml, devices, last, gpm, rounds: 0, failures: 0 })
    }

    /// Version of the driver.
    #[must_use]
    pub fn driver(&self) -> Option<String> {
        self.nvml.sys_driver_version().ok()
    }

    /// Highest version of CUDA that the driver serves, as `13.0`.
    #[must_use]
    pub fn cuda(&self) -> Option<String> {
        let version = self.nvml.sys_cuda_driver_version().ok()?;
        Some(format!("{}.{}", version / 1_000, version % 1_000 / 10))
    }

    /// What is known of each GPU.
    #[must_use]
    pub fn cards(&self) -> Vec<Card> {
        let card = |(at, device): (usize, &Device<'static>)| {
            let processes = device.running_compute_processes().unwrap_or_default();
            Card {
                index: at as u32,
                name: device.name().unwrap_or_default(),
                uuid: device.uuid().unwrap_or_default(),
                memory: device.memory_info().map_or(0, |memory| memory.total),
                power_limit_mw: device.enforced_power_limit().ok(),
                power_default_mw: device.power_management_limit_default().ok(),
                pcie: device.current_pcie_link_gen().ok().zip(device.current_pcie_link_width().ok()),
                pcie_most: device.max_pcie_link_gen().ok().zip(device.max_pcie_link_width().ok()),
                sm_most_mhz: device.max_clock_info(Clock::SM).ok(),
                sm_set_mhz: device.applications_clock(Clock::SM).ok(),
                throttle: device.current_throttle_reasons().ok().map(|bits| bits.bits()),
                nvlinks: nvlinks(device),
                processes: with_bytes(&processes),
                has_gpm: self.gpm[at],
            }
        };
        self.devices.iter().enumerate().map(card).collect()
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.devices.len()
    }

    /// Who holds memory of each GPU to compute on it, by the driver's numbers, with the bytes where known; `None` where
    /// a card does not answer.
    #[must_use]
    pub fn holders(&self) -> Vec<Option<Holders>> {
        self.devices
            .iter()
            .map(|device| device.running_compute_processes().ok().map(|all| with_bytes(&all)))
            .collect()
    }

    /// How the GPUs reach each other.
    #[must_use]
    pub fn links(&self) -> Vec<Link> {
        links(&self.devices, |at| self.nvml.device_by_index(at).ok())
    }

    /// A row of `nvml.csv` for each GPU in `wanted`; all GPUs where it is empty.
    pub(crate) fn rows(&mut self, wanted: &[u32]) -> Vec<String> {
        let mut rows = Vec::new();
        let mut answered = false;
        let slow = self.rounds.is_multiple_of(SLOW_EVERY);
        let rare = self.rounds.is_multiple_of(ENERGY_EVERY);
        self.rounds += 1;
        for at in 0..self.devices.len() {
            if !wanted.is_empty() && !wanted.contains(&(at as u32)) {
                continue;
            }
            let device = &self.devices[at];
            let t = now_ns();
            let use_of = device.utilization_rates().ok();
            let memory = slow.then(|| device.memory_info().ok()).flatten();
            answered |= use_of.is_some() || memory.is_some();
            let clock = |clock| text(slow.then(|| device.clock_info(clock).ok()).flatten());
            let mut fields = vec![
                seconds(t),
                at.to_string(),
                text(use_of.as_ref().map(|use_of| use_of.gpu)),
                text(use_of.as_ref().map(|use_of| use_of.memory)),
                text(device.power_usage().ok()),
                text(rare.then(|| device.total_energy_consumption().ok()).flatten()),
                clock(Clock::SM),
                clock(Clock::Memory),
                text(memory.as_ref().map(|memory| memory.used)),
                text(memory.as_ref().map(|memory| memory.total)),
                text(slow.then(|| device.temperature(TemperatureSensor::Gpu).ok()).flatten()),
                text(slow.then(|| device.current_throttle_reasons().ok().map(|bits| bits.bits())).flatten()),
                text(slow.then(|| device.enforced_power_limit().ok()).flatten()),
            ];
            fields.extend(self.activity(at));
            rows.push(fields.join(","));
        }
        self.failures = if answered { 0 } else { self.failures + 1 };
        rows
    }

    /// NVML stopped answering for good.
    pub(crate) fn is_gone(&self) -> bool {
        self.failures >= GIVE_UP
    }

    /// NVML did not answer lately: after a reset it must be started anew.
    pub(crate) fn is_silent(&self) -> bool {
        self.failures >= SILENT
    }

    /// What the units did since the last sample, in percent; PCIe and NVLink in MB/s.
    fn activity(&mut self, at: usize) -> Vec<String> {
        let nothing = || vec![String::new(); GPM.len()];
        if !self.gpm[at] {
            return nothing();
        }
        let Ok(now) = self.devices[at].gpm_sample() else {
            self.gpm[at] = false;
            return nothing();
        };
        let ids = GPM.map(|(_, id)| id);
        let values =
            self.last[at].as_ref().and_then(|last| gpm_metrics_get(self.nvml, last, &now, &ids).ok());
        self.last[at] = Some(now);
        let Some(values) = values.filter(|_| self.rounds > SETTLING) else { return nothing() };
        let value = |result: Result<_, NvmlError>| {
            let metric: nvml_wrapper::struct_wrappers::gpm::GpmMetricResult = result.ok()?;
            Some(format!("{:.4}", metric.value))
        };
        values.into_iter().map(|result| text(value(result))).collect()
    }
}

fn with_bytes(processes: &[ProcessInfo]) -> Holders {
    let bytes = |process: &ProcessInfo| match process.used_gpu_memory {
        UsedGpuMemory::Used(bytes) => (process.pid, Some(bytes)),
        UsedGpuMemory::Unavailable => (process.pid, None),
    };
    processes.iter().map(bytes).collect()
}

fn text(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn load() -> Result<Nvml, Missing> {
    let named = std::env::var("WHYIDLE_NVML").ok();
    let names: Vec<&str> = named.as_deref().into_iter().chain(LIBRARIES).collect();
    let mut last = None;
    for name in names {
        match Nvml::builder().lib_path(name.as_ref()).init() {
            Ok(nvml) => return Ok(nvml),
            Err(NvmlError::LibloadingError(_)) => {}
            Err(error) => last = Some(error),
        }
    }
    Err(match last {
        None => Missing::new("gpu", "no-nvml", String::new()),
        Some(NvmlError::DriverNotLoaded) => Missing::new("gpu", "no-driver", String::new()),
        Some(NvmlError::NoPermission) => Missing::new("gpu", "nvml-permission", String::new()),
        Some(error) => Missing::new("gpu", "nvml-failed", error.to_string()),
    })
}
