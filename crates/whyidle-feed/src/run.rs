//! The whole way from documents to token files.

use std::fs;
use std::path::Path;
use std::time::Instant;

use rayon::prelude::*;
use whyidle_model::Severity;
use whyidle_readers::documents::{Chunk, Documents};

use crate::encode::{Encoded, encode};
use crate::feeder::Feeder;
use crate::places::{ABOUT, Lock, STATE, is_ours};
use crate::settings::{Input, fingerprint, inputs};
use crate::shards::Shards;
use crate::state::{InputFacts, State, Summary, TokenizerFacts};
use crate::tokens::Tokens;
use crate::{FeedError, Settings};

/// Bytes of text that each thread is given at a time; twice as much is in memory, and the ids of as much.
const WAVE: usize = 2 << 20;

/// Tokenises documents into files, on all of rayon's threads. An earlier run with the same settings goes on where it
/// stood, and one that was whole stays as it is. `progress` is told the bytes of the inputs that were read, and that
/// there are in all.
///
/// # Errors
/// [`FeedError`]; what was written by then stays, to be gone on with.
pub fn tokenize(settings: &Settings, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<Summary, FeedError> {
    let tokens = Tokens::load(settings)?;
    let inputs = inputs(&settings.inputs)?;
    // Each is opened once before anything is written: a wrong name of a field shows at once, not after hours.
    let mut kinds = Vec::new();
    for input in &inputs {
        kinds.push(Documents::open(&input.path, &settings.reading)?.kind().id());
    }
    let out = &settings.out;
    fs::create_dir_all(out).map_err(FeedError::write(out))?;
    let _lock = Lock::take(out)?;
    let wanted = fingerprint(settings, &tokens, &inputs);
    if settings.force {
        clear(out)?;
    }
    if let Some(whole) = whole_already(out, &wanted)? {
        return Ok(whole);
    }
    let width = tokens.width(settings.format);
    let mut shards = Shards::new(out, settings.format, width, settings.shard);
    let earlier = State::read(out)?;
    let resumed = earlier.is_some();
    let state = match earlier {
        Some(state) if state.fingerprint != wanted || state.inputs.len() != inputs.len() => {
            return Err(FeedError::Another { path: out.clone() });
        }
        Some(state) => {
            shards.resume(state.shards.clone(), state.begun)?;
            state
        }
        None => {
            nothing_there(out)?;
            State::new(wanted.clone(), inputs.len())
        }
    };
    let mut run = Run { settings, tokens: &tokens, inputs: &inputs, shards, state, saved: Instant::now() };
    run.save()?;
    run.all(progress)?;
    run.shards.close()?;
    if run.shards.whole.is_empty() {
        clear(out)?;
        return Err(FeedError::Nothing);
    }
    let facts = inputs.iter().zip(kinds).zip(&run.state.inputs).map(|((input, kind), counts)| InputFacts {
        path: input.path.clone(),
        kind: kind.to_owned(),
        counts: counts.clone(),
    });
    let tokenizer = TokenizerFacts { path: settings.tokenizer.clone(), sha256: tokens.sha256.clone() };
    let summary = Summary::new(
        (settings.format, width, tokens.ids),
        (tokens.bos, tokens.eos),
        run.shards.whole.clone(),
        facts.collect(),
        tokenizer,
        wanted,
    );
    summary.write(out)?;
    run.shards.forget();
    // With the summary there, the state is not looked at any more.
    let _ = fs::remove_file(out.join(STATE));
    Ok(Summary { resumed, ..summary })
}

/// A chunk's input, where that stands after it, and its ids or why there are none.
type Done = (usize, u64, Result<Encoded, String>);

struct Run<'a> {
    settings: &'a Settings,
    tokens: &'a Tokens,
    inputs: &'a [Input],
    shards: Shards,
    state: State,
    saved: Instant,
}

