//! What stands around a store or over several: forwarding what is not changed, asking a server what it has, routes of keys.

pub mod asked;
pub mod layered;
pub mod routed;
pub mod spread;
