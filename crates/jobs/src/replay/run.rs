//! The requests, each key's in the order of the trace; and the puts before them, where these are asked for.

use super::ReplayPace;
use super::judge::Found;
use super::lives::{KeyLives, SentLife};
use super::own_keys::OwnKeys;
use super::trial::{HeldMark, ReplayTally, ReplayTrial};
use crate::expires::MOMENT_BYTES;
use crate::in_order::{InOrder, belongs};
use data::splitmix::mix;
use jobkit::{Job, Offence, Step, Worker};
use std::ops::Range;
use std::time::Duration;
use store::{Keeps, Operation, Reply, Slot};
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
    /// When each slot's operation was sent, and the life of what it puts.
    sent: Vec<(u64, SentLife)>,
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
    /// A time to live for what was found is next.
    Touches(u32),
    Touching(u32),
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
            sent: vec![(0, SentLife::Lasting); slots.len()],
            tally: ReplayTally::default(),
            key: Vec::new(),
            value: Vec::with_capacity(trial.job.sizes.longest as usize + MOMENT_BYTES),
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

    /// Notes when a slot's operation is sent, and with which life.
    #[inline]
    fn sends(&mut self, slot: Slot, ttl_ms: Option<u64>) -> SentLife {
        let Some(lives) = &self.trial.lives else { return SentLife::Lasting };
        let life = lives.sent(ttl_ms);
        self.sent[slot as usize] = (lives.now_ns(), life);
        life
    }

    /// Puts the value of this mark, with the time to live that a request gives.
    #[inline]
    fn put(&mut self, slot: Slot, request: u32, mark: u32) -> Step<'_> {
        let life = self.sends(slot, self.trial.ttl_ms(request));
        put(self.trial, self.trial.job.trace.ids()[request as usize], mark, life, &mut self.key, &mut self.value)
    }

    /// Gives what was found the time to live of a request: by a touch, or by a put of the same value where the store has none.
    fn touch(&mut self, slot: Slot, request: u32) -> Step<'_> {
        let (trial, id) = (self.trial, self.trial.job.trace.ids()[request as usize]);
        match (&trial.lives, trial.held(id)) {
            (Some(lives), Some(mark)) if !lives.touches() => {
                self.stages[slot as usize] = Stage::Setting(request);
                self.put(slot, request, mark)
            }
            (lives, _) => {
                self.stages[slot as usize] = Stage::Touching(request);
                let longest_ms = lives.as_ref().map_or(0, KeyLives::longest_ms);
                let ttl_ms = trial.ttl_ms(request).unwrap_or(longest_ms);
                self.sends(slot, Some(ttl_ms));
                trial.job.trace.keys().write(id, &mut self.key);
                Step::Operation(Operation::Touch { key: &self.key, ttl_ms })
            }
        }
    }

    /// Counts what a get found, and says what comes next.
    #[inline]
    fn after_get(&mut self, request: u32, found: Found) -> Stage {
        let (trial, kind) = (self.trial, self.trial.job.trace.kind(request as usize));
        if kind == RequestKind::Get {
            let tally = &mut self.tally;
            tally.hits += u64::from(found == Found::Value);
            tally.misses += u64::from(found != Found::Value);
            tally.dropped += u64::from(found == Found::Dropped);
            tally.expired += u64::from(found == Found::Expired);
        }
        let touches = trial.lives.is_some() && (kind == RequestKind::Touch || trial.ttl_ms(request).is_some());
        match found {
            Found::Value if touches && trial.keeps == Keeps::Everything => Stage::Touches(request),
            Found::Nothing | Found::Dropped | Found::Expired
                if kind == RequestKind::Get && trial.job.filling == Filling::OnMiss =>
            {
                self.tally.fills += 1;
                Stage::Fills(request)
            }
            _ => Stage::Idle,
        }
    }
}

/// Returns the put of the value of this mark, which lives so long.
#[inline]
fn put<'a>(
    trial: &ReplayTrial<'_>,
    id: u32,
    mark: u32,
    life: SentLife,
    key: &'a mut Vec<u8>,
    value: &'a mut Vec<u8>,
) -> Step<'a> {
    let job = trial.job;
    job.trace.keys().write(id, key);
    trial.contents.make(id, mark, job.sizes.bytes(&job.trace, mark), value);
    life.seal(value);
    Step::Operation(match life {
        SentLife::InStore { ttl_ms } => Operation::PutTtl { key, value, ttl_ms },
        SentLife::Lasting | SentLife::Moment { .. } => Operation::Put { key, value },
    })
}

