//! Two studies of crashes: which level kept its promise before and breaks it now, and could that be chance?

use crate::comparison::of_estimate;
use crate::conditions::{Difference, Weight, crash_differences};
use crate::{ALPHA, Across, Allowed, Alone, Obstacle, SelectError, Source, Unlike};
use serde::Serialize;
use stats::Bootstrap;
use study::{Crash, CrashCase, CrashCut, Durability, Promise, Quantity, Study};

/// Coverage of the interval of a share.
const LEVEL: f64 = 0.95;
/// Crashes of each study more than these are recommended to nobody.
const MOST_CUTS: usize = 2_000;

/// Everything `kvtrial compare` found in two studies of crashes; what its JSON holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CrashComparison {
    /// Version of kvtrial that compared.
    pub kvtrial: String,
    /// The studies: the one compared with and the one judged.
    pub sources: Vec<Source>,
    /// Every pair of levels, compared or not.
    pub pairs: Vec<CrashPair>,
    /// Levels that only one study has.
    pub alone: Vec<Alone>,
}

/// A level of a store in both studies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrashPair {
    /// The name of both levels, where it is the same: `redis,durability=os`; else empty.
    pub cell: String,
    /// The level to compare with.
    pub a: CrashSide,
    /// The level to judge.
    pub b: CrashSide,
    /// The other differences between the two studies.
    pub differences: Vec<Difference>,
    /// Why they are not compared: [`Obstacle::Unlike`] or [`Obstacle::Across`]; then nothing below is known.
    pub obstacle: Option<Obstacle>,
    /// The change of the promise's verdict.
    pub shift: PromiseShift,
    /// Whether the numbers of crashes that broke the promise differ by more than chance; `None` where none did.
    pub breaks: Option<CrashTest>,
    /// The same of crashes that lost an acknowledged write.
    pub losses: Option<CrashTest>,
    /// The second median time to recover as a multiple of the first.
    pub recovery_ratio: Option<Quantity>,
}

/// A level of a store in one study.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CrashSide {
    /// The name of the level in sentences about the pair.
    pub name: String,
    /// The verdict of the crashes on the promise.
    pub promise: Promise,
    /// Crashes.
    pub cuts: u32,
    /// Crashes that broke the promise.
    pub broken: u32,
    /// The share of crashes that broke the promise, as far as these crashes show it: where none did, up to the limit of the rule of three.
    pub broken_share: Option<Quantity>,
    /// Crashes that lost an acknowledged write, whether the level allows that or not.
    pub lossy: u32,
    /// Acknowledged writes that were lost.
    pub lost: u64,
    /// Acknowledged writes.
    pub acknowledged: u64,
    /// The age of the oldest lost write, seconds.
    pub oldest_lost_s: Option<f64>,
    /// The median time to recover, seconds.
    pub recovery_s: Option<Quantity>,
    /// Why crashes are missing; empty when there are all.
    pub problem: String,
}

/// The change of a promise's verdict from the first study to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PromiseShift {
    /// Kept, or broken, in both.
    Same,
    /// Kept in the first study, broken in the second.
    Regression,
    /// Broken in the first study, kept in the second.
    Repaired,
    /// At least one study shows nothing.
    NotShown,
}

/// Fisher's exact test of how many crashes came to something.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CrashTest {
    /// The p-value: how often chance alone would show such uneven numbers.
    pub p: f64,
    /// The same, corrected for all levels compared (Holm).
    pub p_holm: f64,
    /// Crashes of each study that would show a difference of these shares; `None` where it is shown, or where no reasonable number would.
    pub cuts_needed: Option<u32>,
}

impl CrashTest {
    /// Returns whether the data separate the two.
    pub fn is_separated(&self) -> bool {
        self.p_holm < ALPHA
    }
}

impl CrashPair {
    /// Returns the pair in a few words: `redis,durability=os`.
    pub fn title(&self) -> String {
        if self.cell.is_empty() { format!("{} against {}", self.b.name, self.a.name) } else { self.cell.clone() }
    }

    /// Returns whether the second broke a promise that the first kept.
    pub fn is_regression(&self) -> bool {
        self.obstacle.is_none() && self.shift == PromiseShift::Regression
    }

    /// Returns whether nothing is shown of one of the two, or crashes of it are missing.
    pub fn is_void(&self) -> bool {
        [&self.a, &self.b].iter().any(|side| side.promise == Promise::NotShown || !side.problem.is_empty())
    }
}

/// Levels of two studies that stand for the same thing.
#[derive(Clone, Debug, Default)]
pub struct MatchedCrashes<'a> {
    /// A level in the first study, and the one in the second.
    pub pairs: Vec<(&'a CrashCase, &'a CrashCase)>,
    /// Levels only the first has.
    pub only_a: Vec<&'a CrashCase>,
    /// Levels only the second has.
    pub only_b: Vec<&'a CrashCase>,
}

