//! Which share of an execution draws, writes and reads back which keys.
//!
//! The most popular keys are dealt out so that each share has its part of the operations with them: dealt by their numbers, the share with
//! the hottest key would have too few for it, and others would be drawn too often. All other keys go by their numbers.

use super::chooser::Chooser;
use super::workload::{Distribution, Workload};
use hashbrown::HashMap;
use jobkit::{Share, TrialSetup};
use std::ops::Range;
use store::Slot;

/// Keys that are dealt out one by one. Behind them none has one operation in a thousand.
const DEALT: u64 = 1024;

/// The keys of one share.
#[derive(Clone)]
pub struct DealtKeys {
    share: Share,
    own: Range<Slot>,
    slots: u32,
    /// The most popular keys, and the share of each.
    hot: HashMap<u64, u32>,
}

impl DealtKeys {
    /// Deals the keys of a workload to the shares of a setup.
    pub fn of(workload: &Workload, chooser: &Chooser, setup: &TrialSetup) -> DealtKeys {
        let share = setup.share;
        let by_numbers =
            share.is_whole() || workload.mix.only_reads() || workload.distribution == Distribution::Uniform;
        let hot = if by_numbers { HashMap::new() } else { deal(workload, chooser, share) };
        DealtKeys { share, own: setup.own_slots(), slots: setup.slots.max(1), hot }
    }

    /// Returns whether a key is this share's.
    #[inline]
    pub fn has(&self, id: u64) -> bool {
        match self.hot.get(&id) {
            _ if self.share.is_whole() => true,
            Some(&share) => share == self.share.number,
            None => self.is_by_number(id),
        }
    }

    /// Whether a key would be this share's by its number.
    fn is_by_number(&self, id: u64) -> bool {
        self.own.contains(&((id % u64::from(self.slots)) as Slot))
    }

    /// Returns the popular keys that are this share's, though not by their numbers.
    pub fn beside(&self) -> Vec<u64> {
        let own = self.hot.iter().filter(|&(&id, &share)| share == self.share.number && !self.is_by_number(id));
        let mut beside: Vec<u64> = own.map(|(&id, _)| id).collect();
        beside.sort_unstable();
        beside
    }
}

