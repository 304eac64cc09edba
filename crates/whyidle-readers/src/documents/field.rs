//! Where the text of a record lies: a field's name, or a path of them.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Names of a path, and bytes of all of them.
const DEEPEST: usize = 16;
const LONGEST_NAME: usize = 1024;

/// A field, `text` or `content.text`: objects in objects, or a column of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field(Vec<String>);

impl Field {
    /// Reads a path; `None` where a name is empty, or there are too many.
    #[must_use]
    pub fn parse(path: &str) -> Option<Self> {
        let names: Vec<String> = path.split('.').map(str::to_owned).collect();
        let fits = names.len() <= DEEPEST && path.len() <= LONGEST_NAME;
        (fits && names.iter().all(|name| !name.is_empty())).then_some(Self(names))
    }

    /// The names, from the outermost.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// The text of a record; `None` where the field is not there or holds no text.
    ///
    /// # Errors
    /// Where the line is no JSON.
    pub(super) fn of<'l>(&self, line: &'l [u8]) -> Result<Option<Cow<'l, str>>, serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_slice(line);
        let found = Within(&self.0).deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(found)
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// A value of which the text at this path is wanted; the value itself where the path is at its end.
struct Within<'p>(&'p [String]);

impl<'de> DeserializeSeed<'de> for Within<'_> {
    type Value = Option<Cow<'de, str>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Within<'_> {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(self.0.is_empty().then_some(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(self.0.is_empty().then(|| Cow::Owned(text.to_owned())))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is_it) = map.next_key_seed(Named(self.0.first()))? {
            if is_it {
                // Of a name that comes twice the last counts, as in Python.
                found = map.next_value_seed(Within(&self.0[1..]))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Whether a key is this one.
struct Named<'p>(Option<&'p String>);

impl<'de> DeserializeSeed<'de> for Named<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Named<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(self.0.is_some_and(|name| name == key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &str, line: &str) -> Option<Option<String>> {
        let field = Field::parse(path).expect("a path");
        field.of(line.as_bytes()).ok().map(|found| found.map(Cow::into_owned))
    }

    #[test]
    fn the_field_is_found_wherever_it_stands() {
        let found = |text: &str| Some(Some(text.to_owned()));
        assert_eq!(
            text("text", r#"{"id": 1, "text": "a\u00e9\n", "more": [[{"text": "no"}]]}"#),
            found("aé\n")
        );
        assert_eq!(text("a.b", r#"{"b": "no", "a": {"c": {}, "b": "yes"}}"#), found("yes"));
        assert_eq!(text("text", r#" {"text": "first", "text": "last"} "#), found("last"));
        for none in [
            r#"{}"#,
            r#"{"text": 1}"#,
            r#"{"text": null}"#,
            r#"{"text": ["x"]}"#,
            r#"{"text": {"text": "x"}}"#,
            "[]",
            "3",
            "\"text\"",
        ] {
            assert_eq!(text("text", none), Some(None), "{none}");
        }
        for bad in [
            "",
            "{",
            r#"{"text": "x"#,
            r#"{"text": "x"} y"#,
            r#"{"text": "\ud800"}"#,
            r#"{"text": NaN}"#,
            "{\"text\": \"\t\"}",
        ] {
            assert_eq!(text("text", bad), None, "{bad}");
        }
        let deep = format!("{{\"x\": {}1{}, \"text\": \"t\"}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(text("text", &deep), found("t"), "what is passed over may be nested as it likes");
    }

    #[test]
    fn a_path_is_bounded() {
        assert!(Field::parse("").is_none() && Field::parse("a..b").is_none() && Field::parse(".").is_none());
        assert!(Field::parse(&vec!["a"; DEEPEST].join(".")).is_some());
        assert!(Field::parse(&vec!["a"; DEEPEST + 1].join(".")).is_none());
    }
}
