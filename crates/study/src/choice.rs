//! What `kvtrial choose` decided.

use crate::{Class, Durability, Quantity};
use serde::{Deserialize, Serialize};

/// The decision of `kvtrial choose`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoreChoice {
    /// Wall time it was given.
    pub budget_s: f64,
    /// Wall time it took.
    pub used_s: f64,
    /// Trials it ran, baselines apart.
    pub trials: u32,
    /// The decisions: one where needs are asked for, else one for each class of stores and level of durability.
    pub decisions: Vec<Decision>,
}

/// A decision among stores that were raced against each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Decision {
    /// Their class, where only stores of one were raced against each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// Their level of durability, in the same case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durability: Option<Durability>,
    /// Why the race ended.
    pub ended: RaceEnd,
    /// The stores to take, the best first: several where no difference between them is shown. Empty where none is shown to meet the needs.
    pub take: Vec<String>,
    /// How the first one to take was set up, in lines of its own form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set_up: Vec<String>,
    /// Stores that are good enough as well, and how many times as much time they need as the first one to take.
    pub also: Vec<Alternative>,
    /// Stores that are not, and why.
    pub out: Vec<Rejection>,
    /// Stores of which it is not shown whether they meet the needs.
    pub not_shown: Vec<String>,
    /// How many settings other than those the stores come with were raced against these.
    pub settings_tried: u32,
    /// The one of these that the first store to take has, where it is ahead: `page_size=8192`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// The job with more data on the first store to take; `None` where there is none to take, and in studies of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_data: Option<MoreData>,
}

/// A trial with more data. Its cell has the parameter among what is varied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MoreData {
    /// How many times as much data there is; 0 where the job cannot have more.
    pub times: u32,
    /// The parameter that was raised.
    pub param: String,
    /// The value of the parameter.
    pub value: String,
    /// Why it was not tried; empty where it was.
    pub because: String,
}

/// Why a race ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RaceEnd {
    /// Everything is decided.
    #[default]
    Decided,
    /// More trials would hardly show a difference: those that are left are alike.
    Alike,
    /// Another round would not fit into the budget.
    Budget,
    /// It was interrupted.
    Interrupted,
}

/// A store that is good enough, too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Alternative {
    /// The store.
    pub store: String,
    /// Its figure over that of the first store to take, so that more is worse; `None` where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<Quantity>,
}

/// A store that is out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rejection {
    /// The store.
    pub store: String,
    /// The kind of reason.
    pub kind: RejectionKind,
    /// The need that it misses, or what is wrong with it; may be empty.
    pub because: String,
}

/// Why a store is out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectionKind {
    /// It misses a need.
    #[default]
    Missed,
    /// Its cell is void: an answer was wrong, missing or refused.
    Void,
    /// It could not be run.
    NotRun,
    /// It lost what it had acknowledged when it was killed.
    Lost,
}
