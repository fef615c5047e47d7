//! MDBX: a memory-mapped B+tree from LMDB, copy-on-write, one writer.
//!
//! commit: each transaction is flushed (`MDBX_SYNC_DURABLE`). os: none is (`MDBX_UTTERLY_NOSYNC`), as in LMDB with `MDB_NOSYNC`. With `MDBX_SAFE_NOSYNC` MDBX
//! flushes whenever free pages run out and before the file grows: 140 commits a second were measured.
//! Unlike LMDB's, the file grows and shrinks by itself, here up to 64 GiB.

use crate::{Engine, Failure, Level, Outcome};
use signet_libmdbx::tx::aliases::RwTxUnsync;
use signet_libmdbx::{Database, DatabaseFlags, Environment, Geometry, MdbxError, Mode, SyncMode, WriteFlags};
use std::borrow::Cow;
use std::ffi::CStr;
use std::path::Path;

/// The longest key, with pages of 4 KiB.
const MAX_KEY_BYTES: usize = 2022;

/// The longest value.
const MAX_VALUE_BYTES: usize = 0x7fff_0000;

/// The largest size of the file.
const MAP_BYTES: usize = 64 << 30;

pub struct Tree {
    environment: Environment,
    table: Database,
    level: Level,
}

impl Tree {
    fn update<T>(&self, change: impl FnOnce(&RwTxUnsync) -> Outcome<T>) -> Outcome<T> {
        let transaction = self.environment.begin_rw_unsync()?;
        let done = change(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }

    fn set(&self, transaction: &RwTxUnsync, key: &[u8], value: &[u8]) -> Outcome<()> {
        if key.len() > MAX_KEY_BYTES || value.len() > MAX_VALUE_BYTES {
            return Err(Failure::Refused(MdbxError::BadValSize.to_string()));
        }
        Ok(transaction.put(self.table, key, value, WriteFlags::UPSERT)?)
    }
}

impl Engine for Tree {
    const NAME: &'static CStr = c"MDBX";
    const LEVELS: &'static [Level] = &[Level::Os, Level::Commit];
    const MAX_KEY_BYTES: u64 = MAX_KEY_BYTES as u64;

    fn open(directory: &Path, level: Level) -> Outcome<Tree> {
        let sync_mode = if level == Level::Commit { SyncMode::Durable } else { SyncMode::UtterlyNoSync };
        let mut builder = Environment::builder();
        builder.set_max_readers(4096).set_flags(Mode::ReadWrite { sync_mode }.into());
        builder.set_geometry(Geometry { size: Some(0..MAP_BYTES), ..Default::default() });
        let environment = builder.open(directory)?;
        let transaction = environment.begin_rw_unsync()?;
        let table = transaction.create_db(None, DatabaseFlags::empty())?;
        transaction.commit()?;
        Ok(Tree { environment, table, level })
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Outcome<bool> {
        let transaction = self.environment.begin_ro_unsync()?;
        let found: Option<Cow<'_, [u8]>> = transaction.get(self.table.dbi(), key)?;
        if let Some(found) = &found {
            value.clear();
            value.extend_from_slice(found);
        }
        Ok(found.is_some())
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Outcome<()> {
        self.update(|transaction| self.set(transaction, key, value))
    }

    fn del(&self, key: &[u8]) -> Outcome<bool> {
        self.update(|transaction| Ok(transaction.del(self.table, key, None)?))
    }

    fn add(&self, key: &[u8], value: &[u8]) -> Outcome<()> {
        self.update(|transaction| {
            let old: Option<Vec<u8>> = transaction.get(self.table.dbi(), key)?;
            self.set(transaction, key, &[&old.unwrap_or_default(), value].concat())
        })
    }

    fn scan(&self, start: &[u8], row: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Outcome<()> {
        let transaction = self.environment.begin_ro_unsync()?;
        let mut cursor = transaction.cursor(self.table)?;
        for pair in cursor.iter_from::<Vec<u8>, Vec<u8>>(start)? {
            let (key, value) = pair?;
            if !row(&key, &value) {
                break;
            }
        }
        Ok(())
    }

    fn batch(&self, pairs: &[(&[u8], &[u8])]) -> Outcome<()> {
        self.update(|transaction| pairs.iter().try_for_each(|(key, value)| self.set(transaction, key, value)))
    }

    fn sync(&self) -> Outcome<()> {
        if self.level == Level::Commit {
            self.environment.sync(true)?;
        }
        Ok(())
    }
}
