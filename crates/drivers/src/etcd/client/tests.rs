//! Replies of any kind, in pieces of any size.

use super::Client;
use store::{Expected, Operation};

#[test]
fn no_reply_however_broken_or_split_makes_more_of_itself_than_it_is() {
    let present = Expected::Present { version: 7, value: b"" };
    crate::shared::fuzz_http::assault(
        Client::new,
        &[
            (
                Operation::Get { key: b"k" },
                &[(
                    200,
                    r#"{"header":{"revision":"7"},"kvs":[{"key":"aw==","mod_revision":"7","value":"dmFsdWU="}],"count":"1"}"#,
                )],
            ),
            (Operation::Get { key: b"k" }, &[(200, r#"{"header":{"revision":"7"}}"#)]),
            (
                Operation::GetVersioned { key: b"k" },
                &[(200, r#"{"kvs":[{"key":"aw==","mod_revision":"18446744073709551615"}],"count":"1"}"#)],
            ),
            (Operation::Put { key: b"k", value: b"v" }, &[(200, r#"{"header":{"cluster_id":"1","revision":"8"}}"#)]),
            (Operation::Delete { key: b"k" }, &[(200, r#"{"header":{"revision":"9"},"deleted":"1"}"#)]),
            (
                Operation::PutTtl { key: b"k", value: b"v", ttl_ms: 5000 },
                &[
                    (200, r#"{"header":{"revision":"8"},"ID":"7587862094","TTL":"5"}"#),
                    (200, r#"{"header":{"cluster_id":"1","revision":"8"}}"#),
                ],
            ),
            (
                Operation::TimeLeft { key: b"k" },
                &[
                    (
                        200,
                        r#"{"kvs":[{"key":"aw==","mod_revision":"7","value":"dg==","lease":"7587862094"}],"count":"1"}"#,
                    ),
                    (200, r#"{"header":{"revision":"9"},"ID":"7587862094","TTL":"3599","grantedTTL":"3600"}"#),
                ],
            ),
            (
                Operation::Touch { key: b"k", ttl_ms: 5000 },
                &[
                    (200, r#"{"header":{"revision":"8"},"ID":"7587862094","TTL":"5"}"#),
                    (200, r#"{"header":{"revision":"9"}}"#),
                    (200, r#"{"header":{"revision":"9"}}"#),
                ],
            ),
            (
                Operation::CompareAndSet { key: b"k", expected: present, value: b"v" },
                &[(200, r#"{"header":{"revision":"9"},"succeeded":true,"responses":[{"response_put":{}}]}"#)],
            ),
            (
                Operation::GetMany { keys: &[b"a", b"b"] },
                &[(
                    200,
                    r#"{"succeeded":true,"responses":[{"response_range":{"kvs":[{"key":"YQ==","mod_revision":"2","value":"eA=="}]}},{"response_range":{}}]}"#,
                )],
            ),
            (
                Operation::PutMany { pairs: &[(b"a", b"x"), (b"b", b"y")] },
                &[(200, r#"{"succeeded":true,"responses":[{"response_put":{}},{"response_put":{}}]}"#)],
            ),
            (
                Operation::Scan { start: b"a", limit: 3 },
                &[(
                    200,
                    r#"{"kvs":[{"key":"YQ==","mod_revision":"2","value":"eA=="},{"key":"Yg==","mod_revision":"3"}],"more":true}"#,
                )],
            ),
        ],
    );
}
