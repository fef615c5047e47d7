//! What went wrong with TLS, in sentences, with the remedy where there is one.

/// The remedy if no trusted authority has signed a certificate.
const UNKNOWN_ISSUER: &str = "no trusted authority has signed the server's certificate; name the PEM file with that authority, or with the certificate itself: ca=FILE";

const AUTHORITY: &str =
    "the server's certificate is that of an authority, not of a server; make it with basicConstraints=CA:FALSE";

const OTHER_NAME: &str = "the server's certificate is for another name; use the name in the certificate in the URL";

const EXPIRED: &str = "the server's certificate has expired; renew it, or correct the clock of this machine";

const NOT_YET: &str = "the server's certificate is not valid yet; correct the clock of this machine or of its maker";

const NO_TLS: &str = "what the server sent is not TLS; does it speak TLS at this port? If not, leave tls=on out";

const NAMELESS: &str = "the server's certificate names no host; make it with a subjectAltName";

const REVOKED: &str = "the server's certificate was revoked; renew it";

const NOT_FOR_SERVERS: &str =
    "the server's certificate is not made for servers; make it with extendedKeyUsage=serverAuth";

const ASKS_BACK: &str = "the server asks clients for a certificate, which kvtrial cannot show; have it ask for none";

const NOTHING_IN_COMMON: &str =
    "the server and kvtrial have no version or cipher of TLS in common; let the server speak TLS 1.2 or 1.3";

const NOT_KEPT: &str = "the server does not keep to TLS; correct the port, or read the server's log";

const CUT_SHORT: &str =
    "the server closed the connection during the handshake; does it speak TLS at this port? If not, leave tls=on out";

/// What a driver says in its own words, by what is in them.
const IN_OTHER_WORDS: [(&str, &str); 19] = [
    ("UnknownIssuer", UNKNOWN_ISSUER),
    ("CaUsedAsEndEntity", AUTHORITY),
    ("certificate is not valid for any names", NAMELESS),
    ("certificate not valid for name", OTHER_NAME),
    ("NotValidForName", OTHER_NAME),
    ("certificate expired", EXPIRED),
    ("certificate not valid yet", NOT_YET),
    ("certificate: Expired", EXPIRED),
    ("certificate: NotValidYet", NOT_YET),
    ("certificate does not allow extended key usage", NOT_FOR_SERVERS),
    ("certificate: InvalidPurpose", NOT_FOR_SERVERS),
    ("certificate: Revoked", REVOKED),
    ("received corrupt message", NO_TLS),
    ("fatal alert: CertificateRequired", ASKS_BACK),
    ("fatal alert: BadCertificate", ASKS_BACK),
    ("fatal alert: ProtocolVersion", NOTHING_IN_COMMON),
    ("peer is incompatible", NOTHING_IN_COMMON),
    ("peer misbehaved", NOT_KEPT),
    ("tls handshake eof", CUT_SHORT),
];

/// How a driver begins to say what it has no words of its own for; a name of the library's follows.
const BEGUN: [(&str, &str, &str); 2] = [
    ("invalid peer certificate: ", "the server's certificate cannot be used", MAKE_AGAIN),
    ("received fatal alert: ", "the server ended the handshake", READ_LOG),
];

const MAKE_AGAIN: &str = "make it again, or name the PEM file with its authority: ca=FILE";

const READ_LOG: &str = "the server's log says why";

/// Returns a driver's words on an error, with the remedy where TLS was the cause.
pub fn explained(error: impl std::fmt::Display) -> String {
    let said = error.to_string();
    if let Some((_, sentence)) = IN_OTHER_WORDS.iter().find(|(words, _)| said.contains(words)) {
        return format!("TLS: {sentence}");
    }
    let begun = BEGUN.iter().find_map(|(begin, what, remedy)| Some((said.split_once(begin)?.1, what, remedy)));
    begun.map_or(said.clone(), |(name, what, remedy)| {
        let name: String = name.chars().take_while(char::is_ascii_alphanumeric).collect();
        format!("TLS: {what} ({}); {remedy}", spaced(&name))
    })
}

