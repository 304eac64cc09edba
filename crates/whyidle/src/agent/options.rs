//! Options of `whyidle agent`. A file sets the same; options go before it.

use std::path::PathBuf;
use std::time::Duration;

use whyidle_agent::settings::{Settings, SettingsError};

use crate::args::{Format, Showing};
use crate::listening::Listening;
use crate::values::{duration, whole};

/// Options of `agent`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  whyidle agent --ring /var/lib/whyidle\n  whyidle agent --ring /var/lib/whyidle --at 03:12\n  \
    whyidle agent --listen 0.0.0.0:9401 --token-file /etc/whyidle/token\n\n\
    SIGHUP reads the settings anew: token, certificate, limits.\n\
    Exit status: 0 it was told to end or a verdict was reached, 1 the evidence cannot carry one, \
    2 bad usage or unreadable input."
)]
pub(crate) struct AgentOptions {
    #[command(flatten)]
    listening: Listening,
    /// Keep recordings in this folder, the oldest are removed
    #[arg(long, value_name = "DIR")]
    ring: Option<PathBuf>,
    /// Megabytes that recordings may take together [default: 512]
    #[arg(long, value_name = "MB", value_parser = whole::<u64>(1..=1_000_000_000))]
    ring_size: Option<u64>,
    /// Days that a recording is kept [default: 7]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=3_650))]
    ring_days: Option<u64>,
    /// Series that are exported at most [default: 5000]
    #[arg(long, value_name = "N", value_parser = whole::<usize>(50..=1_000_000))]
    series: Option<usize>,
    /// Settings in TOML; options go before them
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// List the recordings of the ring, and what changed in them
    #[arg(long, conflicts_with_all = ["at", "replay"])]
    pub(crate) list: bool,
    /// Say what was so at this time (UTC), in that minute: 03:12, 2026-11-30T03:12
    #[arg(long, value_name = "TIME", conflicts_with = "replay")]
    pub(crate) at: Option<String>,
    /// Of this program, where several ran at that time
    #[arg(long, value_name = "PID", requires = "at")]
    pub(crate) pid: Option<u32>,
    /// Play this recording instead of watching; repeatable
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub(crate) replay: Vec<PathBuf>,
    /// How much faster than it was recorded
    #[arg(long, value_name = "TIMES", default_value_t = 1.0, requires = "replay", hide_short_help = true, value_parser = crate::values::positive)]
    pub(crate) speed: f64,
    /// End after this long; of the time that is played, with --replay
    #[arg(long = "for", value_name = "TIME", value_parser = duration, hide_short_help = true)]
    pub(crate) for_: Option<Duration>,
    /// Form of what --list and --at say: text, json, or md
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Text, hide_short_help = true)]
    format: Format,
}

impl AgentOptions {
    /// The settings: the file's where there is one, and the options.
    pub(crate) fn settings(&self) -> Result<Settings, SettingsError> {
        let mut settings = self.config.as_deref().map(Settings::read).transpose()?.unwrap_or_default();
        let path = |path: &Option<PathBuf>, other: &mut Option<PathBuf>| {
            if path.is_some() {
                other.clone_from(path);
            }
        };
        let own = &self.listening;
        settings.listen = own.listen.unwrap_or(settings.listen);
        path(&own.token_file, &mut settings.token_file);
        path(&own.tls_cert, &mut settings.tls_certificate);
        path(&own.tls_key, &mut settings.tls_key);
        settings.names.extend(own.name.iter().cloned());
        path(&self.ring, &mut settings.ring.dir);
        settings.ring.megabytes = self.ring_size.unwrap_or(settings.ring.megabytes);
        settings.ring.days = self.ring_days.unwrap_or(settings.ring.days);
        settings.series = self.series.unwrap_or(settings.series);
        Ok(settings)
    }

    /// Nothing is watched: the ring is read.
    pub(crate) fn looks_back(&self) -> bool {
        self.list || self.at.is_some()
    }

    /// The form of the list.
    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// How a verdict is shown.
    pub(crate) fn showing(&self) -> Showing {
        Showing { format: self.format, verbose: false }
    }
}