/// Pairs what is equal in store and level; two that were named, one of each study, are a pair as they are, and several by their level.
pub fn match_crashes<'a>(a: Vec<&'a CrashCase>, b: Vec<&'a CrashCase>, named: bool) -> MatchedCrashes<'a> {
    if let ([first], [second], true) = (a.as_slice(), b.as_slice(), named) {
        return MatchedCrashes { pairs: vec![(*first, *second)], ..MatchedCrashes::default() };
    }
    let is_same = |one: &CrashCase, other: &CrashCase| one.level == other.level && (named || one.store == other.store);
    let mut matched = MatchedCrashes { only_b: b, ..MatchedCrashes::default() };
    for first in a {
        match matched.only_b.iter().position(|second| is_same(first, second)) {
            Some(at) => matched.pairs.push((first, matched.only_b.remove(at))),
            None => matched.only_a.push(first),
        }
    }
    matched
}

/// Returns the levels a selector names: `redis,durability=os`, or all of `redis`.
///
/// # Errors
/// It names none; the message lists those there are.
pub fn select_crashes<'a>(crash: &'a Crash, selector: &str) -> Result<Vec<&'a CrashCase>, SelectError> {
    let wanted: Vec<&str> = selector.split(',').map(str::trim).collect();
    let is_named = |case: &&CrashCase| {
        let spec: Vec<&str> = case.store.split(',').collect();
        let level = format!("durability={}", case.level.map_or("", Durability::name));
        let is_its = |word: &&str| spec.contains(word) || *word == level;
        spec.iter().all(|part| wanted.contains(part)) && wanted.iter().all(is_its)
    };
    let found: Vec<&CrashCase> = crash.cases.iter().filter(is_named).collect();
    if found.is_empty() {
        let known = crash.cases.iter().map(CrashCase::name).collect();
        return Err(SelectError::Unknown { selector: selector.into(), known });
    }
    Ok(found)
}

/// A level of a study, as one side of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct ComparedCrashes<'a> {
    /// The name of the study in sentences about the pair.
    pub name: &'a str,
    /// The study it is from.
    pub study: &'a Study,
    /// The crashes of the study.
    pub crash: &'a Crash,
    /// The level.
    pub case: &'a CrashCase,
}

/// Compares every pair, what both are and the two sides of it. P-values are corrected over all pairs (Holm), so that the chance of a single
/// false difference among them is at most [`ALPHA`]. Whether a promise was broken needs no test: one crash shows it.
pub fn compare_crashes(
    pairs: &[(String, ComparedCrashes<'_>, ComparedCrashes<'_>)],
    allowed: Allowed,
) -> Vec<CrashPair> {
    let mut compared: Vec<CrashPair> = pairs.iter().map(|(cell, a, b)| pair(cell, a, b, allowed)).collect();
    let breaks = |pair: &CrashPair| [&pair.a, &pair.b].map(|side| (side.broken as usize, side.cuts as usize));
    let losses = |pair: &CrashPair| [&pair.a, &pair.b].map(|side| (side.lossy as usize, side.cuts as usize));
    let tests = (tested(&compared, &breaks), tested(&compared, &losses));
    for (pair, (breaks, losses)) in compared.iter_mut().zip(tests.0.into_iter().zip(tests.1)) {
        (pair.breaks, pair.losses) = (breaks, losses);
    }
    compared
}

fn pair(cell: &str, a: &ComparedCrashes<'_>, b: &ComparedCrashes<'_>, allowed: Allowed) -> CrashPair {
    let differences = crash_differences((a.study, a.crash, a.case), (b.study, b.crash, b.case));
    let weighs = |weight| differences.iter().any(|it| it.weight() == weight);
    let obstacle = if weighs(Weight::Forbids) && allowed.unlike == Unlike::Refuse {
        Some(Obstacle::Unlike)
    } else if weighs(Weight::Across) && allowed.across == Across::Refuse {
        Some(Obstacle::Across)
    } else {
        None
    };
    let shift = match (a.case.promise, b.case.promise) {
        (Promise::NotShown, _) | (_, Promise::NotShown) => PromiseShift::NotShown,
        (before, after) if before == after => PromiseShift::Same,
        (Promise::Kept, Promise::Broken) => PromiseShift::Regression,
        (Promise::Broken, Promise::Kept) => PromiseShift::Repaired,
        _ => PromiseShift::NotShown,
    };
    let recoveries = |case: &CrashCase| case.cuts.iter().filter_map(|cut| cut.recovery_s).collect::<Vec<_>>();
    let ratio = stats::median_ratio(&recoveries(b.case), &recoveries(a.case), Bootstrap::default());
    CrashPair {
        cell: cell.to_owned(),
        a: side(a),
        b: side(b),
        differences,
        obstacle,
        shift,
        breaks: None,
        losses: None,
        recovery_ratio: ratio.filter(|_| obstacle.is_none()).map(of_estimate),
    }
}

