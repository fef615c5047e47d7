//! One slot: operations as requests to the gateway.

use super::cell;
use crate::shared::http::{Answered, Bytes, Http, HttpTrouble, Method};
use crate::shared::pairs::last_of_each;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD as BASE64_IN_URLS};
use serde::Deserialize;
use std::borrow::Cow;
use std::fmt::Write;
use store::asynchronous::{AsyncClient, BufferedReply, ReplyBuffer};
use store::{Expected, Operation, Sweep, Swept};

/// The one family of the table.
pub(super) const FAMILY: &str = "f";

/// The cell `f:v`, in base64 as it stands in paths and bodies alike.
const CELL: &str = "Zjp2";

/// The bytes of a path with many keys: the gateway takes 64 KiB of headers, and one key may have 44 KiB.
const PATH_BYTES: usize = 16 << 10;

/// The bytes of keys and values of one request.
const BATCH_BYTES: usize = 1 << 20;

/// The status of a change whose condition did not hold.
const UNCHANGED: u16 = 304;

/// The retry limit when another client wins the race.
const RACES: u32 = 1000;

/// Rows the gateway is asked for at a time.
const SCAN_ROWS: u32 = 1000;

/// The type of a body that is a value as it is.
const AS_IT_IS: &str = "application/octet-stream";
const JSON: &str = "application/json";

/// A slot's connection to a table.
pub(super) struct Client {
    http: Http,
    table: String,
}

#[derive(Deserialize)]
struct Rows<'a> {
    #[serde(rename = "Row", borrow)]
    rows: Vec<Row<'a>>,
}

#[derive(Deserialize)]
struct Row<'a> {
    key: &'a str,
    #[serde(rename = "Cell", borrow)]
    cells: Vec<RowCell<'a>>,
}

