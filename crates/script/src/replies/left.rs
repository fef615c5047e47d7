//! The time left of a key, as a store tells it.

use super::{living, place};
use crate::coroutine::Coroutine;
use crate::entry::{Claim, Since};
use crate::mortal::{Glimpse, Lives};
use crate::standing::ThreadBooks;
use jobkit::Offence;
use jobs::expires;
use store::{LASTS, Reply};
use study::ReasonKind;

/// Checks what a store tells of the time left of a key, and returns that time where there is one.
pub(super) fn time_left(
    books: &mut ThreadBooks<'_>,
    co: &Coroutine,
    claim: Claim,
    since: Since,
    moment: Glimpse,
    reply: &Reply<'_>,
) -> (Option<i64>, Result<(), Offence>) {
    let key = co.bytes(2);
    let stands_in = books.ledger.stands_in();
    let Some(lives) = books.lives.as_ref().map(|lives| lives.all) else { return (None, Ok(())) };
    let (left, judged) = match *reply {
        Reply::Number(left_ms) => (Some(left_ms), told(lives, co, moment, left_ms)),
        _ if stands_in => (lives.left_for(key), Ok(())),
        _ => (None, living(lives, books.fates, books.ledger.look(claim, key, since, None), co, moment, None)),
    };
    (left.filter(|left_ms| *left_ms != LASTS), judged)
}

/// Checks the time left that a store tells.
fn told(lives: &Lives, co: &Coroutine, moment: Glimpse, left_ms: i64) -> Result<(), Offence> {
    let key = co.bytes(2);
    if let Some(ns) = lives.late_ns(key, moment) {
        let words = format!("still there {} after its time to live{}", expires::shown(ns), place(co));
        return Err(Offence::new(ReasonKind::ExpiredLate, key, words));
    }
    match lives.wrong_left(key, moment, left_ms) {
        None => Ok(()),
        Some(due) => {
            let told = if left_ms == LASTS { "it lasts".into() } else { format!("{left_ms} ms are left") };
            Err(Offence::new(ReasonKind::WrongNumber, key, format!("it says that {told}; {due}{}", place(co))))
        }
    }
}
