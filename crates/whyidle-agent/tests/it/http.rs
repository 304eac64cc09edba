//! The server against clients that are wrong, slow, many, or hostile. All of it on this machine's own address.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::routing::{get, post};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, crypto::ring};
use whyidle_agent::http::{Limits, Listen, ListenError, Router, Server, TlsFiles, Token, start};

use crate::damage::{Dice, damage};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const SECRET: &str = "0123456789abcdef-secret";

/// Long enough for anything that is to happen, short enough for a test that fails.
pub(crate) const LONG: Duration = Duration::from_secs(30);

fn router() -> Router {
    let large = "x".repeat(8 << 20);
    Router::new()
        .route("/", get(|| async { "hello\n" }))
        .route("/large", get(move || async move { large }))
        .route("/never", get(std::future::pending::<&'static str>))
        .route("/echo", post(|body: String| async move { body }))
}

fn quick() -> Limits {
    let ms = Duration::from_millis;
    Limits { head: ms(200), request: ms(200), stall: ms(300), ..Limits::default() }
}

fn served(limits: Limits, token: Option<&str>) -> Result<Server> {
    let token = token.map(Token::new).transpose()?;
    Ok(start(&Listen { token, limits, ..Listen::loopback(0) }, router())?)
}

pub(crate) fn connected(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(LONG))?;
    stream.set_write_timeout(Some(LONG))?;
    Ok(stream)
}

/// Everything that comes back.
fn all(mut stream: impl Read) -> String {
    let mut bytes = Vec::new();
    // A server that closes with unread bytes before it resets the connection.
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn told(address: SocketAddr, request: &[u8]) -> io::Result<String> {
    let mut stream = connected(address)?;
    stream.write_all(request)?;
    Ok(all(stream))
}

/// Asks for `path` with more lines in the head.
pub(crate) fn asked(address: SocketAddr, path: &str, more: &str) -> io::Result<String> {
    told(
        address,
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}\r\n").as_bytes(),
    )
}

pub(crate) fn status(answer: &str) -> Option<u16> {
    answer.split(' ').nth(1)?.parse().ok()
}

#[test]
fn a_page_comes_with_the_headers_that_protect_it() -> Result {
    let server = served(Limits::default(), None)?;
    let answer = asked(server.address(), "/", "")?;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nhello\n"), "{answer}");
    for wanted in
        ["x-content-type-options: nosniff", "x-frame-options: DENY", "content-security-policy: default-src"]
    {
        assert!(answer.contains(wanted), "{answer}");
    }
    assert_eq!(status(&asked(server.address(), "/nothing", "")?), Some(404));
    Ok(())
}

#[test]
fn a_token_is_asked_for_and_only_the_right_one_is_taken() -> Result {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    let server = served(Limits::default(), Some(SECRET))?;
    let with = |header: String| asked(server.address(), "/", &header).map(|answer| status(&answer));
    let basic = |text: &str| format!("Authorization: Basic {}\r\n", STANDARD.encode(text));
    assert_eq!(with(format!("Authorization: Bearer {SECRET}\r\n"))?, Some(200));
    assert_eq!(with(format!("authorization: bearer  {SECRET}\r\n"))?, Some(200));
    assert_eq!(with(basic(&format!("anyone:{SECRET}")))?, Some(200));
    for wrong in [
        String::new(),
        "Authorization: Bearer\r\n".to_owned(),
        "Authorization: Bearer \r\n".to_owned(),
        format!("Authorization: Bearer {}\r\n", &SECRET[1..]),
        format!("Authorization: Bearer {SECRET}x\r\n"),
        format!("Authorization: Bearer {}\r\n", SECRET.to_uppercase()),
        format!("Authorization: {SECRET}\r\n"),
        format!("Authorization: Digest {SECRET}\r\n"),
        format!("Authorization: Bearer {SECRET}\r\nAuthorization: Bearer x\r\n"),
        basic(SECRET),
        basic("anyone:"),
        "Authorization: Basic ====\r\n".to_owned(),
    ] {
        assert_eq!(with(wrong.clone())?, Some(401), "{wrong}");
    }
    let answer = asked(server.address(), "/", "")?;
    assert!(answer.contains("www-authenticate: Bearer") && !answer.contains(SECRET), "{answer}");
    Ok(())
}

#[test]
fn a_token_can_be_renewed_while_the_server_runs() -> Result {
    let server = served(Limits::default(), Some(SECRET))?;
    let old = format!("Authorization: Bearer {SECRET}\r\n");
    assert_eq!(status(&asked(server.address(), "/", &old)?), Some(200));
    let token = Some(Token::new("another-secret-of-24-chars")?);
    server.renew(&Listen { token, ..Listen::loopback(0) })?;
    assert_eq!(status(&asked(server.address(), "/", &old)?), Some(401));
    assert!(server.is_alive());
    Ok(())
}

#[test]
fn without_a_token_only_this_machine_is_served() -> Result {
    for open in ["0.0.0.0:0", "[::]:0"] {
        let refused = start(&Listen::on(open.parse()?), router()).err();
        let refused = refused.ok_or("it must not be open to everybody")?;
        assert!(matches!(refused, ListenError::Open(_)), "{refused}");
        assert_eq!(
            (refused.message().id, refused.hint().map(|hint| hint.id)),
            ("http-open", Some("http-open-hint"))
        );
    }
    let token = Some(Token::new(SECRET)?);
    let server = start(&Listen { token, ..Listen::on("0.0.0.0:0".parse()?) }, router())?;
    let address = SocketAddr::from(([127, 0, 0, 1], server.address().port()));
    assert_eq!(status(&asked(address, "/", "")?), Some(401));
    assert!(matches!(Token::new("short"), Err(ListenError::ShortToken { .. })));
    assert!(matches!(Token::new("two words and more of it"), Err(ListenError::OddToken)));
    assert_eq!(format!("{:?}", Token::new(SECRET)?), "Token(…)");
    Ok(())
}

#[test]
fn a_token_is_read_from_a_file() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("token");
    fs::write(&path, format!("{SECRET}\n"))?;
    let server = start(&Listen { token: Some(Token::from_file(&path)?), ..Listen::loopback(0) }, router())?;
    let right = format!("Authorization: Bearer {SECRET}\r\n");
    assert_eq!(status(&asked(server.address(), "/", &right)?), Some(200));
    assert!(matches!(Token::from_file(&dir.path().join("none")), Err(ListenError::File { .. })));
    fs::write(&path, vec![b'x'; 1 << 20])?;
    assert!(matches!(Token::from_file(&path), Err(ListenError::OddToken)));
    Ok(())
}

