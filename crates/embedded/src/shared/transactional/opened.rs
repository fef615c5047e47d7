//! An opened engine as a store.

use super::{Engine, Handle, Shared, held, swept};
use crate::shared::embedded::Fault;
use std::path::Path;
use std::sync::Arc;
use store::immediate::Immediate;
use store::{
    Capabilities, Facts, Holding, Maintenance, Session, SessionPlan, Store, StoreError, Sweep, Swept, Threading,
};

/// A store over an engine.
pub struct Opened<E> {
    shared: Arc<Shared<E>>,
    capabilities: Capabilities,
}

impl<E: Engine> Opened<E> {
    /// Makes a store over an engine that was just opened at `path`.
    pub fn store(
        engine: Result<E, Fault>,
        path: &Path,
        capabilities: Capabilities,
    ) -> Result<Box<dyn Store>, StoreError> {
        let shared = engine.and_then(Shared::new).map_err(|Fault(words)| StoreError::open(path.display(), words))?;
        Ok(Box::new(Opened { shared: Arc::new(shared), capabilities }))
    }
}

impl<E: Engine> Store for Opened<E> {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Immediate::session(plan, || Ok(Handle::new(Arc::clone(&self.shared), &self.capabilities)))
    }

    fn threading(&self) -> Threading {
        Threading::PerClient
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        self.shared.engine.facts(self.capabilities.durability)
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        held(&self.shared.engine)
    }

    fn sweep(&self, sweep: Sweep, keys: &[&[u8]]) -> Result<Option<Swept>, StoreError> {
        swept(&self.shared, &self.capabilities, sweep, keys).map(Some)
    }

    fn resent(&self) -> u64 {
        self.shared.engine.resent()
    }

    fn maintenance(&self) -> Maintenance<'_> {
        self.shared.engine.maintenance()
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.shared.engine.flush(self.capabilities.durability)
    }
}
