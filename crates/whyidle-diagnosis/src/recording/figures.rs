//! Figures of a recording for `-v`, each a sentence: the rhythm of the GPU, limits, what the main thread does.

use whyidle_analysis::signals::{Doing, Rhythm, rhythm};

use super::{View, limits};
use crate::message::Message;

pub(crate) fn figures(view: &View<'_>) -> Vec<Message> {
    let mut rows = Vec::new();
    rows.extend(view.signals.gpu.as_ref().and_then(rhythm).map(in_words));
    rows.extend(limits::rows(view));
    if let Some(main) = &view.signals.main {
        let mut doings: Vec<(Doing, f64)> = main
            .counts
            .keys()
            .map(|&doing| (doing, main.share(doing)))
            .filter(|(_, share)| *share >= 0.01)
            .collect();
        doings.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let words = doings.into_iter().map(|(doing, share)| {
            crate::message::Arg::Message(Box::new(Message::new(words(doing)).share("value", share)))
        });
        rows.push(
            Message::new("stat-live-main")
                .count("samples", i64::from(main.samples))
                .with("values", crate::message::Arg::List(words.collect())),
        );
    }
    rows
}

fn in_words(rhythm: Rhythm) -> Message {
    match rhythm {
        Rhythm::Flat => Message::new("stat-live-flat"),
        Rhythm::Periodic { period_ns, .. } => Message::new("stat-live-dips").time("period", period_ns),
        Rhythm::Irregular => Message::new("stat-live-irregular"),
    }
}

fn words(doing: Doing) -> &'static str {
    match doing {
        Doing::WaitsForWorkers => "stat-live-do-waits",
        Doing::PreparesData => "stat-live-do-prepares",
        Doing::StartsLoader => "stat-live-do-starts",
        Doing::Saves => "stat-live-do-saves",
        Doing::Imports => "stat-live-do-imports",
        Doing::Compiles => "stat-live-do-compiles",
        Doing::Collects => "stat-live-do-collects",
        Doing::EmptiesCache => "stat-live-do-empties",
        Doing::WaitsForGil => "stat-live-do-gil",
        Doing::Copies => "stat-live-do-copies",
        Doing::Synchronises => "stat-live-do-syncs",
        Doing::Logs => "stat-live-do-logs",
        Doing::Communicates => "stat-live-do-communicates",
        Doing::Evaluates => "stat-live-do-evaluates",
        Doing::Optimizes => "stat-live-do-optimizes",
        Doing::Backward => "stat-live-do-backward",
        Doing::Launches => "stat-live-do-launches",
        Doing::UserCode => "stat-live-do-user",
        Doing::Unknown => "stat-live-do-unknown",
    }
}
