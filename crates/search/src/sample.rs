//! Which settings of a large space are tried.

use crate::halving::shuffle;
use data::splitmix::Rng;
use std::collections::BTreeSet;

/// Returns `wanted` different settings (a value for each key), the default, all zeros, first. Every value of a key comes as often as every
/// other, as in a Latin hypercube (McKay, Beckman and Conover 1979), so that what a value does can be told.
pub fn settings(values: &[usize], wanted: usize, seed: u64) -> Vec<Vec<usize>> {
    let all = values.iter().fold(1usize, |all, count| all.saturating_mul(*count));
    let wanted = wanted.min(all);
    let mut random = Rng::new(seed ^ 0x6c61_7469_6e00_0001);
    let mut chosen = vec![vec![0; values.len()]];
    let mut seen: BTreeSet<Vec<usize>> = chosen.iter().cloned().collect();
    if wanted == all {
        let digits = |mut number: usize| -> Vec<usize> {
            let digit = |count: &usize| (number % count, number /= count).0;
            values.iter().map(digit).collect()
        };
        chosen.extend((1..all).map(digits));
        return chosen;
    }
    while chosen.len() < wanted {
        let left = wanted - chosen.len();
        let columns: Vec<Vec<usize>> = values
            .iter()
            .map(|count| {
                // From any value on: the few that are still wanted would else be the first values only, which may all be chosen.
                let first = random.below(*count as u64) as usize;
                let mut column: Vec<usize> = (0..left).map(|at| (first + at) % count).collect();
                shuffle(&mut column, &mut random);
                column
            })
            .collect();
        for at in 0..left {
            let setting: Vec<usize> = columns.iter().map(|column| column[at]).collect();
            if seen.insert(setting.clone()) {
                chosen.push(setting);
            }
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::settings;

    #[test]
    fn settings_differ_and_begin_with_the_default() {
        let chosen = settings(&[4, 3, 2], 12, 1);
        assert_eq!((chosen.len(), &chosen[0]), (12, &vec![0, 0, 0]));
        let mut unique = chosen.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), 12);
    }

    #[test]
    fn as_many_as_are_wanted_are_found_in_spaces_of_any_size() {
        for values in [&[3, 6, 5, 3, 2, 3][..], &[2, 2], &[7], &[1, 4, 1]] {
            let all = values.iter().product::<usize>();
            for wanted in (1..=all.min(60)).chain([all - 1, all]) {
                for seed in 0..20 {
                    assert_eq!(settings(values, wanted, seed).len(), wanted.max(1), "{wanted} of {values:?}");
                }
            }
        }
    }

    #[test]
    fn small_spaces_are_tried_whole() {
        let mut chosen = settings(&[2, 3], 100, 1);
        assert_eq!(chosen[0], [0, 0]);
        chosen.sort();
        assert_eq!(chosen, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
        assert_eq!(settings(&[], 5, 1), [Vec::<usize>::new()]);
    }

    #[test]
    fn every_value_comes_about_as_often_as_every_other() {
        let chosen = settings(&[4, 8, 8, 8], 64, 7);
        for value in 0..4 {
            let times = chosen.iter().filter(|setting| setting[0] == value).count();
            assert!((14..=18).contains(&times), "{times}");
        }
    }
}
