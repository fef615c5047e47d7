//! Random histories, and a judge that tries every order.
#![allow(dead_code)]

use history::{Act, ActEnd, ActKind, SwapAnswer};

/// Numbers that look random, the same for the same seed.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

/// What a key holds, as plainly as can be.
#[derive(Clone, PartialEq)]
pub enum Held {
    Nothing,
    Version(u64),
    Sum(i64),
    List(Vec<u64>),
}

impl Held {
    /// What is held after an operation, if it can have happened.
    pub fn after(&self, kind: &ActKind) -> Option<Self> {
        let version = |it: &Option<u64>| it.map_or(Self::Nothing, Self::Version);
        let same = |it: bool| if it { Some(self.clone()) } else { None };
        match kind {
            ActKind::Put(it) => Some(Self::Version(*it)),
            ActKind::Delete => Some(Self::Nothing),
            ActKind::Get(it) => same(*self == version(it)),
            ActKind::CompareAndSet { expected, new, swap: SwapAnswer::Done } => {
                if *self == version(expected) {
                    Some(Self::Version(*new))
                } else {
                    None
                }
            }
            ActKind::CompareAndSet { expected, .. } => same(*self != version(expected)),
            ActKind::Add { by, now } => {
                let sum = match self {
                    Self::Nothing => *by,
                    Self::Sum(sum) => sum + by,
                    _ => return None,
                };
                if now.is_some_and(|now| now != sum) { None } else { Some(Self::Sum(sum)) }
            }
            ActKind::Sum(it) => same(*self == Self::Sum(*it) || (*it == 0 && *self == Self::Nothing)),
            ActKind::Append(it) => match self {
                Self::Nothing => Some(Self::List(vec![*it])),
                Self::List(list) => Some(Self::List(list.iter().copied().chain([*it]).collect())),
                _ => None,
            },
            ActKind::List(it) => same(*self == Self::List(it.clone()) || (it.is_empty() && *self == Self::Nothing)),
        }
    }
}

/// Tries every order that keeps to the times.
pub fn some_order_explains(operations: &[Act], held: &Held) -> bool {
    let left: Vec<&Act> = operations
        .iter()
        .filter(|it| match it.end {
            ActEnd::Answered(_) => true,
            ActEnd::Refused(_) => false,
            ActEnd::Unknown => it.kind.changes(),
        })
        .collect();
    try_orders(&left, held)
}

fn try_orders(left: &[&Act], held: &Held) -> bool {
    if left.iter().all(|it| it.end == ActEnd::Unknown) {
        return true;
    }
    (0..left.len()).any(|next| {
        let comes_too_early = left.iter().any(|other| match other.end {
            ActEnd::Answered(at) => at < left[next].sent_ns,
            _ => false,
        });
        if comes_too_early {
            return false;
        }
        let Some(then) = held.after(&left[next].kind) else { return false };
        let mut rest = left.to_vec();
        rest.remove(next);
        try_orders(&rest, &then)
    })
}

/// What clients do in a random history.
#[derive(Clone, Copy, Debug)]
pub enum Talk {
    /// Put and get, versions unique.
    Register,
    /// Put, get, delete and compare-and-set; versions come again.
    Any,
    /// Add, with and without the new sum, and read the sum.
    Counter,
    /// Append and read the list.
    List,
}

/// A random history of a store that answers right, in which one answer in a few is then changed.
pub fn random(talk: Talk, dice: &mut Dice, most: u64) -> Vec<Act> {
    let count = 2 + dice.below(most - 1);
    // Operations happen at even moments; what happens at a moment is decided in its order.
    let mut planned: Vec<(u64, u64, u64)> = (0..count)
        .map(|_| {
            let happens = dice.below(3 * count);
            (happens, happens.saturating_sub(dice.below(2 * count)), happens + dice.below(2 * count))
        })
        .collect();
    planned.sort_unstable();
    let mut held = Held::Nothing;
    let mut operations = Vec::new();
    for (at, (_, sent_ns, answered)) in planned.into_iter().enumerate() {
        let unique = 1 + at as u64;
        let mut kind = ask(talk, dice, unique, &held);
        let end = if dice.below(6) == 0 { ActEnd::Unknown } else { ActEnd::Answered(answered) };
        let happens = end != ActEnd::Unknown || dice.below(2) == 0;
        if happens && let Some(then) = held.after(&kind) {
            held = then;
        }
        if dice.below(9) == 0 {
            lie(&mut kind, dice, unique);
        }
        operations.push(Act { key: 0, client: dice.below(3) as u32, kind, sent_ns, end });
    }
    operations.sort_by_key(|it| it.sent_ns);
    operations
}

/// Something to ask, with the right answer.
fn ask(talk: Talk, dice: &mut Dice, unique: u64, held: &Held) -> ActKind {
    let version = match held {
        Held::Version(it) => Some(*it),
        _ => None,
    };
    let sum = match held {
        Held::Sum(it) => *it,
        _ => 0,
    };
    match (talk, dice.below(6)) {
        (Talk::Register, 0..3) => ActKind::Put(unique),
        (Talk::Register, _) => ActKind::Get(version),
        (Talk::Any, 0) => ActKind::Put(1 + dice.below(4)),
        (Talk::Any, 1) => ActKind::Delete,
        (Talk::Any, 2) => {
            let expected = if dice.below(3) == 0 { Some(1 + dice.below(4)) } else { version };
            let swap = if expected == version { SwapAnswer::Done } else { SwapAnswer::Declined };
            ActKind::CompareAndSet { expected, new: 1 + dice.below(4), swap }
        }
        (Talk::Any, _) => ActKind::Get(version),
        (Talk::Counter, 0..3) => {
            let by = [1, 1, 2, -1][dice.below(4) as usize];
            ActKind::Add { by, now: if dice.below(4) == 0 { Some(sum + by) } else { None } }
        }
        (Talk::Counter, _) => ActKind::Sum(sum),
        (Talk::List, 0..3) => ActKind::Append(if dice.below(8) == 0 { 1 } else { unique }),
        (Talk::List, _) => ActKind::List(match held {
            Held::List(it) => it.clone(),
            _ => Vec::new(),
        }),
    }
}

/// Changes an answer.
fn lie(kind: &mut ActKind, dice: &mut Dice, unique: u64) {
    match kind {
        ActKind::Get(it) => *it = if dice.below(3) == 0 { None } else { Some(1 + dice.below(unique + 1)) },
        ActKind::CompareAndSet { swap, .. } => {
            *swap = if *swap == SwapAnswer::Done { SwapAnswer::Declined } else { SwapAnswer::Done }
        }
        ActKind::Add { now: Some(now), .. } => *now += 1,
        ActKind::Sum(sum) => *sum += dice.below(5) as i64 - 2,
        ActKind::List(list) => match dice.below(3) {
            0 => drop(list.pop()),
            1 => list.reverse(),
            _ => list.push(1 + dice.below(unique)),
        },
        _ => {}
    }
}
