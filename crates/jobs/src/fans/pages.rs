//! What the job knows of each page during the run: enough to tell a wrong value from the right one without keeping
//! either.

use super::Input;
use super::doubt::{DoubtfulMentions, PageDoubts, allows_instead};
use super::policy::Policy;
use super::record;
use crate::fingerprint::fingerprint;
use jobkit::Offence;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use study::ReasonKind;

/// Nothing was ever written.
const ABSENT: u64 = 0;

/// The state of all pages, shared by all threads. Orderings: a page's entry is written by the slot that owns the page
/// (partition) or holds its lock (lock), and read by the next one, who acquires that lock; so `Relaxed` is enough for
/// the entries. Under `cas` only `fans` is used, as a floor that only grows.
pub struct Ledger {
    policy: Policy,
    /// Fingerprint of the value written last and acknowledged; or [`ABSENT`].
    prints: Vec<AtomicU64>,
    /// Fans in it.
    fans: Vec<AtomicU32>,
    locks: Vec<AtomicBool>,
    /// Pages of which a write failed.
    doubts: Mutex<PageDoubts>,
}

/// A value as the ledger will know it once it is acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written {
    print: u64,
    fans: u32,
}

impl Ledger {
    /// Makes the ledger of an empty store.
    pub fn new(pages: usize, policy: Policy) -> Ledger {
        let exact = matches!(policy, Policy::Partition | Policy::Lock);
        let locks = if policy == Policy::Lock { pages } else { 0 };
        Ledger {
            policy,
            prints: (0..if exact { pages } else { 0 }).map(|_| AtomicU64::new(ABSENT)).collect(),
            fans: (0..pages).map(|_| AtomicU32::new(0)).collect(),
            locks: (0..locks).map(|_| AtomicBool::new(false)).collect(),
            doubts: Mutex::default(),
        }
    }

    /// Takes the page's lock; `false`: another slot has it. Always `true` when the policy has no locks.
    #[inline]
    pub fn lock(&self, page: u32) -> bool {
        match self.locks.get(page as usize) {
            Some(lock) => !lock.swap(true, Ordering::Acquire),
            None => true,
        }
    }

    /// Gives the page's lock back.
    #[inline]
    pub fn unlock(&self, page: u32) {
        if let Some(lock) = self.locks.get(page as usize) {
            lock.store(false, Ordering::Release);
        }
    }

    /// Fans of the page that are acknowledged, before a read is sent: the reply may not have fewer.
    #[inline]
    pub fn floor(&self, page: u32) -> u32 {
        self.fans[page as usize].load(Ordering::Relaxed)
    }

    /// Describes a value about to be written.
    #[inline]
    pub fn written(&self, value: &[u8], fans: u32) -> Written {
        let print = if self.prints.is_empty() { 0 } else { fingerprint(value) | 2 };
        Written { print, fans }
    }

    /// Notes that the value was acknowledged.
    #[inline]
    pub fn acknowledge(&self, page: u32, written: Written) {
        if let Some(print) = self.prints.get(page as usize) {
            print.store(written.print, Ordering::Relaxed);
            self.fans[page as usize].store(written.fans, Ordering::Relaxed);
        } else if self.policy == Policy::Cas {
            self.fans[page as usize].fetch_max(written.fans, Ordering::Relaxed);
        }
    }

    /// Counts one more mention of a page that belongs to one slot; returns how many there are now.
    #[inline]
    pub fn count(&self, page: u32) -> u32 {
        let fans = self.floor(page) + 1;
        self.recount(page, fans);
        fans
    }

    /// Notes that the page has this many mentions now.
    #[inline]
    pub fn recount(&self, page: u32, fans: u32) {
        self.fans[page as usize].store(fans, Ordering::Relaxed);
    }

    /// Notes that a put of a mention with this many partners failed: the put may take effect now, later, or never.
    #[cold]
    pub fn fails(&self, page: u32, written: Written, partners: u64) {
        let record = (!self.prints.is_empty()).then_some((written.print, written.fans));
        self.doubts().of(page).fails(DoubtfulMentions { fans: 1, pairs: partners, record });
    }

    /// Notes that a mention with this many partners was not put, because the page could not be read.
    #[cold]
    pub fn skips(&self, page: u32, partners: u64) {
        self.doubts().of(page).skips(DoubtfulMentions { fans: 1, pairs: partners, record: None });
    }

    /// Mentions of the page that the run never came to, with as many partners.
    #[cold]
    pub fn leaves_out(&self, page: u32, mentions: u32, partners: u64) {
        self.doubts().of(page).leaves_out(DoubtfulMentions { fans: mentions, pairs: partners, record: None });
    }

    /// Notes, for counters, that an increment failed, of the page's own counter or of a partner's.
    #[cold]
    pub fn fails_to_count(&self, page: u32, is_own: bool) {
        let (fans, pairs) = if is_own { (1, 0) } else { (0, 1) };
        self.doubts().of(page).fails(DoubtfulMentions { fans, pairs, record: None });
    }

