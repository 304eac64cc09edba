//! What `agent` and `serve` are told of how to listen, and the warning that both give.

use std::net::SocketAddr;
use std::path::PathBuf;

use whyidle_agent::http::Listen;
use whyidle_diagnosis::Message;

use crate::output::Output;

/// How to listen.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Listening {
    /// Address and port; others than this machine's own need a token [default: 127.0.0.1 with port 9401 (agent), 7321 (serve)]
    #[arg(long, value_name = "ADDRESS:PORT")]
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

/// Says what others on the way could read.
pub(crate) fn warn(listen: &Listen, output: &Output) {
    if listen.shows_its_token() {
        output.say(&Message::new("http-plain-token").name("address", listen.address.to_string()));
    }
}
