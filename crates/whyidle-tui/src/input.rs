//! Keys, and what they ask for.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// End.
    Quit,
    /// Leave what is open: help, a panel that fills the screen; else end.
    Back,
    /// Stop for a while, as shells have it.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// Show or hide the keys.
    Help,
    /// Freeze the picture, or go on.
    Pause,
    /// The next row, or the one before.
    Select(i32),
    /// The next panel, or the one before.
    Focus(i32),
    /// Let the panel fill the screen, or not.
    Zoom,
    /// The other language.
    Language,
    /// A longer or a shorter window.
    Window(i32),
    /// Move in a recording, by ns.
    Seek(i64),
    /// Play a recording faster or slower.
    Speed(f64),
}

/// A small and a large move in a recording, ns.
const SEEK: (i64, i64) = (5_000_000_000, 30_000_000_000);

/// What a key asks for; `None` for keys without a meaning.
#[must_use]
pub fn action(key: KeyEvent) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return match key.code {
            KeyCode::Char('c' | 'd') => Some(Action::Quit),
            KeyCode::Char('z') => Some(Action::Suspend),
            KeyCode::Char('l') => Some(Action::Redraw),
            _ => None,
        };
    }
    let step = if key.modifiers.contains(KeyModifiers::SHIFT) { SEEK.1 } else { SEEK.0 };
    Some(match key.code {
        KeyCode::Char('q') => Action::Quit,
        KeyCode::Esc => Action::Back,
        KeyCode::Char('?' | 'h') | KeyCode::F(1) => Action::Help,
        KeyCode::Char('p' | ' ') => Action::Pause,
        KeyCode::Up | KeyCode::Char('k') => Action::Select(-1),
        KeyCode::Down | KeyCode::Char('j') => Action::Select(1),
        KeyCode::Tab => Action::Focus(1),
        KeyCode::BackTab => Action::Focus(-1),
        KeyCode::Enter | KeyCode::Char('z') => Action::Zoom,
        KeyCode::Char('l') => Action::Language,
        KeyCode::Char('+' | '=') => Action::Window(1),
        KeyCode::Char('-' | '_') => Action::Window(-1),
        KeyCode::Left => Action::Seek(-step),
        KeyCode::Right => Action::Seek(step),
        KeyCode::PageUp => Action::Seek(-SEEK.1),
        KeyCode::PageDown => Action::Seek(SEEK.1),
        KeyCode::Home => Action::Seek(i64::MIN),
        KeyCode::End => Action::Seek(i64::MAX),
        KeyCode::Char(']' | '>') => Action::Speed(2.0),
        KeyCode::Char('[' | '<') => Action::Speed(0.5),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: KeyCode, modifiers: KeyModifiers) -> Option<Action> {
        action(KeyEvent::new(code, modifiers))
    }

    #[test]
    fn keys_ask_for_what_the_help_says() {
        let plain = KeyModifiers::NONE;
        assert_eq!(key(KeyCode::Char('q'), plain), Some(Action::Quit));
        assert_eq!(key(KeyCode::Char('?'), KeyModifiers::SHIFT), Some(Action::Help));
        assert_eq!(key(KeyCode::Tab, plain), Some(Action::Focus(1)));
        assert_eq!(key(KeyCode::BackTab, KeyModifiers::SHIFT), Some(Action::Focus(-1)));
        assert_eq!(key(KeyCode::Left, plain), Some(Action::Seek(-5_000_000_000)));
        assert_eq!(key(KeyCode::Left, KeyModifiers::SHIFT), Some(Action::Seek(-30_000_000_000)));
        assert_eq!(key(KeyCode::Char('x'), plain), None);
    }

    #[test]
    fn control_keys_are_those_of_a_terminal() {
        let control = KeyModifiers::CONTROL;
        assert_eq!(key(KeyCode::Char('c'), control), Some(Action::Quit));
        assert_eq!(key(KeyCode::Char('z'), control), Some(Action::Suspend));
        assert_eq!(key(KeyCode::Char('l'), control), Some(Action::Redraw));
        assert_eq!(key(KeyCode::Char('p'), control), None);
    }

    #[test]
    fn letting_go_of_a_key_is_no_key() {
        let mut released = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
        released.kind = KeyEventKind::Release;
        assert_eq!(action(released), None);
    }
}
