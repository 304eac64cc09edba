//! TLS from files: a certificate and its key.

use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{Error, ServerConfig};

use super::{ListenError, TlsFiles};

/// What answers the handshake.
pub(super) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, ListenError> {
    let refused =
        |path: &std::path::Path, reason: String| ListenError::Certificate { path: path.to_owned(), reason };
    let certificate = |error: String| refused(&files.certificate, error);
    let chain = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| certificate(error.to_string()))?;
    if chain.is_empty() {
        return Err(certificate("no certificate in it".to_owned()));
    }
    let key =
        PrivateKeyDer::from_pem_file(&files.key).map_err(|error| refused(&files.key, error.to_string()))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error: Error| certificate(error.to_string()))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
