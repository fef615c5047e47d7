//! What each of several workers did in a trial that they carried out together.

use serde::{Deserialize, Serialize};

/// The part of a worker in the timed phases of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkerUse {
    /// The name of its machine, or the one it was given; a number follows where several have the same.
    pub name: String,
    /// Processors it may use.
    pub cpus: u32,
    /// The first of the clients that it drove, of all from 0.
    pub first_client: u32,
    /// How many it drove.
    pub clients: u32,
    /// Client threads.
    pub threads: u32,
    /// Operations completed, good or bad.
    pub operations: u64,
    /// Operations answered per second of its own time.
    pub ops_per_s: f64,
    /// Its own time, seconds.
    pub elapsed_s: f64,
    /// How much later than the first worker it began, as measured, seconds; of several phases the longest.
    pub start_offset_s: f64,
    /// How far its clock may be from what was measured of it, seconds: half the shortest round trip, and what it went astray in the trial.
    pub clock_error_s: f64,
    /// Client CPU seconds, all threads.
    pub client_cpu_s: f64,
    /// Largest share of a processor used by one client thread, 0 to 1.
    pub client_thread_load: f64,
}
