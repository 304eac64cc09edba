//! Starts a program in a process group of its own and passes on the signals that reach the watcher.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2};
use signal_hook::iterator::{Handle, Signals};

use crate::jobs::{self, Terminal};

/// Signals that are passed on to the program.
const FORWARDED: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

/// A program that was started.
pub struct Program {
    child: Child,
    group: Pid,
    handle: Handle,
    threads: Vec<std::thread::JoinHandle<()>>,
    done: Arc<AtomicBool>,
    /// The terminal, if it was handed to the program.
    terminal: Option<Arc<Terminal>>,
}

impl Program {
    /// Starts `command` with additional environment.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start(command: &[String], environment: &[(&str, String)]) -> io::Result<Self> {
        let (program, arguments) = command.split_first().ok_or_else(|| io::Error::other("no command"))?;
        // Registered first: a signal that arrives while the program starts is not lost.
        let mut signals = Signals::new(FORWARDED.into_iter().chain([SIGTSTP, SIGCONT]))?;
        let mut starting = Command::new(program);
        starting.args(arguments).process_group(0);
        starting.envs(environment.iter().map(|(name, value)| (*name, value.as_str())));
        let child = starting.spawn()?;
        let group = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?)
            .ok_or_else(|| io::Error::other("process 0"))?;
        let terminal = Terminal::hand_over(group).map(Arc::new);
        let handle = signals.handle();
        let shared = terminal.clone();
        let forward = move || {
            for number in signals.forever() {
                match Signal::from_named_raw(number) {
                    // The program may be gone already.
                    Some(signal) if FORWARDED.contains(&number) => _ = kill_process_group(group, signal),
                    _ => jobs::handle(number, group, shared.as_deref()),
                }
            }
        };
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let mut threads = vec![thread("signals").spawn(forward)?];
        let done = Arc::new(AtomicBool::new(false));
        if terminal.is_some() {
            let done = Arc::clone(&done);
            threads.push(thread("jobs").spawn(move || jobs::follow_stops(group, &done))?);
        }
        Ok(Self { child, group, handle, threads, done, terminal })
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its status, if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// Where the system does not say how it ended.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }

    /// Ends the program and what it started: politely, after `patience` for good.
    pub fn stop(&mut self, patience: Duration) {
        let _ = kill_process_group(self.group, Signal::TERM);
        let until = Instant::now() + patience;
        while Instant::now() < until {
            if self.ended().is_some() && is_gone(self.group) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = kill_process_group(self.group, Signal::KILL);
        let _ = self.child.wait();
    }
}

/// No process of the group lives; one that is dead and waits for its parent to ask does not count.
pub(crate) fn is_gone(group: Pid) -> bool {
    let lives = |process: procfs::process::Process| {
        process.stat().is_ok_and(|stat| stat.pgrp == group.as_raw_nonzero().get() && stat.state != 'Z')
    };
    test_kill_process_group(group).is_err()
        || procfs::process::all_processes().is_ok_and(|all| !all.flatten().any(lives))
}

impl Drop for Program {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        self.handle.close();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        if let Some(terminal) = &self.terminal {
            terminal.take_back();
        }
    }
}

/// Whether somebody asked the watcher to stop.
pub struct Interruption(Arc<AtomicBool>);

impl Interruption {
    /// Ctrl-C was pressed, or the watcher was told to end.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// From now on Ctrl-C and a request to end set a flag instead of ending the watcher, so that it can say what it
/// has seen; the second time they end it.
#[must_use]
pub fn interruption() -> Interruption {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The order matters: a flag that is set already ends the watcher.
        let _ = signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag));
        let _ = signal_hook::flag::register(signal, Arc::clone(&flag));
    }
    Interruption(flag)
}

/// What a service is told by signals: to end (SIGTERM, SIGINT), to read its settings anew (SIGHUP).
#[derive(Clone, Debug)]
pub struct Orders {
    end: Arc<AtomicBool>,
    reload: Arc<AtomicBool>,
}

impl Orders {
    /// Takes orders from now on. A second order to end ends at once.
    #[must_use]
    pub fn take() -> Self {
        let (end, reload) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        for signal in [SIGINT, SIGTERM] {
            // The order matters: a flag that is set already ends the service.
            let _ = signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&end));
            let _ = signal_hook::flag::register(signal, Arc::clone(&end));
        }
        let _ = signal_hook::flag::register(SIGHUP, Arc::clone(&reload));
        Self { end, reload }
    }

    /// It is to end.
    #[must_use]
    pub fn to_end(&self) -> bool {
        self.end.load(Ordering::Relaxed)
    }

    /// It is to read its settings anew; true once for each order.
    #[must_use]
    pub fn to_reload(&self) -> bool {
        self.reload.swap(false, Ordering::Relaxed)
    }
}

/// The status as a shell would give it: 128 and the signal's number where a signal ended the program.
#[must_use]
pub fn shell_status(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code & 0xff).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> io::Result<Program> {
        Program::start(
            &["sh".to_owned(), "-c".to_owned(), script.to_owned()],
            &[("WHYIDLE_TEST", "7".to_owned())],
        )
    }

    #[test]
    fn the_programs_own_status_is_returned() -> io::Result<()> {
        assert_eq!(shell_status(sh("exit $WHYIDLE_TEST")?.wait()?), 7);
        assert_eq!(shell_status(sh("kill -KILL $$")?.wait()?), 137);
        assert!(Program::start(&["/nonexistent/program".to_owned()], &[]).is_err());
        Ok(())
    }

    #[test]
    fn stopping_ends_the_whole_group() -> io::Result<()> {
        let mut program = sh("trap '' TERM; sleep 600 & wait")?;
        program.stop(Duration::from_millis(200));
        assert!(program.ended().is_some());
        // The system ends a killed process a moment later.
        let start = Instant::now();
        while !is_gone(program.group) {
            assert!(start.elapsed() < Duration::from_secs(30), "a process of the group lives on");
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}
