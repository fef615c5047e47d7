//! What a worker has at hand, and who hears it.

use crate::message::{FromWorker, Order};
use crate::shares::ShareReport;
use engine::Begin;
use jobkit::{Job, JobError, Params};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::StoreInfo;

/// A listener that hears what a worker says.
pub(crate) trait Link {
    /// Says it and goes on.
    fn say(&mut self, report: FromWorker);

    /// Says it and waits for what to do.
    fn ask(&mut self, report: FromWorker) -> Order;

    /// Tells all shares of the trial this before their next phase, and waits for what each of them told, in their order.
    fn exchange(&mut self, told: ShareReport) -> Vec<ShareReport> {
        vec![told]
    }

    /// Says that every client is ready, and returns when the phase begins. If it is not to begin, the worker is stopped as well.
    fn ready(&mut self) -> Begin {
        Begin::Now
    }
}

/// The things a worker has at hand.
pub(crate) struct Bench<'a> {
    /// The store's adapter.
    pub(crate) info: &'static StoreInfo,
    /// Gives a job with its input read.
    pub(crate) job: &'a dyn Fn(&Params) -> Result<Arc<dyn Job>, JobError>,
    /// Set when the trial is to stop.
    pub(crate) stop: &'a Arc<AtomicBool>,
    /// Set when kvtrial has changed the nodes as the job asked.
    pub(crate) changed: &'a AtomicBool,
}
