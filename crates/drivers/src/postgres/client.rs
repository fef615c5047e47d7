//! One slot, and the connection with its prepared statements that the slots of a client share.

use super::bounded::Believed;
use super::layout::{Layout, Sql, TYPES};
use super::setup::{enter, open, words};
use super::sql::Scripted;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use store::asynchronous::{AsyncClient, BufferedReply, ReplyBuffer};
use store::{Endpoint, Expected, NOTHING_EXPIRES, Operation, Resent, StoreError};
use tokio::sync::Mutex;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row, Statement};

/// The retry limit for statements that the server undid to end a deadlock.
const DEADLOCK_RETRIES: u32 = 100;

/// A client's connection, opened again by the first slot that finds it broken.
pub(super) struct Line {
    endpoint: Endpoint,
    layout: Layout,
    link: RefCell<Option<Rc<Link>>>,
    opening: Mutex<()>,
    /// The limit of replies on every connection, once it was set.
    believed: Cell<Option<u64>>,
}

/// A connection and its statements.
pub(super) struct Link {
    pub(super) client: tokio_postgres::Client,
    prepared: Vec<Statement>,
    pub(super) scripted: Scripted,
    believed: Believed,
}

impl Line {
    /// Opens the connection.
    pub(super) async fn open(endpoint: Endpoint, layout: Layout) -> Result<Line, StoreError> {
        let link = Link::prepare(enter(&endpoint).await?, layout).await;
        let link = link.map_err(|error| StoreError::open(&endpoint, words(&error)))?;
        let link = RefCell::new(Some(Rc::new(link)));
        Ok(Line { endpoint, layout, link, opening: Mutex::new(()), believed: Cell::new(None) })
    }

    fn current(&self) -> Option<Rc<Link>> {
        self.link.borrow().as_ref().filter(|link| !link.client.is_closed()).cloned()
    }

    async fn link(&self) -> Result<Rc<Link>, Trouble> {
        if let Some(link) = self.current() {
            return Ok(link);
        }
        // The others wait for the one that opens.
        let _opening = self.opening.lock().await;
        if let Some(link) = self.current() {
            return Ok(link);
        }
        let link = Rc::new(Link::prepare(open(&self.endpoint).await.map_err(Trouble::Closed)?, self.layout).await?);
        if let Some(bytes) = self.believed.get() {
            link.believed.believe(bytes);
        }
        *self.link.borrow_mut() = Some(link.clone());
        Ok(link)
    }
}

/// The way in which an operation failed.
enum Trouble {
    /// There is no connection, in words.
    Closed(String),
    /// The driver reports an error.
    Driver(Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble::Driver(error)
    }
}

/// A slot's handle.
pub(super) struct Client {
    line: Rc<Line>,
    resent: Resent,
}

impl Client {
    /// Makes a slot on a client's connection.
    pub(super) fn new(line: Rc<Line>, resent: Resent) -> Client {
        Client { line, resent }
    }
}

impl AsyncClient for Client {
    async fn execute(&mut self, operation: &Operation<'_>, out: &mut ReplyBuffer) -> BufferedReply {
        let mut tries = 0;
        loop {
            let result = match self.line.link().await {
                Ok(link) => link.carry_out(operation, out).await.map_err(|error| (error, Some(link))),
                Err(Trouble::Driver(error)) => Err((error, None)),
                Err(Trouble::Closed(words)) => return out.not_connected(words),
            };
            match result {
                Ok(answer) => return answer,
                Err((error, _)) if undone(&error) && tries < DEADLOCK_RETRIES => {
                    tries += 1;
                    self.resent.add();
                }
                Err((error, link)) => return fail(&error, link.as_deref(), out),
            }
        }
    }

    fn give_up(&mut self) {
        // A transaction may be open on it.
        self.line.link.borrow_mut().take();
    }

    fn believe(&mut self, largest_reply_bytes: u64) {
        self.line.believed.set(Some(largest_reply_bytes));
        if let Some(link) = self.line.current() {
            link.believed.believe(largest_reply_bytes);
        }
    }
}

/// Returns whether the server undid the statement because of another one.
pub(super) fn undone(error: &Error) -> bool {
    matches!(error.code(), Some(&SqlState::T_R_DEADLOCK_DETECTED | &SqlState::T_R_SERIALIZATION_FAILURE))
}

#[cold]
fn fail(error: &Error, link: Option<&Link>, out: &mut ReplyBuffer) -> BufferedReply {
    if let Some(words) = link.and_then(|link| link.believed.broken_by()) {
        return out.protocol(words);
    }
    // Classes 57P (shutting down, crashed, not yet up) and 08 (connection): the connection ends.
    let last_words = error.code().is_some_and(|code| code.code().starts_with("57P") || code.code().starts_with("08"));
    let lost = link.is_none_or(|link| link.client.is_closed());
    if link.is_none() {
        out.not_connected(words(error))
    } else if error.code() == Some(&SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN) {
        out.unknown(words(error))
    } else if last_words || (error.as_db_error().is_none() && (lost || error.is_closed())) {
        out.connection_lost(words(error))
    } else if error.as_db_error().is_some() || error.to_string().contains("serializing") {
        out.refused(words(error))
    } else {
        out.protocol(words(error))
    }
}