/// Judges the reply to a put.
#[inline]
fn was_put(
    trial: &ReplayTrial<'_>,
    id: u32,
    mark: u32,
    (sent_ns, life): (u64, SentLife),
    reply: &Reply<'_>,
) -> Result<(), Offence> {
    let held: HeldMark = Some(mark);
    match reply {
        Reply::Done => {
            trial.holds(id, held);
            if let Some(lives) = &trial.lives {
                lives.acknowledged(id, sent_ns, life);
            }
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
        match self.stages[slot as usize] {
            Stage::Fills(request) => {
                self.stages[slot as usize] = Stage::Filling(request);
                return self.put(slot, request, request);
            }
            Stage::Touches(request) => return self.touch(slot, request),
            _ => {}
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
                return self.put(slot, request, request);
            }
            RequestKind::Delete => *stage = Stage::Deleting(request),
            RequestKind::Touch if trial.lives.as_ref().is_some_and(KeyLives::touches) => {
                return self.touch(slot, request);
            }
            RequestKind::Touch => *stage = Stage::Getting(request),
        }
        let is_delete = matches!(stage, Stage::Deleting(_));
        self.sends(slot, None);
        self.trial.job.trace.keys().write(ids[request as usize], &mut self.key);
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
        | Stage::Touches(request)
        | Stage::Touching(request)
        | Stage::Deleting(request)) = stage
        else {
            return Ok(());
        };
        let (id, sent) = (trial.job.trace.ids()[request as usize], self.sent[slot as usize]);
        let judged = match stage {
            Stage::Getting(_) => match trial.got(id, sent.0, reply) {
                Ok(found) => {
                    let next = self.after_get(request, found);
                    if !matches!(next, Stage::Idle) {
                        self.stages[slot as usize] = next;
                        return Ok(());
                    }
                    Ok(())
                }
                Err(offence) => Err(offence),
            },
            Stage::Deleting(_) => trial.deleted(id, reply),
            Stage::Touching(_) => trial.touched(id, sent.0, reply).map(|found| {
                if let (Found::Value, Some(lives)) = (found, &trial.lives) {
                    lives.acknowledged(id, sent.0, sent.1);
                }
            }),
            // A put instead of a touch leaves the value as it was.
            Stage::Setting(_) if trial.job.trace.kind(request as usize) != RequestKind::Set => {
                was_put(trial, id, trial.held(id).unwrap_or(request), sent, reply)
            }
            _ => was_put(trial, id, request, sent, reply),
        };
        self.order.done(slot);
        if judged.is_err() {
            trial.wrong(id);
        }
        judged
    }

    fn is_within(&mut self, slot: Slot) -> bool {
        matches!(self.stages[slot as usize], Stage::Fills(_) | Stage::Touches(_))
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

/// Puts every key once.
pub struct Loads<'a> {
    trial: &'a ReplayTrial<'a>,
    /// The key each slot puts now or next.
    keys: OwnKeys<'a>,
    sent: Vec<(u64, SentLife)>,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl<'a> Loads<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a ReplayTrial<'a>, slots: Range<Slot>) -> Loads<'a> {
        let sent = vec![(0, SentLife::Lasting); slots.len()];
        Loads { trial, sent, keys: OwnKeys::new(trial, slots), key: Vec::new(), value: Vec::new() }
    }

    /// The mark of the put of a key.
    fn mark(&self, id: u32) -> u32 {
        self.trial.job.trace.ids().len() as u32 + id
    }
}

impl Worker for Loads<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let Some(id) = self.keys.of(slot) else { return Step::Finished };
        let mark = self.mark(id);
        let Loads { trial, sent, key, value, .. } = self;
        let life = trial.lives.as_ref().map_or(SentLife::Lasting, |lives| lives.sent(None));
        sent[slot as usize] = (trial.lives.as_ref().map_or(0, KeyLives::now_ns), life);
        put(trial, id, mark, life, key, value)
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let Some(id) = self.keys.of(slot) else { return Ok(()) };
        self.keys.step(slot);
        was_put(self.trial, id, self.mark(id), self.sent[slot as usize], reply)
    }
}
