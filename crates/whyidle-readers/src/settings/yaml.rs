//! Where a value of YAML stands: the events of a parser, walked along the path.

use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span};

use super::{Found, Quotes, Unsettled, quoted};

type Next<'a> = Result<(Event<'a>, Span), Unsettled>;

struct Events<'a>(Parser<'a, saphyr_parser::StrInput<'a>>);

impl<'a> Events<'a> {
    fn next(&mut self) -> Next<'a> {
        let failed = |error: ScanError| Unsettled::NotUnderstood(error.to_string());
        self.0.next_event().unwrap_or(Ok((Event::StreamEnd, Span::default()))).map_err(failed)
    }

    /// Passes what began with `event`.
    fn skip(&mut self, event: &Event<'a>) -> Result<(), Unsettled> {
        let mut depth = i64::from(opens(event));
        while depth > 0 {
            let (event, _) = self.next()?;
            match event {
                Event::MappingEnd | Event::SequenceEnd => depth -= 1,
                Event::StreamEnd => return Err(Unsettled::NotThere),
                event => depth += i64::from(opens(&event)),
            }
        }
        Ok(())
    }
}

fn opens(event: &Event<'_>) -> bool {
    matches!(event, Event::MappingStart(..) | Event::SequenceStart(..))
}

/// The bytes of these characters.
fn bytes(text: &str, span: &Span) -> Option<Range<usize>> {
    let mut places = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let start = places.nth(span.start.index())?;
    match span.end.index().checked_sub(span.start.index())? {
        0 => Some(start..start),
        length => Some(start..places.nth(length - 1)?),
    }
}

pub(super) fn locate(text: &str, path: &[String]) -> Result<Found, Unsettled> {
    // What is wrong anywhere is wrong all the same: the program would not read it.
    let mut all = Events(Parser::new_from_str(text));
    while all.next()?.0 != Event::StreamEnd {}
    let mut events = Events(Parser::new_from_str(text));
    let (mut event, mut span) = events.next()?;
    while matches!(event, Event::StreamStart | Event::DocumentStart(_)) {
        (event, span) = events.next()?;
    }
    for name in path {
        (event, span) = match event {
            Event::MappingStart(..) => loop {
                let (key, _) = events.next()?;
                if key == Event::MappingEnd {
                    return Err(Unsettled::NotThere);
                }
                let is_it = matches!(&key, Event::Scalar(known, ..) if known == name.as_str());
                events.skip(&key)?;
                let (value, at) = events.next()?;
                if is_it {
                    break (value, at);
                }
                events.skip(&value)?;
            },
            Event::SequenceStart(..) => {
                let mut left: usize = name.parse().map_err(|_| Unsettled::NotThere)?;
                loop {
                    let (value, at) = events.next()?;
                    if value == Event::SequenceEnd {
                        return Err(Unsettled::NotThere);
                    }
                    if left == 0 {
                        break (value, at);
                    }
                    left -= 1;
                    events.skip(&value)?;
                }
            }
            _ => return Err(Unsettled::NotThere),
        };
    }
    let Event::Scalar(value, style, ..) = event else { return Err(Unsettled::NotOne) };
    let quotes = match style {
        ScalarStyle::Plain => Quotes::None,
        ScalarStyle::SingleQuoted => Quotes::Single,
        ScalarStyle::DoubleQuoted => Quotes::Double,
        ScalarStyle::Literal | ScalarStyle::Folded => return Err(Unsettled::NotOne),
    };
    let at = bytes(text, &span).ok_or(Unsettled::NotOne)?;
    let written = text[at.clone()].trim_end();
    // An anchor or a tag may stand before it.
    let before = match quotes {
        Quotes::None => written.ends_with(&*value).then(|| written.len() - value.len()),
        Quotes::Single => written.find('\''),
        Quotes::Double => written.find('"'),
    };
    let at = at.start + before.ok_or(Unsettled::NotOne)?..at.start + written.len();
    let written = &text[at.clone()];
    let stands = match quotes {
        Quotes::None => !value.is_empty(),
        Quotes::Single => written.len() > 1 && written.ends_with('\''),
        Quotes::Double => written.len() > 1 && written.ends_with('"'),
    };
    if stands { Ok(Found { at, value: value.into_owned(), quotes }) } else { Err(Unsettled::NotOne) }
}

pub(super) fn set(text: &str, path: &[String], new: &str) -> Result<String, Unsettled> {
    let found = locate(text, path)?;
    let written = match found.quotes {
        Quotes::Single if !new.contains(char::is_control) => format!("'{}'", new.replace('\'', "''")),
        Quotes::None if is_plain(new) => new.to_owned(),
        _ => quoted(new),
    };
    Ok(found.replaced(text, &written))
}

/// Needs no quotes, wherever it stands.
fn is_plain(new: &str) -> bool {
    let in_list = format!("[{new}]");
    let mut events = Events(Parser::new_from_str(&in_list));
    let mut scalars = 0;
    while let Ok((event, _)) = events.next() {
        match event {
            Event::Scalar(value, ScalarStyle::Plain, ..) if value == new => scalars += 1,
            Event::Scalar(..) | Event::MappingStart(..) | Event::Alias(_) => return false,
            Event::StreamEnd => break,
            _ => {}
        }
    }
    scalars == 1 && !new.contains(['\n', '\r', '#']) && !new.ends_with(':')
}
