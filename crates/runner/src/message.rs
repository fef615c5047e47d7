//! What kvtrial and a worker say to each other: plain data, so that it can be said to a child of kvtrial or to another machine.
//!
//! kvtrial sends a [`Task`]; the worker answers with [`FromWorker`]s until it has done it, or [`FromWorker::Refused`] it. Before each phase and at
//! the end of a trial it waits for an [`Order`], so that kvtrial can look at server and disk while nothing runs.

use crate::assignment::Assignment;
use crate::fleet::FleetAccount;
use crate::fleet::tick::Tick;
use crate::shares::ShareFound;
use crate::shares::ShareReport;
use check::CaseResult;
use crash::LedgerParcel;
use engine::Outcome;
use host::Location;
use jobkit::Params;
use measure::Progress;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;
use store::{Capabilities, Facts, LevelKnown};
use study::{
    Answer, CrashFindings, CrashWriter, CurvePoint, Durability, DurabilitySource, LeftCount, Reason, Spec, Stall,
    Target, WriteAccount,
};

/// From kvtrial.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum ToWorker {
    /// Do this.
    Do(Box<Task>),
    /// To the worker that is doing it.
    Order(Order),
    /// To the same: the change of nodes that its job asked for is over.
    Changed,
    /// To a share of a trial: what each of the shares has told before the next phase.
    Told(Vec<ShareReport>),
    /// To a fork server that lacks the input of its task: the piece it asked for, in base64.
    Piece(String),
    /// To a share of a trial: the phase begins when the monotonic clock of its machine shows this.
    Begin { at_ns: u64 },
}

/// The task of a worker: whatever opens a store is done in one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Task {
    /// Carry out a trial.
    Trial(Assignment),
    /// Ask the job's own question, of a private store after the job's work.
    Ask(Assignment, Question),
    /// Delete the keys of the job, and what the adapter has made.
    Clear(Assignment),
    /// Check store and client for correctness.
    Check(Inspection),
    /// Write until a crash, or read what is left after it.
    Crash(CrashTask),
}

impl Task {
    /// Returns the store, and where it is.
    pub(crate) fn place(&self) -> (&Spec, &Location) {
        match self {
            Task::Trial(it) | Task::Ask(it, _) | Task::Clear(it) => (&it.spec, &it.location),
            Task::Check(it) => (&it.spec, &it.location),
            Task::Crash(it) => (&it.spec, &it.location),
        }
    }

    /// Returns the job's part of it, if a job has one.
    pub(crate) fn assignment(&self) -> Option<&Assignment> {
        match self {
            Task::Trial(it) | Task::Ask(it, _) | Task::Clear(it) => Some(it),
            Task::Check(_) | Task::Crash(_) => None,
        }
    }

    /// Returns the parameters of the jobs whose input is needed.
    pub(crate) fn inputs(&self) -> Vec<&Params> {
        let Some(assignment) = self.assignment() else { return Vec::new() };
        let of_keys = assignment.keys.iter().flat_map(|keys| &keys.params);
        let own = match self {
            Task::Clear(_) => None, // only the keys are looked for
            // Only a store that is filled first, or asked for every key, needs the job.
            Task::Ask(_, Question::One(_)) if assignment.spec.target != Target::Private => None,
            _ => Some(&assignment.params),
        };
        own.into_iter().chain(of_keys).collect()
    }
}

/// The question to a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Question {
    /// The value of one key.
    One(String),
    /// The largest counts, at most this many.
    Largest(usize),
}

/// All a worker has to know of a check.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Inspection {
    pub(crate) spec: Spec,
    pub(crate) location: Location,
    /// Longest wait for a reply.
    pub(crate) deadline: Duration,
    /// Sets its keys apart from those of other checks.
    pub(crate) seed: u64,
}

/// All a worker has to know of its part in a crash.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CrashTask {
    pub(crate) spec: Spec,
    pub(crate) location: Location,
    pub(crate) turn: CrashTurn,
    /// Where the ledger is, and its shape.
    pub(crate) ledger: LedgerPlace,
    pub(crate) clients: u32,
    pub(crate) capacity: u32,
    /// Number and seed of the set of writes.
    pub(crate) set: u32,
    pub(crate) seed: u64,
    pub(crate) value_bytes: u32,
    /// Longest wait for a reply.
    pub(crate) deadline: Duration,
}

