//! Job control: the program has the terminal while it runs, and stops and goes on together with the watcher, as any
//! job of a shell.
//!
//! * The program stops (Ctrl-Z reaches its group, or it reads from the terminal in the background): the watcher takes
//!   the terminal back and stops itself, so that the shell sees a stopped job.
//! * The watcher is told to stop: the program stops with it.
//! * The shell continues the watcher: the program goes on, and has the terminal if the watcher has it.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpgrp, getppid, getsid, kill_process_group, waitid,
};
use rustix::termios::{tcgetpgrp, tcsetpgrp};
use signal_hook::consts::{SIGCONT, SIGTSTP};

/// How often it is looked whether the program stopped.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The terminal, and the two groups that share it.
pub(crate) struct Terminal {
    tty: File,
    own: Pid,
    group: Pid,
}

impl Terminal {
    /// Hands the terminal to `group`, where the watcher has it: the program may read from it, and Ctrl-C and Ctrl-Z
    /// reach it. `None` without a terminal, or in the background.
    pub(crate) fn hand_over(group: Pid) -> Option<Self> {
        let tty = File::options().read(true).write(true).open("/dev/tty").ok()?;
        let own = getpgrp();
        if tcgetpgrp(&tty).ok()? != own {
            return None;
        }
        ignore_terminal_stops();
        tcsetpgrp(&tty, group).ok()?;
        Some(Self { tty, own, group })
    }

    /// Takes it back, where the program has it.
    pub(crate) fn take_back(&self) {
        if tcgetpgrp(&self.tty).is_ok_and(|holder| holder == self.group) {
            let _ = tcsetpgrp(&self.tty, self.own);
        }
    }

    /// Gives it to the program again, where the watcher has it.
    fn give_again(&self) {
        if tcgetpgrp(&self.tty).is_ok_and(|holder| holder == self.own) {
            let _ = tcsetpgrp(&self.tty, self.group);
        }
    }
}

/// What to do with a signal of job control that reaches the watcher.
pub(crate) fn handle(number: i32, group: Pid, terminal: Option<&Terminal>) {
    match number {
        SIGTSTP => {
            // The program may be gone, or stopped already.
            let _ = kill_process_group(group, Signal::TSTP);
            if let Some(terminal) = terminal {
                terminal.take_back();
            }
            if can_be_continued() {
                let _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
            } else {
                go_on(group, terminal);
            }
        }
        SIGCONT => go_on(group, terminal),
        _ => {}
    }
}

fn go_on(group: Pid, terminal: Option<&Terminal>) {
    if let Some(terminal) = terminal {
        terminal.give_again();
    }
    let _ = kill_process_group(group, Signal::CONT);
}

/// Somebody in this session can continue the watcher: its parent, in a group of its own. (The system itself discards
/// such stops where nobody can.)
fn can_be_continued() -> bool {
    let Some(parent) = getppid() else { return false };
    let same_session = getsid(Some(parent)).is_ok_and(|theirs| getsid(None).is_ok_and(|own| own == theirs));
    same_session && rustix::process::getpgid(Some(parent)).is_ok_and(|theirs| theirs != getpgrp())
}

/// Watches for the program's stopping until `done`, and stops the watcher's own group too: the whole job of the shell.
pub(crate) fn follow_stops(leader: Pid, done: &Arc<AtomicBool>) {
    while !done.load(Ordering::Relaxed) {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        match waitid(WaitId::Pid(leader), options) {
            Ok(Some(status)) if status.stopped() => {
                let _ = kill_process_group(getpgrp(), Signal::TSTP);
            }
            // Gone, and nobody is left to stop.
            Err(rustix::io::Errno::CHILD) => return,
            _ => {}
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// A process in the background that takes the terminal back, or writes to it, is stopped unless it ignores this
/// signal.
fn ignore_terminal_stops() {
    // SAFETY: sets the disposition of one signal to "ignore"; no handler runs.
    #[expect(unsafe_code, reason = "the system offers no other way to ignore a signal")]
    unsafe {
        libc::signal(libc::SIGTTOU, libc::SIG_IGN);
    }
}
