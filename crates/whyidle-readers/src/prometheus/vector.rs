//! The series of an answer, read one by one: what is over the limit is skipped, not kept.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use whyidle_model::MetricSample;

use super::text::harmless;
use super::{LONGEST_REMARK, MOST_REMARKS, MOST_SERIES};

/// Labels of a series that are kept; the contract of whyidle's metrics has a dozen.
const MOST_LABELS: usize = 64;
/// Characters of a label's value that are kept.
const LONGEST_LABEL: usize = 1_024;
/// Year 2200: no sample is of a later time, ms.
const LATEST_MS: f64 = 7.26e12;

/// What was read of the series.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) samples: Vec<MetricSample>,
    pub(super) unusable: u64,
    pub(super) over: bool,
}

/// The list of series.
pub(super) struct Result(pub(super) Reading);

impl<'de> Deserialize<'de> for Result {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Result;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of series")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<Result, A::Error> {
                let mut reading = Reading::default();
                while reading.samples.len() + (reading.unusable as usize) < MOST_SERIES {
                    let Some(series) = list.next_element::<Series>()? else { return Ok(Result(reading)) };
                    match series.sample() {
                        Some(sample) => reading.samples.push(sample),
                        None => reading.unusable += 1,
                    }
                }
                while list.next_element::<IgnoredAny>()?.is_some() {
                    reading.over = true;
                }
                Ok(Result(reading))
            }
        }
        deserializer.deserialize_seq(List)
    }
}

#[derive(Deserialize)]
struct Series {
    #[serde(default)]
    metric: Labels,
    #[serde(default)]
    value: Option<Point>,
}

impl Series {
    fn sample(self) -> Option<MetricSample> {
        let Point { at, figure } = self.value?;
        // Prometheus counts in milliseconds.
        let at_ms = (at? * 1e3).round();
        let figure: f64 = figure?.parse().ok()?;
        let is_sound = figure.is_finite() && at_ms.abs() <= LATEST_MS;
        is_sound.then(|| MetricSample { labels: self.metric.0, at: at_ms as i64 * 1_000_000, value: figure })
    }
}

/// A time in seconds, and a figure as text; what follows is skipped.
struct Point {
    at: Option<f64>,
    figure: Option<String>,
}

impl<'de> Deserialize<'de> for Point {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Pair;
        impl<'de> Visitor<'de> for Pair {
            type Value = Point;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time and a figure")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> std::result::Result<Point, A::Error> {
                let point = Point { at: pair.next_element()?, figure: pair.next_element()? };
                while pair.next_element::<IgnoredAny>()?.is_some() {}
                Ok(point)
            }
        }
        deserializer.deserialize_seq(Pair)
    }
}

#[derive(Default)]
struct Labels(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Map;
        impl<'de> Visitor<'de> for Map {
            type Value = Labels;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("labels")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Labels, A::Error> {
                let mut labels = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, String>()? {
                    if labels.len() < MOST_LABELS {
                        labels.push((harmless(&name, LONGEST_LABEL), harmless(&value, LONGEST_LABEL)));
                    }
                }
                Ok(Labels(labels))
            }
        }
        deserializer.deserialize_map(Map)
    }
}

/// The first texts of a list; what follows is skipped.
#[derive(Default)]
pub(super) struct Remarks(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for Remarks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Remarks;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of texts")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<Remarks, A::Error> {
                let mut remarks = Vec::new();
                while remarks.len() < MOST_REMARKS {
                    let Some(text) = list.next_element::<String>()? else { return Ok(Remarks(remarks)) };
                    remarks.push(harmless(&text, LONGEST_REMARK));
                }
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Remarks(remarks))
            }
        }
        deserializer.deserialize_seq(List)
    }
}
