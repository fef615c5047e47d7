//! Requests that are like those of a trace, with its memory: a key is asked for again after as many other requests as there lie between two of the trace.
//! How often each such distance is drawn is found by trying: a key that was asked for since is not drawn again from there, so long distances come off too
//! seldom.

use super::curve::HitCurve;
use crate::simulate::Filling;
use crate::trace::{RequestKind, Trace};
use data::wyrand::WyRand;
use data::zipf::Zipf;

/// Rounds in which the weights of the distances are put right.
const ROUNDS: usize = 6;
/// Tries to find a key that was not asked for since.
const TRIES: usize = 16;
/// The most that a distance is drawn more often than it is wanted: few requests are far enough from the first for the longest.
const MOST_WEIGHT: f64 = 20.0;
/// Steps of a table of sizes or times.
const STEPS: usize = 200;
/// The most requests that are drawn.
const MOST_DRAWN: usize = 1_000_000;

/// Distances between two requests for a key: from, up to, and the weight they are drawn with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReuseDistance {
    /// The shortest.
    pub from: u32,
    /// One more than the longest.
    pub until: u32,
    /// The weight.
    pub weight: f64,
}

/// What makes requests like those of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct LikeTrace {
    /// Requests.
    pub requests: usize,
    /// Keys, of as many requests.
    pub keys: usize,
    /// The share of the requests that are for a key that was not there before.
    pub new_keys: f64,
    /// The distances.
    pub distances: Vec<ReuseDistance>,
    /// The shares of sets, deletes and touches among the requests for keys of each [state](AskedLast).
    pub shares: [[f64; 3]; AskedLast::ALL.len()],
    /// Sizes of values, the smallest first, each as likely.
    pub sizes: Vec<u32>,
    /// The share of the sets that give a time to live.
    pub mortal: f64,
    /// Times to live in milliseconds, the shortest first, each as likely.
    pub ttls_ms: Vec<u64>,
    /// What a miss leads to.
    pub filling: Filling,
}

/// How far requests are from those of a trace: the statistics of Kolmogorov and Smirnov, as shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LikeDistance {
    /// The share of the requests that go to the most popular keys, however many.
    pub popularity: f64,
    /// The share of the values up to any size; `None`: the trace does not say how large they are.
    pub sizes: Option<f64>,
    /// Hits of an LRU of any size.
    pub hits: f64,
}

/// Draws as many keys as a trace has requests by a Zipf law over its keys, without memory: what a plan of ycsb draws.
pub fn zipf_keys(trace: &Trace, exponent: f64, seed: u64) -> Vec<u32> {
    let (law, mut rng) = (Zipf::new(trace.keys().len() as u64, exponent), WyRand::new(seed, 0x11CE));
    (0..trace.ids().len().min(MOST_DRAWN)).map(|_| law.draw(&mut rng) as u32).collect()
}

/// What was asked of a key last: what comes next depends on that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum AskedLast {
    /// Nothing.
    New,
    /// A get, or a touch, that found nothing.
    Missed,
    /// A delete.
    Deleted,
    /// A set, or a get whose miss put the value.
    Set,
    /// A get that found a value.
    Hit,
    /// A touch of what was there.
    Touched,
}

impl AskedLast {
    /// All of them, in their order; a key of the last three is there.
    pub const ALL: [AskedLast; 6] =
        [AskedLast::New, AskedLast::Missed, AskedLast::Deleted, AskedLast::Set, AskedLast::Hit, AskedLast::Touched];

    /// Returns the state after a request.
    pub fn after(self, kind: RequestKind, filling: Filling) -> AskedLast {
        let is_there = matches!(self, AskedLast::Set | AskedLast::Hit | AskedLast::Touched);
        match kind {
            RequestKind::Set => AskedLast::Set,
            RequestKind::Delete => AskedLast::Deleted,
            RequestKind::Get if is_there => AskedLast::Hit,
            RequestKind::Get if filling == Filling::OnMiss => AskedLast::Set,
            RequestKind::Touch if is_there => AskedLast::Touched,
            RequestKind::Get | RequestKind::Touch => AskedLast::Missed,
        }
    }
}

