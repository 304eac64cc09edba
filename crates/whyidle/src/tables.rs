//! What `sql` and `export` read: traces, and samples of recordings.

use std::path::PathBuf;

use whyidle_model::Samples;
use whyidle_readers::{ReadError, samples};

use crate::trace::{File, Question, files};

/// What lies at the paths that were given.
pub(crate) struct Evidence {
    /// Traces.
    pub(crate) traces: Vec<File>,
    /// Directories with samples.
    pub(crate) recordings: Vec<PathBuf>,
}

impl Evidence {
    /// What lies at `paths`.
    ///
    /// # Errors
    /// Where a path is not there, or is a directory with neither traces nor samples.
    pub(crate) fn find(paths: &[PathBuf]) -> Result<Self, ReadError> {
        let mut found = Self { traces: Vec::new(), recordings: Vec::new() };
        for path in paths {
            let is_recording = path.is_dir() && samples::FILES.iter().any(|name| path.join(name).is_file());
            if is_recording {
                found.recordings.push(path.clone());
            }
            let question = Question { paths: vec![path.clone()], ..Question::default() };
            match files(&question) {
                Ok(traces) => found.traces.extend(traces),
                Err(ReadError::NoTrace { .. }) if is_recording => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// The samples of each recording, read when they are asked for.
    pub(crate) fn samples(&self) -> impl Iterator<Item = Result<Samples, ReadError>> + '_ {
        self.recordings.iter().map(|dir| samples::read(dir).map(|found| found.samples))
    }
}
