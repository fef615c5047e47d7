//! Draws keys that exist.

use super::workload::{Distribution, Workload};
use data::scramble::Scramble;
use data::wyrand::WyRand;
use data::zipf::Zipf;
use std::ops::Range;
use std::sync::Arc;
use store::Slot;

/// A worker's way of choosing. The Zipf table is shared until the key space has grown by a sixteenth.
#[derive(Clone)]
pub enum Chooser {
    /// All keys alike.
    Uniform,
    /// Ranks below `scramble`'s size are spread over the keys loaded; keys inserted since are the least popular, in
    /// order of age.
    Zipfian {
        /// The law.
        zipf: Arc<Zipf>,
        /// Where the ranks of loaded keys lie.
        scramble: Scramble,
        /// Keys loaded.
        loaded: u64,
    },
    /// Rank 0 is the newest key.
    Latest(Arc<Zipf>),
    /// Of what another way draws only the keys of these slots: those that are read back by them.
    Own {
        /// The other way.
        way: Box<Chooser>,
        /// The slots.
        own: Range<Slot>,
        /// The slots of the whole.
        slots: u32,
    },
}

impl Chooser {
    /// Makes the chooser of a workload.
    pub fn new(workload: &Workload, seed: u64) -> Chooser {
        let loaded = workload.records;
        let zipf = || Arc::new(Zipf::new(loaded, workload.theta));
        match workload.distribution {
            Distribution::Uniform => Chooser::Uniform,
            Distribution::Zipfian => Chooser::Zipfian { zipf: zipf(), scramble: Scramble::new(loaded, seed), loaded },
            Distribution::Latest => Chooser::Latest(zipf()),
        }
    }

    /// Makes room for keys inserted since: `ids` keys exist now.
    #[inline]
    pub fn grow(&mut self, ids: u64) {
        if let Chooser::Zipfian { zipf, .. } | Chooser::Latest(zipf) = self
            && ids > zipf.n() + zipf.n() / 16
        {
            Arc::make_mut(zipf).resize(ids);
        }
    }

    /// Draws among `ids` keys, which are all there are or were at the last [`grow`](Chooser::grow), or more.
    #[inline(always)]
    pub fn draw(&self, rng: &mut WyRand, ids: u64) -> u64 {
        match self {
            Chooser::Uniform => rng.below(ids),
            Chooser::Zipfian { zipf, scramble, loaded } => match zipf.draw(rng) {
                rank if rank < *loaded => scramble.key(rank),
                rank => rank,
            },
            Chooser::Latest(zipf) => ids - 1 - zipf.draw(rng),
            Chooser::Own { way, own, slots } => way.draw_own(rng, ids, own, *slots),
        }
    }

    /// Draws until it is a key of these slots.
    #[inline(never)]
    fn draw_own(&self, rng: &mut WyRand, ids: u64, own: &Range<Slot>, slots: u32) -> u64 {
        let drawn = || match self {
            Chooser::Own { .. } => 0,
            way => way.draw(rng, ids),
        };
        std::iter::repeat_with(drawn).find(|&id| is_of(id, own, slots)).unwrap_or(0)
    }
}

/// Returns whether a key is of these slots of all: they read it back.
pub fn is_of(id: u64, own: &Range<Slot>, slots: u32) -> bool {
    own.contains(&((id % u64::from(slots)) as Slot))
}

#[cfg(test)]
mod tests {
    use super::{Chooser, is_of};
    use data::scramble::Scramble;
    use data::wyrand::WyRand;
    use data::zipf::Zipf;
    use jobkit::Share;
    use std::sync::Arc;

    const DRAWS: usize = 2_000_000;

    /// How often each key is drawn by shares that draw their own keys only, each as often as it has clients.
    fn drawn(way: &Chooser, records: u64, shares: &[Share]) -> Vec<f64> {
        let mut times = vec![0.0; records as usize];
        let mut rng = WyRand::new(7, 7);
        for share in shares {
            let own = match share.is_whole() {
                true => way.clone(),
                false => Chooser::Own { way: Box::new(way.clone()), own: share.range(), slots: share.of_clients },
            };
            for _ in 0..(DRAWS as f64 * share.fraction()) as usize {
                let id = own.draw(&mut rng, records);
                assert!(share.is_whole() || is_of(id, &share.range(), share.of_clients));
                times[id as usize] += 1.0 / DRAWS as f64;
            }
        }
        times
    }

    #[test]
    fn the_keys_of_all_shares_are_drawn_nearly_as_often_as_by_one_process() {
        for records in [1_000, 100_000] {
            let zipf = Arc::new(Zipf::new(records, 0.99));
            let way = Chooser::Zipfian { zipf, scramble: Scramble::new(records, 42), loaded: records };
            let one = drawn(&way, records, &[Share::whole(64)]);
            let hottest = one.iter().copied().fold(0.0, f64::max);
            for workers in [2, 3, 8] {
                let shares = Share::split(64, workers);
                // What one process draws of the keys of each share, against what that share draws.
                let mass = |share: &Share| {
                    let own = (0..).zip(&one).filter(|&(id, _)| is_of(id, &share.range(), share.of_clients));
                    own.map(|(_, often)| often).sum::<f64>()
                };
                let moved = shares.iter().map(|share| (mass(share) - share.fraction()).abs()).sum::<f64>() / 2.0;
                println!(
                    "{records} records, {workers} workers: {:.1} % of the draws are of other keys, the hottest has {:.1} %",
                    moved * 100.0,
                    hottest * 100.0
                );
                assert!(moved < 0.2, "{records} records, {workers} workers: {moved}");
                let all = drawn(&way, records, &shares);
                for (share, own) in shares.iter().map(|share| (share, mass(share))) {
                    // Within a share keys are as popular to each other as they were.
                    let factor = share.fraction() / own;
                    let ids = (0..records).filter(|&id| is_of(id, &share.range(), share.of_clients));
                    for id in ids.filter(|&id| one[id as usize] > 0.002) {
                        let (seen, right) = (all[id as usize], one[id as usize] * factor);
                        assert!((seen / right - 1.0).abs() < 0.1, "{records}, {workers}: key {id}: {seen} {right}");
                    }
                }
            }
        }
    }
}