fn side(of: &ComparedCrashes<'_>) -> CrashSide {
    let case = of.case;
    let level = case.level.unwrap_or(Durability::None);
    let count = |is: &dyn Fn(&CrashCut) -> bool| case.cuts.iter().filter(|cut| is(cut)).count();
    let broken = count(&|cut| cut.breaks(level));
    let found = case.found();
    let mut share = stats::proportion(broken, case.cuts.len(), LEVEL).map(of_estimate);
    // The study says the same of a promise that was kept.
    if let (Some(share), Some(bound)) = (&mut share, case.not_ruled_out) {
        share.high = bound;
    }
    CrashSide {
        name: of.name.to_owned(),
        promise: case.promise,
        cuts: case.cuts.len() as u32,
        broken: broken as u32,
        broken_share: share,
        lossy: count(&|cut| cut.found.lost > 0) as u32,
        lost: found.lost,
        acknowledged: found.acknowledged,
        oldest_lost_s: found.oldest_lost_s,
        recovery_s: case.recovery_s,
        problem: case.problem.clone(),
    }
}

/// A test for each pair that is compared and has any such crash.
fn tested(pairs: &[CrashPair], of: &dyn Fn(&CrashPair) -> [(usize, usize); 2]) -> Vec<Option<CrashTest>> {
    let p = |pair: &CrashPair| {
        let [a, b] = of(pair);
        stats::fisher_exact(a, b).filter(|_| pair.obstacle.is_none() && a.0 + b.0 > 0)
    };
    let raw: Vec<Option<f64>> = pairs.iter().map(p).collect();
    let corrected = stats::holm(&raw.iter().flatten().copied().collect::<Vec<_>>());
    let alpha = ALPHA / corrected.len().max(1) as f64;
    let mut corrected = corrected.into_iter();
    let test = |(p, pair): (Option<f64>, &CrashPair)| {
        let (p, p_holm) = (p?, corrected.next()?);
        let cuts_needed = if p_holm < ALPHA { None } else { cuts_needed(of(pair), alpha) };
        Some(CrashTest { p, p_holm, cuts_needed })
    };
    raw.into_iter().zip(pairs).map(test).collect()
}

