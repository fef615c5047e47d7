//! The order of trials: random, and balanced so that no store always runs first, last, or behind the same neighbour.

use std::time::Duration;

/// A trial to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduledTrial {
    /// Position in the study, from 1.
    pub order: u32,
    /// Index of the cell.
    pub cell: usize,
    /// Whether the trial is a warm-up.
    pub warmup: bool,
}

/// Returns `warmups + repeats` rounds over all cells. Each round visits every cell once; within every `cells` rounds that count, each cell
/// has each position exactly once (a random Latin square of cyclic shifts), so position effects cancel. The same seed gives the same
/// order.
pub fn balanced(cells: usize, warmups: u32, repeats: u32, seed: u64) -> Vec<ScheduledTrial> {
    let mut random = data::splitmix::Rng::new(seed ^ 0x6f72_6465_7200_0001);
    let mut turns = Vec::with_capacity(cells * (warmups + repeats) as usize);
    for (rounds, warmup) in [(warmups, true), (repeats, false)] {
        let (mut cycle, mut shifts) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            if shifts.is_empty() {
                cycle = shuffled(cells, &mut random);
                shifts = shuffled(cells, &mut random);
            }
            let shift = shifts.pop().unwrap_or(0);
            for position in 0..cells {
                let order = turns.len() as u32 + 1;
                turns.push(ScheduledTrial { order, cell: cycle[(position + shift) % cells], warmup });
            }
        }
    }
    turns
}

/// Returns the same rounds, each over the cells as they are named: a trap kept for showing it. Whatever drifts while a round lasts
/// (caches, files, temperature) looks like an effect of the cell's place in the list.
pub fn rising(cells: usize, warmups: u32, repeats: u32) -> Vec<ScheduledTrial> {
    let rounds = (0..warmups + repeats).flat_map(|round| (0..cells).map(move |cell| (cell, round < warmups)));
    rounds.zip(1..).map(|((cell, warmup), order)| ScheduledTrial { order, cell, warmup }).collect()
}

/// Counted rounds that are run however long they take: what is not repeated has no interval.
const FEWEST_ROUNDS: u32 = 2;

/// Rounds below which no order of stores can be shown. To finish the last of them a study may take half as long again as the user is
/// expected to wait.
const ROUNDS_FOR_AN_ORDER: u32 = stats::FEWEST_TRIALS as u32;

/// Returns the counted rounds that were run `so_far`, when the trial of this order begins another, and with it the study would take longer
/// than `patience`.
pub fn enough(order: u32, cells: u32, warmups: u32, so_far: Duration, patience: Duration) -> Option<u32> {
    let rounds = (order - 1) / cells;
    let counted = rounds.checked_sub(warmups).filter(|&counted| counted >= FEWEST_ROUNDS)?;
    let begins = (order - 1).is_multiple_of(cells);
    let patience = if counted < ROUNDS_FOR_AN_ORDER { patience * 3 / 2 } else { patience };
    (begins && so_far + so_far / rounds > patience).then_some(counted)
}

/// Returns the trials of a study that is about to begin the one of this order, `all` at most, where rounds go on as they went `so_far` and
/// [`enough`] ends them.
pub fn expected(order: u32, cells: u32, warmups: u32, all: u32, so_far: Duration, patience: Duration) -> u32 {
    let begun = order - 1;
    if begun < cells {
        return all; // nothing is known of some cell
    }
    let a_round = so_far * cells / begun;
    let rounds = begun / cells..all / cells;
    let last = rounds
        .into_iter()
        .find(|round| enough(round * cells + 1, cells, warmups, a_round * *round, patience).is_some());
    last.map_or(all, |rounds| (rounds * cells).max(begun + 1))
}

/// 0 to `n` - 1 in random order (Fisher and Yates).
fn shuffled(n: usize, random: &mut data::splitmix::Rng) -> Vec<usize> {
    let mut items: Vec<usize> = (0..n).collect();
    for last in (1..n).rev() {
        items.swap(last, random.below(last as u64 + 1) as usize);
    }
    items
}

#[cfg(test)]
mod tests {
    use super::{balanced, enough, expected, rising};
    use std::time::Duration;

    #[test]
    fn each_cell_has_each_position_equally_often() {
        let (cells, repeats) = (5, 10);
        let turns = balanced(cells, 0, repeats, 7);
        for cell in 0..cells {
            for position in 0..cells {
                let times = turns.chunks(cells).filter(|round| round[position].cell == cell).count();
                assert_eq!(times, repeats as usize / cells, "cell {cell} at position {position}");
            }
        }
    }

