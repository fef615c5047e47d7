//! Small random histories, and an exhaustive search that shares no code with the checker.

#![allow(dead_code, reason = "each test program uses a part")]

use history::{Deed, Encounter};

/// A small generator of random numbers.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % n
    }
}

/// Whether there is an order of the operations that respects the clock and the meaning of a register.
pub fn has_order(all: &[Encounter]) -> bool {
    fn search(all: &[Encounter], done: u32, value: u64) -> bool {
        let is_open = |at: &usize| done >> at & 1 == 0;
        let earliest_end = (0..all.len()).filter(is_open).filter_map(|at| all[at].answered_ns).min();
        let Some(earliest_end) = earliest_end else { return true };
        (0..all.len()).filter(is_open).any(|at| {
            if all[at].sent_ns > earliest_end {
                return false;
            }
            let next = match all[at].action {
                Deed::Read(_) | Deed::Missed(_) if all[at].answered_ns.is_none() => value,
                Deed::Read(seen) if seen == value => value,
                Deed::Missed(_) if value == 0 => value,
                Deed::Write(version) => version,
                Deed::Delete(_) => 0,
                Deed::Swap { from, to } if from == value => to,
                _ => return false,
            };
            search(all, done | 1 << at, next)
        })
    }
    search(all, 0, 0)
}

/// A random history of `n` operations of one key. Times are few, so that many are equal.
pub fn random(dice: &mut Dice, n: u64, swaps: bool) -> Vec<Encounter> {
    let span = 4 + dice.below(4 * n);
    let mut all = Vec::new();
    for version in 1..=n {
        let sent_ns = 1 + dice.below(span);
        let answered_ns = (dice.below(8) > 0).then(|| sent_ns + dice.below(1 + span / 2));
        let action = match dice.below(if swaps { 4 } else { 2 }) {
            0 => Deed::Read(dice.below(n)),
            1 => Deed::Write(version),
            2 => Deed::Read(version.saturating_sub(1 + dice.below(2))),
            _ => Deed::Swap { from: dice.below(n), to: version },
        };
        if matches!(action, Deed::Swap { from, to } if from == to) {
            continue;
        }
        all.push(Encounter { client: dice.below(3) as u32, key: 7, action, sent_ns, answered_ns });
    }
    all
}

/// A history of a register that behaved: operations take effect at a moment between their beginning and their end.
pub fn honest(dice: &mut Dice, n: u64, swaps: bool) -> Vec<Encounter> {
    let (mut value, mut all) = (0, Vec::new());
    for version in 1..=n {
        let at = 10 * version + 10;
        let sent_ns = at.saturating_sub(dice.below(30)).max(1);
        let happens = dice.below(8) > 0;
        let is_unknown = !happens || dice.below(8) == 0;
        let action = match dice.below(if swaps { 3 } else { 2 }) {
            0 => Deed::Read(value),
            1 => Deed::Write(version),
            _ => Deed::Swap { from: value, to: version },
        };
        if happens && !matches!(action, Deed::Read(_)) {
            value = version;
        }
        let answered_ns = (!is_unknown).then(|| at + dice.below(30));
        all.push(Encounter { client: version as u32 % 3, key: 7, action, sent_ns, answered_ns });
    }
    all
}

/// One answer changed: whether it is still possible is for the search to say.
pub fn spoilt(dice: &mut Dice, mut all: Vec<Encounter>) -> Vec<Encounter> {
    let reads: Vec<usize> = (0..all.len()).filter(|&at| !all[at].writes()).collect();
    if let Some(&at) = reads.get(dice.below(reads.len().max(1) as u64) as usize) {
        all[at].action = Deed::Read(dice.below(all.len() as u64));
    }
    all
}
