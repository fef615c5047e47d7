//! What is done about the job's keys in a store of the user's before a trial. Private stores are new and need none of this.

use crate::message::{Action, Assignment, Keys, Refusal, Report, UnderWay};
use crate::plan::{KeysFound, Plan, PlannedCell};
use crate::work::{Bench, Link};
use engine::{Offence, Params, Phase, Step, Trial, TrialSetup, Worker, run_phase};
use std::collections::BTreeMap;
use std::ops::Range;
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
    /// trial's and deleted. `None`: the store is private.
    pub(crate) fn keys(&mut self, plan: &Plan, cell: &PlannedCell) -> Option<Keys> {
        if cell.spec.target == Target::Private {
            return None;
        }
        let target = |spec: &Spec| Spec { durability: None, options: BTreeMap::new(), ..spec.clone() }.to_string();
        let place = target(&cell.spec);
        let last = self.last.insert(place.clone(), cell.params.clone());
        let action = match last {
            None if plan.keys_found == KeysFound::Refuse && !self.resumed => Action::Look,
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

/// Looks for keys, or deletes them.
pub(crate) fn carry_out(
    keys: &Keys,
    store: &dyn Store,
    assignment: &Assignment,
    bench: &Bench<'_>,
    setup: &TrialSetup,
    link: &mut dyn Link,
) -> Result<(), Refusal> {
    let failed = |error: store::StoreError| Refusal::Keys(error.to_string());
    if let Some(rows) = store.own_rows().map_err(failed)? {
        if keys.action == Action::Look && rows > 0 {
            return Err(Refusal::ForeignData { count: rows, example: "in tables that an earlier run has left".into() });
        }
        return store.clear().map_err(failed);
    }
    for params in &keys.params {
        let job = (bench.job)(params).map_err(|error| Refusal::Job(error.0))?;
        let trial = job.trial(setup);
        let clean = Clean { trial: trial.as_ref(), action: keys.action, slots: setup.slots };
        let under_way = clean.phases().first().map(UnderWay::of);
        let mut watch = |progress| {
            if let Some(under_way) = &under_way {
                link.say(Report::Progress(under_way.clone(), progress));
            }
        };
        let outcome = run_phase(store, &clean, 0, &assignment.settings, bench.stop, &mut watch)
            .map_err(|error| Refusal::Keys(error.to_string()))?;
        let Some(found) = outcome.offences.into_reasons().into_iter().next() else { continue };
        let (count, example) = (found.count, found.example);
        return Err(match found.kind {
            ReasonKind::ForeignData => Refusal::ForeignData { count, example },
            _ => Refusal::Unsuited(format!("its keys could not be looked through: {example}")),
        });
    }
    Ok(())
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
