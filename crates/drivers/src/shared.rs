//! What several adapters stand on: one HTTP client, signed requests, TLS.

pub(crate) mod aws;
#[cfg(all(test, feature = "http"))]
pub(crate) mod fuzz_http;
#[cfg(feature = "http")]
pub(crate) mod http;
#[cfg(any(feature = "couchdb", feature = "s3"))]
pub(crate) mod last;
#[cfg(feature = "http")]
pub(crate) mod pairs;
#[cfg(all(test, any(feature = "couchdb", feature = "s3")))]
pub(crate) mod scripted_http;
#[cfg(feature = "tls")]
pub(crate) mod tls;
