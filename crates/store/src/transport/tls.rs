//! TLS to servers of the user's: how a spec asks for TLS, and whose certificates are believed.

use crate::{Endpoint, OptionInfo, StoreError};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use study::Spec;

#[cfg(feature = "tls")]
mod config;
mod explained;
#[cfg(feature = "tls")]
mod pinned;

#[cfg(feature = "tls")]
pub use config::{config, settle_provider};
pub use explained::explained;
#[cfg(feature = "tls")]
pub use explained::words;

/// The option that asks for TLS. A store whose protocol can be spoken over TLS has this among its options, and [`CA`].
pub const TLS: OptionInfo = OptionInfo::one_of(
    "tls",
    &["auto", "on", "off"],
    "whether the connection to a server of yours is encrypted; auto: if its port is 443",
);

/// The option that names who has signed the server's certificate.
pub const CA: OptionInfo = OptionInfo::text(
    "ca",
    "PEM file with the authorities, or the certificates themselves, to trust instead of the well-known ones",
);

/// The port where TLS is spoken unless the user says otherwise.
pub const PORT: u16 = 443;

/// The authorities whose signatures under a server's certificate are believed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Trust {
    /// The authorities of Mozilla's list.
    WellKnown,
    /// The authorities in this file of PEM, and no others.
    In(PathBuf),
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trust::WellKnown => f.write_str("Mozilla's list"),
            Trust::In(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Returns the user's servers, reached over TLS where the spec asks for TLS.
///
/// # Errors
/// TLS cannot be had: the options contradict each other, a file holds no certificate, or the build has no TLS.
pub fn secured(spec: &Spec, endpoints: Vec<Endpoint>) -> Result<Vec<Endpoint>, StoreError> {
    let unsupported = |problem: &str| StoreError::Unsupported { store: spec.name.clone(), problem: problem.into() };
    let usual = |endpoint: &Endpoint| endpoint.tcp().is_some_and(|(_, port)| port == PORT);
    let is_on = match TLS.read(spec) {
        "on" => true,
        "off" => false,
        _ => endpoints.iter().all(usual),
    };
    match (is_on, CA.asked(spec)) {
        (false, Some(_)) => Err(unsupported("ca= is for TLS; add tls=on, or leave it out")),
        (false, None) => Ok(endpoints),
        (true, _) if endpoints.iter().any(|endpoint| endpoint.tcp().is_none()) => {
            Err(unsupported("TLS is spoken over TCP; name host and port, or leave tls=on out"))
        }
        (true, authorities) => {
            let trust = authorities.map_or(Trust::WellKnown, |path| Trust::In(path.into()));
            believable(&trust)?;
            Ok(endpoints.into_iter().map(|endpoint| Endpoint { tls: Some(trust.clone()), ..endpoint }).collect())
        }
    }
}

/// Checks that there is any authority to trust.
#[cfg(feature = "tls")]
fn believable(trust: &Trust) -> Result<(), StoreError> {
    config(trust).map(drop)
}

#[cfg(not(feature = "tls"))]
fn believable(_: &Trust) -> Result<(), StoreError> {
    Err(StoreError::Session("this build has no TLS; build kvtrial with --features full".into()))
}

#[cfg(all(test, feature = "tls"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Trust, secured};
    use crate::Endpoint;
    use study::{Spec, Target};

    fn trust(text: &str) -> Result<Vec<Option<Trust>>, String> {
        let spec: Spec = text.parse().unwrap();
        let Target::Server(authority) = &spec.target else { panic!("{spec}") };
        let endpoints = secured(&spec, Endpoint::of(authority, 6379)).map_err(|error| error.to_string())?;
        Ok(endpoints.into_iter().map(|endpoint| endpoint.tls).collect())
    }

    #[test]
    fn tls_is_spoken_where_it_is_asked_for_and_at_its_usual_port() {
        let well_known = Some(Trust::WellKnown);
        for (text, expected) in [
            ("redis://h", vec![None]),
            ("redis://h,tls=off", vec![None]),
            ("redis://h:443,tls=off", vec![None]),
            ("redis://h:443", vec![well_known.clone()]),
            ("redis://h:1,h:2,tls=on", vec![well_known.clone(), well_known.clone()]),
            ("rediss://h", vec![well_known]),
            ("redis:///run/redis.sock", vec![None]),
        ] {
            assert_eq!(trust(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn options_that_contradict_each_other_and_files_without_certificates_are_refused_with_the_remedy() {
        assert!(trust("redis://h,ca=/x.pem").unwrap_err().contains("add tls=on"));
        assert!(trust("redis:///run/redis.sock,tls=on").unwrap_err().contains("host and port"));
        let empty = tempfile::NamedTempFile::new().unwrap();
        let error = trust(&format!("redis://h,tls=on,ca={}", empty.path().display())).unwrap_err();
        assert!(error.contains("no certificate") && error.contains("PEM"), "{error}");
        let error = trust("redis://h,tls=on,ca=/no/such/file").unwrap_err();
        assert!(error.starts_with("/no/such/file: "), "{error}");
    }
}
