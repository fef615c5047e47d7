//! One execution on a store that keeps sets in a way of its own: build, sizes, unions, intersections, each timed by itself; then, of an
//! exact way, every id is read back, and what is kept as sketches is counted again.

use super::truth::{Counted, Lot, Truth, belongs};
use data::sets::IdSets;
use jobkit::{Offence, Phase, Step, Trial, Worker};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::{Reply, SetCombination, SetKeeper, SetPlan, SetPrecision, SetWay, Slot, Store, StoreError, needed};
use study::{Answer, Reason, ReasonKind};

/// Ids that are added by one call.
const BATCH: usize = 1 << 16;

/// Standard errors a sketch may be off by.
const FAR: f64 = 4.0;

/// What a phase does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Build,
    Sizes,
    Unions,
    Intersections,
    ReadBack,
}

const STAGES: [Stage; 5] = [Stage::Build, Stage::Sizes, Stage::Unions, Stage::Intersections, Stage::ReadBack];

impl Stage {
    fn name(self) -> &'static str {
        match self {
            Stage::Build => "build",
            Stage::Sizes => "size",
            Stage::Unions => "union",
            Stage::Intersections => "intersection",
            Stage::ReadBack => "read back",
        }
    }

    /// Whether this is where it is counted.
    fn counts(self, counted: &Counted) -> bool {
        match self {
            Stage::Build | Stage::ReadBack => false,
            Stage::Sizes => counted.sets.len() == 1,
            Stage::Unions => counted.sets.len() > 1 && counted.combination == SetCombination::Union,
            Stage::Intersections => counted.combination == SetCombination::Intersection,
        }
    }
}

/// State of one execution.
pub struct SetTrial<'a> {
    sets: &'a IdSets,
    truth: &'a Truth,
    way: SetWay,
    kept: Mutex<Kept>,
}

/// What the store has, and what it said.
struct Kept {
    keeper: Option<Box<dyn SetKeeper>>,
    /// What it counted; `None`: nothing, or nothing yet.
    counts: Vec<Option<u64>>,
    /// What was read back.
    lots: Vec<Lot>,
    bytes: Option<u64>,
    reasons: Vec<Reason>,
    /// What reading back is called now.
    reading: &'static str,
    /// Why there is no new connection to read again over.
    unconnected: Option<StoreError>,
}

impl<'a> SetTrial<'a> {
    /// Makes an execution of these sets, kept in this way.
    pub fn new(sets: &'a IdSets, truth: &'a Truth, way: SetWay) -> SetTrial<'a> {
        let counts = vec![None; truth.counted.len()];
        let reading = Stage::ReadBack.name();
        let (lots, reasons) = (Vec::new(), Vec::new());
        let kept = Kept { keeper: None, counts, lots, bytes: None, reasons, reading, unconnected: None };
        SetTrial { sets, truth, way, kept: Mutex::new(kept) }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ids_added(&self) -> usize {
        (0..self.sets.names().len()).map(|set| self.sets.added(set).len()).sum()
    }

    fn build(&self, store: &dyn Store, patience: Duration) -> Result<(), StoreError> {
        let plan = SetPlan { sets: self.sets.names().len(), ids: self.ids_added() };
        let mut keeper = needed(store.sets(), "sets of its own")?.set_keeper(plan, patience)?;
        for set in 0..plan.sets {
            self.sets.added(set).chunks(BATCH).try_for_each(|ids| keeper.add(set, ids))?;
        }
        keeper.settle()?;
        self.kept().keeper = Some(keeper);
        Ok(())
    }

    /// Has one thing counted; `None` where this way cannot.
    fn count(&self, keeper: &mut dyn SetKeeper, counted: &Counted) -> Result<Option<u64>, StoreError> {
        let Counted { combination, sets } = counted.clone();
        match (self.way.precision, combination) {
            (SetPrecision::HyperLogLog { .. }, SetCombination::Intersection) if sets.len() == 2 => {
                // Inclusion and exclusion: there is no other way.
                let mut size = |sets| keeper.count(SetCombination::Union, sets);
                let (a, b) = (size(sets.start..sets.start + 1)?, size(sets.start + 1..sets.end)?);
                Ok(Some((a + b).saturating_sub(size(sets)?)))
            }
            (SetPrecision::HyperLogLog { .. }, SetCombination::Intersection) => Ok(None),
            _ => keeper.count(combination, sets).map(Some),
        }
    }

    fn count_all(&self, stage: Stage) -> Result<(), StoreError> {
        let Kept { keeper, counts, .. } = &mut *self.kept();
        let keeper = keeper.as_mut().ok_or_else(not_built)?;
        for (counted, count) in self.truth.counted.iter().zip(counts).filter(|(counted, _)| stage.counts(counted)) {
            *count = self.count(&mut **keeper, counted)?;
        }
        Ok(())
    }

