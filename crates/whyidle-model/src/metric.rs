//! Figures with labels, as a store of metrics gives them.

/// One figure of one series at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricSample {
    /// Names and values of its labels. A label that is absent and one that is empty are the same.
    pub labels: Vec<(String, String)>,
    /// What time it is of, Unix time, ns.
    pub at: i64,
    /// The figure; finite.
    pub value: f64,
}

impl MetricSample {
    /// The value of a label; empty where it has none.
    #[must_use]
    pub fn label(&self, name: &str) -> &str {
        self.labels.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}
