//! The loop: samples in, keys in, pictures out.

use std::io;
use std::time::{Duration, Instant};

use crossterm::event::{self, Event};
use whyidle_report::{Catalog, Lang};

use crate::input::{Action, action};
use crate::source::{Source, Status};
use crate::state::State;
use crate::terminal::Screen;
use crate::{Judge, view};

/// Time between pictures while nobody types.
const PICTURE_EVERY: Duration = Duration::from_millis(500);
/// How long to wait for keys at a time.
const LISTEN: Duration = Duration::from_millis(100);
/// The window is judged this often at most, and less often where judging is dear: it may use this share of a core.
const JUDGE_EVERY: Duration = Duration::from_secs(1);
const SHARE: f64 = 0.02;

/// How the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Somebody wanted it.
    Asked,
    /// A signal; its shell status.
    Signal(u8),
}

/// Shows `source` on the terminal until somebody ends it.
///
/// # Errors
/// Where the terminal cannot be used.
pub fn run(source: &mut dyn Source, judge: &dyn Judge, lang: Lang, colour: bool) -> io::Result<Ending> {
    let signals = signals::Caught::new()?;
    let mut state = State::new(lang, colour);
    let catalogs = Lang::ALL.map(Catalog::new);
    let mut screen = Screen::take()?;
    let mut clock = Instant::now();
    let mut judged: Option<(Instant, Duration)> = None;
    let (mut changed, mut drawn) = (true, None::<Instant>);
    loop {
        let passed = std::mem::replace(&mut clock, Instant::now()).elapsed();
        let plays = !(state.paused && matches!(source.status(), Status::Replay { .. }));
        changed |= source.poll(if plays { passed } else { Duration::ZERO });
        if drawn.is_none_or(|at| at.elapsed() >= PICTURE_EVERY) {
            if changed {
                state.update(source);
            }
            let due = |(at, pause): (Instant, Duration)| at.elapsed() >= pause;
            if judged.is_none_or(due) && (changed || judged.is_none()) {
                let begin = Instant::now();
                state.judge(source, judge, false);
                let pause = begin.elapsed().div_f64(SHARE).max(JUDGE_EVERY);
                judged = (!state.judged.is_empty()).then(|| (Instant::now(), pause));
                changed = false;
            }
            draw(&mut screen, &state, &catalogs)?;
            drawn = Some(Instant::now());
        }
        if let Some(status) = signals.ended() {
            return Ok(Ending::Signal(status));
        }
        if signals.suspended() {
            screen.aside(signals::stop)?;
            drawn = None;
        }
        if signals.continued() {
            screen.again()?;
            drawn = None;
        }
        if !event::poll(LISTEN)? {
            continue;
        }
        let asked = match event::read()? {
            Event::Key(key) => action(key),
            Event::Resize(..) => {
                drawn = None;
                None
            }
            _ => None,
        };
        let Some(asked) = asked else { continue };
        if state.ends_with(asked) {
            return Ok(Ending::Asked);
        }
        drawn = None;
        changed = true;
        match asked {
            Action::Suspend => screen.aside(signals::stop)?,
            Action::Redraw => screen.again()?,
            Action::Seek(by) => source.seek(by),
            Action::Speed(factor) => source.change_speed(factor),
            other => {
                if state.apply(other) {
                    judged = None;
                }
                continue;
            }
        }
        judged = None;
    }
}

fn draw(screen: &mut Screen, state: &State, catalogs: &[Catalog]) -> io::Result<()> {
    let Some(catalog) = catalogs.iter().find(|catalog| catalog.lang() == state.lang) else { return Ok(()) };
    screen.terminal.draw(|frame| {
        let area = frame.area();
        view::draw(state, catalog, area, frame.buffer_mut());
    })?;
    Ok(())
}

/// Signals that end or stop the program: the terminal is given back first.
#[cfg(unix)]
mod signals {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP};

    pub(super) struct Caught {
        end: Arc<AtomicUsize>,
        stop: Arc<AtomicBool>,
        go_on: Arc<AtomicBool>,
    }

    impl Caught {
        pub(super) fn new() -> io::Result<Self> {
            let end = Arc::new(AtomicUsize::new(0));
            let (stop, go_on) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
            for signal in [SIGINT, SIGTERM, SIGHUP] {
                let status = usize::try_from(128 + signal).unwrap_or(130);
                signal_hook::flag::register_usize(signal, Arc::clone(&end), status)?;
            }
            signal_hook::flag::register(SIGTSTP, Arc::clone(&stop))?;
            signal_hook::flag::register(SIGCONT, Arc::clone(&go_on))?;
            Ok(Self { end, stop, go_on })
        }

        /// The status to end with.
        pub(super) fn ended(&self) -> Option<u8> {
            u8::try_from(self.end.load(Ordering::SeqCst)).ok().filter(|status| *status > 0)
        }

        pub(super) fn suspended(&self) -> bool {
            self.stop.swap(false, Ordering::SeqCst)
        }

        pub(super) fn continued(&self) -> bool {
            self.go_on.swap(false, Ordering::SeqCst)
        }
    }

    /// Stops this process, as Ctrl-Z does; returns when it goes on.
    pub(super) fn stop() {
        // Where it fails, the program simply goes on.
        let _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
    }
}

/// Elsewhere, keys alone end it.
#[cfg(not(unix))]
mod signals {
    pub(super) struct Caught;

    impl Caught {
        pub(super) fn new() -> std::io::Result<Self> {
            Ok(Self)
        }

        pub(super) fn ended(&self) -> Option<u8> {
            None
        }

        pub(super) fn suspended(&self) -> bool {
            false
        }

        pub(super) fn continued(&self) -> bool {
            false
        }
    }

    pub(super) fn stop() {}
}