/// Gives each of the most popular keys, the hottest first, to the share that lacks most of its part.
fn deal(workload: &Workload, chooser: &Chooser, share: Share) -> HashMap<u64, u32> {
    let (records, theta) = (workload.records, workload.theta);
    let dealt = DEALT.min(records);
    let weight = |rank: u64| (rank as f64 + 1.0).powf(-theta);
    let among = |from: u64, to: u64| {
        let power =
            |at: u64| if theta == 1.0 { (at as f64).ln() } else { (at as f64).powf(1.0 - theta) / (1.0 - theta) };
        power(to) - power(from)
    };
    let all = (0..dealt).map(weight).sum::<f64>() + if records > dealt { among(dealt, records) } else { 0.0 };
    // The keys that are not dealt out are shared evenly.
    let to_deal = (0..dealt).map(weight).sum::<f64>() / all;
    let shares = Share::split(share.of_clients, share.of);
    let mut lacks: Vec<f64> = shares.iter().map(|share| share.fraction() * to_deal).collect();
    (0..dealt)
        .map(|rank| {
            let most = (0..lacks.len()).max_by(|&one, &other| lacks[one].total_cmp(&lacks[other])).unwrap_or(0);
            lacks[most] -= weight(rank) / all;
            (chooser.of_rank(rank, records), most as u32)
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::DealtKeys;
    use crate::ycsb::chooser::Chooser;
    use crate::ycsb::workload::{PARAMS, Workload};
    use data::wyrand::WyRand;
    use jobkit::{Share, TrialSetup};
    use store::Capabilities;

    const DRAWS: usize = 1_000_000;

    fn workload(records: u64, distribution: &str) -> Workload {
        let mut params: jobkit::Params = PARAMS.iter().map(|it| (it.name.to_owned(), it.default.to_owned())).collect();
        params.insert("records".into(), records.to_string());
        params.insert("distribution".into(), distribution.into());
        params.insert("workload".into(), "A".into());
        Workload::parse(&params, 42).unwrap()
    }

    fn dealt(workload: &Workload, chooser: &Chooser, share: Share) -> DealtKeys {
        DealtKeys::of(
            workload,
            chooser,
            &TrialSetup { share, ..TrialSetup::alone(share.of_clients, Capabilities::BASIC, 42) },
        )
    }

    #[test]
    fn every_key_is_one_shares_and_those_beside_its_numbers_are_named() {
        for distribution in ["zipfian", "latest", "uniform"] {
            let workload = workload(5_000, distribution);
            let chooser = Chooser::new(&workload, 42);
            let shares =
                Share::split(7, 3).into_iter().map(|share| dealt(&workload, &chooser, share)).collect::<Vec<_>>();
            for id in 0..workload.records {
                assert_eq!(shares.iter().filter(|share| share.has(id)).count(), 1, "{distribution}: {id}");
            }
            for share in &shares {
                let beside: Vec<u64> = (0..5_000).filter(|&id| share.has(id) && !share.is_by_number(id)).collect();
                assert_eq!((&share.beside(), distribution == "uniform"), (&beside, beside.is_empty()));
            }
        }
    }

    /// Shares draw as often as they have clients, each its own keys as often as they are drawn among all. So a key is drawn as often as by
    /// one process if the keys of each share are together.
    #[test]
    fn the_keys_of_each_share_have_its_part_of_the_operations() {
        for (records, distribution) in
            [(1_000, "zipfian"), (100_000, "zipfian"), (100_000, "latest"), (100_000, "uniform")]
        {
            let workload = workload(records, distribution);
            let chooser = Chooser::new(&workload, 42);
            for (clients, workers) in [(64, 2), (64, 3), (8, 3), (64, 8)] {
                let shares: Vec<DealtKeys> =
                    Share::split(clients, workers).into_iter().map(|share| dealt(&workload, &chooser, share)).collect();
                let (mut rng, mut drawn) = (WyRand::new(7, 7), vec![0.0; shares.len()]);
                for _ in 0..DRAWS {
                    let id = chooser.draw(&mut rng, records);
                    drawn[shares.iter().position(|share| share.has(id)).unwrap()] += 1.0 / DRAWS as f64;
                }
                let moved: f64 =
                    shares.iter().zip(&drawn).map(|(share, drawn)| (drawn - share.share.fraction()).abs()).sum::<f64>()
                        / 2.0;
                println!(
                    "{records} records, {distribution}, {clients} clients, {workers} workers: {:.2} % of the draws are of other keys",
                    moved * 100.0
                );
                // One key in 1,000 has more than an eighth of the operations.
                assert!(moved < 0.006, "{records} {distribution} {clients} {workers}: {moved}");
            }
        }
    }

    #[test]
    fn a_share_draws_its_own_keys_alone_and_as_often_to_each_other_as_among_all() {
        let workload = workload(1_000, "zipfian");
        let chooser = Chooser::new(&workload, 42);
        let count = |chooser: &Chooser| {
            let (mut rng, mut times) = (WyRand::new(7, 7), vec![0.0; 1_000]);
            (0..DRAWS).for_each(|_| times[chooser.draw(&mut rng, 1_000) as usize] += 1.0 / DRAWS as f64);
            times
        };
        let all = count(&chooser);
        for share in Share::split(8, 3) {
            let keys = dealt(&workload, &chooser, share);
            let own = count(&Chooser::Own { way: Box::new(chooser.clone()), keys: keys.clone().into() });
            for (id, (own, all)) in (0..).zip(own.iter().zip(&all)) {
                assert!(keys.has(id) || *own == 0.0);
                let right = all / share.fraction();
                assert!(
                    !keys.has(id) || right < 0.005 || (own / right - 1.0).abs() < 0.05,
                    "{share:?} {id}: {own} {right}"
                );
            }
        }
    }
}
