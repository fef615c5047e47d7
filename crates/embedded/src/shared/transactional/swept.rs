//! Many keys at once, in one view: to find out whether they are there, or to delete them.

use super::{Engine, More, ReadView, Shared, Space, WriteView, delete_fields, record_prefix};
use crate::shared::embedded::Fault;
use std::sync::atomic::Ordering;
use store::{Capabilities, StoreError, Sweep, Swept};

/// Looks for these keys in every space, or deletes them. Nobody else writes meanwhile: the view to write is not bound to a particular key.
pub fn swept<E: Engine>(
    shared: &Shared<E>,
    limits: &Capabilities,
    sweep: Sweep,
    keys: &[&[u8]],
) -> Result<Swept, StoreError> {
    let words = |Fault(words): Fault| StoreError::Session(words);
    loop {
        let done = match sweep {
            Sweep::Look => look(shared, limits, keys),
            Sweep::Delete => delete(shared, limits, keys),
        };
        match done {
            Err(fault) if shared.engine.again(&fault) => {}
            done => return done.map_err(words),
        }
    }
}

fn look<E: Engine>(shared: &Shared<E>, limits: &Capabilities, keys: &[&[u8]]) -> Result<Swept, Fault> {
    let (reader, mut swept, mut path) = (shared.engine.reader()?, Swept::default(), Vec::new());
    let counted = shared.counted.load(Ordering::Relaxed);
    for (place, key) in keys.iter().enumerate() {
        let mut found = reader.get(Space::Values, key, |_| ())?.is_some();
        if counted && !found {
            found = reader.get(Space::Counters, key, |_| ())?.is_some();
            if !found && record_prefix(&mut path, key, limits.max_key_bytes) {
                reader.scan(Space::Fields, &path, |field, _| {
                    found = field.starts_with(&path);
                    More::No
                })?;
            }
        }
        if found {
            swept.count(place);
        }
    }
    Ok(swept)
}

fn delete<E: Engine>(shared: &Shared<E>, limits: &Capabilities, keys: &[&[u8]]) -> Result<Swept, Fault> {
    let (mut writer, mut swept, mut path) = (shared.engine.writer(b"")?, Swept::default(), Vec::new());
    let counted = shared.counted.load(Ordering::Relaxed);
    for (place, key) in keys.iter().enumerate() {
        let mut found = writer.delete(Space::Values, key)?;
        if counted {
            found |= writer.delete(Space::Counters, key)?;
            if record_prefix(&mut path, key, limits.max_key_bytes) {
                found |= delete_fields(&mut writer, &path)?;
            }
        }
        if found {
            swept.count(place);
        }
    }
    if swept.there > 0 {
        writer.commit()?;
    }
    Ok(swept)
}
