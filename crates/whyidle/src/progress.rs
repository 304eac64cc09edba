//! A progress bar on standard error for reads that last.

use std::path::PathBuf;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::Output;

/// Below this many bytes a read is over before a bar could be read.
const WORTH_A_BAR: u64 = 8 << 20;

/// A bar over the bytes of `paths`; hidden where it would not help.
pub(crate) fn bar(output: &Output, paths: &[PathBuf]) -> ProgressBar {
    let bytes: u64 = paths.iter().filter_map(|path| path.metadata().ok()).map(|file| file.len()).sum();
    if !output.progress || bytes < WORTH_A_BAR && !output.progress_always {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {binary_bytes}/{binary_total_bytes} {eta}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
