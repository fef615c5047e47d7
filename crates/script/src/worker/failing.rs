//! What a client does when an operation has failed.

use super::{Client, ScriptWorker, Unit};
use crate::ask;
use crate::counters::name;
use crate::entry::Fingerprinted;
use crate::machine::Lasts;
use crate::standing::ThreadBooks;
use jobkit::Offence;
use jobs::fingerprint::fingerprint;
use std::time::Instant;
use store::{Failure, Reply};

/// An operation that has failed, and is sent again.
pub(super) struct Failing {
    /// When it first failed.
    since: Instant,
    /// Whether it may have reached the store.
    reached: bool,
}

/// What becomes of an operation that failed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Course {
    /// It is sent again.
    Again,
    /// The script has nil for it, and goes on.
    GivenUp,
    /// The script ends.
    Ends,
}

impl ScriptWorker<'_> {
    /// Handles an operation that failed. After a lost connection, or where nodes fail on purpose, the operation is sent again until half
    /// the deadline has passed; an operation that could then take place twice is not. An operation that nodes that fail on purpose did not
    /// answer gives nil and the reason. Any other failure ends the script.
    #[cold]
    pub(super) fn failed(&mut self, at: usize, failure: &Failure<'_>, reply: &Reply<'_>) -> Result<(), Offence> {
        let course = self.course(at, failure);
        let may_have_happened = failure.fate().may_have_happened();
        let Client { coroutine: Some(co), asked, .. } = &self.clients[at] else { return Ok(()) };
        let once =
            matches!(*asked, ask::APPEND | ask::CAS | ask::INCREMENT | ask::INCREMENT_FIELD | ask::COMMAND | ask::SQL);
        let versioned = *asked == ask::GET_VERSIONED;
        let offence = Offence::failed(co.bytes(2), reply);
        if course == Course::Again && !(once && may_have_happened) {
            if may_have_happened {
                self.each_write(at, |books, key, value| {
                    books.ledger.may_come_late(key, value);
                    if value.is_none() {
                        books.doubts_delete(key);
                    }
                });
            }
            return Err(offence); // asked again
        }
        let words = offence.clone().into_reason().example;
        if course == Course::Ends {
            let place = co.place().unwrap_or_default();
            self.standing.fail(offence.kind(), format!("{place}: {words}"));
        } else {
            self.standing.give_up();
        }
        self.leave_open(at);
        let client = &mut self.clients[at];
        client.replied();
        client.unit = Unit::Disturbed;
        if let Some(co) = &mut client.coroutine {
            co.clear();
            co.give_nil();
            if versioned {
                co.give_nil();
            }
            co.give(words.as_bytes());
        }
        Err(offence)
    }

    /// What becomes of an operation after this failure.
    fn course(&mut self, at: usize, failure: &Failure<'_>) -> Course {
        // What a unit asks for after it had nil for one operation is not waited for again.
        let is_disturbed = self.clients[at].unit == Unit::Disturbed;
        let failing = self.clients[at].failing.get_or_insert_with(|| Failing { since: Instant::now(), reached: false });
        failing.reached |= failure.fate().may_have_happened();
        match failure {
            Failure::Protocol(_) => Course::Ends,
            _ if !self.standing.expects_faults() => match failure {
                Failure::ConnectionLost(_) => Course::Again,
                _ => Course::Ends,
            },
            // Were it longer, clients that all wait for the same node would end the phase: nothing was answered within the deadline.
            _ if !is_disturbed && failing.since.elapsed() < self.standing.watch.deadline() / 2 => Course::Again,
            _ => Course::GivenUp,
        }
    }

    /// Abandons the unit in which the script failed, if the script had nil there for an operation that failed, as a request of an
    /// application would be abandoned; where units are repeated the client begins its next one. False: the script failed otherwise.
    #[cold]
    pub(super) fn abandons_unit(&mut self, at: usize) -> bool {
        if self.clients[at].unit != Unit::Disturbed || !self.standing.has_given_up() {
            return false;
        }
        let Some(machine) = &self.machine else { return false };
        let client = &mut self.clients[at];
        (client.unit, client.begun) = (Unit::Undisturbed, false);
        if self.lasts == Lasts::Once {
            return true;
        }
        match machine.open(client.claim.slot + 1, self.all, &self.phase, self.lasts) {
            Ok(coroutine) => client.coroutine = coroutine,
            Err(raised) => self.fail(&raised),
        }
        true
    }

    /// Notes that no answer will come to what a client asked for: until its key is read, nobody knows whether it took effect.
    pub(super) fn leave_open(&mut self, at: usize) {
        self.doubt_life(at);
        let Client { coroutine: Some(co), claim, asked, failing: Some(Failing { reached: true, .. }), .. } =
            &self.clients[at]
        else {
            return;
        };
        let claim = *claim;
        let (fates, key, mut buffer) = (self.books.fates, co.bytes(2), Vec::new());
        match *asked {
            ask::INCREMENT => fates.fails_to_add(name(key, b"", &mut buffer), co.number(3) as i64),
            ask::INCREMENT_FIELD => fates.fails_to_add(name(key, co.bytes(3), &mut buffer), co.number(4) as i64),
            ask::APPEND => self.each_write(at, |books, key, value| {
                books.fates.fails(key, value);
                books.ledger.unsure(claim, key);
            }),
            ask::CAS => self.each_write(at, |books, key, value| {
                books.fates.fails(key, value);
                books.ledger.may_come_late(key, value);
                books.ledger.refused(claim, key);
            }),
            ask::DELETE => self.each_write(at, |books, key, value| {
                books.fates.fails(key, value);
                books.doubts_delete(key);
            }),
            _ => self.each_write(at, |books, key, value| books.fates.fails(key, value)),
        }
    }

    /// Notes that nobody knows how long lives what a client asked to write.
    fn doubt_life(&mut self, at: usize) {
        let (Client { coroutine: Some(co), asked, .. }, Some(lives)) = (&self.clients[at], &mut self.books.lives)
        else {
            return;
        };
        match *asked {
            ask::PUT | ask::PUT_TTL | ask::TOUCH | ask::DELETE | ask::CAS | ask::APPEND => lives.doubts(co.bytes(2)),
            ask::PUT_MANY => co.list(2, |key| lives.doubts(key)),
            _ => {}
        }
    }

    /// Each key that what a client asks for writes, with what it would hold then.
    fn each_write(&mut self, at: usize, mut act: impl FnMut(&mut ThreadBooks<'_>, &[u8], Fingerprinted)) {
        if self.clients[at].asked == ask::PUT_MANY {
            self.gather(at);
            self.pairs.iter().for_each(|(key, value)| act(&mut self.books, key, Some(fingerprint(value))));
            return;
        }
        let Client { coroutine: Some(co), asked, .. } = &self.clients[at] else { return };
        let key = co.bytes(2);
        let value = match *asked {
            ask::PUT | ask::PUT_TTL | ask::CAS => Some(fingerprint(co.bytes(3))),
            ask::DELETE => None,
            ask::APPEND => self.books.ledger.longer(key, co.bytes(3)),
            _ => return,
        };
        act(&mut self.books, key, value);
    }
}