    fn read_back(&self) -> Result<(), StoreError> {
        let Kept { keeper, counts, lots, bytes, reasons, reading, unconnected } = &mut *self.kept();
        if let Some(error) = unconnected.take() {
            return Err(error);
        }
        let keeper = keeper.as_mut().ok_or_else(not_built)?;
        *bytes = keeper.bytes()?;
        if self.way.precision != SetPrecision::Exact {
            return self.count_again(&mut **keeper, counts, reasons, reading);
        }
        for (counted, right) in self.truth.counted.iter().zip(&self.truth.lots) {
            let mut lot = Lot::default();
            keeper.members(counted.combination, counted.sets.clone(), &mut |id| lot.add(id))?;
            lots.push(lot);
            if lot != *right {
                let mut found = Vec::new();
                keeper.members(counted.combination, counted.sets.clone(), &mut |id| found.push(id))?;
                reasons.extend(self.differences(counted, found, reading));
            }
        }
        Ok(())
    }

    /// A sketch keeps no ids: it must count as it did.
    fn count_again(
        &self,
        keeper: &mut dyn SetKeeper,
        counts: &[Option<u64>],
        reasons: &mut Vec<Reason>,
        reading: &str,
    ) -> Result<(), StoreError> {
        for (counted, before) in self.truth.counted.iter().zip(counts) {
            let now = self.count(keeper, counted)?;
            let (Some(before), Some(now)) = (*before, now) else { continue };
            if before != now {
                let kind = if now < before { ReasonKind::LostUpdates } else { ReasonKind::WrongNumber };
                let title = self.truth.title(counted);
                let example = format!("{title} was counted as {before}, and then as {now} (while: {reading})");
                reasons.push(Reason { kind, count: 1, example });
            }
        }
        Ok(())
    }

