//! One slot: operations as requests to the gateway.

mod lease;

use crate::shared::http::{Http, HttpTrouble, Method};
use crate::shared::pairs::{last_of_each, parts};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use store::asynchronous::{AsyncRecords, BufferedReply, ReplyBuffer};
use store::{Expected, Operation, Sweep, Swept};

/// The server's limit of operations in a transaction.
const TRANSACTION_OPERATIONS: usize = 128;

/// The bytes of keys and values of one transaction, as far as its operations can be split: the server takes requests of 1.5 MiB.
const TRANSACTION_BYTES: usize = 1 << 20;

/// A slot's connection.
pub(super) struct Client {
    http: Http,
}

/// What the gateway leaves out is empty or nought.
#[derive(Deserialize)]
struct Pair {
    key: String,
    #[serde(default)]
    value: String,
    mod_revision: String,
    /// Nought: it has none.
    #[serde(default)]
    lease: String,
}

#[derive(Deserialize)]
struct Found {
    #[serde(default)]
    kvs: Vec<Pair>,
}

#[derive(Deserialize)]
struct Deleted {
    #[serde(default)]
    deleted: String,
}

impl Deleted {
    fn any(&self) -> bool {
        !matches!(self.deleted.as_str(), "" | "0")
    }
}

#[derive(Deserialize)]
struct Transaction {
    #[serde(default)]
    succeeded: bool,
    #[serde(default)]
    responses: Vec<Response>,
}

#[derive(Deserialize)]
struct Response {
    response_range: Option<Found>,
    response_delete_range: Option<Deleted>,
}

#[derive(Deserialize)]
struct Stored {
    #[allow(dead_code)] // only that it is there
    header: serde_json::Value,
}

#[derive(Deserialize)]
struct Said {
    error: Option<String>,
    message: Option<String>,
}

impl AsyncRecords for Client {
    type Value = Vec<u8>;
    /// The revision, as the gateway writes it.
    type Tag = String;
    type Trouble = HttpTrouble;

    async fn get(&mut self, key: &[u8]) -> Result<Option<(Vec<u8>, String)>, HttpTrouble> {
        let found = self.range(&range(key)).await?.pop();
        found.map(|pair| Ok((bytes(&pair.value)?, pair.mod_revision))).transpose()
    }

    fn version(&mut self, _: &[u8], revision: String) -> Result<u64, HttpTrouble> {
        revision.parse().map_err(nonsense)
    }

