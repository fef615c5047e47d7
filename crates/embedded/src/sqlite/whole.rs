//! The work on the whole file: compaction, checkpoints, counts and sums.

use super::engine::Sqlite;
use rusqlite::Row;
use std::sync::PoisonError;
use std::time::Duration;
use store::{Checkpoint, Compact, Reduce, Reduction, ReductionGroup, StoreError};

const REDUCE: &str = "SELECT json_extract(document, ?1), count(*), sum(json_extract(document, ?2))
    FROM (SELECT CAST(value AS TEXT) AS document FROM kvtrial_values) GROUP BY 1";

impl Compact for Sqlite {
    /// Rewrites the file, and folds the log, through which the new file went, into it.
    fn compact(&self, _: Duration) -> Result<(), StoreError> {
        let _turn = self.file.turn();
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        let compacted = first.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);");
        compacted.map_err(|error| self.file.trouble(error))
    }
}

impl Checkpoint for Sqlite {
    fn checkpoint(&self, _: Duration) -> Result<(), StoreError> {
        let _turn = self.file.turn();
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        let made = first.execute_batch("PRAGMA wal_checkpoint(TRUNCATE);");
        made.map_err(|error| self.file.trouble(error))
    }
}

impl Reduce for Sqlite {
    fn reduce(&self, reduction: &Reduction, _: Duration) -> Result<Vec<ReductionGroup>, StoreError> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        let groups = || -> rusqlite::Result<Vec<ReductionGroup>> {
            let mut statement = first.prepare(REDUCE)?;
            let group = |row: &Row<'_>| {
                Ok(ReductionGroup { key: row.get(0)?, count: row.get::<_, i64>(1)? as u64, sum: row.get(2)? })
            };
            statement.query_map((reduction.group.sql_json(), reduction.sum.sql_json()), group)?.collect()
        };
        groups().map_err(|error| self.file.trouble(error))
    }
}