    #[test]
    fn the_trials_that_are_expected_are_those_that_are_run_where_rounds_go_on_as_before() {
        let (cells, all, patience) = (8, 40, Duration::from_secs(30));
        for seconds in [1, 5, 8, 12, 20, 60] {
            let a_trial = Duration::from_secs(seconds) / cells;
            let ends = (1..=all).find(|&order| enough(order, cells, 0, a_trial * (order - 1), patience).is_some());
            let run = ends.map_or(all, |order| order - 1);
            let says = |order| expected(order, cells, 0, all, a_trial * (order - 1), patience);
            assert_eq!((says(1), says(cells)), (all, all));
            assert!((cells + 1..=run).all(|order| says(order) == run), "{seconds} s: {run}, {}", says(cells + 1));
        }
    }

    #[test]
    fn warm_ups_come_first_and_every_cell_has_its_share() {
        let turns = balanced(3, 1, 4, 1);
        assert!(turns[..3].iter().all(|turn| turn.warmup) && turns[3..].iter().all(|turn| !turn.warmup));
        assert_eq!(turns.iter().map(|turn| turn.order).collect::<Vec<_>>(), (1..=15).collect::<Vec<_>>());
        assert!((0..3).all(|cell| turns.iter().filter(|turn| turn.cell == cell).count() == 5));
    }

    #[test]
    fn in_any_study_every_round_has_every_cell_and_positions_are_shared_as_evenly_as_can_be() {
        for cells in 1..40 {
            for repeats in [1, 2, 3, 7, 40] {
                let turns = balanced(cells, 1, repeats, cells as u64 * 31 + u64::from(repeats));
                for round in turns.chunks(cells) {
                    let mut seen: Vec<usize> = round.iter().map(|turn| turn.cell).collect();
                    seen.sort_unstable();
                    assert_eq!(seen, (0..cells).collect::<Vec<_>>(), "{cells} cells");
                }
                let full = repeats as usize / cells;
                for cell in 0..cells {
                    for position in 0..cells {
                        let times = turns[cells..].chunks(cells).filter(|round| round[position].cell == cell).count();
                        assert!((full..=full + 1).contains(&times), "{cells} cells {repeats} repeats: {times}");
                    }
                }
            }
        }
    }

    #[test]
    fn no_cell_runs_early_more_often_than_others_over_many_studies() {
        // With fewer repeats than cells balance is a matter of chance, which must be fair: mean positions agree.
        let (cells, studies) = (12, 2_000);
        let mut sums = vec![0usize; cells];
        for seed in 0..studies {
            for (position, turn) in balanced(cells, 0, 1, seed).iter().enumerate() {
                sums[turn.cell] += position;
            }
        }
        let expected = (cells - 1) as f64 / 2.0;
        // Five standard errors of the mean of a uniform position.
        let slack = 5.0 * ((cells * cells - 1) as f64 / 12.0 / studies as f64).sqrt();
        for sum in sums {
            assert!((sum as f64 / studies as f64 - expected).abs() < slack, "{sum}");
        }
    }

    #[test]
    fn more_repeats_only_add_rounds_behind_those_there_are() {
        let (few, many) = (balanced(7, 1, 3, 9), balanced(7, 1, 11, 9));
        assert_eq!(few, many[..few.len()]);
        assert_eq!(rising(7, 1, 3), rising(7, 1, 11)[..28]);
    }

    #[test]
    fn rounds_are_left_out_where_they_would_take_too_long_a_third_later_than_others_and_never_the_second() {
        let patience = Duration::from_secs(30);
        let enough = |order, so_far_s| super::enough(order, 5, 1, Duration::from_secs(so_far_s), patience);
        // A warm-up round and two that count are 15 trials; the 16th begins the round that lets an order be shown.
        assert_eq!([enough(16, 33), enough(16, 34)], [None, Some(2)]);
        assert_eq!([enough(21, 24), enough(21, 25)], [None, Some(3)]);
        assert_eq!([enough(26, 25), enough(26, 26)], [None, Some(4)]);
        assert!((1..16).chain(17..21).all(|order| enough(order, 3600).is_none()), "half a round is no round");
    }

    #[test]
    fn rising_order_visits_the_cells_as_they_are_named_every_round() {
        let turns = rising(3, 1, 2);
        assert_eq!(turns.iter().map(|turn| turn.cell).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
        assert_eq!(turns.iter().filter(|turn| turn.warmup).count(), 3);
        assert_eq!(turns.iter().map(|turn| turn.order).collect::<Vec<_>>(), (1..=9).collect::<Vec<_>>());
    }

    #[test]
    fn the_order_depends_on_the_seed_and_on_nothing_else() {
        assert_eq!(balanced(6, 1, 5, 42), balanced(6, 1, 5, 42));
        assert_ne!(balanced(6, 1, 5, 42), balanced(6, 1, 5, 43));
    }
}
