//! One slot: operations as requests for items.

use super::item::{Item, field, item, key as key_of, operand};
use crate::shared::aws::{Signed, shown};
use crate::shared::http::{Bytes, HttpError, HttpTrouble, Method, header};
use crate::shared::pairs::last_of_each;
use header::{HeaderName, HeaderValue};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::{HashMap, HashSet};
use store::asynchronous::{AsyncRecords, BufferedReply, IntoReply, ReplyBuffer};
use store::{Expected, Operation, Sweep, Swept};

/// The server's limit of writes in a request.
const BATCH_WRITES: usize = 25;

/// The server's limit of reads in a request.
const BATCH_READS: usize = 100;

/// The number of bytes from which an answer with items may be full: the rest of its keys is asked for next. In a smaller answer, missing keys were
/// refused.
const FULL_BYTES: usize = 1 << 20;

/// A slot's connection to a table.
pub(super) struct Client {
    signed: Signed,
    table: String,
}

/// The reason why an operation failed.
pub(super) enum Trouble {
    /// The condition of a write does not hold.
    Condition,
    /// There is no such table.
    NoTable(String),
    /// Anything else.
    Other(HttpTrouble),
}

impl From<HttpTrouble> for Trouble {
    fn from(trouble: HttpTrouble) -> Trouble {
        Trouble::Other(trouble)
    }
}

impl From<HttpError> for Trouble {
    fn from(error: HttpError) -> Trouble {
        Trouble::Other(error.into())
    }
}

impl Trouble {
    /// Returns a refusal, in the server's words.
    pub(super) fn refused(words: impl ToString) -> Trouble {
        Trouble::Other(HttpTrouble::Refused(words.to_string()))
    }

    /// Returns the error for an answer that the server must not give.
    pub(super) fn nonsense(words: impl ToString) -> Trouble {
        Trouble::Other(HttpTrouble::Nonsense(words.to_string()))
    }

    fn plain(self) -> HttpTrouble {
        match self {
            Trouble::Condition => HttpTrouble::Refused("the condition does not hold".into()),
            Trouble::NoTable(words) => HttpTrouble::Refused(words),
            Trouble::Other(trouble) => trouble,
        }
    }

    pub(super) fn words(self) -> String {
        self.plain().words()
    }
}

#[derive(Deserialize)]
struct Got<'a> {
    #[serde(rename = "Item", borrow)]
    item: Option<Item<'a>>,
}

#[derive(Deserialize)]
struct Updated<'a> {
    #[serde(rename = "Attributes", borrow)]
    attributes: Item<'a>,
}

#[derive(Deserialize)]
struct GotMany<'a> {
    #[serde(rename = "Responses", borrow)]
    responses: HashMap<String, Vec<Item<'a>>>,
    #[serde(rename = "UnprocessedKeys", default, borrow)]
    unprocessed: HashMap<String, Keys<'a>>,
}

#[derive(Deserialize)]
struct Keys<'a> {
    #[serde(rename = "Keys", borrow)]
    keys: Vec<Item<'a>>,
}

#[derive(Deserialize)]
struct WrittenMany {
    #[serde(rename = "UnprocessedItems", default)]
    unprocessed: HashMap<String, Vec<IgnoredAny>>,
}

/// An error: `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"…"}`.
#[derive(Deserialize)]
struct Said {
    #[serde(rename = "__type")]
    kind: String,
    #[serde(alias = "Message")]
    message: Option<String>,
}

impl IntoReply for Trouble {
    fn reply(self, out: &mut ReplyBuffer) -> BufferedReply {
        self.plain().reply(out)
    }
}

impl AsyncRecords for Client {
    type Value = Vec<u8>;
    /// Values are compared.
    type Tag = ();
    type Trouble = Trouble;

    async fn get(&mut self, key: &[u8]) -> Result<Option<(Vec<u8>, ())>, Trouble> {
        let body = self.item(key).await?;
        got(&body)?.map(|item| Ok((item.value().map_err(Trouble::nonsense)?, ()))).transpose()
    }

    fn version(&mut self, _: &[u8], (): ()) -> Result<u64, Trouble> {
        Ok(0)
    }

    async fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Trouble> {
        self.put_if(key, value, "").await
    }

