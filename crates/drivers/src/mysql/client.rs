//! One slot: a connection of its own and its prepared statements.

use super::bounded::{Rows, broken_by, leave, nonsense, packets_of};
use mysql_async::prelude::Queryable;
use mysql_async::{BinaryProtocol, Conn, DriverError, Error, Opts, Params, Row, Statement, Value};
use store::asynchronous::{AsyncClient, BufferedReply, ReplyBuffer};
use store::believed::wire_bytes;
use store::{Expected, NOTHING_EXPIRES, Operation, Resent};

/// The retry limit for statements that InnoDB undid to end a deadlock.
const DEADLOCK_RETRIES: u32 = 100;
const DEADLOCK: u16 = 1213;
const DUPLICATE_KEY: u16 = 1062;
/// The errors for a parameter that was longer than the server takes. The parameter was sent ahead of its statement, which stays spoilt: the statement
/// must be prepared again.
const TOO_LONG: [u16; 2] = [1105, 1301];
/// The errors after which the server hangs up: shutting down, connection killed, packet too large (and so not read).
const LAST_WORDS: [u16; 5] = [1053, 1317, 1927, 1153, 4031];

/// The error of a server that failed while it committed the statement.
const DURING_COMMIT: u16 = 1180;

/// The most pairs of a statement: a statement has at most 65,535 parameters.
const MAX_PAIRS: usize = 32_000;

/// The statements that are prepared once per connection.
#[derive(Clone, Copy)]
enum Sql {
    Get,
    Put,
    Insert,
    Swap,
    Delete,
    Append,
    Increment,
    GetCounter,
    IncrementField,
    GetFields,
    Scan,
}

const SQL: [&str; 11] = [
    "SELECT v FROM kvtrial_kv WHERE k = ?",
    "INSERT INTO kvtrial_kv (k, v) VALUES (?, ?) ON DUPLICATE KEY UPDATE v = VALUES(v)",
    "INSERT INTO kvtrial_kv (k, v) VALUES (?, ?)",
    "UPDATE kvtrial_kv SET v = ? WHERE k = ? AND v = ?",
    "DELETE FROM kvtrial_kv WHERE k = ?",
    "INSERT INTO kvtrial_kv (k, v) VALUES (?, ?) ON DUPLICATE KEY UPDATE v = CONCAT(v, VALUES(v))",
    "INSERT INTO kvtrial_counters (k, n) VALUES (?, ?) ON DUPLICATE KEY UPDATE n = CAST(LAST_INSERT_ID(n + VALUES(n)) AS SIGNED)",
    "SELECT n FROM kvtrial_counters WHERE k = ?",
    "INSERT INTO kvtrial_fields (k, f, n) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE n = CAST(LAST_INSERT_ID(n + VALUES(n)) AS SIGNED)",
    "SELECT f, n FROM kvtrial_fields WHERE k = ? ORDER BY f",
    "SELECT k, v FROM kvtrial_kv WHERE k >= ? ORDER BY k LIMIT ?",
];

/// A slot's handle.
pub(super) struct Client {
    opts: Opts,
    link: Option<Link>,
    /// The largest answer that is believed.
    most_bytes: usize,
    resent: Resent,
}

pub(super) struct Link {
    pub(super) conn: Conn,
    prepared: [Option<Statement>; SQL.len()],
    pub(super) most_bytes: usize,
}

impl Client {
    /// Makes a client that is not connected yet. Packets of its connections, and answers until `believe` sets another limit, have keys and values of
    /// at most `largest_reply_bytes`.
    pub(super) fn new(opts: &Opts, largest_reply_bytes: u64, resent: Resent) -> Client {
        let most_bytes = wire_bytes(largest_reply_bytes);
        Client { opts: packets_of(opts, most_bytes), link: None, most_bytes, resent }
    }

    /// Opens the connection.
    pub(super) async fn connect(&mut self) -> Result<(), Error> {
        let conn = Conn::new(self.opts.clone()).await?;
        self.link = Some(Link { conn, prepared: [const { None }; SQL.len()], most_bytes: self.most_bytes });
        Ok(())
    }

    async fn attempt(&mut self, operation: &Operation<'_>, out: &mut ReplyBuffer) -> Result<BufferedReply, Error> {
        if self.link.is_none()
            && let Err(error) = self.connect().await
        {
            return Ok(match broken_by(&error, self.most_bytes) {
                Some(words) => out.protocol(words),
                None => out.not_connected(error),
            });
        }
        match &mut self.link {
            Some(link) => link.carry_out(operation, out).await,
            None => Ok(out.not_connected("not connected")),
        }
    }

