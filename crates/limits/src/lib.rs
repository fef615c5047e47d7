//! What limits this process: the memory that is free, and the control groups it is in.
//!
//! What never lives here: anything of a store or a job, and how a limit is said to people.

pub mod groups;
pub mod memory;