/// What is asked of keys of each state.
fn shares(trace: &Trace, filling: Filling) -> [[f64; 3]; AskedLast::ALL.len()] {
    let mut states = vec![AskedLast::New; trace.keys().len()];
    let mut counts = [[0_u64; 4]; AskedLast::ALL.len()];
    for (request, &id) in trace.ids().iter().enumerate() {
        let (state, kind) = (&mut states[id as usize], trace.kind(request));
        let at = [RequestKind::Set, RequestKind::Delete, RequestKind::Touch].into_iter().position(|it| it == kind);
        counts[*state as usize][at.unwrap_or(3)] += 1;
        *state = state.after(kind, filling);
    }
    counts.map(|counts| {
        let all = counts.iter().sum::<u64>().max(1) as f64;
        [counts[0] as f64 / all, counts[1] as f64 / all, counts[2] as f64 / all]
    })
}

/// Steps of the same likelihood.
fn steps<T: Copy>(sorted: &[T]) -> Vec<T> {
    let count = sorted.len().min(STEPS);
    (0..count).map(|at| sorted[(2 * at + 1) * sorted.len() / (2 * count)]).collect()
}

/// Where a distance lies: four ranges per power of two.
fn range_of(distance: u32) -> usize {
    let power = distance.ilog2();
    let quarter = if power < 2 { 0 } else { (distance >> (power - 2)) & 3 };
    4 * power as usize + quarter as usize
}

/// The distances of requests for keys with numbers below `keys`, and how many are for new keys.
fn distances(ids: &[u32], keys: usize) -> (Vec<u64>, u64) {
    let (mut last, mut counts, mut new) = (vec![u32::MAX; keys], vec![0_u64; 4 * 33], 0);
    for (at, &id) in (0_u32..).zip(ids) {
        let before = std::mem::replace(&mut last[id as usize], at);
        if before == u32::MAX { new += 1 } else { counts[range_of(at - before)] += 1 }
    }
    (counts, new)
}

impl LikeTrace {
    /// Finds what makes the like of a trace.
    pub fn of(trace: &Trace, filling: Filling, seed: u64) -> LikeTrace {
        let ids = &trace.ids()[..trace.ids().len().min(MOST_DRAWN)];
        let (wanted, new) = distances(ids, trace.keys().len());
        let all = wanted.iter().sum::<u64>().max(1) as f64;
        let mut like = LikeTrace {
            requests: trace.ids().len(),
            keys: trace.keys().len(),
            new_keys: new as f64 / ids.len().max(1) as f64,
            distances: ranges(&wanted, all),
            shares: shares(trace, filling),
            sizes: steps(&super::sorted_sizes(trace)),
            mortal: super::lifetimes(trace).map_or(0.0, |lives| lives.sets),
            ttls_ms: steps(&super::ttls_ms(trace)),
            filling,
        };
        for round in 0..ROUNDS {
            let drawn = like.draw(ids.len(), seed ^ round as u64);
            let (found, found_new) = distances(&drawn, ids.len());
            // Where no key was found that can be asked for again, a new one comes too.
            like.new_keys = (like.new_keys * new as f64 / found_new.max(1) as f64).min(1.0);
            let found_all = found.iter().sum::<u64>().max(1) as f64;
            for range in &mut like.distances {
                let [wanted, found] =
                    [(&wanted, all), (&found, found_all)].map(|(of, all)| of[range_of(range.from)] as f64 / all);
                range.weight = (range.weight * (wanted / found.max(1e-9)).clamp(0.2, 5.0)).min(MOST_WEIGHT * wanted);
            }
        }
        like
    }

