//! What servers say, split anywhere and half said.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::{Headers, Heard, Login, Message, Said, connect, publish, read, subscribe};

/// Everything a server says, as nats-server 2.9.10 said it.
const SAID: [&[u8]; 9] = [
    b"INFO {\"server_id\":\"NA\",\"version\":\"2.9.10\",\"max_payload\":1048576} \r\n",
    b"MSG _INBOX.a.3 1  26\r\n{\"stream\":\"KV_b\", \"seq\":1}\r\n",
    b"MSG a.b 12 reply.to 0\r\n\r\n",
    b"HMSG _INBOX.a.7 1  60 65\r\nNATS/1.0\r\nNats-Stream: KV_b\r\nNats-Subject: $KV.b.k\r\nX: y\r\n\r\nhello\r\n",
    b"HMSG _INBOX.a.9 1  34 34\r\nNATS/1.0 404 Message Not Found\r\n\r\n\r\n",
    b"PING\r\n",
    b"PONG\r\n",
    b"+OK\r\n",
    b"-ERR 'Maximum Payload Violation'\r\n",
];

#[test]
fn everything_a_server_says_is_incomplete_until_it_is_whole() {
    for whole in SAID {
        for end in 0..whole.len() {
            let Heard::Incomplete(at_least) = read(&whole[..end]) else {
                panic!("{}", whole[..end].escape_ascii());
            };
            assert!(at_least >= 1 && end + at_least <= whole.len(), "{} {at_least}", whole[..end].escape_ascii());
        }
        let more = [whole, b"MSG"].concat();
        assert!(matches!(read(&more), Heard::Whole(_, bytes) if bytes == whole.len()), "{}", whole.escape_ascii());
    }
}

fn message(input: &[u8]) -> Message<'_> {
    match read(input) {
        Heard::Whole(Said::Message(message), _) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn messages_are_taken_apart_with_and_without_headers_and_a_subject_to_reply_to() {
    let plain = message(SAID[1]);
    assert_eq!((plain.subject, plain.subscription, plain.reply_to), (&b"_INBOX.a.3"[..], 1, &b""[..]));
    assert_eq!((plain.headers, plain.payload), (None, &b"{\"stream\":\"KV_b\", \"seq\":1}"[..]));
    assert_eq!((message(SAID[2]).reply_to, message(SAID[2]).payload), (&b"reply.to"[..], &b""[..]));
    let found = message(SAID[3]);
    let headers = found.headers.unwrap();
    assert_eq!(
        (headers.status(), headers.get(b"Nats-Subject"), found.payload),
        (None, Some(&b"$KV.b.k"[..]), &b"hello"[..])
    );
    assert_eq!((headers.get(b"Nats"), headers.get(b"X"), headers.get(b"x")), (None, Some(&b"y"[..]), None));
    assert_eq!(message(SAID[4]).headers.unwrap().status(), Some(404));
    assert_eq!(read(SAID[8]), Heard::Whole(Said::Wrong(b"Maximum Payload Violation"), SAID[8].len()));
}

#[test]
fn what_is_not_the_protocol_or_does_not_fit_together_is_broken() {
    for wrong in [
        &b"HTTP/1.1 200 OK\r\n"[..],
        b"$-1\r\n",
        b"msg a 1 1\r\n",
        b"MSG a 1\r\n",
        b"MSG a 1 b c 5\r\nhello\r\n",
        b"MSG a x 5\r\nhello\r\n",
        b"MSG a 1 -5\r\n",
        b"MSG a 1 99999999999999999999\r\n",
        b"MSG a 1 4\r\nhello\r\n",
        b"HMSG a 1 12\r\nNATS/1.0\r\n\r\n\r\n",
        // More headers than message, headers without their version, and without their end.
        b"HMSG a 1 13 12\r\nNATS/1.0\r\n\r\n\r\n",
        b"HMSG a 1 12 12\r\nHTTP/1.0\r\n\r\n\r\n",
        b"HMSG a 1 10 12\r\nNATS/1.0\r\n\r\n\r\n",
        b"PINGS\r\n",
    ] {
        assert!(matches!(read(wrong), Heard::Broken(_)), "{}: {:?}", wrong.escape_ascii(), read(wrong));
    }
    assert!(matches!(read(&vec![b'M'; (64 << 10) + 1]), Heard::Broken(_)), "a line without end");
    assert_eq!(Headers::of(b"NATS/1.0 503\r\n\r\n").and_then(Headers::status), Some(503));
}

#[test]
fn what_a_client_says_is_read_by_the_description_of_the_protocol() {
    let mut out = Vec::new();
    subscribe(&mut out, b"_INBOX.a.*", 1);
    publish(&mut out, b"subject", b"reply", b"", b"hello");
    publish(&mut out, b"subject", b"", b"NATS/1.0\r\nA: b\r\n\r\n", b"hello");
    let expected: &[u8] =
        b"SUB _INBOX.a.* 1\r\nPUB subject reply 5\r\nhello\r\nHPUB subject  18 23\r\nNATS/1.0\r\nA: b\r\n\r\nhello\r\n";
    assert_eq!(out, expected, "{}", out.escape_ascii());
    for (login, known, value) in [
        (Login::Token("t\"ok"), "auth_token", "t\"ok"),
        (Login::User("u", "p\\w"), "pass", "p\\w"),
        (Login::None, "lang", "kvtrial"),
    ] {
        let mut out = Vec::new();
        connect(&mut out, &login);
        let json = out.strip_prefix(b"CONNECT ").unwrap().strip_suffix(b"\r\n").unwrap();
        let options: serde_json::Value = serde_json::from_slice(json).unwrap();
        assert_eq!((options[known].as_str(), options["headers"].as_bool()), (Some(value), Some(true)));
    }
}
