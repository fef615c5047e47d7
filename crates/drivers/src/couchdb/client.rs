//! One slot: operations as requests for documents.

use super::document::{Document, id_of, key_of, quoted, version, write};
use crate::shared::http::{Answered, Http, HttpTrouble, Method, in_url};
use crate::shared::last::Last;
use crate::shared::pairs::last_of_each;
use serde::Deserialize;
use std::collections::HashMap;
use store::asynchronous::{AsyncRecords, BufferedReply, ReplyBuffer};
use store::{Expected, Operation, Resent};

/// The retry limit when another writer wins the race.
const CONFLICT_RETRIES: u32 = 1000;

/// A slot's connection to a database.
pub(super) struct Client {
    http: Http,
    /// The path of the database: `/kvtrial`.
    database: String,
    /// The last revision seen.
    last: Last<String>,
    resent: Resent,
}

/// The result of changing a document.
#[derive(Deserialize)]
struct Changed {
    rev: Option<String>,
    error: Option<String>,
    reason: Option<String>,
}

/// A row of `_all_docs`.
#[derive(Deserialize)]
struct AllDocsRow {
    id: Option<String>,
    value: Option<AllDocsValue>,
    doc: Option<Document>,
}

#[derive(Deserialize)]
struct AllDocsValue {
    rev: String,
    #[serde(default)]
    deleted: bool,
}

#[derive(Deserialize)]
struct AllDocs {
    rows: Vec<AllDocsRow>,
}

impl AsyncRecords for Client {
    type Value = Vec<u8>;
    type Tag = u64;
    type Trouble = HttpTrouble;

    async fn get(&mut self, key: &[u8]) -> Result<Option<(Vec<u8>, u64)>, HttpTrouble> {
        let id = id_of(key);
        let path = format!("{}/{}", self.database, in_url(&id));
        let answered = self.http.ask(Method::GET, &path, Vec::new()).await?;
        match answered.status {
            200 => {}
            404 => return Ok(None),
            _ => return Err(refused(&answered)),
        }
        let mut document: Document = parse(&answered)?;
        let rev = std::mem::take(&mut document.rev);
        let value = document
            .value()
            .ok_or_else(|| HttpTrouble::Nonsense(format!("document {id} was not written by kvtrial")))?;
        let version = version(&rev);
        self.last.remember(key, rev);
        Ok(Some((value, version)))
    }

    fn version(&mut self, _: &[u8], version: u64) -> Result<u64, HttpTrouble> {
        Ok(version)
    }

    async fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), HttpTrouble> {
        let mut rev = self.last.of(key).cloned();
        for attempt in 0..CONFLICT_RETRIES {
            if self.store(key, rev.as_deref(), value).await? {
                return Ok(());
            }
            // The first conflict only tells that the revision is to be asked for; each further one is a race lost.
            if attempt > 0 {
                self.resent.add();
            }
            rev = self.current_revision(key).await?;
        }
        Err(always_a_conflict())
    }

    async fn delete(&mut self, key: &[u8]) -> Result<bool, HttpTrouble> {
        let mut known = self.last.take(key);
        for _ in 0..CONFLICT_RETRIES {
            let rev = match known.take() {
                Some(rev) => rev,
                None => match self.current_revision(key).await? {
                    Some(rev) => rev,
                    None => return Ok(false),
                },
            };
            let path = format!("{}/{}?rev={}", self.database, in_url(id_of(key)), in_url(&rev));
            let answered = self.http.ask(Method::DELETE, &path, Vec::new()).await?;
            match answered.status {
                200 | 202 => return Ok(true),
                404 => return Ok(false),
                409 => {}
                _ => return Err(refused(&answered)),
            }
        }
        Err(always_a_conflict())
    }

    async fn swap(&mut self, key: &[u8], expected: Expected<'_>, value: &[u8]) -> Result<bool, HttpTrouble> {
        let rev = match expected {
            Expected::Absent => None,
            Expected::Present { version: asked, .. } => match self.revision_of(key, asked).await? {
                Some(rev) => Some(rev),
                None => return Ok(false),
            },
        };
        self.store(key, rev.as_deref(), value).await
    }

    async fn further(
        &mut self,
        operation: &Operation<'_>,
        out: &mut ReplyBuffer,
    ) -> Result<BufferedReply, HttpTrouble> {
        Ok(match *operation {
            Operation::GetMany { keys } => {
                let ids: Vec<String> = keys.iter().map(|key| id_of(key)).collect();
                for row in self.all_docs(&ids, "?include_docs=true").await? {
                    let (Some(id), Some(document)) = (row.id, row.doc) else { continue };
                    match (key_of(&id), document.value()) {
                        (Some(key), Some(value)) => out.rows.push(&key, &value),
                        _ => return Err(HttpTrouble::Nonsense(format!("document {id} was not written by kvtrial"))),
                    }
                }
                BufferedReply::Rows
            }
            Operation::PutMany { pairs } => self.put_many(pairs).await?,
            _ => out.not_native(),
        })
    }

    fn believe(&mut self, largest_reply_bytes: u64) {
        self.http.believe(largest_reply_bytes);
    }
}

impl Client {
    /// Makes a slot's client.
    pub(super) fn new(http: Http, database: String, resent: Resent) -> Client {
        Client { http, database, last: Last::default(), resent }
    }