#[derive(Deserialize)]
struct RowCell<'a> {
    column: &'a str,
    #[serde(rename = "$")]
    value: &'a str,
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
    pub(super) fn new(http: Http, table: String) -> Client {
        Client { http, table }
    }

    async fn carry_out(
        &mut self,
        operation: &Operation<'_>,
        out: &mut ReplyBuffer,
    ) -> Result<BufferedReply, HttpTrouble> {
        Ok(match *operation {
            Operation::Get { key } => match self.get(key).await? {
                Some(cell) => out.value(cell::read(&cell).1),
                None => BufferedReply::Missing,
            },
            Operation::GetVersioned { key } => match self.get(key).await? {
                Some(cell) => {
                    let (form, value) = cell::read(&cell);
                    out.versioned(value, form)
                }
                None => BufferedReply::Missing,
            },
            Operation::Put { key, value } => {
                let path = self.row(key, "");
                let answered = self.http.ask_in(AS_IT_IS, Method::PUT, &path, cell::of(value).into_owned()).await?;
                done(&answered)?;
                BufferedReply::Done
            }
            Operation::Delete { key } => self.delete(key).await?,
            Operation::Append { key, value } => self.append(key, value).await?,
            Operation::CompareAndSet { key, expected, value } => self.compare_and_set(key, expected, value).await?,
            Operation::GetMany { keys } => {
                self.get_many(keys, |key, value| out.rows.push(key, value)).await?;
                BufferedReply::Rows
            }
            Operation::PutMany { pairs } => {
                let left = last_of_each(pairs);
                let mut rest = &left[..];
                let mut part_done = false;
                while !rest.is_empty() {
                    let (pairs, after) = rest.split_at(fitting(rest));
                    rest = after;
                    let done_before = std::mem::replace(&mut part_done, true);
                    let answered = self.put_many(pairs).await;
                    answered.map_err(|trouble| if done_before { trouble.in_part() } else { trouble })?;
                }
                BufferedReply::Done
            }
            Operation::Scan { limit: 0, .. } => BufferedReply::Rows,
            Operation::Scan { start, limit } => {
                self.scan(start, limit, "", |key, value| out.rows.push(key, value)).await?;
                BufferedReply::Rows
            }
            _ => return Err(HttpTrouble::Refused("not native to this store".into())),
        })
    }

    /// Returns the path of a key's cell.
    fn row(&self, key: &[u8], what: &str) -> String {
        format!("/{}/{}/{CELL}?e=b64{what}", self.table, BASE64_IN_URLS.encode(key))
    }

    async fn get(&mut self, key: &[u8]) -> Result<Option<Bytes>, HttpTrouble> {
        let answered = self.http.ask_in(AS_IT_IS, Method::GET, &self.row(key, ""), Bytes::new()).await?;
        Ok(found(answered)?.map(|answered| answered.body))
    }

    /// Deletes a key whose value is still the one that was read: HBase does not say whether there was a row.
    async fn delete(&mut self, key: &[u8]) -> Result<BufferedReply, HttpTrouble> {
        for _ in 0..RACES {
            let Some(cell) = self.get(key).await? else { return Ok(BufferedReply::Missing) };
            let answered = self.change(key, "delete", &[&cell]).await?;
            if answered.status != UNCHANGED {
                return done(&answered).map(|()| BufferedReply::Done);
            }
        }
        Err(HttpTrouble::Refused(format!("another client was faster {RACES} times in a row")))
    }

    async fn append(&mut self, key: &[u8], value: &[u8]) -> Result<BufferedReply, HttpTrouble> {
        if value.starts_with(cell::MARK) {
            return Err(HttpTrouble::Refused("it begins like the mark kvtrial puts before empty values here".into()));
        }
        if value.is_empty() {
            // Of a key that is there nothing changes.
            let answered = self.change(key, "put", &[&cell::of(b""), b""]).await?;
            return if answered.status == UNCHANGED { Ok(()) } else { done(&answered) }.map(|()| BufferedReply::Done);
        }
        done(&self.change(key, "append", &[value]).await?)?;
        Ok(BufferedReply::Done)
    }

    async fn remove(&mut self, key: &[u8]) -> Result<BufferedReply, HttpTrouble> {
        let path = format!("/{}/{}?e=b64", self.table, BASE64_IN_URLS.encode(key));
        done(&self.http.ask_in(JSON, Method::DELETE, &path, Bytes::new()).await?)?;
        Ok(BufferedReply::Done)
    }

    /// Changes the cell of a key in another way than replacing it.
    async fn change(&mut self, key: &[u8], how: &str, values: &[&[u8]]) -> Result<Answered, HttpTrouble> {
        let path = self.row(key, &format!("&check={how}"));
        let mut body = Body::default();
        body.row(key, values);
        Ok(self.http.ask_in(JSON, Method::PUT, &path, body.ended()).await?)
    }

    async fn compare_and_set(
        &mut self,
        key: &[u8],
        expected: Expected<'_>,
        value: &[u8],
    ) -> Result<BufferedReply, HttpTrouble> {
        // To HBase an empty cell is no cell; none that kvtrial writes is empty.
        let before = match expected {
            Expected::Absent => Cow::Borrowed(&b""[..]),
            Expected::Present { version, value } => cell::in_form(version, value),
        };
        // The last value is the one to be there.
        let answered = self.change(key, "put", &[&cell::of(value), &before]).await?;
        if answered.status == UNCHANGED {
            return Ok(BufferedReply::Conflict);
        }
        done(&answered)?;
        Ok(BufferedReply::Done)
    }

    /// Hands out the pairs of the keys that are there, in their order.
    async fn get_many(&mut self, keys: &[&[u8]], mut found: impl FnMut(&[u8], &[u8])) -> Result<(), HttpTrouble> {
        let mut left = keys.iter().peekable();
        while left.peek().is_some() {
            let mut path = format!("/{}/multiget?e=b64", self.table);
            while let Some(key) = left.next_if(|_| path.len() < PATH_BYTES) {
                // Writing to a string cannot fail.
                let _ = write!(path, "&row={}/{CELL}", BASE64_IN_URLS.encode(key));
            }
            let answered = self.http.ask_in(JSON, Method::GET, &path, Bytes::new()).await?;
            if let Some(answered) = self::found(answered)? {
                pairs(&answered.body, |key, cell| found(key, cell::read(cell).1))?;
            }
        }
        Ok(())
    }

    async fn put_many(&mut self, pairs: &[&(&[u8], &[u8])]) -> Result<(), HttpTrouble> {
        let mut body = Body::default();
        pairs.iter().for_each(|(key, value)| body.row(key, &[&cell::of(value)]));
        // Rows are named in the body; the gateway wants one in the path as well.
        let path = format!("/{}/rows", self.table);
        done(&self.http.ask_in(JSON, Method::PUT, &path, body.ended()).await?)
    }

    /// Hands out up to `limit` pairs from `start` on, and returns how many. `more` is further JSON of the scanner.
    pub(super) async fn scan(
        &mut self,
        start: &[u8],
        limit: u32,
        more: &str,
        mut found: impl FnMut(&[u8], &[u8]),
    ) -> Result<u32, HttpTrouble> {
        let batch = limit.min(SCAN_ROWS);
        let body = format!(
            r#"{{"batch":{batch},"caching":{batch},"startRow":"{}","column":["{CELL}"]{more}}}"#,
            BASE64.encode(start)
        );
        let made = self.http.ask_in(JSON, Method::PUT, &format!("/{}/scanner", self.table), body).await?;
        let scanner = made.headers.get("location").and_then(|place| place.to_str().ok());
        // The address it gives need not be one it is reached by.
        let scanner = scanner.and_then(|place| place.rsplit('/').next()).filter(|_| made.status == 201);
        let Some(scanner) = scanner else { return Err(refused(&made)) };
        let path = format!("/{}/scanner/{scanner}", self.table);
        let mut rows = 0;
        while rows < limit {
            let answered = self.http.ask_in(JSON, Method::GET, &path, Bytes::new()).await?;
            match answered.status {
                204 => break,
                200 => {}
                _ => return Err(refused(&answered)),
            }
            let before = rows;
            pairs(&answered.body, |key, value| {
                if rows < limit {
                    rows += 1;
                    found(key, cell::read(value).1);
                }
            })?;
            if rows == before {
                break;
            }
        }
        done(&self.http.ask_in(JSON, Method::DELETE, &path, Bytes::new()).await?)?;
        Ok(rows)
    }

    /// Looks for keys, or deletes those that are there, with one request per key: the gateway deletes one row at a time.
    pub(super) async fn sweep(&mut self, sweep: Sweep, keys: &[&[u8]]) -> Result<Swept, HttpTrouble> {
        let mut there = std::collections::HashSet::new();
        self.get_many(keys, |key, _| {
            there.insert(key.to_vec());
        })
        .await?;
        let mut swept = Swept::default();
        for (place, key) in keys.iter().enumerate().filter(|(_, key)| there.contains(**key)) {
            if sweep == Sweep::Delete {
                self.remove(key).await?;
            }
            swept.count(place);
        }
        Ok(swept)
    }

    /// Sends a request that is not about rows of a table.
    pub(super) async fn ask(&mut self, method: Method, path: &str, body: String) -> Result<Answered, HttpTrouble> {
        Ok(self.http.ask_in(JSON, method, path, body).await?)
    }
}

