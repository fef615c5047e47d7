//! One execution: putting the keys where that is asked for, the requests, reading back.

use super::lives::KeyLives;
use super::read_back::ReadBack;
use super::run::{Loads, Run};
use super::truth::{WrongKey, digest};
use super::values::Contents;
use super::{Evictions, Loading, Replay};
use crate::expires::MOMENT_BYTES;
use crate::states::StateDoubts;
use jobkit::{JobError, Offence, Phase, Share, SharePart, Trial, TrialSetup, Worker};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::{Keeps, Slot};
use study::{Answer, Reason, ReasonKind, WriteAccount};
use trace::{CacheSize, Eviction};

/// The mark of the write whose value a key holds; `None`: it holds none.
pub type HeldMark = Option<u32>;

/// State shared by the workers of one execution.
pub struct ReplayTrial<'a> {
    pub(super) job: &'a Replay,
    pub(super) slots: u32,
    pub(super) share: Share,
    pub(super) keeps: Keeps,
    pub(super) contents: Contents,
    /// What each key holds: the mark of a write and one, 0 for none. A key is one worker's at any time.
    held: Box<[AtomicU32]>,
    tally: Mutex<ReplayTally>,
    found: Mutex<FoundKeys>,
    wrong: Mutex<BTreeMap<u32, WrongKey>>,
    doubts: Mutex<StateDoubts<HeldMark>>,
    /// When values must be there and when not, where the trace gives times to live.
    pub(super) lives: Option<KeyLives>,
    any_doubt: AtomicBool,
    /// What other shares know of their keys.
    joined: Mutex<KeysOfOthers>,
}

/// What is known of the keys of other shares at the end.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct KeysOfOthers {
    left: u64,
    account: WriteAccount,
}

/// What a share has found.
#[derive(Serialize, Deserialize)]
struct ReplayPart {
    tally: ReplayTally,
    found: FoundKeys,
    wrong: BTreeMap<u32, WrongKey>,
    keys: KeysOfOthers,
    any_doubt: bool,
}

/// What the requests came to.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub struct ReplayTally {
    /// Gets that found a value.
    pub hits: u64,
    /// Gets that found none.
    pub misses: u64,
    /// Of these, those of a value that had been there.
    pub dropped: u64,
    /// Of the misses, those of a value whose time to live was over.
    pub expired: u64,
    /// Misses that were followed by a put.
    pub fills: u64,
}

