//! Triage by symptom: the first look at what instruments show, before anything is explained. One file per
//! symptom, each a pure function: what was measured for it, whether it is there, and what it points to.
//!
//! A symptom is no cause. Several may hold at once; the verdict weighs them against each other.

mod cpu_full;
mod flat_low;
mod memory_full;
mod ranks_uneven;
mod swinging;
mod util_zero;

use whyidle_analysis::levels::Levels;
use whyidle_analysis::signals::{Doing, Signals};

use crate::message::Message;

/// What the symptoms are looked for in.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// Signals of the program.
    pub signals: &'a Signals,
    /// How the busy share of its GPU moved; `None` without samples.
    pub levels: Option<Levels>,
    /// Cores that the program may use, where known.
    pub cores: Option<u32>,
    /// The busy share of each rank's GPU, by rank or, where that is not known, by GPU.
    pub ranks: &'a [(u32, f64)],
}

/// What to type next: a symptom only says which sort of command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The verdict on the program.
    Verdict,
    /// The dashboard: a look at what hangs.
    Watch,
    /// A trace: samples cannot tell.
    Trace,
    /// The page of a cause.
    Explain(&'static str),
}

/// A symptom that was looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Symptom {
    /// Message id of its name.
    pub id: &'static str,
    /// It is there; `None` where nothing was measured that would show it.
    pub seen: Option<bool>,
    /// What was measured.
    pub measured: Message,
    /// What it points to, where it is there.
    pub points: Message,
    /// What to type next, where it is there.
    pub next: Next,
}

/// Below this busy share a GPU does nothing: what remains is the display, or a clock that ticks.
const NOTHING: f64 = 0.02;
/// From this busy share on, the GPU is the limit: the verdict's own threshold.
const BUSY: f64 = 1.0 - crate::ruling::HEALTHY;
/// Swings from here on are swings: the narrowest that practitioners call periodic is 30 to 60 %. Launch-bound
/// programs of the lab stay within 22 points, programs that wait for data move by 30 and more.
const SWING: f64 = 0.30;
/// Fewer samples show no swing.
const FEWEST: u32 = 8;

/// Every symptom, in the order in which people meet them.
#[must_use]
pub fn triage(observed: &Observed<'_>) -> Vec<Symptom> {
    vec![
        util_zero::look(observed),
        swinging::look(observed),
        flat_low::look(observed),
        cpu_full::look(observed),
        memory_full::look(observed),
        ranks_uneven::look(observed),
    ]
}

/// The busy share in words, each in the figures that show it; `None` without samples.
fn busy(observed: &Observed<'_>, id: &'static str) -> Option<Message> {
    let levels = observed.levels?;
    // Hundredths of a percent are noise here.
    let heard = |share: f64| if share < 0.0005 { 0.0 } else { share };
    let mean = |message: Message| message.share("mean", heard(levels.mean));
    let ends = |message: Message| message.share("low", heard(levels.low)).share("high", heard(levels.high));
    let whole = |share: f64| (share * 100.0).round();
    let pace =
        |message: Message| message.count("count", i64::from(levels.samples)).time("every", levels.every_ns);
    Some(match id {
        "symptom-busy-mean" => mean(Message::new(id)),
        // Ends that read alike are no range.
        _ if whole(levels.low) == whole(levels.high) => mean(Message::new("symptom-busy-mean")),
        "symptom-busy-ends" => pace(ends(Message::new(id))),
        _ => ends(mean(Message::new(id))),
    })
}

/// Share of the main thread's samples in waits for data.
fn waits_for_data(signals: &Signals) -> Option<f64> {
    let main = signals.main.as_ref()?;
    Some(
        [Doing::WaitsForWorkers, Doing::PreparesData, Doing::StartsLoader]
            .iter()
            .map(|&d| main.share(d))
            .sum(),
    )
}

/// Nothing was measured that would show it.
fn unknown(id: &'static str, why: &'static str) -> Symptom {
    let none = || Message::new(why);
    Symptom { id, seen: None, measured: none(), points: none(), next: Next::Verdict }
}

#[cfg(test)]
mod tests;
