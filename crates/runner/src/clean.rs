//! What is done about the job's keys in a store of the user's before a trial. Private stores are new and need none of this.

use crate::plan::{KeysFound, Plan, PlannedCell};
use crate::run::RunError;
use engine::{Offence, Params, Phase, Step, Trial, TrialSetup, Worker, run_phase};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use store::{Operation, Reply, Slot, Store};
use study::{Answer, Reason, ReasonKind, Spec, Target};

/// Stores of the user's, with the parameters of the trial that last left its keys there.
pub(crate) struct UsersStores {
    resumed: bool,
    last: BTreeMap<String, Params>,
}

impl UsersStores {
    pub(crate) fn new(resumed: bool) -> UsersStores {
        UsersStores { resumed, last: BTreeMap::new() }
    }

    /// The first time, a store of the user's must hold none of the keys any trial will use there; later they are an earlier
    /// trial's and deleted.
    pub(crate) fn prepare(
        &mut self,
        plan: &Plan,
        cell: &PlannedCell,
        store: &dyn Store,
        setup: &TrialSetup,
        stop: &AtomicBool,
    ) -> Result<(), RunError> {
        if cell.spec.target == Target::Private {
            return Ok(());
        }
        let target = |spec: &Spec| Spec { durability: None, options: BTreeMap::new(), ..spec.clone() }.to_string();
        let place = target(&cell.spec);
        let last = self.last.insert(place.clone(), cell.params.clone());
        let action = match last {
            None if plan.keys_found == KeysFound::Refuse && !self.resumed => Action::Look,
            _ => Action::Delete,
        };
        let mut all: Vec<Params> = vec![cell.params.clone()];
        all.extend(last.clone());
        if last.is_none() {
            all.extend(
                plan.cells.iter().filter(|other| target(&other.spec) == place).map(|other| other.params.clone()),
            );
        }
        all.sort_unstable();
        all.dedup();
        for params in all {
            let job = plan.shelf.job(&params)?;
            let trial = job.trial(setup);
            let clean = Clean { trial: trial.as_ref(), action, slots: setup.slots };
            let outcome = run_phase(store, &clean, 0, &cell.settings, stop, &mut |_| {}).map_err(RunError::Store)?;
            let Some(found) = outcome.offences.into_reasons().into_iter().next() else { continue };
            let (store, count, example) = (cell.spec.to_string(), found.count, found.example);
            return Err(match found.kind {
                ReasonKind::ForeignData => RunError::ForeignData { store, count, example },
                _ => RunError::Unsuited { store, problem: format!("its keys could not be looked through: {example}") },
            });
        }
        Ok(())
    }
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// Every key must be absent: what is there may be the user's.
    Look,
    /// Every key is deleted: what is there is an earlier trial's, or the user said it may go.
    Delete,
}

/// One untimed phase over all keys of a trial.
struct Clean<'a> {
    trial: &'a dyn Trial,
    action: Action,
    slots: u32,
}

impl Trial for Clean<'_> {
    fn phases(&self) -> Vec<Phase> {
        let name = if self.action == Action::Look { "looking for foreign data" } else { "clearing" };
        vec![Phase { name, timed: false, operations: None }]
    }

    fn worker(&self, _: usize, slots: Range<Slot>) -> Box<dyn Worker + '_> {
        let next = slots.clone().map(u64::from).collect();
        Box::new(CleanWorker { clean: self, next, keys: vec![Vec::new(); slots.len()] })
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        (Answer::default(), Vec::new())
    }

    fn key(&self, index: u64, out: &mut Vec<u8>) -> bool {
        self.trial.key(index, out)
    }
}

/// Slot `s` of `n` has the keys `s`, `s + n`, ...
struct CleanWorker<'a> {
    clean: &'a Clean<'a>,
    next: Vec<u64>,
    keys: Vec<Vec<u8>>,
}

impl Worker for CleanWorker<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let (index, key) = (&mut self.next[slot as usize], &mut self.keys[slot as usize]);
        key.clear();
        if !self.clean.trial.key(*index, key) {
            return Step::Finished;
        }
        *index += u64::from(self.clean.slots);
        Step::Operation(match self.clean.action {
            Action::Look => Operation::Get { key },
            Action::Delete => Operation::Delete { key },
        })
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let key = &self.keys[slot as usize];
        match (self.clean.action, reply) {
            (_, Reply::Missing) | (Action::Delete, Reply::Done) => Ok(()),
            (Action::Look, Reply::Value(value)) => {
                Err(Offence::new(ReasonKind::ForeignData, key, format!("a value of {} bytes", value.len())))
            }
            (_, other) => Err(Offence::failed(key, other)),
        }
    }
}
