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
    let spellings = [name.to_owned(), name.replace('_', "-"), name.replace('-', "_")];
    let found = spellings.iter().any(|spelling| set_option(command, &format!("--{spelling}"), value));
    if found { Ok(()) } else { Err(Unset::NotThere) }
}

/// The command has `{name}` in an argument.
#[must_use]
pub fn is_open(command: &[String], name: &str) -> bool {
    let open = format!("{{{name}}}");
    command.iter().any(|argument| argument.contains(&open))
}

/// Sets an option that is there.
fn set_option(command: &mut [String], option: &str, value: &str) -> bool {
    let with = format!("{option}=");
    for at in 1..command.len() {
        if command[at].starts_with(&with) {
            command[at] = format!("{with}{value}");
            return true;
        }
        if command[at] == option {
            let Some(next) = command.get_mut(at + 1) else { return false };
            // A negative number is a value.
            if next.starts_with('-') && next.parse::<f64>().is_err() {
                return false;
            }
            value.clone_into(next);
            return true;
        }
    }
    false
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
        assert_eq!(changed("python t.py {workers}", "workers", "8"), Err(Unset::Open));
        assert_eq!(
            (changed("p", "env:", "8"), changed("p", "--", "8")),
            (Err(Unset::NoName), Err(Unset::NoName))
        );
    }
}
