//! The catalogue of one language: ids in, sentences out.
//!
//! The Fluent files under `locales/` are compiled in. An id that is missing never stops a
//! report – it is printed as it is – but the tests let no missing one pass.

use crate::{Lang, quantity, quantity::Quantity};
use fluent_bundle::{FluentArgs, FluentResource, FluentValue, concurrent::FluentBundle};
use whyidle_diagnosis::{Arg, Message};

macro_rules! sources {
    ($folder:literal) => {
        &[
            include_str!(concat!("../locales/", $folder, "/terms.ftl")),
            include_str!(concat!("../locales/", $folder, "/report.ftl")),
            include_str!(concat!("../locales/", $folder, "/notes.ftl")),
            include_str!(concat!("../locales/", $folder, "/refusals.ftl")),
            include_str!(concat!("../locales/", $folder, "/causes.ftl")),
            include_str!(concat!("../locales/", $folder, "/gains.ftl")),
            include_str!(concat!("../locales/", $folder, "/findings.ftl")),
            include_str!(concat!("../locales/", $folder, "/cli.ftl")),
            include_str!(concat!("../locales/", $folder, "/plan.ftl")),
            include_str!(concat!("../locales/", $folder, "/live.ftl")),
            include_str!(concat!("../locales/", $folder, "/ranks.ftl")),
            include_str!(concat!("../locales/", $folder, "/memory.ftl")),
            include_str!(concat!("../locales/", $folder, "/ncu.ftl")),
            include_str!(concat!("../locales/", $folder, "/machine.ftl")),
            include_str!(concat!("../locales/", $folder, "/together.ftl")),
            include_str!(concat!("../locales/", $folder, "/evidence.ftl")),
            include_str!(concat!("../locales/", $folder, "/tables.ftl")),
            include_str!(concat!("../locales/", $folder, "/check.ftl")),
            include_str!(concat!("../locales/", $folder, "/top.ftl")),
            include_str!(concat!("../locales/", $folder, "/experiment.ftl")),
            include_str!(concat!("../locales/", $folder, "/fix.ftl")),
            include_str!(concat!("../locales/", $folder, "/sweep.ftl")),
            include_str!(concat!("../locales/", $folder, "/gate.ftl")),
            include_str!(concat!("../locales/", $folder, "/history.ftl")),
            include_str!(concat!("../locales/", $folder, "/agent.ftl")),
            include_str!(concat!("../locales/", $folder, "/fleet.ftl")),
            include_str!(concat!("../locales/", $folder, "/html.ftl")),
            include_str!(concat!("../locales/", $folder, "/tokenize.ftl")),
        ]
    };
}

/// The messages of one language.
pub struct Catalog {
    lang: Lang,
    bundle: FluentBundle<FluentResource>,
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Catalog").field("lang", &self.lang).finish_non_exhaustive()
    }
}

impl Catalog {
    /// The catalogue of `lang`.
    #[must_use]
    pub fn new(lang: Lang) -> Self {
        let language = lang.tag().parse().unwrap_or_default();
        let mut bundle = FluentBundle::new_concurrent(vec![language]);
        // Isolation marks are for right-to-left text; in a terminal they show up as rubbish.
        bundle.set_use_isolating(false);
        bundle.set_formatter(Some(|value, _| match value {
            FluentValue::Number(number) => Some(quantity::count(number.value as i64)),
            _ => None,
        }));
        for source in Self::sources(lang) {
            // A faulty entry is left out and the rest kept; a test parses every file strictly.
            let resource = match FluentResource::try_new((*source).to_owned()) {
                Ok(resource) | Err((resource, _)) => resource,
            };
            bundle.add_resource_overriding(resource);
        }
        Self { lang, bundle }
    }