    #[cold]
    fn fail(&mut self, error: Error, out: &mut ReplyBuffer) -> BufferedReply {
        match &error {
            Error::Server(server) if server.code == DURING_COMMIT => {
                return out.unknown(format_args!("{} ({})", server.message, server.code));
            }
            Error::Server(server) if !LAST_WORDS.contains(&server.code) => {
                return out.refused(format_args!("{} ({})", server.message, server.code));
            }
            Error::Other(_) => {
                if let Some(link) = self.link.take() {
                    leave(link.conn);
                }
            }
            _ => self.link = None,
        }
        if let Some(words) = broken_by(&error, self.most_bytes) {
            return out.protocol(words);
        }
        match error {
            Error::Server(_) | Error::Io(_) | Error::Driver(DriverError::ConnectionClosed) => {
                out.connection_lost(error)
            }
            Error::Other(words) => out.protocol(words),
            other => out.protocol(other),
        }
    }
}

impl AsyncClient for Client {
    async fn execute(&mut self, operation: &Operation<'_>, out: &mut ReplyBuffer) -> BufferedReply {
        let mut tries = 0;
        loop {
            match self.attempt(operation, out).await {
                Ok(answer) => return answer,
                Err(Error::Server(error)) if error.code == DEADLOCK && tries < DEADLOCK_RETRIES => {
                    tries += 1;
                    self.resent.add();
                }
                Err(error) => return self.fail(error, out),
            }
        }
    }

    fn give_up(&mut self) {
        self.link = None;
    }

    fn believe(&mut self, largest_reply_bytes: u64) {
        self.most_bytes = wire_bytes(largest_reply_bytes);
        if let Some(link) = &mut self.link {
            link.most_bytes = self.most_bytes;
        }
    }
}

impl Link {
    async fn statement(&mut self, sql: Sql) -> Result<Statement, Error> {
        match &self.prepared[sql as usize] {
            Some(statement) => Ok(statement.clone()),
            None => {
                let statement = self.conn.prep(SQL[sql as usize]).await?;
                Ok(self.prepared[sql as usize].insert(statement).clone())
            }
        }
    }

