//! What came of the change: where keys lie, and how many moved, beside what theory says.

use crate::ycsb::key::key;
use serde_json::Value;
use store::spread::Spread;

/// Keys by node before and after, and those that moved.
pub(super) struct Found<'a> {
    spread: &'a dyn Spread,
    /// Of nodes that are not there it is 0.
    before: Vec<u64>,
    after: Vec<u64>,
    moved: u64,
    /// Keys of the node that was lost.
    lost: u64,
}

impl<'a> Found<'a> {
    /// Counts the keys of a spread store. Reading them back has shown that they lie where they are counted.
    pub fn of(spread: &'a dyn Spread, records: u64) -> Found<'a> {
        let nodes = spread.nodes();
        let mut found = Found { spread, before: vec![0; nodes], after: vec![0; nodes], moved: 0, lost: 0 };
        for id in 0..records {
            let (before, after) = spread.nodes_of(&key(id));
            found.before[before] += 1;
            found.after[after] += 1;
            match spread.lost() {
                Some(lost) if lost == before => found.lost += 1,
                _ => found.moved += u64::from(before != after),
            }
        }
        found
    }

    /// Returns facts for the answer.
    pub fn facts(&self, moving_s: Option<f64>) -> Vec<(String, Value)> {
        let keys: u64 = self.before.iter().sum();
        let moves = self.spread.moves();
        let (before, after) = self.spread.change().unwrap_or((self.before.len(), self.after.len()));
        let share = self.moved as f64 / keys.max(1) as f64;
        let mut facts: Vec<(&str, Value)> = vec![
            ("nodes_before", before.into()),
            ("nodes_after", after.into()),
            ("keys_by_node_before", self.before.clone().into()),
            ("keys_by_node_after", self.after.clone().into()),
            ("variation_before", variation(&self.before, before).into()),
            ("variation_after", variation(&self.after, after).into()),
            ("keys_to_move", self.moved.into()),
            ("share_to_move", share.into()),
            ("keys_moved", moves.keys.into()),
            ("operations_on_moving_keys", moves.operations.into()),
            ("requests_for_moving_keys", moves.requests.into()),
        ];
        if let Some(lost) = self.spread.lost() {
            facts.push(("node_lost", (lost + 1).into()));
            facts.push(("keys_on_lost_node", self.lost.into()));
            facts.push(("share_on_lost_node", (self.lost as f64 / keys.max(1) as f64).into()));
        }
        if let Some(law) = self.spread.law() {
            // Binomial beside the placement's own.
            let sampling = law.moved * (1.0 - law.moved) / keys.max(1) as f64;
            let deviation = (law.moved_deviation * law.moved_deviation + sampling).sqrt();
            facts.push(("share_to_move_in_theory", law.moved.into()));
            facts.push(("share_to_move_deviation", deviation.into()));
            facts.push(("variation_in_theory", law.variation(keys).into()));
        }
        if let Some(moving_s) = moving_s {
            facts.push(("moving_s", moving_s.into()));
        }
        facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// Returns the standard deviation over mean, of this many nodes; those beside them have no keys.
pub(super) fn variation(keys: &[u64], nodes: usize) -> f64 {
    let nodes = nodes.max(1) as f64;
    let mean = keys.iter().sum::<u64>() as f64 / nodes;
    let mean_of_squares = keys.iter().map(|&keys| (keys as f64).powi(2)).sum::<f64>() / nodes;
    (mean_of_squares - mean * mean).max(0.0).sqrt() / mean
}
