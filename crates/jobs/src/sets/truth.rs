//! What must come out, worked out from the input alone.

use data::digest::LineDigest;
use data::sets::IdSets;
use data::splitmix::mix;
use std::ops::Range;
use store::SetCombination;

/// A union or intersection that is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The combination of the sets.
    pub combination: SetCombination,
    /// The sets that are combined; a single one is counted as it is.
    pub sets: Range<usize>,
}

/// Ids, so that two lots of them can be compared without keeping or sorting either: their number, and two sums over their hashes. Lots
/// that differ agree with probability 2^-128.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lot {
    /// The number of ids.
    pub count: u64,
    sum: u64,
    second: u64,
}

impl Lot {
    /// Adds an id.
    #[inline]
    pub fn add(&mut self, id: u64) {
        let hash = mix(id);
        self.count += 1;
        self.sum = self.sum.wrapping_add(hash);
        self.second = self.second.wrapping_add(mix(hash));
    }

    /// Adds a lot.
    pub fn merge(&mut self, other: Lot) {
        self.count += other.count;
        self.sum = self.sum.wrapping_add(other.sum);
        self.second = self.second.wrapping_add(other.second);
    }
}

/// Everything that is counted, and what must come out.
pub struct Truth {
    /// In the order in which it is counted.
    pub counted: Vec<Counted>,
    /// The ids of each.
    pub lots: Vec<Lot>,
    /// Different ids in all sets.
    pub distinct: u64,
    names: Vec<String>,
}

/// Returns everything that is counted: each set, the union and intersection of each two neighbours, and of all where there are more.
fn counted(sets: usize) -> Vec<Counted> {
    let one = |combination, sets| Counted { combination, sets };
    let single = (0..sets).map(|set| one(SetCombination::Union, set..set + 1));
    let of = |combination| {
        let pairs = (1..sets).map(move |next| one(combination, next - 1..next + 1));
        pairs.chain((sets > 2).then(|| one(combination, 0..sets)))
    };
    single.chain(of(SetCombination::Union)).chain(of(SetCombination::Intersection)).collect()
}

impl Truth {
    /// Makes the truth of these sets.
    pub fn of(sets: &IdSets) -> Truth {
        let counted = counted(sets.names().len());
        let lots: Vec<Lot> = counted.iter().map(|counted| lot(sets, counted)).collect();
        let all = 0..sets.names().len();
        let whole = |counted: &Counted| counted.combination == SetCombination::Union && counted.sets == all;
        let distinct = counted.iter().position(whole).map_or(0, |at| lots[at].count);
        Truth { counted, lots, distinct, names: sets.names().to_vec() }
    }

    /// Returns the name of a count, for people: `the union of a and b`.
    pub fn title(&self, counted: &Counted) -> String {
        let sets = &self.names[counted.sets.clone()];
        let combination = match counted.combination {
            SetCombination::Union => "union",
            SetCombination::Intersection => "intersection",
        };
        match sets {
            [one] => format!("the set {}", jobkit::printable(one.as_bytes())),
            [a, b] => {
                format!(
                    "the {combination} of {} and {}",
                    jobkit::printable(a.as_bytes()),
                    jobkit::printable(b.as_bytes())
                )
            }
            several => format!("the {combination} of all {} sets", several.len()),
        }
    }

    /// Returns the digest of the answer.
    pub fn digest(&self) -> String {
        self.digest_with(&self.lots)
    }

    /// Returns the digest of these lots of ids: a line for each, in byte order of lines.
    pub fn digest_with(&self, lots: &[Lot]) -> String {
        let line = |(counted, lot): (&Counted, &Lot)| {
            let combination = match (counted.combination, counted.sets.len()) {
                (_, 1) => "set",
                (SetCombination::Union, _) => "union",
                (SetCombination::Intersection, _) => "intersection",
            };
            let names = self.names[counted.sets.clone()].join(",");
            format!("{combination}\t{names}\t{}\t{:016x}{:016x}", lot.count, lot.sum, lot.second)
        };
        let mut lines: Vec<String> = self.counted.iter().zip(lots).map(line).collect();
        lines.sort_unstable();
        let mut digest = LineDigest::default();
        lines.iter().for_each(|line| digest.line(&[line.as_bytes()]));
        digest.finish()
    }
}

/// Returns whether an id of one of these sets belongs to what is counted, and is counted with set `of`.
pub fn belongs(sets: &IdSets, counted: &Counted, of: usize, id: u64) -> bool {
    match counted.combination {
        SetCombination::Union => !(counted.sets.start..of).any(|earlier| sets.holds(earlier, id)),
        SetCombination::Intersection => {
            of == counted.sets.start && (of + 1..counted.sets.end).all(|set| sets.holds(set, id))
        }
    }
}

/// The ids of what is counted.
fn lot(sets: &IdSets, counted: &Counted) -> Lot {
    let mut lot = Lot::default();
    for set in counted.sets.clone() {
        sets.distinct(set).iter().filter(|id| belongs(sets, counted, set, **id)).for_each(|id| lot.add(*id));
    }
    lot
}
