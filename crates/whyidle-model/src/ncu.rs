//! Kernels that Nsight Compute measured one by one: what each did on the multiprocessors.
//!
//! One row per launch that was profiled. Nsight Compute replays a launch several times, one after the other and with
//! caches emptied and clocks as the user chose: lengths are those of the kernel alone, not of the program.

use crate::{ImportNotes, Interner, Sym};

macro_rules! table {
    ($(#[$outer:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $id:literal, $unit:literal;)* }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(usize)]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// Every one, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The name that Nsight Compute's raw page has for it.
            #[must_use]
            pub fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)* }
            }

            /// The unit in which it is kept; empty for a bare number.
            #[must_use]
            pub fn unit(self) -> &'static str {
                match self { $(Self::$variant => $unit,)* }
            }
        }
    };
}

table! {
    /// A figure of a kernel. Percentages are of the peak that the card can sustain, or of what the doc comment says.
    NcuMetric {
        /// How long it ran.
        Duration = "gpu__time_duration.sum", "ns";
        /// Throughput of the multiprocessors: the busiest of their parts, of the whole length.
        Sm = "sm__throughput.avg.pct_of_peak_sustained_elapsed", "%";
        /// Throughput of memory: the busiest of caches and DRAM, of the whole length.
        Memory = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "%";
        /// Throughput of DRAM alone.
        Dram = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "%";
        /// Throughput of the second-level cache.
        L2 = "lts__throughput.avg.pct_of_peak_sustained_elapsed", "%";
        /// Throughput of the first-level cache, of the time in which it was active.
        L1 = "l1tex__throughput.avg.pct_of_peak_sustained_active", "%";
        /// Cycles that passed.
        Elapsed = "gpc__cycles_elapsed.max", "cycle";
        /// Cycles in which a multiprocessor held a warp, mean of all.
        Active = "sm__cycles_active.avg", "cycle";
        /// Warps held, of what a multiprocessor can hold, in the cycles in which it held any.
        Occupancy = "sm__warps_active.avg.pct_of_peak_sustained_active", "%";
        /// Warps that it could hold at most, by registers, shared memory and block size.
        OccupancyLimit = "sm__maximum_warps_per_active_cycle_pct", "%";
        /// Blocks that fit a multiprocessor by its registers.
        LimitRegisters = "launch__occupancy_limit_registers", "block";
        /// By its shared memory.
        LimitShared = "launch__occupancy_limit_shared_mem", "block";
        /// By its warps.
        LimitWarps = "launch__occupancy_limit_warps", "block";
        /// By the number of blocks that it can hold.
        LimitBlocks = "launch__occupancy_limit_blocks", "block";
        /// By its barriers.
        LimitBarriers = "launch__occupancy_limit_barriers", "block";
        /// How often the card must be filled with blocks until all have run.
        Waves = "launch__waves_per_multiprocessor", "";
        /// Multiprocessors.
        Multiprocessors = "launch__sm_count", "SM";
        /// Registers per thread.
        Registers = "launch__registers_per_thread", "register/thread";
        /// Cycles in which the tensor cores worked, of those in which the multiprocessor held a warp.
        Tensor = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "%";
        /// Cycles in which a scheduler issued an instruction, of those in which it held a warp.
        Issue = "smsp__issue_active.avg.pct_of_peak_sustained_active", "%";
        /// Bytes read from DRAM.
        DramRead = "dram__bytes_read.sum", "byte";
        /// Bytes written to it.
        DramWritten = "dram__bytes_write.sum", "byte";
    }
}

table! {
    /// What a warp did between two of its instructions, in cycles per instruction that was issued (the mean of all
    /// warps that a scheduler held). Meanings: Nsight Compute, Kernel Profiling Guide, "Warp Stall Reasons".
    NcuStall {
        /// Nothing: it was chosen and issued.
        Selected = "selected", "inst";
        /// It could have issued; another warp was chosen.
        NotSelected = "not_selected", "inst";
        /// A value from global, local, surface or texture memory.
        LongScoreboard = "long_scoreboard", "inst";
        /// A value from shared memory, or from the units for special functions.
        ShortScoreboard = "short_scoreboard", "inst";
        /// The other warps of its block at a barrier.
        Barrier = "barrier", "inst";
        /// A pipe for arithmetic that was taken.
        MathPipe = "math_pipe_throttle", "inst";
        /// The queue of the pipe for shared memory, special functions and branches.
        Mio = "mio_throttle", "inst";
        /// The queue of the unit that loads and stores global and local memory.
        Lg = "lg_throttle", "inst";
        /// The queue of the texture unit.
        Tex = "tex_throttle", "inst";
        /// A fixed number of cycles after its last instruction.
        Wait = "wait", "inst";
        /// Its next instruction, which was not in the instruction cache.
        NoInstruction = "no_instruction", "inst";
        /// A constant that was not in its cache.
        ConstantMiss = "imc_miss", "inst";
        /// The target of a branch.
        Branch = "branch_resolving", "inst";
        /// A memory barrier.
        Membar = "membar", "inst";
        /// Stores that had to leave before it could end.
        Drain = "drain", "inst";
        /// The dispatcher, which held it back.
        Dispatch = "dispatch_stall", "inst";
        /// Matrix products of its warp group.
        Gmma = "gmma", "inst";
        /// It slept.
        Sleeping = "sleeping", "inst";
        /// Another reason.
        Misc = "misc", "inst";
    }
}

