//! `whyidle tokenize`: documents to token files, ahead of training.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use whyidle_diagnosis::{Arg, Message};
use whyidle_feed::formats::Format;
use whyidle_feed::{FeedError, Settings, Summary};
use whyidle_model::{ImportNotes, NoteCode};
use whyidle_readers::documents::{Field, Kind, Reading};

use crate::output::{Output, io_reason};
use crate::progress;
use crate::values::{Unfit, whole};
use crate::{REACHED, REFUSED, UNREADABLE};

/// Options of `tokenize`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  whyidle tokenize corpus/*.jsonl.zst --tokenizer tokenizer.json --eos '<|endoftext|>' -o tokens/\n  \
    whyidle tokenize pile.parquet --tokenizer tokenizer.json -o tokens/ --format megatron\n\n\
    After a kill the same command goes on. In Python, whyidle.TokenDataset reads the files.\n\
    Exit status: 0 written, 1 no tokens or a fault under --strict, 2 bad usage or unreadable input."
)]
pub(crate) struct TokenizeOptions {
    /// JSON lines, Parquet, Arrow, text, also .gz and .zst (told by content), or directories with such files
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// The tokenizer.json of a model, as Hugging Face's libraries write it
    #[arg(long, value_name = "FILE")]
    tokenizer: PathBuf,
    /// The directory for the token files
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// The field or column with the text; a.b is b within a
    #[arg(long, value_name = "NAME", default_value = "text", value_parser = field)]
    field: Field,
    /// How to write
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = FileFormat::Nanogpt)]
    format: FileFormat,
    /// End each document with this token
    #[arg(long, value_name = "TOKEN")]
    eos: Option<String>,
    /// Begin each document with this token
    #[arg(long, value_name = "TOKEN")]
    bos: Option<String>,
    /// Add the tokens that the tokenizer puts around a sequence, as [CLS]
    #[arg(long)]
    special: bool,
    /// Begin a new file after so many tokens: 100M, 1G
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    shard_size: Option<u64>,
    /// Read the inputs as this kind, whatever they look like
    #[arg(long = "as", value_enum, value_name = "KIND", hide_short_help = true)]
    kind: Option<InputKind>,
    /// Take a text file as one document, not each line
    #[arg(long)]
    whole: bool,
    /// Threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1..=4096), hide_short_help = true)]
    threads: Option<usize>,
    /// Stop at the first line that cannot be used, instead of counting it
    #[arg(long)]
    strict: bool,
    /// Replace what is there
    #[arg(long)]
    force: bool,
    /// Save where it stands this often; after a kill, what came later is done again
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = pause, hide_short_help = true)]
    save_every: Duration,
}

/// How token files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FileFormat {
    /// Bare ids
    Nanogpt,
    /// Ids, with an index of documents
    Megatron,
}

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum InputKind {
    /// JSON lines
    Jsonl,
    /// Text
    Text,
    /// Parquet
    Parquet,
    /// Arrow, Feather
    Arrow,
}

impl From<InputKind> for Kind {
    fn from(kind: InputKind) -> Self {
        match kind {
            InputKind::Jsonl => Self::Json,
            InputKind::Text => Self::Text,
            InputKind::Parquet => Self::Parquet,
            InputKind::Arrow => Self::Arrow,
        }
    }
}

fn field(text: &str) -> Result<Field, Unfit> {
    Field::parse(text).ok_or_else(|| Unfit::new("cli-value-field"))
}

/// A number of tokens, with a factor: `100M` is 100 000 000.
fn tokens(text: &str) -> Result<u64, Unfit> {
    let (number, factor) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 1e3),
        Some((at, 'M')) => (&text[..at], 1e6),
        Some((at, 'G' | 'B')) => (&text[..at], 1e9),
        _ => (text, 1.0),
    };
    let tokens = number.trim().parse::<f64>().map(|number| number * factor).unwrap_or(0.0);
    if (1.0..=1e15).contains(&tokens) { Ok(tokens as u64) } else { Err(Unfit::new("cli-value-tokens")) }
}

fn pause(text: &str) -> Result<Duration, Unfit> {
    let seconds = text.strip_suffix('s').unwrap_or(text).parse::<f64>().unwrap_or(-1.0);
    let is_fit = (0.0..=3600.0).contains(&seconds);
    if is_fit { Ok(Duration::from_secs_f64(seconds)) } else { Err(Unfit::new("cli-value-pause")) }
}

pub(crate) fn run(options: &TokenizeOptions, output: &Output) -> u8 {
    let settings = Settings {
        inputs: options.inputs.clone(),
        reading: Reading {
            field: options.field.clone(),
            kind: options.kind.map(Kind::from),
            whole: options.whole,
        },
        tokenizer: options.tokenizer.clone(),
        out: options.out.clone(),
        format: match options.format {
            FileFormat::Nanogpt => Format::Raw,
            FileFormat::Megatron => Format::Megatron,
        },
        bos: options.bos.clone(),
        eos: options.eos.clone(),
        special: options.special,
        shard: options.shard_size,
        strict: options.strict,
        force: options.force,
        save_every: options.save_every,
    };
    let bar = progress::bar(output, &options.inputs);
    let show = |done: u64, total: u64| {
        bar.set_length(total);
        bar.set_position(done);
    };
    let tokenize = || whyidle_feed::tokenize(&settings, &show);
    let done = match options.threads.map(|count| rayon::ThreadPoolBuilder::new().num_threads(count).build()) {
        Some(Ok(threads)) => threads.install(tokenize),
        // Where the system gives no more threads, those that there are do it.
        Some(Err(_)) | None => tokenize(),
    };
    bar.finish_and_clear();
    match done {
        Ok(summary) => {
            if summary.resumed {
                output.say(&Message::new("cli-tokenize-resumed"));
            }
            for note in notes(&summary.notes()) {
                output.say(&note);
            }
            output.data(&written(&summary, &options.out, output), REACHED)
        }
        Err(error) => complain(&error, output),
    }
}

