//! Where the keys of a cluster are before and after a change of its nodes, as the cluster says.

use super::found::variation;
use crate::ycsb::key::key;
use serde_json::Value;
use std::sync::{Mutex, PoisonError};
use store::{Keepers, Store, Whereabouts};

/// The places of the keys that the cluster has named so far.
#[derive(Default)]
pub(super) struct Placed {
    before: Mutex<Option<Said>>,
    after: Mutex<Option<Said>>,
}

/// What it has said once.
enum Said {
    By(Box<dyn Keepers>),
    /// Nothing: why.
    Nothing(String),
}

impl Said {
    fn of(store: &dyn Store) -> Said {
        match store.whereabouts() {
            Whereabouts::Cluster(cluster) => match cluster.keepers() {
                Ok(keepers) => Said::By(keepers),
                Err(error) => Said::Nothing(format!("not said: {error}")),
            },
            Whereabouts::Spread(_) => Said::Nothing("kvtrial places its keys".into()),
            Whereabouts::Unsaid(why) => Said::Nothing(why.into()),
        }
    }
}

impl Placed {
    /// Asks before the change.
    pub fn before(&self, store: &dyn Store) {
        *self.before.lock().unwrap_or_else(PoisonError::into_inner) = Some(Said::of(store));
    }

    /// Asks after it.
    pub fn after(&self, store: &dyn Store) {
        *self.after.lock().unwrap_or_else(PoisonError::into_inner) = Some(Said::of(store));
    }

    /// Returns facts for the answer, for this many keys.
    pub fn facts(&self, records: u64) -> Vec<(String, Value)> {
        let before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let after = self.after.lock().unwrap_or_else(PoisonError::into_inner);
        let facts: Vec<(&str, Value)> = match (&*before, &*after) {
            (Some(Said::By(before)), Some(Said::By(after))) => of_keepers(&**before, &**after, records),
            (Some(Said::Nothing(why)), _) | (_, Some(Said::Nothing(why))) => {
                vec![("where_keys_are", why.clone().into())]
            }
            _ => Vec::new(),
        };
        facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

fn of_keepers(before: &dyn Keepers, after: &dyn Keepers, records: u64) -> Vec<(&'static str, Value)> {
    let nodes = before.nodes().max(after.nodes());
    let (mut then, mut now, mut moved) = (vec![0u64; nodes], vec![0u64; nodes], 0u64);
    for id in 0..records {
        let key = key(id);
        let (from, to) = (before.keeper(&key), after.keeper(&key));
        then[from] += 1;
        now[to] += 1;
        moved += u64::from(from != to);
    }
    let with_keys = |keys: &[u64]| keys.iter().filter(|keys| **keys > 0).count();
    vec![
        ("where_keys_are", "as the store says".into()),
        ("nodes_with_keys_before", with_keys(&then).into()),
        ("nodes_with_keys_after", with_keys(&now).into()),
        ("variation_before", variation(&then, with_keys(&then)).into()),
        ("variation_after", variation(&now, with_keys(&now)).into()),
        ("keys_by_node_before", then.into()),
        ("keys_by_node_after", now.into()),
        ("keys_at_another_node", moved.into()),
        ("share_at_another_node", (moved as f64 / records.max(1) as f64).into()),
    ]
}
