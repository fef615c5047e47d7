//! The gaps between the arrivals of a share: together the shares have those of the whole, each of them once.

use crate::settings::{Arrivals, Settings};
use jobkit::Share;
use measure::Clock;

/// The gaps between arrivals, from 0.
#[derive(Clone)]
pub(super) enum Gaps {
    Fixed {
        gap: f64,
        /// How many have arrived, and will in the time given.
        number: u64,
        total: u64,
        turns: Turns,
    },
    Poisson {
        mean_ticks: f64,
        state: u64,
        at: f64,
        /// When the whole has an arrival behind the one before.
        behind: f64,
        end: f64,
        share: Share,
    },
    /// The job knows them.
    Recorded,
}

impl Gaps {
    /// Returns the gaps of the share that is asked for; `None` under closed loop.
    pub(super) fn new(settings: &Settings, clock: &Clock) -> Option<Gaps> {
        let per_second = clock.ticks(std::time::Duration::from_secs(1)) as f64;
        let (share, duration) = (settings.share(), settings.duration);
        match settings.arrivals {
            Arrivals::Closed => None,
            Arrivals::Recorded => Some(Gaps::Recorded),
            Arrivals::Fixed { ops_per_s } => {
                let turns = Turns::of(share);
                let total = duration.map(|time| (time.as_secs_f64() * ops_per_s).round() as u64);
                let total = total.map_or(u64::MAX, |total| turns.before(total));
                Some(Gaps::Fixed { gap: per_second / ops_per_s, number: 0, total, turns })
            }
            Arrivals::Poisson { ops_per_s } => {
                let end = duration.map_or(f64::INFINITY, |duration| clock.ticks(duration) as f64);
                let mean_ticks = per_second / ops_per_s;
                let mut gaps = Gaps::Poisson { mean_ticks, state: settings.seed, at: 0.0, behind: 0.0, end, share };
                gaps.step(); // the first arrival is a gap after the start
                Some(gaps)
            }
        }
    }

    /// When the next arrival is due, also beyond the time given.
    pub(super) fn due(&self) -> f64 {
        match self {
            Gaps::Fixed { gap, number, turns, .. } => turns.place(*number) as f64 * gap,
            Gaps::Poisson { at, .. } => *at,
            Gaps::Recorded => 0.0,
        }
    }

    /// When the next arrival of the whole is due after this number of arrivals that were sent.
    pub(super) fn behind(&self, sent: u64) -> f64 {
        match self {
            Gaps::Fixed { gap, turns, .. } => sent.checked_sub(1).map_or(0, |last| turns.place(last) + 1) as f64 * gap,
            Gaps::Poisson { behind, .. } => *behind,
            Gaps::Recorded => 0.0,
        }
    }

    /// Whether the next arrival is due within the time given.
    pub(super) fn has_next(&self) -> bool {
        match *self {
            Gaps::Fixed { number, total, .. } => number < total,
            Gaps::Poisson { at, end, .. } => at < end,
            Gaps::Recorded => false,
        }
    }

    pub(super) fn step(&mut self) {
        match self {
            Gaps::Fixed { number, .. } => *number += 1,
            Gaps::Poisson { mean_ticks, state, at, behind, share, .. } => {
                *at += gap(state, *mean_ticks);
                *behind = *at;
                // Every share draws the arrivals of the whole, and each is that of one client.
                while !share.is_whole() && !share.range().contains(&client(*state, share.of_clients)) {
                    *at += gap(state, *mean_ticks);
                }
            }
            Gaps::Recorded => {}
        }
    }
}

/// The places of a share's arrivals among those of the whole, which are the same in every cycle of as many as there are clients: shares
/// take turns, as evenly as can be.
#[derive(Clone)]
pub(super) struct Turns {
    /// Empty: every place.
    own: Box<[u32]>,
    cycle: u64,
}

impl Turns {
    fn of(share: Share) -> Turns {
        if share.is_whole() {
            return Turns { own: Box::new([]), cycle: 1 };
        }
        // The turns of a share lie evenly in the cycle, and go to places in that order; of two at one time that of the first share is first.
        let mut turns: Vec<(u64, u64, u32)> = Vec::with_capacity(share.of_clients as usize);
        for each in Share::split(share.of_clients, share.of) {
            turns.extend((0..each.clients).map(|turn| (2 * u64::from(turn) + 1, u64::from(each.clients), each.number)));
        }
        // Those at (2 turn + 1) / (2 clients), compared without rounding.
        turns.sort_by(|one, other| (one.0 * other.1).cmp(&(other.0 * one.1)).then(one.2.cmp(&other.2)));
        let own = (0..).zip(&turns).filter(|(_, turn)| turn.2 == share.number).map(|(place, _)| place).collect();
        Turns { own, cycle: share.of_clients.into() }
    }

    /// Returns the place of this share's arrival of that number.
    fn place(&self, number: u64) -> u64 {
        match self.own.len() as u64 {
            0 => number,
            own => number / own * self.cycle + u64::from(self.own[(number % own) as usize]),
        }
    }

    /// Returns how many of this share's arrivals are at places before that one.
    fn before(&self, place: u64) -> u64 {
        match self.own.len() as u64 {
            0 => place,
            own => {
                let rest = self.own.partition_point(|&turn| u64::from(turn) < place % self.cycle);
                place / self.cycle * own + rest as u64
            }
        }
    }
}

/// An exponentially distributed gap.
fn gap(state: &mut u64, mean: f64) -> f64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    // A number in (0, 1], never 0.
    let unit = ((mixed(*state) >> 11) + 1) as f64 / (1u64 << 53) as f64;
    -mean * unit.ln()
}

/// The client whose arrival it is that was drawn in this state.
fn client(state: u64, clients: u32) -> u32 {
    ((u128::from(mixed(!state)) * u128::from(clients)) >> 64) as u32
}

/// The output function of splitmix64.
fn mixed(state: u64) -> u64 {
    let mut z = state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
