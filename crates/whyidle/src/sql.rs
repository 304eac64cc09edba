//! `whyidle sql`: a question to the tables of a trace or recording.

use whyidle_diagnosis::{Arg, Message};
use whyidle_readers::ReadError;
use whyidle_report::{Sheet, SheetForm};
use whyidle_tables::sql::{Database, Fault, SqlError};
use whyidle_tables::{Rows, Sampled, Stop, TABLES, Table, Traced, create, table};

use crate::args::{SheetFormat, SqlOptions};
use crate::near::nearest;
use crate::output::Output;
use crate::tables::Evidence;
use crate::trace::{Question, each_file};
use crate::{REACHED, REFUSED, UNREADABLE};

/// Why there is no answer.
enum Unanswered {
    Unread(ReadError),
    Sql(SqlError),
}

impl From<ReadError> for Unanswered {
    fn from(error: ReadError) -> Self {
        Self::Unread(error)
    }
}

impl From<SqlError> for Unanswered {
    fn from(error: SqlError) -> Self {
        Self::Sql(error)
    }
}

impl From<Stop> for Unanswered {
    fn from(stop: Stop) -> Self {
        Self::Sql(stop.into())
    }
}

pub(crate) fn run(options: &SqlOptions, output: &Output) -> u8 {
    if let Some(command) = options.query.trim().strip_prefix('.') {
        return describe(command, output);
    }
    match answer(options, output) {
        Ok(()) => REACHED,
        Err(Unanswered::Unread(error)) => {
            output.read_error(&error);
            UNREADABLE
        }
        Err(Unanswered::Sql(error)) => complain(&error, options, output),
    }
}

fn answer(options: &SqlOptions, output: &Output) -> Result<(), Unanswered> {
    let evidence = Evidence::find(&options.paths)?;
    let mut database = Database::private()?;
    // A faulty query is found before anything is read.
    let used = database.used(&options.query)?;
    let question = Question { paths: options.paths.clone(), ..Question::default() };
    if used.iter().any(|table| matches!(table.rows, Rows::Traced(_))) {
        let mut number = 0;
        each_file(&evidence.traces, &question, output, |loaded, facts| {
            let traced = Traced::new(number, &loaded.input.path, &loaded.trace, facts);
            number += 1;
            database.add_trace(&used, &traced).map_err(Unanswered::from)
        })?;
    }
    if used.is_empty() {
        // What asks for nothing of the evidence still says that it cannot be read.
        each_file(&evidence.traces, &question, output, |_, _| Ok::<_, Unanswered>(()))?;
    }
    if used.iter().any(|table| matches!(table.rows, Rows::Sampled(_))) {
        if evidence.recordings.is_empty() {
            output.say(&Message::new("cli-sql-no-samples"));
        }
        for samples in evidence.samples() {
            database.add_samples(&used, &Sampled { samples: &samples? })?;
        }
    }
    let form = match options.format {
        SheetFormat::Text => SheetForm::Text,
        SheetFormat::Json => SheetForm::Json,
        SheetFormat::Csv => SheetForm::Csv,
    };
    let mut out = output.sink();
    let mut sheet = Sheet::new(&mut out, form);
    database.query(&options.query, options.timeout, &mut sheet)?;
    Ok(sheet.finish().map_err(Stop::from)?)
}

/// `.tables`, `.schema`, `.schema TABLE`.
fn describe(command: &str, output: &Output) -> u8 {
    let words: Vec<&str> = command.trim_end_matches(';').split_whitespace().collect();
    let schema = |table: &Table| format!("{};\n", create(table));
    let text = match words[..] {
        ["tables"] => TABLES.iter().map(|table| format!("{}\n", table.name)).collect::<String>(),
        ["schema"] => TABLES.iter().map(schema).collect::<Vec<_>>().join("\n"),
        ["schema", name] => match table(name) {
            Some(table) => schema(table),
            None => {
                output.error(
                    &Message::new("cli-sql-no-table").name("name", name),
                    Some(&like(name, table_names())),
                );
                return UNREADABLE;
            }
        },
        _ => {
            let error = Message::new("cli-sql-no-command").name("command", format!(".{command}"));
            output.error(&error, Some(&Message::new("cli-sql-commands")));
            return UNREADABLE;
        }
    };
    output.data(&text, REACHED)
}

fn table_names() -> impl Iterator<Item = &'static str> + Clone {
    TABLES.iter().map(|table| table.name)
}

/// What was probably meant, or where to look.
fn like(name: &str, known: impl Iterator<Item = &'static str> + Clone) -> Message {
    match nearest(name, known) {
        Some(near) => Message::new("cli-did-you-mean").name("cause", near),
        None => {
            let tables = table_names().map(|name| Arg::Name(name.to_owned())).collect();
            Message::new("cli-sql-tables").with("tables", Arg::List(tables))
        }
    }
}

/// Says why there is no answer; a reader that went away is no fault.
fn complain(error: &SqlError, options: &SqlOptions, output: &Output) -> u8 {
    let simple = |id: &'static str| (Message::new(id), None);
    let (message, hint) = match &error.fault {
        Fault::NoTable(name) => {
            (Message::new("cli-sql-no-table").name("name", name), Some(like(name, table_names())))
        }
        Fault::NoColumn(name) => {
            let bare = name.rsplit('.').next().unwrap_or(name);
            let columns = TABLES.iter().flat_map(|table| table.columns.iter().map(|column| column.name));
            (Message::new("cli-sql-no-column").name("name", name), Some(like(bare, columns)))
        }
        Fault::NotRead => (Message::new("cli-sql-not-read"), Some(Message::new("cli-sql-not-read-hint"))),
        Fault::Nothing => (Message::new("cli-sql-nothing"), Some(Message::new("cli-sql-commands"))),
        Fault::Several => simple("cli-sql-several"),
        Fault::TimeUp => {
            let limit = i64::try_from(options.timeout.as_nanos()).unwrap_or(i64::MAX);
            let error = Message::new("cli-sql-time-up").time("time", limit);
            output.error(&error, Some(&Message::new("cli-sql-time-up-hint")));
            return REFUSED;
        }
        Fault::TooLarge => simple("cli-sql-too-large"),
        Fault::Unwritten(std::io::ErrorKind::BrokenPipe) => return REACHED,
        Fault::Unwritten(_) => (Message::new("cli-output").name("reason", &error.message), None),
        Fault::NoFunction(_) | Fault::Other => (
            Message::new("cli-sql-fault").name("reason", &error.message),
            Some(Message::new("cli-sql-commands")),
        ),
    };
    output.error(&message, hint.as_ref());
    UNREADABLE
}
