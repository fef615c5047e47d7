//! Numbers that are marked, of very many: a bit each, in chunks made when the first of theirs is marked.
//!
//! What failed in a fault may be a handful or nearly everything; either way it is known exactly, in at most an eighth of a byte per number.

use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use study::WriteAccount;

const WORDS: usize = 1024;
const CHUNK: u64 = WORDS as u64 * 64;

/// Marked numbers below a limit, shared by all threads.
pub struct Marks {
    chunks: Vec<OnceLock<Box<[AtomicU64]>>>,
    count: AtomicU64,
}

impl Marks {
    /// Makes marks for numbers below `limit`, none of which is marked.
    pub fn below(limit: u64) -> Marks {
        let chunks = (0..limit.div_ceil(CHUNK)).map(|_| OnceLock::new()).collect();
        Marks { chunks, count: AtomicU64::new(0) }
    }

    /// Marks a number.
    #[cold]
    pub fn mark(&self, number: u64) {
        let Some(chunk) = self.chunks.get((number / CHUNK) as usize) else { return };
        let words = chunk.get_or_init(|| (0..WORDS).map(|_| AtomicU64::new(0)).collect());
        let (word, bit) = place(number);
        if words[word].fetch_or(bit, Ordering::AcqRel) & bit == 0 {
            self.count.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Takes a mark away; whether there was one.
    #[cold]
    pub fn unmark(&self, number: u64) -> bool {
        let Some(words) = self.chunks.get((number / CHUNK) as usize).and_then(OnceLock::get) else { return false };
        let (word, bit) = place(number);
        let was = words[word].fetch_and(!bit, Ordering::AcqRel) & bit != 0;
        if was {
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
        was
    }

    /// Returns whether a number is marked.
    #[cold]
    pub fn has(&self, number: u64) -> bool {
        let (word, bit) = place(number);
        let words = self.chunks.get((number / CHUNK) as usize).and_then(OnceLock::get);
        words.is_some_and(|words| words[word].load(Ordering::Acquire) & bit != 0)
    }

    /// Returns how many are marked.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Takes all marks away; they are given as runs of numbers, because what fails mostly does so together.
    pub fn take(&self) -> Vec<Range<u64>> {
        let mut runs: Vec<Range<u64>> = Vec::new();
        for (chunk, words) in (0..).zip(&self.chunks).filter_map(|(chunk, words)| Some((chunk, words.get()?))) {
            let marked = (0..CHUNK).filter(|&at| words[place(at).0].load(Ordering::Acquire) & place(at).1 != 0);
            for number in marked.map(|at| chunk * CHUNK + at) {
                match runs.last_mut().filter(|run| run.end == number) {
                    Some(run) => run.end += 1,
                    None => runs.push(number..number + 1),
                }
            }
        }
        runs.iter().cloned().flatten().for_each(|number| _ = self.unmark(number));
        runs
    }

    /// Marks those of these numbers that are meant.
    fn mark_of(&self, runs: Vec<Range<u64>>, is_meant: impl Fn(u64) -> bool) {
        runs.into_iter().flatten().filter(|&number| is_meant(number)).for_each(|number| self.mark(number));
    }
}

fn place(number: u64) -> (usize, u64) {
    ((number % CHUNK / 64) as usize, 1 << (number % 64))
}

/// Writes that are each made once: which failed, which of those were seen all the same, and which are lost though acknowledged.
pub struct OnceWritten {
    failed: Marks,
    never_sent: Marks,
    present: AtomicU64,
    lost: Marks,
    /// What other shares of the trial know.
    joined: Mutex<WrittenSums>,
}

/// The writes of a share that the share which reads them needs: those that failed, were never sent, or are lost.
#[derive(Serialize, Deserialize)]
pub struct NotWritten {
    failed: Vec<Range<u64>>,
    never_sent: Vec<Range<u64>>,
    lost: Vec<Range<u64>>,
}

/// How many writes of a share came to what.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub struct WrittenSums {
    account: WriteAccount,
    never_sent: u64,
}

impl OnceWritten {
    /// Makes the record of writes with numbers below `limit`.
    pub fn below(limit: u64) -> OnceWritten {
        let marks = || Marks::below(limit);
        OnceWritten {
            failed: marks(),
            never_sent: marks(),
            present: AtomicU64::new(0),
            lost: marks(),
            joined: Mutex::default(),
        }
    }

    /// Notes that this write failed: it may be there or not.
    #[cold]
    pub fn fails(&self, number: u64) {
        self.failed.mark(number);
    }

    /// Notes that this write was never sent, because the phase ended before.
    #[cold]
    pub fn leaves_out(&self, number: u64) {
        self.never_sent.mark(number);
    }

    /// Notes that this write was read: from now on it must be there.
    #[inline]
    pub fn is_there(&self, number: u64) {
        if self.failed.count() > 0 && self.failed.unmark(number) {
            self.present.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Notes that this write is missing; returns whether it may be, because it was never sent, or failed and was never seen.
    #[cold]
    pub fn may_be_missing(&self, number: u64) -> bool {
        let may = self.failed.has(number) || self.never_sent.has(number);
        if !may {
            self.lost.mark(number);
        }
        may
    }

    /// Returns whether each was acknowledged.
    pub fn are_all_acknowledged(&self) -> bool {
        self.failed() == 0 && self.sums().never_sent == 0
    }

    /// Writes that failed.
    pub fn failed(&self) -> u64 {
        self.account().failed()
    }

    /// Returns the fate of all writes.
    pub fn account(&self) -> WriteAccount {
        self.sums().account
    }

    /// Returns how many writes came to what.
    pub fn sums(&self) -> WrittenSums {
        let WrittenSums { mut account, never_sent } = *self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        account.merge(WriteAccount {
            lost: self.lost.count(),
            failed_absent: self.failed.count(),
            failed_present: self.present.load(Ordering::Acquire),
        });
        WrittenSums { account, never_sent: never_sent + self.never_sent.count() }
    }

    /// Adds those of another share.
    pub fn join(&self, sums: WrittenSums) {
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        joined.account.merge(sums.account);
        joined.never_sent += sums.never_sent;
    }

    /// Gives away what the share that reads the writes needs; from then on only that share has it.
    pub fn tell(&self) -> NotWritten {
        NotWritten { failed: self.failed.take(), never_sent: self.never_sent.take(), lost: self.lost.take() }
    }

    /// Hears what a share told of writes, of which this one reads those.
    pub fn hear(&self, told: NotWritten, is_read: impl Fn(u64) -> bool) {
        self.failed.mark_of(told.failed, &is_read);
        self.never_sent.mark_of(told.never_sent, &is_read);
        self.lost.mark_of(told.lost, &is_read);
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, Marks, OnceWritten};

    #[test]
    fn numbers_are_marked_exactly_however_many_there_are_and_those_beyond_the_limit_never() {
        let marks = Marks::below(1_000_000_000);
        let marked = |number: u64| number.is_multiple_of(3);
        (0..300_000).filter(|&number| marked(number)).for_each(|number| marks.mark(number));
        marks.mark(999_999_999);
        marks.mark(999_999_999);
        assert!((0..300_000).all(|number| marks.has(number) == marked(number)));
        assert_eq!(marks.count(), 100_001);
        assert!(marks.unmark(3) && !marks.unmark(3) && !marks.has(3) && !marks.unmark(500_000_000));
        assert_eq!(marks.count(), 100_000);
        let made = marks.chunks.iter().filter(|chunk| chunk.get().is_some()).count() as u64;
        assert_eq!(made, 300_000u64.div_ceil(CHUNK) + 1);
        marks.mark(u64::MAX);
        assert_eq!(marks.count(), 100_000);
    }

    #[test]
    fn what_failed_may_be_missing_until_it_was_seen() {
        let writes = OnceWritten::below(10);
        writes.fails(1);
        writes.fails(2);
        writes.is_there(1);
        writes.is_there(3);
        assert_eq!([1, 2, 3].map(|number| writes.may_be_missing(number)), [false, true, false]);
        let account = writes.account();
        assert_eq!((account.lost, account.failed_absent, account.failed_present, writes.failed()), (2, 1, 1, 2));
        writes.leaves_out(5);
        assert!(writes.may_be_missing(5) && !writes.may_be_missing(6));
        assert_eq!(writes.account().failed_absent, 1, "what was never sent has not failed");
    }

    #[test]
    fn what_two_shares_know_of_their_writes_is_known_to_those_who_read_them_and_counted_once() {
        let [even, odd, all] = [(); 3].map(|()| OnceWritten::below(1000));
        [2, 3, 4].into_iter().for_each(|number| even.fails(number));
        odd.fails(999);
        odd.leaves_out(7);
        assert!(!odd.may_be_missing(9));
        let told = [even.tell(), odd.tell()];
        assert_eq!((told[0].failed.as_slice(), told[1].lost.as_slice()), (&[2..5][..], &[9..10][..]));
        assert!(even.are_all_acknowledged() && odd.are_all_acknowledged());
        for told in told {
            let copy = super::NotWritten {
                failed: told.failed.clone(),
                never_sent: told.never_sent.clone(),
                lost: told.lost.clone(),
            };
            even.hear(copy, |number| number.is_multiple_of(2));
            odd.hear(told, |number| !number.is_multiple_of(2));
        }
        even.is_there(4);
        assert!(even.may_be_missing(2) && odd.may_be_missing(3) && odd.may_be_missing(7) && !even.may_be_missing(3));
        assert!(!odd.may_be_missing(9));
        [even, odd].iter().for_each(|share| all.join(share.sums()));
        let account = all.account();
        assert_eq!((account.lost, account.failed_absent, account.failed_present), (2, 3, 1));
        assert!(!all.are_all_acknowledged());
    }
}
