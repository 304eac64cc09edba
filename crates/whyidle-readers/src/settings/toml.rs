//! Where a value of TOML stands.

use toml_edit::{Document, Item, TomlError, Value};

use super::{Found, Quotes, Unsettled, quoted};

pub(super) fn locate(text: &str, path: &[String]) -> Result<Found, Unsettled> {
    let document = Document::parse(text)
        .map_err(|error: TomlError| Unsettled::NotUnderstood(error.message().to_owned()))?;
    let value = in_item(document.as_item(), path)?;
    let at = value.span().ok_or(Unsettled::NotOne)?;
    let written = text.get(at.clone()).ok_or(Unsettled::NotOne)?;
    match value {
        Value::String(string) => Ok(Found { value: string.value().clone(), quotes: quotes(written)?, at }),
        _ => Ok(Found { value: written.to_owned(), quotes: Quotes::None, at }),
    }
}

/// Texts of several lines are left alone.
fn quotes(written: &str) -> Result<Quotes, Unsettled> {
    match written.as_bytes() {
        [b'"', b'"', b'"', ..] | [b'\'', b'\'', b'\'', ..] => Err(Unsettled::NotOne),
        [b'\'', ..] => Ok(Quotes::Single),
        _ => Ok(Quotes::Double),
    }
}

pub(super) fn set(text: &str, path: &[String], new: &str) -> Result<String, Unsettled> {
    let found = locate(text, path)?;
    // What is no value of TOML becomes a text.
    let is_value =
        |new: &str| new.parse::<Value>().is_ok_and(|value| !value.is_array() && !value.is_inline_table());
    let written = match found.quotes {
        Quotes::None if is_value(new) => new.to_owned(),
        Quotes::Single if !new.contains(|c: char| c == '\'' || c.is_control()) => format!("'{new}'"),
        _ => quoted(new),
    };
    Ok(found.replaced(text, &written))
}

fn in_item<'a>(item: &'a Item, path: &[String]) -> Result<&'a Value, Unsettled> {
    if let Item::Value(value) = item {
        return in_value(value, path);
    }
    let (name, rest) = path.split_first().ok_or(Unsettled::NotOne)?;
    match item {
        Item::Table(table) => in_item(table.get(name).ok_or(Unsettled::NotThere)?, rest),
        Item::ArrayOfTables(tables) => {
            let table = number(name).and_then(|at| tables.get(at)).ok_or(Unsettled::NotThere)?;
            let (name, rest) = rest.split_first().ok_or(Unsettled::NotOne)?;
            in_item(table.get(name).ok_or(Unsettled::NotThere)?, rest)
        }
        _ => Err(Unsettled::NotThere),
    }
}

fn in_value<'a>(value: &'a Value, path: &[String]) -> Result<&'a Value, Unsettled> {
    let Some((name, rest)) = path.split_first() else {
        let is_one = !matches!(value, Value::Array(_) | Value::InlineTable(_));
        return if is_one { Ok(value) } else { Err(Unsettled::NotOne) };
    };
    let inside = match value {
        Value::Array(list) => number(name).and_then(|at| list.get(at)),
        Value::InlineTable(table) => table.get(name),
        _ => None,
    };
    in_value(inside.ok_or(Unsettled::NotThere)?, rest)
}

fn number(name: &str) -> Option<usize> {
    name.parse().ok()
}
