//! The requests, each key's in the order of the trace; and the puts before them, where these are asked for.

use super::ReplayPace;
use super::trial::{HeldMark, ReplayTally, ReplayTrial};
use crate::in_order::{InOrder, belongs};
use data::splitmix::mix;
use jobkit::{Job, Offence, Step, Worker};
use std::ops::Range;
use std::time::Duration;
use store::{Keeps, Operation, Reply, Slot};
use study::ReasonKind;
use trace::{Filling, RequestKind};

/// A thread's slots. Keys belong to threads; whatever slot of a thread is free takes its next request.
pub struct Run<'a> {
    trial: &'a ReplayTrial<'a>,
    range: Range<Slot>,
    order: InOrder<u32>,
    /// The request of the trace that is looked at next.
    at: u32,
    /// Requests below this are due, where they are due as recorded.
    due: u32,
    stages: Vec<Stage>,
    tally: ReplayTally,
    key: Vec<u8>,
    value: Vec<u8>,
}

/// What a slot has in flight, or sends next, for the request of this number.
#[derive(Clone, Copy)]
enum Stage {
    Idle,
    Getting(u32),
    /// The put after a miss is next.
    Fills(u32),
    Filling(u32),
    Setting(u32),
    Deleting(u32),
}

impl<'a> Run<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a ReplayTrial<'a>, slots: Range<Slot>) -> Run<'a> {
        Run {
            trial,
            order: InOrder::new(slots.len()),
            at: 0,
            due: if trial.job.is_recorded() { 0 } else { u32::MAX },
            stages: vec![Stage::Idle; slots.len()],
            tally: ReplayTally::default(),
            key: Vec::new(),
            value: Vec::with_capacity(trial.job.sizes.longest as usize),
            range: slots,
        }
    }

    /// The next request of the trace that is this thread's.
    fn upcoming(&mut self) -> Option<u32> {
        let Run { trial, range, at, .. } = self;
        let rest = trial.job.trace.ids().get(*at as usize..)?;
        let before = rest.iter().position(|&id| belongs(mix(id.into()), range, trial.slots));
        *at += before.unwrap_or(rest.len()) as u32;
        before.map(|_| *at)
    }

    #[inline]
    fn put(&mut self, request: u32) -> Step<'_> {
        put(self.trial, self.trial.job.trace.ids()[request as usize], request, &mut self.key, &mut self.value)
    }

    /// Judges the reply to a get; whether it found something.
    #[inline]
    fn got(&mut self, id: u32, reply: &Reply<'_>) -> Result<bool, Offence> {
        let held = self.trial.held(id);
        match *reply {
            Reply::Value(value) => {
                self.tally.hits += 1;
                match held {
                    Some(mark) if self.trial.is(id, mark, value) => Ok(true),
                    _ => self.trial.judge_other(id, Some(value)).map(|()| true),
                }
            }
            Reply::Missing => {
                self.tally.misses += 1;
                if held.is_some() {
                    self.tally.dropped += 1;
                    self.trial.judge_other(id, None)?;
                }
                Ok(false)
            }
            _ => Err(Offence::failed(&self.trial.job.trace.keys().key(id), reply)),
        }
    }

    /// Judges the reply to a delete.
    #[cold]
    fn deleted(&self, id: u32, reply: &Reply<'_>) -> Result<(), Offence> {
        let trial = self.trial;
        let judged = match (reply, trial.held(id)) {
            (Reply::Missing, Some(_)) => trial.judge_other(id, None),
            (Reply::Done, None) if trial.keeps == Keeps::Everything => {
                let key = trial.job.trace.keys().key(id);
                Err(Offence::new(ReasonKind::UnexpectedHit, &key, "deleted, though it was not there"))
            }
            (Reply::Done | Reply::Missing, _) => Ok(()),
            _ => {
                trial.fails(id, None);
                return Err(Offence::failed(&trial.job.trace.keys().key(id), reply));
            }
        };
        trial.holds(id, None);
        judged
    }
}

/// Returns the put of the value of this mark.
#[inline]
fn put<'a>(trial: &ReplayTrial<'_>, id: u32, mark: u32, key: &'a mut Vec<u8>, value: &'a mut Vec<u8>) -> Step<'a> {
    let job = trial.job;
    job.trace.keys().write(id, key);
    trial.contents.make(id, mark, job.sizes.bytes(&job.trace, mark), value);
    Step::Operation(Operation::Put { key, value })
}

