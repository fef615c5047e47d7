//! Is the popularity of keys a Zipf law, and with which exponent?
//!
//! Fitted are the keys that were asked for often enough for their rank to mean something; what they are among themselves does not depend on how
//! many others there are. The exponent is the most likely one. Samples drawn from that law are fitted in the same way: their spread is the interval,
//! and a trace that is farther from its law than all of them is no sample of it.

use data::wyrand::WyRand;
use data::zipf::Zipf;

/// A key counts that was asked for as often.
const LEAST_COUNT: u32 = 10;
/// Fewer keys say nothing of a law.
const LEAST_KEYS: usize = 20;
/// Samples of the law: a trace that is farther from it than all of them is so by chance in one case of twenty.
const SAMPLES: usize = 19;
/// The most requests of a sample.
const MOST_DRAWN: u64 = 1_000_000;
/// A law that is off by less is good enough to be used, even if the trace is no sample of it.
const GOOD_ENOUGH: f64 = 0.02;

/// How popular keys are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Popularity {
    /// The keys that were fitted: those asked for ten times or more often.
    pub keys: usize,
    /// Their share of the requests.
    pub share: f64,
    /// The exponent of the Zipf law that is nearest.
    pub exponent: f64,
    /// The 95 % interval of the exponent.
    pub interval: [f64; 2],
    /// The largest difference between the share of the requests that go to the most popular keys, however many of them, and that of the law.
    pub distance: f64,
    /// The largest such difference of the samples of the law.
    pub of_samples: f64,
}

impl Popularity {
    /// Returns whether it is a Zipf law, or as good as one.
    pub fn is_zipf(&self) -> bool {
        self.distance <= self.of_samples.max(GOOD_ENOUGH)
    }
}

/// Returns how popular keys are, by how often each was asked for, most often first; `None`: too few were asked for often.
pub fn popularity(counts: &[u32], seed: u64) -> Option<Popularity> {
    let head = often(counts)?;
    let keys = head.len();
    let logs: Vec<f64> = (1..=counts.len()).map(|rank| (rank as f64).ln()).collect();
    let [all, requests] = [counts, head].map(|counts| counts.iter().map(|&count| u64::from(count)).sum::<u64>());
    let exponent = exponent(head, &logs);
    let law = Zipf::new(counts.len() as u64, exponent);
    let mut rng = WyRand::new(seed, 0xF17);
    let (mut of_samples, mut exponents) = (0.0_f64, Vec::new());
    for _ in 0..SAMPLES {
        let mut drawn = vec![0_u32; counts.len()];
        (0..all.min(MOST_DRAWN)).for_each(|_| drawn[law.draw(&mut rng) as usize] += 1);
        drawn.sort_unstable_by(|one, other| other.cmp(one));
        let drawn = often(&drawn).unwrap_or(&drawn);
        let exponent = self::exponent(drawn, &logs);
        of_samples = of_samples.max(distance(drawn, &logs, exponent));
        exponents.push(exponent);
    }
    let mean = exponents.iter().sum::<f64>() / SAMPLES as f64;
    let variance = exponents.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / (SAMPLES as f64 - 1.0);
    // Ranks are by the counts themselves, so that chance looks like popularity: samples show by how much.
    let right = (2.0 * exponent - mean).max(0.0);
    let half = 1.96 * variance.sqrt();
    Some(Popularity {
        keys,
        share: requests as f64 / all as f64,
        exponent: right,
        interval: [(right - half).max(0.0), right + half],
        distance: distance(head, &logs, exponent),
        of_samples,
    })
}

/// The keys that were asked for often enough; `None`: too few.
fn often(counts: &[u32]) -> Option<&[u32]> {
    let keys = counts.iter().take_while(|&&count| count >= LEAST_COUNT).count();
    (keys >= LEAST_KEYS).then_some(&counts[..keys])
}

/// The most likely exponent: that by which the mean logarithm of the rank is as it was found.
fn exponent(counts: &[u32], logs: &[f64]) -> f64 {
    let requests = counts.iter().map(|&count| f64::from(count)).sum::<f64>().max(1.0);
    let found = counts.iter().zip(logs).map(|(&count, log)| f64::from(count) * log).sum::<f64>() / requests;
    let (mut low, mut high) = (0.0, 10.0);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        let (mut sum, mut weighted) = (0.0, 0.0);
        for log in &logs[..counts.len()] {
            let weight = (-middle * log).exp();
            sum += weight;
            weighted += weight * log;
        }
        if weighted / sum > found { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// How far the shares of the most popular keys, however many of them, are from those of the law, at most.
fn distance(counts: &[u32], logs: &[f64], exponent: f64) -> f64 {
    let requests = counts.iter().map(|&count| f64::from(count)).sum::<f64>().max(1.0);
    let all: f64 = logs[..counts.len()].iter().map(|log| (-exponent * log).exp()).sum();
    let (mut found, mut law, mut most) = (0.0, 0.0, 0.0_f64);
    for (&count, log) in counts.iter().zip(logs) {
        found += f64::from(count) / requests;
        law += (-exponent * log).exp() / all;
        most = most.max((found - law).abs());
    }
    most
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::popularity;
    use data::wyrand::WyRand;
    use data::zipf::Zipf;

    fn drawn(keys: u64, exponent: f64, requests: u32, seed: u64) -> Vec<u32> {
        let (law, mut rng) = (Zipf::new(keys, exponent), WyRand::new(seed, 1));
        let mut counts = vec![0; keys as usize];
        (0..requests).for_each(|_| counts[law.draw(&mut rng) as usize] += 1);
        counts.sort_unstable_by(|one, other| other.cmp(one));
        counts
    }

    #[test]
    fn the_exponent_of_a_zipf_law_is_found_within_its_interval_whatever_lies_in_the_tail() {
        let mut within = 0;
        for (seed, exponent) in [0.6, 0.8, 0.99, 1.1, 1.2, 1.5].into_iter().cycle().take(24).enumerate() {
            let found = popularity(&drawn(5_000, exponent, 200_000, seed as u64), 7).unwrap();
            assert!((found.exponent - exponent).abs() < 0.03 && found.is_zipf(), "{exponent}: {found:?}");
            within += u32::from(found.interval[0] <= exponent && exponent <= found.interval[1]);
        }
        assert!(within >= 18, "{within} of 24");
        assert!(popularity(&drawn(5_000, 0.0, 200_000, 1), 7).unwrap().exponent < 0.1);
    }

    #[test]
    fn what_is_no_zipf_law_is_not_said_to_be_one() {
        let two_levels: Vec<u32> = (0..1000).map(|key| if key < 100 { 2000 } else { 50 }).collect();
        let geometric: Vec<u32> = (0..400).map(|key| (1e5 * 0.98_f64.powi(key)) as u32).collect();
        for counts in [two_levels, geometric] {
            let found = popularity(&counts, 7).unwrap();
            assert!(!found.is_zipf() && found.distance > 0.05, "{found:?}");
        }
        assert_eq!(popularity(&[9; 1000], 7), None);
    }
}
