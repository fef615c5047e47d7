//! One slot: operations as requests for objects.

use crate::shared::aws::{Signed, shown};
use crate::shared::http::{Answered, Bytes, HttpTrouble, Method, header};
use crate::shared::last::Last;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use header::{HeaderName, HeaderValue};
use std::hash::{DefaultHasher, Hash, Hasher};
use store::Expected;
use store::asynchronous::AsyncRecords;

/// A slot's connection to a bucket.
pub(super) struct Client {
    signed: Signed,
    /// The path of the bucket: `/kvtrial`.
    bucket: String,
    /// The ETag that was read last.
    last: Last<HeaderValue>,
}

/// The retry limit when another client wins the race.
const RACES: u32 = 1000;

impl AsyncRecords for Client {
    type Value = Bytes;
    /// The ETag. Only a version needs one.
    type Tag = Option<HeaderValue>;
    type Trouble = HttpTrouble;

    async fn get(&mut self, key: &[u8]) -> Result<Option<(Bytes, Option<HeaderValue>)>, HttpTrouble> {
        let path = self.path(key);
        let answered = self.signed.ask(Method::GET, &path, "", &[], Vec::new()).await?;
        match answered.status {
            200 => {
                let etag = answered.headers.get(header::ETAG).cloned();
                Ok(Some((answered.body, etag)))
            }
            404 if is_no_key(&answered) => Ok(None),
            _ => Err(refused(&answered)),
        }
    }

    fn version(&mut self, key: &[u8], etag: Option<HeaderValue>) -> Result<u64, HttpTrouble> {
        let etag = etag.ok_or_else(no_etag)?;
        let version = version(&etag);
        self.last.remember(key, etag);
        Ok(version)
    }

    async fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), HttpTrouble> {
        self.store(key, value, None).await.map(drop)
    }

    /// Deletes an object that is still the one that was found. Not every server looks at the condition.
    /// A delete says the same of a key that is there and of one that is not, so the object is looked for first.
    async fn delete(&mut self, key: &[u8]) -> Result<bool, HttpTrouble> {
        let path = self.path(key);
        for _ in 0..RACES {
            let Some(etag) = self.etag(key).await? else { return Ok(false) };
            let condition = [(header::IF_MATCH, etag)];
            let answered = self.signed.ask(Method::DELETE, &path, "", &condition, Vec::new()).await?;
            match answered.status {
                200 | 204 => return Ok(true),
                404 if is_no_key(&answered) => return Ok(false),
                // Another was faster: it is another object now, or none.
                409 | 412 => {}
                _ => return Err(refused(&answered)),
            }
        }
        Err(HttpTrouble::Refused(format!("another client was faster {RACES} times in a row")))
    }

    async fn swap(&mut self, key: &[u8], expected: Expected<'_>, value: &[u8]) -> Result<bool, HttpTrouble> {
        let condition = match expected {
            Expected::Absent => (header::IF_NONE_MATCH, HeaderValue::from_static("*")),
            Expected::Present { version: asked, .. } => match self.etag_of_version(key, asked).await? {
                Some(etag) => (header::IF_MATCH, etag),
                None => return Ok(false),
            },
        };
        self.store(key, value, Some(condition)).await
    }

    fn believe(&mut self, largest_reply_bytes: u64) {
        self.signed.believe(largest_reply_bytes);
    }
}

impl Client {
    /// Makes a slot's client.
    pub(super) fn new(signed: Signed, bucket: String) -> Client {
        Client { signed, bucket, last: Last::default() }
    }

    fn path(&self, key: &[u8]) -> String {
        format!("{}/{}", self.bucket, name_of(key))
    }

    /// Returns the ETag the object has now.
    async fn etag(&mut self, key: &[u8]) -> Result<Option<HeaderValue>, HttpTrouble> {
        let path = self.path(key);
        let answered = self.signed.ask(Method::HEAD, &path, "", &[], Vec::new()).await?;
        match answered.status {
            200 => answered.headers.get(header::ETAG).cloned().ok_or_else(no_etag).map(Some),
            // It has no body that could say more.
            404 => Ok(None),
            _ => Err(refused(&answered)),
        }
    }

    /// Returns the ETag that has this version number, if the object still has it.
    async fn etag_of_version(&mut self, key: &[u8], asked: u64) -> Result<Option<HeaderValue>, HttpTrouble> {
        // Another slot may have read a later one.
        let etag = match self.last.take(key).filter(|etag| version(etag) == asked) {
            Some(etag) => Some(etag),
            None => self.etag(key).await?,
        };
        Ok(etag.filter(|etag| version(etag) == asked))
    }

    /// Stores a value, and returns whether the condition held.
    async fn store(
        &mut self,
        key: &[u8],
        value: &[u8],
        condition: Option<(HeaderName, HeaderValue)>,
    ) -> Result<bool, HttpTrouble> {
        let path = self.path(key);
        let answered = self.signed.ask(Method::PUT, &path, "", condition.as_slice(), value.to_vec()).await?;
        match answered.status {
            200 => Ok(true),
            // Another was there, or faster; or there was nothing (any more).
            409 | 412 if condition.is_some() => Ok(false),
            404 if condition.is_some() && is_no_key(&answered) => Ok(false),
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

fn no_etag() -> HttpTrouble {
    HttpTrouble::Nonsense("an object without an ETag".into())
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
