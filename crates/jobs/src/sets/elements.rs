//! One execution on a store without sets of its own: each id of a set is a key, put and got one by one. A union counts the ids of each set
//! that no earlier one has; an intersection those of the first that all others have. Every reply is checked, and every id read back.

mod builder;

use super::truth::{Counted, Lot, Truth};
use crate::marks::{Marks, OnceWritten};
use builder::Builder;
use data::sets::IdSets;
use jobkit::{Offence, Phase, Step, Trial, TrialSetup, Worker};
use serde_json::json;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use store::{Keeps, Operation, Reply, SetCombination, Slot};
use study::{Answer, Reason, ReasonKind, WriteAccount};

/// `0a:0123456789abcdef`: the set and the id.
pub const KEY_BYTES: usize = 19;

/// What is under every key.
const VALUE: &[u8] = b"1";

/// What a phase does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Build,
    Count(SetCombination),
    ReadBack,
}

/// State shared by the workers of one execution.
pub struct ElementTrial<'a> {
    sets: &'a IdSets,
    truth: &'a Truth,
    slots: usize,
    keeps: Keeps,
    /// Ids found of each thing that is counted.
    found: Mutex<Vec<Lot>>,
    /// The fate of the puts: each set's ids come behind those of the sets before it.
    puts: OnceWritten,
    /// Ids whose put was acknowledged, where some are put more than once.
    acknowledged: Option<Marks>,
}

impl<'a> ElementTrial<'a> {
    /// Makes an execution on an empty store.
    pub fn new(sets: &'a IdSets, truth: &'a Truth, setup: &TrialSetup) -> ElementTrial<'a> {
        let all = 0..sets.names().len();
        let ids = all.clone().map(|set| sets.distinct(set).len() as u64).sum();
        let are_put_twice = all.into_iter().any(|set| sets.added(set).len() != sets.distinct(set).len());
        ElementTrial {
            sets,
            truth,
            slots: setup.slots.max(1) as usize,
            keeps: setup.capabilities.keeps,
            found: Mutex::new(vec![Lot::default(); truth.counted.len()]),
            puts: OnceWritten::below(ids),
            acknowledged: are_put_twice.then(|| Marks::below(ids)),
        }
    }

    /// The number of a set's id over all sets; beyond all where it is in none.
    #[cold]
    fn number(&self, set: usize, id: u64) -> u64 {
        let before: usize = (0..set).map(|set| self.sets.distinct(set).len()).sum();
        self.sets.number(set, id).map_or(u64::MAX, |number| before as u64 + number)
    }

    /// An id was put, or not: it may be missing then, unless it was put before.
    #[cold]
    fn is_put(&self, set: usize, id: u64, put: Put) {
        let number = self.number(set, id);
        let acknowledged = self.acknowledged.as_ref();
        match put {
            Put::Done => {
                acknowledged.into_iter().for_each(|all| all.mark(number));
                self.puts.is_there(number);
            }
            _ if acknowledged.is_some_and(|all| all.has(number)) => {}
            Put::Failed => self.puts.fails(number),
            Put::NeverSent => self.puts.leaves_out(number),
        }
    }

    /// Ids of all sets.
    fn ids(&self) -> u64 {
        (0..self.sets.names().len()).map(|set| self.sets.distinct(set).len() as u64).sum()
    }

    fn stages(&self) -> &'static [Stage] {
        const ALL: [Stage; 4] = [
            Stage::Build,
            Stage::Count(SetCombination::Union),
            Stage::Count(SetCombination::Intersection),
            Stage::ReadBack,
        ];
        if self.keeps == Keeps::Everything { &ALL } else { &ALL[..3] }
    }

    fn merge(&self, found: &[Lot]) {
        let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter_mut().zip(found).for_each(|(all, found)| all.merge(*found));
    }

    /// What a phase counts: numbers of things.
    fn counted(&self, stage: Stage) -> Vec<usize> {
        let all = self.truth.counted.iter().enumerate();
        let is = |counted: &Counted| match stage {
            Stage::Build => false,
            Stage::ReadBack => counted.sets.len() == 1,
            Stage::Count(combination) => counted.combination == combination && counted.sets.len() > 1,
        };
        all.filter(|(_, counted)| is(counted)).map(|(at, _)| at).collect()
    }
}

