//! A worker whose reads and writes are recorded: key, version and times.

use super::key::number_in;
use super::value::version_in;
use history::{Collector, Deed, Reel};
use jobkit::{Arriving, Offence, Step, Think, Worker};
use measure::Clock;
use std::ops::Range;
use std::time::Duration;
use store::{Operation, OperationKind, Reply, Slot};

/// The worker, and what each of its slots has in flight.
pub struct Witnessed<'a, W> {
    worker: W,
    first: Slot,
    clock: Clock,
    in_flight: Vec<InFlight>,
    lane: Reel<'a>,
}

#[derive(Clone, Copy)]
struct InFlight {
    asks: Asks,
    key: u64,
    version: u64,
    sent_ticks: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    Nothing,
    Read,
    Write,
}

impl<'a, W: Worker> Witnessed<'a, W> {
    /// Records what this worker of these slots sends and sees.
    pub fn new(worker: W, slots: Range<Slot>, history: &'a Collector) -> Witnessed<'a, W> {
        let nothing = InFlight { asks: Asks::Nothing, key: 0, version: 0, sent_ticks: 0 };
        Witnessed {
            worker,
            first: slots.start,
            clock: Clock::get(),
            in_flight: slots.map(|_| nothing).collect(),
            lane: Reel::new(history),
        }
    }
}

impl<W> Witnessed<'_, W> {
    #[inline]
    fn keep(&mut self, slot: Slot, action: Deed, answered_ticks: Option<u64>) {
        let InFlight { key, sent_ticks, .. } = self.in_flight[slot as usize];
        self.lane.keep(history::Encounter {
            client: self.first + slot,
            key,
            action,
            sent_ns: self.clock.ns(sent_ticks),
            answered_ns: answered_ticks.map(|at| self.clock.ns(at)),
        });
    }

    #[inline]
    fn heard(&mut self, slot: Slot, reply: &Reply<'_>) {
        let now = self.clock.now();
        let state = &mut self.in_flight[slot as usize];
        let (asked, version) = (std::mem::replace(&mut state.asks, Asks::Nothing), state.version);
        match (asked, reply) {
            (Asks::Read, Reply::Value(value)) => {
                if let Some(version) = version_in(value) {
                    self.keep(slot, Deed::Read(version), Some(now));
                }
            }
            (Asks::Read, Reply::Missing) => self.keep(slot, Deed::Read(0), Some(now)),
            (Asks::Write, Reply::Failed(failure)) if failure.fate().may_have_happened() => {
                self.keep(slot, Deed::Write(version), None);
            }
            (Asks::Write, Reply::Done) => self.keep(slot, Deed::Write(version), Some(now)),
            _ => {}
        }
    }
}

impl<W: Worker> Worker for Witnessed<'_, W> {
    #[inline(always)]
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let step = self.worker.next(slot);
        if let Step::Operation(operation) | Step::Check(operation) = &step {
            let state = &mut self.in_flight[slot as usize];
            state.asks = match operation {
                Operation::Get { .. } => Asks::Read,
                Operation::Put { value, .. } => {
                    state.version = version_in(value).unwrap_or(0);
                    Asks::Write
                }
                _ => Asks::Nothing,
            };
            state.key = operation.key().map_or(0, number_in);
            state.sent_ticks = self.clock.now();
        }
        step
    }

    #[inline(always)]
    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        self.heard(slot, reply);
        self.worker.reply(slot, reply)
    }

    fn ahead(&mut self, slot: Slot) -> Option<(OperationKind, &[u8])> {
        self.worker.ahead(slot)
    }

    fn leave_off(&mut self) {
        self.worker.leave_off();
    }

    fn stored(&self) -> u64 {
        self.worker.stored()
    }

    fn think(&self) -> Think {
        self.worker.think()
    }

    fn is_done(&mut self, slot: Slot) -> bool {
        self.worker.is_done(slot)
    }

    fn time_is_over(&mut self, late: Option<Slot>) {
        self.worker.time_is_over(late);
    }

    fn due(&mut self, slot: Slot) -> Duration {
        self.worker.due(slot)
    }

    fn arrivals(&self) -> Arriving {
        self.worker.arrivals()
    }

    fn is_within(&mut self, slot: Slot) -> bool {
        self.worker.is_within(slot)
    }
}

impl<W> Drop for Witnessed<'_, W> {
    /// What is still in flight may happen yet.
    fn drop(&mut self) {
        for slot in 0..self.in_flight.len() {
            let InFlight { asks, version, .. } = self.in_flight[slot];
            if asks == Asks::Write {
                self.keep(slot as Slot, Deed::Write(version), None);
            }
        }
    }
}
