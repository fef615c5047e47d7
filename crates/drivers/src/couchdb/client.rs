//! One slot: operations as requests for documents.

use super::document::{Document, id_of, key_of, quoted, version, write};
use crate::shared::http::{Answered, Http, HttpTrouble, Method, in_url};
use crate::shared::pairs::last_of_each;
use serde::Deserialize;
use std::collections::HashMap;
use store::asynchronous::{AsyncClient, BufferedReply, ReplyBuffer};
use store::{Expected, Operation, Resent};

/// The retry limit when another writer wins the race.
const CONFLICT_RETRIES: u32 = 1000;

/// A slot's connection to a database.
pub(super) struct Client {
    http: Http,
    /// The path of the database: `/kvtrial`.
    database: String,
    /// The last revision seen, and its key.
    last: Option<(Vec<u8>, String)>,
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

impl AsyncClient for Client {
    async fn execute(&mut self, operation: &Operation<'_>, out: &mut ReplyBuffer) -> BufferedReply {
        match self.carry_out(operation, out).await {
            Ok(answer) => answer,
            Err(trouble) => trouble.reply(out),
        }
    }

    fn believe(&mut self, largest_reply_bytes: u64) {
        self.http.believe(largest_reply_bytes);
    }
}

impl Client {
    /// Makes a slot's client.
    pub(super) fn new(http: Http, database: String, resent: Resent) -> Client {
        Client { http, database, last: None, resent }
    }

    async fn carry_out(
        &mut self,
        operation: &Operation<'_>,
        out: &mut ReplyBuffer,
    ) -> Result<BufferedReply, HttpTrouble> {
        Ok(match *operation {
            Operation::Get { key } => match self.document(key).await? {
                Some((_, value)) => out.value(&value),
                None => BufferedReply::Missing,
            },
            Operation::GetVersioned { key } => match self.document(key).await? {
                Some((rev, value)) => out.versioned(&value, version(&rev)),
                None => BufferedReply::Missing,
            },
            Operation::Put { key, value } => self.put(key, value).await?,
            Operation::Delete { key } => self.delete(key).await?,
            Operation::CompareAndSet { key, expected, value } => {
                let rev = match expected {
                    Expected::Absent => None,
                    Expected::Present { version: asked, .. } => match self.revision_of(key, asked).await? {
                        Some(rev) => Some(rev),
                        None => return Ok(BufferedReply::Conflict),
                    },
                };
                if self.store(key, rev.as_deref(), value).await? {
                    BufferedReply::Done
                } else {
                    BufferedReply::Conflict
                }
            }
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
            _ => return Err(HttpTrouble::Refused("not native to this store".into())),
        })
    }

    /// Returns revision and value.
    async fn document(&mut self, key: &[u8]) -> Result<Option<(String, Vec<u8>)>, HttpTrouble> {
        let id = id_of(key);
        let path = format!("{}/{}", self.database, in_url(&id));
        let answered = self.http.ask(Method::GET, &path, Vec::new()).await?;
        match answered.status {
            200 => {}
            404 => return Ok(None),
            _ => return Err(refused(&answered)),
        }
        let document: Document = parse(&answered)?;
        let rev = document.rev.clone();
        let value = document
            .value()
            .ok_or_else(|| HttpTrouble::Nonsense(format!("document {id} was not written by kvtrial")))?;
        self.remember(key, &rev);
        Ok(Some((rev, value)))
    }

    fn remember(&mut self, key: &[u8], rev: &str) {
        let (known, last) = self.last.get_or_insert_with(Default::default);
        known.clear();
        known.extend_from_slice(key);
        last.clear();
        last.push_str(rev);
    }

    /// Returns the last revision seen, when it belongs to this key.
    fn remembered(&self, key: &[u8]) -> Option<String> {
        self.last.as_ref().filter(|(known, _)| known == key).map(|(_, rev)| rev.clone())
    }

    /// Returns the revision that has this version number, if it is still the current one.
    async fn revision_of(&mut self, key: &[u8], asked: u64) -> Result<Option<String>, HttpTrouble> {
        let rev = match self.remembered(key) {
            Some(rev) => Some(rev),
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
                self.remember(key, &rev);
                Ok(true)
            }
            409 => Ok(false),
            _ => Err(refused(&answered)),
        }
    }

    async fn put(&mut self, key: &[u8], value: &[u8]) -> Result<BufferedReply, HttpTrouble> {
        let mut rev = self.remembered(key);
        for attempt in 0..CONFLICT_RETRIES {
            if self.store(key, rev.as_deref(), value).await? {
                return Ok(BufferedReply::Done);
            }
            // The first conflict only tells that the revision is to be asked for; each further one is a race lost.
            if attempt > 0 {
                self.resent.add();
            }
            rev = self.current_revision(key).await?;
        }
        Err(HttpTrouble::Refused(format!("a conflict {CONFLICT_RETRIES} times in a row")))
    }

    async fn delete(&mut self, key: &[u8]) -> Result<BufferedReply, HttpTrouble> {
        let mut known = self.remembered(key);
        self.last = None;
        for _ in 0..CONFLICT_RETRIES {
            let rev = match known.take() {
                Some(rev) => rev,
                None => match self.current_revision(key).await? {
                    Some(rev) => rev,
                    None => return Ok(BufferedReply::Missing),
                },
            };
            let path = format!("{}/{}?rev={}", self.database, in_url(id_of(key)), in_url(&rev));
            let answered = self.http.ask(Method::DELETE, &path, Vec::new()).await?;
            match answered.status {
                200 | 202 => return Ok(BufferedReply::Done),
                404 => return Ok(BufferedReply::Missing),
                409 => {}
                _ => return Err(refused(&answered)),
            }
        }
        Err(HttpTrouble::Refused(format!("a conflict {CONFLICT_RETRIES} times in a row")))
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
        self.last = None;
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
        Err(HttpTrouble::Refused(format!("a conflict {CONFLICT_RETRIES} times in a row")))
    }
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
