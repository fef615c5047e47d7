//! What a client does with values that have a time to live.

use super::{Client, ScriptWorker};
use crate::ask;
use crate::mortal::{Glimpse, Lives};
use store::{Expected, Operation, Reply};

impl ScriptWorker<'_> {
    /// Takes note of the life of the key of what is about to be sent.
    #[inline]
    pub(super) fn note_life(&mut self, at: usize) {
        if self.books.lives.is_some() {
            self.note_moment(at);
        }
    }

    fn note_moment(&mut self, at: usize) {
        let (Client { coroutine: Some(co), asked, moment, .. }, Some(lives)) =
            (&mut self.clients[at], &mut self.books.lives)
        else {
            return;
        };
        let key = co.bytes(2);
        *moment = match *asked {
            ask::GET | ask::GET_VERSIONED | ask::TIME_LEFT => lives.asks(key),
            ask::PUT | ask::PUT_TTL | ask::TOUCH | ask::DELETE | ask::CAS | ask::APPEND => lives.starts(key),
            _ => Glimpse::default(),
        };
        if matches!(*asked, ask::PUT_TTL | ask::TOUCH) {
            self.books.ledger.mortal(key);
        }
        if *asked == ask::PUT_MANY {
            co.list(2, |key| {
                lives.starts(key);
            });
        }
    }

    /// Puts the moment of its end behind the value that is about to be sent.
    pub(super) fn seal(&mut self, at: usize) {
        let (Client { coroutine: Some(co), asked, .. }, Some(lives)) = (&self.clients[at], &self.books.lives) else {
            return;
        };
        let ttl_ms = (*asked == ask::PUT_TTL).then(|| co.number(4) as u64);
        lives.all.seal(co.bytes(3), ttl_ms, &mut self.sealed);
    }

    /// The operation a client asks for, where it carries a value with its moment.
    pub(super) fn sealed_operation(&self, at: usize) -> Option<Operation<'_>> {
        let Client { coroutine, asked, found, .. } = &self.clients[at];
        let key = coroutine.as_ref().filter(|_| self.by_reader)?.bytes(2);
        match (*asked, found) {
            (ask::PUT | ask::PUT_TTL, _) => Some(Operation::Put { key, value: &self.sealed }),
            (ask::CAS, found) => {
                let expected = match found {
                    None => Expected::Absent,
                    Some((version, value)) => Expected::Present { version: *version, value },
                };
                Some(Operation::CompareAndSet { key, expected, value: &self.sealed })
            }
            _ => None,
        }
    }
}

/// Returns a reply without the moment behind its value; what is over is missing. What a versioned read found is kept: for the store it is
/// there, and a write that replaces it names it.
pub(super) fn opened<'r>(lives: &Lives, found: &mut Option<(u64, Vec<u8>)>, reply: Reply<'r>) -> Reply<'r> {
    match reply {
        Reply::Value(sealed) => lives.opened(sealed).map_or(Reply::Missing, Reply::Value),
        Reply::Versioned { value: sealed, version } => {
            *found = Some((version, sealed.to_vec()));
            lives.opened(sealed).map_or(Reply::Missing, |value| Reply::Versioned { value, version })
        }
        Reply::Missing => {
            *found = None;
            Reply::Missing
        }
        other => other,
    }
}

/// Returns the time left of a value with its moment behind it, as a store tells it.
pub(super) fn time_left<'r>(lives: &Lives, reply: Reply<'r>) -> Reply<'r> {
    match reply {
        Reply::Value(sealed) => lives.left_of(sealed).map_or(Reply::Missing, Reply::Number),
        other => other,
    }
}
