//! Why the server cannot listen, as a message with what to do about it.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;
use whyidle_diagnosis::Message;

/// Why the server cannot listen.
#[derive(Debug, Error)]
pub enum ListenError {
    /// Others than this machine could connect, and no token is asked of them.
    #[error("{0} can be reached from other machines, and no token is set")]
    Open(SocketAddr),
    /// The address is not to be had.
    #[error("cannot listen on {address}: {error}")]
    Address {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// A token that can be guessed.
    #[error("a token has at least {least} characters")]
    ShortToken {
        /// Characters that it needs at least.
        least: usize,
    },
    /// A token that cannot stand in a header.
    #[error("a token is one word of printable ASCII")]
    OddToken,
    /// A file cannot be read.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Certificate and key cannot be used.
    #[error("{}: {reason}", path.display())]
    Certificate {
        /// The certificate.
        path: PathBuf,
        /// Why, in the words of the TLS library.
        reason: String,
    },
}

impl ListenError {
    /// The error for people.
    #[must_use]
    pub fn message(&self) -> Message {
        match self {
            Self::Open(address) => Message::new("http-open").name("address", address.to_string()),
            Self::Address { address, error } => Message::new("http-address")
                .name("address", address.to_string())
                .name("reason", error.to_string()),
            Self::ShortToken { least } => Message::new("http-short-token").count("least", *least),
            Self::OddToken => Message::new("http-odd-token"),
            Self::File { path, error } => Message::new("http-file")
                .name("path", path.display().to_string())
                .name("reason", error.to_string()),
            Self::Certificate { path, reason } => Message::new("http-certificate")
                .name("path", path.display().to_string())
                .name("reason", reason),
        }
    }

    /// What to do about it, where that can be said.
    #[must_use]
    pub fn hint(&self) -> Option<Message> {
        Some(match self {
            Self::Open(_) => Message::new("http-open-hint"),
            Self::ShortToken { .. } | Self::OddToken => Message::new("http-token-hint"),
            Self::Address { error, .. } if error.kind() == io::ErrorKind::AddrInUse => {
                Message::new("http-address-hint")
            }
            Self::Certificate { .. } => Message::new("http-certificate-hint"),
            _ => return None,
        })
    }
}
