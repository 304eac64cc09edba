//! What a process has loaded: Python, PyTorch, and their versions, from its memory map and its files.

use std::fs;
use std::path::Path;

use crate::rooted::read_inside;

/// What is known of a process's software.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Software {
    /// Python is loaded.
    pub is_python: bool,
    /// PyTorch is loaded.
    pub has_torch: bool,
    /// PyTorch's CUDA part is loaded.
    pub has_torch_cuda: bool,
    /// Version of PyTorch, `2.11.0+cu130`.
    pub torch: Option<String>,
    /// CUDA version that PyTorch was built for.
    pub cuda: Option<String>,
    /// Version of Python as its library or binary is named, `3.12`.
    pub python: Option<String>,
}

impl Software {
    /// Major and minor version of PyTorch.
    #[must_use]
    pub fn torch_version(&self) -> Option<(u32, u32)> {
        let mut parts = self.torch.as_deref()?.split(['.', '+', 'a', 'b', 'r']);
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    }
}

/// What `pid` has loaded; empty where its map may not be read.
#[must_use]
pub fn software(pid: u32) -> Software {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let mut found = from_maps(&maps);
    if let Some(folder) = torch_folder(&maps) {
        const LARGEST: u64 = 64 << 10;
        let version = read_inside(pid, &format!("{folder}/version.py"), LARGEST, true).unwrap_or_default();
        found.torch = assigned(&version, "__version__");
        found.cuda = assigned(&version, "cuda");
    }
    found
}

fn from_maps(maps: &str) -> Software {
    let mut found = Software::default();
    for path in paths(maps) {
        let name = path.rsplit('/').next().unwrap_or(path);
        if name.starts_with("libpython") || name.starts_with("python") {
            found.is_python = true;
            let digits = name.trim_start_matches("libpython").trim_start_matches("python");
            let version: String = digits.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
            let version = version.trim_end_matches('.');
            if version.contains('.') {
                found.python = Some(version.to_owned());
            }
        }
        found.has_torch |= name.starts_with("libtorch_cpu.so") || name.starts_with("libtorch_python.so");
        found.has_torch_cuda |= name.starts_with("libtorch_cuda") || name.starts_with("libtorch_hip");
    }
    found
}

fn paths(maps: &str) -> impl Iterator<Item = &str> {
    let mut last = "";
    maps.lines().filter_map(move |line| {
        let path = &line[line.find('/')?..];
        (path != last).then(|| {
            last = path;
            path
        })
    })
}

/// The folder of the package `torch`.
fn torch_folder(maps: &str) -> Option<String> {
    let library = paths(maps).find(|path| path.contains("/torch/lib/libtorch"))?;
    Some(Path::new(library).parent()?.parent()?.to_string_lossy().into_owned())
}

/// The text assigned to `name` in a line of Python, as `__version__ = '2.11.0+cu130'`.
fn assigned(source: &str, name: &str) -> Option<String> {
    source.lines().find_map(|line| {
        let (left, right) = line.split_once('=')?;
        let left = left.split(':').next()?.trim();
        let text = right.trim().trim_matches(['\'', '"']);
        (left == name && text != "None" && !text.is_empty()).then(|| text.to_owned())
    })
}

/// Versions before this one may crash at their start, or never answer, when they are asked to poll for requests.
const FIRST_SAFE: (u32, u32) = (2, 10);

/// A version of PyTorch that cannot be asked for a trace safely.
#[must_use]
pub(crate) fn is_too_old(version: &str) -> bool {
    let software = Software { torch: Some(version.to_owned()), ..Software::default() };
    software.torch_version().is_some_and(|version| version < FIRST_SAFE)
}

/// The version of PyTorch that `command` would load, if it starts with a Python that says so. Nothing is imported:
/// the interpreter reads its packages' descriptions.
#[must_use]
pub fn installed(command: &[String]) -> Option<String> {
    const ASK: &str = "import importlib.metadata as m; print(m.version('torch'))";
    let program = command.first()?;
    let name = Path::new(program).file_name()?.to_str()?;
    if !name.starts_with("python") {
        return None;
    }
    let answer = std::process::Command::new(program)
        .args(["-c", ASK])
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
    let version = text.trim();
    (answer.status.success() && !version.is_empty()).then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn software_is_read_from_a_memory_map() {
        let maps = "55d0-55d1 r-xp 0 fd:00 1  /usr/bin/python3.12\n7f00-7f01 r-xp 0 fd:00 2  /usr/lib/libpython3.12.so.1.0\n\
            7f02-7f03 r-xp 0 fd:00 3  /v/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so\n7f04-7f05 rw-p 0 00:00 0 [heap]\n";
        let found = from_maps(maps);
        assert!(found.is_python && found.has_torch && !found.has_torch_cuda);
        assert_eq!(found.python.as_deref(), Some("3.12"));
        assert_eq!(torch_folder(maps).as_deref(), Some("/v/lib/python3.12/site-packages/torch"));
        assert_eq!(from_maps(""), Software::default());
    }

    #[test]
    fn versions_are_read_from_version_py() {
        let text = "from typing import Optional\n__version__ = '2.11.0+cu130'\ncuda: Optional[str] = '13.0'\nhip = None\n";
        assert_eq!(assigned(text, "__version__").as_deref(), Some("2.11.0+cu130"));
        assert_eq!(assigned(text, "cuda").as_deref(), Some("13.0"));
        assert_eq!(assigned(text, "hip"), None);
        let software = Software { torch: Some("2.9.1+cpu".to_owned()), ..Software::default() };
        assert_eq!(software.torch_version(), Some((2, 9)));
        assert!(is_too_old("2.9.1+cpu") && !is_too_old("2.11.0+cu130") && !is_too_old("unknown"));
        assert_eq!(installed(&["sh".to_owned()]), None);
    }
}