    /// Returns, for counters, whether increments that failed, and are there all the same, make the page's own counter this number, where
    /// `fans` was expected.
    #[cold]
    pub fn is_counted(&self, page: u32, number: i64, fans: u32) -> bool {
        let Ok(number) = u32::try_from(number) else { return false };
        let more = number.saturating_sub(fans).into();
        let explains = self.doubts().get_mut(&page).is_some_and(|doubt| doubt.allows_more(more));
        if explains {
            self.recount(page, number);
        }
        explains
    }

    /// Pages of which a write failed.
    pub fn doubts(&self) -> MutexGuard<'_, PageDoubts> {
        self.doubts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the fingerprint of a record, where they are known.
    pub fn print(&self, value: &[u8]) -> Option<u64> {
        (!self.prints.is_empty()).then(|| fingerprint(value) | 2)
    }

    /// Whether a record is one whose put failed; from then on it is the page's.
    #[cold]
    fn is_explained(&self, page: u32, value: &[u8]) -> bool {
        let print = fingerprint(value) | 2;
        let mut doubts = self.doubts();
        let fans = doubts.get_mut(&page).and_then(|doubt| allows_instead(doubt, print, self.floor(page)));
        if let Some(fans) = fans {
            drop(doubts);
            self.acknowledge(page, Written { print, fans });
        }
        fans.is_some()
    }

    /// Checks what a read of `page` found, against what must be there.
    ///
    /// # Errors
    /// What is wrong with it.
    #[inline]
    pub fn check(&self, input: &Input, page: u32, floor: u32, value: Option<&[u8]>) -> Result<(), Offence> {
        let Some(known) = self.prints.get(page as usize) else { return self.check_decoded(input, page, floor, value) };
        match (value, known.load(Ordering::Relaxed)) {
            (None, ABSENT) => Ok(()),
            (Some(value), print) if print != ABSENT && fingerprint(value) | 2 == print => Ok(()),
            (None, _) => Err(self.missing(input, page)),
            (Some(value), _) if self.is_explained(page, value) => Ok(()),
            (Some(value), print) => Err(self.diagnose(input, page, value, print)),
        }
    }

    /// Without exact knowledge (cas, none): the record must decode and, under cas, not be older than what was
    /// acknowledged.
    fn check_decoded(&self, input: &Input, page: u32, floor: u32, value: Option<&[u8]>) -> Result<(), Offence> {
        let Some(value) = value else {
            return if floor > 0 { Err(self.missing(input, page)) } else { Ok(()) };
        };
        let fans = record::decode(value, |_, _| {}).map_err(|error| self.wrong(input, page, &error.to_string()))?;
        let most = input.index.profiles(page).len() as u32;
        if fans < floor {
            let seen = format!("a record with fans={fans}, where {floor} were acknowledged");
            return Err(Offence::new(ReasonKind::StaleValue, input.set.pages.get(page), seen));
        }
        if fans > most {
            return Err(self.wrong(input, page, &format!("a record with fans={fans}, of at most {most} ever written")));
        }
        Ok(())
    }

    #[cold]
    fn missing(&self, input: &Input, page: u32) -> Offence {
        let fans = self.floor(page);
        Offence::new(
            ReasonKind::UnexpectedMiss,
            input.set.pages.get(page),
            format!("missing, after fans={fans} was acknowledged"),
        )
    }

    #[cold]
    fn wrong(&self, input: &Input, page: u32, seen: &str) -> Offence {
        Offence::new(ReasonKind::WrongValue, input.set.pages.get(page), seen)
    }

    /// Finds out what a value is that is not the one written last. An older record of the page itself is stale; the
    /// present record of another page is that page's (records of two pages can be equal, so this order is the
    /// cautious one).
    #[cold]
    fn diagnose(&self, input: &Input, page: u32, value: &[u8], known: u64) -> Offence {
        let key = input.set.pages.get(page);
        let now = self.floor(page);
        let mut partners = input.partners();
        partners.count(page);
        let mut own = true;
        let decoded = record::decode(value, |name, count| {
            own &= input.page_of(name).is_some_and(|partner| partners.times(partner) >= count);
        });
        if let Ok(fans) = decoded
            && own
            && fans < now
        {
            return Offence::new(
                ReasonKind::StaleValue,
                key,
                format!("a record with fans={fans}, after {now} was acknowledged"),
            );
        }
        let print = fingerprint(value) | 2;
        if let Some(other) = self.prints.iter().position(|theirs| theirs.load(Ordering::Relaxed) == print) {
            let name = jobkit::printable(input.set.pages.get(other as u32));
            return Offence::new(ReasonKind::WrongKey, key, format!("the record of {name}"));
        }
        if known == ABSENT {
            let seen =
                format!("a value of {} bytes, where nothing was ever written; was the store empty?", value.len());
            return Offence::new(ReasonKind::UnexpectedHit, key, seen);
        }
        match decoded {
            Ok(fans) => self.wrong(
                input,
                page,
                &format!("a record with fans={fans} and {} bytes that was never written", value.len()),
            ),
            Err(error) => self.wrong(input, page, &format!("{} bytes, {error}", value.len())),
        }
    }
}
