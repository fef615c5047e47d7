//! What charts of several subjects share.

pub(crate) mod axes;
pub(crate) mod bars;
pub(crate) mod facets;
pub(crate) mod marked;
pub(crate) mod thin;
