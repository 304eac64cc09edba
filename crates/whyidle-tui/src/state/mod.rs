//! Everything that is shown, as plain data: updated from a source, changed by actions, read by the views.

mod gauges;
mod history;
mod programs;

use std::collections::BTreeMap;
use std::time::Duration;

use whyidle_report::Lang;

use crate::input::Action;
use crate::source::{Source, Status, extent};
use crate::{Judge, Judged};

pub use gauges::{Gauge, Throttle};
pub use history::{Curve, History};
pub use programs::Program;
pub(crate) use programs::printable;

/// Windows to judge, seconds.
const WINDOWS: [u32; 6] = [10, 20, 30, 60, 120, 300];
/// The window at the start: as long as `attach` watches.
const FIRST_WINDOW: usize = 2;

/// A part of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Panel {
    /// GPUs and the programs on them.
    Gpus,
    /// Where the time of the chosen program goes.
    Ledger,
    /// What its threads do.
    Stacks,
    /// The last minutes.
    History,
}

impl Panel {
    /// In the order of the screen.
    pub const ALL: [Self; 4] = [Self::Gpus, Self::Ledger, Self::Stacks, Self::History];
}

/// A line of the table: a GPU with a program on it, or one of them alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Index of the gauge.
    pub gauge: Option<usize>,
    /// Index of the program.
    pub program: Option<usize>,
}

/// Everything that is shown.
#[derive(Debug)]
pub struct State {
    /// The language.
    pub lang: Lang,
    /// Colours may be used.
    pub colour: bool,
    /// How the source stands.
    pub status: Status,
    /// The picture is frozen.
    pub paused: bool,
    /// The keys are shown.
    pub help: bool,
    /// The panel with the focus.
    pub focus: Panel,
    /// It fills the screen.
    pub zoomed: bool,
    /// The chosen line.
    pub selected: usize,
    /// When the first sample was taken, ns of Unix time.
    pub first: i64,
    /// When the last sample was taken.
    pub last: i64,
    /// The moment that is shown.
    pub now: i64,
    /// GPUs.
    pub gauges: Vec<Gauge>,
    /// Programs.
    pub programs: Vec<Program>,
    /// The lines of the table.
    pub rows: Vec<Row>,
    /// What was judged of programs, by their index.
    pub judged: BTreeMap<usize, Judged>,
    /// The last minutes of the chosen line.
    pub history: History,
    /// Stacks were counted without times: they are the same in every window.
    pub untimed: bool,
    window: usize,
    next_judged: usize,
}

impl State {
    /// Nothing seen yet.
    #[must_use]
    pub fn new(lang: Lang, colour: bool) -> Self {
        Self {
            lang,
            colour,
            status: Status::Live,
            paused: false,
            help: false,
            focus: Panel::Ledger,
            zoomed: false,
            selected: 0,
            first: 0,
            last: 0,
            now: 0,
            gauges: Vec::new(),
            programs: Vec::new(),
            rows: Vec::new(),
            judged: BTreeMap::new(),
            history: History::default(),
            untimed: false,
            window: FIRST_WINDOW,
            next_judged: 0,
        }
    }

    /// Length of the window that is judged.
    #[must_use]
    pub fn window(&self) -> Duration {
        Duration::from_secs(u64::from(WINDOWS[self.window]))
    }

    /// The chosen line.
    #[must_use]
    pub fn row(&self) -> Option<Row> {
        self.rows.get(self.selected).copied()
    }

    /// The chosen program.
    #[must_use]
    pub fn program(&self) -> Option<(usize, &Program)> {
        let at = self.row()?.program?;
        Some((at, self.programs.get(at)?))
    }

    /// What was judged of the chosen program.
    #[must_use]
    pub fn shown(&self) -> Option<&Judged> {
        self.judged.get(&self.program()?.0)
    }

    /// The rank that the chosen one waits for inside collectives: its GPU works less than half as much, while the
    /// chosen one's looks busy.
    #[must_use]
    pub fn waited_for(&self) -> Option<&Program> {
        const HALF: f64 = 0.5;
        let resident = |at: usize| Some(self.judged.get(&at)?.signals.gpu.as_ref()?.resident);
        let (chosen, program) = self.program()?;
        let own = resident(chosen).filter(|_| program.rank.is_some())?;
        let others = (0..self.programs.len())
            .filter(|&at| at != chosen && self.programs[at].rank.is_some() && !self.programs[at].ended);
        let least =
            others.min_by(|a, b| resident(*a).unwrap_or(1.0).total_cmp(&resident(*b).unwrap_or(1.0)))?;
        (resident(least)? < HALF * own).then(|| &self.programs[least])
    }

