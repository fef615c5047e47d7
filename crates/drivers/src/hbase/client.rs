//! One slot: operations as requests to the gateway.

use super::cell;
use crate::shared::http::{Answered, Bytes, Http, HttpTrouble, Method};
use crate::shared::pairs::{last_of_each, parts};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD as BASE64_IN_URLS};
use serde::Deserialize;
use std::borrow::Cow;
use std::fmt::Write;
use store::asynchronous::{AsyncRecords, BufferedReply, ReplyBuffer};
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

impl AsyncRecords for Client {
    type Value = Bytes;
    /// The form of the value's cell.
    type Tag = u64;
    type Trouble = HttpTrouble;

    async fn get(&mut self, key: &[u8]) -> Result<Option<(Bytes, u64)>, HttpTrouble> {
        Ok(self.cell(key).await?.map(|cell| {
            let (form, value) = cell::read(&cell);
            (cell.slice_ref(value), form)
        }))
    }

    fn version(&mut self, _: &[u8], form: u64) -> Result<u64, HttpTrouble> {
        Ok(form)
    }

    async fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), HttpTrouble> {
        let path = self.row(key, "");
        done(&self.http.ask_in(AS_IT_IS, Method::PUT, &path, cell::of(value).into_owned()).await?)
    }

    /// Deletes a key whose value is still the one that was read: HBase does not say whether there was a row.
    async fn delete(&mut self, key: &[u8]) -> Result<bool, HttpTrouble> {
        for _ in 0..RACES {
            let Some(cell) = self.cell(key).await? else { return Ok(false) };
            let answered = self.change(key, "delete", &[&cell]).await?;
            if answered.status != UNCHANGED {
                return done(&answered).map(|()| true);
            }
        }
        Err(HttpTrouble::Refused(format!("another client was faster {RACES} times in a row")))
    }

    async fn swap(&mut self, key: &[u8], expected: Expected<'_>, value: &[u8]) -> Result<bool, HttpTrouble> {
        // To HBase an empty cell is no cell; none that kvtrial writes is empty.
        let before = match expected {
            Expected::Absent => Cow::Borrowed(&b""[..]),
            Expected::Present { version, value } => cell::in_form(version, value),
        };
        // The last value is the one to be there.
        let answered = self.change(key, "put", &[&cell::of(value), &before]).await?;
        if answered.status == UNCHANGED { Ok(false) } else { done(&answered).map(|()| true) }
    }

    async fn further(
        &mut self,
        operation: &Operation<'_>,
        out: &mut ReplyBuffer,
    ) -> Result<BufferedReply, HttpTrouble> {
        Ok(match *operation {
            Operation::Append { key, value } => self.append(key, value).await.map(|()| BufferedReply::Done)?,
            Operation::GetMany { keys } => {
                self.get_many(keys, |key, value| out.rows.push(key, value)).await?;
                BufferedReply::Rows
            }
            Operation::PutMany { pairs } => {
                let left = last_of_each(pairs);
                for (done, pairs) in parts(&left, usize::MAX, BATCH_BYTES).enumerate() {
                    self.put_many(pairs).await.map_err(|trouble| trouble.after(done))?;
                }
                BufferedReply::Done
            }
            Operation::Scan { limit: 0, .. } => BufferedReply::Rows,
            Operation::Scan { start, limit } => {
                self.scan(start, limit, "", |key, value| out.rows.push(key, value)).await?;
                BufferedReply::Rows
            }
            _ => out.not_native(),
        })
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

    /// Returns the path of a key's cell.
    fn row(&self, key: &[u8], what: &str) -> String {
        format!("/{}/{}/{CELL}?e=b64{what}", self.table, BASE64_IN_URLS.encode(key))
    }

    async fn cell(&mut self, key: &[u8]) -> Result<Option<Bytes>, HttpTrouble> {
        let answered = self.http.ask_in(AS_IT_IS, Method::GET, &self.row(key, ""), Bytes::new()).await?;
        Ok(found(answered)?.map(|answered| answered.body))
    }

    async fn append(&mut self, key: &[u8], value: &[u8]) -> Result<(), HttpTrouble> {
        if value.starts_with(cell::MARK) {
            return Err(HttpTrouble::Refused("it begins like the mark kvtrial puts before empty values here".into()));
        }
        if value.is_empty() {
            // Of a key that is there nothing changes.
            let answered = self.change(key, "put", &[&cell::of(b""), b""]).await?;
            return if answered.status == UNCHANGED { Ok(()) } else { done(&answered) };
        }
        done(&self.change(key, "append", &[value]).await?)
    }

    async fn remove(&mut self, key: &[u8]) -> Result<(), HttpTrouble> {
        let path = format!("/{}/{}?e=b64", self.table, BASE64_IN_URLS.encode(key));
        done(&self.http.ask_in(JSON, Method::DELETE, &path, Bytes::new()).await?)
    }

    /// Changes the cell of a key in another way than replacing it.
    async fn change(&mut self, key: &[u8], how: &str, values: &[&[u8]]) -> Result<Answered, HttpTrouble> {
        let path = self.row(key, &format!("&check={how}"));
        let mut body = Body::default();
        body.row(key, values);
        Ok(self.http.ask_in(JSON, Method::PUT, &path, body.ended()).await?)
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