/// What was written, and how to read it.
fn written(summary: &Summary, out: &Path, output: &Output) -> String {
    let line = |message: Message| output.catalog.message(&message) + "\n";
    let head = if summary.was_whole { "cli-tokenize-was-whole" } else { "cli-tokenize-written" };
    let mut text = line(
        Message::new(head)
            .name("path", out.display().to_string())
            .with("tokens", count(summary.tokens))
            .with("documents", count(summary.documents)),
    );
    text += &line(
        Message::new("cli-tokenize-of")
            .with("bytes", Arg::Bytes(i64::try_from(summary.text_bytes).unwrap_or(i64::MAX)))
            .with("ratio", Arg::Number(summary.text_bytes as f64 / summary.tokens.max(1) as f64, 2))
            .name("type", summary.dtype.name())
            .count("files", summary.files.len()),
    );
    // A folder stands for its only file.
    let read = match &summary.files[..] {
        [first, _, ..] => out.join(&first.name),
        _ => out.to_owned(),
    };
    let call = format!("whyidle.TokenDataset({:?}, 1024)", read.display().to_string());
    text + &line(Message::new("cli-tokenize-read").name("call", call))
}

fn count(number: u64) -> Arg {
    Arg::Count(i64::try_from(number).unwrap_or(i64::MAX))
}

/// What was left out or doubted, gravest first.
fn notes(notes: &ImportNotes) -> Vec<Message> {
    let word = |code: NoteCode, count| Message::new(code.message()).count("count", count);
    notes.sorted().into_iter().map(|note| word(note.code, note.count)).collect()
}

/// Says why nothing was written; the exit status.
fn complain(error: &FeedError, output: &Output) -> u8 {
    let path = |path: &Path| path.display().to_string();
    let (message, hint) = match error {
        FeedError::Unread(error) => {
            output.read_error(error);
            return UNREADABLE;
        }
        FeedError::NoInput { path: folder } => {
            (Message::new("cli-tokenize-no-input").name("path", path(folder)), None)
        }
        FeedError::Tokenizer { path: file, reason } => (
            Message::new("cli-tokenize-tokenizer").name("path", path(file)).name("reason", reason),
            Some(Message::new("cli-tokenize-tokenizer-hint")),
        ),
        FeedError::NoToken { path: file, token, special } => (
            Message::new("cli-tokenize-no-token").name("path", path(file)).name("token", token),
            (!special.is_empty()).then(|| {
                let known = special.iter().cloned().map(Arg::Name).collect();
                Message::new("cli-tokenize-no-token-hint").with("known", Arg::List(known))
            }),
        ),
        FeedError::Encode { path: file, reason } => (
            Message::new("cli-tokenize-encode").name("path", path(file)).name("reason", reason),
            Some(Message::new("cli-tokenize-tokenizer-hint")),
        ),
        FeedError::Strict { path: file, code, count } => (
            Message::new("cli-tokenize-strict")
                .name("path", path(file))
                .message("note", Message::new(code.message()).count("count", *count)),
            Some(Message::new("cli-tokenize-strict-hint")),
        ),
        FeedError::Nothing => {
            (Message::new("cli-tokenize-nothing"), Some(Message::new("cli-tokenize-nothing-hint")))
        }
        FeedError::There { path: file } => (
            Message::new("cli-export-there").name("path", path(file)),
            Some(Message::new("cli-export-there-hint")),
        ),
        FeedError::Another { path: folder } => (
            Message::new("cli-tokenize-another").name("path", path(folder)),
            Some(Message::new("cli-tokenize-another-hint")),
        ),
        FeedError::Lost { path: file } => (
            Message::new("cli-tokenize-lost").name("path", path(file)),
            Some(Message::new("cli-tokenize-another-hint")),
        ),
        FeedError::Busy { path: folder } => {
            (Message::new("cli-tokenize-busy").name("path", path(folder)), None)
        }
        FeedError::Write { path: file, source } => (
            Message::new("cli-not-written").name("path", path(file)).message("reason", io_reason(source)),
            None,
        ),
        // A kind of error that is newer than this list.
        other => (Message::new("cli-output").name("reason", other.to_string()), None),
    };
    output.error(&message, hint.as_ref());
    let refused = matches!(error, FeedError::Strict { .. } | FeedError::Nothing);
    if refused { REFUSED } else { UNREADABLE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_tokens_have_factors() {
        assert_eq!(tokens("100M"), Ok(100_000_000));
        assert_eq!(tokens("1.5G"), Ok(1_500_000_000));
        assert_eq!((tokens("2k"), tokens("7")), (Ok(2000), Ok(7)));
        for wrong in ["", "M", "-1", "0", "1T", "1e99", "nan", "ü"] {
            assert!(tokens(wrong).is_err(), "{wrong}");
        }
        assert!(pause("0").is_ok() && pause("0.5s").is_ok() && pause("-1").is_err() && pause("x").is_err());
    }
}