impl CrashTask {
    pub(crate) fn set(&self) -> crash::WriteSet {
        crash::WriteSet { number: self.set, seed: self.seed, value_bytes: self.value_bytes }
    }
}

/// The place of the ledger that a worker writes or reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LedgerPlace {
    /// In memory that kvtrial shares.
    Shared(PathBuf),
    /// In the worker's own memory, for its clients from this number on: it is sent when nobody writes any more.
    Own { first: u32 },
}

/// A worker's part in a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CrashTurn {
    /// Clients write, while the store does its upkeep.
    Write { endurance: crash::Endurance, reading: crash::Reading, upkeep: Option<Upkeep> },
    /// The worker opens the store, and waits for its end.
    Open,
    /// The worker reads everything that was sent; in the user's own store it then deletes that.
    Read { crash_at_ns: u64, late: crash::LateAnswer, reading: crash::Reading },
}

/// How many clients have had a write acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ClientsBegun {
    Some,
    All,
}

/// The work a store has to do again and again while clients write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Upkeep {
    /// To bring its log into its files.
    Checkpoint,
    /// To rewrite its files.
    Compaction,
}

/// The order that says what a worker is to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Go on.
    Go,
    /// Stop as soon as possible, and finish.
    Stop,
}

/// A phase that is under way, for the watcher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnderWay {
    /// `load`, `run`, `read back`, or the job's own word.
    pub name: String,
    /// Whether the phase counts into the makespan.
    pub timed: bool,
    /// Operations it will do, when known.
    pub operations: Option<u64>,
    /// Records all of them carry, where that is not their number (batches).
    pub carried: Option<u64>,
}

/// From a worker, or of one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum FromWorker {
    /// The worker is there, as this process.
    Started { pid: i32 },
    /// The store is open and the job can be done on it.
    Opened(OpenedStore),
    /// Said by the fork server: it lacks the file of input from this byte on, and waits for the piece that begins there.
    Lacks { from: u64 },
    /// From now on the user's store holds keys of the job, besides the tables its adapter has made there.
    Leaves { keys: u64, count: LeftCount, made: Vec<String> },
    /// A phase is about to begin; waits for an order.
    Begins(UnderWay),
    /// About 10 times per second.
    Progress(UnderWay, Progress),
    /// Of a share: what it did since the tick before, about once per second.
    Tick(UnderWay, Tick),
    /// Of a share: what the others must know before the next phase; waits for what they tell.
    Tells(ShareReport),
    /// Of a share: all its clients stand at the line; waits for when the phase begins.
    Ready,
    /// Said in the name of all shares: what each of them did.
    Shared(Box<FleetAccount>),
    /// From now on the worker does work that has no progress.
    Does(Doing),
    /// A phase is over.
    Phase(Box<PhaseDone>),
    /// A phase could not be carried out: the store's words, and what was being done.
    Broken { phase: String, words: String },
    /// All phases are over; waits for an order, then disconnects.
    Finished(Box<Finish>),
    /// A case of a check is over.
    Case(CaseResult),
    /// All cases of a check are over.
    Checked(Box<check::CheckReport>),
    /// Of one of several workers that write until a crash: whether all of its clients, or some, had a write acknowledged.
    Began(ClientsBegun),
    /// Of the same, or said in the name of all of them: a part of the ledger.
    Ledger(Box<LedgerParcel>),
    /// Of the same: that were all the parts.
    LedgerSent { parcels: u64 },
    /// Said in the name of all of them: who wrote.
    Writers(Vec<CrashWriter>),
    /// The findings after a crash, how long the store took to open on what was left, and of a cluster what clients saw of each other's writes.
    CrashRead { opening: Duration, found: Box<CrashFindings>, history: Option<Box<study::History>> },
    /// The store's answer, in words.
    Answered(String),
    /// The number of keys deleted; everything else of the run is gone, too.
    Cleared { deleted: u64 },
    /// The task could not begin, or could not be done.
    Refused(Refusal),
    /// Said by the fork server: how the worker ended, and its last words.
    Ended { exit: host::Exit, words: String },
    /// Said by the fork server: there is no worker.
    NotForked { problem: String },
}

