//! sled: a Bw-tree-like index over a log of pages.
//!
//! os: a write is flushed before it is acknowledged, as a kill of the process loses what is in sled's own buffers. none: sled's own flushing, each 500 ms, as
//! it comes. There is no commit: sled 0.34 flushes by `sync_file_range(2)`, which survives no power cut. Nor is there second: its own flushing ends with
//! `fsync`, but a power cut may take what was written more than a second before, or leave a log that sled does not open.

use crate::{Engine, Level, Outcome};
use std::ffi::CStr;
use std::path::Path;

pub struct Tree {
    db: sled::Db,
    level: Level,
}

impl Tree {
    /// Ends a write as the level demands.
    fn written<T>(&self, result: T) -> Outcome<T> {
        if self.level == Level::Os {
            self.db.flush()?;
        }
        Ok(result)
    }
}

impl Engine for Tree {
    const NAME: &'static CStr = c"sled";
    const LEVELS: &'static [Level] = &[Level::None, Level::Os];

    fn open(directory: &Path, level: Level) -> Outcome<Tree> {
        let every_ms = (level == Level::None).then_some(500);
        let db = sled::Config::new().path(directory).flush_every_ms(every_ms).open()?;
        Ok(Tree { db, level })
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Outcome<bool> {
        let found = self.db.get(key)?;
        if let Some(found) = &found {
            value.clear();
            value.extend_from_slice(found);
        }
        Ok(found.is_some())
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Outcome<()> {
        self.db.insert(key, value)?;
        self.written(())
    }

    fn del(&self, key: &[u8]) -> Outcome<bool> {
        let was = self.db.remove(key)?.is_some();
        self.written(was)
    }

    fn add(&self, key: &[u8], value: &[u8]) -> Outcome<()> {
        self.db.fetch_and_update(key, |old| Some([old.unwrap_or_default(), value].concat()))?;
        self.written(())
    }

    fn scan(&self, start: &[u8], row: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Outcome<()> {
        for pair in self.db.range(start..) {
            let (key, value) = pair?;
            if !row(&key, &value) {
                break;
            }
        }
        Ok(())
    }

    fn batch(&self, pairs: &[(&[u8], &[u8])]) -> Outcome<()> {
        let mut batch = sled::Batch::default();
        pairs.iter().for_each(|(key, value)| batch.insert(*key, *value));
        self.db.apply_batch(batch)?;
        self.written(())
    }

    fn sync(&self) -> Outcome<()> {
        if self.level != Level::None {
            self.db.flush()?;
        }
        Ok(())
    }
}
