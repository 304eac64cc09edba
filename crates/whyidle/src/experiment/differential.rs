//! `whyidle bench --differential`: feeds a program in four ways, and says what its data costs.

use std::collections::BTreeMap;

use whyidle_diagnosis::Message;
use whyidle_experiment::differential::differential;
use whyidle_experiment::result::shown;
use whyidle_report::{Document, feed};

use super::options::BenchOptions;
use super::running::Pace;
use super::{open, places, running};
use crate::output::Output;
use crate::page::Page;
use crate::{REACHED, REFUSED, document};

pub(super) fn run(options: &BenchOptions, page: Option<&Page>, output: &Output) -> Result<u8, u8> {
    let (path, logs) = places(&options.kept, output)?;
    let mut entries = open(&path, output)?;
    running::folder(&logs, output)?;
    let wanted =
        running::wanted(&options.measuring, options.command.clone(), BTreeMap::new(), Default::default());
    let requests = running::requests(output)?;
    let about = format!("whyidle bench --differential -- {}", shown(&options.command, &BTreeMap::new(), &[]));
    let _turn = running::turn(&about, output)?;
    let mut pace = Pace::new();
    let mut tell = |fed, status: &whyidle_experiment::measure::Status| {
        if let Some(step) = status.step_ns.filter(|_| pace.is_due()) {
            output.hint(&Message::new("cli-differential-feed").message("feed", feed(fed)).time("time", step));
        }
    };
    let found = differential(&wanted, options.rounds as usize, &logs, &mut entries, &requests, &mut tell);
    let (id, found) = found.map_err(|error| running::stopped(&error, output))?;
    let status = if found.bound.is_some() { REACHED } else { REFUSED };
    Ok(document::show(&Document::Differential(&found, Some(id)), page, options.showing, status, output))
}
