//! The quick look: settings of the machine and of a program that are known to cost speed, each with a state.
//!
//! Every check is a fact with an id; the reasons are worded by the report. What cannot be read is left out, never
//! guessed.

mod cards;
mod limits;
mod machine;
mod program;
mod settings;

use crate::gpu::Gpus;
use crate::tree::Tree;

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// As it should be.
    Ok,
    /// Worth a look: it costs speed in some programs.
    Suspect,
    /// Costs speed, or breaks the program.
    Bad,
}

/// A check with what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Message id of its sentence.
    pub id: &'static str,
    /// How it came out.
    pub state: State,
    /// What was found, by the names of the sentence's placeholders.
    pub found: Vec<(&'static str, String)>,
}

impl Check {
    fn new(id: &'static str, state: State, found: &[(&'static str, &dyn ToString)]) -> Self {
        Self { id, state, found: found.iter().map(|(name, value)| (*name, value.to_string())).collect() }
    }

    /// As it should be, or suspect under another id.
    fn suspect_if(
        is_suspect: bool,
        [suspect, ok]: [&'static str; 2],
        found: &[(&'static str, &dyn ToString)],
    ) -> Self {
        let (id, state) = if is_suspect { (suspect, State::Suspect) } else { (ok, State::Ok) };
        Self::new(id, state, found)
    }
}

/// Checks the machine and, where one is given, the program; what is worst comes first.
#[must_use]
pub fn checks(tree: Option<&Tree>) -> Vec<Check> {
    let mut found = Vec::new();
    let driver = tree.and_then(|tree| tree.drivers().next());
    let mut count = None;
    match Gpus::open() {
        Ok(gpus) => {
            let (version, cuda) = (gpus.driver().unwrap_or_default(), gpus.cuda().unwrap_or_default());
            found.push(cards::versions(&version, &cuda, driver));
            let cards = gpus.cards();
            cards.iter().for_each(|card| found.extend(cards::of_card(card)));
            found.extend(cards::together(&cards, &gpus.links()));
            count = Some(cards.len());
        }
        Err(why) => {
            found.push(machine::no_gpus(&why));
            found.extend(driver.and_then(cards::cpu_build));
        }
    }
    found.extend(machine::shared_memory());
    found.extend(machine::memory(driver.map(|driver| driver.pid)));
    if let (Some(tree), Some(driver)) = (tree, driver) {
        found.extend(program::of_program(tree, driver, count));
    }
    found.sort_by_key(|check| std::cmp::Reverse(check.state));
    found
}

fn gib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 30))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_checked_without_a_program() {
        let found = checks(None);
        assert!(found.iter().any(|check| check.id.starts_with("look-shm")));
        assert!(found.is_sorted_by_key(|check| std::cmp::Reverse(check.state)));
    }
}
