//! Where a setting stands – an argument, a variable, a value in a settings file – and commands in which settings have
//! been changed. The program's own files are never written: a file with another value is a copy, and the command is
//! given the copy's path.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use whyidle_readers::settings::{self, Form, Unsettled};

use crate::substitute::{self, Unset};

/// A setting of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// As it was given.
    pub name: String,
    place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// `{name}` in arguments.
    Open,
    /// An argument, an option or a variable, as [`substitute::set`] knows them.
    Named,
    /// A value in a file.
    File { path: PathBuf, key: String },
}

/// Why a setting cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// The command does not have it.
    #[error("{0:?}")]
    Unset(Unset),
    /// `file:` without a path and a name in it.
    #[error("{0} is not file:PATH:NAME")]
    FileForm(String),
    /// The file cannot be read, or its copy not be written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is neither TOML, YAML nor JSON, by its name.
    #[error("{0} is no TOML, YAML or JSON")]
    Form(PathBuf),
    /// The value cannot be found or changed.
    #[error("{path}: {key}: {why}")]
    Value {
        /// The file.
        path: PathBuf,
        /// The name in it.
        key: String,
        /// What is wrong.
        why: Unsettled,
    },
    /// No argument of the command names the file.
    #[error("no argument names {0}")]
    NoArgument(PathBuf),
}

impl Setting {
    /// The setting `name` of `command`:
    ///
    /// * `name` where arguments hold `{name}` – that place;
    /// * `file:PATH:NAME.OF.VALUE` – a value in a TOML, YAML or JSON file that an argument names;
    /// * else as [`substitute::set`] takes it: `env:NAME`, `--option`, `name=`.
    ///
    /// # Errors
    /// Where the command does not have it.
    pub fn of(name: &str, command: &[String]) -> Result<Self, SettingError> {
        let made = |place| Self { name: name.to_owned(), place };
        if let Some(rest) = name.strip_prefix("file:") {
            let (path, key) = rest
                .rsplit_once(':')
                .filter(|(path, key)| !path.is_empty() && !key.is_empty())
                .ok_or_else(|| SettingError::FileForm(name.to_owned()))?;
            let path = PathBuf::from(path);
            let (text, form) = read(&path)?;
            settings::value(&text, form, key).map_err(|why| unsettled(&path, key, why))?;
            if !command.iter().skip(1).any(|argument| named(argument, &path).is_some()) {
                return Err(SettingError::NoArgument(path));
            }
            return Ok(made(Place::File { path, key: key.to_owned() }));
        }
        if substitute::is_open(command, name) {
            return Ok(made(Place::Open));
        }
        let tried = substitute::set(&mut command.to_vec(), &mut BTreeMap::new(), name, "0");
        tried.map_err(SettingError::Unset)?;
        Ok(made(Place::Named))
    }

    /// The command does not run without a value.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.place == Place::Open
    }

    /// Its value in `command` now, where that can be told; `variable` looks one up.
    #[must_use]
    pub fn current(&self, command: &[String], variable: impl Fn(&str) -> Option<String>) -> Option<String> {
        match &self.place {
            Place::Open => None,
            Place::Named => match self.name.strip_prefix("env:") {
                Some(name) => variable(name).filter(|value| !value.is_empty()),
                None => substitute::current(command, &self.name),
            },
            Place::File { path, key } => {
                let (text, form) = read(path).ok()?;
                settings::value(&text, form, key).ok()
            }
        }
    }
}

/// A command and its variables.
pub type Composed = (Vec<String>, BTreeMap<String, String>);

/// The command with these settings. Changed copies of files are written to `folder`, which is made where it is needed.
///
/// # Errors
/// Where one cannot be changed, or a copy not be written.
pub(crate) fn compose(
    command: &[String],
    settings: &[(&Setting, &str)],
    folder: &Path,
) -> Result<Composed, SettingError> {
    let (mut composed, mut environment) = (command.to_vec(), BTreeMap::new());
    // Several values of one file are changed in one copy.
    let mut files: Vec<(&Path, String, Form)> = Vec::new();
    for (setting, value) in settings {
        match &setting.place {
            Place::Open => {
                let open = format!("{{{}}}", setting.name);
                composed.iter_mut().for_each(|argument| *argument = argument.replace(&open, value));
            }
            Place::Named => substitute::set(&mut composed, &mut environment, &setting.name, value)
                .map_err(SettingError::Unset)?,
            Place::File { path, key } => {
                let at = match files.iter().position(|(known, ..)| known == path) {
                    Some(at) => at,
                    None => {
                        let (text, form) = read(path)?;
                        files.push((path, text, form));
                        files.len() - 1
                    }
                };
                let (_, text, form) = &mut files[at];
                *text = settings::set(text, *form, key, value).map_err(|why| unsettled(path, key, why))?;
            }
        }
    }
    for (nth, (path, text, _)) in files.iter().enumerate() {
        // Two files may have one name.
        let folder = if nth == 0 { folder.to_owned() } else { folder.join(nth.to_string()) };
        let copy = folder.join(path.file_name().unwrap_or(path.as_os_str()));
        let unwritten = |source| SettingError::Io { path: copy.clone(), source };
        std::fs::create_dir_all(&folder).map_err(unwritten)?;
        std::fs::write(&copy, text).map_err(unwritten)?;
        for argument in composed.iter_mut().skip(1) {
            if let Some(from) = named(argument, path) {
                argument.replace_range(from.., &copy.display().to_string());
            }
        }
    }
    Ok((composed, environment))
}

