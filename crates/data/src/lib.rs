//! Inputs: readers, integer-only generators, random numbers, distributions, digests.
//!
//! * [`lines`]: the lines of a text file, plain or `.gz`, with line and column in every error.
//! * [`fans`]: fan profiles, read from either of their formats, shipped with the program, or generated.
//! * [`docs`]: JSON documents with ids, read from JSON lines or CSV, shipped with the program, or generated.
//! * [`splitmix`], [`wyrand`]: random numbers whose bytes are fixed for ever, and fast ones.
//! * [`zipf`], [`scramble`]: popularity over keys that exist, and its spread over the key space.
//! * [`digest`]: sha256 over lines in byte order.
//!
//! What never lives here: a store, an operation, a clock, anything that depends on what a store answered.

pub mod digest;
pub mod docs;
mod error;
pub mod fans;
pub mod lines;
pub mod names;
pub mod scramble;
pub mod splitmix;
pub mod wyrand;
pub mod zipf;

pub use error::{DataError, Spot};
