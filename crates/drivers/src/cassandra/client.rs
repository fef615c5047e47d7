//! One slot, and the statements and connections that the slots of a thread share.

use scylla::client::session::Session;
use scylla::deserialize::row::ColumnIterator;
use scylla::errors::{DbError, ExecutionError, PrepareError, RequestAttemptError};
use scylla::response::query_result::QueryResult;
use scylla::serialize::row::SerializeRow;
use scylla::statement::prepared::PreparedStatement;
use std::fmt::Display;
use std::hash::{DefaultHasher, Hasher};
use std::rc::Rc;
use std::sync::Arc;
use store::asynchronous::{AsyncClient, BufferedReply, ReplyBuffer};
use store::{Expected, LASTS, Operation};
use tokio::sync::{Mutex, MutexGuard};

/// The statements, prepared once.
#[derive(Clone, Copy)]
enum Cql {
    Get,
    Put,
    Delete,
    Insert,
    Swap,
    PutTtl,
    TimeLeft,
}

/// Returns the texts of the statements for a table.
fn texts(table: &str) -> [String; 7] {
    [
        format!("SELECT v FROM {table} WHERE k = ?"),
        format!("INSERT INTO {table} (k, v) VALUES (?, ?)"),
        format!("DELETE FROM {table} WHERE k = ? IF EXISTS"),
        format!("INSERT INTO {table} (k, v) VALUES (?, ?) IF NOT EXISTS"),
        format!("UPDATE {table} SET v = ? WHERE k = ? IF v = ?"),
        format!("INSERT INTO {table} (k, v) VALUES (?, ?) USING TTL ?"),
        format!("SELECT TTL(v) FROM {table} WHERE k = ?"),
    ]
}

/// The rule for whose turn it is to change a key in a transaction, for all clients of a store.
pub(super) enum Turns {
    /// No turns: transactions meet as those of strangers do.
    Off,
    /// Turns: transactions on one key wait for each other, and now and then for transactions on another key.
    On(Box<[Mutex<()>; 256]>),
}

impl Turns {
    /// Makes turns, so that transactions wait for each other.
    pub(super) fn on() -> Turns {
        Turns::On(Box::new(std::array::from_fn(|_| Mutex::default())))
    }

    async fn take(&self, key: &[u8]) -> Option<MutexGuard<'_, ()>> {
        let Turns::On(turns) = self else { return None };
        let mut hasher = DefaultHasher::new();
        hasher.write(key);
        Some(turns[hasher.finish() as usize % turns.len()].lock().await)
    }
}

/// The statements and connections that the slots of a thread share.
pub(super) struct Line {
    session: Session,
    turns: Arc<Turns>,
    prepared: Vec<PreparedStatement>,
}

impl Line {
    /// Prepares the statements.
    pub(super) async fn new(session: Session, table: &str, turns: Arc<Turns>) -> Result<Line, PrepareError> {
        let mut prepared = Vec::new();
        for text in texts(table) {
            prepared.push(session.prepare(text).await?);
        }
        // The table does not change: what columns it has need not come with every answer.
        prepared[Cql::Get as usize].set_use_cached_result_metadata(true);
        Ok(Line { session, turns, prepared })
    }

    async fn run(&self, cql: Cql, values: impl SerializeRow) -> Result<QueryResult, Trouble> {
        Ok(self.session.execute_unpaged(&self.prepared[cql as usize], values).await?)
    }

    /// Hands on the value of a key.
    async fn get(&self, key: &[u8], mut found: impl FnMut(&[u8]) -> BufferedReply) -> Result<BufferedReply, Trouble> {
        let rows = self.run(Cql::Get, (key,)).await?.into_rows_result().map_err(nonsense)?;
        let row = rows.maybe_first_row::<(&[u8],)>().map_err(nonsense)?;
        Ok(row.map_or(BufferedReply::Missing, |(value,)| found(value)))
    }

    /// Returns the milliseconds that the value of a key has left.
    async fn time_left(&self, key: &[u8]) -> Result<BufferedReply, Trouble> {
        let rows = self.run(Cql::TimeLeft, (key,)).await?.into_rows_result().map_err(nonsense)?;
        let row = rows.maybe_first_row::<(Option<i32>,)>().map_err(nonsense)?;
        Ok(row.map_or(BufferedReply::Missing, |(seconds,)| {
            BufferedReply::Number(seconds.map_or(LASTS, |seconds| i64::from(seconds) * 1000))
        }))
    }

    /// Carries out a transaction, and returns whether it was applied, which the first column says. The columns behind the first are the present
    /// values.
    async fn transact(&self, cql: Cql, key: &[u8], values: impl SerializeRow) -> Result<bool, Trouble> {
        let _turn = self.turns.take(key).await;
        let rows = self.run(cql, values).await?.into_rows_result().map_err(nonsense)?;
        let row = rows.maybe_first_row::<ColumnIterator>().map_err(nonsense)?;
        let first = row.and_then(|mut columns| columns.next()).transpose().map_err(nonsense)?;
        match first.and_then(|column| column.slice).map(|slice| slice.as_slice()) {
            Some([applied]) => Ok(*applied != 0),
            other => Err(Trouble::Nonsense(format!("a transaction is answered with {other:?}, not with a boolean"))),
        }
    }

