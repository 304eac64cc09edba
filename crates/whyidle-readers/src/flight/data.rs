//! The same view of a pickle's values and of JSON's, so that there is one reading of both.

use serde_json::Value;

use crate::pickle::{Node, Pickle};

/// A value of a dump.
pub(super) trait Data: Copy {
    /// A member of a dictionary.
    fn get(self, key: &str) -> Option<Self>;
    /// The members of a list, none of anything else.
    fn items(self) -> impl Iterator<Item = Self>;
    /// The members of a dictionary, none of anything else.
    fn members(self) -> impl Iterator<Item = (String, Self)>;
    /// Text.
    fn text(self) -> Option<String>;
    /// A whole number; one that is written as text too, as JSON dumps do in places.
    fn int(self) -> Option<i64>;
    /// A number.
    fn float(self) -> Option<f64>;
    /// A truth value.
    fn truth(self) -> Option<bool>;
    /// It is a list.
    fn is_list(self) -> bool;
    /// It is a dictionary.
    fn is_dict(self) -> bool;
}

/// A value of a pickle.
#[derive(Clone, Copy)]
pub(super) struct InPickle<'a> {
    pub(super) pickle: &'a Pickle<'a>,
    pub(super) node: &'a Node,
}

impl<'a> InPickle<'a> {
    fn with(self, node: &'a Node) -> Self {
        Self { node, ..self }
    }
}

impl Data for InPickle<'_> {
    fn get(self, key: &str) -> Option<Self> {
        self.pickle.get(self.node, key).map(|node| self.with(node))
    }

    fn items(self) -> impl Iterator<Item = Self> {
        self.pickle.list(self.node).map(move |node| self.with(node))
    }

    fn members(self) -> impl Iterator<Item = (String, Self)> {
        self.pickle.dict(self.node).map(move |(key, node)| (key.to_owned(), self.with(node)))
    }

    fn text(self) -> Option<String> {
        self.pickle.text(self.node).map(str::to_owned)
    }

    fn int(self) -> Option<i64> {
        match self.node {
            Node::Int(value) => Some(*value),
            Node::Text(_) => self.text()?.parse().ok(),
            _ => None,
        }
    }

    fn float(self) -> Option<f64> {
        match self.node {
            Node::Float(value) => Some(*value),
            _ => self.int().map(|value| value as f64),
        }
    }

    fn truth(self) -> Option<bool> {
        if let Node::Bool(value) = self.node { Some(*value) } else { None }
    }

    fn is_list(self) -> bool {
        matches!(self.node, Node::List(_))
    }

    fn is_dict(self) -> bool {
        matches!(self.node, Node::Dict(_))
    }
}

impl Data for &Value {
    fn get(self, key: &str) -> Option<Self> {
        Value::get(self, key)
    }

    fn items(self) -> impl Iterator<Item = Self> {
        self.as_array().into_iter().flatten()
    }

    fn members(self) -> impl Iterator<Item = (String, Self)> {
        self.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), value))
    }

    fn text(self) -> Option<String> {
        self.as_str().map(str::to_owned)
    }

    fn int(self) -> Option<i64> {
        match self {
            Value::String(text) => text.parse().ok(),
            other => other.as_i64(),
        }
    }

    fn float(self) -> Option<f64> {
        self.as_f64()
    }

    fn truth(self) -> Option<bool> {
        self.as_bool()
    }

    fn is_list(self) -> bool {
        self.is_array()
    }

    fn is_dict(self) -> bool {
        self.is_object()
    }
}
