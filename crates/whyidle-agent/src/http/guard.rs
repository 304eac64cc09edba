//! Who is served: the name that a request asks for, and the token that it shows. And the headers of every answer.
//!
//! A page of the browser that is open elsewhere can be made to ask for this machine by a name of its own that suddenly
//! points here (DNS rebinding). Where no token is asked for, only this machine's own names are answered.

use axum::body::Body;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::uri::Authority;
use axum::http::{Request, Response, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio_rustls::TlsAcceptor;

use super::listen::Token;
use super::{Listen, ListenError, tls};

/// Largest `Authorization` that is looked at.
const LONGEST: usize = 8 << 10;

/// What is set on every answer that does not set it itself: nothing is guessed, framed, kept, or told to other sites.
const HEADERS: [(HeaderName, &str); 7] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Who is served.
pub(super) struct Guard {
    token: Option<Token>,
    /// Names that may be asked for, in lower case; any where a token is asked for.
    names: Option<Vec<String>>,
    pub(super) tls: Option<TlsAcceptor>,
}

impl Guard {
    pub(super) fn new(listen: &Listen) -> Result<Self, ListenError> {
        let is_own = listen.address.ip().is_loopback();
        if !is_own && listen.token.is_none() {
            return Err(ListenError::Open(listen.address));
        }
        let own = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        let bound = match listen.address.ip() {
            std::net::IpAddr::V4(ip) => ip.to_string(),
            std::net::IpAddr::V6(ip) => format!("[{ip}]"),
        };
        let names = own.into_iter().chain([bound]).chain(listen.names.iter().map(|name| name.to_lowercase()));
        Ok(Self {
            token: listen.token.clone(),
            names: listen.token.is_none().then(|| names.collect()),
            tls: listen.tls.as_ref().map(tls::acceptor).transpose()?,
        })
    }

    /// The answer to a request that is not served; `None` where it is.
    pub(super) fn refuses<B>(&self, request: &Request<B>) -> Option<Response<Body>> {
        if let Some(names) = &self.names {
            let asked = asked_for(request);
            if !asked.is_some_and(|asked| names.contains(&asked)) {
                return Some(plain(StatusCode::MISDIRECTED_REQUEST, "not a name of this server\n"));
            }
        }
        let token = self.token.as_ref()?;
        if shows(request.headers(), token) {
            return None;
        }
        let mut answer = plain(StatusCode::UNAUTHORIZED, "a token is needed\n");
        for scheme in ["Bearer realm=\"whyidle\"", "Basic realm=\"whyidle\", charset=\"UTF-8\""] {
            answer.headers_mut().append(header::WWW_AUTHENTICATE, HeaderValue::from_static(scheme));
        }
        Some(answer)
    }
}

/// The host that a request asks for, without its port, in lower case; `None` where it names none, or several.
fn asked_for<B>(request: &Request<B>) -> Option<String> {
    let mut named = request.headers().get_all(header::HOST).iter();
    let (first, second) = (named.next(), named.next());
    if second.is_some() {
        return None;
    }
    // A whole address in the first line goes before the header.
    let authority = match request.uri().authority() {
        Some(authority) => authority.clone(),
        None => first?.to_str().ok()?.parse::<Authority>().ok()?,
    };
    // `user@host` is no host.
    (!authority.as_str().contains('@')).then(|| authority.host().to_lowercase())
}

/// The request shows the token: as a bearer, or as the password of any user, which browsers ask for.
fn shows(headers: &HeaderMap, token: &Token) -> bool {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(shown), None) = (all.next(), all.next()) else { return false };
    let Some((scheme, rest)) = shown.to_str().ok().filter(|text| text.len() <= LONGEST).and_then(split)
    else {
        return false;
    };
    if scheme.eq_ignore_ascii_case("bearer") {
        return token.is(rest.as_bytes());
    }
    let decoded = || STANDARD.decode(rest).ok();
    scheme.eq_ignore_ascii_case("basic")
        && decoded().is_some_and(|bytes| {
            let at = bytes.iter().position(|byte| *byte == b':');
            at.is_some_and(|at| token.is(&bytes[at + 1..]))
        })
}

fn split(text: &str) -> Option<(&str, &str)> {
    text.split_once(' ').map(|(scheme, rest)| (scheme, rest.trim()))
}

/// An answer of one line.
pub(super) fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut answer = Response::new(Body::from(text));
    *answer.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}

/// Adds the headers that every answer has, where it has not set them.
pub(super) fn secured(mut answer: Response<Body>) -> Response<Body> {
    for (name, value) in HEADERS {
        answer.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    answer
}
