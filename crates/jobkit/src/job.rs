//! What a job is to the engine: state machines over slots, in phases, with an answer at the end.

use crate::pace::{Arriving, Think};
use crate::turn::{Turn, TurnEnd};
use crate::{JobError, NodeChange, Offence, Phase, SharePart, TrialSetup, WhichNode};
use history::Collector;
use measure::Ticks;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use store::{Capabilities, Operation, OperationKind, Reply, Slot, Store, StoreError};
use study::{Answer, Reason, WriteAccount};

/// A job with its input read, decoded and checked; used for all trials of a study.
pub trait Job: Send + Sync {
    /// Returns facts of the input: name, bytes, digest, counts. They go into the study.
    fn input(&self) -> BTreeMap<String, serde_json::Value>;

    /// Returns whether a store with these capabilities can do it, and which operations it will emulate.
    ///
    /// # Errors
    /// Why not, and what to set instead.
    fn suits(&self, store: &Capabilities) -> Result<Vec<&'static str>, JobError>;

    /// Starts one execution.
    fn trial(&self, setup: &TrialSetup) -> Box<dyn Trial + '_>;

    /// The digest every store must come to, when it is known before the run (computed from the input without any store).
    fn known_digest(&self) -> Option<String> {
        None
    }

    /// Returns the change that kvtrial makes to the nodes of a private store in a phase of this job; `None`: no change.
    fn change(&self) -> Option<NodeChange<WhichNode>> {
        None
    }

    /// Returns whether its operations are due as they were recorded: when [`Worker::due`] says.
    fn is_recorded(&self) -> bool {
        false
    }

    /// Returns warnings about the input, for the user to read before anything slow is done with it: a sentence each.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the key and value bytes the job will leave in a store, when they are known before the run: less room than that is too
    /// little.
    fn logical_bytes(&self) -> u64 {
        0
    }

    /// Returns whether several processes can carry out a trial of it together: then its trials have [parts](Trial::part), and
    /// [join](Trial::join) them. `setup` is that of the whole.
    ///
    /// # Errors
    /// Why not, and the setting with which they can.
    fn shareable(&self, setup: &TrialSetup) -> Result<(), JobError> {
        let _ = setup;
        Err(JobError::not_shared())
    }

    /// Returns how many operations a unit has, where [units](Arriving::Units) arrive and the number can be found out before the run.
    fn unit_operations(&self) -> Option<u64> {
        None
    }

    /// Returns the memory kvtrial needs in a trial to remember each key, to judge every reply.
    fn books_bytes(&self) -> u64 {
        0
    }
}

/// An execution of a job: state shared by its workers. Phases run one after the other; each has its own workers.
pub trait Trial: Send + Sync {
    /// Returns the phases, in order. Reading the final state back is an untimed phase of its own, left out for a store that keeps nothing.
    fn phases(&self) -> Vec<Phase>;

    /// Makes the state for one thread that serves these slots (numbers over the whole trial, whatever its share) in that phase.
    fn worker(&self, phase: usize, slots: Range<Slot>) -> Box<dyn Worker + '_>;

    /// The number of the phase that reads the final state, which is carried out once more over new connections before the verdict: a server
    /// may take back what it had acknowledged to one that has closed. Called when its turn has come: what that phase found before is
    /// forgotten then, but for what was wrong. `None`: there is none.
    fn again(&self) -> Option<usize> {
        None
    }

    /// Hears that the clients' connections were closed, so that everything is read again over new ones: the trial closes its own
    /// connections, too, and opens others.
    fn renew(&self) {}

    /// Returns whether everything can be read again over new connections, asked beforehand: not where one of these would be to a node that
    /// is lost for good.
    fn can_be_read_again(&self) -> bool {
        true
    }

    /// Returns the answer, after the last phase, with any reason it found in the final state as a whole (sums, lost updates).
    fn answer(&self) -> (Answer, Vec<Reason>);

    /// Writes the `index`th key the job uses to `out` (empty on entry); false beyond the last. A store of the user's is searched
    /// for these keys before the job runs, and they are deleted between trials.
    fn key(&self, index: u64, out: &mut Vec<u8>) -> bool;

