//! Drives a job over a plain in-memory store, with any interleaving of slots and any lie.
#![allow(dead_code)] // each test file uses its part

use data::splitmix::Rng;
use jobkit::{Job, Offence, Offences, Step, Worker};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use store::{
    AnswerTree, Capabilities, Counter, Expected, Keeps, Operation, OperationKind, OperationSet, Overflow, Reply,
    RowBuffer, Store, TreeNode,
};
use study::{Answer, Reason, ReasonKind, WriteAccount};

/// An operation with its own bytes, so that it can be in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    Get(Vec<u8>),
    GetVersioned(Vec<u8>),
    Put(Vec<u8>, Vec<u8>),
    PutTtl(Vec<u8>, Vec<u8>, u64),
    Touch(Vec<u8>, u64),
    TimeLeft(Vec<u8>),
    Append(Vec<u8>, Vec<u8>),
    Increment(Vec<u8>, i64),
    GetCounter(Vec<u8>),
    IncrementField(Vec<u8>, Vec<u8>, i64),
    GetFields(Vec<u8>),
    CompareAndSet(Vec<u8>, Option<(u64, Vec<u8>)>, Vec<u8>),
    Scan(Vec<u8>, u32),
    Delete(Vec<u8>),
    GetMany(Vec<Vec<u8>>),
    PutMany(Vec<(Vec<u8>, Vec<u8>)>),
    Command(Vec<Vec<u8>>),
    /// The statement, and its parameters as they are written for debugging.
    Sql(Vec<u8>, Vec<String>),
}

impl Request {
    pub fn of(operation: &Operation<'_>) -> Request {
        match *operation {
            Operation::Get { key } => Request::Get(key.into()),
            Operation::GetVersioned { key } => Request::GetVersioned(key.into()),
            Operation::Put { key, value } => Request::Put(key.into(), value.into()),
            Operation::PutTtl { key, value, ttl_ms } => Request::PutTtl(key.into(), value.into(), ttl_ms),
            Operation::Touch { key, ttl_ms } => Request::Touch(key.into(), ttl_ms),
            Operation::TimeLeft { key } => Request::TimeLeft(key.into()),
            Operation::Append { key, value } => Request::Append(key.into(), value.into()),
            Operation::Increment { key, by } => Request::Increment(key.into(), by),
            Operation::GetCounter { key } => Request::GetCounter(key.into()),
            Operation::IncrementField { key, field, by } => Request::IncrementField(key.into(), field.into(), by),
            Operation::GetFields { key } => Request::GetFields(key.into()),
            Operation::CompareAndSet { key, expected, value } => {
                let expected = match expected {
                    Expected::Absent => None,
                    Expected::Present { version, value } => Some((version, value.to_vec())),
                };
                Request::CompareAndSet(key.into(), expected, value.into())
            }
            Operation::Scan { start, limit } => Request::Scan(start.into(), limit),
            Operation::Delete { key } => Request::Delete(key.into()),
            Operation::GetMany { keys } => Request::GetMany(keys.iter().map(|key| key.to_vec()).collect()),
            Operation::Command { words, .. } => Request::Command(words.iter().map(|word| word.to_vec()).collect()),
            Operation::Sql { statement, values } => {
                Request::Sql(statement.into(), values.iter().map(|value| format!("{value:?}")).collect())
            }
            Operation::PutMany { pairs } => {
                Request::PutMany(pairs.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect())
            }
        }
    }
}

/// A reply with its own bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    Value(Vec<u8>),
    Versioned(Vec<u8>, u64),
    Missing,
    Done,
    Number(i64),
    Conflict,
    Rows(Vec<(Vec<u8>, Vec<u8>)>),
    /// An answer to a command: the values, and the bytes they lie in.
    Tree(Vec<TreeNode>, Vec<u8>),
    Refused(&'static str),
    Deadline,
}