    /// Returns the revision that has this version number, if it is still the current one.
    async fn revision_of(&mut self, key: &[u8], asked: u64) -> Result<Option<String>, HttpTrouble> {
        let rev = match self.last.of(key) {
            Some(rev) => Some(rev.clone()),
            None => self.current_revision(key).await?,
        };
        Ok(rev.filter(|rev| version(rev) == asked))
    }

    async fn current_revision(&mut self, key: &[u8]) -> Result<Option<String>, HttpTrouble> {
        let path = format!("{}/_all_docs?key={}", self.database, in_url(quoted(&id_of(key))));
        let answered = self.http.ask(Method::GET, &path, Vec::new()).await?;
        if answered.status != 200 {
            return Err(refused(&answered));
        }
        let found: AllDocs = parse(&answered)?;
        Ok(found.rows.into_iter().find_map(|row| row.value).filter(|value| !value.deleted).map(|value| value.rev))
    }

    /// Writes a document over the given revision, or a new document; returns false when the server has another revision.
    async fn store(&mut self, key: &[u8], rev: Option<&str>, value: &[u8]) -> Result<bool, HttpTrouble> {
        let id = id_of(key);
        let mut body = Vec::with_capacity(value.len() + 64);
        write(&mut body, &id, rev, value);
        let path = format!("{}/{}", self.database, in_url(&id));
        let answered = self.http.ask(Method::PUT, &path, body).await?;
        match answered.status {
            201 | 202 => {
                let changed: Changed = parse(&answered)?;
                let rev = changed.rev.ok_or_else(|| HttpTrouble::Nonsense("stored, but as no revision".into()))?;
                self.last.remember(key, rev);
                Ok(true)
            }
            409 => Ok(false),
            _ => Err(refused(&answered)),
        }
    }

    async fn all_docs(&mut self, ids: &[String], query: &str) -> Result<Vec<AllDocsRow>, HttpTrouble> {
        let body = format!("{{\"keys\":{}}}", serde_json::Value::from(ids)).into_bytes();
        let answered = self.http.ask(Method::POST, &format!("{}/_all_docs{query}", self.database), body).await?;
        if answered.status != 200 {
            return Err(refused(&answered));
        }
        parse::<AllDocs>(&answered).map(|found| found.rows)
    }

    /// Puts new documents in one request, `_bulk_docs`; those that exist come back as conflicts and are sent again with their revisions.
    async fn put_many(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<BufferedReply, HttpTrouble> {
        self.last.forget();
        let mut left: Vec<(String, &[u8])> =
            last_of_each(pairs).into_iter().map(|(key, value)| (id_of(key), *value)).collect();
        let mut revs: HashMap<String, String> = HashMap::new();
        for _ in 0..CONFLICT_RETRIES {
            let mut body = b"{\"docs\":[".to_vec();
            for (at, (id, value)) in left.iter().enumerate() {
                if at > 0 {
                    body.push(b',');
                }
                write(&mut body, id, revs.get(id).map(String::as_str), value);
            }
            body.extend_from_slice(b"]}");
            let answered = self.http.ask(Method::POST, &format!("{}/_bulk_docs", self.database), body).await?;
            if answered.status != 201 && answered.status != 202 {
                return Err(refused(&answered));
            }
            let changed: Vec<Changed> = parse(&answered)?;
            if changed.len() != left.len() {
                return Err(HttpTrouble::Nonsense(format!("{} answers to {} documents", changed.len(), left.len())));
            }
            let alone = pairs.len() == 1;
            let mut again = Vec::new();
            for (document, changed) in left.drain(..).zip(changed) {
                match changed.error.as_deref() {
                    None => {}
                    Some("conflict") => again.push(document),
                    Some(error) => {
                        // Of a batch the others are stored.
                        let trouble = HttpTrouble::Refused(format!("{error}: {}", changed.reason.unwrap_or_default()));
                        return Err(if alone { trouble } else { trouble.in_part() });
                    }
                }
            }
            if again.is_empty() {
                return Ok(BufferedReply::Done);
            }
            left = again;
            let ids: Vec<String> = left.iter().map(|(id, _)| id.clone()).collect();
            revs.clear();
            for row in self.all_docs(&ids, "").await? {
                if let (Some(id), Some(value)) = (row.id, row.value)
                    && !value.deleted
                {
                    revs.insert(id, value.rev);
                }
            }
        }
        Err(always_a_conflict())
    }
}

#[cold]
fn always_a_conflict() -> HttpTrouble {
    HttpTrouble::Refused(format!("a conflict {CONFLICT_RETRIES} times in a row"))
}

fn parse<'a, T: Deserialize<'a>>(answered: &'a Answered) -> Result<T, HttpTrouble> {
    serde_json::from_slice(&answered.body).map_err(|error| {
        let begin = String::from_utf8_lossy(&answered.body[..answered.body.len().min(200)]).into_owned();
        HttpTrouble::Nonsense(format!("{error} in {begin}"))
    })
}

#[cold]
fn refused(answered: &Answered) -> HttpTrouble {
    let said = match serde_json::from_slice::<Changed>(&answered.body) {
        Ok(Changed { error, reason, .. }) => format!("{} {}", error.unwrap_or_default(), reason.unwrap_or_default()),
        Err(_) => String::from_utf8_lossy(&answered.body[..answered.body.len().min(200)]).into_owned(),
    };
    HttpTrouble::said(answered.status, &said)
}

#[cfg(test)]
mod tests;