    /// Writes the `index`th key of all to `out` (empty on entry) where the job may have used more than [`key`](Trial::key) knows of before
    /// it runs: one that inserts as long as there is time. They are used in this order: where many in a row are absent, no more were
    /// used. False: there are no such keys.
    fn later_key(&self, index: u64, out: &mut Vec<u8>) -> bool {
        let _ = (index, out);
        false
    }

    /// Carries out a phase that asks something of the store as a whole (compaction, a reduction) instead of sending operations:
    /// `Some` when it is one. Called with the clock running; the store may take `patience`. Of a trial in several shares each is called,
    /// and the [first](crate::Share::is_first) asks the store.
    fn whole(&self, phase: usize, store: &dyn Store, patience: Duration) -> Option<Result<(), StoreError>> {
        let _ = (phase, store, patience);
        None
    }

    /// Returns whether the phases that read back can judge a phase that did not come to its end: for each key they know what was
    /// acknowledged, what failed and what never had a reply.
    fn judges_unfinished(&self) -> bool {
        false
    }

    /// Returns the fate of the writes: acknowledged and lost, failed and absent, failed and present; after the last phase. `None`: the job
    /// does not say.
    fn account(&self) -> Option<WriteAccount> {
        None
    }

    /// Hears, before its first phase, that nodes fail on purpose: it keeps when writes are acknowledged, if it can, and continues after
    /// operations that fail.
    fn expect_faults(&self) {}

    /// Hears, before its first phase, that what clients send and see is to be recorded there; `Err`: why the job cannot.
    ///
    /// # Errors
    /// A clause.
    fn record_history(&self, _: &Arc<Collector>) -> Result<(), String> {
        Err("the values of this job do not say which write they are of".into())
    }

    /// Hears, before its first phase, that kvtrial changes the nodes in the phase that [`Job::change`] names.
    fn expect_change(&self) {}

    /// Hears, some time within that phase or after it, that the change is over.
    fn changed(&self) {}

    /// Returns what the other shares need before this phase, when the phases before it are over: the writes that failed, for those that read
    /// them back. Every share is asked, then [hears](Trial::hear) what each of them told.
    ///
    /// # Errors
    /// When it cannot be put down.
    fn tell(&self, phase: usize) -> Result<SharePart, JobError> {
        let _ = phase;
        Ok(SharePart::default())
    }

    /// Hears what a share told before this phase: once from each in their order, from itself, too.
    ///
    /// # Errors
    /// When this is nothing such a trial tells.
    fn hear(&self, phase: usize, told: SharePart) -> Result<(), JobError> {
        let _ = (phase, told);
        Ok(())
    }

    /// Returns what this share of the trial has found, after the last phase.
    ///
    /// # Errors
    /// Where the job [cannot be shared](Job::shareable).
    fn part(&self) -> Result<SharePart, JobError> {
        Err(JobError::not_shared())
    }

    /// Takes what one share has found. A trial that has driven nothing itself, and has joined the parts of all shares, gives the answer,
    /// the account and what else it is asked after the last phase as one process would that had driven all clients.
    ///
    /// # Errors
    /// Where the job cannot be shared, or this is no part of it.
    fn join(&self, part: SharePart) -> Result<(), JobError> {
        let _ = part;
        Err(JobError::not_shared())
    }

    /// Returns how long ago the oldest acknowledged write that is lost was acknowledged, where the job records that.
    fn oldest_lost(&self) -> Option<Duration> {
        None
    }

    /// Keys that are in the store after the last phase, counters and records of counters among them; `None`: it does not know.
    fn keys_left(&self) -> Option<u64> {
        None
    }

    /// Returns whether the job's values have a time to live, so that the store may drop keys of its own accord.
    fn expires(&self) -> bool {
        false
    }

    /// Returns whether the store may drop values to make room, as a cache does, and the job counts what is gone as missed.
    fn evicts(&self) -> bool {
        false
    }

    /// Returns the key and value bytes the job left in the store, if known.
    fn logical_bytes(&self) -> u64 {
        0
    }

    /// Hears how long the engine waits for a reply: work of the job's own that could last for ever must not take longer.
    fn set_deadline(&self, _: Duration) {}

    /// Returns the key and value bytes of the largest reply the job can get, when it knows them: a server that sends far more is not
    /// believed. `None`: as many as the longest value of the store.
    fn largest_reply_bytes(&self) -> Option<u64> {
        None
    }
}

