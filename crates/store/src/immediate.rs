//! The bridge for synchronous stores: the reply is there at submit.
//!
//! An adapter implements [`SyncStore`]: one handle a client, a plain function an operation. Operations it does not list in its
//! capabilities are never asked of it.

use crate::{Operation, Reply, Session, SessionPlan, Sink, Slot, StoreError, Until};
use std::task::{Context, Poll};

/// One client's handle on a synchronous store.
pub trait SyncStore {
    /// Carries out one operation. The reply may borrow from buffers of the handle.
    fn execute(&mut self, operation: &Operation<'_>) -> Reply<'_>;
}

/// A session over synchronous handles, one a client.
pub struct Immediate<S> {
    handles: Vec<S>,
    pipeline: u32,
}

impl<S: SyncStore + 'static> Immediate<S> {
    /// Opens one handle a client of the plan.
    ///
    /// # Errors
    /// The first error of `open`.
    pub fn session(
        plan: SessionPlan,
        open: impl FnMut() -> Result<S, StoreError>,
    ) -> Result<Box<dyn Session>, StoreError> {
        let mut open = open;
        let handles = (0..plan.clients).map(|_| open()).collect::<Result<Vec<S>, StoreError>>()?;
        Ok(Box::new(Immediate { handles, pipeline: plan.pipeline.max(1) }))
    }
}

impl<S: SyncStore> Session for Immediate<S> {
    #[inline]
    fn submit(&mut self, slot: Slot, operation: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        let client = if self.handles.len() == 1 { 0 } else { (slot / self.pipeline) as usize };
        Ok(Some(self.handles[client].execute(operation)))
    }

    fn poll(&mut self, _: &mut Context<'_>, until: Until, _: &mut dyn Sink) -> Poll<Result<(), StoreError>> {
        if let Until::At(time) = until {
            std::thread::sleep(time.saturating_duration_since(std::time::Instant::now()));
        }
        Poll::Ready(Ok(()))
    }
}
