//! A page for the browser, read as a person reads it, and its list of all fields.

use serde_json::Value;

use super::said::flat;

/// A page without what is not read: scripts, styles, drawings.
pub(super) struct Page(String);

/// `html` without its elements of this name.
fn without(html: &str, open: &str, close: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    while let Some((before, from)) = rest.split_once(open) {
        out.push_str(before);
        out.push(' ');
        rest = from.split_once(close).map_or("", |(_, after)| after);
    }
    out + rest
}

impl Page {
    pub(super) fn read(html: &str) -> Self {
        let mut html = html.to_owned();
        for (open, close) in [("<script", "</script>"), ("<style", "</style>"), ("<svg", "</svg>")] {
            html = without(&html, open, close);
        }
        Self(html)
    }

    /// Its words in one language.
    pub(super) fn words(&self, lang: &str) -> String {
        flat(&words(&self.0, lang))
    }

    /// Fields of a verdict that its list does not show, or not with the same digits: every figure and every text, one
    /// after the other. What lies beside the verdict has pages of its own.
    pub(super) fn fields_missing(&self, report: &Value, lang: &str) -> Vec<String> {
        let Some((_, fields)) = self.0.split_once("class=\"fields\"") else {
            return vec!["the page lists no fields".to_owned()];
        };
        // Names of fields are no values.
        let fields = without(&without(fields, "<dt", "</dt>"), "<thead", "</thead>");
        let spaced =
            |text: &str| text.replace(['`', ','], " ").split_whitespace().collect::<Vec<_>>().join(" ");
        let words = format!(" {} ", spaced(&words(&fields, lang)));
        let mut leaves = Vec::new();
        let members = report.as_object().unwrap().iter().filter(|(name, _)| *name != "evidence");
        members.for_each(|(name, value)| collect(name, value, &mut leaves));
        let (mut at, mut missing) = (0, Vec::new());
        for (path, leaf) in leaves {
            let wanted = spaced(&leaf);
            if wanted.is_empty() {
                continue;
            }
            match words[at..].find(&format!(" {wanted} ")) {
                Some(found) => at += found + wanted.len() + 1,
                None => missing.push(format!("page {lang}: field {path} = {leaf} is not there in its place")),
            }
        }
        missing
    }
}

/// Without tags and the other language, with single spaces.
fn words(html: &str, lang: &str) -> String {
    let other = if lang == "en" { "<span lang=\"zh-CN\">" } else { "<span lang=\"en\">" };
    let html = without(html, other, "</span>");
    let mut out = String::with_capacity(html.len());
    let mut is_tag = false;
    for c in html.chars() {
        match c {
            '<' => is_tag = true,
            '>' if is_tag => {
                is_tag = false;
                out.push(' ');
            }
            c if !is_tag => out.push(c),
            _ => {}
        }
    }
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    let plain = entities.iter().fold(out, |text, (entity, c)| text.replace(entity, c));
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Every leaf: figures as JSON writes them, texts in words. Objects that are rows of one table are read row by row, as
/// the page sets them, which is the order of the JSON too.
fn collect(path: &str, value: &Value, out: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) if members.contains_key("msg") => {
            out.push((path.to_owned(), members["text"].as_str().unwrap().to_owned()));
        }
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| collect(&format!("{path}.{name}"), value, out));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| collect(&format!("{path}[{at}]"), item, out));
        }
        Value::Number(number) => out.push((path.to_owned(), number.to_string())),
        Value::String(text) => out.push((path.to_owned(), text.clone())),
        Value::Bool(is) => out.push((path.to_owned(), is.to_string())),
        Value::Null => {}
    }
}
