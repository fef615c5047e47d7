//! The text protocol between a client and a NATS server: lines, and messages of a size that their line announces. Nothing of
//! JetStream is here, and nothing is allocated but the room for what is written.
//!
//! The server speaks first (`INFO`). `PUB` sends a message to a subject, `HPUB` one with headers, `SUB` asks for those of a subject; they
//! come as `MSG` and `HMSG`. Either side may say `PING` at any time and is answered `PONG`.

use store::wire::ascii::{line_end, parse_u64, push_u64};

/// The longest line believed: an `INFO` names every server of a cluster.
const LINE_BYTES: usize = 64 << 10;

/// The largest message believed; servers take 64 MiB at most.
const MESSAGE_BYTES: u64 = 128 << 20;

/// The beginning of a block of headers; a status may follow.
const VERSION: &[u8] = b"NATS/1.0";

/// The answer to a `PING`.
pub(crate) const PONG: &[u8] = b"PONG\r\n";

/// The request for a `PONG`.
pub(crate) const PING: &[u8] = b"PING\r\n";

/// A statement of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said<'a> {
    /// The server's name and limits: JSON.
    Info(&'a [u8]),
    /// A message of a subject that was asked for.
    Message(Message<'a>),
    /// The request for a `PONG`.
    Ping,
    /// The answer to a `PING`.
    Pong,
    /// A confirmation that the server has done what it was asked; only for a client that wants to hear that.
    Well,
    /// An error in the server's words. The server closes the connection after most errors.
    Wrong(&'a [u8]),
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    /// The subject that the message was sent to.
    pub subject: &'a [u8],
    /// The number of the subscription that the message comes for.
    pub subscription: u64,
    /// The subject for the answer; empty when none is wanted.
    pub reply_to: &'a [u8],
    /// The headers; `None` for a message that has none.
    pub headers: Option<Headers<'a>>,
    /// The bytes of the message.
    pub payload: &'a [u8],
}

/// A block of headers without its version: the status, if there is one, and lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Headers<'a>(&'a [u8]);

impl<'a> Headers<'a> {
    /// Reads a whole block, with its version and its empty line.
    pub fn of(block: &'a [u8]) -> Option<Headers<'a>> {
        block.strip_prefix(VERSION)?.strip_suffix(b"\r\n\r\n").map(Headers)
    }

    /// Returns the number of a status without a message, such as 404 or 503.
    pub fn status(self) -> Option<u64> {
        let line = self.lines().next()?;
        parse_u64(line.trim_ascii().split(|byte| *byte == b' ').next()?)
    }

    /// Returns the value of the first header of this name.
    pub fn get(self, name: &[u8]) -> Option<&'a [u8]> {
        self.lines().skip(1).find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(b":")?.trim_ascii()))
    }

    fn lines(self) -> impl Iterator<Item = &'a [u8]> {
        self.0.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
    }
}

/// The result of reading the start of the bytes received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard<'a> {
    /// A whole message, and the bytes it takes.
    Whole(Said<'a>, usize),
    /// At least this many more bytes are needed.
    Incomplete(usize),
    /// The bytes are not the protocol; says what was expected.
    Broken(&'static str),
}

/// Reads the first thing a server has said.
pub(crate) fn read(input: &[u8]) -> Heard<'_> {
    let Some(end) = line_end(input, LINE_BYTES) else {
        return match input.first() {
            Some(b'M' | b'H' | b'I' | b'P' | b'+' | b'-') | None if input.len() <= LINE_BYTES => Heard::Incomplete(1),
            _ => Heard::Broken("a line of NATS"),
        };
    };
    let (line, behind) = (&input[..end], end + 2);
    match line {
        [b'M', b'S', b'G', b' ', rest @ ..] => message(rest, 1, input, behind),
        [b'H', b'M', b'S', b'G', b' ', rest @ ..] => message(rest, 2, input, behind),
        b"PING" => Heard::Whole(Said::Ping, behind),
        b"PONG" => Heard::Whole(Said::Pong, behind),
        b"+OK" => Heard::Whole(Said::Well, behind),
        [b'I', b'N', b'F', b'O', b' ', json @ ..] => Heard::Whole(Said::Info(json.trim_ascii()), behind),
        [b'-', b'E', b'R', b'R', words @ ..] => Heard::Whole(Said::Wrong(unquoted(words.trim_ascii())), behind),
        _ => Heard::Broken("INFO, MSG, HMSG, PING, PONG, +OK or -ERR"),
    }
}

