//! Brings a short trace of every rank of a watched program into a recording, through the socket that its profilers poll.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::missing::Missing;
use crate::ondemand::{Listener, Wanted};
use crate::torch;
use crate::tree::Member;
use crate::watch::{Flow, Progress, Watch};

/// A client polls every five seconds; so long after a request it has been heard.
const HEARD_WITHIN: Duration = Duration::from_secs(15);
/// A trace of a few steps is written within this time, or never.
const WRITTEN_WITHIN: Duration = Duration::from_secs(90);

/// The socket that a program's profiler will poll, if it is started with the variables of [`Listener::environment`].
///
/// # Errors
/// Where that is unsafe for it, or there is no socket to be had.
pub fn listen(command: &[String]) -> Result<Listener, Missing> {
    // Older ones may crash at their start when they are told to poll.
    if let Some(version) = torch::installed(command)
        && torch::is_too_old(&version)
    {
        return Err(Missing::new("trace", "old-torch", version));
    }
    Listener::start().map_err(|error| Missing::new("trace", "no-socket", error.to_string()))
}

/// Asks every rank for a trace and brings what they write into `dir`; watches on meanwhile. `is_over`: the program has
/// ended, or is no longer wanted.
///
/// # Errors
/// What is missing of it, and why.
pub fn trace(
    listener: &Listener,
    wanted: Wanted,
    watch: &mut Watch,
    is_over: &mut dyn FnMut() -> bool,
    dir: &Path,
) -> Result<(), Missing> {
    let missing = |code, detail: String| Missing::new("trace", code, detail);
    let drivers: Vec<Member> = watch.tree().drivers().cloned().collect();
    if is_over() {
        return Err(missing("ended", String::new()));
    }
    let Some(first) = drivers.first() else { return Err(missing("no-torch", String::new())) };
    if let Some(version) = first.software.torch.clone().filter(|version| torch::is_too_old(version)) {
        return Err(missing("old-torch", version));
    }
    for driver in &drivers {
        listener.ask(driver.pid, wanted);
    }
    let asked = Instant::now();
    let mut problem = None;
    watch.run(&mut |_: &Progress| {
        let written = drivers.iter().all(|driver| listener.trace(driver.pid).is_some());
        let heard = drivers.iter().all(|driver| listener.delivered(driver.pid).is_some());
        problem = match (written, heard) {
            (true, _) => return Flow::Stop,
            _ if is_over() => Some(missing("ended", String::new())),
            (false, false) if asked.elapsed() > HEARD_WITHIN => Some(missing("not-polled", String::new())),
            (false, true) if asked.elapsed() > HEARD_WITHIN + WRITTEN_WITHIN => {
                Some(missing("not-written", WRITTEN_WITHIN.as_secs().to_string()))
            }
            _ => None,
        };
        if problem.is_some() { Flow::Stop } else { Flow::Continue }
    });
    let mut brought = 0;
    for driver in &drivers {
        listener.withdraw(driver.pid);
        if let Some(path) = listener.trace(driver.pid) {
            let name = match driver.number("RANK").filter(|_| drivers.len() > 1) {
                Some(rank) => format!("trace_rank{rank}.json"),
                None => "trace.json".to_owned(),
            };
            let copied = std::fs::copy(&path, dir.join(name));
            copied.map_err(|error| missing("unwritten", error.to_string()))?;
            brought += 1;
        }
    }
    match problem {
        Some(problem) if brought < drivers.len() => Err(problem),
        _ => Ok(()),
    }
}
