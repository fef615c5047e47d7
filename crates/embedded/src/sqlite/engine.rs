//! The database file and its clients.

use super::{CACHE_SIZE, CHECKPOINT, MAPPED, PAGE_SIZE, SYNCHRONOUS};
use crate::shared::embedded::{Buffers, EmbeddedReply, Fault, place};
use rusqlite::{Connection, OpenFlags, Params, Row, TransactionBehavior};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::immediate::{Immediate, SyncStore};
use store::{
    Availability, Capabilities, Expected, Facts, Failure, Holding, Maintenance, NOTHING_EXPIRES, Operation, Reduce,
    Reply, Session, SessionPlan, Store, StoreError, Sweep, Swept, Threading,
};
use study::{Durability, Spec};

/// The time for which another process may hold the database.
const BUSY_TIMEOUT: Duration = Duration::from_secs(60);

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS kvtrial_values (key BLOB PRIMARY KEY, value BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS kvtrial_counters (key BLOB PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS kvtrial_fields
        (key BLOB, field BLOB, count INTEGER NOT NULL, PRIMARY KEY (key, field)) WITHOUT ROWID;";

const GET: &str = "SELECT value FROM kvtrial_values WHERE key = ?1";
const PUT: &str = "INSERT INTO kvtrial_values (key, value) VALUES (?1, ?2)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value";
const DELETE: &str = "DELETE FROM kvtrial_values WHERE key = ?1";
const IS_THERE: &str = "SELECT EXISTS (SELECT 1 FROM kvtrial_values WHERE key = ?1)
    OR EXISTS (SELECT 1 FROM kvtrial_counters WHERE key = ?1) OR EXISTS (SELECT 1 FROM kvtrial_fields WHERE key = ?1)";
const DELETE_COUNTER: &str = "DELETE FROM kvtrial_counters WHERE key = ?1";
const DELETE_FIELDS: &str = "DELETE FROM kvtrial_fields WHERE key = ?1";
const COUNTED: &str = "SELECT EXISTS (SELECT 1 FROM kvtrial_counters) OR EXISTS (SELECT 1 FROM kvtrial_fields)";
// Concatenation makes text of the same bytes; the cast makes it a blob again.
const APPEND: &str = "INSERT INTO kvtrial_values (key, value) VALUES (?1, ?2)
    ON CONFLICT (key) DO UPDATE SET value = CAST(value || excluded.value AS BLOB)";
// A sum beyond 64 bits becomes a floating point number in SQLite: then nothing is changed and no row comes back.
const INCREMENT: &str = "INSERT INTO kvtrial_counters (key, count) VALUES (?1, ?2)
    ON CONFLICT (key) DO UPDATE SET count = count + excluded.count
    WHERE typeof(count + excluded.count) = 'integer' RETURNING count";
const GET_COUNTER: &str = "SELECT count FROM kvtrial_counters WHERE key = ?1";
const INCREMENT_FIELD: &str = "INSERT INTO kvtrial_fields (key, field, count) VALUES (?1, ?2, ?3)
    ON CONFLICT (key, field) DO UPDATE SET count = count + excluded.count
    WHERE typeof(count + excluded.count) = 'integer' RETURNING count";
const GET_FIELDS: &str = "SELECT field, CAST(CAST(count AS TEXT) AS BLOB) FROM kvtrial_fields WHERE key = ?1";
const SET_ABSENT: &str = "INSERT INTO kvtrial_values (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO NOTHING";
const SET_PRESENT: &str = "UPDATE kvtrial_values SET value = ?2 WHERE key = ?1 AND value = ?3";
const SCAN: &str = "SELECT key, value FROM kvtrial_values WHERE key >= ?1 ORDER BY key LIMIT ?2";

// Values are blobs; as blobs JSON functions would take them for SQLite's own binary form.
/// Keys of all kinds.
const COUNT: &str = "SELECT (SELECT count(*) FROM kvtrial_values) + (SELECT count(*) FROM kvtrial_counters) \
    + (SELECT count(DISTINCT key) FROM kvtrial_fields)";

/// The number of statements a client keeps prepared: all of the above, and those of a script.
const STATEMENTS: usize = 16 + 48;

pub fn probe() -> Availability {
    Availability::Found(format!("SQLite {}", rusqlite::version()))
}

pub fn open(spec: &Spec, directory: &Path) -> Result<Box<dyn Store>, StoreError> {
    let durability = super::STORES[0].durability(spec)?;
    let normal = SYNCHRONOUS.read(spec) == "normal";
    let synchronous = match (durability, normal) {
        (Durability::Commit, _) => "FULL",
        (_, true) => "NORMAL",
        (_, false) => "OFF",
    };
    let path = place(directory, "sqlite")?;
    let pragmas = pragmas(spec)?;
    let file = Database { path, synchronous, pragmas, writers: Mutex::new(()), counted: AtomicBool::new(false) };
    let first = file.connect()?;
    let counted = first.execute_batch(SCHEMA).and_then(|()| first.query_one(COUNTED, (), |row| row.get(0)));
    file.counted.store(counted.map_err(|error| file.trouble(error))?, Ordering::Relaxed);
    let capabilities = Capabilities { durability, ..super::CAPABILITIES };
    Ok(Box::new(Sqlite { file: Arc::new(file), first: Mutex::new(first), capabilities }))
}

/// Returns the pragmas of the options, in the order in which they must come: the page size before there is a page.
fn pragmas(spec: &Spec) -> Result<Vec<(&'static str, i64)>, StoreError> {
    let cache = CACHE_SIZE.asked(spec)?.map(|bytes: i64| -(bytes / 1024)); // negative: KiB instead of pages
    let all = [
        ("page_size", PAGE_SIZE.asked(spec)?),
        ("cache_size", cache),
        ("mmap_size", MAPPED.asked(spec)?),
        ("wal_autocheckpoint", CHECKPOINT.asked(spec)?),
    ];
    Ok(all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
}

pub(super) struct Sqlite {
    pub(super) file: Arc<Database>,
    /// Kept open, so that the log is not folded into the file whenever the last client leaves.
    pub(super) first: Mutex<Connection>,
    capabilities: Capabilities,
}

pub(super) struct Database {
    path: PathBuf,
    synchronous: &'static str,
    pragmas: Vec<(&'static str, i64)>,
    writers: Mutex<()>,
    /// Whether there may be counters. Deleting a key deletes its counters too, but looks for counters only then.
    counted: AtomicBool,
}

impl Database {
    fn connect(&self) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open_with_flags(&self.path, flags)?;
            connection.busy_timeout(BUSY_TIMEOUT)?;
            for (name, value) in &self.pragmas {
                connection.pragma_update(None, name, value)?;
            }
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", self.synchronous)?;
            connection.set_prepared_statement_cache_capacity(STATEMENTS);
            Ok(connection)
        };
        open().map_err(|error| self.trouble(error))
    }

    pub(super) fn trouble(&self, error: rusqlite::Error) -> StoreError {
        StoreError::open(self.path.display(), error)
    }

    /// Waits for this process's turn to write.
    pub(super) fn turn(&self) -> MutexGuard<'_, ()> {
        self.writers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Statements for a new file, in the order that they need: the size of a page is settled by the first of the others. Memory for pages is in KiB, where it is negative.
fn set_up(config: &BTreeMap<String, String>, cache_bytes: i64) -> Vec<String> {
    let names = ["page_size", "journal_mode", "synchronous", "mmap_size", "wal_autocheckpoint"];
    let stated = names.iter().filter_map(|name| Some(format!("PRAGMA {name} = {};", config.get(*name)?)));
    stated.chain([format!("PRAGMA cache_size = -{};", cache_bytes / 1024)]).collect()
}

impl Store for Sqlite {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Immediate::session(plan, || {
            Ok(Handle { connection: self.file.connect()?, file: Arc::clone(&self.file), buffers: Buffers::default() })
        })
    }

    fn threading(&self) -> Threading {
        Threading::PerClient
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        let pragma = |name: &str| {
            first
                .pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))
                .map(|value| match value {
                    rusqlite::types::Value::Integer(number) => number.to_string(),
                    rusqlite::types::Value::Text(text) => text,
                    other => format!("{other:?}"),
                })
                .map_err(|error| self.file.trouble(error))
        };
        let mut facts = Facts { product: "SQLite".into(), version: rusqlite::version().into(), ..Facts::default() };
        for name in ["journal_mode", "page_size", "cache_size", "wal_autocheckpoint", "mmap_size"] {
            facts.config.insert(name.into(), pragma(name)?);
        }
        let number = |name: &str| facts.config.get(name).and_then(|text| text.parse::<i64>().ok()).unwrap_or(0);
        let cache = match number("cache_size") {
            pages @ 0.. => pages * number("page_size"),
            kib => -kib * 1024,
        };
        facts.config.insert("cache_size".into(), cache.to_string());
        let synchronous = match pragma("synchronous")?.as_str() {
            "0" => "off".into(),
            "1" => "normal".into(),
            "2" => "full".into(),
            other => other.to_owned(),
        };
        facts.config.insert("synchronous".into(), synchronous);
        facts.set_up = set_up(&facts.config, cache);
        Ok(facts)
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        let keys = first.query_row(COUNT, (), |row| row.get::<_, i64>(0)).map_err(|error| self.file.trouble(error))?;
        Ok(Holding { keys: Some(keys.cast_unsigned()), ..Holding::default() })
    }

    /// Looks for keys, or deletes them, in one transaction.
    fn sweep(&self, sweep: Sweep, keys: &[&[u8]]) -> Result<Option<Swept>, StoreError> {
        let _turn = self.file.turn();
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        let mut swept = || -> rusqlite::Result<Swept> {
            let transaction = first.transaction_with_behavior(match sweep {
                Sweep::Look => TransactionBehavior::Deferred,
                Sweep::Delete => TransactionBehavior::Immediate,
            })?;
            let mut swept = Swept::default();
            for (place, key) in keys.iter().enumerate() {
                let mut found = false;
                match sweep {
                    Sweep::Look => found = transaction.prepare_cached(IS_THERE)?.query_row([key], |row| row.get(0))?,
                    Sweep::Delete => {
                        for sql in [DELETE, DELETE_COUNTER, DELETE_FIELDS] {
                            found |= transaction.prepare_cached(sql)?.execute([key])? > 0;
                        }
                    }
                }
                if found {
                    swept.count(place);
                }
            }
            transaction.commit()?;
            Ok(swept)
        };
        swept().map(Some).map_err(|error| self.file.trouble(error))
    }

    fn maintenance(&self) -> Maintenance<'_> {
        Maintenance { compaction: Some(self), checkpoint: Some(self) }
    }

    fn reduces(&self) -> Option<&dyn Reduce> {
        Some(self)
    }
}

