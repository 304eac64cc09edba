//! The real terminal: taken over, and given back on every way out.

use std::io::{self, IsTerminal, Write, stdout};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::{Hide, Show};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

/// The terminal is taken over: a panic must give it back.
static TAKEN: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// Whether a dashboard can be drawn on standard output: a terminal that can place text. `term` is its `TERM`.
#[must_use]
pub fn can_draw(term: Option<&str>) -> bool {
    let can_place = if cfg!(unix) { !matches!(term, None | Some("" | "dumb")) } else { true };
    can_place && stdout().is_terminal() && io::stdin().is_terminal()
}

/// The terminal while it is taken over.
pub(crate) struct Screen {
    pub(crate) terminal: Terminal<CrosstermBackend<io::Stdout>>,
}

impl Screen {
    pub(crate) fn take() -> io::Result<Self> {
        HOOK.call_once(|| {
            let usual = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                usual(panic);
            }));
        });
        enter()?;
        match Terminal::new(CrosstermBackend::new(stdout())) {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Gives the terminal back, lets `meanwhile` happen, and takes it again.
    pub(crate) fn aside(&mut self, meanwhile: impl FnOnce()) -> io::Result<()> {
        give_back();
        meanwhile();
        self.again()
    }

    /// Takes the terminal anew: somebody else may have changed it.
    pub(crate) fn again(&mut self) -> io::Result<()> {
        enter()?;
        self.terminal.clear()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    execute!(stdout(), EnterAlternateScreen, Hide)
}

/// Errors are not looked at: on the way out there is nothing better to do.
fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _ = execute!(stdout(), LeaveAlternateScreen, Show);
        let _ = stdout().flush();
        let _ = disable_raw_mode();
    }
}

#[cfg(test)]
mod tests {
    use super::can_draw;

    #[test]
    #[cfg(unix)]
    fn terminals_that_cannot_place_text_are_refused() {
        assert!(!can_draw(Some("dumb")) && !can_draw(Some("")) && !can_draw(None));
    }
}
