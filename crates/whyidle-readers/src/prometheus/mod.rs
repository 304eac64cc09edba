//! What Prometheus answers to an instant query (`/api/v1/query`): one figure for each series.
//!
//! The server is somebody else's, and label values are what processes were called: text is cut and made harmless, numbers
//! that are none are left out and counted, and an answer of too many series is refused, not cut – a sum over a part of
//! the jobs would be wrong without looking so.

mod text;
mod vector;

use serde::Deserialize;
use thiserror::Error;
use whyidle_model::MetricSample;

use text::harmless;
use vector::{Reading, Remarks, Result as Vector};

/// Series of an answer at most: a hundred thousand processes, twice over.
pub const MOST_SERIES: usize = 200_000;
/// Characters of what the server says of itself that are kept.
const LONGEST_REMARK: usize = 300;
/// Remarks that are kept.
const MOST_REMARKS: usize = 10;

/// An answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The figures, in the server's order.
    pub samples: Vec<MetricSample>,
    /// Series without a usable number: infinite, not a number, a histogram, or out of form.
    pub unusable: u64,
    /// What the server warns of.
    pub warnings: Vec<String>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoAnswer {
    /// It is no JSON of Prometheus's form.
    #[error("not an answer of Prometheus")]
    Foreign,
    /// The server refused or could not answer the query.
    #[error("the query was refused ({kind}): {text}")]
    Refused {
        /// Its kind of error: `bad_data`, `execution`, `timeout`, …
        kind: String,
        /// What it says.
        text: String,
    },
    /// More series than are read.
    #[error("more than {MOST_SERIES} series")]
    TooMany,
}

/// An answer's frame. Other fields are left out.
#[derive(Deserialize)]
struct Frame {
    status: String,
    #[serde(default)]
    data: Option<Data>,
    #[serde(default, rename = "errorType")]
    kind: Option<String>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    warnings: Option<Remarks>,
}

#[derive(Deserialize)]
struct Data {
    #[serde(rename = "resultType")]
    kind: String,
    result: Vector,
}

/// Reads the answer to an instant query that gives a vector.
///
/// # Errors
/// Where it is none.
pub fn read(bytes: &[u8]) -> Result<Answer, NoAnswer> {
    let frame: Frame = serde_json::from_slice(bytes).map_err(|_| NoAnswer::Foreign)?;
    if frame.status != "success" {
        let said = |text: Option<String>| harmless(&text.unwrap_or_default(), LONGEST_REMARK);
        return match (&*frame.status, frame.kind) {
            ("error", kind) => Err(NoAnswer::Refused { kind: said(kind), text: said(frame.error) }),
            _ => Err(NoAnswer::Foreign),
        };
    }
    let Some(Data { kind, result }) = frame.data else { return Err(NoAnswer::Foreign) };
    if kind != "vector" {
        return Err(NoAnswer::Foreign);
    }
    let Reading { samples, unusable, over } = result.0;
    if over {
        return Err(NoAnswer::TooMany);
    }
    Ok(Answer { samples, unusable, warnings: frame.warnings.unwrap_or_default().0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(series: &str) -> Vec<u8> {
        format!(r#"{{"status":"success","data":{{"resultType":"vector","result":[{series}]}}}}"#).into_bytes()
    }

    #[test]
    fn figures_come_with_their_labels_and_their_time() {
        let answer = read(&vector(
            r#"{"metric":{"job_id":"4711","user":"ada"},"value":[1796048000.123,"12.5"]},{"metric":{},"value":[1,"1e3"]}"#,
        ));
        let answer = answer.expect("an answer");
        assert_eq!(answer.samples.len(), 2);
        let first = &answer.samples[0];
        assert_eq!((first.label("job_id"), first.label("user"), first.label("pod")), ("4711", "ada", ""));
        assert_eq!((first.value, first.at), (12.5, 1_796_048_000_123_000_000));
        assert_eq!(answer.samples[1].value, 1000.0);
    }

    #[test]
    fn what_is_no_number_is_left_out_and_counted() {
        let answer = read(&vector(
            r#"{"metric":{},"value":[1,"NaN"]},{"metric":{},"value":[1,"+Inf"]},{"metric":{},"value":[1,"x"]},
               {"metric":{},"histogram":[1,{}]},{"metric":{"a":"b"},"value":[1]},{"metric":{},"value":[1e300,"1"]},
               {"metric":{},"value":[1,"0"]}"#,
        ));
        let answer = answer.expect("an answer");
        assert_eq!((answer.samples.len(), answer.unusable), (1, 6));
    }

    #[test]
    fn hostile_labels_are_cut_and_made_harmless() {
        let long = "x".repeat(100_000);
        let labels =
            format!(r#"{{"metric":{{"command":"a\u001b[31mb\nc","long":"{long}"}},"value":[1,"1"]}}"#);
        let answer = read(&vector(&labels)).expect("an answer");
        let sample = &answer.samples[0];
        assert!(!sample.label("command").chars().any(char::is_control), "{sample:?}");
        assert!(sample.label("long").chars().count() <= 1_024);
        let many: Vec<String> = (0..10_000).map(|i| format!(r#""l{i}":"v""#)).collect();
        let answer = read(&vector(&format!(r#"{{"metric":{{{}}},"value":[1,"1"]}}"#, many.join(","))));
        assert!(answer.expect("an answer").samples[0].labels.len() <= 64);
    }

    #[test]
    fn too_many_series_are_refused_not_cut() {
        let series = vec![r#"{"metric":{},"value":[1,"1"]}"#; MOST_SERIES + 1].join(",");
        assert_eq!(read(&vector(&series)), Err(NoAnswer::TooMany));
    }

    #[test]
    fn what_is_beyond_the_form_takes_no_memory() {
        let many = vec!["0"; 100_000].join(",");
        let answer =
            read(&vector(&format!(r#"{{"metric":{{}},"value":[1,"1",{many}]}}"#))).expect("an answer");
        assert_eq!((answer.samples.len(), answer.samples[0].value), (1, 1.0));
        let warnings = vec![r#""w\u0007""#; 100_000].join(",");
        let frame = format!(
            r#"{{"status":"success","warnings":[{warnings}],"data":{{"resultType":"vector","result":[]}}}}"#
        );
        let warnings = read(frame.as_bytes()).expect("an answer").warnings;
        assert_eq!((warnings.len(), warnings[0].as_str()), (MOST_REMARKS, "w\u{fffd}"));
    }

    #[test]
    fn refusals_are_told_from_what_is_no_prometheus() {
        let refused = read(br#"{"status":"error","errorType":"bad_data","error":"parse error\u001b[1m"}"#);
        let Err(NoAnswer::Refused { kind, text }) = refused else { panic!("{refused:?}") };
        assert!(kind == "bad_data" && text.starts_with("parse error") && !text.contains('\u{1b}'));
        for foreign in [
            &b""[..],
            b"<html>login</html>",
            b"[]",
            b"{}",
            br#"{"status":"success"}"#,
            br#"{"status":"up"}"#,
            br#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#,
            br#"{"status":"success","data":{"resultType":"vector","result":{}}}"#,
        ] {
            assert_eq!(read(foreign), Err(NoAnswer::Foreign), "{}", String::from_utf8_lossy(foreign));
        }
        let deep = [b"[".repeat(100_000), b"]".repeat(100_000)].concat();
        assert_eq!(read(&deep), Err(NoAnswer::Foreign));
    }
}