    async fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), HttpTrouble> {
        self.ask::<Stored>("/v3/kv/put", put(key, value)).await.map(drop)
    }

    async fn delete(&mut self, key: &[u8]) -> Result<bool, HttpTrouble> {
        self.ask::<Deleted>("/v3/kv/deleterange", range(key)).await.map(|deleted| deleted.any())
    }

    async fn swap(&mut self, key: &[u8], expected: Expected<'_>, value: &[u8]) -> Result<bool, HttpTrouble> {
        let version = match expected {
            Expected::Absent => 0,
            // No revision of a key that is there.
            Expected::Present { version: 0, .. } => return Ok(false),
            Expected::Present { version, .. } => version,
        };
        let body = format!(
            r#"{{"compare":[{{"key":"{}","target":"MOD","result":"EQUAL","mod_revision":"{version}"}}],"success":[{{"request_put":{}}}]}}"#,
            BASE64.encode(key),
            put(key, value),
        );
        self.ask::<Transaction>("/v3/kv/txn", body).await.map(|transaction| transaction.succeeded)
    }

    async fn further(
        &mut self,
        operation: &Operation<'_>,
        out: &mut ReplyBuffer,
    ) -> Result<BufferedReply, HttpTrouble> {
        Ok(match *operation {
            Operation::GetMany { keys } => {
                for keys in keys.chunks(TRANSACTION_OPERATIONS) {
                    let each = keys.iter().map(|key| format!(r#"{{"request_range":{}}}"#, range(key)));
                    for response in self.transaction(each).await?.responses {
                        let found = response.response_range.ok_or_else(|| nonsense("no range where one was asked"))?;
                        push(found.kvs, out)?;
                    }
                }
                BufferedReply::Rows
            }
            Operation::PutMany { pairs } => {
                // A transaction may put a key once only.
                let left = last_of_each(pairs);
                for (done, pairs) in parts(&left, TRANSACTION_OPERATIONS, TRANSACTION_BYTES).enumerate() {
                    let each = pairs.iter().map(|(key, value)| format!(r#"{{"request_put":{}}}"#, put(key, value)));
                    self.transaction(each).await.map_err(|trouble| trouble.after(done))?;
                }
                BufferedReply::Done
            }
            Operation::PutTtl { key, value, ttl_ms } => {
                self.put_ttl(key, value, ttl_ms).await.map(|()| BufferedReply::Done)?
            }
            Operation::Touch { key, ttl_ms } => match self.touch(key, ttl_ms).await? {
                true => BufferedReply::Done,
                false => BufferedReply::Missing,
            },
            Operation::TimeLeft { key } => match self.time_left(key).await? {
                Some(left_ms) => BufferedReply::Number(left_ms),
                None => BufferedReply::Missing,
            },
            // No limit to the server.
            Operation::Scan { limit: 0, .. } => BufferedReply::Rows,
            Operation::Scan { start, limit } => {
                // A key of one zero byte is the first there can be; as an end it means that there is none.
                let start = BASE64.encode(if start.is_empty() { b"\0" } else { start });
                let found = self.range(&format!(r#"{{"key":"{start}","range_end":"AA==","limit":"{limit}"}}"#)).await?;
                push(found, out)?;
                BufferedReply::Rows
            }
            _ => out.not_native(),
        })
    }

    fn give_up(&mut self) {
        self.http.give_up();
    }

    fn believe(&mut self, largest_reply_bytes: u64) {
        self.http.believe(largest_reply_bytes);
    }
}

impl Client {
    /// Makes a slot's client.
    pub(super) fn new(http: Http) -> Client {
        Client { http }
    }

    /// Looks for keys, or deletes them, as many keys per request as a transaction takes.
    pub(super) async fn sweep(&mut self, sweep: Sweep, keys: &[&[u8]]) -> Result<Swept, String> {
        let mut swept = Swept::default();
        for (number, keys) in keys.chunks(TRANSACTION_OPERATIONS).enumerate() {
            let each = keys.iter().map(|key| match sweep {
                Sweep::Look => format!(r#"{{"request_range":{{"key":"{}","keys_only":true}}}}"#, BASE64.encode(key)),
                Sweep::Delete => format!(r#"{{"request_delete_range":{}}}"#, range(key)),
            });
            let answered = self.transaction(each).await.map_err(|trouble| trouble.words())?;
            if answered.responses.len() != keys.len() {
                return Err(format!("{} keys were asked for, {} answered", keys.len(), answered.responses.len()));
            }
            for (place, response) in answered.responses.iter().enumerate() {
                let found = response.response_range.as_ref().is_some_and(|found| !found.kvs.is_empty());
                if found || response.response_delete_range.as_ref().is_some_and(Deleted::any) {
                    swept.count(number * TRANSACTION_OPERATIONS + place);
                }
            }
        }
        Ok(swept)
    }

    async fn range(&mut self, body: &str) -> Result<Vec<Pair>, HttpTrouble> {
        self.ask::<Found>("/v3/kv/range", body.to_owned()).await.map(|found| found.kvs)
    }

    async fn transaction(&mut self, operations: impl Iterator<Item = String>) -> Result<Transaction, HttpTrouble> {
        let body = format!(r#"{{"success":[{}]}}"#, operations.collect::<Vec<_>>().join(","));
        self.ask("/v3/kv/txn", body).await
    }

    async fn ask<T: DeserializeOwned>(&mut self, path: &str, body: String) -> Result<T, HttpTrouble> {
        let answered = self.http.ask(Method::POST, path, body.into_bytes()).await?;
        if answered.status == 200 {
            return serde_json::from_slice(&answered.body).map_err(nonsense);
        }
        let said = serde_json::from_slice::<Said>(&answered.body).ok();
        let words = said.and_then(|said| said.message.or(said.error));
        let words = words.unwrap_or_else(|| String::from_utf8_lossy(&answered.body).trim().to_owned());
        Err(HttpTrouble::said(answered.status, &words))
    }
}

fn nonsense(problem: impl ToString) -> HttpTrouble {
    HttpTrouble::Nonsense(problem.to_string())
}

fn range(key: &[u8]) -> String {
    format!(r#"{{"key":"{}"}}"#, BASE64.encode(key))
}

fn put(key: &[u8], value: &[u8]) -> String {
    format!(r#"{{"key":"{}","value":"{}"}}"#, BASE64.encode(key), BASE64.encode(value))
}

fn bytes(coded: &str) -> Result<Vec<u8>, HttpTrouble> {
    BASE64.decode(coded).map_err(nonsense)
}

fn push(pairs: Vec<Pair>, out: &mut ReplyBuffer) -> Result<(), HttpTrouble> {
    for pair in pairs {
        out.rows.push(&bytes(&pair.key)?, &bytes(&pair.value)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
