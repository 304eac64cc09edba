//! Doors of sockets. Nothing goes over a network here: the bytes of a connection are handed to what reads them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tempfile::TempDir;
use whyidle_agent::http::{Listen, Token, conversation};
use whyidle_agent::serve::{Listing, Page, Site};
use whyidle_agent::web::{Desk, router};

/// What a program's profiler sends, datagram after datagram: length in two bytes, then so many.
pub fn datagrams(bytes: &[u8]) {
    let mut rest = bytes;
    let datagrams = std::iter::from_fn(|| {
        let (length, after) = rest.split_first_chunk::<2>()?;
        let (one, after) =
            after.split_at_checked(usize::from(u16::from_le_bytes(*length))).unwrap_or((after, &[]));
        rest = after;
        Some(one)
    });
    let answers = whyidle_observe::ondemand::answers(datagrams);
    assert!(answers.iter().flatten().all(|answer| answer.len() < 1 << 12), "an answer of any length");
}

/// What a client says to the agent, with a token and without.
pub fn metrics(bytes: &[u8]) {
    for token in [None, Token::new("0123456789abcdef-secret").ok()] {
        let asks = token.is_some();
        let listen = Listen { token, ..Listen::loopback(0) };
        let desk = Desk::default();
        desk.put("secret_of_the_house 1\n", "secret_of_the_house 1\n# EOF\n");
        let Ok(said) = conversation(&listen, router(desk), bytes) else { continue };
        let text = String::from_utf8_lossy(&said);
        let shows = String::from_utf8_lossy(bytes).contains("0123456789abcdef-secret");
        assert!(
            shows || !asks || is_basic(bytes) || !text.contains("secret_of_the_house"),
            "served without a token"
        );
    }
}

/// A password may be said in base64.
fn is_basic(bytes: &[u8]) -> bool {
    String::from_utf8_lossy(bytes).to_ascii_lowercase().contains("basic")
}

/// A folder with one recording, a file beside it, and one outside.
fn shelf() -> &'static (TempDir, PathBuf) {
    static SHELF: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    SHELF.get_or_init(|| {
        let make = || {
            let dir = tempfile::tempdir()?;
            let root = dir.path().join("inside");
            std::fs::create_dir_all(root.join("a"))?;
            std::fs::write(root.join("a/recording.json"), "{}")?;
            std::fs::write(root.join("trace.json"), "{\"traceEvents\": []}")?;
            std::fs::write(dir.path().join("outside.json"), "{\"traceEvents\": []}")?;
            let root = root.canonicalize()?;
            Ok((dir, root))
        };
        make().unwrap_or_else(|error: std::io::Error| panic!("{error}"))
    })
}

struct Shown;

impl Site for Shown {
    fn start(&self, listing: &Listing) -> Page {
        Page { html: listing.found.len().to_string(), found: true }
    }

    fn recording(&self, path: &Path) -> Page {
        assert!(path.starts_with(&shelf().1), "{} lies outside", path.display());
        Page { html: path.display().to_string(), found: true }
    }

    fn entry(&self, id: i64) -> Page {
        Page { html: id.to_string(), found: id == 7 }
    }

    fn live(&self, pid: u32) -> Page {
        Page { html: pid.to_string(), found: false }
    }

    fn nothing(&self) -> Page {
        Page { html: "nothing".to_owned(), found: false }
    }

    fn busy(&self, most: usize) -> Page {
        Page { html: most.to_string(), found: false }
    }

    fn watch(&self, _: u32, _: &mut dyn FnMut(String) -> bool) {}
}

/// What a browser says to `whyidle serve`.
pub fn pages(bytes: &[u8]) {
    let Ok(router) = whyidle_agent::serve::router(Arc::new(Shown), &shelf().1) else { return };
    if let Ok(said) = conversation(&Listen::loopback(0), router, bytes) {
        assert!(!said.starts_with(b"HTTP/1.1 500"), "a request breaks the server");
    }
}

/// What Prometheus answers.
pub fn prometheus(bytes: &[u8]) {
    let _ = whyidle_readers::prometheus::read(bytes);
}
