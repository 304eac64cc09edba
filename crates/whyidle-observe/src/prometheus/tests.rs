//! Servers of this machine that answer what they are told to.

use std::io::Write;
use std::net::TcpListener;
use std::thread::JoinHandle;

use super::*;

const TIMEOUT: Duration = Duration::from_secs(20);

fn access(url: &str) -> Access {
    Access { url: url.to_owned(), token: None, roots: None, timeout: TIMEOUT }
}

/// A server of this machine that answers once with `answer`, and gives back what it was asked.
fn once(answer: Vec<u8>) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let serve = move || {
        let (mut stream, _) = listener.accept().expect("a client");
        stream.set_read_timeout(Some(TIMEOUT)).expect("a time-out");
        let mut asked = Vec::new();
        let mut piece = [0; 4096];
        loop {
            let count = stream.read(&mut piece).expect("a request");
            asked.extend_from_slice(&piece[..count]);
            let text = String::from_utf8_lossy(&asked).into_owned();
            let length = text.to_ascii_lowercase();
            let length = length.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
            let length: Option<usize> = length.and_then(|length| length.trim().parse().ok());
            let body = text.split_once("\r\n\r\n").map(|(_, body)| body.len());
            // What is no request is answered at once: a handshake waits for that.
            let is_whole = length.is_some() && body >= length;
            if count == 0 || is_whole || !asked.starts_with(&b"POST "[..asked.len().min(5)]) {
                // A client that has enough goes away.
                let _ = stream.write_all(&answer);
                return text;
            }
        }
    };
    (url, std::thread::spawn(serve))
}

fn http(status: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
        .into_bytes()
}

#[test]
fn a_query_carries_its_time_and_the_token() {
    let (url, server) = once(http("200 OK", "{}"));
    let token = BearerToken::new(" secret\n");
    let prometheus =
        Prometheus::new(&Access { token, ..access(&format!("{url}/prefix/")) }).expect("an address");
    let reply = prometheus.query("sum(up{a=\"b\"})", Some(1_796_048_000_123_000_000)).expect("an answer");
    assert_eq!(reply, Reply { status: 200, body: b"{}".to_vec() });
    let asked = server.join().expect("a request");
    assert!(asked.starts_with("POST /prefix/api/v1/query HTTP/1.1\r\n"), "{asked}");
    assert!(asked.to_ascii_lowercase().contains("authorization: bearer secret\r\n"), "{asked}");
    assert!(asked.ends_with("query=sum(up%7Ba%3D%22b%22%7D)&time=1796048000.123"), "{asked}");
    assert!(!format!("{prometheus:?}").contains("secret"));
}

#[test]
fn any_status_is_an_answer_and_no_redirect_is_followed() {
    for (status, code) in [("401 Unauthorized", 401), ("422 Unprocessable", 422), ("503 Not ready", 503)] {
        let (url, _server) = once(http(status, "why"));
        let reply = Prometheus::new(&access(&url)).expect("an address").query("up", None).expect("an answer");
        assert_eq!(reply, Reply { status: code, body: b"why".to_vec() });
    }
    let elsewhere = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
    let (url, _server) = once(elsewhere.as_bytes().to_vec());
    let reply = Prometheus::new(&access(&url)).expect("an address").query("up", None).expect("an answer");
    assert_eq!(reply.status, 302);
}

#[test]
fn what_is_no_answer_says_why() {
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let asked = |url: &str, timeout| {
        let prometheus = Prometheus::new(&Access { timeout, ..access(url) }).expect("an address");
        prometheus.query("up", None).expect_err("no answer")
    };
    let nobody = asked(&format!("http://{closed}"), TIMEOUT);
    assert!(matches!(nobody, AskError::Unreachable { .. }), "{nobody:?}");
    let (url, _server) = once(b"SSH-2.0-OpenSSH_9\r\n".to_vec());
    let foreign = asked(&url, TIMEOUT);
    assert!(matches!(foreign, AskError::Broken { .. }), "{foreign:?}");
    // Accepts and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", silent.local_addr().expect("an address"));
    let late = asked(&url, Duration::from_millis(100));
    assert!(matches!(late, AskError::Late), "{late:?}");
    // Plain HTTP where TLS is spoken to.
    let (url, _server) = once(http("200 OK", "{}"));
    let roots = Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/roots.pem"));
    let secure = Access { roots, ..access(&url.replace("http:", "https:")) };
    let tls = Prometheus::new(&secure).expect("an address").query("up", None).expect_err("no answer");
    assert!(matches!(tls, AskError::Tls { .. }), "{tls:?}");
}

#[test]
fn an_answer_that_is_too_large_is_refused() {
    let (url, _server) = once(http("200 OK", &"x".repeat(100_000)));
    let prometheus = Prometheus::new(&access(&url)).expect("an address");
    let small = Prometheus { most: 10_000, ..prometheus };
    let error = small.query("up", None).expect_err("no answer");
    assert!(matches!(error, AskError::TooLarge { most: 10_000 }), "{error:?}");
}

#[test]
fn addresses_that_do_not_do_are_refused_before_anything_is_sent() {
    for url in ["", "prometheus:9090", "ftp://host", "http://", "http://host/?query=up", "file:///etc/passwd"]
    {
        let error = Prometheus::new(&access(url)).expect_err(url);
        assert!(matches!(error, AccessError::Address { .. }), "{url}: {error:?}");
    }
    let error = Prometheus::new(&access("http://me:secret@host:9090")).expect_err("a password");
    assert!(matches!(error, AccessError::Password) && !format!("{error:?} {error}").contains("secret"));
    let token = BearerToken::new("t");
    let clear = |url: &str| Prometheus::new(&Access { token: token.clone(), ..access(url) }).err();
    assert!(matches!(clear("http://prometheus.example:9090"), Some(AccessError::Clear)));
    for near in ["http://localhost:9090", "http://127.0.0.1:9090", "http://[::1]:9090"] {
        assert!(clear(near).is_none(), "{near}");
    }
    for (given, queries) in [
        ("http://host:9090/graph", "http://host:9090/api/v1/query"),
        ("https://host/prom/", "https://host/prom/api/v1/query"),
    ] {
        let roots = Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/roots.pem"));
        let access = Access { roots, ..access(given) };
        assert_eq!(Prometheus::new(&access).expect("an address").queries, queries);
    }
}

#[test]
fn tokens_and_roots_come_from_files() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "abc.def-123\n").expect("written");
    assert_eq!(BearerToken::read(file.path()).expect("a token"), BearerToken("abc.def-123".to_owned()));
    for none in ["", " \n", "two words", "a\nb", "\u{7f}"] {
        std::fs::write(file.path(), none).expect("written");
        assert!(matches!(BearerToken::read(file.path()), Err(AccessError::NoToken { .. })), "{none:?}");
    }
    let missing = BearerToken::read(Path::new("/nowhere/token"));
    assert!(matches!(missing, Err(AccessError::File { .. })));
    std::fs::write(file.path(), "no certificate").expect("written");
    let roots = Some(file.path().to_owned());
    let error = Prometheus::new(&Access { roots, ..access("https://host") }).expect_err("no roots");
    assert!(matches!(error, AccessError::NoRoots { path: Some(_) }));
}
