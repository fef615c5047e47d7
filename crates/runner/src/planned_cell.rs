//! One cell of a plan.

use engine::Settings;
use jobkit::{NodeChange, Params, WhichNode};
use std::collections::BTreeMap;
use std::time::Duration;
use store::StoreInfo;
use study::Spec;

/// A cell of the plan: a store, and what is done on it and how.
#[derive(Clone)]
pub struct PlannedCell {
    /// The store's adapter.
    pub info: &'static StoreInfo,
    /// The store, with the options that are varied.
    pub spec: Spec,
    /// Whether the cell was added for comparison.
    pub baseline: bool,
    /// The job's parameters, all of them.
    pub params: Params,
    /// The settings that drive its phases.
    pub settings: Settings,
    /// Varied keys with their values here.
    pub varied: BTreeMap<String, String>,
    /// The change that the job wants made to the nodes of its stores.
    pub change: Option<NodeChange<WhichNode>>,
}

/// Returns how long timed phases last, when the job's parameters say so.
pub fn seconds(params: &Params) -> Option<Duration> {
    let seconds: f64 = params.get("seconds")?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero())
}
