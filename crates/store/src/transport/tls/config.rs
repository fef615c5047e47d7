//! What `rustls` is set up with.

use super::pinned::Pinned;
use super::{Trust, words};
use crate::StoreError;
use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore, crypto};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The configurations, each made once: connections share the sessions that servers allow to be resumed.
static CONFIGS: Mutex<Option<HashMap<Trust, Arc<ClientConfig>>>> = Mutex::new(None);

/// Returns the configuration for connections to servers whose certificates a trusted authority has signed.
///
/// # Errors
/// The file of authorities cannot be read or holds none.
pub fn config(trust: &Trust) -> Result<Arc<ClientConfig>, StoreError> {
    let mut configs = CONFIGS.lock().unwrap_or_else(PoisonError::into_inner);
    let configs = configs.get_or_insert_default();
    if let Some(config) = configs.get(trust) {
        return Ok(config.clone());
    }
    let provider = Arc::new(crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| StoreError::Session(words(&error)))?;
    let config = match trust {
        Trust::WellKnown => {
            let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
            builder.with_root_certificates(roots).with_no_client_auth()
        }
        Trust::In(path) => {
            let (roots, certificates) = authorities(path)?;
            let authorities = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .map_err(|error| StoreError::open(path.display(), error))?;
            let pinned = Arc::new(Pinned::new(authorities, certificates));
            builder.dangerous().with_custom_certificate_verifier(pinned).with_no_client_auth()
        }
    };
    Ok(configs.entry(trust.clone()).or_insert(Arc::new(config)).clone())
}

/// Sets the cryptography for drivers that set up `rustls` themselves without asking.
pub fn settle_provider() {
    // It is settled already, by an earlier call.
    let _ = crypto::ring::default_provider().install_default();
}

/// Returns the authorities in a file of PEM, and all certificates in it.
fn authorities(path: &Path) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), StoreError> {
    let unusable = |problem: String| StoreError::open(path.display(), problem);
    let (mut roots, mut certificates) = (RootCertStore::empty(), Vec::new());
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unusable(error.to_string()))? {
        let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
        certificates.push(certificate.clone());
        roots.add(certificate).map_err(|error| unusable(words(&error)))?;
    }
    if roots.is_empty() {
        return Err(unusable("there is no certificate in it; ca= names a PEM file".into()));
    }
    Ok((roots, certificates))
}