impl Response {
    pub fn hand_over(&self, take: impl FnOnce(&Reply<'_>) -> Result<(), Offence>) -> Result<(), Offence> {
        let mut rows = RowBuffer::default();
        take(&match self {
            Response::Value(value) => Reply::Value(value),
            Response::Versioned(value, version) => Reply::Versioned { value, version: *version },
            Response::Missing => Reply::Missing,
            Response::Done => Reply::Done,
            Response::Number(number) => Reply::Number(*number),
            Response::Conflict => Reply::Conflict,
            Response::Rows(all) => {
                all.iter().for_each(|(key, value)| rows.push(key, value));
                Reply::Rows(rows.rows())
            }
            Response::Tree(nodes, bytes) => Reply::Tree(AnswerTree::new(bytes, nodes)),
            Response::Refused(words) => Reply::Failed(store::Failure::Refused(words)),
            Response::Deadline => Reply::Failed(store::Failure::Deadline),
        })
    }
}

/// Something that answers.
pub trait Backend {
    fn answer(&mut self, request: &Request) -> Response;
}

impl<F: FnMut(&Request) -> Response> Backend for F {
    fn answer(&mut self, request: &Request) -> Response {
        self(request)
    }
}

/// An honest store.
#[derive(Default)]
pub struct Memory {
    pub values: BTreeMap<Vec<u8>, (Vec<u8>, u64)>,
    counters: BTreeMap<Vec<u8>, i64>,
    fields: BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, i64>>,
    ends: BTreeMap<Vec<u8>, Instant>,
    writes: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    pub hits: u64,
    pub misses: u64,
    pub conflicts: u64,
}

impl Memory {
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.writes += 1;
        self.bytes_written += value.len() as u64;
        self.values.insert(key.into(), (value.into(), self.writes));
        self.ends.remove(key);
    }

    /// Notes how long a key has, which it keeps beyond that.
    fn lives(&mut self, key: &[u8], ttl_ms: u64) {
        self.ends.insert(key.into(), Instant::now() + Duration::from_millis(ttl_ms));
    }

    /// As after a restart of a server that keeps nothing.
    pub fn forget_everything(&mut self) {
        self.values.clear();
        self.counters.clear();
        self.fields.clear();
    }

    /// Takes a counter and a record of counters away; whether there was either.
    pub fn forget_counts(&mut self, key: &[u8]) -> bool {
        self.counters.remove(key).is_some() | self.fields.remove(key).is_some()
    }

    fn read(&mut self, key: &[u8]) -> Option<(Vec<u8>, u64)> {
        let found = self.values.get(key).cloned();
        match &found {
            Some((value, _)) => (self.hits, self.bytes_read) = (self.hits + 1, self.bytes_read + value.len() as u64),
            None => self.misses += 1,
        }
        found
    }
}

