//! One slot: operations as requests for objects.

use crate::shared::aws::{Signed, shown};
use crate::shared::http::{Answered, HttpTrouble, Method, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use header::{HeaderName, HeaderValue};
use std::hash::{DefaultHasher, Hash, Hasher};
use store::asynchronous::{AsyncClient, BufferedReply, ReplyBuffer};
use store::{Expected, Operation};

/// A slot's connection to a bucket.
pub(super) struct Client {
    signed: Signed,
    /// The path of the bucket: `/kvtrial`.
    bucket: String,
    /// The key of the last read or write, and its ETag.
    last: Option<(Vec<u8>, HeaderValue)>,
}

/// The retry limit when another client wins the race.
const RACES: u32 = 1000;

/// The result of a write with a condition.
#[derive(PartialEq, Eq)]
enum Stored {
    Done,
    /// The condition did not hold.
    Not,
}

impl AsyncClient for Client {
    async fn execute(&mut self, operation: &Operation<'_>, out: &mut ReplyBuffer) -> BufferedReply {
        match self.carry_out(operation, out).await {
            Ok(answer) => answer,
            Err(trouble) => trouble.reply(out),
        }
    }

    fn believe(&mut self, largest_reply_bytes: u64) {
        self.signed.believe(largest_reply_bytes);
    }
}

impl Client {
    /// Makes a slot's client.
    pub(super) fn new(signed: Signed, bucket: String) -> Client {
        Client { signed, bucket, last: None }
    }

    async fn carry_out(
        &mut self,
        operation: &Operation<'_>,
        out: &mut ReplyBuffer,
    ) -> Result<BufferedReply, HttpTrouble> {
        Ok(match *operation {
            Operation::Get { key } => match self.get(key).await? {
                Some(found) => out.value(&found.body),
                None => BufferedReply::Missing,
            },
            Operation::GetVersioned { key } => match self.get(key).await? {
                Some(found) => {
                    let etag = etag_of(&found)?;
                    let version = version(&etag);
                    self.last = Some((key.to_vec(), etag));
                    out.versioned(&found.body, version)
                }
                None => BufferedReply::Missing,
            },
            Operation::Put { key, value } => match self.put(key, value, None).await? {
                Stored::Done => BufferedReply::Done,
                Stored::Not => {
                    return Err(HttpTrouble::Refused("a condition that was not asked for did not hold".into()));
                }
            },
            // A delete says the same of a key that is there and of one that is not.
            Operation::Delete { key } => self.delete(key).await?,
            Operation::CompareAndSet { key, expected, value } => {
                let condition = match expected {
                    Expected::Absent => (header::IF_NONE_MATCH, HeaderValue::from_static("*")),
                    Expected::Present { version: asked, .. } => match self.etag_of_version(key, asked).await? {
                        Some(etag) => (header::IF_MATCH, etag),
                        None => return Ok(BufferedReply::Conflict),
                    },
                };
                match self.put(key, value, Some(condition)).await? {
                    Stored::Done => BufferedReply::Done,
                    Stored::Not => BufferedReply::Conflict,
                }
            }
            _ => return Err(HttpTrouble::Refused("not native to this store".into())),
        })
    }

    /// Deletes an object that is still the one that was found. Not every server looks at the condition.
    async fn delete(&mut self, key: &[u8]) -> Result<BufferedReply, HttpTrouble> {
        let path = self.path(key);
        for _ in 0..RACES {
            let Some(etag) = self.etag(key).await? else { return Ok(BufferedReply::Missing) };
            let condition = [(header::IF_MATCH, etag)];
            let answered = self.signed.ask(Method::DELETE, &path, "", &condition, Vec::new()).await?;
            match answered.status {
                200 | 204 => return Ok(BufferedReply::Done),
                404 if is_no_key(&answered) => return Ok(BufferedReply::Missing),
                // Another was faster: it is another object now, or none.
                409 | 412 => {}
                _ => return Err(refused(&answered)),
            }
        }
        Err(HttpTrouble::Refused(format!("another client was faster {RACES} times in a row")))
    }

    fn path(&self, key: &[u8]) -> String {
        format!("{}/{}", self.bucket, name_of(key))
    }

    async fn get(&mut self, key: &[u8]) -> Result<Option<Answered>, HttpTrouble> {
        let path = self.path(key);
        let answered = self.signed.ask(Method::GET, &path, "", &[], Vec::new()).await?;
        match answered.status {
            200 => Ok(Some(answered)),
            404 if is_no_key(&answered) => Ok(None),
            _ => Err(refused(&answered)),
        }
    }

    /// Returns the ETag the object has now.
    async fn etag(&mut self, key: &[u8]) -> Result<Option<HeaderValue>, HttpTrouble> {
        let path = self.path(key);
        let answered = self.signed.ask(Method::HEAD, &path, "", &[], Vec::new()).await?;
        match answered.status {
            200 => etag_of(&answered).map(Some),
            // It has no body that could say more.
            404 => Ok(None),
            _ => Err(refused(&answered)),
        }
    }

    /// Returns the ETag that has this version number, if the object still has it.
    async fn etag_of_version(&mut self, key: &[u8], asked: u64) -> Result<Option<HeaderValue>, HttpTrouble> {
        // Another slot may have read a later one.
        let known = self.last.take().filter(|(of, etag)| of == key && version(etag) == asked).map(|(_, etag)| etag);
        let etag = match known {
            Some(etag) => Some(etag),
            None => self.etag(key).await?,
        };
        Ok(etag.filter(|etag| version(etag) == asked))
    }

    async fn put(
        &mut self,
        key: &[u8],
        value: &[u8],
        condition: Option<(HeaderName, HeaderValue)>,
    ) -> Result<Stored, HttpTrouble> {
        let path = self.path(key);
        let answered = self.signed.ask(Method::PUT, &path, "", condition.as_slice(), value.to_vec()).await?;
        match answered.status {
            200 => Ok(Stored::Done),
            // Another was there, or faster; or there was nothing (any more).
            409 | 412 if condition.is_some() => Ok(Stored::Not),
            404 if condition.is_some() && is_no_key(&answered) => Ok(Stored::Not),
            _ => Err(refused(&answered)),
        }
    }
}

/// Returns the name of an object: the key itself where it is letters, digits, `-` and `_`, else `~` and base64. The name needs no escapes in a path.
pub(super) fn name_of(key: &[u8]) -> String {
    let plain = key.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    match std::str::from_utf8(key) {
        Ok(text) if plain => text.to_owned(),
        _ => format!("~{}", URL_SAFE_NO_PAD.encode(key)),
    }
}

fn etag_of(answered: &Answered) -> Result<HeaderValue, HttpTrouble> {
    let etag = answered.headers.get(header::ETAG).cloned();
    etag.ok_or_else(|| HttpTrouble::Nonsense("an object without an ETag".into()))
}

/// Returns a number for an ETag: always the same for the same ETag, and never 0.
fn version(etag: &HeaderValue) -> u64 {
    let mut hasher = DefaultHasher::new();
    etag.as_bytes().hash(&mut hasher);
    hasher.finish().max(1)
}

/// Returns whether the answer means that the object is missing, not the bucket.
fn is_no_key(answered: &Answered) -> bool {
    said(answered, "Code").is_some_and(|code| code == "NoSuchKey")
}

/// Returns the text in an element of the answer.
pub(super) fn said(answered: &Answered, element: &str) -> Option<String> {
    let text = String::from_utf8_lossy(&answered.body);
    let (_, rest) = text.split_once(&format!("<{element}>"))?;
    rest.split_once(&format!("</{element}>")).map(|(words, _)| words.to_owned())
}

#[cold]
pub(super) fn refused(answered: &Answered) -> HttpTrouble {
    let words = match (said(answered, "Code"), said(answered, "Message")) {
        (Some(code), message) => format!("{code}: {}", message.unwrap_or_default()),
        (None, _) => shown(&answered.body),
    };
    HttpTrouble::said(answered.status, &words)
}

#[cfg(test)]
mod tests;
