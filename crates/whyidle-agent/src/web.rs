//! What is answered over HTTP: `/metrics`, `/healthz`, and a line that names them.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::exposition::Format;

/// Without news for this long, the agent is not well.
const SILENT_S: u64 = 120;

/// The texts as they were last written.
struct Written {
    prometheus: Arc<str>,
    open_metrics: Arc<str>,
    at: Instant,
}

/// Where the agent puts its texts, and the server takes them.
#[derive(Clone)]
pub struct Desk(Arc<RwLock<Written>>);

impl Default for Desk {
    fn default() -> Self {
        let empty: Arc<str> = Arc::from("");
        let written = Written {
            prometheus: Arc::clone(&empty),
            open_metrics: Arc::from("# EOF\n"),
            at: Instant::now(),
        };
        Self(Arc::new(RwLock::new(written)))
    }
}

impl Desk {
    /// Puts new texts.
    pub fn put(&self, prometheus: &str, open_metrics: &str) {
        let written = Written {
            prometheus: Arc::from(prometheus),
            open_metrics: Arc::from(open_metrics),
            at: Instant::now(),
        };
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = written;
    }

    /// The text in a format.
    #[must_use]
    pub fn text(&self, format: Format) -> Arc<str> {
        let written = self.0.read().unwrap_or_else(PoisonError::into_inner);
        match format {
            Format::Prometheus => Arc::clone(&written.prometheus),
            Format::OpenMetrics => Arc::clone(&written.open_metrics),
        }
    }

    fn age_s(&self) -> u64 {
        self.0.read().unwrap_or_else(PoisonError::into_inner).at.elapsed().as_secs()
    }
}

/// What the agent answers.
pub fn router(desk: Desk) -> Router {
    Router::new()
        .route("/", get(|| async { "whyidle agent: /metrics /healthz\n" }))
        .route("/metrics", get(metrics))
        .route("/healthz", get(healthz))
        .with_state(desk)
}

async fn metrics(State(desk): State<Desk>, headers: HeaderMap) -> Response {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let format = Format::wanted(accept);
    ([(header::CONTENT_TYPE, format.content_type())], desk.text(format).to_string()).into_response()
}

/// Well: the loop that samples goes round.
async fn healthz(State(desk): State<Desk>) -> Response {
    let age = desk.age_s();
    let status = if age < SILENT_S { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, format!("last written {age} s ago\n")).into_response()
}
