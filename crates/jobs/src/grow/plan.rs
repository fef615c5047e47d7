//! What is put and read in which phase.

use jobkit::{Pace, Phase};

/// The pacing of the phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One phase, at the pace the user asked for.
    Fill,
    /// The highest rate, then shares of it.
    TwoPhase,
}

/// The number of gets, in parts of 2^32 for each put, rounded up: one in nine is one after nine puts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reads {
    by_put: u64,
}

/// One get, in the parts of [`Reads`].
const ONE: u64 = 1 << 32;

/// Largest share of the operations that may be gets.
const MOST_READS: f64 = 0.99;

/// Phases of the second part: their names, and what share of the rate of the first they have, in percent.
const SHARES: [(&str, u32); 3] = [("fill at 50 %", 50), ("fill at 80 %", 80), ("fill at 95 %", 95)];

impl Reads {
    /// Returns the share of the operations that are gets, as the user writes it.
    pub fn parse(text: &str) -> Option<Reads> {
        let share: f64 = text.parse().ok()?;
        (0.0..=MOST_READS)
            .contains(&share)
            .then(|| Reads { by_put: (share / (1.0 - share) * ONE as f64).ceil() as u64 })
    }

    /// Gets a slot has made when it has made this number of puts and the gets that are due after them.
    #[inline]
    pub fn after(self, puts: u64) -> u64 {
        ((u128::from(self.by_put) * u128::from(puts)) >> 32) as u64
    }
}

/// The plan of which items are put in which phase, and how many gets there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FillPlan {
    /// The number of gets.
    pub reads: Reads,
    mode: Mode,
    items: u64,
}

impl FillPlan {
    /// Makes a plan for that many items.
    pub fn new(items: u64, reads: Reads, mode: Mode) -> FillPlan {
        FillPlan { reads, mode, items }
    }

    /// Returns how many phases put items.
    pub fn phases(&self) -> usize {
        match self.mode {
            Mode::Fill => 1,
            Mode::TwoPhase => 1 + SHARES.len(),
        }
    }

    /// The first item that is put after this number of phases.
    fn cut(&self, phases: usize) -> u64 {
        let parts = 2 * SHARES.len() as u64;
        match phases {
            0 => 0,
            done if done >= self.phases() => self.items,
            // Half of the items first, then a sixth at each share.
            done => (self.items * (SHARES.len() + done - 1) as u64 / parts).max(1).min(self.items),
        }
    }

    /// Numbers among a slot's own of the items it puts in a phase: from, and up to. Item `i` is put by slot `i` modulo `slots`.
    pub fn own(&self, phase: usize, slot: u64, slots: u64) -> (u64, u64) {
        let below = |cut: u64| cut.saturating_sub(slot).div_ceil(slots);
        (below(self.cut(phase)), below(self.cut(phase + 1)))
    }

    /// Returns the phase, with the operations it will have and the items it stores.
    pub fn phase(&self, phase: usize, slots: u64, reads: Reads) -> Phase {
        let operations = |slot: u64| {
            let (from, to) = self.own(phase, slot, slots);
            to - from + reads.after(to) - reads.after(from)
        };
        let operations = (0..slots).map(operations).sum();
        let stored = self.cut(phase + 1) - self.cut(phase);
        let (name, pace) = match (self.mode, phase) {
            (Mode::Fill, _) => ("fill", Pace::AsAsked),
            (Mode::TwoPhase, 0) => ("fill", Pace::Highest),
            (Mode::TwoPhase, later) => {
                let (name, percent) = SHARES[later - 1];
                (name, Pace::ShareOf { phase: 0, percent })
            }
        };
        Phase::timed(name, Some(operations)).storing(stored).paced(pace)
    }
}

#[cfg(test)]
mod tests {
    use super::{FillPlan, Mode, Reads};

    fn reads(text: &str) -> Reads {
        let Some(reads) = Reads::parse(text) else { panic!("{text} is a share") };
        reads
    }

    #[test]
    fn every_item_is_put_by_one_slot_in_one_phase_and_the_shares_are_those_asked_for() {
        for mode in [Mode::Fill, Mode::TwoPhase] {
            for (items, slots) in [(1, 1), (5, 3), (6, 800), (1000, 1), (1001, 7)] {
                let plan = FillPlan::new(items, reads("0.25"), mode);
                let mut put = vec![0; items as usize];
                let (mut stored, mut operations) = (0, 0);
                for phase in 0..plan.phases() {
                    for slot in 0..slots {
                        let (from, to) = plan.own(phase, slot, slots);
                        (from..to).for_each(|own| put[(slot + own * slots) as usize] += 1);
                    }
                    let phase = plan.phase(phase, slots, plan.reads);
                    stored += phase.stores.unwrap_or(0);
                    operations += phase.operations.unwrap_or(0);
                }
                assert!(put.iter().all(|&times| times == 1), "{mode:?} {items} {slots}: {put:?}");
                assert_eq!(stored, items);
                assert!(
                    operations <= items * 4 / 3 && operations + slots >= items * 4 / 3,
                    "{items} {slots}: {operations}"
                );
            }
        }
    }

    #[test]
    fn a_share_of_all_or_beyond_or_none_at_all_is_no_share() {
        assert!(["1", "0.995", "-0.1", "NaN", "ten", ""].iter().all(|text| Reads::parse(text).is_none()));
        assert_eq!(reads("0").after(1 << 40), 0);
        assert_eq!((reads("0.5").after(1000), reads("0.1").after(900), reads("0.99").after(10)), (1000, 100, 990));
    }
}
