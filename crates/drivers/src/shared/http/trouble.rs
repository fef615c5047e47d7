//! The ways in which an operation over HTTP fails, and what is known of the operation then.

use super::HttpError;
use store::asynchronous::{BufferedReply, IntoReply, ReplyBuffer};

/// The lowest status that says that the server failed; such an answer leaves open how far the server came.
const SERVER_FAILED: u16 = 500;

/// The status of a server that does not know such a request, and so has not begun it.
const NOT_IMPLEMENTED: u16 = 501;

/// The status of a server that has waited for long enough.
const REQUEST_TIMEOUT: u16 = 408;

/// The reason why an operation failed.
#[derive(Debug)]
pub(crate) enum HttpTrouble {
    /// No answer, or an answer that is not HTTP.
    Http(HttpError),
    /// A refusal of the server, in its words.
    Refused(String),
    /// A failure of the server, in its words: the operation may have happened.
    Unknown(String),
    /// An answer that the server must not give.
    Nonsense(String),
}

impl From<HttpError> for HttpTrouble {
    fn from(error: HttpError) -> HttpTrouble {
        HttpTrouble::Http(error)
    }
}

impl HttpTrouble {
    /// Returns the trouble that an answer with this status means, where the status is none of the good ones.
    #[cold]
    pub(crate) fn said(status: u16, words: &str) -> HttpTrouble {
        let words = format!("HTTP {status}: {}", words.trim());
        if status == REQUEST_TIMEOUT || (status >= SERVER_FAILED && status != NOT_IMPLEMENTED) {
            HttpTrouble::Unknown(words)
        } else {
            HttpTrouble::Refused(words)
        }
    }

    /// Returns the same trouble for an operation that was carried out in part before.
    #[cold]
    pub(crate) fn in_part(self) -> HttpTrouble {
        let words = |words: String| format!("{words} (a part was carried out before)");
        match self {
            HttpTrouble::Refused(said)
            | HttpTrouble::Http(HttpError::NotConnected(said) | HttpError::TooLong(said)) => {
                HttpTrouble::Unknown(words(said))
            }
            other => other,
        }
    }

    /// Returns the same trouble for an operation of which `parts` parts were carried out before.
    #[cfg(any(feature = "etcd", feature = "hbase"))]
    pub(crate) fn after(self, parts: usize) -> HttpTrouble {
        if parts > 0 { self.in_part() } else { self }
    }

    /// Returns the trouble in words.
    pub(crate) fn words(self) -> String {
        match self {
            HttpTrouble::Http(
                HttpError::NotConnected(words)
                | HttpError::Lost(words)
                | HttpError::Protocol(words)
                | HttpError::TooLong(words),
            )
            | HttpTrouble::Refused(words)
            | HttpTrouble::Unknown(words)
            | HttpTrouble::Nonsense(words) => words,
        }
    }
}

impl IntoReply for HttpTrouble {
    #[cold]
    fn reply(self, out: &mut ReplyBuffer) -> BufferedReply {
        match self {
            HttpTrouble::Http(HttpError::NotConnected(words)) => out.not_connected(words),
            HttpTrouble::Http(HttpError::Lost(words)) => out.connection_lost(words),
            HttpTrouble::Http(HttpError::Protocol(words)) | HttpTrouble::Nonsense(words) => out.protocol(words),
            HttpTrouble::Http(HttpError::TooLong(words)) | HttpTrouble::Refused(words) => out.refused(words),
            HttpTrouble::Unknown(words) => out.unknown(words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HttpError, HttpTrouble};

    #[test]
    fn a_server_that_failed_leaves_open_what_happened_and_one_that_said_no_does_not() {
        for status in [408, 500, 502, 503, 504, 507] {
            assert!(matches!(HttpTrouble::said(status, "x"), HttpTrouble::Unknown(_)), "{status}");
        }
        for status in [400, 403, 404, 409, 412, 413, 429, 501] {
            assert!(matches!(HttpTrouble::said(status, "x"), HttpTrouble::Refused(_)), "{status}");
        }
    }

    #[test]
    fn what_was_done_in_part_is_not_refused() {
        let parts = [
            HttpTrouble::said(413, "too large"),
            HttpTrouble::Http(HttpError::NotConnected("nobody there".into())),
            HttpTrouble::said(500, "x"),
        ];
        for trouble in parts {
            assert!(matches!(trouble.in_part(), HttpTrouble::Unknown(_)));
        }
    }
}
