//! What a gateway's answers mean, and which of them are not believed.

use super::{Body, Client, found, pairs, refused};
use crate::shared::http::{Answered, Bytes, HttpTrouble};
use store::{Expected, Operation};

fn answered(status: u16, body: &'static str) -> Answered {
    Answered { status, body: Bytes::from_static(body.as_bytes()), headers: Default::default() }
}

fn read(body: &str) -> Result<Vec<(Vec<u8>, Vec<u8>)>, String> {
    let mut rows = Vec::new();
    let ended = pairs(body.as_bytes(), |key, value| rows.push((key.to_vec(), value.to_vec())));
    ended.map(|()| rows).map_err(HttpTrouble::words)
}

#[test]
fn rows_are_read_with_their_one_cell_and_nothing_else_is_taken_for_a_row() {
    let row = r#"{"key":"AP8=","Cell":[{"column":"Zjp2","timestamp":1,"$":"dg=="}]}"#;
    let rows = read(&format!(r#"{{"Row":[{row},{row}]}}"#)).unwrap();
    assert_eq!(rows, [(vec![0, 255], b"v".to_vec()), (vec![0, 255], b"v".to_vec())]);
    assert_eq!(read(r#"{"Row":[]}"#), Ok(vec![]));
    for nonsense in [
        "",
        "{}",
        r#"{"Row":[{"key":"AP8=","Cell":[]}]}"#,
        r#"{"Row":[{"key":"AP8=","Cell":[{"column":"Zjp3","$":"dg=="}]}]}"#,
        r#"{"Row":[{"key":"AP8=","Cell":[{"column":"Zjp2","$":"not base64"}]}]}"#,
        r#"{"Row":[{"key":"AP8=","Cell":[{"column":"Zjp2","$":"dg=="},{"column":"Zjp2","$":"dg=="}]}]}"#,
    ] {
        assert!(read(nonsense).is_err(), "{nonsense}");
    }
}

#[test]
fn a_row_that_is_not_there_is_told_from_a_table_that_is_not_there() {
    assert!(matches!(found(answered(404, "Not found\r\n")), Ok(None)));
    assert!(matches!(found(answered(404, "No rows found.\r\n")), Ok(None)));
    assert!(matches!(found(answered(200, "")), Ok(Some(_))));
    assert!(matches!(found(answered(503, "Unavailable")), Err(HttpTrouble::Unknown(_))));
    for (status, body) in [(404, "Not found\nTableNotFoundException: kvtrial\n\tat java"), (404, "")] {
        assert!(matches!(found(answered(status, body)), Err(HttpTrouble::Refused(_))), "{status} {body}");
    }
    let words = refused(&answered(404, "Not found\norg.apache.X: kvtrial\n\tat java\n\tat java")).words();
    assert_eq!(words, "HTTP 404: Not found: org.apache.X: kvtrial");
}

#[test]
fn a_body_is_json_with_keys_and_values_in_base64() {
    let mut body = Body::default();
    body.row(b"\0\xff", &[b"new", b""]);
    body.row(b"k", &[b"v"]);
    let body: serde_json::Value = serde_json::from_str(&body.ended()).unwrap();
    assert_eq!(body["Row"][0]["key"], "AP8=");
    assert_eq!(body["Row"][0]["Cell"][0]["$"], "bmV3");
    assert_eq!(body["Row"][0]["Cell"][1]["$"], "");
    assert_eq!(body["Row"][1]["Cell"].as_array().unwrap().len(), 1);
}

#[test]
fn no_reply_however_broken_or_split_makes_more_of_itself_than_it_is() {
    const ROWS: &str = r#"{"Row":[{"key":"YQ==","Cell":[{"column":"Zjp2","timestamp":1,"$":"eA=="}]},{"key":"Yg==","Cell":[{"column":"Zjp2","timestamp":2,"$":"eQ=="}]}]}"#;
    let present = Expected::Present { version: 0, value: b"old" };
    crate::shared::fuzz_http::assault(
        |http| Client::new(http, "kvtrial".into()),
        &[
            (Operation::Get { key: b"k" }, &[(200, "value")]),
            (Operation::Get { key: b"k" }, &[(404, "Not found\r\n")]),
            (Operation::GetVersioned { key: b"k" }, &[(200, "value")]),
            (Operation::Put { key: b"k", value: b"v" }, &[(200, "")]),
            (Operation::Delete { key: b"k" }, &[(200, "value"), (200, "")]),
            (Operation::Delete { key: b"k" }, &[(200, "value"), (304, ""), (404, "Not found\r\n")]),
            (Operation::Append { key: b"k", value: b"v" }, &[(200, "")]),
            (Operation::CompareAndSet { key: b"k", expected: present, value: b"v" }, &[(200, "")]),
            (Operation::CompareAndSet { key: b"k", expected: Expected::Absent, value: b"v" }, &[(304, "")]),
            (Operation::GetMany { keys: &[b"a", b"b"] }, &[(200, ROWS)]),
            (Operation::PutMany { pairs: &[(b"a", b"x"), (b"b", b"y")] }, &[(200, "")]),
        ],
    );
}
