//! The protocol of MongoDB 7.

use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Bson, Document, doc};
use std::sync::LazyLock;

/// What MongoDB says of its messages.
pub const USUAL: i32 = 48_000_000;

/// A value that is more than can come, in a message that is not.
const LARGE_BYTES: usize = 45 << 20;

/// A message that answers the request of this number.
fn message(answered: &[u8], document: &Document) -> Vec<u8> {
    let document = document.to_vec().unwrap();
    let length = (21 + document.len() as u32).to_le_bytes();
    [&length[..], &[1, 0, 0, 0], answered, &2013_u32.to_le_bytes(), &[0; 5], &document].concat()
}

/// Documents of the collection of pairs, the last of them or not.
fn cursor(batch: &str, id: i64, documents: Vec<Bson>) -> Document {
    doc! { "cursor": { "id": id, "ns": "kvtrial.kvtrial_kv", batch: documents }, "ok": 1 }
}

fn pair(bytes: usize) -> Bson {
    let value = Binary { subtype: BinarySubtype::Generic, bytes: vec![b'v'; bytes] };
    Bson::Document(doc! { "_id": "k", "v": value })
}

/// The name of a command: the first of its fields.
fn command(request: &[u8]) -> String {
    let name = request.get(26..).unwrap_or_default().split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(name).into_owned()
}

/// Answers everything but the search for pairs, which `found` does.
pub fn answer(
    request: &[u8],
    most_message_bytes: i32,
    found: fn(&[u8]) -> (Vec<u8>, &'static [u8]),
) -> (Vec<u8>, &'static [u8]) {
    let whole = |document: Document| (message(&request[4..8], &document), &b""[..]);
    match command(request).as_str() {
        "isMaster" | "ismaster" | "hello" => whole(doc! {
            "ismaster": true, "isWritablePrimary": true, "helloOk": true, "ok": 1, "maxWireVersion": 21, "minWireVersion": 0,
            "maxBsonObjectSize": 16 << 20, "maxMessageSizeBytes": most_message_bytes, "maxWriteBatchSize": 100_000,
        }),
        "listCollections" => whole(cursor("firstBatch", 0, Vec::new())),
        "buildInfo" => whole(doc! { "version": "7.0.0", "ok": 1 }),
        "find" | "getMore" => found(request),
        _ => whole(doc! { "ok": 1 }),
    }
}

/// The head of a message of 2 GiB, and whatever comes.
pub fn announced(request: &[u8]) -> (Vec<u8>, &'static [u8]) {
    ([&i32::MAX.to_le_bytes(), &[1, 0, 0, 0], &request[4..8], &2013_u32.to_le_bytes()].concat(), b"v")
}

/// A message as long as the server may send, of nothing.
pub fn noise(request: &[u8]) -> (Vec<u8>, &'static [u8]) {
    ([&USUAL.to_le_bytes(), &[1, 0, 0, 0], &request[4..8], &2013_u32.to_le_bytes(), &[0; 5]].concat(), b"v")
}

/// One large value in a message without fault, again and again.
pub fn large(_: &[u8]) -> (Vec<u8>, &'static [u8]) {
    (Vec::new(), &LARGE)
}

/// Made before memory is looked at.
pub static LARGE: LazyLock<Vec<u8>> =
    LazyLock::new(|| message(&[0; 4], &cursor("firstBatch", 0, vec![pair(LARGE_BYTES)])));

/// As many small documents as fit in a message: the driver keeps each by itself.
pub fn small(_: &[u8]) -> (Vec<u8>, &'static [u8]) {
    (Vec::new(), &SMALL)
}

/// Made before memory is looked at.
pub static SMALL: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let documents = vec![Bson::Document(Document::new()); 3 << 20];
    message(&[0; 4], &cursor("firstBatch", 0, documents))
});

/// Batches of documents without end, a hundred thousand bytes each.
pub fn batches(request: &[u8]) -> (Vec<u8>, &'static [u8]) {
    let batch = if command(request) == "find" { "firstBatch" } else { "nextBatch" };
    (message(&request[4..8], &cursor(batch, 7, vec![pair(1000); 100])), b"")
}