    async fn rows(&mut self, sql: Sql, params: impl Into<Params> + Send) -> Result<Rows<'_, BinaryProtocol>, Error> {
        let statement = self.statement(sql).await?;
        Ok(Rows::new(self.conn.exec_iter(&statement, params).await?, self.most_bytes))
    }

    async fn row(&mut self, sql: Sql, key: &[u8]) -> Result<Option<Row>, Error> {
        let mut rows = self.rows(sql, (key,)).await?;
        let row = rows.next().await?;
        if row.is_some() && rows.next().await?.is_some() {
            return Err(nonsense("two rows of one key"));
        }
        Ok(row)
    }

    /// Runs a statement without rows, and returns the number of rows it matched.
    async fn run(&mut self, sql: Sql, params: impl Into<Params> + Send) -> Result<u64, Error> {
        let statement = self.statement(sql).await?;
        if let Err(error) = self.conn.exec_drop(&statement, params).await {
            if too_long(&error) {
                self.prepared[sql as usize] = None;
                self.conn.close(statement).await?;
            }
            return Err(error);
        }
        Ok(self.conn.affected_rows())
    }

    async fn carry_out(&mut self, operation: &Operation<'_>, out: &mut ReplyBuffer) -> Result<BufferedReply, Error> {
        Ok(match *operation {
            Operation::Get { key } => match self.row(Sql::Get, key).await? {
                Some(row) => out.value(bytes(&row, 0)),
                None => BufferedReply::Missing,
            },
            Operation::GetVersioned { key } => match self.row(Sql::Get, key).await? {
                Some(row) => out.versioned(bytes(&row, 0), 0),
                None => BufferedReply::Missing,
            },
            Operation::Put { key, value } => {
                self.run(Sql::Put, (key, value)).await?;
                BufferedReply::Done
            }
            Operation::Delete { key } => match self.run(Sql::Delete, (key,)).await? {
                0 => BufferedReply::Missing,
                _ => BufferedReply::Done,
            },
            Operation::Append { key, value } => {
                self.run(Sql::Append, (key, value)).await?;
                BufferedReply::Done
            }
            Operation::Increment { key, by } => {
                let matched = self.run(Sql::Increment, (key, by)).await?;
                BufferedReply::Number(self.count(matched, by))
            }
            Operation::IncrementField { key, field, by } => {
                let matched = self.run(Sql::IncrementField, (key, field, by)).await?;
                BufferedReply::Number(self.count(matched, by))
            }
            Operation::GetCounter { key } => match self.row(Sql::GetCounter, key).await? {
                Some(row) => match row.as_ref(0) {
                    Some(Value::Int(count)) => BufferedReply::Number(*count),
                    _ => out.protocol("a counter that is no integer"),
                },
                None => BufferedReply::Missing,
            },
            Operation::GetFields { key } => {
                let mut rows = self.rows(Sql::GetFields, (key,)).await?;
                while let Some(row) = rows.next().await? {
                    let Some(Value::Int(count)) = row.as_ref(1) else {
                        return Err(nonsense("a counter that is no integer"));
                    };
                    out.rows.push(bytes(&row, 0), count.to_string().as_bytes());
                }
                BufferedReply::Rows
            }
            Operation::CompareAndSet { key, expected: Expected::Absent, value } => {
                match self.run(Sql::Insert, (key, value)).await {
                    Ok(_) => BufferedReply::Done,
                    Err(Error::Server(error)) if error.code == DUPLICATE_KEY => BufferedReply::Conflict,
                    Err(error) => return Err(error),
                }
            }
            Operation::CompareAndSet { key, expected: Expected::Present { value: old, .. }, value } => {
                match self.run(Sql::Swap, (value, key, old)).await? {
                    0 => BufferedReply::Conflict,
                    _ => BufferedReply::Done,
                }
            }
            Operation::GetMany { keys } => self.get_many(keys, out).await?,
            Operation::PutMany { pairs } => {
                for part in pairs.chunks(MAX_PAIRS) {
                    self.put_many(part).await?;
                }
                BufferedReply::Done
            }
            Operation::PutTtl { .. }
            | Operation::Touch { .. }
            | Operation::TimeLeft { .. }
            | Operation::Command { .. } => out.refused(NOTHING_EXPIRES),
            Operation::Sql { statement, values } => self.sql(statement, values, out).await?,
            Operation::Scan { start, limit } => {
                let mut rows = self.rows(Sql::Scan, (start, limit)).await?;
                while let Some(row) = rows.next().await? {
                    out.rows.push(bytes(&row, 0), bytes(&row, 1));
                }
                BufferedReply::Rows
            }
        })
    }

    /// Returns a counter after its statement. An update leaves the sum as the last insert id; an insert leaves none, and `by` is the sum. With `by` 0
    /// an update counts as one row like an insert does, but then it leaves its sum (0 is no id).
    fn count(&self, matched: u64, by: i64) -> i64 {
        match (matched, self.conn.last_insert_id()) {
            (1, None) => by,
            (_, sum) => sum.unwrap_or(0) as i64,
        }
    }

    async fn get_many(&mut self, keys: &[&[u8]], out: &mut ReplyBuffer) -> Result<BufferedReply, Error> {
        // Sorted by key below: a `SELECT .. IN` answers in the order of the table, the caller wants that of `keys`.
        let mut rows: Vec<Row> = Vec::with_capacity(keys.len());
        for part in keys.chunks(MAX_PAIRS) {
            let query = format!("SELECT k, v FROM kvtrial_kv WHERE k IN (?{})", ", ?".repeat(part.len() - 1));
            let params = Params::Positional(part.iter().map(|key| Value::from(*key)).collect());
            let mut part = Rows::new(self.conn.exec_iter(query, params).await?, self.most_bytes);
            while let Some(row) = part.next().await? {
                rows.push(row);
            }
        }
        rows.sort_unstable_by(|one, other| bytes(one, 0).cmp(bytes(other, 0)));
        for key in keys {
            if let Ok(at) = rows.binary_search_by(|row| bytes(row, 0).cmp(key)) {
                out.rows.push(key, bytes(&rows[at], 1));
            }
        }
        Ok(BufferedReply::Rows)
    }

    async fn put_many(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<(), Error> {
        let query = format!(
            "INSERT INTO kvtrial_kv (k, v) VALUES (?, ?){} ON DUPLICATE KEY UPDATE v = VALUES(v)",
            ", (?, ?)".repeat(pairs.len() - 1)
        );
        let params = pairs.iter().flat_map(|(key, value)| [Value::from(*key), Value::from(*value)]).collect();
        let statement = self.conn.prep(query).await?;
        let result = self.conn.exec_drop(&statement, Params::Positional(params)).await;
        if result.as_ref().is_err_and(too_long) {
            self.conn.close(statement).await?;
        }
        result
    }
}

/// Returns whether the server says by this error that it did not carry out the statement, and goes on.
pub(super) fn refuses(code: u16) -> bool {
    code != DURING_COMMIT && code != DEADLOCK && !LAST_WORDS.contains(&code)
}

fn too_long(error: &Error) -> bool {
    matches!(error, Error::Server(server) if TOO_LONG.contains(&server.code))
}

/// Returns a column of bytes.
fn bytes(row: &Row, column: usize) -> &[u8] {
    match row.as_ref(column) {
        Some(Value::Bytes(bytes)) => bytes,
        _ => &[],
    }
}
