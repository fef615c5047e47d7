//! Signature Version 4: what is signed, and with what.
//!
//! Method, path, query, headers and the digest of the body are written in one form, the canonical request. Its digest is signed with a
//! key that is made of the secret, the day, the region and the service; it is made once per day.

use hmac::{Hmac, KeyInit, Mac};
use hyper::header::{HeaderName, HeaderValue};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use store::Endpoint;
use study::Secret;

/// A signer of requests to one service.
#[derive(Clone)]
pub(super) struct Signer {
    /// The name of the key and its secret; `None` where nobody asks for one.
    key: Option<(String, Secret)>,
    region: String,
    service: &'static str,
    /// The day as it is written, and the key for that day.
    of_day: Option<(String, [u8; 32])>,
}

impl Signer {
    /// Makes a signer with the login of the endpoint.
    pub(super) fn new(endpoint: &Endpoint, region: &str, service: &'static str) -> Signer {
        let secret = endpoint.password.clone().unwrap_or_else(|| Secret::new(""));
        let key = endpoint.user.clone().map(|name| (name, secret));
        Signer { key, region: region.to_owned(), service, of_day: None }
    }

    /// Returns the region of signatures.
    pub(super) fn region(&self) -> &str {
        &self.region
    }

    /// Returns whether there is a key to sign with.
    pub(super) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Returns the header `Authorization` of a request. Headers are in the order of their names.
    pub(super) fn authorization(
        &mut self,
        stamp: &str,
        method: &str,
        path: &str,
        query: &str,
        headers: &[(HeaderName, HeaderValue)],
        body_sha256: &str,
    ) -> String {
        let names = headers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(";");
        let mut canonical = format!("{method}\n{path}\n{query}\n").into_bytes();
        for (name, value) in headers {
            for part in [name.as_str().as_bytes(), b":", value.as_bytes().trim_ascii(), b"\n"] {
                canonical.extend_from_slice(part);
            }
        }
        canonical.extend_from_slice(format!("\n{names}\n{body_sha256}").as_bytes());
        let day = stamp.get(..8).unwrap_or(stamp).to_owned();
        let scope = format!("{day}/{}/{}/aws4_request", self.region, self.service);
        let signed = format!("AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{}", hex_sha256(&canonical));
        let signature = hex(&mac(&self.key_of(&day), signed.as_bytes()));
        let name = self.key.as_ref().map_or("", |(name, _)| name.as_str());
        format!("AWS4-HMAC-SHA256 Credential={name}/{scope}, SignedHeaders={names}, Signature={signature}")
    }

    /// Returns the key of a day.
    fn key_of(&mut self, day: &str) -> [u8; 32] {
        if let Some((of, key)) = &self.of_day
            && of == day
        {
            return *key;
        }
        let secret = self.key.as_ref().map_or("", |(_, secret)| secret.reveal());
        let first = mac(format!("AWS4{secret}").as_bytes(), day.as_bytes());
        let parts = [self.region.as_bytes(), self.service.as_bytes(), b"aws4_request"];
        let key = parts.iter().fold(first, |key, part| mac(&key, part));
        self.of_day = Some((day.to_owned(), key));
        key
    }
}

/// Returns the HMAC-SHA256. Keys of any length will do.
fn mac(key: &[u8], text: &[u8]) -> [u8; 32] {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    mac.update(text);
    mac.finalize().into_bytes().into()
}

/// Returns the digest of these bytes, in hexadecimal digits.
pub(super) fn hex_sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests;
