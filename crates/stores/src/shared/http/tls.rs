//! TLS to a server: its certificate is believed if one of the well-known authorities, or one the user names, has signed it.

use super::{Bytes, Full, HttpError, SendRequest, speak};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore, crypto};
use std::path::Path;
use std::sync::Arc;
use store::{Endpoint, StoreError};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// How connections are made secret. Clones share the sessions that servers let be taken up again.
#[derive(Clone)]
pub(crate) struct Tls {
    config: Arc<ClientConfig>,
}

impl Tls {
    /// Servers are believed whose certificates are signed by an authority that Mozilla's list names, or, with `authority`, by those in
    /// this file of PEM and no others.
    pub(crate) fn believing(authority: Option<&Path>) -> Result<Tls, StoreError> {
        let mut roots = RootCertStore::empty();
        match authority {
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
            Some(path) => {
                let unusable = |problem: String| StoreError::open(path.display(), problem);
                let certificates = CertificateDer::pem_file_iter(path).map_err(|error| unusable(error.to_string()))?;
                for certificate in certificates {
                    let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
                    roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
                }
                if roots.is_empty() {
                    return Err(unusable("there is no certificate in it; ca= names a file of PEM".into()));
                }
            }
        }
        let config = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| StoreError::Session(format!("TLS: {error}")))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Tls { config: Arc::new(config) })
    }

    pub(super) async fn connect(&self, endpoint: &Endpoint) -> Result<SendRequest<Full<Bytes>>, HttpError> {
        let lost = |words: String| HttpError::Lost(words);
        let Some((host, port)) = endpoint.tcp() else {
            return Err(lost("TLS is spoken over TCP only; give host and port".into()));
        };
        let name = ServerName::try_from(host.to_owned()).map_err(|error| lost(format!("TLS to {host}: {error}")))?;
        let stream = TcpStream::connect((host, port)).await.map_err(|error| lost(error.to_string()))?;
        stream.set_nodelay(true).map_err(|error| lost(error.to_string()))?;
        let connector = TlsConnector::from(self.config.clone());
        let stream = connector.connect(name, stream).await.map_err(|error| lost(format!("TLS: {error}")))?;
        speak(stream).await
    }
}
