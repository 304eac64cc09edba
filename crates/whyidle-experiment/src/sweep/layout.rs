//! Which values there are to choose from, in which order settings are tried, and what the command has now.

use super::kinds::{Kind, begins_at_none, kind, order};
use super::setting::Setting;
use super::vary::{self, Vary};
use super::{Fate, Rung, Tried};

/// A setting and its values.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The setting.
    pub setting: Setting,
    /// Its values.
    pub vary: Vary,
}

/// Why there is nothing to choose from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TooFew {
    /// Of this setting there is one value.
    Single(String),
    /// The values of this setting are to go on from the one it has, and that is no whole number.
    NoStart(String),
}

/// The rungs, none of them run, each with the position of its variable. In a ladder – several variables – and where one
/// value is given, the command as it is takes part: under its value where that can be told, else as a value without a
/// name, before all others. `lookup` looks a variable of the environment up.
///
/// # Errors
/// Where there is nothing to choose from.
pub fn layout(
    command: &[String],
    variables: &[Variable],
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<(usize, Rung)>, TooFew> {
    let kinds: Vec<Kind> = variables.iter().map(|variable| kind(&variable.setting.name)).collect();
    let is_ladder = variables.len() > 1;
    let rung = |at: usize| {
        let Variable { setting, vary } = &variables[at];
        let now = setting.current(command, lookup);
        let takes_part = !setting.is_open() && (is_ladder || vary.values.len() == 1 && !vary.continues);
        let values = values(setting, vary, now.as_deref(), takes_part)?;
        let before = if setting.is_open() { Some(0) } else { values.iter().position(|value| *value == now) };
        let tried = |value| Tried { value, fate: Fate::NotRun, ..Tried::default() };
        let rung = Rung {
            name: setting.name.clone(),
            kind: kinds[at],
            continues: vary.continues,
            values: values.into_iter().map(tried).collect(),
            before: before.filter(|_| is_ladder || takes_part),
            ..Rung::default()
        };
        Ok((at, rung))
    };
    order(&kinds).into_iter().map(rung).collect()
}

fn values(
    setting: &Setting,
    vary: &Vary,
    now: Option<&str>,
    takes_part: bool,
) -> Result<Vec<Option<String>>, TooFew> {
    let mut values = vary.values.clone();
    if values.is_empty() {
        values.push(match now {
            _ if begins_at_none(&setting.name) => "0".to_owned(),
            None => "1".to_owned(),
            Some(now) if now.parse::<u64>().is_ok_and(|number| number > 0) => now.to_owned(),
            Some(_) => return Err(TooFew::NoStart(setting.name.clone())),
        });
    }
    if let Some(now) = now.filter(|now| takes_part && !values.iter().any(|value| value == now)) {
        values.insert(0, now.to_owned());
        vary::sort(&mut values);
    }
    let mut values: Vec<Option<String>> = values.into_iter().map(Some).collect();
    if takes_part && now.is_none() {
        values.insert(0, None);
    }
    if values.len() < 2 && !vary.continues { Err(TooFew::Single(setting.name.clone())) } else { Ok(values) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name, values and position of the one that the command has.
    type Laid = (String, Vec<String>, Option<usize>);

    fn laid(command: &str, all: &[&str]) -> Result<Vec<Laid>, TooFew> {
        let command: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let variable = |text: &&str| {
            let vary = vary::vary(text).ok()?;
            Some(Variable { setting: Setting::of(&vary.name, &command).ok()?, vary })
        };
        let variables: Vec<Variable> = all.iter().filter_map(variable).collect();
        assert_eq!(variables.len(), all.len(), "{all:?}");
        let rungs = layout(&command, &variables, &|_| None)?;
        let shown = |(_, rung): (usize, Rung)| {
            let value = |tried: &Tried| tried.value.clone().unwrap_or_else(|| "as it is".to_owned());
            (rung.name.clone(), rung.values.iter().map(value).collect(), rung.before)
        };
        Ok(rungs.into_iter().map(shown).collect())
    }

    fn of(name: &str, values: &[&str], before: Option<usize>) -> Laid {
        (name.to_owned(), values.iter().map(|value| (*value).to_owned()).collect(), before)
    }

    #[test]
    fn the_command_as_it_is_takes_part_in_a_ladder_and_against_one_value() {
        let command = "python t.py --workers 2 --amp off {bs}";
        assert_eq!(laid(command, &["workers=0,4"]), Ok(vec![of("workers", &["0", "4"], None)]));
        assert_eq!(laid(command, &["workers=4"]), Ok(vec![of("workers", &["2", "4"], Some(0))]));
        assert_eq!(laid(command, &["--fused=on"]), Ok(vec![of("--fused", &["as it is", "on"], Some(0))]));
        let ladder = laid(command, &["bs=16,8", "amp=bf16", "--workers=0,4", "--fused=on"]);
        let expected = vec![
            of("--workers", &["0", "2", "4"], Some(1)),
            of("amp", &["off", "bf16"], Some(0)),
            of("bs", &["8", "16"], Some(0)),
            of("--fused", &["as it is", "on"], Some(0)),
        ];
        assert_eq!(ladder, Ok(expected));
    }

    #[test]
    fn values_that_go_on_begin_where_the_command_is_or_at_none() {
        let command = "python t.py --workers 2 --batch 24 --mode fast";
        assert_eq!(laid(command, &["workers"]), Ok(vec![of("workers", &["0"], None)]));
        assert_eq!(laid(command, &["batch"]), Ok(vec![of("batch", &["24"], None)]));
        assert_eq!(laid(command, &["--new"]), Ok(vec![of("--new", &["1"], None)]));
        assert_eq!(laid(command, &["mode"]), Err(TooFew::NoStart("mode".to_owned())));
        assert_eq!(laid(command, &["workers=2"]), Err(TooFew::Single("workers".to_owned())));
        assert_eq!(laid("p {n}", &["n=2"]), Err(TooFew::Single("n".to_owned())));
    }
}
