//! One key of the ledger: what it holds, and what it may be seen to hold.
//!
//! A key has one writer at a time, who alone changes it; others read it without waiting for him: they look again where it changed while they
//! looked. Where several clients write one key ([`Sharing::Shared`]) its history is a [`Crowd`], under a lock of the key's own.

use crate::clash::Clash;
use crate::crowd::{Crowd, Swapped, Way};
use crate::history::Sharing;
use crate::kind::KindCell;
use crate::plausibility::Plausibility;
use crate::shared_map::Keyed;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::Slot;

/// The fingerprint of a value; `None`: there is none.
pub(crate) type Fingerprinted = Option<u64>;

/// A client that does something, and the phase in which it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) slot: Slot,
    pub(crate) phase: u16,
}

impl Claim {
    /// Returns the claim as one number, never 0.
    pub(crate) fn code(self) -> u64 {
        (u64::from(self.phase) + 1) << 32 | u64::from(self.slot)
    }

    /// Makes the claim of such a number; 0: nobody's.
    pub(crate) fn of(code: u64) -> Option<Claim> {
        (code != 0).then(|| Claim { slot: code as Slot, phase: ((code >> 32) - 1) as u16 })
    }

    /// Takes what is claimed in `place`.
    pub(crate) fn take(self, place: &AtomicU64, sharing: Sharing) -> Result<(), Clash> {
        let mut before = place.load(Ordering::Relaxed);
        while before != self.code() {
            match Claim::of(before) {
                Some(other) if other.phase == self.phase && sharing == Sharing::OneWriter => {
                    return Err(Clash::OtherWriter(other.slot));
                }
                _ => match place.compare_exchange(before, self.code(), Ordering::AcqRel, Ordering::Relaxed) {
                    Ok(_) => break,
                    Err(now) => before = now,
                },
            }
        }
        Ok(())
    }
}

/// The time when a reader asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// When the key had been written so often; of a key with several writers: when it was [settled](Crowd::settled) so.
    Version(u64),
    /// At a moment of the ledger's: for readers of many keys.
    Moment(u64),
}

/// States before the present one that are kept.
const PAST: usize = 4;

/// No value is there.
const NOTHING: u64 = 0;
/// Nothing is being written.
const IDLE: u64 = 1;

/// A state as one number: `NOTHING`, or a fingerprint, which is never `IDLE`.
fn code(state: Fingerprinted) -> u64 {
    state.map_or(NOTHING, |print| if print <= IDLE { print + 2 } else { print })
}

/// The state of a key, as far as it is known.
pub(crate) struct KeyState {
    key: Box<[u8]>,
    /// What it is used for.
    pub(crate) kind: KindCell,
    writer: AtomicU64,
    /// Twice the number of writes that were acknowledged; odd while one is being noted.
    turns: AtomicU64,
    /// The last state that was acknowledged.
    now: AtomicU64,
    /// The states before, the newest first, each with the moment it was replaced.
    past: [(AtomicU64, AtomicU64); PAST],
    /// What is being written.
    flying: AtomicU64,
    /// A write failed: what is there now nobody knows.
    doubtful: AtomicBool,
    /// A write failed: see [`Kept::late`].
    has_late: AtomicBool,
    /// A value of it had a time to live: it may be gone.
    mortal: AtomicBool,
    /// Bytes of the value.
    bytes: AtomicU64,
    /// What has no fixed size.
    kept: Mutex<Kept>,
}

/// The facts that are kept of a key only where they are needed.
#[derive(Default)]
pub(crate) struct Kept {
    /// The value itself, where values are kept.
    pub(crate) value: Option<Vec<u8>>,
    /// Of a key with several writers: its history.
    crowd: Option<Box<Crowd>>,
    /// States whose write failed: it may reach the store later, or twice, after later writes.
    late: Vec<u64>,
}

/// A key as it was at one moment.
struct Seen {
    version: u64,
    now: u64,
    flying: u64,
    past: [(u64, u64); PAST],
}

impl Keyed for KeyState {
    fn named(key: &[u8]) -> KeyState {
        KeyState {
            key: key.into(),
            kind: KindCell::default(),
            writer: AtomicU64::new(0),
            turns: AtomicU64::new(0),
            now: AtomicU64::new(NOTHING),
            past: Default::default(),
            flying: AtomicU64::new(IDLE),
            doubtful: AtomicBool::new(false),
            has_late: AtomicBool::new(false),
            mortal: AtomicBool::new(false),
            bytes: AtomicU64::new(0),
            kept: Mutex::default(),
        }
    }

    fn key(&self) -> &[u8] {
        &self.key
    }
}

impl KeyState {
    /// Takes the key for this writer.
    pub(crate) fn claim(&self, by: Claim, sharing: Sharing) -> Result<(), Clash> {
        by.take(&self.writer, sharing)
    }