impl Backend for Memory {
    fn answer(&mut self, request: &Request) -> Response {
        match request {
            Request::Get(key) => self.read(key).map_or(Response::Missing, |(value, _)| Response::Value(value)),
            Request::GetVersioned(key) => {
                self.read(key).map_or(Response::Missing, |(value, version)| Response::Versioned(value, version))
            }
            Request::Put(key, value) => {
                self.put(key, value);
                Response::Done
            }
            Request::Command(_) | Request::Sql(..) => Response::Tree(vec![TreeNode::Nil], Vec::new()),
            // Tests are over sooner than anything expires; those of expiry have a store of their own.
            Request::PutTtl(key, value, ttl_ms) => {
                self.put(key, value);
                self.lives(key, *ttl_ms);
                Response::Done
            }
            Request::Touch(key, ttl_ms) if self.values.contains_key(key) => {
                self.lives(key, *ttl_ms);
                Response::Done
            }
            Request::Touch(..) => Response::Missing,
            Request::TimeLeft(key) if self.values.contains_key(key) => {
                let left = self.ends.get(key).map(|end| end.saturating_duration_since(Instant::now()));
                Response::Number(left.map_or(store::LASTS, |left| left.as_millis() as i64))
            }
            Request::TimeLeft(_) => Response::Missing,
            Request::Append(key, value) => {
                let mut whole = self.values.get(key).map(|(value, _)| value.clone()).unwrap_or_default();
                whole.extend_from_slice(value);
                self.put(key, &whole);
                Response::Done
            }
            Request::CompareAndSet(key, expected, value) => {
                let now = self.values.get(key);
                if now.map(|(value, version)| (*version, value.clone())) != *expected {
                    self.conflicts += 1;
                    return Response::Conflict;
                }
                self.put(key, value);
                Response::Done
            }
            Request::Increment(key, by) => {
                let counter = self.counters.entry(key.clone()).or_default();
                *counter += by;
                Response::Number(*counter)
            }
            Request::GetCounter(key) => self.counters.get(key).map_or(Response::Missing, |&n| Response::Number(n)),
            Request::IncrementField(key, field, by) => {
                let counter = self.fields.entry(key.clone()).or_default().entry(field.clone()).or_default();
                *counter += by;
                Response::Number(*counter)
            }
            Request::GetFields(key) => {
                let fields = self.fields.get(key).into_iter().flatten();
                Response::Rows(fields.map(|(field, n)| (field.clone(), n.to_string().into_bytes())).collect())
            }
            Request::Delete(key) => match self.values.remove(key) {
                Some(_) => Response::Done,
                None => Response::Missing,
            },
            Request::GetMany(keys) => {
                let found =
                    keys.iter().filter_map(|key| self.values.get(key).map(|(value, _)| (key.clone(), value.clone())));
                Response::Rows(found.collect())
            }
            Request::PutMany(pairs) => {
                pairs.iter().for_each(|(key, value)| self.put(key, value));
                Response::Done
            }
            Request::Scan(start, limit) => {
                let rows = self.values.range(start.clone()..).take(*limit as usize);
                Response::Rows(rows.map(|(key, (value, _))| (key.clone(), value.clone())).collect())
            }
        }
    }
}

/// How the slots take turns.
#[derive(Clone, Copy, Debug)]
pub enum Turns {
    /// Each operation is answered before the next slot sends.
    OneByOne,
    /// At random, by this seed: any number of operations in flight, answered in any order.
    Random(u64),
}

/// Capabilities of a store that has everything.
pub fn everything() -> Capabilities {
    Capabilities {
        native: OperationSet::of(&OperationKind::ALL),
        counter: Some(Counter { min: i64::MIN, max: i64::MAX, overflow: Overflow::Wraps }),
        ..Capabilities::BASIC
    }
}

/// Capabilities of the null store.
pub fn nothing() -> Capabilities {
    Capabilities { keeps: Keeps::Nothing, ..everything() }
}

/// What came out of a trial.
#[derive(Debug)]
pub struct Outcome {
    pub answer: Answer,
    /// Offences of replies and reasons of the answer, by kind.
    pub reasons: Vec<Reason>,
    pub operations: Vec<u64>,
    pub planned: Vec<Option<u64>>,
    pub logical_bytes: u64,
    pub account: Option<WriteAccount>,
}

impl Outcome {
    pub fn kinds(&self) -> Vec<ReasonKind> {
        self.reasons.iter().map(|reason| reason.kind).collect()
    }

    pub fn reason(&self, kind: ReasonKind) -> &Reason {
        self.reasons
            .iter()
            .find(|reason| reason.kind == kind)
            .unwrap_or_else(|| panic!("no {kind:?} in {:?}", self.reasons))
    }

    pub fn fact(&self, name: &str) -> &serde_json::Value {
        &self.answer.facts[name]
    }
}

/// Runs one trial.
pub fn run(job: &dyn Job, store: &mut dyn Backend, capabilities: Capabilities, slots: u32, turns: Turns) -> Outcome {
    run_until(job, store, capabilities, slots, turns, u64::MAX)
}

