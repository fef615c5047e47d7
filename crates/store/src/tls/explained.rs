//! What went wrong with TLS, in sentences, with the remedy where there is one.

/// The remedy if no trusted authority has signed a certificate.
const UNKNOWN_ISSUER: &str = "no trusted authority has signed the server's certificate; name the PEM file with that authority, or with the certificate itself: ca=FILE";

const AUTHORITY: &str =
    "the server's certificate is that of an authority, not of a server; make it with basicConstraints=CA:FALSE";

const OTHER_NAME: &str = "the server's certificate is for another name; use the name in the certificate in the URL";

const EXPIRED: &str = "the server's certificate has expired; renew it, or correct the clock of this machine";

const NOT_YET: &str = "the server's certificate is not valid yet; correct the clock of this machine or of its maker";

const NO_TLS: &str = "what the server sent is not TLS; does it speak TLS at this port? If not, leave tls=on out";

/// What a driver says in its own words, by what is in them.
const IN_OTHER_WORDS: [(&str, &str); 6] = [
    ("UnknownIssuer", UNKNOWN_ISSUER),
    ("CaUsedAsEndEntity", AUTHORITY),
    ("certificate not valid for name", OTHER_NAME),
    ("certificate expired", EXPIRED),
    ("certificate not valid yet", NOT_YET),
    ("received corrupt message", NO_TLS),
];

/// Returns what a driver says went wrong, with the remedy where that was TLS.
pub fn explained(error: impl std::fmt::Display) -> String {
    let said = error.to_string();
    let known = IN_OTHER_WORDS.iter().find(|(words, _)| said.contains(words));
    known.map_or(said, |(_, sentence)| format!("TLS: {sentence}"))
}

/// Returns a sentence on what went wrong.
#[cfg(feature = "tls")]
pub fn words(error: &rustls::Error) -> String {
    use rustls::{AlertDescription, CertificateError, Error};
    let sentence = match error {
        Error::InvalidCertificate(CertificateError::NotValidForNameContext { presented, .. }) => match presented.as_slice() {
            [] => "the server's certificate names no host; make it with a subjectAltName, or trust that very certificate: ca=FILE".into(),
            names => {
                let names: Vec<String> = names.iter().map(|name| readable(name)).collect();
                format!("the server's certificate is only for {}; use that name in the URL", names.join(", "))
            }
        },
        Error::InvalidCertificate(CertificateError::NotValidForName) => OTHER_NAME.into(),
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => UNKNOWN_ISSUER.into(),
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => EXPIRED.into(),
        Error::InvalidCertificate(CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. }) => NOT_YET.into(),
        Error::InvalidCertificate(other) if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            format!("{AUTHORITY}, or trust that very certificate: ca=FILE")
        }
        Error::InvalidCertificate(other) => format!("the server's certificate cannot be used: {}", spaced(other)),
        Error::InvalidMessage(_) => NO_TLS.into(),
        Error::AlertReceived(AlertDescription::CertificateRequired | AlertDescription::BadCertificate) => {
            "the server asks clients for a certificate, which kvtrial cannot show; have it ask for none".into()
        }
        Error::AlertReceived(alert) => format!("the server ended the handshake: {}", spaced(alert)),
        Error::PeerIncompatible(why) => {
            format!("the server and kvtrial have no version or cipher of TLS in common ({})", spaced(why))
        }
        Error::PeerMisbehaved(why) => format!("the server does not keep to TLS ({})", spaced(why)),
        other => other.to_string(),
    };
    format!("TLS: {sentence}")
}

/// `DnsName("a.example")` as `a.example`.
#[cfg(feature = "tls")]
fn readable(name: &str) -> String {
    match name.split_once('(') {
        Some((_, inside)) => inside.trim_end_matches(')').trim_matches('"').to_owned(),
        None => name.to_owned(),
    }
}

/// A name of the library's, such as `HandshakeFailure`, as words.
#[cfg(feature = "tls")]
fn spaced(name: &impl std::fmt::Debug) -> String {
    let mut words = String::new();
    for letter in format!("{name:?}").chars() {
        if letter.is_ascii_uppercase() && words.ends_with(|before: char| before.is_ascii_lowercase()) {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

#[cfg(all(test, feature = "tls"))]
mod tests {
    use super::{explained, words};
    use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

    #[test]
    fn what_went_wrong_with_tls_is_a_sentence_with_a_remedy_and_none_of_the_library_s_names() {
        for (error, said) in [
            (Error::InvalidCertificate(CertificateError::UnknownIssuer), "ca=FILE"),
            (Error::InvalidCertificate(CertificateError::Expired), "has expired; renew it"),
            (Error::InvalidCertificate(CertificateError::NotValidForName), "is for another name"),
            (Error::InvalidCertificate(CertificateError::BadSignature), "cannot be used: bad signature"),
            (Error::InvalidMessage(InvalidMessage::InvalidContentType), "speak TLS at this port?"),
            (Error::AlertReceived(AlertDescription::HandshakeFailure), "ended the handshake: handshake failure"),
            (Error::AlertReceived(AlertDescription::CertificateRequired), "asks clients for a certificate"),
        ] {
            let words = words(&error);
            assert!(words.starts_with("TLS: ") && words.contains(said), "{words}");
            assert!(!words.contains("InvalidCertificate") && !words.contains("Other("), "{words}");
        }
        let driver = "error: invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))";
        assert!(explained(driver).contains("CA:FALSE"));
        assert_eq!(explained("connection reset"), "connection reset");
    }
}