    /// Locks and returns the part that has no fixed size.
    pub(crate) fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a write is sent.
    pub(crate) fn starts(&self, by: Claim, state: Fingerprinted, way: Way, sharing: Sharing) {
        if sharing == Sharing::OneWriter {
            self.flying.store(code(state), Ordering::SeqCst);
            return;
        }
        let mut kept = self.kept();
        let before = self.now.load(Ordering::Relaxed);
        if !kept.crowd.get_or_insert_with(|| Box::new(Crowd::from(before))).sends(by, code(state), way) {
            self.doubtful.store(true, Ordering::Release);
        }
    }

    /// Notes that the write was acknowledged; returns whether there was a value before.
    pub(crate) fn ends(&self, by: Claim, state: Fingerprinted, bytes: usize, moment: u64, sharing: Sharing) -> bool {
        if sharing == Sharing::OneWriter {
            self.doubtful.store(false, Ordering::Relaxed);
            return self.replace(state, bytes, moment);
        }
        let mut kept = self.kept();
        let was_there = self.replace(state, bytes, moment);
        if let Some(crowd) = &mut kept.crowd {
            crowd.acknowledges(by, code(state));
        }
        was_there
    }

    /// Returns a compare-and-set by one of several writers was acknowledged that replaced this: it was sent when the key was settled so.
    pub(crate) fn swaps(&self, before: Fingerprinted, settled: u64) -> Swapped {
        match &mut self.kept().crowd {
            Some(crowd) if !self.is_doubtful() && !self.has_late.load(Ordering::Acquire) => {
                crowd.takes(code(before), settled)
            }
            _ => Swapped::Right,
        }
    }

