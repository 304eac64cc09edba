//! Ids in what is read back: in the program they are words of its own, so they are kept once and for good.

use std::collections::HashSet;
use std::sync::Mutex;

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use whyidle_model::Severity;

/// A stable id: a cause, a message, a unit.
pub(crate) type Id = &'static str;

/// The program has some hundreds of ids; a file with thousands of them was not written by it.
const MOST: usize = 4_096;
const LONGEST: usize = 64;

/// The id `text`. `None` for what cannot be one.
fn known(text: &str) -> Option<Id> {
    static IDS: Mutex<Option<HashSet<Id>>> = Mutex::new(None);
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    if text.len() > LONGEST || !text.bytes().all(fits) {
        return None;
    }
    let mut guard = IDS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let ids = guard.get_or_insert_with(HashSet::new);
    if let Some(&id) = ids.get(text) {
        return Some(id);
    }
    if ids.len() >= MOST {
        return None;
    }
    let id: Id = Box::leak(text.to_owned().into_boxed_str());
    ids.insert(id);
    Some(id)
}

/// Reads an id.
pub(crate) fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Id, D::Error> {
    let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
    known(&text).ok_or_else(|| D::Error::custom("not an id"))
}

/// Reads a share that may be unknown: what is no number is written as nothing.
pub(crate) fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

/// Reads a limit: a time and the cause that sets it.
pub(crate) fn limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<(i64, Id)>, D::Error> {
    let limit = Option::<(i64, String)>::deserialize(deserializer)?;
    let named = |(ns, text): (i64, String)| known(&text).map(|id| (ns, id));
    limit.map(|limit| named(limit).ok_or_else(|| D::Error::custom("not an id"))).transpose()
}

/// Reads a list of values with their names.
pub(crate) fn named<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Vec<(Id, T)>, D::Error> {
    let list = Vec::<(String, T)>::deserialize(deserializer)?;
    let named = list.into_iter().map(|(name, value)| Some((known(&name)?, value)));
    named.collect::<Option<_>>().ok_or_else(|| D::Error::custom("not an id"))
}

/// How severities are written.
pub(crate) mod severity {
    use super::{Deserialize, Deserializer, Error, Severity};

    const ALL: [(Severity, &str); 3] =
        [(Severity::Info, "info"), (Severity::Suspect, "suspect"), (Severity::Loss, "loss")];

    pub(crate) fn serialize<S: serde::Serializer>(
        severity: &Severity,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let word = ALL.iter().find(|(one, _)| one == severity).map_or("info", |(_, word)| word);
        serializer.serialize_str(word)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Severity, D::Error> {
        let text = String::deserialize(deserializer)?;
        let found = ALL.iter().find(|(_, word)| *word == text).map(|(one, _)| *one);
        found.ok_or_else(|| D::Error::custom("not a severity"))
    }
}

#[cfg(test)]
mod tests {
    use super::known;

    #[test]
    fn an_id_is_kept_once_and_what_is_none_is_refused() {
        let (one, other) = (known("data.workers"), known(&["data", "workers"].join(".")));
        assert!(one.zip(other).is_some_and(|(one, other)| std::ptr::eq(one, other)));
        assert_eq!(known("rm -rf"), None);
        assert_eq!(known(&"a".repeat(65)), None);
    }
}