/// The sets whose ids are gone through for what is counted, those each id is asked for in the meantime, and what says that it counts.
fn walked(counted: &Counted) -> Range<usize> {
    match counted.combination {
        _ if counted.sets.len() == 1 => counted.sets.clone(),
        SetCombination::Union => counted.sets.clone(),
        SetCombination::Intersection => counted.sets.start..counted.sets.start + 1,
    }
}

/// The sets in which an id of set `of` is looked for.
fn asked(counted: &Counted, of: usize) -> Range<usize> {
    match counted.combination {
        _ if counted.sets.len() == 1 => counted.sets.clone(),
        SetCombination::Union => counted.sets.start..of,
        SetCombination::Intersection => counted.sets.start + 1..counted.sets.end,
    }
}

impl Trial for ElementTrial<'_> {
    fn phases(&self) -> Vec<Phase> {
        let added: usize = (0..self.sets.names().len()).map(|set| self.sets.added(set).len()).sum();
        let phase = |stage: &Stage| match stage {
            Stage::Build => Phase::timed("build", Some(added as u64)),
            Stage::Count(SetCombination::Union) => Phase::timed("union", None),
            Stage::Count(SetCombination::Intersection) => Phase::timed("intersection", None),
            Stage::ReadBack => Phase::read_back(Some(self.ids())),
        };
        self.stages().iter().map(phase).collect()
    }

    fn worker(&self, phase: usize, slots: Range<Slot>) -> Box<dyn Worker + '_> {
        let (first, states) = (slots.start as usize, vec![SlotState::default(); slots.len()]);
        match self.stages()[phase] {
            Stage::Build => Box::new(Builder::new(self, first, states)),
            stage => {
                let found = vec![Lot::default(); self.truth.counted.len()];
                Box::new(Asker { trial: self, first, states, todo: self.counted(stage), found })
            }
        }
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        if self.keeps == Keeps::Nothing {
            return (Answer::default(), Vec::new());
        }
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let facts = [("way", json!("elements")), ("ids", json!(self.truth.distinct)), ("exact", json!(true))];
        let facts: BTreeMap<_, _> = facts.map(|(name, value)| (name.to_owned(), value)).into();
        (Answer { digest: self.truth.digest_with(&found), facts }, Vec::new())
    }

    fn largest_reply_bytes(&self) -> Option<u64> {
        Some((KEY_BYTES + VALUE.len()) as u64)
    }

    fn again(&self) -> Option<usize> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let alone = self.truth.counted.iter().map(|counted| counted.sets.len() == 1);
        found.iter_mut().zip(alone).filter(|(_, alone)| *alone).for_each(|(lot, _)| *lot = Lot::default());
        self.stages().iter().position(|stage| *stage == Stage::ReadBack)
    }

    fn judges_unfinished(&self) -> bool {
        true
    }

    fn account(&self) -> Option<WriteAccount> {
        (self.keeps == Keeps::Everything).then(|| self.puts.account())
    }

    fn keys_left(&self) -> Option<u64> {
        self.puts.are_all_acknowledged().then(|| self.ids())
    }

    fn key(&self, index: u64, out: &mut Vec<u8>) -> bool {
        let mut left = index;
        for set in 0..self.sets.names().len() {
            let ids = self.sets.distinct(set);
            match ids.get(left as usize) {
                Some(&id) => {
                    out.extend_from_slice(&key_of(set, id));
                    return true;
                }
                None => left -= ids.len() as u64,
            }
        }
        false
    }

    fn logical_bytes(&self) -> u64 {
        match self.keeps {
            Keeps::Everything => self.ids() * (KEY_BYTES + VALUE.len()) as u64,
            Keeps::Nothing => 0,
        }
    }
}

/// What became of a put.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Put {
    Done,
    Failed,
    NeverSent,
}

fn key_of(set: usize, id: u64) -> [u8; KEY_BYTES] {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut key = [b':'; KEY_BYTES];
    key[0] = HEX[set >> 4 & 15];
    key[1] = HEX[set & 15];
    for (at, byte) in key[3..].iter_mut().enumerate() {
        *byte = HEX[(id >> (60 - 4 * at)) as usize & 15];
    }
    key
}

