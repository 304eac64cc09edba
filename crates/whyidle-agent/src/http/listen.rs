//! Where to listen, whom to serve, and what one connection may cost.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use subtle::ConstantTimeEq;

use super::ListenError;

/// Fewer characters of a token can be guessed.
const SHORTEST: usize = 16;
/// A file with a longer one is no file with a token.
const LONGEST: usize = 4_096;

/// A secret that a client must show. It is never printed.
#[derive(Clone)]
pub struct Token(Vec<u8>);

impl Token {
    /// A token from its text, blanks around it removed.
    ///
    /// # Errors
    /// Where it is shorter than 16 characters, or cannot stand in a header.
    pub fn new(text: &str) -> Result<Self, ListenError> {
        let text = text.trim();
        if text.len() < SHORTEST {
            return Err(ListenError::ShortToken { least: SHORTEST });
        }
        if text.len() > LONGEST || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ListenError::OddToken);
        }
        Ok(Self(text.as_bytes().to_vec()))
    }

    /// The token that a file holds, alone on its line.
    ///
    /// # Errors
    /// Where it cannot be read, or as [`Token::new`].
    pub fn from_file(path: &Path) -> Result<Self, ListenError> {
        let unread = |error| ListenError::File { path: path.to_owned(), error };
        let mut text = String::new();
        let most = u64::try_from(LONGEST + 1).unwrap_or(u64::MAX);
        File::open(path).and_then(|file| file.take(most).read_to_string(&mut text)).map_err(unread)?;
        Self::new(&text)
    }

    /// Compares in a time that depends on lengths alone.
    pub(super) fn is(&self, shown: &[u8]) -> bool {
        self.0.ct_eq(shown).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// A certificate and its key, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, and those that vouch for it.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// What connections may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time. One more takes the place of the oldest that is not being answered.
    pub connections: usize,
    /// How long the head of a request may take, from the connection's beginning or the answer before it; TLS as well.
    pub head: Duration,
    /// How long an answer may take to be made.
    pub request: Duration,
    /// How long a client may take none of an answer.
    pub stall: Duration,
    /// Largest body of a request, bytes.
    pub body: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            head: Duration::from_secs(10),
            request: Duration::from_secs(30),
            stall: Duration::from_secs(20),
            body: 64 << 10,
        }
    }
}

/// Where to listen, and for whom.
#[derive(Clone, Debug)]
pub struct Listen {
    /// Address and port; this machine alone unless told otherwise.
    pub address: SocketAddr,
    /// Asked of every request, where set.
    pub token: Option<Token>,
    /// Encrypts, where set.
    pub tls: Option<TlsFiles>,
    /// Names under which clients may ask for this machine beside its own: those of a proxy in front of it.
    pub names: Vec<String>,
    /// What connections may cost.
    pub limits: Limits,
}

impl Listen {
    /// On this machine alone, without a token.
    #[must_use]
    pub fn loopback(port: u16) -> Self {
        Self::on(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
    }

    /// On an address, with nothing else set.
    #[must_use]
    pub fn on(address: SocketAddr) -> Self {
        Self { address, token: None, tls: None, names: Vec::new(), limits: Limits::default() }
    }
}
