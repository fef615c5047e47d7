//! SlateDB: a log-structured merge tree over an object store, which is a local directory here. It is asynchronous, so the library has a runtime of tokio with
//! two threads.
//!
//! A write is in memory when SlateDB acknowledges it; each flush of its log writes a file of its own. commit: a write waits for the next flush, one each
//! millisecond, and files and directories are flushed (`with_fsync`). os: the same without that. second: a write waits for nothing, flushed each 100 ms, as
//! is the default. none: the same without `with_fsync`. A kill loses what is in memory at these two. What a start reads from the log it makes a table of.
//! A transaction that meets another on a key begins again.

use crate::{Engine, Failure, Level, Outcome};
use slatedb::bytes::Bytes;
use slatedb::config::{FlushOptions, FlushType};
use slatedb::object_store::local::LocalFileSystem;
use slatedb::{Db, ErrorKind, IsolationLevel, MergeOperator, MergeOperatorError, Settings, WriteBatch, WriteHandle};
use std::ffi::CStr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

pub struct Tree {
    db: Db,
    level: Level,
    runtime: Runtime,
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = self.runtime.block_on(self.db.close());
    }
}

/// Adds bytes at the end of a value, when it is read.
struct AtTheEnd;

impl MergeOperator for AtTheEnd {
    fn merge(&self, _key: &Bytes, old: Option<Bytes>, more: Bytes) -> Result<Bytes, MergeOperatorError> {
        Ok([old.unwrap_or_default(), more].concat().into())
    }
}

impl Tree {
    /// Writes a batch as the level demands.
    fn write(&self, fill: impl FnOnce(&mut WriteBatch)) -> Outcome<()> {
        let mut batch = WriteBatch::new();
        fill(&mut batch);
        self.runtime.block_on(async {
            let written = self.db.write(batch).await?;
            self.kept(written).await
        })
    }

    /// Ends a write as the level demands.
    async fn kept(&self, written: WriteHandle) -> Outcome<()> {
        if matches!(self.level, Level::Os | Level::Commit) {
            written.await_durable().await?;
        }
        Ok(())
    }
}

/// SlateDB panics at such a key.
fn not_empty(key: &[u8]) -> Outcome<()> {
    if key.is_empty() { Err(Failure::Refused("a key has at least one byte".into())) } else { Ok(()) }
}

impl Engine for Tree {
    const NAME: &'static CStr = c"SlateDB";
    const LEVELS: &'static [Level] = &[Level::None, Level::Os, Level::Second, Level::Commit];

    fn open(directory: &Path, level: Level) -> Outcome<Tree> {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let is_flushed = matches!(level, Level::Second | Level::Commit);
        let files = LocalFileSystem::new_with_prefix(directory)?.with_fsync(is_flushed);
        let builder = Db::builder("kvtrial", Arc::new(files)).with_merge_operator(Arc::new(AtTheEnd));
        let every_ms = if matches!(level, Level::Os | Level::Commit) { 1 } else { 100 };
        let settings = Settings { flush_interval: Some(Duration::from_millis(every_ms)), ..Settings::default() };
        let builder = builder.with_settings(settings);
        let table = FlushOptions { flush_type: FlushType::MemTable };
        let db = runtime.block_on(async {
            let db = builder.build().await?;
            // SlateDB makes a table after 4,096 files of the log, and does not count those of earlier lives.
            db.flush_with_options(table).await.map(|()| db)
        })?;
        Ok(Tree { db, level, runtime })
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Outcome<bool> {
        let found = self.runtime.block_on(self.db.get(key))?;
        if let Some(found) = &found {
            value.clear();
            value.extend_from_slice(found);
        }
        Ok(found.is_some())
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Outcome<()> {
        not_empty(key)?;
        self.write(|batch| batch.put(key, value))
    }

    fn del(&self, key: &[u8]) -> Outcome<bool> {
        not_empty(key)?;
        self.runtime.block_on(async {
            loop {
                let transaction = self.db.begin(IsolationLevel::SerializableSnapshot)?;
                if transaction.get(key).await?.is_none() {
                    return Ok(false);
                }
                transaction.delete(key)?;
                match transaction.commit().await {
                    Err(error) if error.kind() == ErrorKind::Transaction => {}
                    Err(error) => return Err(error.into()),
                    Ok(None) => return Ok(true),
                    Ok(Some(written)) => return self.kept(written).await.map(|()| true),
                }
            }
        })
    }

    fn add(&self, key: &[u8], value: &[u8]) -> Outcome<()> {
        not_empty(key)?;
        self.write(|batch| batch.merge(key, value))
    }

    fn scan(&self, start: &[u8], row: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Outcome<()> {
        self.runtime.block_on(async {
            let mut rows = self.db.scan(start..).await?;
            while let Some(pair) = rows.next().await? {
                if !row(&pair.key, &pair.value) {
                    break;
                }
            }
            Ok(())
        })
    }

    fn batch(&self, pairs: &[(&[u8], &[u8])]) -> Outcome<()> {
        pairs.iter().try_for_each(|(key, _)| not_empty(key))?;
        self.write(|batch| pairs.iter().for_each(|(key, value)| batch.put(key, value)))
    }

    fn sync(&self) -> Outcome<()> {
        if self.level != Level::None {
            self.runtime.block_on(self.db.flush())?;
        }
        Ok(())
    }
}
