//! Turso: SQLite rewritten in Rust. Keys and values are in an ordinary table with a write-ahead log, as with `sqlite`.
//!
//! commit: the log is flushed at each commit (`synchronous=FULL`). os: it is flushed only before it is copied into the table (`NORMAL`): with `OFF` each
//! commit would copy the whole log again, once it has 1,000 pages. There is one writer at a time, which clients wait for at a lock here. Each client takes a
//! connection from those that are free, and with it a runtime of tokio that polls its calls: Turso's files are read and written by plain calls.

use crate::{Engine, Level, Outcome};
use std::ffi::CStr;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use tokio::runtime::{Builder, Runtime};
use turso::{Connection, Database, Value};

const PUT: &str = "INSERT INTO kv VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value";

pub struct Tree {
    db: Database,
    level: Level,
    free: Mutex<Vec<Session>>,
    writer: Mutex<()>,
}

/// A connection, used by one client at a time.
struct Session {
    connection: Connection,
    runtime: Runtime,
}

impl Session {
    fn run(&self, sql: &str, values: Vec<Value>) -> Outcome<u64> {
        self.runtime.block_on(async {
            let mut statement = self.connection.prepare_cached(sql).await?;
            Ok(statement.execute(values).await?)
        })
    }

    /// Hands over the rows of a query, to the end or until `row` says false.
    fn rows(&self, sql: &str, key: &[u8], mut row: impl FnMut(turso::Row) -> Outcome<bool>) -> Outcome<()> {
        self.runtime.block_on(async {
            let mut statement = self.connection.prepare_cached(sql).await?;
            let mut rows = statement.query(vec![blob(key)]).await?;
            while let Some(found) = rows.next().await? {
                if !row(found)? {
                    break;
                }
            }
            Ok(())
        })
    }
}

fn blob(bytes: &[u8]) -> Value {
    Value::Blob(bytes.to_vec())
}

impl Tree {
    /// Lends a connection.
    fn with<T>(&self, work: impl FnOnce(&Session) -> Outcome<T>) -> Outcome<T> {
        let free = || self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = free().pop();
        let session = match taken {
            Some(session) => session,
            None => self.session()?,
        };
        let outcome = work(&session);
        free().push(session);
        outcome
    }

    fn session(&self) -> Outcome<Session> {
        let connection = self.db.connect()?;
        let session = Session { connection, runtime: Builder::new_current_thread().enable_time().build()? };
        let synchronous = if self.level == Level::Commit { "FULL" } else { "NORMAL" };
        session.runtime.block_on(session.connection.pragma_update("synchronous", synchronous))?;
        Ok(session)
    }

    /// Lends a connection to the one client that writes.
    fn change<T>(&self, work: impl FnOnce(&Session) -> Outcome<T>) -> Outcome<T> {
        let _writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.with(work)
    }
}

impl Engine for Tree {
    const NAME: &'static CStr = c"Turso";
    const LEVELS: &'static [Level] = &[Level::Os, Level::Commit];

    fn open(directory: &Path, level: Level) -> Outcome<Tree> {
        let file = directory.join("kvtrial.turso");
        let runtime = Builder::new_current_thread().enable_time().build()?;
        let db = runtime.block_on(turso::Builder::new_local(&file.to_string_lossy()).build())?;
        let tree = Tree { db, level, free: Mutex::default(), writer: Mutex::default() };
        tree.with(|session| session.run("CREATE TABLE IF NOT EXISTS kv (key BLOB PRIMARY KEY, value BLOB)", vec![]))?;
        Ok(tree)
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Outcome<bool> {
        let mut was = false;
        self.with(|session| {
            session.rows("SELECT value FROM kv WHERE key = ?", key, |row| {
                *value = row.get(0)?;
                was = true;
                Ok(true)
            })
        })?;
        Ok(was)
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Outcome<()> {
        self.change(|session| session.run(PUT, vec![blob(key), blob(value)])).map(|_| ())
    }

    fn del(&self, key: &[u8]) -> Outcome<bool> {
        self.change(|session| session.run("DELETE FROM kv WHERE key = ?", vec![blob(key)])).map(|rows| rows > 0)
    }

    fn add(&self, key: &[u8], value: &[u8]) -> Outcome<()> {
        let mut whole = Vec::new();
        self.change(|session| {
            session.rows("SELECT value FROM kv WHERE key = ?", key, |row| {
                whole = row.get(0)?;
                Ok(true)
            })?;
            whole.extend_from_slice(value);
            session.run(PUT, vec![blob(key), Value::Blob(whole)])
        })
        .map(|_| ())
    }

    fn scan(&self, start: &[u8], row: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Outcome<()> {
        self.with(|session| {
            session.rows("SELECT key, value FROM kv WHERE key >= ? ORDER BY key", start, |found| {
                let (key, value): (Vec<u8>, Vec<u8>) = (found.get(0)?, found.get(1)?);
                Ok(row(&key, &value))
            })
        })
    }

    fn batch(&self, pairs: &[(&[u8], &[u8])]) -> Outcome<()> {
        self.change(|session| {
            session.run("BEGIN IMMEDIATE", vec![])?;
            let write = || {
                pairs.iter().try_for_each(|(key, value)| session.run(PUT, vec![blob(key), blob(value)]).map(|_| ()))?;
                session.run("COMMIT", vec![]).map(|_| ())
            };
            let written = write();
            if written.is_err() {
                let _ = session.run("ROLLBACK", vec![]);
            }
            written
        })
    }

    fn sync(&self) -> Outcome<()> {
        // At `commit` every commit is flushed.
        Ok(())
    }
}