    async fn delete(&mut self, key: &[u8]) -> Result<bool, Trouble> {
        let condition = r#","ConditionExpression":"attribute_exists(k)""#;
        let body = format!(r#"{{"TableName":"{}","Key":{}{condition}}}"#, self.table, key_of(key));
        held(self.ask("DeleteItem", body).await)
    }

    async fn swap(&mut self, key: &[u8], expected: Expected<'_>, value: &[u8]) -> Result<bool, Trouble> {
        let condition = match expected {
            Expected::Absent => r#","ConditionExpression":"attribute_not_exists(k)""#.to_owned(),
            // An empty value is left out.
            Expected::Present { value: b"", .. } => {
                r#","ConditionExpression":"attribute_exists(k) AND attribute_not_exists(v)""#.to_owned()
            }
            Expected::Present { value, .. } => {
                format!(r#","ConditionExpression":"v = :v","ExpressionAttributeValues":{}"#, operand(value))
            }
        };
        held(self.put_if(key, value, &condition).await)
    }

    async fn further(&mut self, operation: &Operation<'_>, out: &mut ReplyBuffer) -> Result<BufferedReply, Trouble> {
        Ok(match *operation {
            Operation::GetCounter { key } => {
                let body = self.item(key).await?;
                match got(&body)?.map(|item| item.count("n")).transpose().map_err(Trouble::nonsense)?.flatten() {
                    Some(count) => BufferedReply::Number(count),
                    None => BufferedReply::Missing,
                }
            }
            Operation::GetFields { key } => {
                if let Some(item) = got(&self.item(key).await?)? {
                    for pair in item.fields() {
                        let (field, count) = pair.map_err(Trouble::nonsense)?;
                        out.rows.push(&field, count.as_bytes());
                    }
                }
                BufferedReply::Rows
            }
            Operation::Increment { key, by } => self.count(key, "n", by).await?,
            Operation::IncrementField { key, field: name, by } => self.count(key, &field(name), by).await?,
            Operation::GetMany { keys } => {
                let found = self.get_many(keys).await?;
                for key in keys {
                    if let Some(value) = found.get(*key) {
                        out.rows.push(key, value);
                    }
                }
                BufferedReply::Rows
            }
            Operation::PutMany { pairs } => {
                // A request may write a key once only.
                let left = last_of_each(pairs);
                let items = left.iter().map(|(key, value)| item(key, value).map_err(Trouble::refused));
                let items = items.collect::<Result<Vec<_>, _>>()?;
                self.write_many(items.iter().map(|item| format!(r#"{{"PutRequest":{{"Item":{item}}}}}"#))).await?;
                BufferedReply::Done
            }
            _ => out.not_native(),
        })
    }

    fn believe(&mut self, largest_reply_bytes: u64) {
        self.signed.believe(largest_reply_bytes);
    }
}

impl Client {
    /// Makes a slot's client.
    pub(super) fn new(signed: Signed, table: String) -> Client {
        Client { signed, table }
    }

    async fn item(&mut self, key: &[u8]) -> Result<Bytes, Trouble> {
        let body = format!(r#"{{"TableName":"{}","Key":{},"ConsistentRead":true}}"#, self.table, key_of(key));
        self.ask("GetItem", body).await
    }

    async fn put_if(&mut self, key: &[u8], value: &[u8], condition: &str) -> Result<(), Trouble> {
        let item = item(key, value).map_err(Trouble::refused)?;
        let body = format!(r#"{{"TableName":"{}","Item":{item}{condition}}}"#, self.table);
        self.ask("PutItem", body).await.map(drop)
    }

    /// Adds to the number of this name. Numbers of DynamoDB have 38 digits: the condition keeps them to what a reply can hold.
    async fn count(&mut self, key: &[u8], name: &str, by: i64) -> Result<BufferedReply, Trouble> {
        let (order, bound) = if by < 0 { (">=", i64::MIN - by) } else { ("<=", i64::MAX - by) };
        let body = format!(
            r##"{{"TableName":"{}","Key":{},"UpdateExpression":"ADD #n :b","ConditionExpression":"attribute_not_exists(#n) OR #n {order} :m","ExpressionAttributeNames":{{"#n":"{name}"}},"ExpressionAttributeValues":{{":b":{{"N":"{by}"}},":m":{{"N":"{bound}"}}}},"ReturnValues":"UPDATED_NEW"}}"##,
            self.table,
            key_of(key),
        );
        let body = match self.ask("UpdateItem", body).await {
            Err(Trouble::Condition) => return Err(Trouble::refused("the counter is at its bound of 64 bits")),
            answer => answer?,
        };
        let updated: Updated<'_> = parse(&body)?;
        match updated.attributes.count(name).map_err(Trouble::nonsense)? {
            Some(count) => Ok(BufferedReply::Number(count)),
            None => Err(Trouble::nonsense("counted, but to no number")),
        }
    }

    /// Returns the values of the keys that are there.
    async fn get_many(&mut self, keys: &[&[u8]]) -> Result<HashMap<Vec<u8>, Vec<u8>>, Trouble> {
        // A request may name a key once only.
        let mut seen = HashSet::new();
        let mut left: Vec<Vec<u8>> = keys.iter().filter(|key| seen.insert(**key)).map(|key| key.to_vec()).collect();
        let mut found = HashMap::new();
        while !left.is_empty() {
            let rest = left.split_off(left.len().min(BATCH_READS));
            let asked = std::mem::replace(&mut left, rest);
            let each: Vec<String> = asked.iter().map(|key| key_of(key)).collect();
            let body = format!(
                r#"{{"RequestItems":{{"{}":{{"Keys":[{}],"ConsistentRead":true}}}}}}"#,
                self.table,
                each.join(",")
            );
            let body = self.ask("BatchGetItem", body).await?;
            let mut answer: GotMany<'_> = parse(&body)?;
            let mut bytes = 0;
            for item in answer.responses.remove(&self.table).unwrap_or_default() {
                let (key, value) = (item.key().map_err(Trouble::nonsense)?, item.value().map_err(Trouble::nonsense)?);
                bytes += key.len() + value.len();
                found.insert(key, value);
            }
            let unprocessed = answer.unprocessed.into_values().flat_map(|table| table.keys);
            let unprocessed = unprocessed.map(|key| key.key().map_err(Trouble::nonsense));
            let unprocessed = unprocessed.collect::<Result<Vec<_>, _>>()?;
            if unprocessed.is_empty() {
                continue;
            }
            // Status 200, and yet not all was looked for.
            if bytes < FULL_BYTES {
                return Err(not_done("keys", unprocessed.len(), asked.len(), "UnprocessedKeys"));
            }
            left.extend(unprocessed);
        }
        Ok(found)
    }

    /// Puts or deletes, as many keys per request as a request takes.
    async fn write_many(&mut self, requests: impl Iterator<Item = String>) -> Result<(), Trouble> {
        let requests: Vec<String> = requests.collect();
        let mut part_done = false;
        for requests in requests.chunks(BATCH_WRITES) {
            let body = format!(r#"{{"RequestItems":{{"{}":[{}]}}}}"#, self.table, requests.join(","));
            let after_part = |trouble: Trouble, part_done| match part_done {
                true => Trouble::Other(trouble.plain().in_part()),
                false => trouble,
            };
            let answered = self.ask("BatchWriteItem", body).await.map_err(|trouble| after_part(trouble, part_done))?;
            let written: WrittenMany = parse(&answered)?;
            // Status 200, and yet not all was written.
            let unprocessed = written.unprocessed.values().map(Vec::len).sum();
            if unprocessed > 0 {
                let trouble = not_done("items", unprocessed, requests.len(), "UnprocessedItems");
                return Err(after_part(trouble, part_done || unprocessed < requests.len()));
            }
            part_done = true;
        }
        Ok(())
    }

    /// Looks for keys, or deletes those that are there.
    pub(super) async fn sweep(&mut self, sweep: Sweep, keys: &[&[u8]]) -> Result<Swept, Trouble> {
        let found = self.get_many(keys).await?;
        let mut swept = Swept::default();
        let there = keys.iter().enumerate().filter(|(_, key)| found.contains_key(**key));
        there.for_each(|(place, _)| swept.count(place));
        if sweep == Sweep::Delete {
            let each = found.keys().map(|key| format!(r#"{{"DeleteRequest":{{"Key":{}}}}}"#, key_of(key)));
            self.write_many(each).await?;
        }
        Ok(swept)
    }

    /// Sends a request of the protocol, and returns the body of a good answer.
    pub(super) async fn ask(&mut self, target: &str, body: String) -> Result<Bytes, Trouble> {
        let target = HeaderValue::try_from(format!("DynamoDB_20120810.{target}"));
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static("application/x-amz-json-1.0")),
            (HeaderName::from_static("x-amz-target"), target.map_err(Trouble::nonsense)?),
        ];
        let answered = self.signed.ask(Method::POST, "/", "", &headers, body.into_bytes()).await?;
        if answered.status == 200 {
            return Ok(answered.body);
        }
        let Ok(said) = serde_json::from_slice::<Said>(&answered.body) else {
            return Err(HttpTrouble::said(answered.status, &shown(&answered.body)).into());
        };
        let kind = said.kind.rsplit('#').next().unwrap_or_default();
        let words = format!("{kind}: {}", said.message.as_deref().unwrap_or("no more is said"));
        Err(match kind {
            "ConditionalCheckFailedException" => Trouble::Condition,
            "ResourceNotFoundException" => Trouble::NoTable(words),
            _ => HttpTrouble::said(answered.status, &words).into(),
        })
    }
}

/// Returns whether the condition of a write held.
fn held<T>(answered: Result<T, Trouble>) -> Result<bool, Trouble> {
    match answered {
        Ok(_) => Ok(true),
        Err(Trouble::Condition) => Ok(false),
        Err(trouble) => Err(trouble),
    }
}

/// Returns the refusal that came with status 200.
#[cold]
fn not_done(what: &str, unprocessed: usize, asked: usize, list: &str) -> Trouble {
    Trouble::refused(format!("{unprocessed} of {asked} {what} were not processed ({list}, with status 200)"))
}

fn got(body: &Bytes) -> Result<Option<Item<'_>>, Trouble> {
    parse::<Got<'_>>(body).map(|got| got.item)
}

fn parse<'a, T: Deserialize<'a>>(body: &'a Bytes) -> Result<T, Trouble> {
    serde_json::from_slice(body).map_err(|error| Trouble::nonsense(format!("{error} in {}", shown(body))))
}

#[cfg(test)]
mod tests;
