//! Pages against clients that want out of the folder, that show no token, and that are many.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use whyidle_agent::http::{Listen, Server, Token, start};
use whyidle_agent::serve::{Listing, MOST_WATCHES, Page, Site, router};

use crate::http::{LONG, asked, connected, status};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Says what it was asked, and counts.
#[derive(Default)]
struct Fake {
    /// Watches that were begun, by program.
    begun: Mutex<BTreeMap<u32, usize>>,
    /// Watches that go on.
    going: AtomicUsize,
}

fn page(found: bool, html: String) -> Page {
    Page { html, found }
}

impl Fake {
    /// Does it with what was begun.
    fn begun<T>(&self, of: impl FnOnce(&mut BTreeMap<u32, usize>) -> T) -> T {
        of(&mut self.begun.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Site for Fake {
    fn start(&self, listing: &Listing) -> Page {
        let paths: Vec<&str> = listing.found.iter().map(|one| &*one.path).collect();
        page(true, format!("start of {}", paths.join(" ")))
    }

    fn recording(&self, path: &Path) -> Page {
        page(true, format!("recording {}", fs::read_to_string(path).unwrap_or_default()))
    }

    fn entry(&self, id: i64) -> Page {
        page(id == 7, format!("entry {id}"))
    }

    fn live(&self, pid: u32) -> Page {
        page(true, format!("live {pid}"))
    }

    fn nothing(&self) -> Page {
        page(false, "nothing".to_owned())
    }

    fn busy(&self, most: usize) -> Page {
        page(true, format!("{most} already"))
    }

    fn watch(&self, pid: u32, tell: &mut dyn FnMut(String) -> bool) {
        self.begun(|begun| *begun.entry(pid).or_default() += 1);
        self.going.fetch_add(1, Ordering::SeqCst);
        let mut nth = 0;
        while tell(format!("{{\"nth\":{nth}}}")) {
            nth += 1;
            std::thread::sleep(Duration::from_millis(5));
        }
        self.going.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Served {
    server: Server,
    site: Arc<Fake>,
    _dir: tempfile::TempDir,
}

fn served(token: Option<&str>) -> Result<Served> {
    let dir = tempfile::tempdir()?;
    fs::create_dir(dir.path().join("inside"))?;
    fs::write(dir.path().join("inside/trace.json"), "{\"traceEvents\": []}")?;
    fs::write(dir.path().join("secret.json"), "{\"traceEvents\": [\"secret\"]}")?;
    let site = Arc::new(Fake::default());
    let pages = router(Arc::clone(&site) as Arc<dyn Site>, &dir.path().join("inside"))?;
    let token = token.map(Token::new).transpose()?;
    Ok(Served { server: start(&Listen { token, ..Listen::loopback(0) }, pages)?, site, _dir: dir })
}

#[test]
fn each_address_has_its_page() -> Result {
    let served = served(None)?;
    for (path, code, text) in [
        ("/", 200, "start of trace.json"),
        ("/recording/trace.json", 200, "recording {\"traceEvents\""),
        ("/recording/none.json", 404, "nothing"),
        ("/entry/7", 200, "entry 7"),
        ("/entry/8", 404, "entry 8"),
        ("/entry/x", 404, "nothing"),
        ("/live/12", 200, "live 12"),
        ("/live/-1", 404, "nothing"),
        ("/live/x/events", 404, "nothing"),
        ("/recording/%ff", 404, "nothing"),
        ("/entry/%ff", 404, "nothing"),
        ("/live/%ff/events", 404, "nothing"),
        ("/elsewhere", 404, "nothing"),
    ] {
        let answer = asked(served.server.address(), path, "")?;
        assert_eq!(status(&answer), Some(code), "{path}: {answer}");
        assert!(answer.contains(text) && answer.contains("frame-ancestors 'none'"), "{path}: {answer}");
    }
    Ok(())
}

#[test]
fn no_address_leads_out_of_the_folder() -> Result {
    let served = served(None)?;
    for path in [
        "/recording/../secret.json",
        "/recording/%2e%2e/secret.json",
        "/recording/..%2fsecret.json",
        "/recording/%2e%2e%2fsecret.json",
        "/recording/%252e%252e/secret.json",
        "/recording/..%5csecret.json",
        "/recording//etc/passwd",
        "/recording/%2fetc%2fpasswd",
        "/recording/trace.json%00",
        "/recording/trace.json/../../secret.json",
        "/recording/%ff%fe",
        "/../secret.json",
        "//secret.json",
    ] {
        let answer = asked(served.server.address(), path, "")?;
        assert!(!answer.contains("secret\"") && !answer.contains("root:"), "{path}: {answer}");
        assert!(status(&answer).is_some_and(|code| (400..500).contains(&code)), "{path}: {answer}");
    }
    Ok(())
}

#[test]
fn nothing_is_shown_without_the_token() -> Result {
    const SECRET: &str = "0123456789abcdef-secret";
    let served = served(Some(SECRET))?;
    for path in ["/", "/recording/trace.json", "/entry/7", "/live/12", "/live/12/events"] {
        let answer = asked(served.server.address(), path, "")?;
        assert_eq!(status(&answer), Some(401), "{path}: {answer}");
        let answer =
            asked(served.server.address(), path, "Authorization: Bearer 0123456789abcdef-wrong\r\n")?;
        assert_eq!(status(&answer), Some(401), "{path}: {answer}");
    }
    let answer = asked(served.server.address(), "/entry/7", &format!("Authorization: Bearer {SECRET}\r\n"))?;
    assert_eq!(status(&answer), Some(200), "{answer}");
    assert!(served.site.begun(|begun| begun.is_empty()), "a watch was begun for somebody without the token");
    Ok(())
}

/// A stream of events, and the first event of it.
fn listens(address: SocketAddr, pid: u32) -> Result<(BufReader<TcpStream>, String)> {
    let mut stream = connected(address)?;
    write!(stream, "GET /live/{pid}/events HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while !line.starts_with("data:") {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Err("the stream ended".into());
        }
    }
    Ok((reader, line))
}

fn until(holds: impl Fn() -> bool) -> bool {
    let since = Instant::now();
    while !holds() && since.elapsed() < LONG {
        std::thread::sleep(Duration::from_millis(5));
    }
    holds()
}

#[test]
fn a_hundred_streams_share_one_watch_which_ends_with_the_last() -> Result {
    let served = served(None)?;
    let address = served.server.address();
    let streams = (0..100).map(|_| listens(address, 12)).collect::<Result<Vec<_>>>()?;
    assert!(streams.iter().all(|(_, event)| event.starts_with("data: {\"nth\":")), "{}", streams[0].1);
    assert_eq!(served.site.begun(|begun| begun.get(&12).copied()), Some(1));
    // They go on, and others are answered meanwhile.
    for (mut reader, _) in streams {
        let mut more = String::new();
        while !more.starts_with("data:") {
            more.clear();
            reader.read_line(&mut more)?;
        }
    }
    assert_eq!(status(&asked(address, "/", "")?), Some(200));
    assert!(until(|| served.site.going.load(Ordering::SeqCst) == 0), "the watch goes on unheard");
    // The next one begins anew.
    let again = listens(address, 12)?;
    assert!(again.1.starts_with("data:"));
    assert_eq!(served.site.begun(|begun| begun.get(&12).copied()), Some(2));
    Ok(())
}

#[test]
fn so_many_programs_are_watched_and_no_more() -> Result {
    let served = served(None)?;
    let address = served.server.address();
    let most = u32::try_from(MOST_WATCHES)?;
    let streams = (1..=most).map(|pid| listens(address, pid)).collect::<Result<Vec<_>>>()?;
    let answer = asked(address, &format!("/live/{}/events", most + 1), "")?;
    assert_eq!(status(&answer), Some(503), "{answer}");
    // Whom somebody watches already, others may watch too.
    listens(address, 1)?;
    drop(streams);
    assert!(until(|| served.site.going.load(Ordering::SeqCst) == 0));
    assert!(listens(address, most + 1)?.1.starts_with("data:"));
    Ok(())
}
