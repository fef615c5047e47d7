//! The ground of a private store: a file system of its own, where its files are not to lie on the one of the base.

use crate::lease::Lease;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use store::StoreError;

type Lay = dyn Fn(&Path, &Path) -> Result<(), String> + Send + Sync;

/// What mounts a file system of its own below the files of a private store, before anything is written there. It goes with the store's directory.
#[derive(Clone)]
pub struct Ground(Arc<Lay>);

impl Ground {
    /// Makes one of a function that mounts it: it gets a directory for what it needs itself, which is not there yet, and the empty directory of the
    /// store.
    pub fn new(lay: impl Fn(&Path, &Path) -> Result<(), String> + Send + Sync + 'static) -> Ground {
        Ground(Arc::new(lay))
    }

    /// Mounts it in a private directory.
    ///
    /// # Errors
    /// What is missing, in words.
    pub(crate) fn lay(&self, lease: &Lease) -> Result<(), StoreError> {
        (self.0)(&lease.disk(), lease.store()).map_err(|words| StoreError::open("a disk for the store", words))
    }
}

impl fmt::Debug for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ground")
    }
}
