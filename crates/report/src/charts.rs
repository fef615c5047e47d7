//! One module a chart. Each turns cells into a [`Chart`](crate::Chart), or into nothing when there is nothing to draw.

pub(crate) mod budget;
pub(crate) mod crashes;
pub(crate) mod events;
mod facets;
pub(crate) mod faults;
pub(crate) mod growth;
pub(crate) mod latency;
mod lives;
mod marked;
pub(crate) mod ranking;
pub(crate) mod rate;
pub(crate) mod resources;
pub(crate) mod sets;
pub(crate) mod sweep;
mod thin;
pub(crate) mod time;
pub(crate) mod tune;
