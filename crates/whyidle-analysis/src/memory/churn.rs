//! Calls of the driver in a history: `cudaMalloc` and `cudaFree` stop the device, and a steady program makes none.

use whyidle_model::{AllocatorAction, MemorySnapshot};

/// Segments that came and went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Churn {
    /// Segments, or parts of expandable ones, that came from the driver.
    pub came: u64,
    /// Bytes of them.
    pub came_bytes: u64,
    /// That went back to it.
    pub went: u64,
    /// Bytes of them.
    pub went_bytes: u64,
    /// Of those, by the program's own `empty_cache`.
    pub emptied: u64,
    /// Segments that came after one had gone: what is given back is asked for again.
    pub came_again: u64,
}

impl Churn {
    /// The churn of a device's history.
    pub(super) fn of(snapshot: &MemorySnapshot, device: u32) -> Self {
        let events = &snapshot.events;
        let empties: Vec<bool> = snapshot
            .stacks
            .frames
            .iter()
            .map(|frame| {
                let function = snapshot.names.get(frame.function);
                function == "empty_cache" || function.contains("emptyCache")
            })
            .collect();
        let mut found = Self::default();
        for row in snapshot.history(device) {
            match events.action[row] {
                AllocatorAction::SegmentAlloc | AllocatorAction::SegmentMap => {
                    found.came += 1;
                    found.came_bytes = found.came_bytes.saturating_add(events.bytes(row));
                    found.came_again += u64::from(found.went > 0);
                }
                AllocatorAction::SegmentFree | AllocatorAction::SegmentUnmap => {
                    found.went += 1;
                    found.went_bytes = found.went_bytes.saturating_add(events.bytes(row));
                    let stack = events.stack[row] as usize;
                    let from = if stack == 0 { 0 } else { snapshot.stacks.ends[stack - 1] as usize };
                    let members = &snapshot.stacks.members[from..snapshot.stacks.ends[stack] as usize];
                    found.emptied += u64::from(members.iter().any(|&frame| empties[frame as usize]));
                }
                _ => {}
            }
        }
        found
    }
}