pub(super) struct Handle {
    pub(super) connection: Connection,
    pub(super) file: Arc<Database>,
    pub(super) buffers: Buffers,
}

impl Handle {
    /// Runs a statement that returns no rows, and returns how many rows it changed.
    fn write(&self, sql: &str, params: impl Params) -> Result<usize, Fault> {
        let _turn = self.file.turn();
        Ok(self.connection.prepare_cached(sql)?.execute(params)?)
    }

    /// Runs an upsert of a counter, and returns the new count.
    fn count(&self, sql: &str, params: impl Params) -> Result<Reply<'static>, Fault> {
        self.file.counted.store(true, Ordering::Relaxed);
        let _turn = self.file.turn();
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        let count = rows.next()?.map(|row| row.get(0)).transpose()?;
        // To its end, where the statement commits.
        while rows.next()?.is_some() {}
        Ok(Reply::Number(count.ok_or("the counter would leave the range of 64-bit integers")?))
    }

    /// Copies a value into the buffers, and returns whether there is one.
    fn read(&mut self, key: &[u8]) -> Result<bool, Fault> {
        let mut statement = self.connection.prepare_cached(GET)?;
        let mut rows = statement.query([key])?;
        let Some(row) = rows.next()? else { return Ok(false) };
        self.buffers.value.clear();
        self.buffers.value.extend_from_slice(blob(row, 0)?);
        Ok(true)
    }

    fn rows(&mut self, sql: &str, params: impl Params) -> Result<EmbeddedReply, Fault> {
        self.buffers.rows.clear();
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        while let Some(row) = rows.next()? {
            self.buffers.rows.push(blob(row, 0)?, blob(row, 1)?);
        }
        Ok(EmbeddedReply::Rows)
    }

    fn get_many(&mut self, keys: &[&[u8]]) -> Result<EmbeddedReply, Fault> {
        self.buffers.rows.clear();
        let transaction = self.connection.unchecked_transaction()?;
        {
            let mut statement = transaction.prepare_cached(GET)?;
            for key in keys {
                let mut rows = statement.query([key])?;
                if let Some(row) = rows.next()? {
                    self.buffers.rows.push(key, blob(row, 0)?);
                }
            }
        }
        transaction.commit()?;
        Ok(EmbeddedReply::Rows)
    }

    fn put_many(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<Reply<'static>, Fault> {
        let _turn = self.file.turn();
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut statement = transaction.prepare_cached(PUT)?;
            for (key, value) in pairs {
                statement.execute((key, value))?;
            }
        }
        transaction.commit()?;
        Ok(Reply::Done)
    }

    /// Deletes everything under a key: value, counter and record.
    fn delete(&mut self, key: &[u8]) -> Result<usize, Fault> {
        if !self.file.counted.load(Ordering::Relaxed) {
            return self.write(DELETE, [key]);
        }
        let _turn = self.file.turn();
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut deleted = 0;
        for sql in [DELETE, DELETE_COUNTER, DELETE_FIELDS] {
            deleted += transaction.prepare_cached(sql)?.execute([key])?;
        }
        transaction.commit()?;
        Ok(deleted)
    }

    fn carry_out(&mut self, operation: &Operation<'_>) -> Result<EmbeddedReply, Fault> {
        let reply = match *operation {
            Operation::Get { key } if self.read(key)? => return Ok(EmbeddedReply::Value),
            Operation::GetVersioned { key } if self.read(key)? => return Ok(EmbeddedReply::Versioned),
            Operation::Get { .. } | Operation::GetVersioned { .. } => Reply::Missing,
            Operation::Put { key, value } => {
                self.write(PUT, (key, value))?;
                Reply::Done
            }
            Operation::Delete { key } => changed(self.delete(key)?, Reply::Missing),
            Operation::Append { key, value } => {
                self.write(APPEND, (key, value))?;
                Reply::Done
            }
            Operation::Increment { key, by } => self.count(INCREMENT, (key, by))?,
            Operation::IncrementField { key, field, by } => self.count(INCREMENT_FIELD, (key, field, by))?,
            Operation::GetCounter { key } => {
                let mut statement = self.connection.prepare_cached(GET_COUNTER)?;
                let mut rows = statement.query([key])?;
                match rows.next()? {
                    Some(row) => Reply::Number(row.get(0)?),
                    None => Reply::Missing,
                }
            }
            Operation::CompareAndSet { key, expected: Expected::Absent, value } => {
                changed(self.write(SET_ABSENT, (key, value))?, Reply::Conflict)
            }
            Operation::CompareAndSet { key, expected: Expected::Present { value: seen, .. }, value } => {
                changed(self.write(SET_PRESENT, (key, value, seen))?, Reply::Conflict)
            }
            Operation::PutMany { pairs } => self.put_many(pairs)?,
            Operation::GetFields { key } => return self.rows(GET_FIELDS, [key]),
            Operation::GetMany { keys } => return self.get_many(keys),
            Operation::Sql { statement, values } => return Ok(self.sql(statement, values)),
            Operation::Scan { start, limit } => return self.rows(SCAN, (start, limit)),
            Operation::PutTtl { .. }
            | Operation::Touch { .. }
            | Operation::TimeLeft { .. }
            | Operation::Command { .. } => Reply::Failed(Failure::Refused(NOTHING_EXPIRES)),
        };
        Ok(EmbeddedReply::Own(reply))
    }
}

fn changed(rows: usize, otherwise: Reply<'static>) -> Reply<'static> {
    if rows > 0 { Reply::Done } else { otherwise }
}

fn blob<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r [u8], Fault> {
    Ok(row.get_ref(column)?.as_blob()?)
}

impl SyncStore for Handle {
    fn execute(&mut self, operation: &Operation<'_>) -> Reply<'_> {
        let outcome = self.carry_out(operation);
        self.buffers.reply(outcome)
    }
}
