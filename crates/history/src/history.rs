//! A history: the operations of all clients on all keys, and what is said about it.

use crate::act::Act;
use crate::bounds::Bounds;
use crate::contradiction::{BoundHit, Contradiction, KeyOutcome};
use crate::method::judge;
use crate::weaker::{Weaker, weaker};

/// The operations of all clients on all keys.
#[derive(Clone, Debug, Default)]
pub struct History {
    operations: Vec<Act>,
}

/// What is said about a history.
#[derive(Clone, Debug, Default)]
pub struct HistoryOutcome {
    /// Operations judged.
    pub operations: u64,
    /// Keys judged.
    pub keys: u64,
    /// Keys whose answers one order explains.
    pub linearizable: u64,
    /// Keys whose answers no order explains.
    pub contradicting: u64,
    /// Keys about which a bound left it open, with the bound of the first.
    pub undecided: Option<(u64, BoundHit)>,
    /// The smallest contradiction.
    pub smallest: Option<Contradiction>,
    /// How reads broke weaker guarantees.
    pub weaker: Weaker,
}

impl History {
    /// Takes operations in any order.
    pub fn new(operations: Vec<Act>) -> Self {
        Self { operations }
    }

    /// Takes one more operation.
    pub fn push(&mut self, operation: Act) {
        self.operations.push(operation);
    }

    /// Returns the operations: by key and time once they have been judged.
    pub fn operations(&self) -> &[Act] {
        &self.operations
    }

    /// Judges each key on its own.
    pub fn judge(&mut self, bounds: &Bounds) -> HistoryOutcome {
        let mut findings = HistoryOutcome::default();
        self.judge_into(bounds, &mut findings);
        findings
    }

    /// Judges each key on its own and adds it to what was found for other keys.
    pub(crate) fn judge_into(&mut self, bounds: &Bounds, findings: &mut HistoryOutcome) {
        self.operations.sort_unstable_by_key(|it| (it.key, it.sent_ns));
        for key in self.operations.chunk_by(|one, other| one.key == other.key) {
            findings.take(key, judge(key, bounds));
        }
    }
}

impl HistoryOutcome {
    /// Takes the verdict on one more key.
    fn take(&mut self, operations: &[Act], verdict: KeyOutcome) {
        self.operations += operations.len() as u64;
        self.keys += 1;
        match verdict {
            KeyOutcome::Linearizable => {
                // One order explains every answer, so nothing weaker can be broken.
                self.linearizable += 1;
                self.weaker.reads += reads(operations);
                return;
            }
            KeyOutcome::Undecided(bound) => {
                let (keys, first) = self.undecided.unwrap_or((0, bound));
                self.undecided = Some((keys + 1, first));
            }
            KeyOutcome::Contradicts(one) => {
                self.contradicting += 1;
                let size = |it: &Contradiction| it.operations.len();
                if self.smallest.as_ref().is_none_or(|it| size(&one) < size(it)) {
                    self.smallest = Some(one);
                }
            }
        }
        self.weaker.add(weaker(operations));
    }
}

/// Counts the reads of registers that were answered.
fn reads(operations: &[Act]) -> u64 {
    let is_read = |it: &&Act| it.is_answered() && matches!(it.kind, crate::act::ActKind::Get(_));
    operations.iter().filter(is_read).count() as u64
}
