//! A server killed under its client and started again in the same place.
