//! What the agent is told: options of the command, and a small file that SIGHUP reads anew.

use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use thiserror::Error;
use whyidle_diagnosis::Message;

use crate::http::{Listen, ListenError, TlsFiles, Token};

/// The port that is listened on by default.
pub const PORT: u16 = 9_401;
/// A larger file is no file of settings.
const LARGEST: u64 = 64 << 10;

/// What the agent is told.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where to listen.
    pub listen: SocketAddr,
    /// A file with the token that clients must show.
    pub token_file: Option<PathBuf>,
    /// A certificate in PEM, and its key.
    pub tls_certificate: Option<PathBuf>,
    /// The certificate's key.
    pub tls_key: Option<PathBuf>,
    /// Names under which clients may ask for this machine beside its own.
    pub names: Vec<String>,
    /// Series that are exported at most.
    pub series: usize,
    /// Recordings that are kept.
    pub ring: RingSettings,
}

/// Recordings that are kept.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RingSettings {
    /// The folder; none are kept without.
    pub dir: Option<PathBuf>,
    /// Megabytes (of 10⁶ bytes) that they may take together.
    #[serde(deserialize_with = "positive")]
    pub megabytes: u64,
    /// Days that each is kept.
    #[serde(deserialize_with = "positive")]
    pub days: u64,
    /// Minutes of samples in each.
    #[serde(deserialize_with = "positive")]
    pub minutes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], PORT)),
            token_file: None,
            tls_certificate: None,
            tls_key: None,
            names: Vec::new(),
            series: 5_000,
            ring: RingSettings::default(),
        }
    }
}

impl Default for RingSettings {
    fn default() -> Self {
        Self { dir: None, megabytes: 512, days: 7, minutes: 10 }
    }
}

impl RingSettings {
    /// Bytes that all recordings may take.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.megabytes.saturating_mul(1_000_000)
    }

    /// How long a recording is kept.
    #[must_use]
    pub fn age(&self) -> Duration {
        Duration::from_secs(self.days.saturating_mul(86_400))
    }

    /// Samples in each recording.
    #[must_use]
    pub fn length(&self) -> Duration {
        Duration::from_secs(self.minutes.clamp(1, 1_440) * 60)
    }
}

/// A number of which none would mean that everything is removed at once.
fn positive<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let number = u64::deserialize(from)?;
    if number == 0 { Err(serde::de::Error::custom("at least 1")) } else { Ok(number) }
}

/// Why settings cannot be used.
#[derive(Debug, Error)]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("{}: {error}", path.display())]
    Unread {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file makes no sense.
    #[error("{}: {reason}", path.display())]
    Odd {
        /// The file.
        path: PathBuf,
        /// Why, in the parser's words.
        reason: String,
    },
    /// Nobody can listen so.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// A certificate without a key, or a key without a certificate.
    #[error("certificate and key belong together")]
    HalfTls,
}

impl SettingsError {
    /// The error for people.
    #[must_use]
    pub fn message(&self) -> Message {
        match self {
            Self::Unread { path, error } => Message::new("http-file")
                .name("path", path.display().to_string())
                .name("reason", error.to_string()),
            Self::Odd { path, reason } => Message::new("agent-settings-odd")
                .name("path", path.display().to_string())
                .name("reason", reason),
            Self::Listen(error) => error.message(),
            Self::HalfTls => Message::new("agent-half-tls"),
        }
    }

    /// What to do about it, where that can be said.
    #[must_use]
    pub fn hint(&self) -> Option<Message> {
        match self {
            Self::Odd { .. } => Some(Message::new("agent-settings-hint")),
            Self::Listen(error) => error.hint(),
            _ => None,
        }
    }
}

impl Settings {
    /// The settings of a file; what it does not name is as by default.
    ///
    /// # Errors
    /// Where it cannot be read or makes no sense.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let mut text = String::new();
        std::fs::File::open(path)
            .and_then(|file| file.take(LARGEST).read_to_string(&mut text))
            .map_err(|error| SettingsError::Unread { path: path.to_owned(), error })?;
        toml::from_str(&text).map_err(|error| {
            let reason = error.message().to_owned();
            let line = error
                .span()
                .map(|span| text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1);
            let reason = line.map_or(reason.clone(), |line| format!("line {line}: {reason}"));
            SettingsError::Odd { path: path.to_owned(), reason }
        })
    }

    /// How to listen.
    ///
    /// # Errors
    /// Where the token cannot be read, or only half of TLS is set.
    pub fn listen(&self) -> Result<Listen, SettingsError> {
        let tls = match (&self.tls_certificate, &self.tls_key) {
            (Some(certificate), Some(key)) => {
                Some(TlsFiles { certificate: certificate.clone(), key: key.clone() })
            }
            (None, None) => None,
            _ => return Err(SettingsError::HalfTls),
        };
        let token = self.token_file.as_deref().map(Token::from_file).transpose()?;
        Ok(Listen { token, tls, names: self.names.clone(), ..Listen::on(self.listen) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_names_what_differs_and_slips_are_said() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("agent.toml");
        std::fs::write(&path, "series = 100\n[ring]\nmegabytes = 5\n")?;
        let read = Settings::read(&path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((read.series, read.ring.bytes(), read.ring.days), (100, 5_000_000, 7));
        std::fs::write(&path, "series = 100\nseris = 3\n")?;
        let error = Settings::read(&path).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("line 2") && error.contains("seris"), "{error}");
        for none in ["days", "megabytes", "minutes"] {
            std::fs::write(&path, format!("[ring]\n{none} = 0\n"))?;
            let error = Settings::read(&path).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains("line 2") && error.contains("at least 1"), "{none}: {error}");
        }
        std::fs::write(&path, "tls_key = \"k\"")?;
        let half = Settings::read(&path).and_then(|settings| settings.listen().map(drop));
        assert!(matches!(half, Err(SettingsError::HalfTls)));
        assert!(matches!(Settings::read(&dir.path().join("x")), Err(SettingsError::Unread { .. })));
        Ok(())
    }
}
