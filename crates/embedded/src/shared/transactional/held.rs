//! What an engine holds, by looking at all of it: some keep no count, some only an estimate.

use super::{Engine, More, ReadView, Space};
use crate::shared::embedded::Fault;
use store::{Holding, StoreError};

/// Counts keys, counters and records of counters, each once.
pub fn held(engine: &impl Engine) -> Result<Holding, StoreError> {
    match count(engine) {
        Ok(keys) => Ok(Holding { keys: Some(keys), ..Holding::default() }),
        Err(Fault(words)) => Err(StoreError::Session(words)),
    }
}

fn count(engine: &impl Engine) -> Result<u64, Fault> {
    let (reader, mut keys) = (engine.reader()?, 0);
    for space in [Space::Values, Space::Counters] {
        reader.scan(space, b"", |_, _| {
            keys += 1;
            More::Yes
        })?;
    }
    // The fields of a record lie side by side.
    let mut record = Vec::new();
    reader.scan(Space::Fields, b"", |path, _| {
        let this = record_of(path);
        if record != this {
            record.clear();
            record.extend_from_slice(this);
            keys += 1;
        }
        More::Yes
    })?;
    Ok(keys)
}

/// Returns the beginning that the paths of all fields of a record have in common.
fn record_of(path: &[u8]) -> &[u8] {
    let bytes = path.first_chunk().map_or(path.len(), |bytes| 2 + usize::from(u16::from_be_bytes(*bytes)));
    path.get(..bytes).unwrap_or(path)
}
