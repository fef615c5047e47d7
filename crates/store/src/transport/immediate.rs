//! The bridge for synchronous stores: the reply is there at submit.
//!
//! An adapter implements [`SyncStore`]: one handle per client, one plain function per operation. Operations it does not list in its capabilities are
//! never asked of it.

pub use crate::session::Heed;
use crate::{Operation, OperationKind, Reply, Session, SessionPlan, Sink, Slot, StoreError, Until};
use std::task::{Context, Poll};

/// A client's handle on a synchronous store.
pub trait SyncStore {
    /// Carries out one operation. The reply may borrow from buffers of the handle.
    fn execute(&mut self, operation: &Operation<'_>) -> Reply<'_>;

    /// Prepares for an operation of this kind on this key, which will follow soon: a store in memory may fetch the key meanwhile.
    /// [`rest`](SyncStore::rest) follows before the thread does anything else, so locks may be held until then.
    fn expect(&mut self, kind: OperationKind, key: &[u8]) -> Heed {
        let _ = (kind, key);
        Heed::Ignored
    }

    /// Ends the turn: releases everything kept since a key was expected.
    fn rest(&mut self) {}
}

/// A session over synchronous handles, one per client.
pub struct Immediate<S> {
    handles: Vec<S>,
    pipeline: u32,
}

impl<S: SyncStore + 'static> Immediate<S> {
    /// Opens one handle per client of the plan.
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

impl<S: SyncStore> Immediate<S> {
    #[inline]
    fn handle(&mut self, slot: Slot) -> &mut S {
        let client = if self.handles.len() == 1 { 0 } else { (slot / self.pipeline) as usize };
        &mut self.handles[client]
    }
}

impl<S: SyncStore> Session for Immediate<S> {
    #[inline]
    fn submit(&mut self, slot: Slot, operation: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        Ok(Some(self.handle(slot).execute(operation)))
    }

    #[inline]
    fn expect(&mut self, slot: Slot, kind: OperationKind, key: &[u8]) -> Heed {
        self.handle(slot).expect(kind, key)
    }

    fn rest(&mut self, slot: Slot) {
        self.handle(slot).rest();
    }

    fn poll(&mut self, _: &mut Context<'_>, until: Until, _: &mut dyn Sink) -> Poll<Result<(), StoreError>> {
        if let Until::At(time) = until {
            std::thread::sleep(time.saturating_duration_since(std::time::Instant::now()));
        }
        Poll::Ready(Ok(()))
    }
}
