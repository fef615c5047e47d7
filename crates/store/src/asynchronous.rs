//! The bridge for tokio drivers.
