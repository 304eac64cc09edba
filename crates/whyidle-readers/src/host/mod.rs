//! What tools of the system print of cores, disks and processes: `iostat` and `top -b`.

pub(crate) mod iostat;
pub(crate) mod top;
