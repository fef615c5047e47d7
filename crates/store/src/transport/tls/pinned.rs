//! Certificates that a user trusts themselves, because nobody else has signed them.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use std::sync::Arc;

/// A verifier that believes certificates signed by authorities, and these very certificates. A server still has to prove that it has the key of its
/// certificate.
#[derive(Debug)]
pub(super) struct Pinned {
    authorities: Arc<WebPkiServerVerifier>,
    certificates: Vec<CertificateDer<'static>>,
}

impl Pinned {
    pub fn new(authorities: Arc<WebPkiServerVerifier>, certificates: Vec<CertificateDer<'static>>) -> Pinned {
        Pinned { authorities, certificates }
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let signed = self.authorities.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match signed {
            // Its time is over, no matter who trusts it.
            Err(Error::InvalidCertificate(
                CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. },
            )) => signed,
            Err(_) if self.certificates.iter().any(|pinned| **pinned == **end_entity) => {
                match verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name) {
                    // One that names no host is what it is: nobody else has its key.
                    Err(Error::InvalidCertificate(CertificateError::NotValidForNameContext { presented, .. }))
                        if presented.is_empty() => {}
                    named => named?,
                }
                Ok(ServerCertVerified::assertion())
            }
            _ => signed,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.supported_verify_schemes()
    }
}
