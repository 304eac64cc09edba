//! `comm.unsplit`: time in collectives, or waiting on the device, that one rank's trace cannot split
//! into transfer and waiting for another rank.

use whyidle_analysis::ledger::Line;

use super::comm_exposed;
use super::support::{finding, remedy, timed};
use crate::case::Case;
use crate::message::Message;
use crate::verdict::{Estimate, Finding};

const WORTH: f64 = 0.05;

pub(super) fn check(case: &Case<'_>) -> Option<Finding> {
    if !case.several_ranks() {
        return None;
    }
    let (line, device) = (case.line(Line::Communication), case.line(Line::DeviceWait));
    let cost = Estimate {
        ns: line.ns + device.ns,
        low_ns: line.low_ns + device.low_ns,
        high_ns: line.high_ns + device.high_ns,
    };
    if case.share(cost.ns) < WORTH {
        return None;
    }
    let uses = case.collectives();
    let mut evidence = comm_exposed::evidence(case, uses);
    if case.share(device.ns) >= 0.01 {
        evidence.push(timed(Message::new("ev-device-wait").time("time", device.ns), device.ns, None));
    }
    let remedy = remedy(Message::new("fix-comm-unsplit"), &["fix-unsplit-all-ranks"], "");
    Some(finding(case, "comm.unsplit", cost, None, evidence, remedy))
}