    /// The Fluent files of `lang`.
    pub(crate) fn sources(lang: Lang) -> &'static [&'static str] {
        match lang {
            Lang::En => sources!("en"),
            Lang::Zh => sources!("zh-CN"),
        }
    }

    /// The catalogue with the messages of `source` added.
    #[cfg(test)]
    pub(crate) fn with(mut self, source: &str) -> Self {
        let resource = FluentResource::try_new(source.to_owned()).expect("a faultless source");
        self.bundle.add_resource_overriding(resource);
        self
    }

    /// Its language.
    #[must_use]
    pub fn lang(&self) -> Lang {
        self.lang
    }

    /// `message` in words.
    #[must_use]
    pub fn message(&self, message: &Message) -> String {
        self.format(&key_of(message.id), &self.args(message))
    }

    /// What would go wrong with `message`: entries that are missing, placeholders without an
    /// argument. Empty when it can be worded. For the tests of whoever makes messages.
    #[must_use]
    pub fn problems(&self, message: &Message) -> Vec<String> {
        let mut problems = Vec::new();
        if let Err(found) = self.try_format(&key_of(message.id), &self.args(message)) {
            problems.extend(found.into_iter().map(|problem| format!("{}: {problem}", message.id)));
        }
        for (_, arg) in &message.args {
            self.problems_of_arg(arg, &mut problems);
        }
        problems
    }

    fn problems_of_arg(&self, arg: &Arg, problems: &mut Vec<String>) {
        match arg {
            Arg::Message(message) => problems.extend(self.problems(message)),
            Arg::List(items) => items.iter().for_each(|item| self.problems_of_arg(item, problems)),
            _ => {}
        }
    }

    /// True if the catalogue holds `key` (a message id with `-` for `.`).
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.bundle.get_message(key).is_some_and(|entry| entry.value().is_some())
    }

    /// The entry `key`, which takes no arguments.
    pub(crate) fn word(&self, key: &str) -> String {
        self.format(key, &[])
    }

    /// The entry `key` with its arguments; the key itself where there is no such entry.
    pub(crate) fn format(&self, key: &str, args: &[(&str, FluentValue<'_>)]) -> String {
        let Some(pattern) = self.bundle.get_message(key).and_then(|entry| entry.value()) else {
            return key.to_owned();
        };
        let args: FluentArgs<'_> = args.iter().map(|(name, value)| (*name, value.clone())).collect();
        self.bundle.format_pattern(pattern, Some(&args), &mut Vec::new()).into_owned()
    }

    pub(crate) fn try_format(
        &self,
        key: &str,
        args: &[(&str, FluentValue<'_>)],
    ) -> Result<String, Vec<String>> {
        let Some(pattern) = self.bundle.get_message(key).and_then(|entry| entry.value()) else {
            return Err(vec![format!("no entry {key} in {}", self.lang.tag())]);
        };
        let args: FluentArgs<'_> = args.iter().map(|(name, value)| (*name, value.clone())).collect();
        let mut errors = Vec::new();
        let text = self.bundle.format_pattern(pattern, Some(&args), &mut errors).into_owned();
        if errors.is_empty() { Ok(text) } else { Err(errors.iter().map(ToString::to_string).collect()) }
    }

    /// The arguments of `message` as Fluent takes them. Of an interval, `low` and `high`, only the upper
    /// end shows the unit, which is that of both: `55–61 ms`.
    fn args(&self, message: &Message) -> Vec<(&'static str, FluentValue<'static>)> {
        let end = |wanted: &str| message.args.iter().find(|(name, _)| *name == wanted).map(|(_, arg)| arg);
        let ends = match (end("low"), end("high")) {
            (Some(Arg::Time(low)), Some(Arg::Time(high))) => Some(quantity::time_ends(*low, *high)),
            (Some(Arg::Bytes(low)), Some(Arg::Bytes(high))) => Some(quantity::byte_ends(*low, *high)),
            _ => None,
        };
        let value = |name: &str, arg: &Arg| match (name, &ends) {
            ("low", Some((low, _))) => FluentValue::from(low.clone()),
            ("high", Some((_, high))) => FluentValue::from(self.quantity(high)),
            _ => self.value(arg),
        };
        message.args.iter().map(|(name, arg)| (*name, value(name, arg))).collect()
    }

    /// An argument as Fluent takes it: counts stay numbers, so that plurals can be chosen.
    fn value(&self, arg: &Arg) -> FluentValue<'static> {
        match arg {
            Arg::Count(count) => FluentValue::from(*count as f64),
            other => FluentValue::from(self.arg(other)),
        }
    }

    /// An argument in words.
    pub(crate) fn arg(&self, arg: &Arg) -> String {
        match arg {
            Arg::Time(ns) => self.time(*ns),
            Arg::Share(share) => self.share(*share),
            Arg::Count(count) => quantity::count(*count),
            Arg::Bytes(bytes) => self.quantity(&quantity::bytes(*bytes)),
            Arg::Number(number, decimals) => quantity::number(*number, usize::from(*decimals)),
            // Whoever chose it must not steer a terminal, or make it look like another.
            Arg::Name(name) => name
                .chars()
                .map(|c| if whyidle_model::is_hidden(c) && !"\n\t".contains(c) { '\u{fffd}' } else { c })
                .collect(),
            Arg::Message(message) => self.message(message),
            Arg::List(items) => self.list(&items.iter().map(|item| self.arg(item)).collect::<Vec<_>>()),
        }
    }

    /// A figure with its unit.
    pub(crate) fn quantity(&self, quantity: &Quantity) -> String {
        self.format(quantity.unit, &[("value", FluentValue::from(quantity.value.as_str()))])
    }

    /// `8.03 B`, `80.3 亿`: in the language's own powers of ten.
    pub(crate) fn large(&self, count: f64) -> String {
        let scaled = |scale: &str| count / 10_f64.powi(self.word(scale).parse().unwrap_or(0));
        let (figure, unit) = match (scaled("scale-large"), scaled("scale-middle")) {
            (large, _) if large >= 1.0 => (large, "unit-large"),
            (_, middle) if middle >= 1.0 => (middle, "unit-middle"),
            _ => (count, "unit-ones"),
        };
        self.quantity(&Quantity { value: quantity::plain(figure), unit })
    }

    /// `188 ms`.
    #[must_use]
    pub fn time(&self, ns: i64) -> String {
        self.quantity(&quantity::time(ns))
    }

    /// `55–61 ms`; one figure where both ends read alike.
    #[must_use]
    pub fn time_range(&self, low_ns: i64, high_ns: i64) -> String {
        self.quantity(&quantity::time_range(low_ns, high_ns))
    }

    /// A part of `whole_ns`, in the unit of the whole.
    #[must_use]
    pub fn time_like(&self, ns: i64, whole_ns: i64) -> String {
        self.quantity(&quantity::time_like(ns, whole_ns))
    }

    /// `31 %`.
    #[must_use]
    pub fn share(&self, share: f64) -> String {
        self.quantity(&quantity::share(share))
    }

    /// `31 %`, in whole percent: a share in a column of them.
    #[must_use]
    pub fn share_in_column(&self, share: f64) -> String {
        self.quantity(&quantity::share_in_column(share))
    }

    /// A change with its direction, in the digits of a share: `−31 %`, `+4.2 %`.
    #[must_use]
    pub fn difference(&self, difference: f64) -> String {
        self.quantity(&quantity::difference(difference))
    }

    /// `a, b and c`.
    pub(crate) fn list(&self, items: &[String]) -> String {
        let Some((last, rest)) = items.split_last() else { return String::new() };
        if rest.is_empty() {
            return last.clone();
        }
        let and = self.word("list-and");
        let first = rest.join(&self.word("list-comma"));
        let (before, after) = (
            gap(first.chars().next_back(), and.chars().next()),
            gap(and.chars().next_back(), last.chars().next()),
        );
        format!("{first}{before}{and}{after}{last}")
    }

    /// Sentences one after the other.
    #[must_use]
    pub fn sentences(&self, messages: &[Message]) -> String {
        let sentences: Vec<_> = messages.iter().map(|message| self.message(message)).collect();
        sentences.join(&self.word("sentence-gap"))
    }
}

/// `finding.workers.too_few` → `finding-workers-too_few`.
pub(crate) fn key_of(id: &str) -> String {
    id.replace('.', "-")
}

/// Chinese is set without spaces, except towards Latin letters and digits.
fn gap(left: Option<char>, right: Option<char>) -> &'static str {
    let chinese = |c: Option<char>| c.is_some_and(|c| ('\u{3000}'..='\u{ffef}').contains(&c));
    if chinese(left) && chinese(right) { "" } else { " " }
}

#[cfg(test)]
mod tests {
    use super::Catalog;
    use crate::Lang;
    use whyidle_diagnosis::{Arg, Message};

    #[test]
    fn arguments_are_set_as_the_language_sets_them() {
        let (en, zh) = (Catalog::new(Lang::En), Catalog::new(Lang::Zh));
        assert_eq!(en.arg(&Arg::Time(188_200_000)), "188 ms");
        assert_eq!(en.arg(&Arg::Time(23_400)), "23 µs");
        assert_eq!(en.arg(&Arg::Share(0.31)), "31 %");
        assert_eq!(zh.arg(&Arg::Share(0.31)), "31%");
        assert_eq!(en.arg(&Arg::Bytes(160_432_128)), "153 MiB");
        assert_eq!(en.arg(&Arg::Number(2.345_6, 2)), "2.35");
    }

    #[test]
    fn large_counts_are_in_the_powers_of_the_language() {
        let [en, zh] = [Lang::En, Lang::Zh].map(Catalog::new);
        for (count, english, chinese) in [
            (1e11, "100 B", "1000 亿"),
            (8.03e9, "8.03 B", "80.3 亿"),
            (2.177e8, "218 M", "2.18 亿"),
            (1.5e13, "15,000 B", "150,000 亿"),
            (5e7, "50 M", "5000 万"),
            (13.0, "13", "13 个"),
        ] {
            assert_eq!((en.large(count).as_str(), zh.large(count).as_str()), (english, chinese));
        }
    }

    #[test]
    fn lists_are_joined_as_the_language_joins_them() {
        let (en, zh) = (Catalog::new(Lang::En), Catalog::new(Lang::Zh));
        let list =
            |names: &[&str]| Arg::List(names.iter().map(|name| Arg::Name((*name).to_owned())).collect());
        assert_eq!(en.arg(&list(&["a", "b", "c"])), "a, b and c");
        assert_eq!(en.arg(&list(&["a"])), "a");
        assert_eq!(en.arg(&list(&[])), "");
        assert_eq!(zh.arg(&list(&["a", "b", "c"])), "a、b 和 c");
        assert_eq!(zh.arg(&list(&["数据", "拷贝"])), "数据和拷贝");
    }

    #[test]
    fn an_interval_shows_its_unit_once() {
        let interval = |low, high| {
            let message =
                Message::new("say-change").name("change", "–").time("after", low).name("limit", "–");
            Catalog::new(Lang::En).message(&message.time("low", low).time("high", high))
        };
        assert!(interval(55_000_000, 61_000_000).contains("(55–61 ms)"));
        assert!(interval(980_000_000, 1_020_000_000).contains("(0.98–1.02 s)"));
        let low_alone = Message::new("unit-ms").time("value", 55_000_000).time("low", 1);
        assert_eq!(Catalog::new(Lang::En).message(&low_alone), "55 ms ms");
    }

    #[test]
    fn a_missing_id_is_printed_and_reported() {
        let en = Catalog::new(Lang::En);
        let message = Message::new("no.such.message");
        assert_eq!(en.message(&message), "no-such-message");
        assert_eq!(en.problems(&message).len(), 1);
        let nested = Message::new("unit-ms").message("value", message);
        assert_eq!(en.problems(&nested).len(), 1);
        assert_eq!(en.problems(&Message::new("unit-ms")).len(), 1, "an argument is missing");
    }

    #[test]
    fn names_are_left_alone() {
        let en = Catalog::new(Lang::En);
        let kernel = "void at::native::{lambda(#1)}<4, std::array<char*, 3ul> >";
        assert_eq!(en.message(&Message::new("unit-ms").name("value", kernel)), format!("{kernel} ms"));
        let hostile = en.message(&Message::new("unit-ms").name("value", "a\u{1b}[2J\u{202e}b"));
        assert_eq!(hostile, "a\u{fffd}[2J\u{fffd}b ms");
    }
}