/// Judges the reply to a put.
#[inline]
fn was_put(trial: &ReplayTrial<'_>, id: u32, mark: u32, reply: &Reply<'_>) -> Result<(), Offence> {
    let held: HeldMark = Some(mark);
    match reply {
        Reply::Done => {
            trial.holds(id, held);
            Ok(())
        }
        _ => {
            trial.fails(id, held);
            Err(Offence::failed(&trial.job.trace.keys().key(id), reply))
        }
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.trial.take(self.tally);
    }
}

impl Worker for Run<'_> {
    #[inline]
    fn next(&mut self, slot: Slot) -> Step<'_> {
        if let Stage::Fills(request) = self.stages[slot as usize] {
            self.stages[slot as usize] = Stage::Filling(request);
            return self.put(request);
        }
        let Run { trial, range, order, at, due, .. } = self;
        let ids = trial.job.trace.ids();
        let next = || {
            while let Some(&id) = ids.get(*at as usize).filter(|_| *at < *due) {
                let request = *at;
                *at += 1;
                if belongs(mix(id.into()), range, trial.slots) {
                    return Some((u64::from(id), request));
                }
            }
            None
        };
        let Some(request) = order.take(slot, next) else {
            return if *due == u32::MAX { Step::Finished } else { Step::Wait };
        };
        let stage = &mut self.stages[slot as usize];
        match trial.job.trace.kind(request as usize) {
            RequestKind::Get => *stage = Stage::Getting(request),
            RequestKind::Set => {
                *stage = Stage::Setting(request);
                return self.put(request);
            }
            RequestKind::Delete => *stage = Stage::Deleting(request),
        }
        let is_delete = matches!(stage, Stage::Deleting(_));
        trial.job.trace.keys().write(ids[request as usize], &mut self.key);
        Step::Operation(if is_delete {
            Operation::Delete { key: &self.key }
        } else {
            Operation::Get { key: &self.key }
        })
    }

    #[inline]
    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let trial = self.trial;
        let stage = std::mem::replace(&mut self.stages[slot as usize], Stage::Idle);
        let (Stage::Getting(request)
        | Stage::Fills(request)
        | Stage::Filling(request)
        | Stage::Setting(request)
        | Stage::Deleting(request)) = stage
        else {
            return Ok(());
        };
        let id = trial.job.trace.ids()[request as usize];
        let judged = match stage {
            Stage::Getting(_) => match self.got(id, reply) {
                Ok(false) if trial.job.filling == Filling::OnMiss => {
                    self.tally.fills += 1;
                    self.stages[slot as usize] = Stage::Fills(request);
                    return Ok(());
                }
                judged => judged.map(|_| ()),
            },
            Stage::Deleting(_) => self.deleted(id, reply),
            _ => was_put(trial, id, request, reply),
        };
        self.order.done(slot);
        if judged.is_err() {
            trial.wrong(id);
        }
        judged
    }

    fn is_within(&mut self, slot: Slot) -> bool {
        matches!(self.stages[slot as usize], Stage::Fills(_))
    }

    fn is_done(&mut self, slot: Slot) -> bool {
        matches!(self.stages[slot as usize], Stage::Idle) && !self.order.has_waiting(slot) && self.upcoming().is_none()
    }

    fn due(&mut self, slot: Slot) -> Duration {
        let Some(request) = self.order.first_waiting(slot).or_else(|| self.upcoming()) else { return Duration::ZERO };
        self.due = self.at + 1;
        let ReplayPace::Recorded { speed } = self.trial.job.pace else { return Duration::ZERO };
        let time_us = self.trial.job.trace.time_us(request as usize).unwrap_or(0);
        Duration::from_nanos((time_us as f64 * 1000.0 / speed) as u64)
    }
}

/// Puts every key once: key number n by slot n modulo slots.
pub struct Loads<'a> {
    trial: &'a ReplayTrial<'a>,
    /// The key each slot puts now or next.
    keys: Vec<u64>,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl<'a> Loads<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a ReplayTrial<'a>, slots: Range<Slot>) -> Loads<'a> {
        Loads { trial, keys: slots.map(u64::from).collect(), key: Vec::new(), value: Vec::new() }
    }

    /// The mark of the put of a key.
    fn mark(&self, id: u32) -> u32 {
        self.trial.job.trace.ids().len() as u32 + id
    }
}

impl Worker for Loads<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let id = self.keys[slot as usize];
        if id >= self.trial.job.trace.keys().len() as u64 {
            return Step::Finished;
        }
        let mark = self.mark(id as u32);
        put(self.trial, id as u32, mark, &mut self.key, &mut self.value)
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let id = self.keys[slot as usize] as u32;
        self.keys[slot as usize] += u64::from(self.trial.slots);
        was_put(self.trial, id, self.mark(id), reply)
    }
}
