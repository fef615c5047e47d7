//! Whether there is room for what a job will leave in a store, looked at before anything is started.

use crate::failure::Failure;
use engine::Job;
use std::path::Path;
use store::{Class, Keeps, StoreInfo};
use study::{Durability, Spec, Target};

/// Refuses a job whose keys and values alone exceed what is free: memory for stores that may keep all in it, else disk.
pub fn check(job: &dyn Job, info: &StoreInfo, spec: &Spec, base: &Path) -> Result<(), Failure> {
    let capabilities = info.declared(spec);
    if matches!(spec.target, Target::Server(_)) || capabilities.keeps == Keeps::Nothing {
        return Ok(());
    }
    let in_memory =
        info.class == Class::Baseline || info.class == Class::Network && capabilities.durability == Durability::None;
    let (free, what) = match in_memory {
        true => (host::free_memory_bytes(), "memory"),
        false => (host::free_disk_bytes(base), "disk"),
    };
    let needed = job.logical_bytes();
    match free {
        Some(free) if free < needed => Err(Failure::usage(format!(
            "-s {spec}: the job leaves at least {} of keys and values, and {} of {what} are free; make it smaller (--data, --scale), or {}",
            report::units::bytes(needed),
            report::units::bytes(free),
            if in_memory { "free some memory" } else { "name a larger disk with --base DIR" }
        ))),
        _ => Ok(()),
    }
}