fn unsettled(path: &Path, key: &str, why: Unsettled) -> SettingError {
    SettingError::Value { path: path.to_owned(), key: key.to_owned(), why }
}

fn read(path: &Path) -> Result<(String, Form), SettingError> {
    let form = Form::of(path).ok_or_else(|| SettingError::Form(path.to_owned()))?;
    let unread = |source| SettingError::Io { path: path.to_owned(), source };
    let size = std::fs::metadata(path).map_err(unread)?;
    if !size.is_file() || size.len() > settings::LONGEST as u64 {
        return Err(unread(io::Error::from(io::ErrorKind::InvalidData)));
    }
    Ok((std::fs::read_to_string(path).map_err(unread)?, form))
}

/// From which byte of the argument on it names the file: all of it, or what follows `=`.
fn named(argument: &str, path: &Path) -> Option<usize> {
    let wanted = path.canonicalize().ok()?;
    let is_it =
        |text: &str| !text.is_empty() && Path::new(text).canonicalize().is_ok_and(|found| found == wanted);
    if is_it(argument) {
        return Some(0);
    }
    let from = argument.find('=')? + 1;
    is_it(&argument[from..]).then_some(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn arguments_options_and_variables_are_changed() -> Result<(), SettingError> {
        let command = words("python t.py --size {n}x{n} --workers 2");
        let (n, workers) = (Setting::of("n", &command)?, Setting::of("workers", &command)?);
        let variable = Setting::of("env:OMP_NUM_THREADS", &command)?;
        assert!(n.is_open() && !workers.is_open());
        let all = [(&n, "8"), (&workers, "4"), (&variable, "1")];
        let (composed, environment) = compose(&command, &all, Path::new("/nowhere"))?;
        assert_eq!(composed, words("python t.py --size 8x8 --workers 4"));
        assert_eq!(environment.get("OMP_NUM_THREADS").map(String::as_str), Some("1"));
        let current = |setting: &Setting| setting.current(&command, |_| Some("7".to_owned()));
        assert_eq!(
            [&n, &workers, &variable].map(current),
            [None, Some("2".to_owned()), Some("7".to_owned())]
        );
        assert!(matches!(Setting::of("batch", &command), Err(SettingError::Unset(Unset::NotThere))));
        Ok(())
    }

    #[test]
    fn a_file_stays_as_it_is_and_the_command_names_a_copy() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let (file, copies) = (dir.path().join("config.yaml"), dir.path().join("copies"));
        let text = "# mine\ndata:\n  workers: 2 # few\n  size: 7\n";
        std::fs::write(&file, text)?;
        let shown = file.display().to_string();
        let command = words(&format!("python t.py --config={shown} {shown}"));
        let [workers, size] =
            ["workers", "size"].map(|key| Setting::of(&format!("file:{shown}:data.{key}"), &command));
        let (workers, size) = (workers?, size?);
        assert_eq!(workers.current(&command, |_| None).as_deref(), Some("2"));
        let (composed, _) = compose(&command, &[(&workers, "8"), (&size, "9")], &copies)?;
        let copy = copies.join("config.yaml").display().to_string();
        assert_eq!(composed, words(&format!("python t.py --config={copy} {copy}")));
        assert_eq!(std::fs::read_to_string(&copy)?, text.replace("2 #", "8 #").replace(": 7", ": 9"));
        assert_eq!(std::fs::read_to_string(&file)?, text);
        Ok(())
    }

    #[test]
    fn files_that_do_not_serve_are_refused() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let path = |name: &str| dir.path().join(name).display().to_string();
        std::fs::write(path("c.json"), "{\"a\": 1}")?;
        std::fs::write(path("c.ini"), "a=1")?;
        std::fs::write(path("bad.toml"), "a = ")?;
        let of = |name: &str, argument: &str| Setting::of(name, &words(&format!("p {argument}")));
        let json = path("c.json");
        assert!(matches!(of(&format!("file:{json}:a"), "--x"), Err(SettingError::NoArgument(_))));
        assert!(matches!(
            of(&format!("file:{json}:b"), &json),
            Err(SettingError::Value { why: Unsettled::NotThere, .. })
        ));
        assert!(matches!(of(&format!("file:{}:a", path("c.ini")), "x"), Err(SettingError::Form(_))));
        assert!(matches!(of(&format!("file:{}:a", path("no.json")), "x"), Err(SettingError::Io { .. })));
        assert!(matches!(of(&format!("file:{}:a", path("bad.toml")), "x"), Err(SettingError::Value { .. })));
        for name in ["file:", "file:a", "file::a", "file:a:"] {
            assert!(matches!(of(name, "x"), Err(SettingError::FileForm(_))), "{name}");
        }
        Ok(())
    }
}
