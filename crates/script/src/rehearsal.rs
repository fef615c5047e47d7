//! Which keys a script uses: it is run without a store, on what it wrote itself, before a store of the user's is touched.

use crate::history::Sharing;
use crate::machine::{Surroundings, Survey};
use crate::shares::Crossing;
use crate::trial::ScriptTrial;
use jobkit::{Step, Trial, TrialSetup, Worker};
use std::collections::HashMap;
use store::{Keeps, Operation, Reply, RowBuffer, Slot};

/// Operations after which it is left: a script that goes on as long as there is time would never end.
const MOST: u64 = 5_000_000;

/// Operations of one client after which a rehearsal is left that asks for no keys.
const COUNTED: u64 = 200_000;

/// Operations after which a rehearsal is left that looks who uses which key.
const LOOKED_AT: u64 = 300_000;

/// Returns the keys, as far as the script comes.
pub(crate) fn keys(surroundings: &Surroundings, survey: &Survey, sharing: Sharing, slots: u32) -> Vec<Box<[u8]>> {
    rehearsed(surroundings, survey, sharing, slots, MOST).written()
}

/// Returns why counters of this store are too small for what one client counts, if they are.
pub(crate) fn out_of_range(surroundings: &Surroundings, survey: &Survey, sharing: Sharing) -> Option<String> {
    rehearsed(surroundings, survey, sharing, 1, COUNTED).out_of_range()
}

/// Returns the number of operations of the first unit of one client in the first timed phase, as far as the script comes; `None`: it has none.
pub(crate) fn unit_operations(surroundings: &Surroundings, survey: &Survey, sharing: Sharing) -> Option<u64> {
    let trial = trial(surroundings, survey, sharing, 1);
    for (number, phase) in trial.phases().iter().enumerate() {
        let (mut worker, mut operations) = (trial.worker(number, 0..1), 0);
        while operations < COUNTED && step(&mut *worker, 0, |_| {}) {
            operations += 1;
            if phase.timed && !worker.is_within(0) {
                break;
            }
        }
        if phase.timed {
            return (operations > 0).then_some(operations);
        }
    }
    None
}

/// Returns a key that a client writes and another uses in the same phase, as far as the script comes; where time ends a phase, its functions are
/// called again and again.
pub(crate) fn crossing(surroundings: &Surroundings, survey: &Survey, slots: u32) -> Option<Crossing> {
    let mut surroundings = surroundings.clone();
    surroundings.capabilities.keeps = Keeps::Nothing;
    let trial = of(surroundings, survey, Sharing::OneWriter, slots);
    let phases = trial.phases();
    for (number, phase) in phases.iter().enumerate() {
        let (mut worker, mut users) = (trial.worker(number, 0..slots), KeyUsers::default());
        let (mut going, mut found): (Vec<Slot>, _) = ((0..slots).collect(), None);
        let mut left = LOOKED_AT / phases.len() as u64;
        while !going.is_empty() && left > 0 {
            left = left.saturating_sub(going.len() as u64);
            going.retain(|&slot| {
                let look = |operation: &Operation<'_>| found = found.take().or_else(|| users.crossed(slot, operation));
                step(&mut *worker, slot, look)
            });
            if let Some(key) = found {
                return Some(Crossing { key, phase: phase.name });
            }
        }
    }
    None
}

/// The clients that use each key in a phase.
#[derive(Default)]
struct KeyUsers(HashMap<Box<[u8]>, KeyUse>);

/// The use of a key: by this client first, and how.
struct KeyUse {
    first: Slot,
    by_several: bool,
    is_written: bool,
}

impl KeyUsers {
    /// Notes what a client uses; returns a key that is written and that another uses, too.
    fn crossed(&mut self, slot: Slot, operation: &Operation<'_>) -> Option<Box<[u8]>> {
        let writes = match operation {
            Operation::Command { .. } | Operation::Sql { .. } => return None, // the script itself judges them
            Operation::Delete { .. } | Operation::Touch { .. } => true,
            other => other.bytes_written() > 0,
        };
        operation.keys().find_map(|key| {
            let known = KeyUse { first: slot, by_several: false, is_written: false };
            let usage = self.0.entry(key.into()).or_insert(known);
            usage.by_several |= usage.first != slot;
            usage.is_written |= writes;
            (usage.by_several && usage.is_written).then(|| key.into())
        })
    }
}

fn rehearsed(surroundings: &Surroundings, survey: &Survey, sharing: Sharing, slots: u32, most: u64) -> ScriptTrial {
    let trial = trial(surroundings, survey, sharing, slots);
    let mut left = most;
    for (phase, _) in trial.phases().iter().enumerate().filter(|(_, phase)| phase.name != "answer") {
        let mut worker = trial.worker(phase, 0..slots);
        let mut going: Vec<Slot> = (0..slots).collect();
        while !going.is_empty() && left > 0 {
            left = left.saturating_sub(going.len() as u64);
            going.retain(|&slot| step(&mut *worker, slot, |_| {}));
        }
    }
    trial
}

/// The script on a store that keeps nothing, each function called once per client.
fn trial(surroundings: &Surroundings, survey: &Survey, sharing: Sharing, slots: u32) -> ScriptTrial {
    let mut surroundings = surroundings.clone();
    surroundings.capabilities.keeps = Keeps::Nothing;
    if let Some(params) = &mut surroundings.params {
        params.insert("seconds".into(), "0".into());
    }
    of(surroundings, survey, sharing, slots)
}

fn of(surroundings: Surroundings, survey: &Survey, sharing: Sharing, slots: u32) -> ScriptTrial {
    let setup = TrialSetup::alone(slots, surroundings.capabilities.clone(), surroundings.seed);
    ScriptTrial::new(surroundings, survey, sharing, &setup)
}

/// One operation of a slot, which is looked at, and answered as a store does that keeps nothing; false: it has no more.
fn step(worker: &mut dyn Worker, slot: Slot, look: impl FnOnce(&Operation<'_>)) -> bool {
    let rows = RowBuffer::default();
    let reply = match worker.next(slot) {
        Step::Finished | Step::Wait => return false,
        Step::Operation(operation) | Step::Check(operation) => {
            look(&operation);
            match operation {
                Operation::Get { .. }
                | Operation::GetVersioned { .. }
                | Operation::GetCounter { .. }
                | Operation::TimeLeft { .. }
                | Operation::Command { .. }
                | Operation::Sql { .. }
                | Operation::Delete { .. } => Reply::Missing,
                Operation::Increment { by, .. } | Operation::IncrementField { by, .. } => Reply::Number(by),
                Operation::GetFields { .. } | Operation::GetMany { .. } | Operation::Scan { .. } => {
                    Reply::Rows(rows.rows())
                }
                _ => Reply::Done,
            }
        }
    };
    let _ = worker.reply(slot, &reply); // nothing is checked
    true
}
