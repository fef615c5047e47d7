//! The hits of an exact LRU of every size, in one go over the trace (Mattson and others 1970): a get finds its key in all caches that hold at
//! least as many keys as were used since its last use.
//!
//! Keys lie in the order of their last use; a tree of sums (Fenwick 1994) counts those behind a key. What a delete leaves is a hole, which the next
//! key that comes from below fills, as a cache of that size would.

use crate::simulate::Filling;
use crate::trace::{RequestKind, Trace};
use std::collections::BTreeSet;

/// A cliff: this share of the gets more for a cache that is larger by a tenth.
const CLIFF: f64 = 0.05;

/// The hits of an exact LRU of every size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HitCurve {
    /// The hits of a cache that holds one key more than the index.
    hits: Vec<u64>,
    gets: u64,
}

/// A size from which on a cache that is little larger has many more hits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cliff {
    /// Keys below the cliff, and above it.
    pub keys: [u64; 2],
    /// Hits there, as shares of the gets.
    pub hits: [f64; 2],
}

/// The order of use: each key at a place, later ones used later.
struct Uses {
    /// The place of each key; 0: it is nowhere.
    places: Vec<u32>,
    /// The key at each place.
    keys: Vec<u32>,
    /// Sums over the places that are taken, holes with them.
    sums: Vec<u32>,
    next: u32,
    taken: u32,
    holes: BTreeSet<u32>,
}

impl Uses {
    fn new(keys: usize) -> Uses {
        let room = 2 * keys.max(512) + 2;
        Uses {
            places: vec![0; keys],
            keys: vec![0; room],
            sums: vec![0; room],
            next: 1,
            taken: 0,
            holes: BTreeSet::new(),
        }
    }

    fn add(&mut self, mut place: u32, by: i32) {
        self.taken = self.taken.wrapping_add_signed(by);
        while let Some(sum) = self.sums.get_mut(place as usize) {
            *sum = sum.wrapping_add_signed(by);
            place += place & place.wrapping_neg();
        }
    }

    fn up_to(&self, mut place: u32) -> u32 {
        let mut sum = 0;
        while place > 0 {
            sum += self.sums[place as usize];
            place &= place - 1;
        }
        sum
    }

    /// Moves what there is to the first places, in its order.
    fn close_up(&mut self) {
        let before: Vec<(u32, bool)> = (1..self.next)
            .filter_map(|place| {
                let key = self.keys[place as usize];
                let is_hole = self.holes.contains(&place);
                (is_hole || self.places[key as usize] == place).then_some((key, is_hole))
            })
            .collect();
        self.sums.fill(0);
        self.holes.clear();
        (self.next, self.taken) = (1, 0);
        for (key, is_hole) in before {
            let place = self.next;
            self.keys[place as usize] = key;
            if is_hole {
                self.holes.insert(place);
            } else {
                self.places[key as usize] = place;
            }
            self.add(place, 1);
            self.next += 1;
        }
    }

    /// Uses a key; returns how many keys a cache needs to have it still, or `None` where none has it.
    fn of(&mut self, key: u32) -> Option<u32> {
        if self.next as usize == self.keys.len() {
            self.close_up();
        }
        let place = self.places[key as usize];
        let depth = (place > 0).then(|| self.taken - self.up_to(place) + 1);
        let hole = self.holes.last().copied().filter(|&hole| hole > place);
        if let Some(hole) = hole {
            // Caches that hold the hole, but not the key, fill it; for those that hold both it is where the key was.
            self.holes.remove(&hole);
            self.add(hole, -1);
            if place > 0 {
                self.holes.insert(place);
            }
        } else if place > 0 {
            self.add(place, -1);
        }
        self.places[key as usize] = self.next;
        self.keys[self.next as usize] = key;
        self.add(self.next, 1);
        self.next += 1;
        depth
    }

    fn delete(&mut self, key: u32) {
        let place = std::mem::take(&mut self.places[key as usize]);
        if place > 0 {
            self.holes.insert(place);
        }
    }
}

impl HitCurve {
    /// Goes through a trace.
    pub fn of(trace: &Trace, filling: Filling) -> HitCurve {
        let keys = trace.keys().len();
        let requests = trace.ids().iter().enumerate().map(|(request, &id)| (trace.kind(request), id));
        HitCurve::of_requests(requests, keys, filling)
    }

    /// Goes through requests for keys with numbers below `keys`.
    pub fn of_requests(requests: impl Iterator<Item = (RequestKind, u32)>, keys: usize, filling: Filling) -> HitCurve {
        let mut uses = Uses::new(keys);
        let (mut hits, mut gets) = (vec![0_u64; keys.max(1)], 0);
        for (kind, id) in requests {
            match kind {
                RequestKind::Delete => uses.delete(id),
                RequestKind::Set => drop(uses.of(id)),
                RequestKind::Touch if uses.places[id as usize] > 0 => drop(uses.of(id)),
                RequestKind::Touch => {}
                RequestKind::Get => {
                    gets += 1;
                    // Without filling a get that finds nothing in any cache puts nothing there.
                    if (filling == Filling::OnMiss || uses.places[id as usize] > 0)
                        && let Some(depth) = uses.of(id)
                    {
                        hits[(depth as usize - 1).min(keys - 1)] += 1;
                    }
                }
            }
        }
        let mut sum = 0;
        hits.iter_mut().for_each(|hits| {
            sum += *hits;
            *hits = sum;
        });
        HitCurve { hits, gets }
    }

    /// Returns the hits of a cache that holds as many keys.
    pub fn hits(&self, keys: u64) -> u64 {
        match keys.checked_sub(1) {
            None => 0,
            Some(at) => self.hits[(at as usize).min(self.hits.len() - 1)],
        }
    }

    /// Returns the same as a share of the gets.
    pub fn share(&self, keys: u64) -> f64 {
        self.hits(keys) as f64 / self.gets.max(1) as f64
    }

    /// Returns the sizes at which the curve may be looked at: 1, 2, 5, 10 and so on, and all keys.
    pub fn sizes(&self) -> Vec<u64> {
        let all = self.hits.len() as u64;
        let decades = (0..20).flat_map(|power| [1, 2, 5].map(|first| first * 10_u64.saturating_pow(power)));
        decades.take_while(|&keys| keys < all).chain([all]).collect()
    }

    /// Returns where a cache that is larger by a tenth has many more hits.
    pub fn cliffs(&self) -> Vec<Cliff> {
        let all = self.hits.len() as u64;
        let mut cliffs: Vec<Cliff> = Vec::new();
        let mut keys = 10;
        while keys < all {
            let larger = (keys + keys / 10).min(all);
            let hits = [self.share(keys), self.share(larger)];
            if hits[1] - hits[0] > CLIFF {
                match cliffs.last_mut().filter(|cliff| cliff.keys[1] >= keys) {
                    Some(cliff) => (cliff.keys[1], cliff.hits[1]) = (larger, hits[1]),
                    None => cliffs.push(Cliff { keys: [keys, larger], hits }),
                }
            }
            keys += (keys / 20).max(1);
        }
        cliffs
    }

    /// Returns the largest difference between this curve and another, over all sizes, as a share of the gets.
    pub fn distance(&self, other: &HitCurve) -> f64 {
        self.sizes().into_iter().map(|keys| (self.share(keys) - other.share(keys)).abs()).fold(0.0, f64::max)
    }
}
