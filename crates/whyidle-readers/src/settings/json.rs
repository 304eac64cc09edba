//! Where a value of JSON stands.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::{Found, Quotes, Unsettled, quoted};

pub(super) fn locate(text: &str, path: &[String]) -> Result<Found, Unsettled> {
    let mut here: &RawValue = read(text)?;
    for name in path {
        let inside = match here.get().as_bytes().first() {
            Some(b'{') => read::<BTreeMap<String, &RawValue>>(here.get())?.get(name).copied(),
            Some(b'[') => {
                let list: Vec<&RawValue> = read(here.get())?;
                name.parse::<usize>().ok().and_then(|at| list.get(at).copied())
            }
            _ => None,
        };
        here = inside.ok_or(Unsettled::NotThere)?;
    }
    let written = here.get();
    // Raw values are pieces of the text they were read from.
    let start = (written.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
    let at = start..start.saturating_add(written.len());
    if text.get(at.clone()) != Some(written) {
        return Err(Unsettled::NotOne);
    }
    match written.as_bytes().first() {
        Some(b'{' | b'[') | None => Err(Unsettled::NotOne),
        Some(b'"') => Ok(Found { at, value: read(written)?, quotes: Quotes::Double }),
        Some(_) => Ok(Found { at, value: written.to_owned(), quotes: Quotes::None }),
    }
}

pub(super) fn set(text: &str, path: &[String], new: &str) -> Result<String, Unsettled> {
    let found = locate(text, path)?;
    let is_value = |new: &str| serde_json::from_str::<&RawValue>(new).is_ok() && new.trim() == new;
    let bare = found.quotes == Quotes::None && is_value(new);
    Ok(found.replaced(text, &if bare { new.to_owned() } else { quoted(new) }))
}

fn read<'a, T: serde::Deserialize<'a>>(text: &'a str) -> Result<T, Unsettled> {
    serde_json::from_str(text).map_err(|error| Unsettled::NotUnderstood(error.to_string()))
}
