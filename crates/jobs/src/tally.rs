//! What all counters answered, summed up: an exact check of every reply at any concurrency, without a look at any counter.
//!
//! A counter that is incremented by one until it ends at n answers each number from 1 to n once, in whatever order the increments
//! took effect. So the set of all pairs of counter and number is known beforehand. Each pair is mixed to 64 bits and added to one of
//! the buckets: sums do not depend on the order, and are the same for the same set. A bucket that differs by one pair alone says which.

use data::splitmix::mix;
use serde::{Deserialize, Serialize};
use study::{Reason, ReasonKind};

/// Buckets: 12 KiB, so that they stay in the nearest cache.
const BUCKETS: usize = 512;

/// The sums of many pairs of a counter and a number it answered.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "TallySums", try_from = "TallySums")]
pub struct Tally {
    buckets: Box<[Bucket; BUCKETS]>,
    pairs: u64,
}

/// The same, to be sent.
#[derive(Serialize, Deserialize)]
struct TallySums {
    buckets: Vec<Bucket>,
    pairs: u64,
}

/// Sums of the pairs in one bucket, and of what they are mixed to.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Bucket {
    counter: u64,
    number: u64,
    mixed: u64,
}

/// The difference of two tallies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TallyDifference {
    /// Pairs that should not be there, as far as they stand alone in their buckets.
    pub extra: Vec<(u64, u64)>,
    /// Pairs that are not there, in the same form.
    pub missing: Vec<(u64, u64)>,
    /// Wrong pairs at least. Exact where each difference stands alone in its bucket.
    pub wrong: u64,
}

/// The answers of a run's counters.
#[derive(Default, Serialize, Deserialize)]
pub struct Answers {
    tally: Tally,
    /// Answers that were wrong by themselves, and are offences already.
    offences: u64,
    /// Whether an increment failed: then nobody knows what the others must answer.
    failed: bool,
}

impl Answers {
    /// Adds that this counter answered this number.
    #[inline]
    pub fn add(&mut self, counter: u64, number: u64) {
        self.tally.add(counter, number);
    }

    /// Notes that the answer added last was an offence by itself.
    #[cold]
    pub fn offends(&mut self) {
        self.offences += 1;
    }

    /// Notes that an increment failed.
    #[cold]
    pub fn fails(&mut self) {
        self.failed = true;
    }

    /// Adds another thread's.
    pub fn merge(&mut self, other: &Answers) {
        self.tally.merge(&other.tally);
        self.offences += other.offences;
        self.failed |= other.failed;
    }

    /// Returns what is wrong with the answers beyond the offences found already, where these are the right ones. `name` says which
    /// counter.
    pub fn reason(&self, right: &Tally, name: impl Fn(u64) -> String) -> Option<Reason> {
        if self.failed {
            return None;
        }
        let TallyDifference { extra, wrong, .. } = self.tally.against(right);
        let count = wrong.checked_sub(self.offences).filter(|&count| count > 0)?;
        let example = match extra.first() {
            Some(&(counter, number)) => format!("{}: {number} was answered to one increment too many", name(counter)),
            None => "increments did not answer each number from 1 on once".into(),
        };
        Some(Reason { kind: ReasonKind::WrongNumber, count, example })
    }
}

/// Every pair has its own: both parts are bijections of one given the other.
#[inline]
fn mixed(counter: u64, number: u64) -> u64 {
    mix(mix(counter) ^ number)
}

impl From<Tally> for TallySums {
    fn from(tally: Tally) -> TallySums {
        TallySums { buckets: tally.buckets.to_vec(), pairs: tally.pairs }
    }
}

impl TryFrom<TallySums> for Tally {
    type Error = String;

    fn try_from(TallySums { buckets, pairs }: TallySums) -> Result<Tally, String> {
        let buckets = buckets.into_boxed_slice().try_into().map_err(|_| format!("a tally has {BUCKETS} buckets"))?;
        Ok(Tally { buckets, pairs })
    }
}

impl Default for Tally {
    fn default() -> Self {
        Tally { buckets: Box::new([Bucket::default(); BUCKETS]), pairs: 0 }
    }
}

impl Tally {
    /// Adds that this counter answered this number.
    #[inline]
    pub fn add(&mut self, counter: u64, number: u64) {
        let mixed = mixed(counter, number);
        let bucket = &mut self.buckets[mixed as usize % BUCKETS];
        bucket.counter = bucket.counter.wrapping_add(counter);
        bucket.number = bucket.number.wrapping_add(number);
        bucket.mixed = bucket.mixed.wrapping_add(mixed);
        self.pairs += 1;
    }

