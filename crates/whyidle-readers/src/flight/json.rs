//! JSON dumps, one entry at a time: a ring of any length takes the memory of its columns.

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use whyidle_model::{FlightDump, NoteCode};

use super::Failure;
use super::build::Builder;
use crate::error::Found;

/// Bytes of an entry at most, and of what stands beside the entries: as values they take some twenty times the memory.
const LONGEST_ENTRY: usize = 1 << 20;
const LONGEST_MEMBER: usize = 16 << 20;

impl Builder {
    /// What `text` says, unless it is too long; that is counted.
    fn within(&mut self, text: &RawValue, longest: usize) -> Option<Value> {
        if text.get().len() > longest {
            self.note(NoteCode::OverBudget);
            return None;
        }
        let value = serde_json::from_str(text.get()).ok();
        if value.is_none() {
            self.note(NoteCode::MalformedEvent);
        }
        value
    }
}

/// Reads a dump: an object, or a bare list of entries as the oldest ones are.
pub(super) fn read(text: &[u8]) -> Result<FlightDump, Failure> {
    let mut builder = Builder::new(text.len());
    let mut stream = serde_json::Deserializer::from_slice(text);
    let result = stream.deserialize_any(Top { builder: &mut builder });
    match result {
        Ok(()) => {}
        Err(error) if error.is_eof() && !builder.is_empty() => builder.note(NoteCode::Truncated),
        Err(_) if !builder.is_empty() => builder.note(NoteCode::MalformedEvent),
        Err(error) => return Err(Failure::Broken(place(text, &error))),
    }
    if builder.is_empty() && !builder.is_known() {
        return Err(Failure::Other(Found::Json));
    }
    Ok(builder.finish())
}

/// The byte at which `error` arose.
fn place(text: &[u8], error: &serde_json::Error) -> u64 {
    let lines = text.split_inclusive(|&byte| byte == b'\n').take(error.line().saturating_sub(1));
    (lines.map(<[u8]>::len).sum::<usize>() + error.column().saturating_sub(1)) as u64
}

/// The whole, or a list of entries.
struct Top<'a> {
    builder: &'a mut Builder,
}

impl<'de> Visitor<'de> for Top<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a dump of the flight recorder")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "entries" => map.next_value_seed(Entries { builder: &mut *self.builder })?,
                "nccl_comm_state" => drop(map.next_value::<IgnoredAny>()?),
                _ => {
                    if let Some(value) = self.builder.within(map.next_value()?, LONGEST_MEMBER) {
                        self.builder.member(&key, &value);
                    }
                }
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(entry) = entries.next_element()? {
            if let Some(entry) = self.builder.within(entry, LONGEST_ENTRY) {
                self.builder.entry(&entry);
            }
        }
        Ok(())
    }
}

struct Entries<'a> {
    builder: &'a mut Builder,
}

impl<'de> serde::de::DeserializeSeed<'de> for Entries<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(Top { builder: self.builder })
    }
}
