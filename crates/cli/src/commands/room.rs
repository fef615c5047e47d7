//! Whether there is room for what a job will leave in a store, looked at before anything is started.

use crate::failure::Failure;
use engine::Job;
use runner::PlannedStore;
use std::path::Path;
use store::{Class, Keeps};
use study::{Durability, Target};

/// Refuses a job whose keys and values alone exceed what is free: memory for stores that may keep all in it, else disk.
pub fn check(job: &dyn Job, stores: &[PlannedStore], base: &Path) -> Result<(), Failure> {
    let needed = job.logical_bytes();
    let ours = |planned: &&PlannedStore| !matches!(planned.spec.target, Target::Server(_));
    for planned in stores.iter().filter(ours) {
        let capabilities = planned.info.declared(&planned.spec);
        if capabilities.keeps == Keeps::Nothing {
            continue;
        }
        let in_memory = planned.info.class == Class::Baseline
            || planned.info.class == Class::Network && capabilities.durability == Durability::None;
        let (free, what) =
            if in_memory { (host::free_memory_bytes(), "memory") } else { (host::free_disk_bytes(base), "disk") };
        if let Some(free) = free.filter(|&free| free < needed) {
            return Err(Failure::usage(format!(
                "-s {}: the job leaves at least {} of keys and values, and {} of {what} are free; make it smaller (--data, --scale), or {}",
                planned.spec,
                size(needed),
                size(free),
                if in_memory { "free some memory" } else { "name a larger disk with --base DIR" }
            )));
        }
    }
    Ok(())
}

fn size(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}
