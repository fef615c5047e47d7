//! A view to write to.

use super::{Batch, Tree};
use crate::shared::embedded::Fault;
use crate::shared::stripes::Held;
use crate::shared::transactional::{More, ReadView, Space, WriteView};

/// A view that reads what is stored, and writes everything in one batch at its end.
pub struct Writer<'e> {
    pub(super) tree: &'e Tree,
    pub(super) batch: Batch,
    pub(super) _held: Held<'e>,
}

impl ReadView for Writer<'_> {
    fn get<T>(&self, space: Space, key: &[u8], found: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Fault> {
        self.tree.get(space, key, found)
    }

    fn scan(&self, space: Space, start: &[u8], row: impl FnMut(&[u8], &[u8]) -> More) -> Result<(), Fault> {
        self.tree.scan(space, start, row)
    }
}

impl WriteView for Writer<'_> {
    fn put(&mut self, space: Space, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        self.batch.put(space, key, value);
        Ok(())
    }

    fn delete(&mut self, space: Space, key: &[u8]) -> Result<bool, Fault> {
        if self.tree.get(space, key, |_| ())?.is_none() {
            return Ok(false);
        }
        self.batch.delete(space, key);
        Ok(true)
    }

    fn commit(self) -> Result<(), Fault> {
        self.tree.store(&self.batch)
    }
}