fn unquoted(words: &[u8]) -> &[u8] {
    words.strip_prefix(b"'").and_then(|words| words.strip_suffix(b"'")).unwrap_or(words)
}

/// Reads a message: `SUBJECT SUBSCRIPTION [REPLY-TO] [HEADERS] BYTES`; the last `numbers` of these are sizes.
fn message<'a>(line: &'a [u8], numbers: usize, input: &'a [u8], behind: usize) -> Heard<'a> {
    const LINE: Heard<'static> = Heard::Broken("the line of a message: subject, subscription, sizes");
    let mut fields: [&[u8]; 5] = [b""; 5];
    let mut count = 0;
    for field in line.split(|byte| *byte == b' ').filter(|field| !field.is_empty()) {
        let Some(place) = fields.get_mut(count) else { return LINE };
        *place = field;
        count += 1;
    }
    if count != 2 + numbers && count != 3 + numbers {
        return LINE;
    }
    let size = |place: usize| parse_u64(fields[place]).filter(|size| *size <= MESSAGE_BYTES).map(|size| size as usize);
    let (Some(subscription), Some(bytes)) = (parse_u64(fields[1]), size(count - 1)) else { return LINE };
    let header_bytes = match numbers {
        1 => 0,
        _ => match size(count - 2) {
            Some(header_bytes) if header_bytes <= bytes => header_bytes,
            _ => return Heard::Broken("headers no longer than their message"),
        },
    };
    let end = behind + bytes;
    match input.get(end..end + 2) {
        None => return Heard::Incomplete(end + 2 - input.len()),
        Some(b"\r\n") => {}
        Some(_) => return Heard::Broken("a line's end after a message of the size announced"),
    }
    let (block, payload) = input[behind..end].split_at(header_bytes);
    let headers = match (numbers, Headers::of(block)) {
        (1, _) => None,
        (_, Some(headers)) => Some(headers),
        (_, None) => return Heard::Broken("headers of NATS/1.0 that end with an empty line"),
    };
    let reply_to = if count == 3 + numbers { fields[2] } else { b"" };
    Heard::Whole(Said::Message(Message { subject: fields[0], subscription, reply_to, headers, payload }), end + 2)
}

/// The identity of a client to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Login<'a> {
    /// No identity.
    None,
    /// A client that has a token.
    Token(&'a str),
    /// A user with a password.
    User(&'a str, &'a str),
}

/// Appends the first words of a client. The client wants headers, and wants to hear when nobody listens; it does not want `+OK`.
pub(crate) fn connect(out: &mut Vec<u8>, login: &Login<'_>) {
    let mut options = serde_json::json!({
        "verbose": false, "pedantic": false, "headers": true, "no_responders": true, "protocol": 0,
        "lang": "kvtrial", "name": "kvtrial", "version": env!("CARGO_PKG_VERSION"),
    });
    match login {
        Login::None => {}
        Login::Token(token) => options["auth_token"] = (*token).into(),
        Login::User(user, password) => {
            options["user"] = (*user).into();
            options["pass"] = (*password).into();
        }
    }
    out.extend_from_slice(b"CONNECT ");
    out.extend_from_slice(options.to_string().as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Appends the request for messages of a subject, under this number.
pub(crate) fn subscribe(out: &mut Vec<u8>, subject: &[u8], subscription: u64) {
    out.extend_from_slice(b"SUB ");
    out.extend_from_slice(subject);
    out.push(b' ');
    push_u64(out, subscription);
    out.extend_from_slice(b"\r\n");
}

/// Appends a message, without headers where `headers` is empty. A subject and its line fit into the server's 4096 bytes.
pub(crate) fn publish(out: &mut Vec<u8>, subject: &[u8], reply_to: &[u8], headers: &[u8], payload: &[u8]) {
    out.extend_from_slice(if headers.is_empty() { b"PUB " } else { b"HPUB " });
    out.extend_from_slice(subject);
    out.push(b' ');
    out.extend_from_slice(reply_to);
    sizes(out, headers.len(), payload.len());
    out.extend_from_slice(headers);
    out.extend_from_slice(payload);
    out.extend_from_slice(b"\r\n");
}

/// Appends the end of a message's line: its sizes.
#[inline]
pub(crate) fn sizes(out: &mut Vec<u8>, header_bytes: usize, payload_bytes: usize) {
    if header_bytes > 0 {
        out.push(b' ');
        push_u64(out, header_bytes as u64);
    }
    out.push(b' ');
    push_u64(out, (header_bytes + payload_bytes) as u64);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests;
