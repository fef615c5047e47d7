//! The replies that messages and errors of JetStream stand for.

use crate::nats::json::{members, text};
use crate::nats::protocol::Headers;
use ground::base64;
use store::wire::Decoded;
use store::wire::ascii::parse_u64;
use store::{Failure, OperationKind, Reply};

pub(super) const NOT_UTF8: &str = "a refusal that is no text";

/// Replaces these bytes by the bytes that a string in base64 stands for; by none where there is no string. Returns false when the string is not
/// base64.
pub(super) fn unpack(into: &mut Vec<u8>, coded: Option<&[u8]>) -> bool {
    into.clear();
    coded.is_none_or(|coded| text(coded).is_some_and(|coded| base64::read(into, coded)))
}

/// Returns the reply of a get whose message is there.
pub(super) fn present(kind: OperationKind, deleted: bool, value: &[u8], version: u64) -> Reply<'_> {
    match (deleted, kind) {
        (true, _) => Reply::Missing,
        (false, OperationKind::Get) => Reply::Value(value),
        (false, _) => Reply::Versioned { value, version },
    }
}

/// Returns whether a message is the mark that another client's delete leaves.
pub(super) fn is_deleted(headers: Headers<'_>) -> bool {
    matches!(headers.get(b"KV-Operation"), Some(b"DEL" | b"PURGE"))
}

/// Reads how many messages of a key were forgotten: `{"success":true,"purged":1}`.
pub(super) fn purged(payload: &[u8], consumed: usize) -> Decoded<'_> {
    const NO_ANSWER: Decoded<'static> = Decoded::Broken("how many messages were purged");
    let Some([error, success, count]) = members(payload, ["error", "success", "purged"]) else { return NO_ANSWER };
    let reply = match (error, count.and_then(parse_u64)) {
        (Some(error), _) => match failure(error) {
            Some((_, failure)) => Reply::Failed(failure),
            None => return NO_ANSWER,
        },
        (None, Some(count)) if success == Some(b"true") => {
            if count == 0 {
                Reply::Missing
            } else {
                Reply::Done
            }
        }
        _ => return NO_ANSWER,
    };
    Decoded::Reply { reply, consumed }
}

/// Returns the number of an error of JetStream and the failure that it means. With a code from 500 on the server failed, and does not say how far it
/// came.
pub(super) fn failure(error: &[u8]) -> Option<(&[u8], Failure<'_>)> {
    let [code, number, words] = members(error, ["code", "err_code", "description"])?;
    let words = std::str::from_utf8(text(words?)?).unwrap_or(NOT_UTF8);
    let failed = code.is_some_and(|code| code.first() == Some(&b'5') || code == b"408");
    let failure = if failed { Failure::Unknown(words) } else { Failure::Refused(words) };
    Some((number.unwrap_or_default(), failure))
}

/// Returns what the server says of the connection. Only a missing right leaves the connection open.
pub(super) fn wrong(words: &[u8]) -> Reply<'_> {
    let words = std::str::from_utf8(words).unwrap_or(NOT_UTF8);
    let is_refusal = words.starts_with("Permissions Violation") || words.starts_with("Maximum Payload");
    Reply::Failed(if is_refusal { Failure::Refused(words) } else { Failure::ConnectionLost(words) })
}