    /// Takes over how the source stands now, all but the judging.
    pub fn update(&mut self, source: &dyn Source) {
        self.status = source.status();
        if self.paused && !matches!(self.status, Status::Replay { .. }) {
            return;
        }
        let samples = source.samples();
        let Some((first, last)) = extent(samples) else { return };
        (self.first, self.last, self.now) = (first, last, source.now());
        self.untimed = !samples.stacks.seen.is_empty() && samples.stacks.seen.iter().all(|s| s.t.is_none());
        self.gauges = gauges::gauges(&samples.gpu, self.now);
        self.programs = programs::programs(samples, source.recorded(), self.now);
        for (at, program) in self.programs.iter_mut().enumerate() {
            program.complete(self.judged.get(&at).map(|judged| &judged.signals));
        }
        self.rows = programs::rows(&self.gauges, &self.programs);
        self.selected = self.selected.min(self.rows.len().saturating_sub(1));
        self.history = history::history(samples, self);
    }

    /// Judges the window of the chosen program and of one more; of all programs where `all`.
    pub fn judge(&mut self, source: &dyn Source, judge: &dyn Judge, all: bool) {
        if self.paused && !matches!(self.status, Status::Replay { .. }) || self.programs.is_empty() {
            return;
        }
        let window = i64::try_from(self.window().as_nanos()).unwrap_or(i64::MAX);
        let samples = source.samples().between(self.now.saturating_sub(window), self.now);
        let count = self.programs.len();
        let chosen = self.program().map(|(at, _)| at);
        self.next_judged = (self.next_judged + 1) % count;
        let wanted: Vec<usize> =
            (0..count).filter(|&at| all || Some(at) == chosen || at == self.next_judged).collect();
        for at in wanted {
            let judged = judge.judge(&samples, source.recorded(), self.programs[at].pid);
            self.judged.insert(at, judged);
        }
        self.judged.retain(|at, _| *at < count);
        // What was found out of the programs belongs to the picture too.
        self.update(source);
    }

    /// Does what a key asks for, as far as it concerns what is shown. True where the window must be judged anew.
    pub fn apply(&mut self, action: Action) -> bool {
        let moved = |at: usize, by: i32, count: usize| {
            (at as i64 + i64::from(by)).clamp(0, count.saturating_sub(1) as i64) as usize
        };
        match action {
            Action::Help => self.help = !self.help,
            Action::Pause => self.paused = !self.paused,
            Action::Zoom => self.zoomed = !self.zoomed,
            Action::Language => {
                let at = Lang::ALL.iter().position(|lang| *lang == self.lang).unwrap_or(0);
                self.lang = Lang::ALL[(at + 1) % Lang::ALL.len()];
            }
            Action::Focus(by) => {
                let at = Panel::ALL.iter().position(|panel| *panel == self.focus).unwrap_or(0);
                let count = Panel::ALL.len() as i32;
                self.focus = Panel::ALL[(at as i32 + by).rem_euclid(count) as usize];
            }
            Action::Select(by) => {
                self.selected = moved(self.selected, by, self.rows.len());
                return true;
            }
            Action::Window(by) => {
                self.window = moved(self.window, by, WINDOWS.len());
                return true;
            }
            Action::Back if self.help => self.help = false,
            Action::Back if self.zoomed => self.zoomed = false,
            Action::Back
            | Action::Quit
            | Action::Suspend
            | Action::Redraw
            | Action::Seek(_)
            | Action::Speed(_) => {}
        }
        false
    }

    /// What is open is closed before the program is.
    #[must_use]
    pub fn ends_with(&self, action: Action) -> bool {
        action == Action::Quit || action == Action::Back && !self.help && !self.zoomed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_closes_what_is_open_first() {
        let mut state = State::new(Lang::En, false);
        state.apply(Action::Help);
        assert!(!state.ends_with(Action::Back) && state.ends_with(Action::Quit));
        state.apply(Action::Back);
        assert!(!state.help && state.ends_with(Action::Back));
    }

    #[test]
    fn panels_and_languages_go_round_and_windows_end() {
        let mut state = State::new(Lang::En, false);
        let begin = state.focus;
        (0..Panel::ALL.len()).for_each(|_| _ = state.apply(Action::Focus(1)));
        assert_eq!(state.focus, begin);
        state.apply(Action::Focus(-1));
        assert_ne!(state.focus, begin);
        state.apply(Action::Language);
        assert_eq!(state.lang, Lang::Zh);
        (0..9).for_each(|_| _ = state.apply(Action::Window(1)));
        assert_eq!(state.window(), Duration::from_secs(300));
        (0..9).for_each(|_| _ = state.apply(Action::Window(-1)));
        assert_eq!(state.window(), Duration::from_secs(10));
        assert!(state.apply(Action::Select(-1)) && state.row().is_none(), "nothing to choose");
    }
}