/// A page elsewhere whose name suddenly points here.
#[test]
fn names_that_are_not_this_machines_are_not_answered() -> Result {
    let listen = Listen { names: vec!["Proxy.example".to_owned()], ..Listen::loopback(0) };
    let server = start(&listen, router())?;
    let port = server.address().port();
    let host = |host: &str| {
        told(server.address(), format!("GET / HTTP/1.1\r\nConnection: close\r\n{host}\r\n").as_bytes())
            .map(|answer| status(&answer))
    };
    for own in ["localhost", "LOCALHOST", "127.0.0.1", "[::1]", "proxy.example"] {
        assert_eq!(host(&format!("Host: {own}:{port}\r\n"))?, Some(200), "{own}");
    }
    for other in
        ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost@evil.example", ""]
    {
        assert_ne!(host(&format!("Host: {other}\r\n"))?, Some(200), "{other}");
    }
    assert_eq!(host("Host: localhost\r\nHost: evil.example\r\n")?, Some(421));
    let whole = b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert_eq!(status(&told(server.address(), whole)?), Some(421));
    assert_eq!(status(&told(server.address(), b"GET / HTTP/1.0\r\n\r\n")?), Some(421));
    Ok(())
}

#[test]
fn slow_clients_are_dropped() -> Result {
    let server = served(quick(), None)?;
    // Says nothing; says half of it; stays after its answer.
    let mut silent = connected(server.address())?;
    let mut half = connected(server.address())?;
    half.write_all(b"GET / HTTP/1.1\r\nHost: loc")?;
    let mut stays = connected(server.address())?;
    stays.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    for stream in [&mut silent, &mut half, &mut stays] {
        // Ends without a reset or a time-out of this side.
        stream.read_to_end(&mut Vec::new())?;
    }
    // A body that never comes whole.
    let body = "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc";
    assert_eq!(status(&told(server.address(), body.as_bytes())?), Some(503));
    // An answer that is never ready.
    assert_eq!(status(&asked(server.address(), "/never", "")?), Some(503));
    Ok(())
}

