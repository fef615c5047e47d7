//! The order of trials: random, and balanced so that no store always runs first, last, or behind the same neighbour.

/// One trial to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Position in the study, from 1.
    pub order: u32,
    /// Index of the cell.
    pub cell: usize,
    /// Whether it is a warm-up.
    pub warmup: bool,
}

/// `warmups + repeats` rounds over all cells. Each round visits every cell once; within every `cells` rounds that count, each
/// cell has each position exactly once (a random Latin square of cyclic shifts), so position effects cancel.
/// The same seed gives the same order.
pub fn balanced(cells: usize, warmups: u32, repeats: u32, seed: u64) -> Vec<Turn> {
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
                turns.push(Turn { order, cell: cycle[(position + shift) % cells], warmup });
            }
        }
    }
    turns
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
    use super::balanced;

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
    fn warm_ups_come_first_and_every_cell_has_its_share() {
        let turns = balanced(3, 1, 4, 1);
        assert!(turns[..3].iter().all(|turn| turn.warmup) && turns[3..].iter().all(|turn| !turn.warmup));
        assert_eq!(turns.iter().map(|turn| turn.order).collect::<Vec<_>>(), (1..=15).collect::<Vec<_>>());
        assert!((0..3).all(|cell| turns.iter().filter(|turn| turn.cell == cell).count() == 5));
    }

    #[test]
    fn the_order_depends_on_the_seed_and_on_nothing_else() {
        assert_eq!(balanced(6, 1, 5, 42), balanced(6, 1, 5, 42));
        assert_ne!(balanced(6, 1, 5, 42), balanced(6, 1, 5, 43));
    }
}
