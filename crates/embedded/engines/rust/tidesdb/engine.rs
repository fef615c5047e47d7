//! TidesDB: a log-structured merge tree in C.
//!
//! commit: each commit is flushed (`SyncMode::Full`). second: the log is flushed each second (`SyncMode::Interval`). os: the same with an interval of a
//! day. none: `SyncMode::None`, with which the log is written by and by. Transactions are serializable, and one that meets another begins again.

use crate::{Engine, Failure, Level, Outcome};
use std::ffi::CStr;
use std::path::Path;
use tidesdb::{
    ColumnFamily, ColumnFamilyConfig, Config, Error, ErrorCode, IsolationLevel, LogLevel, SyncMode, TidesDB,
    Transaction,
};

const FAMILY: &str = "kvtrial";

pub struct Tree {
    db: TidesDB,
    level: Level,
}

fn code(error: &Error) -> Option<ErrorCode> {
    match error {
        Error::TidesDB { code, .. } => Some(*code),
        _ => None,
    }
}

/// Makes of a missing key no value.
fn found(outcome: Result<Vec<u8>, Error>) -> Result<Option<Vec<u8>>, Error> {
    match outcome {
        Err(error) if code(&error) == Some(ErrorCode::NotFound) => Ok(None),
        other => other.map(Some),
    }
}

impl Tree {
    /// Makes changes in a transaction, again and again until none meets another.
    fn update<T>(&self, change: impl Fn(&Transaction<'_>, &ColumnFamily<'_>) -> Result<T, Error>) -> Outcome<T> {
        let family = self.db.get_column_family(FAMILY)?;
        loop {
            let mut transaction = self.db.begin_transaction_with_isolation(IsolationLevel::Serializable)?;
            let outcome = change(&transaction, &family).and_then(|done| transaction.commit().map(|()| done));
            match outcome.as_ref().map_err(code) {
                Err(Some(ErrorCode::Conflict | ErrorCode::Locked)) => {}
                Err(Some(ErrorCode::InvalidArgs | ErrorCode::TooLarge)) => {
                    return Err(Failure::Refused(outcome.err().map(|error| error.to_string()).unwrap_or_default()));
                }
                _ => return Ok(outcome?),
            }
        }
    }
}

impl Engine for Tree {
    const NAME: &'static CStr = c"TidesDB";
    const LEVELS: &'static [Level] = &[Level::None, Level::Os, Level::Second, Level::Commit];

    fn open(directory: &Path, level: Level) -> Outcome<Tree> {
        let (mode, every_s) = match level {
            Level::None => (SyncMode::None, 0),
            Level::Os => (SyncMode::Interval, 24 * 60 * 60),
            Level::Second => (SyncMode::Interval, 1),
            Level::Commit => (SyncMode::Full, 0),
        };
        let config = Config::new(directory).log_level(LogLevel::None).memtable_sync_mode(mode);
        let db = TidesDB::open(config.memtable_sync_interval_us(every_s * 1_000_000))?;
        if db.get_column_family(FAMILY).is_err() {
            db.create_column_family(FAMILY, ColumnFamilyConfig::new())?;
        }
        Ok(Tree { db, level })
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Outcome<bool> {
        let family = self.db.get_column_family(FAMILY)?;
        let transaction = self.db.begin_transaction()?;
        let there = found(transaction.get_notrack(&family, key))?;
        let was = there.is_some();
        *value = there.unwrap_or_default();
        Ok(was)
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Outcome<()> {
        self.update(|transaction, family| transaction.put(family, key, value))
    }

    fn del(&self, key: &[u8]) -> Outcome<bool> {
        self.update(|transaction, family| {
            let was = found(transaction.get(family, key))?.is_some();
            if was {
                transaction.delete(family, key)?;
            }
            Ok(was)
        })
    }

    fn add(&self, key: &[u8], value: &[u8]) -> Outcome<()> {
        self.update(|transaction, family| {
            let old = found(transaction.get(family, key))?.unwrap_or_default();
            transaction.put(family, key, &[&old, value].concat())
        })
    }

    fn scan(&self, start: &[u8], row: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Outcome<()> {
        let family = self.db.get_column_family(FAMILY)?;
        let transaction = self.db.begin_transaction()?;
        let mut rows = transaction.new_iterator(&family)?;
        // A seek finds nothing where nothing is left.
        let _ = rows.seek(start);
        while rows.is_valid() {
            let (key, value) = rows.key_value()?;
            if !row(&key, &value) {
                break;
            }
            let _ = rows.next();
        }
        Ok(())
    }

    fn batch(&self, pairs: &[(&[u8], &[u8])]) -> Outcome<()> {
        self.update(|transaction, family| pairs.iter().try_for_each(|(key, value)| transaction.put(family, key, value)))
    }

    fn sync(&self) -> Outcome<()> {
        if matches!(self.level, Level::Second | Level::Commit) {
            self.db.sync_wal()?;
        }
        Ok(())
    }
}