    /// What is wrong with the ids found, one reason for each kind of wrong, with the first id.
    fn differences(&self, counted: &Counted, mut found: Vec<u64>, reading: &str) -> Vec<Reason> {
        found.sort_unstable();
        let title = self.truth.title(counted);
        let is_right = |set: usize, id: u64| belongs(self.sets, counted, set, id);
        let of_any = |id: u64| counted.sets.clone().any(|set| self.sets.holds(set, id) && is_right(set, id));
        let twice = found.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        let foreign = found.iter().copied().filter(|&id| !of_any(id));
        let due = counted
            .sets
            .clone()
            .flat_map(|set| self.sets.distinct(set).iter().copied().filter(move |&id| is_right(set, id)));
        let lacking = due.filter(|id| found.binary_search(id).is_err());
        let reason = |kind, ids: &mut dyn Iterator<Item = u64>, words: &str| {
            let first = ids.next()?;
            let count = 1 + ids.count() as u64;
            Some(Reason { kind, count, example: format!("{title}: id {first} {words} (while: {reading})") })
        };
        [
            reason(ReasonKind::LostUpdates, &mut { lacking }, "was added and is missing"),
            reason(ReasonKind::ForeignData, &mut { foreign }, "does not belong there"),
            reason(ReasonKind::WrongValue, &mut { twice }, "is there twice"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The standard error of a count, in ids.
    fn standard_error(&self, at: usize) -> f64 {
        let Counted { combination, sets } = &self.truth.counted[at];
        let (precision, right) = (self.way.precision, self.truth.lots[at].count);
        if *combination == SetCombination::Union {
            return precision.count_error(right);
        }
        let each: Vec<u64> = sets.clone().map(|set| self.truth.lots[set].count).collect();
        let union = Counted { combination: SetCombination::Union, sets: sets.clone() };
        let union = self.truth.counted.iter().position(|counted| *counted == union);
        precision.intersection_error(&each, union.map_or(0, |at| self.truth.lots[at].count), right)
    }

    /// What is wrong with the counts.
    fn wrong_counts(&self, counts: &[Option<u64>]) -> Vec<Reason> {
        let wrong = |at: usize, count: u64| {
            let (right, error) = (self.truth.lots[at].count, self.standard_error(at));
            let off = (count as f64 - right as f64).abs();
            // A count is a whole number.
            if off <= FAR * error + if error > 0.0 { 0.5 } else { 0.0 } {
                return None;
            }
            let title = self.truth.title(&self.truth.counted[at]);
            let (count, right) = (study::whole(count), study::whole(right));
            let example = match self.way.precision {
                SetPrecision::Exact => format!("{title} was counted as {count}; it has {right} ids"),
                _ => format!(
                    "{title} was counted as {count}; it has {right} ids, and the standard error is {error:.0}: off by {:.1} of them, \
                     at most {FAR} can be chance",
                    off / error.max(f64::MIN_POSITIVE)
                ),
            };
            Some(Reason { kind: ReasonKind::WrongNumber, count: 1, example })
        };
        counts.iter().enumerate().filter_map(|(at, count)| wrong(at, (*count)?)).collect()
    }

    /// Relative errors of what a stage counted, root mean square: found, and as theory has them.
    fn errors(&self, stage: Stage, counts: &[Option<u64>]) -> Option<(f64, f64)> {
        let squares = self.truth.counted.iter().enumerate().filter(|(_, counted)| stage.counts(counted));
        let squares: Vec<(f64, f64)> = squares
            .filter_map(|(at, _)| {
                let (count, right) = (counts[at]? as f64, self.truth.lots[at].count as f64);
                let share = |ids: f64| (ids / right).powi(2);
                (right > 0.0).then(|| (share(count - right), share(self.standard_error(at))))
            })
            .collect();
        let mean = |sum: f64| (sum / squares.len() as f64).sqrt();
        (!squares.is_empty())
            .then(|| (mean(squares.iter().map(|(found, _)| found).sum()), mean(squares.iter().map(|(_, is)| is).sum())))
    }

    fn facts(&self, counts: &[Option<u64>], bytes: Option<u64>) -> BTreeMap<String, Value> {
        let mut facts = BTreeMap::from([
            ("way".to_owned(), json!(self.way.name)),
            ("ids".to_owned(), json!(self.truth.distinct)),
            ("exact".to_owned(), json!(self.way.precision == SetPrecision::Exact)),
        ]);
        for stage in [Stage::Sizes, Stage::Unions, Stage::Intersections] {
            let Some((found, theory)) = self.errors(stage, counts) else { continue };
            facts.insert(format!("{}_error", stage.name()), json!(found));
            facts.insert(format!("{}_standard_error", stage.name()), json!(theory));
        }
        let counted = self.truth.counted.iter().zip(counts).zip(&self.truth.lots);
        let counted = counted.take(SHOWN).filter_map(|((counted, count), lot)| {
            count.map(|count| json!({"what": self.truth.title(counted), "counted": count, "is": lot.count}))
        });
        facts.insert("counted".into(), counted.collect());
        if let Some(bytes) = bytes {
            facts.insert("bytes".into(), json!(bytes));
            facts.insert("bytes_per_id".into(), json!(bytes as f64 / self.truth.distinct.max(1) as f64));
        }
        facts
    }
}

/// Counts that are in the study one by one; of more only their errors.
const SHOWN: usize = 64;

fn not_built() -> StoreError {
    StoreError::Consequence("the sets were not built".into())
}

impl Trial for SetTrial<'_> {
    fn phases(&self) -> Vec<Phase> {
        let ids = self.ids_added() as u64;
        let phase = |stage: &Stage| match stage {
            // Of a sketch as many numbers as were counted.
            Stage::ReadBack if self.way.precision != SetPrecision::Exact => {
                Phase::read_back(Some(1)).carrying(self.truth.counted.len() as u64)
            }
            Stage::ReadBack => Phase::read_back(Some(1)).carrying(self.truth.lots.iter().map(|lot| lot.count).sum()),
            Stage::Build => Phase::timed(stage.name(), Some(1)).carrying(ids),
            _ => {
                let counted = self.truth.counted.iter().filter(|counted| stage.counts(counted));
                let of = |counted: &Counted| counted.sets.clone().map(|set| self.truth.lots[set].count).sum::<u64>();
                Phase::timed(stage.name(), Some(1)).carrying(counted.map(of).sum())
            }
        };
        STAGES.iter().map(phase).collect()
    }

    fn worker(&self, _: usize, _: Range<Slot>) -> Box<dyn Worker + '_> {
        Box::new(Nothing)
    }

    fn whole(&self, phase: usize, store: &dyn Store, patience: Duration) -> Option<Result<(), StoreError>> {
        Some(match STAGES[phase] {
            Stage::Build => self.build(store, patience),
            Stage::ReadBack => self.read_back(),
            stage => self.count_all(stage),
        })
    }

    fn renew(&self) {
        let kept = &mut *self.kept();
        kept.unconnected = kept.keeper.as_mut().and_then(|keeper| keeper.renew().err());
    }

    fn again(&self) -> Option<usize> {
        let mut kept = self.kept();
        kept.lots.clear();
        kept.reading = "read again";
        STAGES.iter().position(|stage| *stage == Stage::ReadBack)
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        let Kept { keeper, counts, lots, bytes, reasons, .. } = &mut *self.kept();
        let digest = if lots.len() == self.truth.lots.len() { self.truth.digest_with(lots) } else { String::new() };
        let mut all = self.wrong_counts(counts);
        all.append(reasons);
        // What the store keeps for them is not needed any more.
        *keeper = None;
        (Answer { digest, facts: self.facts(counts, *bytes) }, all)
    }

    fn key(&self, index: u64, out: &mut Vec<u8>) -> bool {
        let sets = self.sets.names().len() as u64;
        let key = match index {
            index if index < sets => store::set_key(index as usize),
            index if index == sets => store::SET_RESULT_KEY.to_owned(),
            _ => return false,
        };
        out.extend_from_slice(key.as_bytes());
        true
    }
}

/// No phase is carried out by operations.
struct Nothing;

impl Worker for Nothing {
    fn next(&mut self, _: Slot) -> Step<'_> {
        Step::Finished
    }

    fn reply(&mut self, _: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        Err(Offence::failed(b"", reply))
    }
}
