//! `whyidle._native`: whyidle's commands within a Python process. What they say comes back as text, the same JSON that
//! the program prints; `python/whyidle/verdict.py` makes objects of it.

use std::ffi::OsString;

use pyo3::prelude::*;

/// What a command said: exit status, data, error, hint.
type Said = (u8, String, Option<String>, Option<String>);

/// Runs a command that only reads – `trace`, `diagnose`, `merge`, `plan`, `ranks`, `diff`, `sql`, `explain` – with other
/// Python threads going on meanwhile.
#[pyfunction]
fn run(py: Python<'_>, arguments: Vec<OsString>) -> Said {
    let captured = py.detach(|| whyidle::captured(arguments));
    (captured.status, captured.out, captured.error, captured.hint)
}

/// The extension module.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(run, module)?)
}