/// A body of rows, being written.
struct Body(String);

impl Default for Body {
    fn default() -> Body {
        Body(r#"{"Row":["#.to_owned())
    }
}

impl Body {
    fn row(&mut self, key: &[u8], values: &[&[u8]]) {
        if self.0.ends_with('}') {
            self.0.push(',');
        }
        self.0.push_str(r#"{"key":""#);
        BASE64.encode_string(key, &mut self.0);
        self.0.push_str(r#"","Cell":["#);
        for (number, value) in values.iter().enumerate() {
            self.0.push_str(if number > 0 { "," } else { "" });
            // Writing to a string cannot fail.
            let _ = write!(self.0, r#"{{"column":"{CELL}","$":""#);
            BASE64.encode_string(value, &mut self.0);
            self.0.push_str(r#""}"#);
        }
        self.0.push_str("]}");
    }

    fn ended(mut self) -> String {
        self.0.push_str("]}");
        self.0
    }
}

/// Returns how many of these pairs go into one request; one at least.
fn fitting(pairs: &[&(&[u8], &[u8])]) -> usize {
    let mut bytes = 0;
    let fit = pairs.iter().take_while(|(key, value)| {
        bytes += key.len() + value.len();
        bytes <= BATCH_BYTES
    });
    fit.count().max(1)
}

/// Hands out the pairs of an answer with rows.
fn pairs(body: &[u8], mut found: impl FnMut(&[u8], &[u8])) -> Result<(), HttpTrouble> {
    let nonsense = |problem: &dyn std::fmt::Display| HttpTrouble::Nonsense(format!("{problem} in {}", shown(body)));
    let read: Rows<'_> = serde_json::from_slice(body).map_err(|error| nonsense(&error))?;
    for row in read.rows {
        let [RowCell { column: CELL, value }] = row.cells[..] else {
            return Err(nonsense(&"a row without its one cell"));
        };
        let key = BASE64.decode(row.key).map_err(|error| nonsense(&error))?;
        let value = BASE64.decode(value).map_err(|error| nonsense(&error))?;
        found(&key, &value);
    }
    Ok(())
}

/// Returns an answer with rows; `None`: there is no such row, or none of these rows. With the same status the gateway says that there is no such
/// table, in more words.
fn found(answered: Answered) -> Result<Option<Answered>, HttpTrouble> {
    match answered.status {
        200 => Ok(Some(answered)),
        404 if matches!(answered.body.trim_ascii(), b"Not found" | b"No rows found.") => Ok(None),
        _ => Err(refused(&answered)),
    }
}

pub(super) fn done(answered: &Answered) -> Result<(), HttpTrouble> {
    if answered.status == 200 { Ok(()) } else { Err(refused(answered)) }
}

/// Returns the gateway's words as a refusal: their first two lines, without Java's lines behind them.
#[cold]
pub(super) fn refused(answered: &Answered) -> HttpTrouble {
    let words = String::from_utf8_lossy(&answered.body);
    let words: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).take(2).collect();
    HttpTrouble::said(answered.status, &shown(words.join(": ").as_bytes()))
}

fn shown(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(200)]).trim().to_owned()
}

#[cfg(test)]
mod tests;
