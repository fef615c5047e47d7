//! Which stalls a chart marks.

use study::Stall;

/// Most stalls marked in one chart.
const MOST: usize = 40;

/// The stalls one chart marks: all there are, or the longest.
pub(crate) struct MarkedStalls {
    /// The shortest that is marked.
    from_s: f64,
    all: usize,
}

impl MarkedStalls {
    pub fn of<'a>(all: impl Iterator<Item = &'a Stall>) -> MarkedStalls {
        let mut durations_s: Vec<f64> = all.map(|stall| stall.duration_s).collect();
        durations_s.sort_by(|one, other| other.total_cmp(one));
        MarkedStalls { from_s: durations_s.get(MOST - 1).copied().unwrap_or_default(), all: durations_s.len() }
    }

    /// Returns whether it is marked.
    pub fn has(&self, stall: &Stall) -> bool {
        stall.duration_s >= self.from_s
    }

    /// Returns the marks in words.
    pub fn words(&self) -> String {
        match self.all > MOST {
            true => format!("the {MOST} longest of {} stalls", self.all),
            false => "stalls".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, MarkedStalls};
    use study::Stall;

    #[test]
    fn of_many_stalls_the_longest_are_marked_whenever_they_happened() {
        let stall = |number: usize| Stall { at_s: number as f64, duration_s: 0.01 * number as f64, ..Stall::default() };
        let all: Vec<Stall> = (1..=430).map(stall).collect();
        let marked = MarkedStalls::of(all.iter());
        assert_eq!(all.iter().filter(|stall| marked.has(stall)).count(), MOST);
        assert!(marked.has(&all[429]) && !marked.has(&all[0]));
        assert_eq!(marked.words(), "the 40 longest of 430 stalls");
        let few = MarkedStalls::of(all.iter().take(3));
        assert!(all.iter().take(3).all(|stall| few.has(stall)) && few.words() == "stalls");
    }
}
