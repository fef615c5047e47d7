//! One slot: operations as commands on three collections.

use super::bounded::{ANSWER_BYTES, Tally, broken_by};
use super::document::{holding, pair, value};
use super::setup::COLLECTIONS;
use mongodb::bson::raw::{RawArrayBuf, RawBsonRef, RawDocument, cstr};
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Bson, Document, RawBinaryRef, RawDocumentBuf, doc};
use mongodb::error::{Error, ErrorKind, Result, WriteFailure};
use mongodb::options::ReturnDocument;
use mongodb::{Collection, Database};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use store::asynchronous::{AsyncClient, BufferedReply, ReplyBuffer};
use store::believed::wire_bytes;
use store::{Expected, NOTHING_EXPIRES, Operation, Resent};
use tokio::sync::Semaphore;

/// The retry limit for upserts that race on a new key: of two, one fails as a duplicate and is sent again.
const UPSERT_RETRIES: u32 = 100;
const DUPLICATE_KEY: i32 = 11000;

/// The errors of a server that is going down or not yet up.
const LEAVING: [i32; 5] = [91, 189, 10107, 11600, 11602];

/// The errors after which an operation may have been done: a time limit passed, a host was lost, or fewer members have it than were asked for.
const OPEN: [i32; 6] = [6, 7, 50, 64, 89, 262];

/// The bytes of the pairs of one command: below the largest message and the largest batch.
const MAX_BATCH_BYTES: usize = 8 << 20;
const MAX_BATCH: usize = 50_000;

/// A slot's handle; the connection behind it comes from the session's pool.
pub(super) struct SlotClient {
    database: Database,
    pairs: Collection<RawDocumentBuf>,
    counters: Collection<RawDocumentBuf>,
    fields: Collection<RawDocumentBuf>,
    journal: Journal,
    turn: Option<Arc<Semaphore>>,
    /// The largest answer that is believed.
    most_bytes: usize,
    resent: Resent,
}

/// Whether an answer waits for the server's journal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Journal {
    Synced,
    Later,
}

impl SlotClient {
    pub(super) fn new(database: &Database, turn: Option<Arc<Semaphore>>, resent: Resent) -> SlotClient {
        SlotClient {
            pairs: database.collection(COLLECTIONS[0]),
            counters: database.collection(COLLECTIONS[1]),
            fields: database.collection(COLLECTIONS[2]),
            journal: match database.write_concern().and_then(|concern| concern.journal) {
                Some(true) => Journal::Synced,
                _ => Journal::Later,
            },
            database: database.clone(),
            turn,
            most_bytes: ANSWER_BYTES,
            resent,
        }
    }
}

impl AsyncClient for SlotClient {
    async fn execute(&mut self, operation: &Operation<'_>, out: &mut ReplyBuffer) -> BufferedReply {
        let reads =
            matches!(operation, Operation::Get { .. } | Operation::GetMany { .. } | Operation::GetCounter { .. });
        let _turn = match &self.turn {
            Some(turn) if !reads => turn.acquire().await.ok(), // never closed
            _ => None,
        };
        let mut tries = 0;
        loop {
            match self.carry_out(operation, out).await {
                Ok(answer) => return answer,
                Err(error) if is_duplicate(&error) && tries < UPSERT_RETRIES => {
                    tries += 1;
                    self.resent.add();
                }
                Err(error) => return fail(&error, out),
            }
        }
    }

    fn believe(&mut self, largest_reply_bytes: u64) {
        self.most_bytes = wire_bytes(largest_reply_bytes);
    }
}

fn is_duplicate(error: &Error) -> bool {
    match &*error.kind {
        ErrorKind::Write(WriteFailure::WriteError(write)) => write.code == DUPLICATE_KEY,
        ErrorKind::Command(command) => command.code == DUPLICATE_KEY,
        _ => false,
    }
}

#[cold]
fn fail(error: &Error, out: &mut ReplyBuffer) -> BufferedReply {
    if let Some(words) = broken_by(error) {
        return out.protocol(words);
    }
    match &*error.kind {
        ErrorKind::Command(command) if LEAVING.contains(&command.code) => out.connection_lost(&command.message),
        ErrorKind::Command(command) if OPEN.contains(&command.code) => {
            out.unknown(format_args!("{} ({})", command.message, command.code))
        }
        ErrorKind::Command(command) => out.refused(format_args!("{} ({})", command.message, command.code)),
        ErrorKind::Write(WriteFailure::WriteError(write)) => {
            out.refused(format_args!("{} ({})", write.message, write.code))
        }
        // Written here, and not on as many others as were asked for.
        ErrorKind::Write(_) => out.unknown(error),
        ErrorKind::InvalidArgument { .. } | ErrorKind::BsonSerialization(_) | ErrorKind::IncompatibleServer { .. } => {
            out.refused(error)
        }
        ErrorKind::ServerSelection { .. } | ErrorKind::Authentication { .. } => out.not_connected(error),
        ErrorKind::Io(_) | ErrorKind::ConnectionPoolCleared { .. } | ErrorKind::Shutdown => out.connection_lost(error),
        _ => out.protocol(error),
    }
}