/// Runs one trial. The time of its timed phases is over after a number of operations: as in the engine, those in flight are answered, and
/// no slot is asked again.
pub fn run_until(
    job: &dyn Job,
    store: &mut dyn Backend,
    capabilities: Capabilities,
    slots: u32,
    turns: Turns,
    timed_operations: u64,
) -> Outcome {
    run_with(job, None, store, capabilities, slots, turns, timed_operations)
}

/// Runs one trial. What is asked of a store as a whole is asked of `whole`, if there is one.
pub fn run_with(
    job: &dyn Job,
    whole: Option<&dyn Store>,
    store: &mut dyn Backend,
    capabilities: Capabilities,
    slots: u32,
    turns: Turns,
    timed_operations: u64,
) -> Outcome {
    job.suits(&capabilities).unwrap();
    let trial = job.trial(&jobkit::TrialSetup::alone(slots, capabilities, 42));
    let mut offences = Offences::default();
    let (mut operations, mut planned) = (Vec::new(), Vec::new());
    for (number, phase) in trial.phases().into_iter().enumerate() {
        if let Some(result) = whole.and_then(|whole| trial.whole(number, whole, Duration::from_secs(60))) {
            result.unwrap();
            operations.push(1);
            planned.push(phase.operations);
            continue;
        }
        // Three workers where possible, so that slot numbers within a worker differ from those of the trial.
        let cut = |part: u32| slots * part / slots.min(3);
        let mut workers: Vec<Box<dyn Worker>> =
            (0..slots.min(3)).map(|part| trial.worker(number, cut(part)..cut(part + 1))).collect();
        let places: Vec<(usize, u32)> = (0..slots.min(3))
            .flat_map(|part| (0..cut(part + 1) - cut(part)).map(move |slot| (part as usize, slot)))
            .collect();
        let most = if phase.timed { timed_operations } else { u64::MAX };
        operations.push(phase_of(&mut workers, &places, store, turns, most, &mut offences));
        planned.push(phase.operations);
    }
    let (answer, reasons) = trial.answer();
    let mut all = offences.into_reasons();
    all.extend(reasons);
    let account = trial.account();
    Outcome { answer, reasons: all, operations, planned, logical_bytes: trial.logical_bytes(), account }
}

fn phase_of(
    workers: &mut [Box<dyn Worker + '_>],
    places: &[(usize, u32)],
    store: &mut dyn Backend,
    turns: Turns,
    most: u64,
    offences: &mut Offences,
) -> u64 {
    let mut rng = match turns {
        Turns::OneByOne => None,
        Turns::Random(seed) => Some(Rng::new(seed)),
    };
    let mut idle: Vec<usize> = (0..places.len()).rev().collect();
    // The last is what it counts as: a check is no operation.
    let mut flying: Vec<(usize, Request, u64)> = Vec::new();
    let (mut count, mut waits) = (0, 0);
    while !idle.is_empty() || !flying.is_empty() {
        if count >= most {
            idle.clear();
            if flying.is_empty() {
                break;
            }
        }
        let send = flying.is_empty() || (!idle.is_empty() && rng.as_mut().is_some_and(|rng| rng.below(2) == 0));
        let pool = if send { idle.len() } else { flying.len() };
        let at = rng.as_mut().map_or(pool - 1, |rng| rng.below(pool as u64) as usize);
        if send {
            let place = idle.swap_remove(at);
            let (worker, slot) = places[place];
            match workers[worker].next(slot) {
                Step::Operation(operation) => flying.push((place, Request::of(&operation), 1)),
                Step::Check(operation) => flying.push((place, Request::of(&operation), 0)),
                Step::Wait => {
                    idle.push(place);
                    waits += 1;
                    assert!(waits < 1_000_000 || !flying.is_empty(), "all slots wait for each other");
                }
                Step::Finished => {}
            }
        } else {
            let (place, request, counts) = flying.swap_remove(at);
            let (worker, slot) = places[place];
            count += counts;
            waits = 0;
            let response = store.answer(&request);
            if let Err(offence) = response.hand_over(|reply| workers[worker].reply(slot, reply)) {
                offences.add(offence);
            }
            idle.push(place);
        }
    }
    count
}
