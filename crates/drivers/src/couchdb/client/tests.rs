//! Replies of any kind, in pieces of any size.

use super::Client;
use store::asynchronous::BufferedReply::{Done, Value};
use store::{Expected, Operation, Resent};

#[test]
fn no_reply_however_broken_or_split_makes_more_of_itself_than_it_is() {
    let present = Expected::Present { version: super::version("1-a"), value: b"" };
    crate::shared::fuzz_http::assault(
        |http| {
            let mut client = Client::new(http, "/kvtrial".into(), Resent::default());
            client.last.remember(b"seen", "1-a".into());
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

#[test]
fn what_was_read_or_written_last_is_written_over_in_one_request() {
    let put = Operation::Put { key: b"k", value: b"v" };
    let (ended, requests) = crate::shared::scripted_http::dialogue(
        |http| Client::new(http, "/kvtrial".into(), Resent::default()),
        &[Operation::Get { key: b"k" }, put, put, Operation::Delete { key: b"k" }, put],
        &[
            ("200 OK", r#"{"_id":"k","_rev":"1-a","v":"old"}"#),
            ("201 Created", r#"{"ok":true,"id":"k","rev":"2-b"}"#),
            ("201 Created", r#"{"ok":true,"id":"k","rev":"3-c"}"#),
            ("200 OK", r#"{"ok":true,"id":"k","rev":"4-d"}"#),
            ("201 Created", r#"{"ok":true,"id":"k","rev":"5-e"}"#),
        ],
    );
    assert_eq!(ended, [Value, Done, Done, Done, Done]);
    let said: Vec<(&str, &str)> = requests
        .iter()
        .map(|request| (request.lines().next().unwrap(), request.split_once("\r\n\r\n").unwrap().1))
        .collect();
    let expected = [
        ("GET /kvtrial/k HTTP/1.1", ""),
        ("PUT /kvtrial/k HTTP/1.1", r#"{"_id":"k","_rev":"1-a","v":"v"}"#),
        ("PUT /kvtrial/k HTTP/1.1", r#"{"_id":"k","_rev":"2-b","v":"v"}"#),
        ("DELETE /kvtrial/k?rev=3-c HTTP/1.1", ""),
        ("PUT /kvtrial/k HTTP/1.1", r#"{"_id":"k","v":"v"}"#),
    ];
    assert_eq!(said, expected);
}