    /// The present becomes the past. Called by one thread at a time.
    fn replace(&self, state: Fingerprinted, bytes: usize, moment: u64) -> bool {
        let turns = self.turns.load(Ordering::Relaxed);
        self.turns.store(turns + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        let now = self.now.load(Ordering::Relaxed);
        for at in (1..PAST).rev() {
            let (before, replaced) = &self.past[at - 1];
            self.past[at].0.store(before.load(Ordering::Relaxed), Ordering::Relaxed);
            self.past[at].1.store(replaced.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        self.past[0].0.store(now, Ordering::Relaxed);
        self.past[0].1.store(moment, Ordering::Relaxed);
        self.now.store(code(state), Ordering::Relaxed);
        self.flying.store(IDLE, Ordering::Relaxed);
        self.bytes.store(bytes as u64, Ordering::Relaxed);
        self.turns.store(turns + 2, Ordering::Release);
        now != NOTHING
    }

    /// The key as it is at one moment.
    fn seen(&self) -> Seen {
        loop {
            let turns = self.turns.load(Ordering::Acquire);
            if turns.is_multiple_of(2) {
                let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
                let past = std::array::from_fn(|at| (load(&self.past[at].0), load(&self.past[at].1)));
                let flying = self.flying.load(Ordering::Acquire);
                let seen = Seen { version: turns / 2, now: load(&self.now), flying, past };
                fence(Ordering::Acquire);
                if self.turns.load(Ordering::Relaxed) == turns {
                    return seen;
                }
            }
            std::hint::spin_loop();
        }
    }

    /// Returns what a reader who asks now must hold an answer against: see [`Since::Version`].
    pub(crate) fn version(&self, sharing: Sharing) -> u64 {
        match sharing {
            Sharing::OneWriter => self.turns.load(Ordering::Acquire) / 2,
            Sharing::Shared => self.kept().crowd.as_ref().map_or(0, |crowd| crowd.settled()),
        }
    }

    /// Notes that nobody knows whether the write took place.
    pub(crate) fn doubt(&self, by: Claim, sharing: Sharing) {
        self.doubtful.store(true, Ordering::Release);
        self.withdraw(by, sharing);
    }

    /// Notes that a value of it has a time to live.
    pub(crate) fn make_mortal(&self) {
        self.mortal.store(true, Ordering::Release);
    }

    /// Returns whether it may be gone because its time was over.
    pub(crate) fn is_mortal(&self) -> bool {
        self.mortal.load(Ordering::Acquire)
    }

    /// Returns whether nobody knows what is there.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.doubtful.load(Ordering::Acquire)
    }

    /// Notes that a write was acknowledged that leaves what was in doubt as it is.
    pub(crate) fn stay_in_doubt(&self) {
        self.doubtful.store(true, Ordering::Release);
    }

    /// Notes that a write failed, and may take effect at any time.
    #[cold]
    pub(crate) fn may_come_late(&self, state: Fingerprinted) {
        let late = &mut self.kept().late;
        if !late.contains(&code(state)) {
            late.push(code(state));
        }
        self.has_late.store(true, Ordering::Release);
    }

    /// Whether this is a state of such a write.
    fn is_late(&self, state: u64) -> bool {
        self.has_late.load(Ordering::Acquire) && self.kept().late.contains(&state)
    }

    /// Notes that the write did not take place.
    pub(crate) fn withdraw(&self, by: Claim, sharing: Sharing) {
        self.flying.store(IDLE, Ordering::Release);
        if sharing == Sharing::Shared
            && let Some(crowd) = &mut self.kept().crowd
        {
            crowd.withdraws(by);
        }
    }

    /// Returns whether it may have been seen so by a client that asked `since`.
    pub(crate) fn judge(&self, by: Claim, since: Since, state: Fingerprinted, sharing: Sharing) -> Plausibility {
        if self.is_doubtful() || self.is_late(code(state)) {
            return Plausibility::Right;
        }
        if sharing == Sharing::Shared
            && let Some(crowd) = &self.kept().crowd
        {
            let settled = if let Since::Version(settled) = since { settled } else { 0 };
            return self.judge_crowd(crowd, state, crowd.may_be(code(state), settled));
        }
        let key = self.seen();
        // What the reply may show: the present, what is under way, and all that was there since it was asked for.
        let writes = match since {
            Since::Version(version) => key.version.saturating_sub(version) as usize,
            Since::Moment(moment) => {
                let known = (key.version as usize).min(PAST);
                let later = key.past[..known].iter().take_while(|(_, replaced)| *replaced >= moment).count();
                if later == PAST { PAST + 1 } else { later }
            }
        };
        let own = self.writer.load(Ordering::Relaxed) == by.code();
        let state_code = code(state);
        let was = || key.past[..writes].iter().any(|(before, _)| *before == state_code);
        if state_code == key.now || (!own && (key.flying == state_code || writes > PAST || was())) {
            return Plausibility::Right;
        }
        wrong(&key, state)
    }

    /// The same of a key with several writers; `may_be`: whether any order of their writes has it so.
    fn judge_crowd(&self, crowd: &Crowd, state: Fingerprinted, may_be: bool) -> Plausibility {
        match state {
            _ if may_be => Plausibility::Right,
            Some(_) if crowd.was(code(state)) => Plausibility::Stale,
            _ => wrong(&self.seen(), state),
        }
    }

    /// Returns whether it may be so when nothing is under way any more.
    pub(crate) fn judge_last(&self, state: Fingerprinted, sharing: Sharing) -> Plausibility {
        let (key, state_code) = (self.seen(), code(state));
        if self.is_doubtful() || self.is_late(state_code) {
            return Plausibility::Right;
        }
        if sharing == Sharing::Shared
            && let Some(crowd) = &self.kept().crowd
        {
            return self.judge_crowd(crowd, state, crowd.may_stay(state_code));
        }
        if state_code == key.now || key.flying == state_code { Plausibility::Right } else { wrong(&key, state) }
    }

    /// Returns whether a reader must find it there: nobody but he may have taken it away meanwhile.
    pub(crate) fn must_be_there(&self, by: Claim, sharing: Sharing) -> bool {
        let quiet = Claim::of(self.writer.load(Ordering::Relaxed))
            .is_some_and(|writer| writer.phase != by.phase || (writer == by && sharing == Sharing::OneWriter));
        quiet && self.is_there() && !self.is_unsure(sharing)
    }

    /// Returns whether it holds a value.
    pub(crate) fn is_there(&self) -> bool {
        self.now.load(Ordering::Acquire) != NOTHING
    }

    /// Returns who wrote it last; `None`: nobody did.
    pub(crate) fn writer(&self) -> Option<Claim> {
        Claim::of(self.writer.load(Ordering::Relaxed))
    }

    /// Returns what was last acknowledged.
    pub(crate) fn holds(&self) -> Fingerprinted {
        Some(self.now.load(Ordering::Acquire)).filter(|state| *state != NOTHING)
    }

    /// Returns the number of bytes of the value.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns whether a write of it is under way, where it has one writer.
    pub(crate) fn flies(&self) -> bool {
        self.flying.load(Ordering::SeqCst) != IDLE
    }

    /// Returns whether it may hold something else.
    pub(crate) fn is_unsure(&self, sharing: Sharing) -> bool {
        self.is_doubtful()
            || self.is_mortal()
            || self.has_late.load(Ordering::Acquire)
            || self.flies()
            || (sharing == Sharing::Shared && self.kept().crowd.as_ref().is_some_and(|crowd| crowd.is_unsure()))
    }
}

/// What is wrong with a state that cannot be.
fn wrong(key: &Seen, state: Fingerprinted) -> Plausibility {
    let known = key.past[..(key.version as usize).min(PAST)].iter().any(|(before, _)| *before == code(state));
    match state {
        None => Plausibility::Missing,
        Some(_) if key.version > 0 && known => Plausibility::Stale,
        Some(_) if key.now == NOTHING => Plausibility::Unexpected,
        Some(_) => Plausibility::Wrong,
    }
}
