//! `whyidle bench --differential`: feeds a program in four ways, and says what its data costs.

use std::collections::BTreeMap;

use whyidle_diagnosis::Message;
use whyidle_experiment::differential::differential;
use whyidle_report::feed;

use super::options::BenchOptions;
use super::{history, open, places, running};
use crate::output::Output;

pub(super) fn run(options: &BenchOptions, output: &Output) -> Result<u8, u8> {
    let (path, logs) = places(&options.kept, output)?;
    let mut entries = open(&path, output)?;
    running::folder(&logs, output)?;
    let wanted =
        running::wanted(&options.measuring, options.command.clone(), BTreeMap::new(), Default::default());
    let requests = running::requests(output)?;
    let about = format!("whyidle bench --differential -- {}", options.command.join(" "));
    let _turn = running::turn(&about, output)?;
    let mut said = std::time::Instant::now();
    let mut tell = |fed, status: &whyidle_experiment::measure::Status| {
        if let Some(step) = status.step_ns.filter(|_| said.elapsed().as_secs() >= 10) {
            said = std::time::Instant::now();
            output.hint(&Message::new("cli-differential-feed").message("feed", feed(fed)).time("time", step));
        }
    };
    let found = differential(&wanted, options.rounds as usize, &logs, &mut entries, &requests, &mut tell);
    let (id, found) = found.map_err(|error| running::stopped(&error, output))?;
    Ok(history::show_differential(&found, Some(id), options.showing, output))
}
