//! What a client does when an operation has failed.

use super::{Client, ScriptWorker};
use crate::ask;
use crate::counters::name;
use crate::entry::Fingerprinted;
use crate::standing::ThreadBooks;
use job::Offence;
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

impl ScriptWorker<'_> {
    /// An operation failed. After a lost connection, or where nodes fail on purpose, it is sent again; what could then take place twice
    /// is not, and gives nil. Any other failure ends the script.
    #[cold]
    pub(super) fn failed(&mut self, at: usize, failure: &Failure<'_>, reply: &Reply<'_>) -> Result<(), Offence> {
        let passes = self.passes(at, failure);
        let may_have_happened = failure.fate().may_have_happened();
        let Client { coroutine: Some(co), asked, .. } = &self.clients[at] else { return Ok(()) };
        let once = matches!(*asked, ask::APPEND | ask::CAS | ask::INCREMENT | ask::INCREMENT_FIELD);
        let offence = Offence::failed(co.bytes(2), reply);
        if passes && !(once && may_have_happened) {
            if may_have_happened {
                self.each_write(at, |books, key, value| books.ledger.may_come_late(key, value));
            }
            return Err(offence); // asked again
        }
        if !passes {
            let place = co.place().unwrap_or_default();
            self.standing.fail(offence.kind(), format!("{place}: {}", offence.clone().into_reason().example));
        }
        self.leave_open(at);
        let client = &mut self.clients[at];
        client.replied();
        if let Some(co) = &mut client.coroutine {
            co.clear();
            co.give_nil();
        }
        Err(offence)
    }

    /// Whether the script continues after this failure: no operation is without an answer for longer than the deadline.
    fn passes(&mut self, at: usize, failure: &Failure<'_>) -> bool {
        let failing = self.clients[at].failing.get_or_insert_with(|| Failing { since: Instant::now(), reached: false });
        failing.reached |= failure.fate().may_have_happened();
        if !self.standing.expects_faults() {
            return matches!(failure, Failure::ConnectionLost(_));
        }
        !matches!(failure, Failure::Protocol(_)) && failing.since.elapsed() < self.standing.watch.deadline()
    }

    /// No answer will come to what a client asked for: until its key is read, nobody knows whether it took effect.
    pub(super) fn leave_open(&mut self, at: usize) {
        let Client { coroutine: Some(co), asked, failing: Some(Failing { reached: true, .. }), .. } = &self.clients[at]
        else {
            return;
        };
        let (fates, key, mut buffer) = (self.books.fates, co.bytes(2), Vec::new());
        match *asked {
            ask::INCREMENT => fates.fails_to_add(name(key, b"", &mut buffer), co.number(3) as i64),
            ask::INCREMENT_FIELD => fates.fails_to_add(name(key, co.bytes(3), &mut buffer), co.number(4) as i64),
            ask::APPEND => self.each_write(at, |books, key, value| {
                books.fates.fails(key, value);
                books.ledger.unsure(key);
            }),
            ask::CAS => self.each_write(at, |books, key, value| {
                books.fates.fails(key, value);
                books.ledger.may_come_late(key, value);
                books.ledger.refused(key);
            }),
            _ => self.each_write(at, |books, key, value| books.fates.fails(key, value)),
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
            ask::PUT | ask::CAS => Some(fingerprint(co.bytes(3))),
            ask::DELETE => None,
            ask::APPEND => self.books.ledger.longer(key, co.bytes(3)),
            _ => return,
        };
        act(&mut self.books, key, value);
    }
}
