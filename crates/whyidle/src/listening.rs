//! What `agent` and `serve` are told of how to listen, and the warning that both give.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use whyidle_agent::http::Listen;
use whyidle_diagnosis::Message;

use crate::output::Output;
use crate::values::Unfit;

/// How to listen.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Listening {
    /// Where to listen; beyond this machine only with a token [default: localhost:9401 (agent), :7321 (serve)]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,
    /// Ask for the token in this file, as a bearer or as the password of any user
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Encrypt with this certificate, PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Its private key, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Another name under which clients may ask for it; repeatable
    #[arg(long, value_name = "HOST", hide_short_help = true)]
    pub(crate) name: Vec<String>,
}

/// An address with its port. Of names only `localhost` is known, as the machine itself: what another name stands for may
/// change, and with it who can connect.
fn address(text: &str) -> Result<SocketAddr, Unfit> {
    let own = text.strip_prefix("localhost:").map(|port| format!("{}:{port}", Ipv4Addr::LOCALHOST));
    own.as_deref().unwrap_or(text).parse().map_err(|_| Unfit::new("cli-value-address"))
}

/// Says what others on the way could read.
pub(crate) fn warn(listen: &Listen, output: &Output) {
    if listen.shows_its_token() {
        output.say(&Message::new("http-plain-token").name("address", listen.address.to_string()));
    }
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn addresses_are_numbers_or_this_machine() {
        let read = |text| address(text).map(|address| address.to_string());
        assert_eq!(read("localhost:9401"), Ok("127.0.0.1:9401".to_owned()));
        assert_eq!(read("[::1]:80"), Ok("[::1]:80".to_owned()));
        for text in ["localhost", "localhost:x", "9401", "gpu-01:9401", "127.0.0.1", "", "localhost:99999"] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