impl Run<'_> {
    /// Reads, tokenises and writes: while one stretch of the documents is tokenised, the one before it is written, and
    /// the next is read.
    fn all(&mut self, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<(), FeedError> {
        let total = self.inputs.iter().map(|input| input.bytes).sum();
        let size = WAVE * rayon::current_num_threads();
        let mut feeder = Feeder::new(self.inputs, &self.settings.reading, self.state.input, self.state.place);
        let (tokens, width) = (self.tokens, self.tokens.width(self.settings.format));
        let mut next = feeder.next(size);
        let mut before = Vec::new();
        loop {
            let wave = match next {
                Ok(wave) if !wave.is_empty() => wave,
                // What came before the end, or before what cannot be read, stands.
                end => {
                    self.take_all(before)?;
                    return end.map(|_| ());
                }
            };
            let work = || -> Vec<Done> {
                let encoded =
                    |(input, chunk): &(usize, Chunk)| (*input, chunk.after, encode(chunk, tokens, width));
                wave.par_iter().with_max_len(1).map(encoded).collect()
            };
            let (done, (read, written)) = rayon::join(work, || (feeder.next(size), self.take_all(before)));
            written?;
            progress(feeder.bytes_read().min(total), total);
            (before, next) = (done, read);
        }
    }

    /// Writes a stretch's documents.
    fn take_all(&mut self, done: Vec<Done>) -> Result<(), FeedError> {
        for (input, after, encoded) in done {
            let reason = |reason| FeedError::Encode { path: self.inputs[input].path.clone(), reason };
            self.take(input, after, &encoded.map_err(reason)?)?;
        }
        if self.saved.elapsed() >= self.settings.save_every { self.save() } else { Ok(()) }
    }

    /// Writes a chunk's documents, and counts them. `after` is where the input stands then.
    fn take(&mut self, input: usize, after: u64, encoded: &Encoded) -> Result<(), FeedError> {
        if self.settings.strict {
            let notes = encoded.notes.sorted();
            if let Some(note) = notes.into_iter().find(|note| note.code.severity() == Severity::Loss) {
                // What came before it stands, for a run that is less strict.
                self.save()?;
                let path = self.inputs[input].path.clone();
                return Err(FeedError::Strict { path, code: note.code, count: note.count });
            }
        }
        let filled = self.shards.add(encoded)?;
        let counts = &mut self.state.inputs[input];
        counts.documents += encoded.lengths.len() as u64;
        counts.tokens += encoded.lengths.iter().map(|&length| u64::from(length)).sum::<u64>();
        counts.text_bytes += encoded.text_bytes;
        counts.note(&encoded.notes);
        (self.state.input, self.state.place) = (input, after);
        if filled {
            self.save()?;
        }
        Ok(())
    }

    /// Writes down where it stands, after what it stands on is on the disk.
    fn save(&mut self) -> Result<(), FeedError> {
        self.state.begun = self.shards.save()?;
        self.state.shards.clone_from(&self.shards.whole);
        self.state.write(&self.settings.out)?;
        self.shards.forget();
        self.saved = Instant::now();
        Ok(())
    }
}

/// What an earlier run made, if it is the same and whole.
fn whole_already(out: &Path, wanted: &str) -> Result<Option<Summary>, FeedError> {
    match Summary::read(out)? {
        Some(summary) if summary.fingerprint == wanted => {
            // A kill may have come just before it removed what it does not need any more.
            let hidden = ours(out)?.into_iter().filter(|file| is_hidden(file));
            for file in hidden.chain([out.join(STATE)]) {
                // One that stays is in nobody's way.
                let _ = fs::remove_file(file);
            }
            Ok(Some(Summary { was_whole: true, ..summary }))
        }
        Some(_) => Err(FeedError::There { path: out.join(ABOUT) }),
        None => Ok(None),
    }
}

/// What was not begun here is not overwritten.
fn nothing_there(out: &Path) -> Result<(), FeedError> {
    for file in ours(out)? {
        if !is_hidden(&file) {
            return Err(FeedError::There { path: file });
        }
    }
    Ok(())
}

fn is_hidden(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

/// Removes what this program wrote into a folder, and nothing else.
fn clear(out: &Path) -> Result<(), FeedError> {
    // The summary first: files without it are no finished run's.
    for name in [ABOUT, STATE] {
        let path = out.join(name);
        if path.exists() {
            fs::remove_file(&path).map_err(FeedError::write(&path))?;
        }
    }
    for file in ours(out)? {
        fs::remove_file(&file).map_err(FeedError::write(&file))?;
    }
    Ok(())
}

/// The files with tokens in a folder, whole or not, by names that only this program gives.
fn ours(out: &Path) -> Result<Vec<std::path::PathBuf>, FeedError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(out).map_err(FeedError::write(out))? {
        let path = entry.map_err(FeedError::write(out))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let hidden = name
            .strip_prefix('.')
            .and_then(|rest| rest.strip_suffix(".partial").or_else(|| rest.strip_suffix(".lengths")));
        if is_ours(hidden.unwrap_or(&name)) && path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