    /// Adds another thread's.
    pub fn merge(&mut self, other: &Tally) {
        for (mine, theirs) in self.buckets.iter_mut().zip(other.buckets.iter()) {
            mine.counter = mine.counter.wrapping_add(theirs.counter);
            mine.number = mine.number.wrapping_add(theirs.number);
            mine.mixed = mine.mixed.wrapping_add(theirs.mixed);
        }
        self.pairs += other.pairs;
    }

    /// Returns the difference of this tally from `right`, which it should equal.
    pub fn against(&self, right: &Tally) -> TallyDifference {
        let mut difference = TallyDifference::default();
        let mut crowded = 0;
        for (at, (seen, right)) in self.buckets.iter().zip(right.buckets.iter()).enumerate() {
            if seen == right {
                continue;
            }
            match (seen.alone_over(*right, at), right.alone_over(*seen, at)) {
                (Some(pair), _) => difference.extra.push(pair),
                (_, Some(pair)) => difference.missing.push(pair),
                _ => crowded += 1,
            }
        }
        // A crowded bucket has two differences or more. Of as many pairs as there should be, each wrong one leaves a right one out.
        let [extra, missing] = [&difference.extra, &difference.missing].map(|pairs| pairs.len() as u64);
        let all = extra + missing + 2 * crowded;
        difference.wrong = all.div_ceil(2).max(extra);
        difference
    }
}

impl Bucket {
    /// The only pair this bucket has and the other has not.
    fn alone_over(self, other: Bucket, at: usize) -> Option<(u64, u64)> {
        let (counter, number) = (self.counter.wrapping_sub(other.counter), self.number.wrapping_sub(other.number));
        let mixed = mixed(counter, number);
        (mixed == self.mixed.wrapping_sub(other.mixed) && mixed as usize % BUCKETS == at).then_some((counter, number))
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;
    use data::splitmix::Rng;

    const COUNTERS: u64 = 300;

    /// What counters answer that end at 0, 1, 2, ..., in any order, split over several threads.
    fn answers(seed: u64, threads: usize, mut lie: impl FnMut(u64, u64) -> u64) -> Tally {
        let mut all: Vec<(u64, u64)> = (0..COUNTERS).flat_map(|end| (1..=end).map(move |n| (end, n))).collect();
        let mut rng = Rng::new(seed);
        (1..all.len()).rev().for_each(|at| all.swap(at, rng.below(at as u64 + 1) as usize));
        let mut sum = Tally::default();
        for part in all.chunks(all.len().div_ceil(threads)) {
            let mut tally = Tally::default();
            part.iter().for_each(|&(counter, number)| tally.add(counter, lie(counter, number)));
            sum.merge(&tally);
        }
        sum
    }

    #[test]
    fn the_order_of_answers_and_who_got_them_change_nothing() {
        let right = answers(1, 1, |_, number| number);
        for (seed, threads) in [(2, 1), (3, 7), (4, 64)] {
            assert!(answers(seed, threads, |_, number| number) == right);
        }
        assert_eq!(right.against(&right).wrong, 0);
    }

    #[test]
    fn every_single_wrong_answer_is_found_and_named() {
        let right = answers(1, 3, |_, number| number);
        for counter in 1..COUNTERS {
            let (at, said) = (1 + counter % counter.min(9), counter * 7);
            let difference = answers(counter, 3, |c, n| if (c, n) == (counter, at) { said } else { n }).against(&right);
            assert_eq!(difference.wrong, u64::from(said != at), "{difference:?}");
            assert!(said == at || difference.extra == [(counter, said)] && difference.missing == [(counter, at)]);
        }
    }

    #[test]
    fn of_many_wrong_answers_no_more_are_counted_than_there_are_and_of_few_all() {
        let right = answers(1, 1, |_, number| number);
        for (one_in, all_found) in [(20_000, true), (5_000, true), (500, false), (3, false), (1, false)] {
            let (mut asked, mut told) = (0, 0);
            let lied = answers(2, 5, |_, number| {
                asked += 1;
                let lies = asked % one_in == 0;
                told += u64::from(lies);
                if lies { number + 1_000_000 + asked } else { number }
            });
            let found = lied.against(&right);
            assert!(0 < found.wrong && found.wrong <= told, "{told}: {found:?}");
            assert!(!all_found || found.wrong == told, "{told}: {found:?}");
        }
    }

    #[test]
    fn answers_of_two_counters_that_were_swapped_are_found() {
        let right = answers(1, 1, |_, number| number);
        let difference = answers(2, 2, |counter, number| match (counter, number) {
            (200, 17) => 40,
            (201, 40) => 17,
            _ => number,
        });
        assert_eq!(difference.against(&right).wrong, 2);
    }
}
