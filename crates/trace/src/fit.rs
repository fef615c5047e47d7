//! What a trace is like: how popular its keys are, what is asked of them, how large values are, when requests come, how the keys change, and what
//! caches of any size would hit.

mod curve;
mod like;
mod popularity;

pub use curve::{Cliff, HitCurve};
pub use like::{AskedLast, LikeDistance, LikeTrace, ReuseDistance, of_popularity, of_values, zipf_keys};
pub use popularity::{Popularity, popularity};

use crate::trace::{RequestKind, Trace};
use std::collections::BTreeSet;

/// Parts of a trace whose keys are compared.
const PARTS: usize = 10;

/// The share of the requests that are of each kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestMix {
    /// Gets.
    pub gets: f64,
    /// Sets.
    pub sets: f64,
    /// Deletes.
    pub deletes: f64,
    /// Touches, which give a key another time to live.
    pub touches: f64,
}

/// Returns the mix of a trace.
pub fn mix(trace: &Trace) -> RequestMix {
    let share = |kind| trace.count(kind) as f64 / trace.ids().len().max(1) as f64;
    RequestMix {
        gets: share(RequestKind::Get),
        sets: share(RequestKind::Set),
        deletes: share(RequestKind::Delete),
        touches: share(RequestKind::Touch),
    }
}

/// Returns how often each key is asked for, most often first.
pub fn counts(trace: &Trace) -> Vec<u32> {
    let mut counts = vec![0; trace.keys().len()];
    trace.ids().iter().for_each(|&id| counts[id as usize] += 1);
    counts.sort_unstable_by(|one, other| other.cmp(one));
    counts
}

/// The bytes of values, over the requests that say them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueSizes {
    /// The median.
    pub p50: u32,
    /// The 90th percentile.
    pub p90: u32,
    /// The 99th percentile.
    pub p99: u32,
    /// The most.
    pub most: u32,
    /// On average.
    pub mean: u32,
}

/// Returns the sizes of the values of which the trace says them, the smallest first.
pub fn sorted_sizes(trace: &Trace) -> Vec<u32> {
    let mut sizes: Vec<u32> = (0..trace.ids().len()).filter_map(|request| trace.value_bytes(request)).collect();
    sizes.sort_unstable();
    sizes
}

/// Returns how large values are; `None`: the trace does not say.
pub fn sizes(trace: &Trace) -> Option<ValueSizes> {
    let sizes = sorted_sizes(trace);
    let at = |share: f64| sizes.get(((sizes.len() as f64 * share) as usize).min(sizes.len() - 1)).copied();
    let mean = sizes.iter().map(|&bytes| u64::from(bytes)).sum::<u64>().checked_div(sizes.len() as u64)? as u32;
    Some(ValueSizes { p50: at(0.5)?, p90: at(0.9)?, p99: at(0.99)?, most: *sizes.last()?, mean })
}

/// The times to live that requests give.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LifetimeFit {
    /// The share of the sets that give one.
    pub sets: f64,
    /// Gets and touches that give one.
    pub renewals: u64,
    /// The shortest.
    pub least_ms: u64,
    /// The median.
    pub p50_ms: u64,
    /// The 90th percentile.
    pub p90_ms: u64,
    /// The longest.
    pub most_ms: u64,
    /// How many are different.
    pub different: usize,
}

/// Returns the times to live that requests give, the shortest first.
pub fn ttls_ms(trace: &Trace) -> Vec<u64> {
    let mut ttls: Vec<u64> = (0..trace.ids().len()).filter_map(|request| trace.given_ttl_ms(request)).collect();
    ttls.sort_unstable();
    ttls
}

/// Returns how long values are to live; `None`: no request says so.
pub fn lifetimes(trace: &Trace) -> Option<LifetimeFit> {
    let ttls = ttls_ms(trace);
    let at = |share: f64| ttls.get(((ttls.len() as f64 * share) as usize).min(ttls.len() - 1)).copied();
    let of_sets = (0..trace.ids().len())
        .filter(|&request| trace.kind(request) == RequestKind::Set && trace.given_ttl_ms(request).is_some());
    let of_sets = of_sets.count() as u64;
    Some(LifetimeFit {
        least_ms: *ttls.first()?,
        p50_ms: at(0.5)?,
        p90_ms: at(0.9)?,
        most_ms: *ttls.last()?,
        different: ttls.chunk_by(|one, other| one == other).count(),
        sets: of_sets as f64 / trace.count(RequestKind::Set).max(1) as f64,
        renewals: ttls.len() as u64 - of_sets,
    })
}

/// When requests come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArrivalFit {
    /// The time from the first to the last.
    pub span_s: f64,
    /// Requests per second.
    pub per_s: f64,
    /// The most in a second.
    pub most_in_a_second: u64,
    /// The variance of the requests per second, as a multiple of their mean: 1 of a Poisson process, more where they come in bursts. `None`: the trace is
    /// shorter than ten seconds.
    pub dispersion: Option<f64>,
}

/// Returns when requests come; `None`: the trace does not say.
pub fn arrivals(trace: &Trace) -> Option<ArrivalFit> {
    let last_us = trace.time_us(trace.ids().len().checked_sub(1)?)?;
    let span_s = last_us as f64 / 1e6;
    let mut seconds = vec![0_u64; (last_us / 1_000_000 + 1) as usize];
    (0..trace.ids().len())
        .filter_map(|request| trace.time_us(request))
        .for_each(|time_us| seconds[(time_us / 1_000_000) as usize] += 1);
    let most_in_a_second = seconds.iter().copied().max()?;
    seconds.pop(); // it may not be whole
    let mean = seconds.iter().sum::<u64>() as f64 / seconds.len() as f64;
    let variance =
        seconds.iter().map(|&count| (count as f64 - mean).powi(2)).sum::<f64>() / (seconds.len() as f64 - 1.0);
    Some(ArrivalFit {
        span_s,
        per_s: trace.ids().len() as f64 / span_s.max(1e-6),
        most_in_a_second,
        dispersion: (seconds.len() >= 10).then_some(variance / mean),
    })
}

/// The keys of a tenth of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkingSet {
    /// Requests.
    pub requests: usize,
    /// Different keys.
    pub keys: usize,
    /// Of these, those that were not asked for before.
    pub new_keys: usize,
}

/// Returns the keys of each tenth of a trace.
pub fn working_sets(trace: &Trace) -> Vec<WorkingSet> {
    let ids = trace.ids();
    let mut known = vec![false; trace.keys().len()];
    let of = |part: &[u32]| {
        let keys: BTreeSet<u32> = part.iter().copied().collect();
        let new = |&&id: &&u32| !std::mem::replace(&mut known[id as usize], true);
        WorkingSet { requests: part.len(), keys: keys.len(), new_keys: keys.iter().filter(new).count() }
    };
    ids.chunks(ids.len().div_ceil(PARTS).max(1)).map(of).collect()
}
