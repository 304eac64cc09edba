//! Pages of recordings, of the history, and of programs while they run, for a browser.
//!
//! * [`Site`] – what is shown; the program supplies it.
//! * [`router`] – who asks for what: `/`, `/recording/PATH`, `/entry/N`, `/live/PID` and its events.
//! * `shelf` – which recordings lie below a folder, and whether a path stays below it.
//! * `pages` – pages that take long are made one at a time and kept while nothing changes.
//! * `hub` – one watch for all who look at the same program.

mod hub;
mod pages;
mod shelf;

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path as Asked, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderName, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream::unfold;

use hub::Hub;
use pages::Pages;
pub use shelf::{Found, Listing};

/// Programs that are watched at a time, at most.
pub const MOST_WATCHES: usize = 8;
/// How often a silent stream shows that it lives.
const ALIVE: Duration = Duration::from_secs(10);

/// A page and whether it is what was asked for.
#[derive(Clone, Debug)]
pub struct Page {
    /// HTML.
    pub html: String,
    /// It is; else it says why not.
    pub found: bool,
}

/// What is shown. Calls may take long and come from several threads.
pub trait Site: Send + Sync + 'static {
    /// The start page, over these recordings.
    fn start(&self, listing: &Listing) -> Page;
    /// A recording or a file; the path is known to lie below the root.
    fn recording(&self, path: &Path) -> Page;
    /// An entry of the history.
    fn entry(&self, id: i64) -> Page;
    /// A program; its page takes what [`Site::watch`] tells.
    fn live(&self, pid: u32) -> Page;
    /// There is nothing of that name.
    fn nothing(&self) -> Page;
    /// So many programs are watched already.
    fn busy(&self, most: usize) -> Page;
    /// Watches a program and tells what it comes to, again and again; ends where the program does, and once `tell` says
    /// that nobody listens any more.
    fn watch(&self, pid: u32, tell: &mut dyn FnMut(String) -> bool);
}

struct Shown {
    site: Arc<dyn Site>,
    root: PathBuf,
    pages: Pages,
    hub: Hub,
}

/// Answers with the pages of `site`; recordings are those below `root`.
///
/// # Errors
/// Where there is no such folder.
pub fn router(site: Arc<dyn Site>, root: &Path) -> io::Result<Router> {
    let root = root.canonicalize()?;
    let shown = Shown { hub: Hub::new(Arc::clone(&site)), site, root, pages: Pages::default() };
    Ok(Router::new()
        .route("/", get(start))
        .route("/recording/{*path}", get(recording))
        .route("/entry/{id}", get(entry))
        .route("/live/{pid}", get(live))
        .route("/live/{pid}/events", get(events))
        .fallback(nothing)
        .with_state(Arc::new(shown)))
}

type Of = State<Arc<Shown>>;
/// What an address names, where that is text.
type Wanted = Result<Asked<String>, PathRejection>;

fn number<N: FromStr>(asked: Wanted) -> Option<N> {
    asked.ok()?.0.parse().ok()
}

async fn start(State(shown): Of) -> Response {
    made(move || shown.site.start(&shelf::list(&shown.root))).await
}

async fn recording(State(shown): Of, asked: Wanted) -> Response {
    // What is no UTF-8 names nothing here.
    let Ok(Asked(asked)) = asked else { return nothing(State(shown)).await };
    let (of, wanted) = (Arc::clone(&shown), asked.clone());
    // What is kept waits for nobody.
    let found = tokio::task::spawn_blocking(move || {
        let path = shelf::below(&of.root, &wanted);
        let kept = path.as_ref().map(|path| of.pages.kept(path));
        (path, kept.flatten())
    });
    match found.await {
        Ok((_, Some(page))) => made(move || page).await,
        Ok((Some(path), None)) => {
            let turn = shown.pages.turn().await;
            made(move || {
                let page = shown.pages.get(&path, || shown.site.recording(&path));
                drop(turn);
                page
            })
            .await
        }
        Ok((None, None)) => made(move || shown.site.nothing()).await,
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn entry(State(shown): Of, asked: Wanted) -> Response {
    made(move || match number(asked) {
        Some(id) => shown.site.entry(id),
        None => shown.site.nothing(),
    })
    .await
}

async fn live(State(shown): Of, asked: Wanted) -> Response {
    made(move || match number(asked) {
        Some(pid) => shown.site.live(pid),
        None => shown.site.nothing(),
    })
    .await
}

async fn nothing(State(shown): Of) -> Response {
    made(move || shown.site.nothing()).await
}

async fn events(State(shown): Of, asked: Wanted) -> Response {
    let Some(pid) = number(asked) else { return nothing(State(shown)).await };
    let Some(told) = shown.hub.listen(pid) else {
        let Page { html, .. } = shown.site.busy(MOST_WATCHES);
        return answer(StatusCode::SERVICE_UNAVAILABLE, html);
    };
    let stream = unfold(told, |mut told| async move {
        // The sender is gone once the watch has ended.
        told.changed().await.ok()?;
        let text = told.borrow_and_update().to_string();
        Some((Ok::<_, Infallible>(Event::default().data(text)), told))
    });
    Sse::new(stream).keep_alive(KeepAlive::new().interval(ALIVE)).into_response()
}

/// Pages are made beside the connections: reading a trace takes its time.
async fn made(make: impl FnOnce() -> Page + Send + 'static) -> Response {
    let Ok(page) = tokio::task::spawn_blocking(make).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    answer(if page.found { StatusCode::OK } else { StatusCode::NOT_FOUND }, page.html)
}

fn answer(status: StatusCode, html: String) -> Response {
    // What a page may run and fetch, it says itself, by the hashes of its own scripts; this is what only a header can say.
    let headers: [(HeaderName, &str); 3] = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, "frame-ancestors 'none'"),
        (CACHE_CONTROL, "no-store"),
    ];
    (status, headers, html).into_response()
}