/// The facts of a store, once it is open.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OpenedStore {
    pub(crate) facts: Facts,
    pub(crate) durability: Durability,
    pub(crate) source: DurabilitySource,
    pub(crate) emulated: Vec<String>,
    /// What it can do.
    pub(crate) capabilities: Capabilities,
}

impl OpenedStore {
    /// Returns what is known of a store opened for this spec.
    pub(crate) fn of(spec: &Spec, facts: Facts, capabilities: &Capabilities) -> OpenedStore {
        let source = match (&spec.target, capabilities.level, spec.durability) {
            (Target::Private | Target::Path(_), ..) => DurabilitySource::SetByKvtrial,
            (Target::Server(_), LevelKnown::Known, _) => DurabilitySource::AsTheServerSays,
            (Target::Server(_), LevelKnown::Unknown, Some(_)) => DurabilitySource::AsTheUserSays,
            (Target::Server(_), LevelKnown::Unknown, None) => DurabilitySource::Assumed,
        };
        OpenedStore {
            facts,
            durability: capabilities.durability,
            source,
            emulated: Vec::new(),
            capabilities: capabilities.clone(),
        }
    }
}

/// The work a worker does besides phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Doing {
    /// Making what was written as safe as the store is to keep it.
    Flush,
    /// Asking the store how many keys it holds.
    Count,
    /// Asking the store the job's question.
    Ask,
    /// The cases of a check.
    Check,
    /// Checking what clients saw.
    CheckHistory,
}

impl Doing {
    /// Returns the name of the work, as reasons have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Doing::Flush => "flush",
            Doing::Ask => "asking",
            Doing::Check => "check",
            Doing::CheckHistory => "checking the history",
            Doing::Count => "asking how many keys it holds",
        }
    }
}

/// The result of a phase.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PhaseDone {
    pub(crate) phase: UnderWay,
    pub(crate) outcome: Outcome,
    /// Time of the flush behind a timed phase.
    pub(crate) flush: Duration,
    /// Rate and tail against records stored, with memory and disk.
    pub(crate) curve: Vec<CurvePoint>,
    /// Stalls, with their causes.
    pub(crate) stalls: Vec<Stall>,
    /// Records the operations carried, where that is not their number.
    pub(crate) carried: Option<u64>,
    /// Whether it only verified.
    pub(crate) reads_back: bool,
    /// CPU seconds of the whole process meanwhile.
    pub(crate) process_cpu_s: f64,
}

/// The result of a trial as a whole.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Finish {
    /// Every phase was carried out to its end.
    pub(crate) complete: bool,
    pub(crate) answer: Answer,
    pub(crate) answer_reasons: Vec<Reason>,
    /// The digest the answer must have, when it is known and the store keeps what it is given.
    pub(crate) known_digest: Option<String>,
    pub(crate) logical_bytes: u64,
    /// Keys that are in the store now, where the job knows.
    pub(crate) keys_left: Option<u64>,
    pub(crate) resent: u64,
    /// What became of the writes, where the job says it and everything was read back.
    pub(crate) account: Option<WriteAccount>,
    /// How long ago the oldest lost write was acknowledged, where the job knows.
    pub(crate) oldest_lost: Option<Duration>,
    /// What clients saw, where it was recorded.
    pub(crate) history: Option<study::History>,
    /// Largest resident set of the process since the first phase began.
    pub(crate) peak_rss_bytes: u64,
    /// The commands that the server has carried out meanwhile for anybody, where it counts them and several shares did the trial.
    pub(crate) commands: Option<u64>,
    /// Of a share of the trial: what it has found, instead of an answer.
    pub(crate) share: Option<ShareFound>,
}

/// Why a task could not begin, or not be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Refusal {
    /// The store could not be opened.
    Store(String),
    /// The job's input cannot be read any more.
    Job(String),
    /// The job cannot be done on the store.
    Unsuited(String),
    /// The store broke while the job's keys were looked for.
    Keys(String),
    /// The answer to a question is none: no such key, or not what the job stores.
    Answer(String),
    /// The user's store holds keys the job would overwrite.
    ForeignData { count: u64, example: String },
}
