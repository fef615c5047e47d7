//! Draws keys that exist.

use super::dealt::DealtKeys;
use super::workload::{Distribution, Workload};
use data::scramble::Scramble;
use data::wyrand::WyRand;
use data::zipf::Zipf;
use std::sync::Arc;

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
    /// Of what another way draws only the keys of one share.
    Own {
        /// The other way.
        way: Box<Chooser>,
        /// The keys.
        keys: Arc<DealtKeys>,
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
            Chooser::Own { way, keys } => way.draw_own(rng, ids, keys),
        }
    }

    /// Draws until it is a key of this share.
    #[inline(never)]
    fn draw_own(&self, rng: &mut WyRand, ids: u64, keys: &DealtKeys) -> u64 {
        let drawn = || match self {
            Chooser::Own { .. } => 0, // there is none within another
            way => way.draw(rng, ids),
        };
        std::iter::repeat_with(drawn).find(|&id| keys.has(id)).unwrap_or(0)
    }

    /// Returns the key of a rank among `ids` keys.
    pub fn of_rank(&self, rank: u64, ids: u64) -> u64 {
        match self {
            Chooser::Zipfian { scramble, loaded, .. } if rank < *loaded => scramble.key(rank),
            Chooser::Latest(_) => ids - 1 - rank,
            _ => rank,
        }
    }
}
