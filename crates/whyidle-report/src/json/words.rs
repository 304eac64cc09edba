//! Figures and texts as JSON: exact nanoseconds, rounded milliseconds, and every text
//! with the message and the arguments that it was made of.

use crate::Catalog;
use serde_json::{Map, Value, json};
use whyidle_diagnosis::{Arg, Message};

/// Milliseconds with at most six decimals: nothing is lost of whole nanoseconds.
pub(super) fn ms(ns: i64) -> Value {
    rounded(ns as f64 / 1e6)
}

/// A number with at most six decimals; `null` if it is none.
pub(crate) fn rounded(number: f64) -> Value {
    let number = (number * 1e6).round() / 1e6;
    // No reader expects to meet −0.
    json!(if number == 0.0 { 0.0 } else { number })
}

/// `{"text", "msg", "args"}`.
pub(crate) fn text(catalog: &Catalog, message: &Message) -> Value {
    let args: Map<String, Value> =
        message.args.iter().map(|(name, value)| ((*name).to_owned(), arg(catalog, value))).collect();
    json!({ "text": catalog.message(message), "msg": message.id, "args": args })
}

/// Several sentences as one text, its parts kept as arguments.
pub(crate) fn sentences(catalog: &Catalog, messages: &[Message]) -> Value {
    let parts: Vec<_> = messages.iter().map(|message| json!({ "message": text(catalog, message) })).collect();
    json!({ "text": catalog.sentences(messages), "msg": "sentences", "args": { "parts": { "list": parts } } })
}

/// An argument under the name of its kind.
fn arg(catalog: &Catalog, arg: &Arg) -> Value {
    match arg {
        Arg::Time(ns) => json!({ "time_ns": ns }),
        Arg::Share(share) => json!({ "share": rounded(*share) }),
        Arg::Count(count) => json!({ "count": count }),
        Arg::Bytes(bytes) => json!({ "bytes": bytes }),
        Arg::Number(number, decimals) => json!({ "number": rounded(*number), "decimals": decimals }),
        Arg::Name(name) => json!({ "name": name }),
        Arg::Message(message) => json!({ "message": text(catalog, message) }),
        Arg::List(items) => {
            json!({ "list": items.iter().map(|item| self::arg(catalog, item)).collect::<Vec<_>>() })
        }
    }
}
