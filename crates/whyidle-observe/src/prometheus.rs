//! Asks a Prometheus over HTTP. What it answers is bytes here; the readers make sense of them.
//!
//! No redirect is followed, so that a token goes to the server that was named and to no other; beyond this machine it
//! goes over TLS only. Roots of trust are the system's, or those of a file. Answers have a limit and so has the wait.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use ureq::http::Uri;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};

/// Bytes of an answer at most: some hundred thousand series.
const MOST_BYTES: u64 = 64 << 20;
/// Bytes of a file with a token or with certificates at most.
const LONGEST_FILE: u64 = 1 << 20;
/// Bytes of an answer's head at most.
const LONGEST_HEAD: usize = 64 << 10;

/// A bearer token. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken(String);

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BearerToken(…)")
    }
}

impl BearerToken {
    /// A token, without the space around it; `None` where it is empty or cannot stand in a header.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let fits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| Self(text.to_owned()))
    }

    /// The token in a file.
    ///
    /// # Errors
    /// Where the file cannot be read, or holds none.
    pub fn read(path: &Path) -> Result<Self, AccessError> {
        let bytes = small_file(path)?;
        let text = std::str::from_utf8(&bytes).ok();
        text.and_then(Self::new).ok_or_else(|| AccessError::NoToken { path: path.to_owned() })
    }
}

/// A server, and how it is reached.
#[derive(Clone, Debug)]
pub struct Access {
    /// Its address, as `https://prometheus.example:9090` or with a path before `/api`.
    pub url: String,
    /// What it asks for.
    pub token: Option<BearerToken>,
    /// Certificates to trust instead of the system's, as PEM.
    pub roots: Option<PathBuf>,
    /// How long one answer may take, all in all.
    pub timeout: Duration,
}

/// Why a server cannot be asked at all.
#[derive(Debug, Error)]
pub enum AccessError {
    /// No `http://` or `https://` address.
    #[error("{url}: no address of a server")]
    Address {
        /// What was given, without what may be a password.
        url: String,
    },
    /// The address holds a name and a password, which everybody sees who lists processes.
    #[error("an address with a password")]
    Password,
    /// A token would go over the network in clear.
    #[error("a token over plain HTTP")]
    Clear,
    /// A file cannot be read.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file holds no token.
    #[error("{path}: no token")]
    NoToken {
        /// The file.
        path: PathBuf,
    },
    /// The file, or the system, holds no certificates.
    #[error("no certificates to trust")]
    NoRoots {
        /// The file; `None` for the system's.
        path: Option<PathBuf>,
    },
}

/// Why a server gave no answer.
#[derive(Debug, Error)]
pub enum AskError {
    /// It is not there: no such name, refused, no route.
    #[error("not reachable: {reason}")]
    Unreachable {
        /// Why.
        reason: String,
    },
    /// It took too long.
    #[error("no answer in time")]
    Late,
    /// Its certificate is not trusted, or it speaks no TLS.
    #[error("TLS: {reason}")]
    Tls {
        /// Why.
        reason: String,
    },
    /// Its answer is larger than is read.
    #[error("an answer of more than {most} bytes")]
    TooLarge {
        /// The limit, bytes.
        most: u64,
    },
    /// It speaks no HTTP, or broke off.
    #[error("no HTTP: {reason}")]
    Broken {
        /// Why.
        reason: String,
    },
}

/// What a server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

/// A Prometheus.
#[derive(Debug)]
pub struct Prometheus {
    agent: ureq::Agent,
    /// The address of its queries.
    queries: String,
    token: Option<BearerToken>,
    most: u64,
}

impl Prometheus {
    /// Prepares to ask; nothing is sent yet.
    ///
    /// # Errors
    /// Where the address, the token or the certificates do not do.
    pub fn new(access: &Access) -> Result<Self, AccessError> {
        let (base, uri) = address(&access.url)?;
        let is_https = uri.scheme_str() == Some("https");
        let is_near = is_loopback(uri.host().unwrap_or_default());
        if access.token.is_some() && !is_https && !is_near {
            return Err(AccessError::Clear);
        }
        let mut config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_response_header_size(LONGEST_HEAD)
            .timeout_global(Some(access.timeout))
            .user_agent(concat!("whyidle/", env!("CARGO_PKG_VERSION")));
        if is_near {
            // A proxy from the environment is for others: the token would leave this machine by it.
            config = config.proxy(None);
        }
        if is_https {
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let tls = TlsConfig::builder()
                .provider(TlsProvider::Rustls)
                .unversioned_rustls_crypto_provider(provider)
                .root_certs(RootCerts::from(roots(access.roots.as_deref())?));
            config = config.tls_config(tls.build());
        }
        let agent = config.build().new_agent();
        Ok(Self {
            agent,
            queries: format!("{base}/api/v1/query"),
            token: access.token.clone(),
            most: MOST_BYTES,
        })
    }

