//! Whether a reply is right: the value of the last write, or nothing where there is none, or where its time to live is over.

use super::lives::{Freshness, Gone, KeyLives};
use super::trial::ReplayTrial;
use jobkit::Offence;
use store::{Keeps, Reply};
use study::ReasonKind;

/// What was found under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A value.
    Value,
    /// Nothing.
    Nothing,
    /// Nothing any more: a value was there.
    Dropped,
    /// Nothing any more: the time of the value is over.
    Expired,
}

impl ReplayTrial<'_> {
    /// Judges the reply to a get that was sent at that time.
    #[inline]
    pub(super) fn got(&self, id: u32, asked_ns: u64, reply: &Reply<'_>) -> Result<Found, Offence> {
        match *reply {
            Reply::Value(value) => match &self.lives {
                None => self.judge_value(id, value).map(|()| Found::Value),
                Some(lives) => self.judge_living(id, asked_ns, value, lives),
            },
            Reply::Missing if self.held(id).is_some() => self.gone(id),
            Reply::Missing => Ok(Found::Nothing),
            _ => Err(self.failed(id, reply)),
        }
    }

    #[inline]
    fn judge_value(&self, id: u32, value: &[u8]) -> Result<(), Offence> {
        match self.held(id) {
            Some(mark) if self.is(id, mark, value) => Ok(()),
            _ => self.judge_other(id, Some(value)),
        }
    }

    fn judge_living(&self, id: u32, asked_ns: u64, sealed: &[u8], lives: &KeyLives) -> Result<Found, Offence> {
        let (value, still) = lives.opened(id, sealed);
        self.judge_value(id, value)?;
        match lives.late(id, asked_ns) {
            Some(words) if still == Freshness::Still && self.keeps == Keeps::Everything => {
                Err(Offence::new(ReasonKind::ExpiredLate, &self.job.trace.keys().key(id), words))
            }
            _ if still == Freshness::NoLonger => Ok(Found::Expired),
            _ => Ok(Found::Value),
        }
    }

    /// Judges that a key is gone which held a value.
    fn gone(&self, id: u32) -> Result<Found, Offence> {
        let gone = self.lives.as_ref().filter(|_| self.keeps == Keeps::Everything).map(|lives| lives.early(id));
        match gone {
            Some(Gone::Over) => {
                self.holds(id, None);
                Ok(Found::Expired)
            }
            Some(Gone::Early(words)) if !self.may_drop() && !self.is_doubtful(id) => {
                Err(Offence::new(ReasonKind::ExpiredEarly, &self.job.trace.keys().key(id), words))
            }
            _ => self.judge_other(id, None).map(|()| Found::Dropped),
        }
    }

    /// Judges the reply to a delete.
    #[cold]
    pub(super) fn deleted(&self, id: u32, reply: &Reply<'_>) -> Result<(), Offence> {
        let judged = match (reply, self.held(id)) {
            (Reply::Missing, Some(_)) => self.gone(id).map(|_| ()),
            (Reply::Done, None) if self.keeps == Keeps::Everything => {
                Err(self.unexpected(id, "deleted, though it was not there"))
            }
            (Reply::Done | Reply::Missing, _) => Ok(()),
            _ => {
                self.fails(id, None);
                return Err(self.failed(id, reply));
            }
        };
        self.holds(id, None);
        judged
    }

    /// Judges the reply to a touch that was sent at that time; whether it found a value.
    pub(super) fn touched(&self, id: u32, asked_ns: u64, reply: &Reply<'_>) -> Result<Found, Offence> {
        match (reply, self.held(id)) {
            (Reply::Missing, Some(_)) => self.gone(id),
            (Reply::Missing, None) => Ok(Found::Nothing),
            (Reply::Done, _) if self.keeps == Keeps::Nothing => Ok(Found::Value),
            (Reply::Done, None) => Err(self.unexpected(id, "touched, though it was not there")),
            (Reply::Done, Some(_)) => match self.lives.as_ref().and_then(|lives| lives.late(id, asked_ns)) {
                None => Ok(Found::Value),
                Some(words) => Err(Offence::new(ReasonKind::ExpiredLate, &self.job.trace.keys().key(id), words)),
            },
            _ => Err(self.failed(id, reply)),
        }
    }

    #[cold]
    fn unexpected(&self, id: u32, seen: &str) -> Offence {
        Offence::new(ReasonKind::UnexpectedHit, &self.job.trace.keys().key(id), seen)
    }

    /// Makes the offence of a reply that is none to such a request.
    #[cold]
    pub(super) fn failed(&self, id: u32, reply: &Reply<'_>) -> Offence {
        Offence::failed(&self.job.trace.keys().key(id), reply)
    }
}