/// What reading back found.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub struct FoundKeys {
    /// Keys that are there.
    pub keys: u64,
    /// Their bytes, with those of their values.
    pub bytes: u64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> ReplayTrial<'a> {
    /// Makes an execution on an empty store.
    pub fn new(job: &'a Replay, setup: &TrialSetup) -> ReplayTrial<'a> {
        ReplayTrial {
            job,
            slots: setup.slots.max(1),
            share: setup.share,
            keeps: setup.capabilities.keeps,
            contents: Contents::new(job.sizes.longest as usize, job.seed ^ setup.seed),
            held: (0..job.trace.keys().len()).map(|_| AtomicU32::new(0)).collect(),
            tally: Mutex::default(),
            found: Mutex::default(),
            wrong: Mutex::default(),
            doubts: Mutex::default(),
            lives: job.lives().then(|| KeyLives::new(job.trace.keys().len(), &setup.capabilities, job.pace)),
            any_doubt: AtomicBool::new(false),
            joined: Mutex::default(),
        }
    }

    /// Whether the store may drop what was put.
    pub(super) fn may_drop(&self) -> bool {
        self.keeps == Keeps::Nothing || self.job.evictions == Evictions::Allowed
    }

    /// Returns what a key holds.
    #[inline]
    pub(super) fn held(&self, id: u32) -> HeldMark {
        self.held[id as usize].load(Ordering::Relaxed).checked_sub(1)
    }

    /// Notes what a key holds from now on.
    #[inline]
    pub(super) fn holds(&self, id: u32, held: HeldMark) {
        self.held[id as usize].store(held.map_or(0, |mark| mark + 1), Ordering::Relaxed);
        if self.any_doubt.load(Ordering::Relaxed) {
            locked(&self.doubts).wrote(id.into(), held);
        }
    }

    /// Notes a failed write, which would have left `after`.
    #[cold]
    pub(super) fn fails(&self, id: u32, after: HeldMark) {
        locked(&self.doubts).fails(id.into(), self.held(id), after);
        if let Some(lives) = &self.lives {
            lives.unknown(id);
        }
        self.any_doubt.store(true, Ordering::Release);
    }

    /// Returns whether a write of the key failed.
    pub(super) fn is_doubtful(&self, id: u32) -> bool {
        self.any_doubt.load(Ordering::Relaxed) && locked(&self.doubts).knows(id.into())
    }

    /// Returns the time to live that the store is given by a request.
    #[inline]
    pub(super) fn ttl_ms(&self, request: u32) -> Option<u64> {
        let lives = self.lives.as_ref()?;
        self.job.trace.ttl_ms(request as usize).map(|ttl_ms| lives.ttl_ms(ttl_ms))
    }

    /// Returns whether this is the value that the write of this mark put under the key.
    #[inline]
    pub(super) fn is(&self, id: u32, mark: u32, value: &[u8]) -> bool {
        self.contents.is(id, mark, self.job.sizes.bytes(&self.job.trace, mark), value)
    }

    /// Judges what was found under a key, where it is not what the last write put there: a failed write may explain it, or the store may
    /// drop values.
    ///
    /// # Errors
    /// What is wrong with it.
    #[cold]
    pub(super) fn judge_other(&self, id: u32, value: Option<&[u8]>) -> Result<(), Offence> {
        if self.keeps == Keeps::Nothing {
            return Ok(());
        }
        let mut doubts = locked(&self.doubts);
        let is = |held: HeldMark| match (held, value) {
            (None, None) => true,
            (Some(mark), Some(value)) => self.is(id, mark, value),
            _ => false,
        };
        if doubts.knows(id.into())
            && let Some(state) = doubts.state_that(id.into(), is)
            && doubts.explains(id.into(), state)
        {
            drop(doubts);
            self.holds(id, state);
            return Ok(());
        }
        if value.is_none() && self.may_drop() {
            drop(doubts);
            self.holds(id, None);
            return Ok(());
        }
        doubts.lose(id.into());
        drop(doubts);
        Err(self.offence(id, value))
    }

    /// Says what is wrong with what was found under a key.
    #[cold]
    fn offence(&self, id: u32, value: Option<&[u8]>) -> Offence {
        let key = self.job.trace.keys().key(id);
        let (right, requests) = (self.held(id), self.job.trace.ids().len() as u32);
        let write = |mark: u32| match mark.checked_sub(requests) {
            None => format!("request {}", mark + 1),
            Some(_) => "the load".into(),
        };
        let Some(value) = value else {
            let seen = format!("missing, after {} put it there", right.map_or("nothing".into(), write));
            return Offence::new(ReasonKind::UnexpectedMiss, &key, seen);
        };
        let Some(right) = right else {
            let seen = format!("a value of {} bytes, where there is none", value.len());
            return Offence::new(ReasonKind::UnexpectedHit, &key, seen);
        };
        // An older write of this key may have put it there.
        let before = right.min(requests) as usize;
        let mut older = (0..before as u32).zip(&self.job.trace.ids()[..before]).rev().take(1 << 20);
        if let Some((mark, _)) = older.find(|&(mark, &other)| other == id && self.is(id, mark, value)) {
            let seen = format!("the value of {}, not of {}", write(mark), write(right));
            return Offence::new(ReasonKind::StaleValue, &key, seen);
        }
        let bytes = self.job.sizes.bytes(&self.job.trace, right);
        let seen = format!("{} bytes that are not the {bytes} of {}", value.len(), write(right));
        Offence::new(ReasonKind::WrongValue, &key, seen)
    }

    /// Counts a request of a key as not answered right.
    #[cold]
    pub(super) fn wrong(&self, id: u32) {
        locked(&self.wrong).entry(id).or_default().requests += 1;
    }

    /// Counts a key as wrong at the end.
    #[cold]
    pub(super) fn wrong_at_the_end(&self, id: u32) {
        locked(&self.wrong).entry(id).or_default().at_the_end = true;
    }

    /// Adds what a thread's requests came to.
    pub(super) fn take(&self, tally: ReplayTally) {
        let mut all = locked(&self.tally);
        all.hits += tally.hits;
        all.misses += tally.misses;
        all.dropped += tally.dropped;
        all.expired += tally.expired;
        all.fills += tally.fills;
    }

    /// Adds what a thread found when reading back.
    pub(super) fn take_found(&self, found: FoundKeys) {
        let mut all = locked(&self.found);
        all.keys += found.keys;
        all.bytes += found.bytes;
    }

    /// The hits of an exact cache of the size that the store was found to have: by bytes where the trace says how large values are.
    fn exact_hits(&self, eviction: Eviction, found: FoundKeys) -> u64 {
        let Replay { trace, filling, sizes, .. } = self.job;
        let size = match trace.is_sized() {
            true => CacheSize::Bytes(found.bytes),
            false => CacheSize::Objects(found.keys),
        };
        trace::hits(trace, eviction, size, *filling, sizes.usual())
    }

    /// Keys that hold a value.
    fn holding(&self) -> u64 {
        (0..self.held.len() as u32).filter(|&id| self.held(id).is_some()).count() as u64
    }

    /// The number of the phase with the requests.
    fn timed(&self) -> usize {
        usize::from(self.job.loading == Loading::First)
    }
}

