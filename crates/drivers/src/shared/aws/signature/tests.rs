//! The examples Amazon has published, with their signatures.
#![allow(clippy::unwrap_used)]

use super::{Signer, hex_sha256};
use crate::shared::http::in_url;
use hyper::header::{HeaderName, HeaderValue};
use store::Endpoint;
use study::Secret;

fn signature(
    signer: &mut Signer,
    stamp: &str,
    request: [&str; 3],
    headers: &[(&'static str, &str)],
    body: &[u8],
) -> String {
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::try_from(*value).unwrap()))
        .collect();
    let [method, path, query] = request;
    let line = signer.authorization(stamp, method, path, query, &headers, &hex_sha256(body));
    line.rsplit_once("Signature=").unwrap().1.to_owned()
}

/// The test suite of Signature Version 4: `get-vanilla`, `post-vanilla`, `get-vanilla-query-order-key-case`.
#[test]
fn the_suite_of_amazon_is_signed_alike() {
    let endpoint =
        Endpoint::loopback(1).with_login("AKIDEXAMPLE", Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"));
    let mut signer = Signer::new(&endpoint, "us-east-1", "service");
    let headers = [("host", "example.amazonaws.com"), ("x-amz-date", "20150830T123600Z")];
    for (request, expected) in [
        (["GET", "/", ""], "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        (["POST", "/", ""], "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        (
            ["GET", "/", "Param1=value1&Param2=value2"],
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
    ] {
        assert_eq!(signature(&mut signer, "20150830T123600Z", request, &headers, b""), expected);
    }
}

/// The examples in the reference of S3: reading a part of an object, writing one, a bucket's lifecycle, a list.
#[test]
fn the_examples_of_s3_are_signed_alike() {
    let endpoint = Endpoint::loopback(1)
        .with_login("AKIAIOSFODNN7EXAMPLE", Secret::new("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"));
    let mut signer = Signer::new(&endpoint, "us-east-1", "s3");
    let stamp = "20130524T000000Z";
    let (host, date) = (("host", "examplebucket.s3.amazonaws.com"), ("x-amz-date", stamp));
    let empty = hex_sha256(b"");
    let sha256 = ("x-amz-content-sha256", empty.as_str());
    assert_eq!(
        signature(&mut signer, stamp, ["GET", "/test.txt", ""], &[host, ("range", "bytes=0-9"), sha256, date], b""),
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
    );
    for (query, expected) in [
        ("lifecycle=", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        ("max-keys=2&prefix=J", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ] {
        assert_eq!(signature(&mut signer, stamp, ["GET", "/", query], &[host, sha256, date], b""), expected);
    }
    let body = b"Welcome to Amazon S3.";
    let of_body = hex_sha256(body);
    let headers = [
        ("date", "Fri, 24 May 2013 00:00:00 GMT"),
        host,
        ("x-amz-content-sha256", of_body.as_str()),
        date,
        ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
    ];
    assert_eq!(
        signature(&mut signer, stamp, ["PUT", &format!("/{}", in_url(b"test$file.text")), ""], &headers, body),
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
    );
}

#[test]
fn a_new_day_has_a_new_key_and_the_same_day_the_same() {
    let endpoint = Endpoint::loopback(1).with_login("name", Secret::new("tulip"));
    let mut signer = Signer::new(&endpoint, "eu-central-1", "s3");
    let mut of = |stamp: &str| signature(&mut signer, stamp, ["GET", "/", ""], &[], b"");
    let (first, next) = (of("20261123T235959Z"), of("20261124T000000Z"));
    assert!(first != next && first == of("20261123T235959Z") && next == of("20261124T000000Z"));
}

#[test]
fn a_key_of_more_than_a_block_signs_too() {
    assert_ne!(super::mac(&[7; 200], b"text"), [0; 32]);
    assert_ne!(super::mac(b"", b"text"), [0; 32]);
}