/// The character that begins the ids of keys that are not plain text; it has no meaning in Unicode.
const ENCODED: char = '\u{F8FF}';

/// Returns a key as a string: FerretDB's index knows no other kind of id. Plain text stays as it is, anything else becomes hexadecimal digits behind
/// [`ENCODED`]; no two keys become the same.
pub(super) fn id(key: &[u8]) -> String {
    match std::str::from_utf8(key) {
        Ok(text) if !text.starts_with(ENCODED) && !text.contains(|character: char| character.is_control()) => {
            text.to_owned()
        }
        _ => {
            std::iter::once(ENCODED).chain(key.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(hex_digit)).collect()
        }
    }
}

fn hex_digit(nibble: u8) -> char {
    char::from_digit(nibble.into(), 16).unwrap_or('0')
}

fn binary(bytes: &[u8]) -> Bson {
    Bson::Binary(Binary { subtype: BinarySubtype::Generic, bytes: bytes.to_vec() })
}

pub(super) fn raw(bytes: &[u8]) -> RawBinaryRef<'_> {
    RawBinaryRef { subtype: BinarySubtype::Generic, bytes }
}

/// Returns the bytes of a text or binary field in a document.
fn bytes<'a>(document: &'a RawDocument, name: &str) -> &'a [u8] {
    match document.get(name) {
        Ok(Some(RawBsonRef::String(text))) => text.as_bytes(),
        Ok(Some(RawBsonRef::Binary(binary))) => binary.bytes,
        _ => &[],
    }
}

fn count(document: &RawDocument) -> Option<i64> {
    match document.get("n") {
        Ok(Some(RawBsonRef::Int64(count))) => Some(count),
        Ok(Some(RawBsonRef::Int32(count))) => Some(count.into()),
        _ => None,
    }
}

fn number(document: Option<RawDocumentBuf>, out: &mut ReplyBuffer) -> BufferedReply {
    match document.as_ref().map(|document| count(document)) {
        None => BufferedReply::Missing,
        Some(Some(count)) => BufferedReply::Number(count),
        Some(None) => out.protocol("a counter that is no integer"),
    }
}

/// Returns the id of a field: the key's length keeps (key, field) pairs apart.
fn field_id(key: &[u8], field: &[u8]) -> String {
    id(&[key.len().to_string().as_bytes(), b":", key, field].concat())
}

impl SlotClient {
    async fn carry_out(&self, operation: &Operation<'_>, out: &mut ReplyBuffer) -> Result<BufferedReply> {
        Ok(match *operation {
            Operation::Get { key } => match self.pairs.find_one(doc! { "_id": id(key) }).await? {
                Some(document) => out.value(&self.believed(value(&document))?),
                None => BufferedReply::Missing,
            },
            Operation::GetVersioned { key } => match self.pairs.find_one(doc! { "_id": id(key) }).await? {
                Some(document) => out.versioned(&self.believed(value(&document))?, 0),
                None => BufferedReply::Missing,
            },
            Operation::Put { key, value } => self.put(key, value).await?,
            Operation::Delete { key } => match self.pairs.delete_one(doc! { "_id": id(key) }).await?.deleted_count {
                0 => BufferedReply::Missing,
                _ => BufferedReply::Done,
            },
            Operation::Increment { key, by } => {
                let counted = add(&self.counters, id(key), doc! { "$inc": { "n": by } }).await?;
                number(counted, out)
            }
            Operation::GetCounter { key } => number(self.counters.find_one(doc! { "_id": id(key) }).await?, out),
            Operation::IncrementField { key, field, by } => {
                let first = doc! { "k": id(key), "f": binary(field) };
                let counted =
                    add(&self.fields, field_id(key, field), doc! { "$inc": { "n": by }, "$setOnInsert": first })
                        .await?;
                number(counted, out)
            }
            Operation::GetFields { key } => {
                let mut cursor = self.fields.find(doc! { "k": id(key) }).await?;
                let mut tally = Tally::new(self.most_bytes);
                while cursor.advance().await? {
                    let row = cursor.current();
                    let (field, count) = (bytes(row, "f"), count(row).unwrap_or(0).to_string());
                    tally.add(field.len() + count.len())?;
                    out.rows.push(field, count.as_bytes());
                }
                BufferedReply::Rows
            }
            Operation::CompareAndSet { key, expected: Expected::Absent, value } => {
                match self.pairs.insert_one(pair(key, value)).await {
                    Ok(_) => BufferedReply::Done,
                    Err(error) if is_duplicate(&error) => BufferedReply::Conflict,
                    Err(error) => return Err(error),
                }
            }
            Operation::CompareAndSet { key, expected: Expected::Present { value: old, .. }, value } => {
                match self.pairs.replace_one(holding(key, old)?, pair(key, value)).await?.matched_count {
                    0 => BufferedReply::Conflict,
                    _ => BufferedReply::Done,
                }
            }
            Operation::GetMany { keys } => self.get_many(keys, out).await?,
            Operation::PutMany { pairs } => self.put_many(pairs, out).await?,
            Operation::PutTtl { .. }
            | Operation::Touch { .. }
            | Operation::TimeLeft { .. }
            | Operation::Command { .. }
            | Operation::Sql { .. } => out.refused(NOTHING_EXPIRES),
            Operation::Append { .. } | Operation::Scan { .. } => out.refused("MongoDB has no such operation on bytes"),
        })
    }

