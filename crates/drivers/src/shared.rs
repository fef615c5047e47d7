//! What several adapters stand on: one HTTP client, signed requests, TLS.

pub(crate) mod aws;
#[cfg(all(test, feature = "http"))]
pub(crate) mod fuzz_http;
#[cfg(feature = "http")]
pub(crate) mod http;
#[cfg(feature = "http")]
pub(crate) mod pairs;
#[cfg(feature = "tls")]
pub(crate) mod tls;
