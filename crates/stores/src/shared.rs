//! What several adapters stand on: ways to open a library, engines that are alike, a server two adapters share, one HTTP client,
//! signed requests, Java, npm, base64, numbers for ids.

pub(crate) mod aws;
pub(crate) mod base64;
pub(crate) mod bit_sets;
pub(crate) mod cabinet;
pub(crate) mod driver;
pub(crate) mod dylib;
pub(crate) mod embedded;
#[cfg(test)]
pub(crate) mod fuzz;
#[cfg(feature = "http")]
pub(crate) mod http;
pub(crate) mod id_index;
pub(crate) mod jvm;
pub(crate) mod log_structured;
pub(crate) mod mariadb;
pub(crate) mod npm;
#[cfg(feature = "http")]
pub(crate) mod pairs;
pub(crate) mod stripes;
#[cfg(feature = "tls")]
pub(crate) mod tls;
pub(crate) mod transactional;
