//! Replies of any kind, in pieces of any size; names of objects.
#![allow(clippy::unwrap_used)]

use super::{Client, HeaderValue, name_of, version};
use crate::shared::aws::Service;
use crate::shared::http::Http;
use store::asynchronous::BufferedReply::{Conflict, Done, Value, Versioned};
use store::{Endpoint, Expected, Operation};
use study::{Secret, Spec};

fn client(http: Http) -> Client {
    let endpoint = Endpoint::loopback(1).with_login("name", Secret::new("tulip"));
    let service = Service::of("s3", &Spec::private("s3"), &endpoint).unwrap();
    Client::new(service.over(http), "/kvtrial".into())
}

#[test]
fn no_reply_however_broken_or_split_makes_more_of_itself_than_it_is() {
    const MISSING: &str = "<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message></Error>";
    const RACED: &str = "<Error><Code>PreconditionFailed</Code><Message>At least one did not hold</Message></Error>";
    crate::shared::fuzz_http::assault(
        client,
        &[
            (Operation::Get { key: b"k" }, &[(200, "value \u{b5}")]),
            (Operation::Get { key: b"k" }, &[(404, MISSING)]),
            (Operation::Put { key: b"k", value: b"v" }, &[(200, "")]),
            (Operation::CompareAndSet { key: b"k", expected: Expected::Absent, value: b"v" }, &[(412, RACED)]),
            (Operation::CompareAndSet { key: b"k", expected: Expected::Absent, value: b"v" }, &[(409, RACED)]),
        ],
    );
}

#[test]
fn every_key_has_a_name_of_its_own_that_needs_no_escapes() {
    let keys: [&[u8]; 7] = [b"plain-KEY_9", b"a/b", b"..", b"~Li4", b"\0\xff", b".", "\u{b5}".as_bytes()];
    let names = keys.map(name_of);
    assert_eq!(names[..4], ["plain-KEY_9", "~YS9i", "~Li4", "~fkxpNA"]);
    let plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"~-_".contains(&byte));
    assert!(names.iter().all(|name| plain(name)), "{names:?}");
    assert_eq!(names.iter().collect::<std::collections::HashSet<_>>().len(), names.len());
    assert_eq!(name_of(&[0xff; super::super::MAX_KEY_BYTES]).len(), 1024);
}

#[test]
fn a_value_is_replaced_in_one_request_by_whom_it_was_read_and_looked_at_again_by_others() {
    let seen = version(&HeaderValue::from_static("\"a\""));
    let swap = Operation::CompareAndSet {
        key: b"k",
        expected: Expected::Present { version: seen, value: b"old" },
        value: b"new",
    };
    let (ended, requests) = crate::shared::scripted_http::dialogue(
        client,
        // A read that asks for no version changes nothing.
        &[Operation::GetVersioned { key: b"k" }, Operation::Get { key: b"other" }, swap, swap],
        &[
            ("200 OK\r\nETag: \"a\"", "old"),
            ("200 OK\r\nETag: \"x\"", "another"),
            ("200 OK\r\nETag: \"b\"", ""),
            ("200 OK\r\nETag: \"b\"", ""),
        ],
    );
    assert_eq!(ended, [Versioned(seen), Value, Done, Conflict]);
    let lines: Vec<&str> = requests.iter().filter_map(|request| request.lines().next()).collect();
    let asked = ["GET /kvtrial/k", "GET /kvtrial/other", "PUT /kvtrial/k", "HEAD /kvtrial/k"];
    assert_eq!(lines, asked.map(|line| format!("{line} HTTP/1.1")));
    let conditions: Vec<bool> = requests.iter().map(|request| request.contains("if-match: \"a\"\r\n")).collect();
    assert_eq!(conditions, [false, false, true, false]);
}
