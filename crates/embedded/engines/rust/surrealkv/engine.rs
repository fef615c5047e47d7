//! SurrealKV: a log-structured merge tree, SurrealDB's. Commits are asynchronous, so the library has a runtime of tokio with two threads.
//!
//! commit: a commit flushes the log (`Durability::Immediate`). os: the system has it (`Durability::Eventual`). A transaction that meets another on a key
//! begins again.

use crate::{Engine, Failure, Level, Outcome};
use std::ffi::CStr;
use std::path::Path;
use std::time::Duration;
use surrealkv::{Durability, Error, LSMIterator, Mode, Transaction, TreeBuilder};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// The time the engine may take to close.
const CLOSING: Duration = Duration::from_secs(10);

pub struct Tree {
    db: surrealkv::Tree,
    durability: Durability,
    runtime: Runtime,
}

impl Drop for Tree {
    fn drop(&mut self) {
        // Version 1.2.0 may close for ever: it did after `kvtrial check`. What was acknowledged is in the log, as after a kill.
        let _ = self.runtime.block_on(async { timeout(CLOSING, self.db.close()).await });
    }
}

impl Tree {
    /// Makes changes in a transaction, again and again until none meets another.
    fn update<T>(&self, mut change: impl FnMut(&mut Transaction) -> Result<T, Error>) -> Outcome<T> {
        loop {
            let mut transaction = self.db.begin()?.with_durability(self.durability);
            let outcome = change(&mut transaction);
            let outcome = outcome.and_then(|done| self.runtime.block_on(transaction.commit()).map(|()| done));
            match outcome {
                Err(Error::TransactionWriteConflict | Error::TransactionRetry) => {}
                Err(error @ (Error::EmptyKey | Error::BatchTooLarge)) => {
                    return Err(Failure::Refused(error.to_string()));
                }
                other => return Ok(other?),
            }
        }
    }
}

impl Engine for Tree {
    const NAME: &'static CStr = c"SurrealKV";
    const LEVELS: &'static [Level] = &[Level::Os, Level::Commit];

    fn open(directory: &Path, level: Level) -> Outcome<Tree> {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let _within = runtime.enter();
        let db = TreeBuilder::new().with_path(directory.to_owned()).build()?;
        let durability = if level == Level::Commit { Durability::Immediate } else { Durability::Eventual };
        drop(_within);
        Ok(Tree { db, durability, runtime })
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Outcome<bool> {
        let found = self.db.begin_with_mode(Mode::ReadOnly)?.get(key)?;
        if let Some(found) = &found {
            value.clear();
            value.extend_from_slice(found);
        }
        Ok(found.is_some())
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Outcome<()> {
        self.update(|transaction| transaction.set(key, value))
    }

    fn del(&self, key: &[u8]) -> Outcome<bool> {
        self.update(|transaction| {
            let was = transaction.get_for_update(key)?.is_some();
            if was {
                transaction.delete(key)?;
            }
            Ok(was)
        })
    }

    fn add(&self, key: &[u8], value: &[u8]) -> Outcome<()> {
        self.update(|transaction| {
            let mut whole = transaction.get_for_update(key)?.unwrap_or_default().to_vec();
            whole.extend_from_slice(value);
            transaction.set(key, whole)
        })
    }

    fn scan(&self, start: &[u8], row: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Outcome<()> {
        let transaction = self.db.begin_with_mode(Mode::ReadOnly)?;
        let mut rows = transaction.scan(start..)?;
        let mut there = rows.seek_first()?;
        while there {
            if !row(rows.key().user_key(), &rows.value()?) {
                break;
            }
            there = rows.next()?;
        }
        Ok(())
    }

    fn batch(&self, pairs: &[(&[u8], &[u8])]) -> Outcome<()> {
        self.update(|transaction| pairs.iter().try_for_each(|(key, value)| transaction.set(*key, *value)))
    }

    fn sync(&self) -> Outcome<()> {
        Ok(self.db.flush_wal(self.durability == Durability::Immediate)?)
    }
}
