//! A server that exists only in time, whose waiting times are known exactly, and a job of plain gets for it.

use jobkit::{Offence, Phase, Step, Think, Trial, Worker};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use store::{
    Capabilities, Facts, Operation, Reply, Session, SessionPlan, Sink, Slot, Store, StoreError, Threading, Until,
};
use study::{Answer, Reason, ReasonKind};

/// Requests queue, are served in order, each taking `service`, and are answered as missing. The server may freeze once.
pub(crate) struct Simulated {
    pub(crate) service: Duration,
    /// When it freezes, counted from the first request, and for how long.
    pub(crate) freeze: Option<(Duration, Duration)>,
}

impl Store for Simulated {
    fn capabilities(&self) -> &Capabilities {
        &Capabilities::BASIC
    }

    fn session(&self, _: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        let (service, freeze) = (self.service, self.freeze);
        Ok(Box::new(Queue { service, freeze, frozen: None, busy_until: Instant::now(), waiting: VecDeque::new() }))
    }

    fn threading(&self) -> Threading {
        Threading::Shared
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        Ok(Facts::default())
    }
}

struct Queue {
    service: Duration,
    freeze: Option<(Duration, Duration)>,
    frozen: Option<(Instant, Instant)>,
    busy_until: Instant,
    waiting: VecDeque<(Slot, Instant)>,
}

impl Session for Queue {
    fn submit(&mut self, slot: Slot, _: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        let now = Instant::now();
        if let Some((after, time)) = self.freeze.take() {
            self.frozen = Some((now + after, now + after + time));
        }
        let begin = self.busy_until.max(now);
        let ready = begin + self.service;
        let ready = match self.frozen {
            Some((from, to)) if (from..to).contains(&begin) => to + self.service,
            Some((from, to)) if begin < from && ready > from => ready + (to - from),
            _ => ready,
        };
        self.busy_until = ready;
        self.waiting.push_back((slot, ready));
        Ok(None)
    }

    fn poll(&mut self, _: &mut Context<'_>, until: Until, sink: &mut dyn Sink) -> Poll<Result<(), StoreError>> {
        loop {
            let now = Instant::now();
            let mut answered = false;
            while let Some((slot, ready)) = self.waiting.front().copied()
                && ready <= now
            {
                if !answered {
                    sink.arrived();
                    answered = true;
                }
                self.waiting.pop_front();
                sink.reply(slot, &Reply::Missing);
            }
            match until {
                Until::At(time) if !answered && now < time => std::hint::spin_loop(),
                _ => return Poll::Ready(Ok(())),
            }
        }
    }
}

/// A library that answers at once and notes when it was asked.
#[derive(Default)]
pub(crate) struct Noted(Arc<Mutex<Vec<Instant>>>);

impl Noted {
    /// Returns the times when requests came, in no order.
    pub(crate) fn sent(&self) -> Vec<Instant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Store for Noted {
    fn capabilities(&self) -> &Capabilities {
        &Capabilities::BASIC
    }

    fn session(&self, _: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Ok(Box::new(Note(Arc::clone(&self.0))))
    }

    fn threading(&self) -> Threading {
        Threading::PerClient
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        Ok(Facts::default())
    }
}

struct Note(Arc<Mutex<Vec<Instant>>>);

impl Session for Note {
    fn submit(&mut self, _: Slot, _: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
        Ok(Some(Reply::Missing))
    }

    fn poll(&mut self, _: &mut Context<'_>, until: Until, _: &mut dyn Sink) -> Poll<Result<(), StoreError>> {
        if let Until::At(time) = until {
            std::thread::sleep(time.saturating_duration_since(Instant::now()));
        }
        Poll::Ready(Ok(()))
    }
}

/// Gets of one key without end; every reply must be a miss.
pub(crate) struct EndlessGets;

impl Trial for EndlessGets {
    fn phases(&self) -> Vec<Phase> {
        vec![Phase::timed("run", None)]
    }

    fn worker(&self, _: usize, _: Range<Slot>) -> Box<dyn Worker + '_> {
        Box::new(GetWorker)
    }

    fn key(&self, _: u64, _: &mut Vec<u8>) -> bool {
        false
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        (Answer::default(), Vec::new())
    }
}

struct GetWorker;

const KEY: &[u8] = b"selftest";

impl Worker for GetWorker {
    fn next(&mut self, _: Slot) -> Step<'_> {
        Step::Operation(Operation::Get { key: KEY })
    }

    fn reply(&mut self, _: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        match reply {
            Reply::Missing => Ok(()),
            Reply::Value(_) => Err(Offence::new(ReasonKind::UnexpectedHit, KEY, "a value")),
            other => Err(Offence::failed(KEY, other)),
        }
    }

    fn think(&self) -> Think {
        Think::Free
    }
}
