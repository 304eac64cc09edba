//! The start-up hook for PyTorch programs: a folder on `PYTHONPATH` whose `sitecustomize.py` writes a line at the end of
//! each optimizer step, and tries changes where that is asked. The program's files and arguments stay as they are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What is put before the program.
const CONTENT: [(&str, &str); 3] = [
    ("sitecustomize.py", include_str!("hook/sitecustomize.py")),
    ("whyidle_tries.py", include_str!("hook/whyidle_tries.py")),
    ("whyidle_feeding.py", include_str!("hook/whyidle_feeding.py")),
];

/// A hook that was laid out.
#[derive(Clone, Debug)]
pub struct Hook {
    code: PathBuf,
    steps: PathBuf,
}

impl Hook {
    /// Lays the hook out in `dir`, which outlives the program.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn lay(dir: &Path) -> io::Result<Self> {
        let (code, steps) = (dir.join("hook"), dir.join("steps"));
        fs::create_dir_all(&code)?;
        fs::create_dir_all(&steps)?;
        for (name, content) in CONTENT {
            fs::write(code.join(name), content)?;
        }
        Ok(Self { code, steps })
    }

    /// What the program's environment needs: its own `PYTHONPATH` is `python_path`.
    #[must_use]
    pub fn environment(&self, python_path: Option<&str>) -> [(&'static str, String); 2] {
        let code = self.code.display();
        // An empty part would stand for the working directory.
        let path = match python_path.filter(|path| !path.is_empty()) {
            Some(path) => format!("{code}:{path}"),
            None => code.to_string(),
        };
        [("PYTHONPATH", path), ("WHYIDLE_STEPS", self.steps.display().to_string())]
    }

    /// The variable that asks for changes: names and values.
    #[must_use]
    pub fn asking<'a>(tries: impl Iterator<Item = (&'a str, &'a str)>) -> (&'static str, String) {
        let asked: Vec<[&str; 2]> = tries.map(|(name, value)| [name, value]).collect();
        ("WHYIDLE_TRY", serde_json::json!(asked).to_string())
    }

    /// The folder with a file for each process that trains, and one for each that changed something.
    #[must_use]
    pub fn steps(&self) -> &Path {
        &self.steps
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Runs `code` with the hook before it and `path` as the program's own; `None` without a Python.
    fn python(hook: &Hook, path: &Path, code: &str) -> Option<String> {
        let own = path.display().to_string();
        let output =
            Command::new("python3").args(["-c", code]).envs(hook.environment(Some(&own))).output().ok()?;
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// A stand-in for the two modules of PyTorch that the hook waits for.
    fn stand_in(dir: &Path) -> io::Result<()> {
        for (file, text) in [
            (
                "torch/__init__.py",
                "__version__ = '9.9'\nclass cuda:\n    is_initialized = staticmethod(lambda: False)\n",
            ),
            ("torch/optim/__init__.py", "from . import optimizer\n"),
            (
                "torch/optim/optimizer.py",
                "hooks = []\nregister_optimizer_step_post_hook = hooks.append\nclass Optimizer:\n    def step(self):\n        for hook in hooks: hook(self, (), {})\n",
            ),
            ("torch/utils/__init__.py", ""),
            ("torch/utils/data/__init__.py", "from . import dataloader\n"),
            (
                "torch/utils/data/dataloader.py",
                "class Tensor:\n    shape, dtype = (4, 16), 'torch.int64'\nclass _BaseDataLoaderIter:\n    def __next__(self): return {'x': 1, 'input_ids': Tensor()}\n",
            ),
            ("sitecustomize.py", "import sys\nsys.own_ran = True\n"),
        ] {
            let path = dir.join(file);
            fs::create_dir_all(path.parent().unwrap_or(dir))?;
            fs::write(path, text)?;
        }
        Ok(())
    }

    #[test]
    fn steps_are_written_and_the_programs_own_sitecustomize_runs() -> io::Result<()> {
        let (dir, own) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let hook = Hook::lay(dir.path())?;
        stand_in(own.path())?;
        let code = "import sys, os, torch, torch.optim, torch.utils.data\n\
            o = torch.optim.optimizer.Optimizer()\n\
            for _ in range(3): torch.utils.data.dataloader._BaseDataLoaderIter().__next__(); o.step()\n\
            if os.fork() == 0: os._exit(0)\n\
            os.wait()\n\
            sys.stdout.write(f'{sys.own_ran} {any(\"hook\" in p for p in sys.path)}')";
        let Some(said) = python(&hook, own.path(), code) else { return Ok(()) };
        assert_eq!(said, "True False");
        let files: Vec<PathBuf> = fs::read_dir(hook.steps())?.flatten().map(|entry| entry.path()).collect();
        assert_eq!(files.len(), 1);
        let text = fs::read_to_string(&files[0])?;
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("whyidle.steps/1") && lines[0].contains("9.9"), "{text}");
        assert!(
            lines.len() == 4 && lines[3].contains("\"i\":3") && lines[3].contains("\"b\":4,\"t\":64"),
            "{text}"
        );
        Ok(())
    }

    #[test]
    fn a_program_that_breaks_the_hook_runs_on_and_one_without_torch_leaves_nothing() -> io::Result<()> {
        let (dir, own) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let hook = Hook::lay(dir.path())?;
        stand_in(own.path())?;
        if python(&hook, own.path(), "import json").is_none() {
            return Ok(());
        }
        assert_eq!(fs::read_dir(hook.steps())?.count(), 0);
        // A batch that raises when it is looked at, an optimizer of another make, a version without the hook.
        fs::write(own.path().join("torch/optim/optimizer.py"), "x = 1\n")?;
        fs::write(
            own.path().join("torch/utils/data/dataloader.py"),
            "class Bad:\n    @property\n    def shape(self): raise RuntimeError('no')\nclass _BaseDataLoaderIter:\n    def __next__(self): return Bad()\n",
        )?;
        let code = "import sys, torch.optim, torch.utils.data as d\nd.dataloader._BaseDataLoaderIter().__next__()\nsys.stdout.write('fine')";
        assert_eq!(python(&hook, own.path(), code).as_deref(), Some("fine"));
        Ok(())
    }

    #[test]
    fn the_programs_own_path_is_kept() {
        let hook = Hook { code: "/t/hook".into(), steps: "/t/steps".into() };
        assert_eq!(hook.environment(Some("/a:/b"))[0].1, "/t/hook:/a:/b");
        assert_eq!(hook.environment(Some(""))[0].1, "/t/hook");
        assert_eq!(hook.environment(None)[0].1, "/t/hook");
    }
}