impl Trial for ReplayTrial<'_> {
    fn phases(&self) -> Vec<Phase> {
        let (keys, requests) = (self.job.trace.keys().len() as u64, self.job.trace.ids().len() as u64);
        let mut phases = Vec::new();
        if self.job.loading == Loading::First {
            phases.push(Phase::untimed("load", Some(keys)));
        }
        // How many puts follow misses is only known of a store that keeps everything for good.
        let is_known = !self.may_drop() && self.lives.is_none();
        let operations = is_known.then_some(requests + self.job.truth.fills);
        phases.push(Phase::timed("replay", operations));
        if self.keeps == Keeps::Everything {
            phases.push(Phase::read_back(Some(keys)));
        }
        phases
    }

    fn worker(&self, phase: usize, slots: Range<Slot>) -> Box<dyn Worker + '_> {
        match phase.cmp(&self.timed()) {
            std::cmp::Ordering::Less => Box::new(Loads::new(self, slots)),
            std::cmp::Ordering::Equal => Box::new(Run::new(self, slots)),
            std::cmp::Ordering::Greater => Box::new(ReadBack::new(self, slots)),
        }
    }

    fn again(&self) -> Option<usize> {
        *locked(&self.found) = FoundKeys::default();
        (self.keeps == Keeps::Everything).then_some(self.timed() + 1)
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        if self.keeps == Keeps::Nothing {
            return (Answer::default(), Vec::new());
        }
        let (tally, found, wrong) = (*locked(&self.tally), *locked(&self.found), locked(&self.wrong));
        let digest = match wrong.is_empty() {
            true => self.job.digest.get_or_init(|| digest(&self.job.trace, &wrong)).clone(),
            false => digest(&self.job.trace, &wrong),
        };
        let mut facts = vec![
            ("get_hits", tally.hits),
            ("get_misses", tally.misses),
            ("fills", tally.fills),
            ("keys_at_end", found.keys),
            ("bytes_at_end", found.bytes),
            ("hits_of_all_kept", self.job.truth.hits),
        ];
        if self.lives.is_some() {
            facts.push(("misses_of_what_expired", tally.expired));
        }
        if self.job.evictions == Evictions::Allowed {
            facts.push(("misses_of_what_was_dropped", tally.dropped));
            facts.push(("hits_of_exact_lru", self.exact_hits(Eviction::Lru, found)));
            facts.push(("hits_of_exact_fifo", self.exact_hits(Eviction::Fifo, found)));
        }
        let facts = facts.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect();
        (Answer { digest, facts }, Vec::new())
    }

    fn account(&self) -> Option<WriteAccount> {
        (!self.may_drop()).then(|| {
            let mut account = locked(&self.doubts).account();
            account.merge(locked(&self.joined).account);
            account
        })
    }

    /// A share loads, asks for and reads back keys of its own, so it tells nothing.
    fn part(&self) -> Result<SharePart, JobError> {
        SharePart::of(&ReplayPart {
            tally: *locked(&self.tally),
            found: *locked(&self.found),
            wrong: locked(&self.wrong).clone(),
            keys: KeysOfOthers { left: self.holding(), account: locked(&self.doubts).account() },
            any_doubt: self.any_doubt.load(Ordering::Acquire),
        })
    }

    fn join(&self, part: SharePart) -> Result<(), JobError> {
        let ReplayPart { tally, found, wrong, keys, any_doubt } = part.found()?;
        self.take(tally);
        self.take_found(found);
        locked(&self.wrong).extend(wrong);
        let mut joined = locked(&self.joined);
        joined.left += keys.left;
        joined.account.merge(keys.account);
        self.any_doubt.fetch_or(any_doubt, Ordering::AcqRel);
        Ok(())
    }

    fn judges_unfinished(&self) -> bool {
        true
    }

    fn evicts(&self) -> bool {
        self.may_drop()
    }

    fn expires(&self) -> bool {
        self.lives.is_some()
    }

    fn keys_left(&self) -> Option<u64> {
        let is_sure = self.lives.is_none() && !self.may_drop() && !self.any_doubt.load(Ordering::Acquire);
        is_sure.then(|| self.holding() + locked(&self.joined).left)
    }

    fn key(&self, index: u64, out: &mut Vec<u8>) -> bool {
        let is_one = index < self.held.len() as u64;
        if is_one {
            self.job.trace.keys().write(index as u32, out);
        }
        is_one
    }

    fn logical_bytes(&self) -> u64 {
        locked(&self.found).bytes
    }

    fn largest_reply_bytes(&self) -> Option<u64> {
        Some((self.job.sizes.longest as usize + MOMENT_BYTES + self.job.truth.key_lengths[1]) as u64)
    }
}
