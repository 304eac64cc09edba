//! What is said, without language: a message id and its arguments. The report crate
//! holds the wording in every language under the same id.

use serde::{Deserialize, Serialize};
use whyidle_model::Interner;

use crate::ids::{self, Id};

/// An argument of a [`Message`]. The variant says how it is printed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Arg {
    /// A time, ns; printed in the unit that reads best.
    Time(i64),
    /// A share of a named whole, 0–1; printed in percent.
    Share(f64),
    /// A number of things.
    Count(i64),
    /// Bytes; printed in the unit that reads best.
    Bytes(i64),
    /// A bare number with its decimals.
    Number(f64, u8),
    /// Text of the user's program or of the trace, printed as it is: an operator, a file and line, a kernel.
    Name(String),
    /// Another message, put into place.
    Message(Box<Message>),
    /// Several of them, joined as the language joins a list.
    List(Vec<Arg>),
}

/// A message id and its arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// The id under which the catalogues hold the wording.
    #[serde(deserialize_with = "ids::id")]
    pub id: Id,
    /// Named arguments.
    #[serde(deserialize_with = "ids::named")]
    pub args: Vec<(Id, Arg)>,
}

impl Message {
    /// A message without arguments.
    #[must_use]
    pub fn new(id: &'static str) -> Self {
        Self { id, args: Vec::new() }
    }

    /// The message with one more argument.
    #[must_use]
    pub fn with(mut self, name: &'static str, arg: Arg) -> Self {
        self.args.push((name, arg));
        self
    }

    /// The message with a time.
    #[must_use]
    pub fn time(self, name: &'static str, ns: i64) -> Self {
        self.with(name, Arg::Time(ns))
    }

    /// The message with a share.
    #[must_use]
    pub fn share(self, name: &'static str, share: f64) -> Self {
        self.with(name, Arg::Share(share))
    }

    /// The message with a count.
    #[must_use]
    pub fn count(self, name: &'static str, count: impl TryInto<i64>) -> Self {
        self.with(name, Arg::Count(count.try_into().unwrap_or(i64::MAX)))
    }

    /// The message with text of the program.
    #[must_use]
    pub fn name(self, name: &'static str, text: impl Into<String>) -> Self {
        self.with(name, Arg::Name(text.into()))
    }

    /// The message with an interned name.
    #[must_use]
    pub fn sym(self, name: &'static str, names: &Interner, sym: whyidle_model::Sym) -> Self {
        self.name(name, names.get(sym))
    }

    /// The message with another one in it.
    #[must_use]
    pub fn message(self, name: &'static str, message: Message) -> Self {
        self.with(name, Arg::Message(Box::new(message)))
    }
}
