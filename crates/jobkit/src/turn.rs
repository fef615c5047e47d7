//! A turn of one slot on a session that answers at once.

use crate::books::Books;
use crate::job::{Step, Worker};
use measure::Counts;
use measure::{Clock, Ticks};
use store::{OperationKind, Reply, Session, Slot, StoreError};

/// Operations of one slot before the others have their turn.
pub const TURN: u32 = 64;

/// The session, books and limits that a worker needs to take a turn.
pub struct Turn<'t, 'b> {
    /// The session that operations are sent to.
    pub session: &'t mut dyn Session,
    /// The thread's books, in which the replies are counted.
    pub books: &'t mut Books<'b>,
    /// The clock of the latencies.
    pub clock: Clock,
    /// One operation in this many is timed.
    pub every: u32,
    /// Operations until the next that is.
    pub until_timed: &'t mut u32,
    /// The end of one operation is the start of the next.
    pub chained: bool,
    /// The time, as of the last look.
    pub now: &'t mut Ticks,
    /// The end of the turn, if the worker has not ended it before.
    pub end: Ticks,
}

/// Why a turn ended.
pub enum TurnEnd {
    /// The turn was long enough; there is more to do.
    Over,
    /// The slot waits for another's reply.
    Waits,
    /// The slot has nothing more to do.
    Finished,
    /// The session will answer later.
    TookOff {
        /// The operation's kind.
        kind: OperationKind,
        /// Whether the operation is timed.
        timed: bool,
    },
    /// The session will answer a check later.
    CheckTookOff,
}

impl Turn<'_, '_> {
    /// Returns the loop of [`Worker::take_turn`]. Compiled once per kind of worker, so that the worker's own work is part of it. Counts
    /// are kept in locals: on the null store every store to memory shows.
    ///
    /// # Errors
    /// The session's.
    #[inline(always)]
    pub fn take<W: Worker + ?Sized>(self, worker: &mut W, slot: Slot) -> Result<TurnEnd, StoreError> {
        let Turn { session, books, clock, every, until_timed, chained, now, end } = self;
        let mut start = 0;
        if chained {
            start = clock.now();
            worker.time_is(start);
        }
        let mut left = *until_timed;
        let mut tally = Counts::default();
        let mut turns_left = TURN;
        let result = loop {
            if turns_left == 0 {
                break Ok(TurnEnd::Over);
            }
            turns_left -= 1;
            let step = worker.next(slot);
            let operation = match &step {
                Step::Operation(operation) => operation,
                Step::Finished => break Ok(TurnEnd::Finished),
                Step::Wait => break Ok(TurnEnd::Waits),
                Step::Check(operation) => match session.submit(slot, operation) {
                    Ok(Some(ref reply)) => {
                        tally.checks += 1;
                        if let Reply::Failed(failure) = reply {
                            tally.fail(*failure);
                        }
                        if let Err(offence) = worker.reply(slot, reply) {
                            books.offend(offence);
                        }
                        if chained {
                            start = clock.now(); // the time of the check is not the next operation's
                            worker.time_is(start);
                            if start >= end {
                                break Ok(TurnEnd::Over);
                            }
                        }
                        continue;
                    }
                    Ok(None) => break Ok(TurnEnd::CheckTookOff),
                    Err(error) => break Err(error),
                },
            };
            let kind = operation.kind();
            tally.bytes_written += operation.bytes_written();
            left -= 1;
            let timed = left == 0;
            if timed {
                left = every;
                if !chained {
                    start = clock.now();
                }
            }
            let submitted = session.submit(slot, operation);
            let reply = match submitted {
                Ok(Some(ref reply)) => reply,
                Ok(None) => break Ok(TurnEnd::TookOff { kind, timed }),
                Err(error) => break Err(error),
            };
            // Before the clock is read, so that whether it failed is known without a look of its own: that costs 4 to 7 instructions an operation.
            let failed = tally.add(kind, reply);
            if timed {
                *now = clock.now();
                worker.answered_by(*now);
                match failed {
                    true => books.fail(kind, *now),
                    false => books.respond(kind, *now, clock.ns(now.saturating_sub(start)), 1),
                }
                start = *now;
            }
            if let Err(offence) = worker.reply(slot, reply) {
                books.offend(offence);
            }
            if timed && *now >= end {
                break Ok(TurnEnd::Over); // on a slow store a whole turn would take too long
            }
        };
        *until_timed = left;
        books.series.count(tally.operations);
        books.counts.merge(&tally);
        result
    }
}
