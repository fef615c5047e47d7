//! What several adapters stand on: ways to open a library, and engines that are alike.

pub(crate) mod cabinet;
pub(crate) mod dylib;
pub(crate) mod embedded;
pub(crate) mod log_structured;
pub(crate) mod stripes;
pub(crate) mod transactional;
