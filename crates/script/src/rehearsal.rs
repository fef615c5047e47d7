//! Which keys a script uses: it is run without a store, on what it wrote itself, before a store of the user's is touched.

use crate::history::Sharing;
use crate::machine::{Surroundings, Survey};
use crate::trial::ScriptTrial;
use jobkit::{Step, Trial, Worker};
use store::{Keeps, Operation, Reply, RowBuffer, Slot};

/// Operations after which it is left: a script that goes on as long as there is time would never end.
const MOST: u64 = 5_000_000;

/// Operations of one client after which a rehearsal is left that asks for no keys.
const COUNTED: u64 = 200_000;

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
        while operations < COUNTED && step(&mut *worker, 0) {
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

fn rehearsed(surroundings: &Surroundings, survey: &Survey, sharing: Sharing, slots: u32, most: u64) -> ScriptTrial {
    let trial = trial(surroundings, survey, sharing, slots);
    let mut left = most;
    for (phase, _) in trial.phases().iter().enumerate().filter(|(_, phase)| phase.name != "answer") {
        let mut worker = trial.worker(phase, 0..slots);
        let mut going: Vec<Slot> = (0..slots).collect();
        while !going.is_empty() && left > 0 {
            left = left.saturating_sub(going.len() as u64);
            going.retain(|&slot| step(&mut *worker, slot));
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
    ScriptTrial::new(surroundings, survey, sharing, slots)
}

/// One operation of a slot, answered as a store does that keeps nothing; false: it has no more.
fn step(worker: &mut dyn Worker, slot: Slot) -> bool {
    let rows = RowBuffer::default();
    let reply = match worker.next(slot) {
        Step::Finished | Step::Wait => return false,
        Step::Operation(operation) | Step::Check(operation) => match operation {
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
        },
    };
    let _ = worker.reply(slot, &reply); // nothing is checked
    true
}