    /// Returns a value, if it can be believed.
    fn believed<'a>(&self, value: Cow<'a, [u8]>) -> Result<Cow<'a, [u8]>> {
        Tally::new(self.most_bytes).add(value.len())?;
        Ok(value)
    }

    async fn put(&self, key: &[u8], value: &[u8]) -> Result<BufferedReply> {
        self.pairs.replace_one(doc! { "_id": id(key) }, pair(key, value)).upsert(true).await?;
        Ok(BufferedReply::Done)
    }

    async fn get_many(&self, keys: &[&[u8]], out: &mut ReplyBuffer) -> Result<BufferedReply> {
        let ids: Vec<String> = keys.iter().map(|key| id(key)).collect();
        let mut cursor = self.pairs.find(doc! { "_id": { "$in": &ids } }).await?;
        let mut found: HashMap<Vec<u8>, Vec<u8>> = HashMap::with_capacity(keys.len());
        let mut tally = Tally::new(self.most_bytes);
        while cursor.advance().await? {
            let row = cursor.current();
            let (id, value) = (bytes(row, "_id"), value(row));
            tally.add(id.len() + value.len())?;
            found.insert(id.to_vec(), value.into_owned());
        }
        for (key, id) in keys.iter().zip(&ids) {
            if let Some(value) = found.get(id.as_bytes()) {
                out.rows.push(key, value);
            }
        }
        Ok(BufferedReply::Rows)
    }

    async fn put_many(&self, pairs: &[(&[u8], &[u8])], out: &mut ReplyBuffer) -> Result<BufferedReply> {
        let mut rest = pairs;
        while !rest.is_empty() {
            let mut batch_bytes = 0;
            let fits = rest.iter().take(MAX_BATCH).take_while(|(key, value)| {
                batch_bytes += 2 * key.len() + value.len() + 64;
                batch_bytes <= MAX_BATCH_BYTES
            });
            let (batch, after) = rest.split_at(fits.count().max(1));
            rest = after;
            if let [(key, value)] = batch {
                self.put(key, value).await?;
                continue;
            }
            let reply = self.database.run_command(upserts(batch, self.journal)?).await?;
            // Another slot's upsert of the same new key may fail one of ours: then the batch goes pair by pair.
            if let Some(error) = reply.get_array("writeErrors").ok().and_then(|errors| errors.first()?.as_document()) {
                if error.get_i32("code").ok() == Some(DUPLICATE_KEY) {
                    for (key, value) in batch {
                        self.put(key, value).await?;
                    }
                } else {
                    // The batch is not in order: others of it are stored.
                    return Ok(out.unknown(error.get_str("errmsg").unwrap_or("a write of the batch failed")));
                }
            }
        }
        Ok(BufferedReply::Done)
    }
}

/// Adds to a counter, which is created when absent, and returns the document afterwards.
async fn add(counters: &Collection<RawDocumentBuf>, id: String, update: Document) -> Result<Option<RawDocumentBuf>> {
    counters.find_one_and_update(doc! { "_id": id }, update).upsert(true).return_document(ReturnDocument::After).await
}

/// Makes one `update` command that stores all pairs, in order.
fn upserts(pairs: &[(&[u8], &[u8])], journal: Journal) -> Result<Document> {
    let mut updates = RawArrayBuf::new();
    for (key, value) in pairs {
        let mut filter = RawDocumentBuf::new();
        filter.append(cstr!("_id"), id(key).as_str());
        let mut update = RawDocumentBuf::new();
        update.append(cstr!("q"), filter);
        update.append(cstr!("u"), pair(key, value));
        update.append(cstr!("upsert"), true);
        updates.push(update);
    }
    let mut command = RawDocumentBuf::new();
    command.append(cstr!("update"), COLLECTIONS[0]);
    command.append(cstr!("updates"), updates);
    // A raw command does not take over the client's write concern.
    let mut concern = RawDocumentBuf::new();
    concern.append(cstr!("w"), 1);
    concern.append(cstr!("j"), journal == Journal::Synced);
    command.append(cstr!("writeConcern"), concern);
    Ok(Document::try_from(command)?)
}
