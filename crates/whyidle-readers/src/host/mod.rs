//! What tools of the system print of cores, disks and processes: `iostat`, `vmstat` and `top -b`.

pub(crate) mod iostat;
pub(crate) mod top;
pub(crate) mod vmstat;