type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

impl Link {
    async fn prepare((client, believed): (tokio_postgres::Client, Believed), layout: Layout) -> Result<Link, Error> {
        layout.ready(&client).await?;
        let mut prepared = Vec::with_capacity(TYPES.len());
        for (text, types) in layout.statements().iter().zip(TYPES) {
            prepared.push(client.prepare_typed(text, types).await?);
        }
        Ok(Link { client, prepared, scripted: Scripted::default(), believed })
    }

    async fn row(&self, sql: Sql, params: Params<'_>) -> Result<Option<Row>, Error> {
        self.client.query_opt(&self.prepared[sql as usize], params).await
    }

    async fn rows(&self, sql: Sql, params: Params<'_>) -> Result<Vec<Row>, Error> {
        self.client.query(&self.prepared[sql as usize], params).await
    }

    /// Runs a statement without rows, and returns the number of rows it changed.
    async fn run(&self, sql: Sql, params: Params<'_>) -> Result<u64, Error> {
        self.client.execute(&self.prepared[sql as usize], params).await
    }

    async fn carry_out(&self, operation: &Operation<'_>, out: &mut ReplyBuffer) -> Result<BufferedReply, Error> {
        Ok(match *operation {
            Operation::Get { key } => match self.row(Sql::Get, &[&key]).await? {
                Some(row) => out.value(row.try_get(0)?),
                None => BufferedReply::Missing,
            },
            Operation::GetVersioned { key } => match self.row(Sql::Get, &[&key]).await? {
                Some(row) => out.versioned(row.try_get(0)?, 0),
                None => BufferedReply::Missing,
            },
            Operation::Put { key, value } => {
                self.run(Sql::Put, &[&key, &value]).await?;
                BufferedReply::Done
            }
            Operation::Delete { key } => match self.run(Sql::Delete, &[&key]).await? {
                0 => BufferedReply::Missing,
                _ => BufferedReply::Done,
            },
            Operation::Append { key, value } => {
                self.run(Sql::Append, &[&key, &value]).await?;
                BufferedReply::Done
            }
            Operation::Increment { key, by } => number(self.row(Sql::Increment, &[&key, &by]).await?)?,
            Operation::GetCounter { key } => number(self.row(Sql::GetCounter, &[&key]).await?)?,
            Operation::IncrementField { key, field, by } => {
                number(self.row(Sql::IncrementField, &[&key, &field, &by]).await?)?
            }
            Operation::GetFields { key } => {
                for row in self.rows(Sql::GetFields, &[&key]).await? {
                    let count: i64 = row.try_get(1)?;
                    out.rows.push(row.try_get(0)?, count.to_string().as_bytes());
                }
                BufferedReply::Rows
            }
            Operation::CompareAndSet { key, expected, value } => {
                let stored = match expected {
                    Expected::Absent => self.run(Sql::Insert, &[&key, &value]).await?,
                    Expected::Present { value: old, .. } => self.run(Sql::Swap, &[&key, &value, &old]).await?,
                };
                if stored == 1 { BufferedReply::Done } else { BufferedReply::Conflict }
            }
            Operation::GetMany { keys } => {
                for row in self.rows(Sql::GetMany, &[&keys]).await? {
                    out.rows.push(row.try_get(0)?, row.try_get(1)?);
                }
                BufferedReply::Rows
            }
            Operation::PutMany { pairs } => self.put_many(pairs).await?,
            Operation::PutTtl { .. }
            | Operation::Touch { .. }
            | Operation::TimeLeft { .. }
            | Operation::Command { .. } => out.refused(NOTHING_EXPIRES),
            Operation::Sql { statement, values } => self.sql(statement, values, out).await?,
            Operation::Scan { start, limit } => {
                for row in self.rows(Sql::Scan, &[&start, &i64::from(limit)]).await? {
                    out.rows.push(row.try_get(0)?, row.try_get(1)?);
                }
                BufferedReply::Rows
            }
        })
    }

    /// Stores pairs. An upsert may meet each key only once; pairs with a repeated key go another, slower way.
    async fn put_many(&self, pairs: &[(&[u8], &[u8])]) -> Result<BufferedReply, Error> {
        let (keys, values): (Vec<&[u8]>, Vec<&[u8]>) = pairs.iter().copied().unzip();
        match self.run(Sql::PutMany, &[&keys, &values]).await {
            Err(error) if error.code() == Some(&SqlState::CARDINALITY_VIOLATION) => {
                self.run(Sql::PutManyDistinct, &[&keys, &values]).await?;
            }
            result => {
                result?;
            }
        }
        Ok(BufferedReply::Done)
    }
}

fn number(row: Option<Row>) -> Result<BufferedReply, Error> {
    row.map_or(Ok(BufferedReply::Missing), |row| row.try_get(0).map(BufferedReply::Number))
}