#[test]
fn an_answer_that_nobody_takes_is_given_up() -> Result {
    let server = served(quick(), None)?;
    let mut stream = connected(server.address())?;
    stream.write_all(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    // Nothing is read until the server must have lost its patience: then the end of the answer is missing.
    let waited = Instant::now();
    while waited.elapsed() < Duration::from_secs(2) {
        assert_eq!(status(&asked(server.address(), "/", "")?), Some(200));
    }
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    assert!(bytes.len() < 8 << 20, "{} bytes", bytes.len());
    Ok(())
}

#[test]
fn large_bodies_and_heads_are_refused() -> Result {
    let server = served(Limits { body: 1_000, ..Limits::default() }, None)?;
    let post = |length: &str, body: &str| {
        let head = format!("POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{length}\r\n\r\n");
        told(server.address(), format!("{head}{body}").as_bytes()).map(|answer| status(&answer))
    };
    assert_eq!(post("Content-Length: 3", "abc")?, Some(200));
    assert_eq!(post("Content-Length: 9999999999999999999", "abc")?, Some(413));
    assert_eq!(post("Content-Length: 5000", &"x".repeat(5_000))?, Some(413));
    let chunk = format!("1388\r\n{}\r\n0\r\n\r\n", "x".repeat(5_000));
    assert_eq!(post("Transfer-Encoding: chunked", &chunk)?, Some(413));
    let head = format!("X: {}\r\n", "x".repeat(100_000));
    assert_eq!(status(&asked(server.address(), "/", &head)?), Some(431));
    let many: String = (0..500).map(|at| format!("X{at}: 1\r\n")).collect();
    assert_eq!(status(&asked(server.address(), "/", &many)?), Some(431));
    Ok(())
}

fn resident_bytes() -> Result<usize> {
    let text = fs::read_to_string("/proc/self/statm")?;
    Ok(text.split(' ').nth(1).ok_or("resident")?.parse::<usize>()? * 4_096)
}

#[test]
fn a_thousand_connections_keep_nobody_out_and_take_little() -> Result {
    let server = served(Limits::default(), None)?;
    asked(server.address(), "/", "")?;
    let before = resident_bytes()?;
    let mut held = Vec::new();
    for at in 0..1_000 {
        let mut stream = connected(server.address())?;
        // Each leaves the server with something to keep.
        let _ = write!(stream, "GET /{} HTTP/1.1\r\nHost: localhost\r\nX: ", "x".repeat(4_000));
        held.push(stream);
        if at % 100 == 99 {
            assert_eq!(status(&asked(server.address(), "/", "")?), Some(200), "after {at}");
        }
    }
    let grown = resident_bytes()?.saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} bytes for 1 000 connections");
    drop(held);
    assert_eq!(status(&asked(server.address(), "/", "")?), Some(200));
    Ok(())
}

#[test]
fn damaged_requests_never_end_the_server() -> Result {
    let server = served(quick(), None)?;
    let seeds: [&[u8]; 3] = [
        b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept: text/plain\r\n\r\n",
        b"POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc",
        b"POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    ];
    let mut dice = Dice(0x5eed);
    let mut answered = 0;
    for at in 0..5_000 {
        let bytes = damage(&mut dice, seeds[at % seeds.len()]);
        let mut stream = connected(server.address())?;
        // Closed for writing: an unfinished request is seen to be one at once.
        let _ = stream.write_all(&bytes).and_then(|()| stream.shutdown(std::net::Shutdown::Write));
        answered += usize::from(all(stream).starts_with("HTTP/1."));
        assert!(server.is_alive(), "{}", String::from_utf8_lossy(&bytes));
    }
    assert!(answered > 500, "most of them were to reach the server: {answered}");
    assert_eq!(status(&asked(server.address(), "/", "")?), Some(200));
    Ok(())
}

#[test]
fn a_certificate_encrypts_and_a_wrong_one_is_said() -> Result {
    let dir = tempfile::tempdir()?;
    let files = TlsFiles { certificate: dir.path().join("cert.pem"), key: dir.path().join("key.pem") };
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    fs::write(&files.certificate, made.cert.pem())?;
    fs::write(&files.key, made.signing_key.serialize_pem())?;
    let listen = Listen { tls: Some(files.clone()), limits: quick(), ..Listen::loopback(0) };
    let server = start(&listen, router())?;

    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&files.certificate)?)?;
    let client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let session = ClientConnection::new(Arc::new(client), ServerName::try_from("localhost")?)?;
    let mut stream = StreamOwned::new(session, connected(server.address())?);
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    assert_eq!(status(&all(stream)), Some(200));
    // Without TLS, and with a handshake that never comes.
    assert_ne!(status(&asked(server.address(), "/", "")?), Some(200));
    connected(server.address())?.read_to_end(&mut Vec::new())?;

    fs::write(&files.certificate, "no certificate")?;
    assert!(matches!(start(&listen, router()).err(), Some(ListenError::Certificate { .. })));
    assert!(server.renew(&listen).is_err(), "what held before holds on");
    Ok(())
}

#[test]
fn the_end_waits_for_nobody_for_long() -> Result {
    let server = served(Limits::default(), None)?;
    let address = server.address();
    let mut idle = connected(address)?;
    let mut never = connected(address)?;
    never.write_all(b"GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    assert_eq!(status(&asked(address, "/", "")?), Some(200));
    drop(server);
    idle.read_to_end(&mut Vec::new())?;
    assert!(TcpStream::connect(address).is_err());
    Ok(())
}
