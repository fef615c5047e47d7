//! What a study knows of stores of the user's: which keys it has left there, and what is to be done about them before a trial.

use crate::assignment::{Action, Keys};
use crate::plan::{KeysFound, Plan};
use crate::planned_cell::PlannedCell;
use jobkit::Params;
use std::collections::{BTreeMap, BTreeSet};
use study::{Left, Spec, Target};

/// Stores of the user's, with the parameters of the trial that last left its keys there.
pub(crate) struct UsersStores {
    /// Where keys that are found are an earlier trial's: this study has left them there.
    ours: BTreeSet<String>,
    last: BTreeMap<String, Params>,
}

impl UsersStores {
    pub(crate) fn new(left: &[Left]) -> UsersStores {
        UsersStores { ours: left.iter().map(|left| left.store.clone()).collect(), last: BTreeMap::new() }
    }

    /// Returns the first time, a store of the user's must hold none of the keys any trial will use there; later they are an earlier
    /// trial's and deleted. `None`: the store is private.
    pub(crate) fn keys(&mut self, plan: &Plan, cell: &PlannedCell) -> Option<Keys> {
        if cell.spec.target == Target::Private {
            return None;
        }
        let target = place_of;
        let place = target(&cell.spec);
        let last = self.last.insert(place.clone(), cell.params.clone());
        let action = match last {
            None if plan.keys_found == KeysFound::Refuse && !self.ours.contains(&place) => Action::Look,
            _ => Action::Delete,
        };
        let mut params: Vec<Params> = vec![cell.params.clone()];
        params.extend(last.clone());
        if last.is_none() {
            params.extend(
                plan.cells.iter().filter(|other| target(&other.spec) == place).map(|other| other.params.clone()),
            );
        }
        params.sort_unstable();
        params.dedup();
        Some(Keys { action, params })
    }
}

/// Returns where a store of the user's is: its spec without secrets and options.
pub fn place_of(spec: &Spec) -> String {
    Spec { durability: None, options: BTreeMap::new(), ..spec.clone() }.to_string()
}
