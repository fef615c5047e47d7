//! A worker whose operations are recorded: key, version and times.

use history::{Collector, Reel, Told};
use jobkit::{Arriving, Offence, Step, Think, Worker};
use measure::{Clock, Ticks};
use std::ops::Range;
use std::time::Duration;
use store::{Operation, OperationKind, Reply, Slot};

/// A worker of which it is known what key a slot is at, and whose values name their versions.
pub trait Telling: Worker {
    /// Returns the number of the key of the operation that a slot has in flight.
    fn key_number(&self, slot: Slot) -> u64;

    /// Returns the version that a value names.
    fn version(value: &[u8]) -> Option<u64>;
}

/// The worker, and what each of its slots has in flight.
pub struct Witnessed<'a, W: Telling> {
    worker: W,
    first: Slot,
    clock: Clock,
    /// At least a nanosecond, and less than reading the clock takes.
    moment: Ticks,
    /// The last time that is known: nothing that is sent from now on is sent before. The engine's, where it reads the clock anyway.
    now: Ticks,
    /// Whether that is also the time of the reply that comes next.
    is_of_reply: bool,
    in_flight: Vec<InFlight>,
    lane: Reel<'a>,
}

#[derive(Clone, Copy)]
struct InFlight {
    asks: Asks,
    version: u64,
    sent: Ticks,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    Nothing,
    Read,
    Write,
    /// One more, of a counter.
    Increase,
    /// The number of a counter.
    Count,
}

impl<'a, W: Telling> Witnessed<'a, W> {
    /// Records what this worker of these slots sends and sees.
    pub fn new(worker: W, slots: Range<Slot>, history: &'a Collector) -> Witnessed<'a, W> {
        let nothing = InFlight { asks: Asks::Nothing, version: 0, sent: 0 };
        let clock = Clock::get();
        Witnessed {
            worker,
            first: slots.start,
            now: clock.now(),
            moment: clock.ticks(Duration::from_nanos(1)) + 1,
            clock,
            is_of_reply: false,
            in_flight: slots.map(|_| nothing).collect(),
            lane: Reel::new(history),
        }
    }
}

impl<W: Telling> Witnessed<'_, W> {
    #[inline]
    fn heard(&mut self, slot: Slot, reply: &Reply<'_>) {
        if !self.is_of_reply {
            self.now = self.clock.now();
        }
        let client = self.first + slot;
        let key = self.worker.key_number(slot);
        let state = &mut self.in_flight[slot as usize];
        let InFlight { asks, version, sent } = *state;
        state.asks = Asks::Nothing;
        let number = |number: &i64| number.cast_unsigned();
        let said = match (asks, reply) {
            (Asks::Read, Reply::Value(value)) => match W::version(value) {
                Some(version) => Told::read(client, version),
                None => return,
            },
            (Asks::Read, Reply::Missing) => Told::missed(client),
            (Asks::Write, Reply::Done) => Told::written(client, version),
            (Asks::Increase, Reply::Number(it)) => Told::increased(client, number(it)),
            (Asks::Count, Reply::Number(it)) => Told::counted(client, number(it)),
            (Asks::Count, Reply::Missing) => Told::counted(client, 0),
            (Asks::Write | Asks::Increase, Reply::Failed(failure)) if failure.fate().may_have_happened() => {
                return self.lane.unanswered(key, asks.open(client, version), sent);
            }
            _ => return,
        };
        self.lane.answered(key, said, sent, self.now);
    }
}

impl Asks {
    /// What may have been done, where nobody knows.
    fn open(self, client: Slot, version: u64) -> Told {
        match self {
            Asks::Increase => Told::increased(client, 0),
            _ => Told::written(client, version),
        }
    }
}

impl<W: Telling> Worker for Witnessed<'_, W> {
    #[inline(always)]
    fn next(&mut self, slot: Slot) -> Step<'_> {
        self.is_of_reply = false;
        let step = self.worker.next(slot);
        if let Step::Operation(operation) | Step::Check(operation) = &step {
            let state = &mut self.in_flight[slot as usize];
            state.asks = match operation {
                Operation::Get { .. } => Asks::Read,
                Operation::Put { value, .. } => {
                    state.version = W::version(value).unwrap_or(0);
                    Asks::Write
                }
                Operation::Increment { by: 1, .. } => Asks::Increase,
                Operation::GetCounter { .. } => Asks::Count,
                _ => Asks::Nothing,
            };
            // Sooner than in truth, by the worker's own work: that contradicts less, never more. Behind the reply before it, as it is.
            state.sent = self.now + self.moment;
        }
        step
    }

    #[inline(always)]
    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        self.heard(slot, reply);
        self.worker.reply(slot, reply)
    }

    #[inline(always)]
    fn time_is(&mut self, now: Ticks) {
        self.now = now;
    }

    #[inline(always)]
    fn answered_by(&mut self, now: Ticks) {
        self.now = now;
        self.is_of_reply = true;
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

impl<W: Telling> Drop for Witnessed<'_, W> {
    /// What is still in flight may happen yet.
    fn drop(&mut self) {
        for (slot, state) in (0..).zip(&self.in_flight) {
            if let Asks::Write | Asks::Increase = state.asks {
                let said = state.asks.open(self.first + slot, state.version);
                self.lane.unanswered(self.worker.key_number(slot), said, state.sent);
            }
        }
    }
}