/// Where a slot is: in what is counted, in a set of it, at an id, looking for it in a set.
#[derive(Clone, Debug, Default)]
struct SlotState {
    counted: usize,
    set: usize,
    /// The slot's how manieth id of the set.
    turn: usize,
    /// How many sets it was looked for in.
    looked: usize,
    key: [u8; KEY_BYTES],
}

/// Goes through ids and looks for them in other sets.
struct Asker<'a> {
    trial: &'a ElementTrial<'a>,
    first: usize,
    states: Vec<SlotState>,
    /// What is to be counted.
    todo: Vec<usize>,
    found: Vec<Lot>,
}

impl Drop for Asker<'_> {
    fn drop(&mut self) {
        self.trial.merge(&self.found);
    }
}

impl Asker<'_> {
    /// The id the slot is at, with its number of what is counted and its set; moves on where there is nothing more.
    fn at(&mut self, slot: usize) -> Option<(usize, usize, u64)> {
        let state = &mut self.states[slot];
        loop {
            let &counted = self.todo.get(state.counted)?;
            let walked = walked(&self.trial.truth.counted[counted]);
            let set = walked.start + state.set;
            if set >= walked.end {
                (state.counted, state.set, state.turn) = (state.counted + 1, 0, 0);
                continue;
            }
            let at = state.turn * self.trial.slots + self.first + slot;
            match self.trial.sets.distinct(set).get(at) {
                Some(&id) => return Some((counted, set, id)),
                None => (state.set, state.turn) = (state.set + 1, 0),
            }
        }
    }

    /// The slot's id is done with.
    fn done(&mut self, slot: usize) {
        let state = &mut self.states[slot];
        (state.turn, state.looked) = (state.turn + 1, 0);
    }
}

impl Worker for Asker<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let slot = slot as usize;
        loop {
            let Some((counted, set, id)) = self.at(slot) else { return Step::Finished };
            let asked = asked(&self.trial.truth.counted[counted], set);
            let looked_in = asked.start + self.states[slot].looked;
            if looked_in < asked.end {
                let state = &mut self.states[slot];
                state.key = key_of(looked_in, id);
                return Step::Operation(Operation::Get { key: &state.key });
            }
            // Nowhere to be looked for: the first set of a union.
            self.found[counted].add(id);
            self.done(slot);
        }
    }

    fn is_done(&mut self, slot: Slot) -> bool {
        self.at(slot as usize).is_none()
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let slot = slot as usize;
        let key = self.states[slot].key;
        let Some((counted, set, id)) = self.at(slot) else { return Err(Offence::failed(&key, reply)) };
        let what = &self.trial.truth.counted[counted];
        let asked = asked(what, set);
        let looked_in = asked.start + self.states[slot].looked;
        let hit = match reply {
            Reply::Value(VALUE) => true,
            Reply::Missing => false,
            Reply::Value(_) if self.trial.keeps == Keeps::Everything => {
                self.done(slot);
                return Err(Offence::new(ReasonKind::WrongValue, &key, "what it holds is not what was put"));
            }
            other => {
                self.done(slot);
                return Err(Offence::failed(&key, other));
            }
        };
        let alone = what.sets.len() == 1;
        let wanted = alone || what.combination == SetCombination::Intersection;
        self.states[slot].looked += 1;
        let last = self.states[slot].looked == asked.len();
        if hit != wanted || last {
            if hit == wanted {
                self.found[counted].add(id);
            }
            self.done(slot);
        }
        if self.trial.keeps == Keeps::Nothing || hit == self.trial.sets.holds(looked_in, id) {
            if hit && self.trial.puts.failed() > 0 {
                self.trial.puts.is_there(self.trial.number(looked_in, id));
            }
            return Ok(());
        }
        if !hit && self.trial.puts.may_be_missing(self.trial.number(looked_in, id)) {
            return Ok(());
        }
        let title = self.trial.truth.title(what);
        Err(match hit {
            true => Offence::new(ReasonKind::UnexpectedHit, &key, format!("{title}: it was never put")),
            false => Offence::new(ReasonKind::UnexpectedMiss, &key, format!("{title}: it was put and is missing")),
        })
    }
}