/// The fewest crashes of each, in tens, that would show a difference of these shares.
fn cuts_needed([a, b]: [(usize, usize); 2], alpha: f64) -> Option<u32> {
    let share = |(events, cuts): (usize, usize)| events as f64 / cuts as f64;
    if share(a) == share(b) {
        return None;
    }
    let of = |events, cuts: usize| ((share(events) * cuts as f64).round() as usize, cuts);
    let shows = |cuts: &usize| stats::fisher_exact(of(a, *cuts), of(b, *cuts)).is_some_and(|p| p < alpha);
    (1..=MOST_CUTS / 10).map(|tens| tens * 10).find(shows).map(|cuts| cuts as u32)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{ComparedCrashes, CrashPair, PromiseShift, compare_crashes, match_crashes, select_crashes};
    use crate::{Across, Allowed, Obstacle, Unlike};
    use study::{Crash, CrashCase, CrashCut, CrashFindings, CrashMoment, Durability, Promise, Study};

    fn case(store: &str, level: Durability, lossy: usize, cuts: usize) -> CrashCase {
        let cut = |lost| CrashCut {
            found: CrashFindings { acknowledged: 100, lost, ..CrashFindings::default() },
            ..CrashCut::default()
        };
        let cuts: Vec<CrashCut> = (0..cuts).map(|at| cut(u64::from(at < lossy))).collect();
        let promise = if cuts.iter().any(|cut| cut.breaks(level)) { Promise::Broken } else { Promise::Kept };
        CrashCase { store: store.into(), level: Some(level), promise, cuts, ..CrashCase::default() }
    }

    fn compared(pairs: &[(CrashCase, CrashCase)], crashes: [Crash; 2], allowed: Allowed) -> Vec<CrashPair> {
        let study = Study::default();
        let side = |name, crash, case| ComparedCrashes { name, study: &study, crash, case };
        let [a, b] = &crashes;
        let sides = |(before, after)| (String::new(), side("before", a, before), side("after", b, after));
        let pairs: Vec<_> = pairs.iter().map(|(before, after)| sides((before, after))).collect();
        compare_crashes(&pairs, allowed)
    }

    #[test]
    fn one_crash_is_enough_for_a_regression_and_whether_it_was_kept_better_before_takes_more() {
        let os = |lossy, cuts| case("redis", Durability::Os, lossy, cuts);
        let one = |before, after| compared(&[(before, after)], Default::default(), Allowed::default()).remove(0);
        let few = one(os(0, 20), os(3, 20));
        assert!(few.is_regression() && (few.b.broken, few.b.lossy, few.b.lost, few.b.acknowledged) == (3, 3, 3, 2_000));
        let test = few.breaks.unwrap();
        assert!(!test.is_separated() && (test.p - 0.2308).abs() < 1e-4, "{test:?}");
        let needed = test.cuts_needed.unwrap() as usize;
        assert!((30..=60).contains(&needed), "{needed}");
        let many = one(os(0, needed), os((0.15 * needed as f64).round() as usize, needed));
        assert!(many.is_regression() && many.breaks.unwrap().is_separated());
        let repaired = one(os(3, 20), os(0, 20));
        assert!(repaired.shift == PromiseShift::Repaired && !repaired.is_regression());
        let same = one(os(0, 20), os(0, 20));
        assert!(same.shift == PromiseShift::Same && same.breaks.is_none());
        let nothing = one(os(0, 20), CrashCase { promise: Promise::NotShown, ..os(0, 0) });
        assert!(nothing.shift == PromiseShift::NotShown && nothing.is_void() && nothing.breaks.is_none());
    }

    #[test]
    fn what_a_level_may_lose_breaks_nothing() {
        let none = |lossy| case("redis", Durability::None, lossy, 20);
        let [pair] = compared(&[(none(0), none(20))], Default::default(), Allowed::default()).try_into().unwrap();
        assert!(pair.shift == PromiseShift::Same && pair.breaks.is_none());
        assert!(pair.losses.unwrap().is_separated(), "but it loses more than before");
    }

    #[test]
    fn among_many_levels_a_difference_must_be_larger() {
        let pair = || (case("redis", Durability::Os, 0, 20), case("redis", Durability::Os, 6, 20));
        let alone = compared(&[pair()], Default::default(), Allowed::default());
        assert!(alone[0].breaks.unwrap().is_separated());
        let among = compared(&[pair(), pair(), pair()], Default::default(), Allowed::default());
        assert!(among.iter().all(|pair| pair.is_regression() && !pair.breaks.unwrap().is_separated()));
    }

    #[test]
    fn crashes_of_another_kind_or_level_are_compared_only_when_told() {
        let pair = || (case("redis", Durability::Os, 0, 20), case("redis", Durability::Os, 3, 20));
        let of = |during| Crash { during, ..Crash::default() };
        let crashes = || [of(CrashMoment::Write), of(CrashMoment::Recovery)];
        let refused = compared(&[pair()], crashes(), Allowed::default()).remove(0);
        assert!(refused.obstacle == Some(Obstacle::Unlike) && !refused.is_regression() && refused.breaks.is_none());
        let anyway = Allowed { unlike: Unlike::Compare, ..Allowed::default() };
        assert!(compared(&[pair()], crashes(), anyway)[0].is_regression());
        let levels = || [(case("redis", Durability::Os, 0, 20), case("redis", Durability::Commit, 3, 20))];
        let refused = compared(&levels(), Default::default(), Allowed::default()).remove(0);
        assert_eq!(refused.obstacle, Some(Obstacle::Across));
        let across = Allowed { across: Across::Compare, ..Allowed::default() };
        assert!(compared(&levels(), Default::default(), across)[0].is_regression());
    }

    #[test]
    fn levels_are_matched_by_store_and_level_and_those_that_are_named_as_they_are() {
        let all = |cases| Crash { cases, ..Crash::default() };
        let level = |store, level| case(store, level, 0, 1);
        let a = all(vec![level("redis", Durability::Os), level("redis", Durability::Commit)]);
        let b = all(vec![level("redis", Durability::Commit), level("valkey", Durability::Os)]);
        let matched = match_crashes(a.cases.iter().collect(), b.cases.iter().collect(), false);
        assert_eq!((matched.pairs.len(), matched.only_a.len(), matched.only_b.len()), (1, 1, 1));
        let named = |of, selector| select_crashes(of, selector).unwrap();
        assert_eq!(named(&a, "redis").len(), 2);
        let matched = match_crashes(named(&a, "redis,durability=os"), named(&b, "valkey"), true);
        assert_eq!(matched.pairs[0].1.store, "valkey");
        let error = select_crashes(&a, "redis,durability=second").unwrap_err().to_string();
        assert!(error.contains("redis,durability=os; redis,durability=commit"), "{error}");
    }
}
