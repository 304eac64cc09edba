//! One setting of a command, changed: in its arguments or its environment. The program's files stay as they are.

use std::collections::BTreeMap;

/// What could not be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unset {
    /// The command has neither an option nor an argument of that name.
    NotThere,
    /// The command leaves the place open, `{name}`: it does not run without a value.
    Open,
    /// No name.
    NoName,
}

/// Sets `name` to `value`:
///
/// * `env:NAME` – the variable;
/// * `--option` or `-o` – that option's value, `--option VALUE` or `--option=VALUE`; an option that is not there is added;
/// * `name` – the argument `name=…`, or the option `--name` (with `-` or `_`), which has to be there.
///
/// # Errors
/// Where a bare name is not in the command.
pub fn set(
    command: &mut Vec<String>,
    environment: &mut BTreeMap<String, String>,
    name: &str,
    value: &str,
) -> Result<(), Unset> {
    if let Some(variable) = name.strip_prefix("env:") {
        if variable.is_empty() {
            return Err(Unset::NoName);
        }
        environment.insert(variable.to_owned(), value.to_owned());
        return Ok(());
    }
    if name.trim_start_matches('-').is_empty() {
        return Err(Unset::NoName);
    }
    if name.starts_with('-') {
        if !set_option(command, name, value) {
            command.extend([name.to_owned(), value.to_owned()]);
        }
        return Ok(());
    }
    if is_open(command, name) {
        return Err(Unset::Open);
    }
    // As Hydra and others take them; `+name=` adds one there.
    let bare = |argument: &&mut String| {
        argument.trim_start_matches('+').split_once('=').is_some_and(|(known, _)| known == name)
    };
    if let Some(argument) = command.iter_mut().skip(1).find(bare) {
        let known = argument.split_once('=').map_or("", |(known, _)| known).to_owned();
        *argument = format!("{known}={value}");
        return Ok(());
    }
    let found = spellings(name).iter().any(|spelling| set_option(command, &format!("--{spelling}"), value));
    if found { Ok(()) } else { Err(Unset::NotThere) }
}

/// The command has `{name}` in an argument.
#[must_use]
pub fn is_open(command: &[String], name: &str) -> bool {
    let open = format!("{{{name}}}");
    command.iter().any(|argument| argument.contains(&open))
}

/// The value that the command has for `name` now, as [`set`] would change it; of variables the one that is set here.
#[must_use]
pub fn current(command: &[String], name: &str) -> Option<String> {
    if name.starts_with("env:") {
        return None;
    }
    let bare = |argument: &String| {
        let (known, value) = argument.trim_start_matches('+').split_once('=')?;
        (known == name).then(|| value.to_owned())
    };
    let of_option = |option: &str| {
        let (at, from) = option_value(command, option)?;
        command[at].get(from..).map(str::to_owned)
    };
    if name.starts_with('-') {
        return of_option(name);
    }
    let spelled = spellings(name);
    command
        .iter()
        .skip(1)
        .find_map(bare)
        .or_else(|| spelled.iter().find_map(|name| of_option(&format!("--{name}"))))
}

/// With `-` or `_`.
fn spellings(name: &str) -> [String; 3] {
    [name.to_owned(), name.replace('_', "-"), name.replace('-', "_")]
}

/// Where the value of an option stands: the argument, and from which byte of it on.
fn option_value(command: &[String], option: &str) -> Option<(usize, usize)> {
    let with = format!("{option}=");
    for at in 1..command.len() {
        if command[at].starts_with(&with) {
            return Some((at, with.len()));
        }
        if command[at] == option {
            // A negative number is a value.
            let next = command.get(at + 1)?;
            return (!next.starts_with('-') || next.parse::<f64>().is_ok()).then_some((at + 1, 0));
        }
    }
    None
}

/// Sets an option that is there.
fn set_option(command: &mut [String], option: &str, value: &str) -> bool {
    let Some((at, from)) = option_value(command, option) else { return false };
    command[at].replace_range(from.., value);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(command: &str, name: &str, value: &str) -> Result<String, Unset> {
        let mut words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let mut environment = BTreeMap::new();
        set(&mut words, &mut environment, name, value)?;
        let set = environment.into_iter().map(|(name, value)| format!("{name}={value}"));
        Ok(set.chain(words).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn settings_are_changed_where_they_stand() {
        for (command, name, value, expected) in [
            ("python t.py --workers 2 --x", "--workers", "8", "python t.py --workers 8 --x"),
            ("python t.py --workers=2", "--workers", "8", "python t.py --workers=8"),
            ("python t.py --lr -1", "--lr", "3", "python t.py --lr 3"),
            ("python t.py", "--workers", "8", "python t.py --workers 8"),
            ("python t.py --amp --x", "--amp", "bf16", "python t.py --amp --x --amp bf16"),
            ("python t.py --num-workers 2", "num_workers", "8", "python t.py --num-workers 8"),
            ("python t.py +data.workers=2", "data.workers", "8", "python t.py +data.workers=8"),
            ("python t.py", "env:OMP_NUM_THREADS", "1", "OMP_NUM_THREADS=1 python t.py"),
        ] {
            assert_eq!(changed(command, name, value).as_deref(), Ok(expected), "{command} {name}");
        }
        assert_eq!(changed("python t.py", "workers", "8"), Err(Unset::NotThere));
        let words = |command: &str| command.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (command, name, value) in [
            ("python t.py --num-workers 2", "num_workers", Some("2")),
            ("python t.py --workers=2 --x", "--workers", Some("2")),
            ("python t.py +data.workers=2", "data.workers", Some("2")),
            ("python t.py --workers", "--workers", None),
            ("python t.py", "workers", None),
            ("python t.py", "env:X", None),
        ] {
            assert_eq!(current(&words(command), name).as_deref(), value, "{command} {name}");
        }
        assert_eq!(changed("python t.py {workers}", "workers", "8"), Err(Unset::Open));
        assert_eq!(
            (changed("p", "env:", "8"), changed("p", "--", "8")),
            (Err(Unset::NoName), Err(Unset::NoName))
        );
    }
}