/// The next step of a slot.
#[derive(Debug)]
pub enum Step<'a> {
    /// Send this.
    Operation(Operation<'a>),
    /// Send this beside the operations: a read of what was acknowledged to this slot, which the job checks like any reply. It is counted
    /// apart, is not timed, and under open loop is no arrival: it goes out at once where the worker says beforehand that it comes
    /// ([is_within](Worker::is_within)), else when the next one is due, before that.
    Check(Operation<'a>),
    /// This slot must wait until another slot has had a reply (a lock); ask again then.
    Wait,
    /// The job has no more operations for this slot in this phase, ever. Time never ends a job: the engine alone knows the time, or
    /// under open loop what was due would be forgotten.
    Finished,
}

/// A thread's part of a phase: a state machine per slot. Called only from its thread; slots are numbered from 0 within the worker.
pub trait Worker {
    /// Returns the slot's next step. Called when the slot is idle. Under open loop it is called when the operation is due.
    fn next(&mut self, slot: Slot) -> Step<'_>;

    /// Takes the reply to the slot's operation, and checks it.
    ///
    /// # Errors
    /// What is wrong with it; the engine counts it and goes on. A [`Reply::Failed`] is always an offence
    /// ([`Offence::failed`] makes it), and the job decides how the slot goes on.
    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence>;

    /// An operation the slot will start soon, and its key, for stores that can fetch it in the meantime. Each call gives the one after the
    /// last. `None`: it does not say. Asked before each turn of a slot, for as many keys as a turn has operations.
    fn ahead(&mut self, slot: Slot) -> Option<(OperationKind, &[u8])> {
        let _ = slot;
        None
    }

    /// The phase ends here though there was more to do: nodes failed on purpose, and nothing was answered any more. What was in flight has
    /// failed already; what was not sent is not there. Trials that [judge what is unfinished](Trial::judges_unfinished) remember it.
    fn leave_off(&mut self) {}

    /// Records this worker has stored so far, for jobs whose growth is watched; others store none.
    fn stored(&self) -> u64 {
        0
    }

    /// Hears the time, as the engine has just read it: what is sent next is not sent before.
    #[inline(always)]
    fn time_is(&mut self, now: Ticks) {
        let _ = now;
    }

    /// Hears the time at which the reply that comes next was there, on a session that answers at once. On others several replies have one time,
    /// and the later of them may have come after it.
    #[inline(always)]
    fn answered_by(&mut self, now: Ticks) {
        let _ = now;
    }

    /// Carries out a turn of a slot whose session answers at once. Nothing overrides it: it is here so that the engine's loop is compiled
    /// together with this worker's [`next`](Worker::next) and [`reply`](Worker::reply), which on a store in memory are most of the time.
    ///
    /// # Errors
    /// The session's.
    fn take_turn(&mut self, slot: Slot, turn: Turn<'_, '_>) -> Result<TurnEnd, StoreError> {
        turn.take(self, slot)
    }

    /// Returns whether the job's own work between a reply and the next operation is too small to matter (a generator). The engine then
    /// takes the end of one operation as the start of the next and reads the clock once.
    fn think(&self) -> Think {
        Think::Costly
    }

    /// Returns whether the idle slot has no more operations in this phase, ever. Asked under open loop before an operation is due, so that
    /// a slot without work takes no arrival from the others; a worker that cannot know returns false, and [`Step::Finished`] when an
    /// operation is due.
    fn is_done(&mut self, slot: Slot) -> bool {
        let _ = slot;
        false
    }

    /// The time given is over: what is answered from now on came too late, and so did the last reply to `late`.
    fn time_is_over(&mut self, late: Option<Slot>) {
        let _ = late;
    }

    /// Returns when the idle slot's next operation is due, from the start of the phase on. Asked before each operation where
    /// operations are due as they were recorded; a slot that answers [`Step::Wait`] then has taken none, and is asked again.
    fn due(&mut self, slot: Slot) -> Duration {
        let _ = slot;
        Duration::ZERO
    }

    /// Returns the unit that arrives under open loop.
    fn arrivals(&self) -> Arriving {
        Arriving::Operations
    }

    /// Returns whether the idle slot's next operation is no arrival and follows at once: the next operation within a
    /// [unit](Arriving::Units), or a [check](Step::Check).
    fn is_within(&mut self, slot: Slot) -> bool {
        let _ = slot;
        false
    }
}
