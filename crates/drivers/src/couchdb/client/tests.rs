//! Replies of any kind, in pieces of any size.

use super::Client;
use store::{Expected, Operation, Resent};

#[test]
fn no_reply_however_broken_or_split_makes_more_of_itself_than_it_is() {
    let present = Expected::Present { version: super::version("1-a"), value: b"" };
    crate::shared::fuzz_http::assault(
        |http| {
            let mut client = Client::new(http, "/kvtrial".into(), Resent::default());
            client.remember(b"seen", "1-a");
            client
        },
        &[
            (Operation::Get { key: b"k" }, &[(200, r#"{"_id":"k","_rev":"1-a","v":"value \u00b5"}"#)]),
            (Operation::Get { key: b"k" }, &[(404, r#"{"error":"not_found","reason":"missing"}"#)]),
            (Operation::GetVersioned { key: b"k" }, &[(200, r#"{"_id":"k","_rev":"12-abc","b":"AAECAw=="}"#)]),
            (Operation::Put { key: b"k", value: b"v" }, &[(201, r#"{"ok":true,"id":"k","rev":"1-a"}"#)]),
            (
                Operation::Put { key: b"k", value: b"v" },
                &[
                    (409, r#"{"error":"conflict","reason":"Document update conflict."}"#),
                    (200, r#"{"total_rows":9,"rows":[{"id":"k","key":"k","value":{"rev":"4-d"}}]}"#),
                    (201, r#"{"ok":true,"id":"k","rev":"5-e"}"#),
                ],
            ),
            (Operation::Delete { key: b"seen" }, &[(200, r#"{"ok":true,"id":"seen","rev":"2-b"}"#)]),
            (
                Operation::CompareAndSet { key: b"seen", expected: present, value: b"v" },
                &[(409, r#"{"error":"conflict","reason":"Document update conflict."}"#)],
            ),
            (
                Operation::GetMany { keys: &[b"a", b"b"] },
                &[(
                    200,
                    r#"{"rows":[{"id":"a","value":{"rev":"1-a"},"doc":{"_rev":"1-a","v":"x"}},{"key":"b","error":"not_found"}]}"#,
                )],
            ),
            (
                Operation::PutMany { pairs: &[(b"a", b"x"), (b"b", b"y")] },
                &[(201, r#"[{"ok":true,"id":"a","rev":"1-a"},{"ok":true,"id":"b","rev":"1-b"}]"#)],
            ),
        ],
    );
}
