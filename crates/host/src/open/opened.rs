//! A store that is open, with all that hangs on it.

use super::{Installation, Thaw};
use std::ops::Deref;
use store::{Facts, Store, StoreError};

/// A store opened in this process, on its installation. Dropping it disconnects, stops the private server and removes the private
/// directory.
pub struct OpenStore {
    // The order is that of dropping: the store before what it rests on.
    pub(super) _thaw: Thaw,
    pub(super) store: Box<dyn Store>,
    pub(super) installation: Installation,
}

impl OpenStore {
    /// Returns the store itself.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Returns the facts that the store reports; and the fact that other users can connect to a private server, if they can.
    ///
    /// # Errors
    /// The store cannot be reached or refuses.
    pub fn facts(&self) -> Result<Facts, StoreError> {
        self.location.facts(self.store())
    }

    /// Disconnects, stops the private server, removes the private directory.
    ///
    /// # Errors
    /// The files that could not be removed.
    pub fn close(self) -> Result<(), StoreError> {
        let OpenStore { _thaw, store, installation } = self;
        drop(_thaw);
        drop(store);
        installation.close()
    }
}

impl Deref for OpenStore {
    type Target = Installation;

    fn deref(&self) -> &Installation {
        &self.installation
    }
}

impl std::fmt::Debug for OpenStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenStore").field("spec", self.spec()).field("server_pid", &self.server_pid()).finish()
    }
}
