//! Text in both languages, of which the page shows one, and text of others that stays text.

use std::fmt;

use askama::filters::HtmlSafe;
use fluent_bundle::FluentValue;
use whyidle_diagnosis::Message;

use crate::{Catalog, Lang};

/// Both catalogues.
pub(crate) struct Tongues<'c> {
    pub(crate) en: &'c Catalog,
    pub(crate) zh: &'c Catalog,
}

impl Tongues<'_> {
    /// What `say` says in either language.
    pub(crate) fn say(&self, say: impl Fn(&Catalog) -> String) -> Both {
        Both { en: say(self.en), zh: say(self.zh) }
    }

    /// An entry without arguments.
    pub(crate) fn word(&self, key: &str) -> Both {
        self.say(|catalog| catalog.word(key))
    }

    /// An entry with arguments that are the same in both languages.
    pub(crate) fn format(&self, key: &str, args: &[(&str, FluentValue<'_>)]) -> Both {
        self.say(|catalog| catalog.format(key, args))
    }

    /// A message.
    pub(crate) fn message(&self, message: &Message) -> Both {
        self.say(|catalog| catalog.message(message))
    }

    /// A time.
    pub(crate) fn time(&self, ns: i64) -> Both {
        self.say(|catalog| catalog.time(ns))
    }
}

/// A text in both languages. It is set with what has a meaning in HTML escaped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Both {
    pub(crate) en: String,
    pub(crate) zh: String,
}

impl Both {
    /// The same in both: a name, a path.
    pub(crate) fn same(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { en: text.clone(), zh: text }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.en.is_empty() && self.zh.is_empty()
    }

    /// As scripts take it.
    pub(crate) fn value(&self) -> serde_json::Value {
        serde_json::json!([self.en, self.zh])
    }
}

impl fmt::Display for Both {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.en == self.zh {
            return f.write_str(&escaped(&self.en));
        }
        for (lang, text) in [(Lang::En, &self.en), (Lang::Zh, &self.zh)] {
            write!(f, "<span lang=\"{}\">{}</span>", lang.tag(), with_code(&escaped(text)))?;
        }
        Ok(())
    }
}

impl HtmlSafe for Both {}

/// Prose marks what one types with backticks.
fn with_code(escaped: &str) -> String {
    let pieces: Vec<&str> = escaped.split('`').collect();
    if pieces.len().is_multiple_of(2) {
        return escaped.to_owned();
    }
    let set = |(at, piece): (usize, &&str)| {
        if at % 2 == 1 { format!("<code>{piece}</code>") } else { (*piece).to_owned() }
    };
    pieces.iter().enumerate().map(set).collect()
}

/// Text inside an element or a quoted attribute.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // A NUL ends nothing and shows nothing; other controls would be faults of the document.
            c if c.is_control() && !c.is_whitespace() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// JSON inside a `<script>` of data: nothing in it can end the element.
pub(crate) fn inert_json(value: &serde_json::Value) -> String {
    let mut out = String::new();
    for c in value.to_string().chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_stays_text() {
        let both = Both::same("</span><script>alert('x')</script>&\u{0}");
        let set = both.to_string();
        assert_eq!(set, "&lt;/span&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;\u{fffd}");
        let two = Both { en: "<b>".to_owned(), zh: "“".to_owned() }.to_string();
        assert_eq!(two, "<span lang=\"en\">&lt;b&gt;</span><span lang=\"zh-CN\">“</span>");
        let prose = Both { en: "use `a<b>`".to_owned(), zh: "一个 ` 不成对".to_owned() }.to_string();
        assert!(prose.contains("use <code>a&lt;b&gt;</code>") && prose.contains("一个 ` 不成对"), "{prose}");
        let json = inert_json(&serde_json::json!({ "a": "</script><!--\u{2028}" }));
        assert_eq!(json, "{\"a\":\"\\u003c/script\\u003e\\u003c!--\\u2028\"}");
        let back: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(back["a"], "</script><!--\u{2028}");
    }
}