    async fn carry_out(&self, operation: &Operation<'_>, out: &mut ReplyBuffer) -> Result<BufferedReply, Trouble> {
        let done_or = |done: bool, other| if done { BufferedReply::Done } else { other };
        Ok(match *operation {
            Operation::Get { key } => self.get(key, |value| out.value(value)).await?,
            Operation::GetVersioned { key } => self.get(key, |value| out.versioned(value, 0)).await?,
            Operation::Put { key, value } => {
                self.run(Cql::Put, (key, value)).await?;
                BufferedReply::Done
            }
            Operation::PutTtl { key, value, ttl_ms } => match i32::try_from(ttl_ms.div_ceil(1000)) {
                Ok(seconds) => {
                    self.run(Cql::PutTtl, (key, value, seconds)).await?;
                    BufferedReply::Done
                }
                Err(_) => out.refused("a time to live beyond 20 years"),
            },
            Operation::TimeLeft { key } => self.time_left(key).await?,
            Operation::Delete { key } => {
                done_or(self.transact(Cql::Delete, key, (key,)).await?, BufferedReply::Missing)
            }
            Operation::CompareAndSet { key, expected, value } => {
                let stored = match expected {
                    Expected::Absent => self.transact(Cql::Insert, key, (key, value)).await?,
                    Expected::Present { value: old, .. } => self.transact(Cql::Swap, key, (value, key, old)).await?,
                };
                done_or(stored, BufferedReply::Conflict)
            }
            _ => out.refused("not an operation of Cassandra's"),
        })
    }
}

/// The way in which an operation failed.
enum Trouble {
    /// The driver reports an error.
    Driver(Box<ExecutionError>),
    /// The answer does not fit the request.
    Nonsense(String),
}

impl From<ExecutionError> for Trouble {
    fn from(error: ExecutionError) -> Trouble {
        Trouble::Driver(error.into())
    }
}

#[cold]
fn nonsense(error: impl Display) -> Trouble {
    Trouble::Nonsense(error.to_string())
}

/// A slot's handle.
pub(super) struct SlotClient(Rc<Line>);

impl SlotClient {
    /// Makes a slot on these connections.
    pub(super) fn new(line: Rc<Line>) -> SlotClient {
        SlotClient(line)
    }
}

impl AsyncClient for SlotClient {
    async fn execute(&mut self, operation: &Operation<'_>, out: &mut ReplyBuffer) -> BufferedReply {
        match self.0.carry_out(operation, out).await {
            Ok(reply) => reply,
            Err(trouble) => fail(&trouble, out),
        }
    }
}

#[cold]
fn fail(trouble: &Trouble, out: &mut ReplyBuffer) -> BufferedReply {
    let error = match trouble {
        Trouble::Driver(error) => &**error,
        Trouble::Nonsense(words) => return out.protocol(words),
    };
    match error {
        ExecutionError::LastAttemptError(RequestAttemptError::DbError(kind, words)) => match is_refusal(kind) {
            true => out.refused(described(kind, words)),
            false => out.unknown(described(kind, words)),
        },
        ExecutionError::BadQuery(_)
        | ExecutionError::LastAttemptError(
            RequestAttemptError::SerializationError(_) | RequestAttemptError::CqlRequestSerialization(_),
        ) => out.refused(error),
        ExecutionError::EmptyPlan
        | ExecutionError::ConnectionPoolError(_)
        | ExecutionError::LastAttemptError(RequestAttemptError::UnableToAllocStreamId) => out.not_connected(error),
        ExecutionError::LastAttemptError(RequestAttemptError::BrokenConnectionError(_)) => out.connection_lost(error),
        ExecutionError::RequestTimeout(_) => out.unknown(error),
        _ => out.protocol(error),
    }
}

/// Returns whether nothing of the operation happened. A coordinator does not know whose replicas did not answer in time, or failed, or that gave up
/// among them because of its load. What happened of a transaction it may not know either (0x1700, for which the driver has no name).
fn is_refusal(kind: &DbError) -> bool {
    match kind {
        DbError::SyntaxError
        | DbError::Invalid
        | DbError::AlreadyExists { .. }
        | DbError::AuthenticationError
        | DbError::Unauthorized
        | DbError::ConfigError
        | DbError::Unavailable { .. }
        | DbError::IsBootstrapping
        | DbError::TruncateError
        | DbError::Unprepared { .. }
        | DbError::ProtocolError
        | DbError::RateLimitReached { .. } => true,
        // Overloaded, timeouts, failures, errors within, and what a later server may say.
        _ => false,
    }
}

/// Returns the server's words, and the number of replicas it reached where too few are the reason.
fn described(kind: &DbError, words: &str) -> String {
    match kind {
        DbError::Unavailable { required, alive, .. } => format!("{words} ({alive} of {required} replicas are up)"),
        DbError::ReadTimeout { received, required, .. }
        | DbError::WriteTimeout { received, required, .. }
        | DbError::ReadFailure { received, required, .. }
        | DbError::WriteFailure { received, required, .. } => {
            format!("{words} ({received} of {required} replicas answered)")
        }
        _ if words.is_empty() => kind.to_string(),
        _ => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::is_refusal;
    use scylla::errors::{DbError, WriteType};
    use scylla::statement::Consistency;

    #[test]
    fn a_write_that_timed_out_may_have_happened_and_one_without_replicas_did_not() {
        let consistency = Consistency::Quorum;
        let timed_out = |write_type| DbError::WriteTimeout { consistency, received: 1, required: 2, write_type };
        for open in [
            timed_out(WriteType::Simple),
            timed_out(WriteType::Cas),
            DbError::ReadTimeout { consistency, received: 1, required: 2, data_present: true },
            DbError::Overloaded,
            DbError::ServerError,
            DbError::Other(0x1700),
        ] {
            assert!(!is_refusal(&open), "{open}");
        }
        for refused in
            [DbError::Unavailable { consistency, required: 2, alive: 1 }, DbError::Invalid, DbError::IsBootstrapping]
        {
            assert!(is_refusal(&refused), "{refused}");
        }
    }
}