    /// Sends an instant query, of `at` (Unix time, ns) or of now.
    ///
    /// # Errors
    /// Where no whole answer came. Any HTTP status is an answer.
    pub fn query(&self, query: &str, at: Option<i64>) -> Result<Reply, AskError> {
        let mut form = vec![("query", query.to_owned())];
        form.extend(at.map(|at| ("time", format!("{}.{:03}", at / 1_000_000_000, at / 1_000_000 % 1_000))));
        let mut request = self.agent.post(&self.queries).header("Accept", "application/json");
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {}", token.0));
        }
        let mut response = request.send_form(form).map_err(no_answer)?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(self.most).read_to_vec().map_err(no_answer)?;
        Ok(Reply { status, body })
    }
}

/// The address without a slash at its end, and what it consists of.
fn address(url: &str) -> Result<(String, Uri), AccessError> {
    let url = url.trim();
    if url
        .split_once("://")
        .is_some_and(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or(rest).contains('@'))
    {
        return Err(AccessError::Password);
    }
    let none = || AccessError::Address { url: url.to_owned() };
    let uri: Uri = url.parse().map_err(|_| none())?;
    let is_sound = matches!(uri.scheme_str(), Some("http" | "https"))
        && uri.host().is_some_and(|host| !host.is_empty())
        && uri.query().is_none();
    // A page that was copied from the browser is meant as the server.
    let base = url.trim_end_matches('/');
    let base = base.strip_suffix("/graph").or_else(|| base.strip_suffix("/api/v1/query")).unwrap_or(base);
    if is_sound { Ok((base.to_owned(), uri)) } else { Err(none()) }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare == "localhost" || bare.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

fn small_file(path: &Path) -> Result<Vec<u8>, AccessError> {
    let failed = |error| AccessError::File { path: path.to_owned(), error };
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(LONGEST_FILE).read_to_end(&mut bytes)).map_err(failed)?;
    Ok(bytes)
}

/// Certificates to trust: those of the file, or the system's.
fn roots(path: Option<&Path>) -> Result<Vec<Certificate<'static>>, AccessError> {
    let found: Vec<Certificate<'static>> = match path {
        Some(path) => parse_pem(&small_file(path)?)
            .filter_map(|item| match item {
                Ok(PemItem::Certificate(certificate)) => Some(certificate),
                _ => None,
            })
            .collect(),
        None => {
            let system = rustls_native_certs::load_native_certs().certs;
            system.iter().map(|der| Certificate::from_der(der).to_owned()).collect()
        }
    };
    if found.is_empty() { Err(AccessError::NoRoots { path: path.map(Path::to_owned) }) } else { Ok(found) }
}

fn no_answer(error: ureq::Error) -> AskError {
    let reason = error.to_string();
    match error {
        ureq::Error::Timeout(_) => AskError::Late,
        ureq::Error::BodyExceedsLimit(most) => AskError::TooLarge { most },
        ureq::Error::Rustls(_) | ureq::Error::Tls(_) | ureq::Error::Pem(_) => AskError::Tls { reason },
        ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => AskError::Unreachable { reason },
        ureq::Error::Io(error) => of_io(&error),
        _ => AskError::Broken { reason },
    }
}

fn of_io(error: &io::Error) -> AskError {
    let reason = error.to_string();
    let inner = error.get_ref();
    if let Some(ureq::Error::BodyExceedsLimit(most)) =
        inner.and_then(|inner| inner.downcast_ref::<ureq::Error>())
    {
        return AskError::TooLarge { most: *most };
    }
    if inner.is_some_and(|inner| inner.is::<rustls::Error>()) {
        return AskError::Tls { reason };
    }
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => AskError::Late,
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => {
            AskError::Broken { reason }
        }
        _ => AskError::Unreachable { reason },
    }
}

#[cfg(test)]
mod tests;