/// Returns a sentence on the error.
#[cfg(feature = "tls")]
pub fn words(error: &rustls::Error) -> String {
    use rustls::{AlertDescription, CertificateError, Error};
    let sentence = match error {
        Error::InvalidCertificate(CertificateError::NotValidForNameContext { presented, .. }) => {
            match presented.as_slice() {
                [] => format!("{NAMELESS}, or trust that very certificate: ca=FILE"),
                names => {
                    let names: Vec<String> = names.iter().map(|name| readable(name)).collect();
                    format!("the server's certificate is only for {}; use that name in the URL", names.join(", "))
                }
            }
        }
        Error::InvalidCertificate(CertificateError::NotValidForName) => OTHER_NAME.into(),
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => UNKNOWN_ISSUER.into(),
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            EXPIRED.into()
        }
        Error::InvalidCertificate(CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. }) => {
            NOT_YET.into()
        }
        Error::InvalidCertificate(CertificateError::Revoked) => REVOKED.into(),
        Error::InvalidCertificate(
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. },
        ) => NOT_FOR_SERVERS.into(),
        Error::InvalidCertificate(other) if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            format!("{AUTHORITY}, or trust that very certificate: ca=FILE")
        }
        Error::InvalidCertificate(other) => {
            format!("the server's certificate cannot be used ({}); {MAKE_AGAIN}", named(other))
        }
        Error::InvalidMessage(_) => NO_TLS.into(),
        Error::AlertReceived(AlertDescription::CertificateRequired | AlertDescription::BadCertificate) => {
            ASKS_BACK.into()
        }
        Error::AlertReceived(AlertDescription::ProtocolVersion) | Error::PeerIncompatible(_) => {
            NOTHING_IN_COMMON.into()
        }
        Error::AlertReceived(alert) => format!("the server ended the handshake ({}); {READ_LOG}", named(alert)),
        Error::PeerMisbehaved(_) => NOT_KEPT.into(),
        other => other.to_string(),
    };
    format!("TLS: {sentence}")
}

/// Returns `DnsName("a.example")` as `a.example`.
#[cfg(feature = "tls")]
fn readable(name: &str) -> String {
    match name.split_once('(') {
        Some((_, inside)) => inside.trim_end_matches(')').trim_matches('"').to_owned(),
        None => name.to_owned(),
    }
}

/// Returns the library's name for an error, without the wrapping around it: `Other(OtherError(BadDer))` as `bad der`.
#[cfg(feature = "tls")]
fn named(it: &impl std::fmt::Debug) -> String {
    let whole = format!("{it:?}");
    let name = whole.split(" {").next().unwrap_or_default();
    spaced(name.rsplit('(').next().unwrap_or_default().trim_end_matches(')'))
}

/// Returns a name of the library's, such as `HandshakeFailure`, as words.
fn spaced(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
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
    use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, PeerIncompatible, PeerMisbehaved};

    #[test]
    fn what_went_wrong_with_tls_is_a_sentence_with_a_remedy_and_none_of_the_library_s_names() {
        for (error, said) in [
            (Error::InvalidCertificate(CertificateError::UnknownIssuer), "ca=FILE"),
            (Error::InvalidCertificate(CertificateError::Expired), "has expired; renew it"),
            (Error::InvalidCertificate(CertificateError::NotValidForName), "is for another name"),
            (
                Error::InvalidCertificate(CertificateError::BadSignature),
                "cannot be used (bad signature); make it again",
            ),
            (Error::InvalidMessage(InvalidMessage::InvalidContentType), "speak TLS at this port?"),
            (
                Error::AlertReceived(AlertDescription::HandshakeFailure),
                "ended the handshake (handshake failure); the server's log says why",
            ),
            (Error::AlertReceived(AlertDescription::CertificateRequired), "asks clients for a certificate"),
            (Error::AlertReceived(AlertDescription::ProtocolVersion), "let the server speak TLS 1.2 or 1.3"),
            (Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon), "let the server speak TLS 1.2 or 1.3"),
            (Error::PeerMisbehaved(PeerMisbehaved::MessageInterleavedWithHandshakeMessage), "read the server's log"),
            (Error::InvalidCertificate(CertificateError::Revoked), "was revoked; renew it"),
            (Error::InvalidCertificate(CertificateError::InvalidPurpose), "extendedKeyUsage=serverAuth"),
            (Error::InvalidCertificate(CertificateError::BadEncoding), "(bad encoding); make it again"),
        ] {
            let words = words(&error);
            assert!(words.starts_with("TLS: ") && words.contains(said), "{words}");
            assert!(!words.contains("InvalidCertificate") && !words.contains("Other("), "{words}");
            // A driver that has wrapped it says the same, or as much.
            let by_driver = explained(format!("Error: Kind: I/O error: {error}, labels: {{}}"));
            assert!(by_driver.starts_with("TLS: ") && !by_driver.contains("labels"), "{error}: {by_driver}");
            assert!(by_driver.contains([';', '?']), "{by_driver}");
        }
        let driver = "error: invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))";
        assert!(explained(driver).contains("CA:FALSE"));
        assert_eq!(explained("connection reset"), "connection reset");
    }
}
