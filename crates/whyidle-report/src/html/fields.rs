//! Every field of a verdict as `--format json` has it, by its name, with what the schema says of it: nothing of the
//! verdict is left out of the page, and a field that is new is shown before anybody words it.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::both::{Both, escaped};

const SCHEMA: &str = include_str!("../../schema/whyidle.verdict-1.schema.json");
/// Items of a list; a job of thousands of ranks is in the JSON report.
const ITEMS: usize = 128;

/// The fields of `en`; `zh` is the same verdict in the other language.
pub(crate) fn set(en: &Value, zh: &Value, more: impl Fn(usize) -> Both) -> String {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap_or_default();
    let mut fields = Fields { out: String::new(), schema: &schema, more: &more };
    let top = if en.get("refused").is_some() { "refusal" } else { "report" };
    fields.object("", en, zh, Some(&schema["$defs"][top]));
    fields.out
}

struct Fields<'a> {
    out: String,
    schema: &'a Value,
    more: &'a dyn Fn(usize) -> Both,
}

impl<'a> Fields<'a> {
    fn object(&mut self, path: &str, en: &Value, zh: &Value, schema: Option<&'a Value>) {
        let Some(members) = en.as_object() else { return };
        self.out.push_str("<dl>");
        for (name, value) in members {
            let path = join(path, name);
            let of = self.property(schema, name);
            self.label("dt", name, &path, of);
            self.out.push_str("<dd>");
            self.value(&path, value, &zh[name.as_str()], of);
            self.out.push_str("</dd>");
        }
        self.out.push_str("</dl>");
    }

    fn value(&mut self, path: &str, en: &Value, zh: &Value, schema: Option<&'a Value>) {
        match en {
            Value::Object(members) => match worded(members) {
                Some(_) => self.put(en, zh),
                None => self.object(path, en, zh, schema),
            },
            Value::Array(items) => self.list(path, items, zh, schema),
            _ => self.put(en, zh),
        }
    }

    fn list(&mut self, path: &str, items: &[Value], zh: &Value, schema: Option<&'a Value>) {
        let of = self.items(schema);
        let at = |index: usize| &zh[index];
        let shown = items.len().min(ITEMS);
        let is_plain =
            |item: &Value| !item.is_array() && item.as_object().is_none_or(|m| worded(m).is_some());
        if items.is_empty() {
            self.out.push('–');
        } else if items.iter().all(|item| item.is_number() || item.is_null()) {
            let figures: Vec<String> = items.iter().map(plain).collect();
            self.out.push_str(&figures.join(", "));
            return;
        } else if items.iter().all(is_plain) {
            self.out.push_str("<ul>");
            for (index, item) in items.iter().take(shown).enumerate() {
                self.out.push_str("<li>");
                self.put(item, at(index));
                self.out.push_str("</li>");
            }
            self.out.push_str("</ul>");
        } else if items.iter().all(|item| item.as_object().is_some_and(|m| m.values().all(is_plain))) {
            self.table(path, &items[..shown], zh, of);
        } else {
            self.out.push_str("<ol>");
            for (index, item) in items.iter().take(shown).enumerate() {
                self.out.push_str("<li>");
                self.value(path, item, at(index), of);
                self.out.push_str("</li>");
            }
            self.out.push_str("</ol>");
        }
        if items.len() > shown {
            let more = (self.more)(items.len() - shown);
            let _ = write!(self.out, "<p class=\"faint\">{more}</p>");
        }
    }

    /// Objects of one kind: a column for each field.
    fn table(&mut self, path: &str, items: &[Value], zh: &Value, schema: Option<&'a Value>) {
        let mut names: Vec<&String> = Vec::new();
        for name in items.iter().filter_map(Value::as_object).flat_map(Map::keys) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        self.out.push_str("<div class=\"scroll\"><table class=\"plain\"><thead><tr>");
        for name in &names {
            let of = self.property(schema, name);
            self.label("th", name, &join(path, name), of);
        }
        self.out.push_str("</tr></thead><tbody>");
        for (index, item) in items.iter().enumerate() {
            self.out.push_str("<tr>");
            for name in &names {
                let value = &item[name.as_str()];
                self.out.push_str(if value.is_number() { "<td class=\"n\">" } else { "<td>" });
                self.put(value, &zh[index][name.as_str()]);
                self.out.push_str("</td>");
            }
            self.out.push_str("</tr>");
        }
        self.out.push_str("</tbody></table></div>");
    }

    fn put(&mut self, en: &Value, zh: &Value) {
        let text = |value: &Value| match value.as_object().and_then(worded) {
            Some(text) => text.to_owned(),
            None => plain(value),
        };
        let _ =
            write!(self.out, "{}", Both { en: text(en), zh: if zh.is_null() { text(en) } else { text(zh) } });
    }

    /// A field's name, with its definition.
    fn label(&mut self, element: &str, name: &str, path: &str, schema: Option<&Value>) {
        let definition = schema.and_then(|schema| schema["description"].as_str());
        let scope = if element == "th" { " scope=\"col\"" } else { "" };
        let title = definition.map(|text| format!(" title=\"{}\"", escaped(text))).unwrap_or_default();
        let _ = write!(
            self.out,
            "<{element}{scope} data-field=\"{}\"{title}>{}</{element}>",
            escaped(path),
            escaped(name)
        );
    }

    /// What the schema says of a member. Its own words come before those of what it refers to.
    fn property(&self, schema: Option<&'a Value>, name: &str) -> Option<&'a Value> {
        self.resolved(schema?).and_then(|schema| schema["properties"].get(name))
    }

    fn items(&self, schema: Option<&'a Value>) -> Option<&'a Value> {
        self.resolved(schema?).and_then(|schema| schema.get("items"))
    }

    fn resolved(&self, schema: &'a Value) -> Option<&'a Value> {
        if let Some(name) = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
            return self.resolved(&self.schema["$defs"][name]);
        }
        let one_of = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array());
        match one_of {
            Some(choices) => {
                choices.iter().find(|one| one["type"] != "null").and_then(|one| self.resolved(one))
            }
            None => Some(schema),
        }
    }
}

/// The words of a text that carries its message.
fn worded(members: &Map<String, Value>) -> Option<&str> {
    members.get("msg")?;
    members.get("text")?.as_str()
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        Value::Object(members) if members.is_empty() => "–".to_owned(),
        other => other.to_string(),
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
