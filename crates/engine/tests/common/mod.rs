//! A job of plain gets and stores whose behaviour in time is known exactly.
#![allow(dead_code)] // each test file uses its part

use jobkit::{Offence, Phase, Step, Think, Trial, Worker};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use store::{
    Capabilities, Facts, Operation, Reply, Session, SessionPlan, Sink, Slot, Store, StoreError, Threading, Until,
};
use study::{Answer, Reason, ReasonKind};

/// A number of gets per slot; every reply must be a miss.
#[derive(Default)]
pub struct Gets {
    pub per_slot: u64,
    /// How many it says it has over all slots.
    pub known: Option<u64>,
}

impl Trial for Gets {
    fn phases(&self) -> Vec<Phase> {
        vec![Phase::timed("run", self.known)]
    }

    fn worker(&self, _: usize, slots: Range<Slot>) -> Box<dyn Worker + '_> {
        Box::new(GetWorker { left: vec![self.per_slot; slots.len()], key: *b"0123456789abcdef" })
    }

    fn key(&self, _: u64, _: &mut Vec<u8>) -> bool {
        false
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        (Answer::default(), Vec::new())
    }
}

/// Gets of which the last slot has all but a few.
pub struct Uneven {
    pub all: u64,
    /// What each of the other slots has.
    pub others: u64,
    pub clients: u32,
}

impl Trial for Uneven {
    fn phases(&self) -> Vec<Phase> {
        vec![Phase::timed("run", Some(self.all))]
    }

    fn worker(&self, _: usize, slots: Range<Slot>) -> Box<dyn Worker + '_> {
        let last = self.all - self.others * u64::from(self.clients - 1);
        let left = |slot| if slot + 1 == self.clients { last } else { self.others };
        Box::new(GetWorker { left: slots.map(left).collect(), key: *b"0123456789abcdef" })
    }

    fn key(&self, _: u64, _: &mut Vec<u8>) -> bool {
        false
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        (Answer::default(), Vec::new())
    }
}

struct GetWorker {
    left: Vec<u64>,
    key: [u8; 16],
}

impl Worker for GetWorker {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let left = &mut self.left[slot as usize];
        if *left == 0 {
            return Step::Finished;
        }
        *left -= 1;
        Step::Operation(Operation::Get { key: &self.key })
    }

    fn reply(&mut self, _: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        match reply {
            Reply::Missing => Ok(()),
            Reply::Value(_) => Err(Offence::new(ReasonKind::UnexpectedHit, &self.key, "a value")),
            other => Err(Offence::failed(&self.key, other)),
        }
    }

    fn is_done(&mut self, slot: Slot) -> bool {
        self.left[slot as usize] == 0
    }

    fn think(&self) -> Think {
        Think::Free
    }
}

/// What a simulated server does with requests.
#[derive(Clone, Copy)]
pub enum Behaviour {
    /// Serves one after the other, each taking exactly this long.
    Serves(Duration),
    /// Takes requests and never answers.
    Silent,
}

/// A server that exists only in time: requests queue, are served in order, and are answered as missing.
pub struct Simulated(pub Behaviour);

impl Store for Simulated {
    fn capabilities(&self) -> &Capabilities {
        &Capabilities::BASIC
    }

    fn session(&self, _: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Ok(Box::new(SimulatedSession { behaviour: self.0, busy_until: Instant::now(), queue: VecDeque::new() }))
    }

    fn threading(&self) -> Threading {
        Threading::Shared
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        Ok(Facts::default())
    }
}

struct SimulatedSession {
    behaviour: Behaviour,
    busy_until: Instant,
    queue: VecDeque<(Slot, Instant)>,
}

impl Session for SimulatedSession {
    fn submit(&mut self, slot: Slot, _: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        if let Behaviour::Serves(time) = self.behaviour {
            self.busy_until = self.busy_until.max(Instant::now()) + time;
            self.queue.push_back((slot, self.busy_until));
        }
        Ok(None)
    }

    fn poll(&mut self, _: &mut Context<'_>, until: Until, sink: &mut dyn Sink) -> Poll<Result<(), StoreError>> {
        loop {
            let now = Instant::now();
            let mut answered = false;
            while self.queue.front().is_some_and(|(_, ready)| *ready <= now) {
                if !answered {
                    sink.arrived();
                    answered = true;
                }
                if let Some((slot, _)) = self.queue.pop_front() {
                    sink.reply(slot, &Reply::Missing);
                }
            }
            match until {
                Until::At(time) if !answered && now < time => std::hint::spin_loop(),
                _ => return Poll::Ready(Ok(())),
            }
        }
    }
}

/// A store that cannot be opened a second time.
pub struct OnlyOnce(pub Mutex<bool>);

impl Store for OnlyOnce {
    fn capabilities(&self) -> &Capabilities {
        &Capabilities::BASIC
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        let mut taken = self.0.lock().unwrap();
        if std::mem::replace(&mut *taken, true) {
            return Err(StoreError::open("only once", "taken"));
        }
        Simulated(Behaviour::Silent).session(plan)
    }

    fn threading(&self) -> Threading {
        Threading::PerClient
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        Ok(Facts::default())
    }
}

/// A store whose first client never gets an answer; the others are served at once.
pub struct FirstSilent(pub AtomicBool);

impl Store for FirstSilent {
    fn capabilities(&self) -> &Capabilities {
        &Capabilities::BASIC
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        let first = !self.0.swap(true, Ordering::Relaxed);
        Simulated(if first { Behaviour::Silent } else { Behaviour::Serves(Duration::ZERO) }).session(plan)
    }

    fn threading(&self) -> Threading {
        Threading::PerClient
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        Ok(Facts::default())
    }
}

/// A library whose every call takes this long.
pub struct SlowCalls(pub Duration);

impl Store for SlowCalls {
    fn capabilities(&self) -> &Capabilities {
        &Capabilities::BASIC
    }

    fn session(&self, _: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Ok(Box::new(SlowCall(self.0)))
    }

    fn threading(&self) -> Threading {
        Threading::PerClient
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        Ok(Facts::default())
    }
}

struct SlowCall(Duration);

impl Session for SlowCall {
    fn submit(&mut self, _: Slot, _: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        std::thread::sleep(self.0);
        Ok(Some(Reply::Missing))
    }

    fn poll(&mut self, _: &mut Context<'_>, _: Until, _: &mut dyn Sink) -> Poll<Result<(), StoreError>> {
        Poll::Ready(Ok(()))
    }
}

/// Lets this thread, and those it starts, go before other programs of this machine, where that is allowed: a simulated server needs its
/// processor when the clock says so.
pub fn go_first() {
    // SAFETY: this changes the priority of the calling thread and nothing else.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -15) };
}
