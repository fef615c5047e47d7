//! Short-lived runtimes for what happens outside sessions: connecting, making tables, reading settings.

use crate::StoreError;
use std::cell::RefCell;
use std::future::Future;
use std::rc::{Rc, Weak};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// Returns a current-thread runtime.
///
/// # Errors
/// The system gives none.
pub fn runtime() -> Result<Runtime, StoreError> {
    let build = Builder::new_current_thread().enable_all().build();
    build.map_err(|error| StoreError::Session(format!("no runtime for the driver: {error}")))
}

thread_local! {
    static SHARED: RefCell<Weak<Runtime>> = const { RefCell::new(Weak::new()) };
}

/// Returns the runtime of this thread's sessions, which lives as long as one of the sessions: a thread that waits for several sessions waits in one
/// runtime.
pub(super) fn shared_runtime() -> Result<Rc<Runtime>, StoreError> {
    if let Some(runtime) = SHARED.with_borrow(Weak::upgrade) {
        return Ok(runtime);
    }
    let runtime = Rc::new(runtime()?);
    SHARED.set(Rc::downgrade(&runtime));
    Ok(runtime)
}

/// Runs `work` to its end on a runtime of its own, at most for `limit`; no thread and no connection is left behind.
///
/// # Errors
/// Those of `work`; [`StoreError::Open`] naming `what` when the time is up.
pub fn brief<T>(
    what: &dyn std::fmt::Display,
    limit: Duration,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let runtime = runtime()?;
    let result = runtime.block_on(async { tokio::time::timeout(limit, work).await });
    runtime.shutdown_background();
    result.unwrap_or_else(|_| Err(StoreError::open(what, format!("no answer within {} s", limit.as_secs_f32()))))
}
