//! What is tried, in order. Each case opens its own connections and uses its own keys.

mod append;
mod bytes;
mod clients;
mod counters;
mod expiry;
mod keys;
mod many;
mod pipelines;
mod rewrites;
mod scans;
mod sessions;
mod swaps;
mod values;

pub use sessions::delete_keys;

use crate::fault::Stop;
use crate::subject::Subject;
use store::OperationKind;

/// Clients of the concurrent cases.
pub const CLIENTS: usize = 16;

/// Something that must hold.
pub struct Case {
    /// The claim of the case, as a sentence.
    pub name: String,
    /// Operations the store must have itself.
    pub needs: &'static [OperationKind],
    /// Tries it.
    pub run: Box<dyn Fn(&Subject<'_>) -> Result<(), Stop>>,
}

impl Case {
    /// Makes a case of that name.
    pub fn new(
        name: impl Into<String>,
        needs: &'static [OperationKind],
        run: impl Fn(&Subject<'_>) -> Result<(), Stop> + 'static,
    ) -> Case {
        Case { name: name.into(), needs, run: Box::new(run) }
    }
}

/// Returns all cases, in the order they are tried.
pub fn all() -> Vec<Case> {
    let groups = [
        values::cases(),
        bytes::cases(),
        keys::cases(),
        rewrites::cases(),
        pipelines::cases(),
        many::cases(),
        scans::cases(),
        append::cases(),
        counters::cases(),
        swaps::cases(),
        expiry::cases(),
        clients::cases(),
        sessions::cases(),
    ];
    groups.into_iter().flatten().collect()
}