/// Kernels that were measured, one column per field.
#[derive(Clone, Debug, Default)]
pub struct NcuKernels {
    /// Names of kernels.
    pub names: Interner,
    /// The number that Nsight Compute gave the launch.
    pub id: Vec<u32>,
    /// The process that launched it.
    pub process: Vec<u32>,
    /// Its name, as printed.
    pub name: Vec<Sym>,
    /// Sides of its grid, in blocks; 0 where unknown.
    pub grid: Vec<[u32; 3]>,
    /// Sides of a block, in threads; 0 where unknown.
    pub block: Vec<[u32; 3]>,
    metrics: Vec<Vec<f64>>,
    stalls: Vec<Vec<f64>>,
    /// Name of the card, where the file says.
    pub gpu: String,
    /// Warnings and errors that Nsight Compute printed, as it printed them.
    pub warnings: Vec<String>,
    /// What was wrong with the file.
    pub notes: ImportNotes,
}

impl NcuKernels {
    /// Appends a row without figures and returns its number.
    pub fn push(&mut self, id: u32, process: u32, name: &str, grid: [u32; 3], block: [u32; 3]) -> usize {
        self.metrics.resize_with(NcuMetric::ALL.len(), Vec::new);
        self.stalls.resize_with(NcuStall::ALL.len(), Vec::new);
        self.id.push(id);
        self.process.push(process);
        let name = self.names.intern(name);
        self.name.push(name);
        self.grid.push(grid);
        self.block.push(block);
        self.metrics.iter_mut().chain(&mut self.stalls).for_each(|column| column.push(f64::NAN));
        self.id.len() - 1
    }

    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.id.len()
    }

    /// There are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.id.is_empty()
    }

    /// A figure in [`NcuMetric::unit`]; `None` where it was not measured.
    #[must_use]
    pub fn metric(&self, metric: NcuMetric, row: usize) -> Option<f64> {
        self.metrics.get(metric as usize)?.get(row).copied().filter(|value| value.is_finite())
    }

    /// Sets a figure.
    pub fn set_metric(&mut self, metric: NcuMetric, row: usize, value: f64) {
        if let Some(place) = self.metrics.get_mut(metric as usize).and_then(|column| column.get_mut(row)) {
            *place = value;
        }
    }

    /// Cycles per issued instruction that warps spent so; `None` where it was not measured.
    #[must_use]
    pub fn stall(&self, stall: NcuStall, row: usize) -> Option<f64> {
        self.stalls.get(stall as usize)?.get(row).copied().filter(|value| value.is_finite())
    }

    /// Sets them.
    pub fn set_stall(&mut self, stall: NcuStall, row: usize, value: f64) {
        if let Some(place) = self.stalls.get_mut(stall as usize).and_then(|column| column.get_mut(row)) {
            *place = value;
        }
    }

    /// Whole nanoseconds that the kernel ran; `None` where that was not measured.
    #[must_use]
    pub fn duration_ns(&self, row: usize) -> Option<i64> {
        self.metric(NcuMetric::Duration, row)
            .filter(|ns| (0.0..9e18).contains(ns))
            .map(|ns| ns.round() as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_that_were_not_measured_are_absent() {
        let mut kernels = NcuKernels::default();
        let row = kernels.push(3, 7, "k", [2, 1, 1], [128, 1, 1]);
        kernels.set_metric(NcuMetric::Duration, row, 1_500.0);
        kernels.set_stall(NcuStall::Barrier, row, 0.5);
        kernels.set_metric(NcuMetric::Sm, row + 1, 9.0);
        assert_eq!((kernels.len(), kernels.duration_ns(row)), (1, Some(1_500)));
        assert_eq!(
            (kernels.metric(NcuMetric::Sm, row), kernels.stall(NcuStall::Barrier, row)),
            (None, Some(0.5))
        );
        assert_eq!((kernels.metric(NcuMetric::Sm, 9), NcuMetric::Sm.unit()), (None, "%"));
    }
}
