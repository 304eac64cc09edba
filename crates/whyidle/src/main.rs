//! The program. Everything is in the library, which the Python package shares.

use std::process::ExitCode;

fn main() -> ExitCode {
    whyidle::main()
}
