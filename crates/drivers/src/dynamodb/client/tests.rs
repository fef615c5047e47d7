//! Replies of any kind, in pieces of any size; and replies that say 200 where not all was done.
#![allow(clippy::unwrap_used)]

use super::Client;
use crate::shared::aws::Service;
use crate::shared::http::Http;
use store::{Endpoint, Expected, Operation};
use study::{Secret, Spec};

fn client(http: Http) -> Client {
    let endpoint = Endpoint::loopback(1).with_login("name", Secret::new("tulip"));
    let service = Service::of("dynamodb", &Spec::private("dynamodb"), &endpoint).unwrap();
    Client::new(service.over(http), "kvtrial".into())
}

#[test]
fn no_reply_however_broken_or_split_makes_more_of_itself_than_it_is() {
    let present = Expected::Present { version: 0, value: b"old" };
    const REFUSED: &str = r#"{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed"}"#;
    crate::shared::fuzz_http::assault(
        client,
        &[
            (Operation::Get { key: b"k" }, &[(200, r#"{"Item":{"k":{"B":"aw=="},"v":{"B":"dmFsdWU="}}}"#)]),
            (Operation::Get { key: b"k" }, &[(200, "{}")]),
            (Operation::GetVersioned { key: b"k" }, &[(200, r#"{"Item":{"v":{"B":"dmFs\u0064WU="}}}"#)]),
            (Operation::GetCounter { key: b"k" }, &[(200, r#"{"Item":{"k":{"B":"aw=="},"n":{"N":"-7"}}}"#)]),
            (Operation::Put { key: b"k", value: b"v" }, &[(200, "{}")]),
            (Operation::Delete { key: b"k" }, &[(400, REFUSED)]),
            (Operation::CompareAndSet { key: b"k", expected: present, value: b"v" }, &[(400, REFUSED)]),
            (Operation::Increment { key: b"k", by: 2 }, &[(200, r#"{"Attributes":{"n":{"N":"9"}}}"#)]),
            (
                Operation::GetMany { keys: &[b"a", b"b"] },
                &[(
                    200,
                    r#"{"Responses":{"kvtrial":[{"k":{"B":"Yg=="},"v":{"B":"eQ=="}},{"k":{"B":"YQ=="}}]},"UnprocessedKeys":{}}"#,
                )],
            ),
            (Operation::PutMany { pairs: &[(b"a", b"x"), (b"b", b"y")] }, &[(200, r#"{"UnprocessedItems":{}}"#)]),
        ],
    );
}
