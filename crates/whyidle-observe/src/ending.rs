//! What is half-written goes when the process is told to end.

use std::io;
use std::path::PathBuf;
use std::thread::JoinHandle;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::emulate_default_handler;

/// For as long as it lives, Ctrl-C and a request to end remove a file or folder before they end the process.
pub struct Removing {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Removing {
    /// Of what is written at `path`, from now on.
    ///
    /// # Errors
    /// Where the system takes no handler.
    pub fn at(path: PathBuf) -> io::Result<Self> {
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let handle = signals.handle();
        let thread = std::thread::Builder::new().name("ending".to_owned()).spawn(move || {
            for signal in signals.forever() {
                // It may not be there yet, or be whole by now.
                let _ =
                    if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
                let _ = emulate_default_handler(signal);
            }
        })?;
        Ok(Self { handle, thread: Some(thread) })
    }
}

impl Drop for Removing {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