    /// Draws the keys of as many requests, as numbers from 0 on.
    pub fn draw(&self, requests: usize, seed: u64) -> Vec<u32> {
        let mut rng = WyRand::new(seed, 0x11CE);
        let mut chance = move || (rng.u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let mut sums = Vec::new();
        let mut sum = 0.0;
        for range in &self.distances {
            sum += range.weight;
            sums.push(sum);
        }
        let (mut drawn, mut last): (Vec<u32>, Vec<u32>) = (Vec::with_capacity(requests), Vec::new());
        let most = (self.keys as f64 * requests as f64 / self.requests as f64).ceil() as usize;
        for at in 0..requests {
            let mut key = last.len() as u32;
            let is_full = last.len() >= most;
            if at > 0 && !sums.is_empty() && (is_full || chance() >= self.new_keys) {
                // Where no such key is found, any.
                key = drawn[(at as f64 * chance()) as usize];
                for _ in 0..TRIES {
                    let drawn_weight = sum * chance();
                    let range = sums.partition_point(|&upper| upper <= drawn_weight).min(sums.len() - 1);
                    let ReuseDistance { from, until, .. } = self.distances[range];
                    let distance = from as usize + (f64::from(until - from) * chance()) as usize;
                    // What was asked for before the first request is new.
                    let Some(before) = at.checked_sub(distance) else {
                        if is_full {
                            continue;
                        }
                        key = last.len() as u32;
                        break;
                    };
                    let then = drawn[before];
                    key = then;
                    if last[then as usize] as usize == before {
                        break;
                    }
                }
            }
            if key as usize == last.len() {
                last.push(at as u32);
            }
            last[key as usize] = at as u32;
            drawn.push(key);
        }
        drawn
    }

    /// Draws the kind of a request.
    fn kind(&self, chance: f64, state: AskedLast) -> RequestKind {
        let [sets, deletes, touches] = self.shares[state as usize];
        match chance {
            _ if chance < sets => RequestKind::Set,
            _ if chance < sets + deletes => RequestKind::Delete,
            _ if chance < sets + deletes + touches => RequestKind::Touch,
            _ => RequestKind::Get,
        }
    }

    /// Draws as many keys as a trace has requests, as far as that many are drawn at all.
    pub fn keys(&self, trace: &Trace, seed: u64) -> Vec<u32> {
        self.draw(trace.ids().len().min(MOST_DRAWN), seed ^ 0xD157)
    }

    /// Returns the hits of requests for these keys, of the kinds that the trace has.
    pub fn curve(&self, ids: &[u32], seed: u64) -> HitCurve {
        let keys = ids.iter().max().map_or(1, |&most| most as usize + 1);
        let mut rng = WyRand::new(seed, 0x6B1);
        let mut states = vec![AskedLast::New; keys];
        let kinds = ids.iter().map(|&id| {
            let state = &mut states[id as usize];
            let kind = self.kind((rng.u64() >> 11) as f64 / (1_u64 << 53) as f64, *state);
            *state = state.after(kind, self.filling);
            (kind, id)
        });
        HitCurve::of_requests(kinds, keys, self.filling)
    }

    /// Returns how far what it draws is from the trace.
    pub fn distance(&self, trace: &Trace, seed: u64) -> LikeDistance {
        self.distance_of(trace, &self.keys(trace, seed), seed)
    }

    /// Returns how far requests for these keys, with values of its sizes, are from the trace.
    pub fn distance_of(&self, trace: &Trace, ids: &[u32], seed: u64) -> LikeDistance {
        let keys = ids.iter().max().map_or(1, |&most| most as usize + 1);
        let mut counts = vec![0; keys];
        ids.iter().for_each(|&id| counts[id as usize] += 1);
        counts.sort_unstable_by(|one: &u32, other| other.cmp(one));
        let sizes = super::sorted_sizes(trace);
        LikeDistance {
            popularity: of_popularity(&super::counts(trace), &counts),
            sizes: (!sizes.is_empty()).then(|| of_values(&sizes, &self.sizes)),
            hits: self.curve(ids, seed).distance(&HitCurve::of(trace, self.filling)),
        }
    }
}

fn ranges(wanted: &[u64], all: f64) -> Vec<ReuseDistance> {
    let mut ranges: Vec<ReuseDistance> = Vec::new();
    let mut from = 1_u32;
    while (from as u64) < 1 << 31 {
        let at = range_of(from);
        let power = from.ilog2();
        let until = if power < 2 { from << 1 } else { from + (1 << (power - 2)) };
        if wanted[at] > 0 {
            ranges.push(ReuseDistance { from, until, weight: wanted[at] as f64 / all });
        }
        from = until;
    }
    ranges
}

/// The statistic of Kolmogorov and Smirnov over ranks: the largest difference between the shares of the requests that go to the first keys.
pub fn of_popularity(one: &[u32], other: &[u32]) -> f64 {
    let [all, others] = [one, other].map(|counts| counts.iter().map(|&count| f64::from(count)).sum::<f64>().max(1.0));
    let (mut sums, mut most) = ([0.0; 2], 0.0_f64);
    for rank in 0..one.len().max(other.len()) {
        sums[0] += one.get(rank).map_or(0.0, |&count| f64::from(count)) / all;
        sums[1] += other.get(rank).map_or(0.0, |&count| f64::from(count)) / others;
        most = most.max((sums[0] - sums[1]).abs());
    }
    most
}

/// The statistic of Kolmogorov and Smirnov of two sets of values in order.
pub fn of_values(one: &[u32], other: &[u32]) -> f64 {
    let share = |of: &[u32], most: u32| of.partition_point(|&value| value <= most) as f64 / of.len().max(1) as f64;
    one.iter().chain(other).map(|&value| (share(one, value) - share(other, value)).abs()).fold(0.0, f64::max)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{LikeTrace, of_popularity, of_values, range_of, zipf_keys};
    use crate::simulate::Filling;
    use crate::trace::{Trace, TraceOptions};
    use std::path::Path;

    #[test]
    fn the_like_of_a_real_trace_hits_as_it_does_where_zipf_is_far_off() {
        let options = TraceOptions { format: None, most: u64::MAX, seed: 1 };
        let trace = Trace::read(Path::new("web12"), options).unwrap();
        let like = LikeTrace::of(&trace, Filling::OnMiss, 42);
        let distance = like.distance(&trace, 7);
        assert!(distance.hits < 0.03 && distance.sizes.is_none(), "{distance:?}");
        let zipf = like.distance_of(&trace, &zipf_keys(&trace, 0.688, 7), 7);
        assert!(zipf.hits > 3.0 * distance.hits && zipf.popularity < distance.popularity, "{zipf:?} {distance:?}");
        assert_eq!(like.draw(1000, 5), like.draw(1000, 5));
        let keys = like.keys(&trace, 9).into_iter().max().unwrap_or(0);
        assert!((13_300..14_200).contains(&keys), "{keys} of 13,756");
    }

    #[test]
    fn a_loop_keeps_its_cliff() {
        let bytes: Vec<u8> = (0..20_000_u32).flat_map(|number| (number % 700).to_be_bytes()).collect();
        let options = TraceOptions { format: None, most: u64::MAX, seed: 1 };
        let trace = Trace::of_bytes("loop.trace", bytes.leak(), options).unwrap();
        let distance = LikeTrace::of(&trace, Filling::OnMiss, 42).distance(&trace, 7);
        assert!(distance.hits < 0.08, "{distance:?}");
    }

    #[test]
    fn statistics_are_those_of_the_book_and_ranges_follow_each_other() {
        assert_eq!(of_values(&[1, 2, 3, 4], &[1, 2, 3, 4]), 0.0);
        assert_eq!(of_values(&[1, 2, 3, 4], &[5, 6]), 1.0);
        assert!((of_values(&[1, 2, 3, 4], &[3, 4, 5, 6]) - 0.5).abs() < 1e-9);
        assert!((of_popularity(&[50, 50], &[100]) - 0.5).abs() < 1e-9);
        let ranges: Vec<usize> = (1..5000).map(range_of).collect();
        assert!(ranges.is_sorted() && ranges[0] == 0);
    }
}
