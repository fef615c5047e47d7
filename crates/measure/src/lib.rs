//! What a client thread writes down while it works: a calibrated clock, counts, latency histograms, and rate and tail over time.
//!
//! Everything here takes constant memory, and adding to it takes no lock and allocates nothing.
//!
//! What never lives here: what is right or wrong with a reply, who sends what and when, statistics over trials.

mod clock;
mod coarse;
mod counts;
mod histograms;
mod live;
mod series;

pub use clock::{Clock, Ticks, monotonic_ns, thread_cpu};
pub use coarse::{COARSE_BUCKETS, CoarseCounts, add_coarse, coarse_percentile};
pub use counts::Counts;
pub use histograms::Histograms;
pub use live::{Live, Progress};
pub use series::{Series, Timeline};
pub use study::Histogram;
