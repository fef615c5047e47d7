//! One execution: the pipeline, its summaries into the store, and every one of them read back.

use super::pipeline::{PipelinePlan, Summed, summarize};
use super::store_phase::{CountersFound, SummaryReader, SummaryWriter};
use super::table::EventSummary;
use super::truth::Truth;
use super::waiting::SPINS;
use crate::marks::OnceWritten;
use data::events::EventText;
use jobkit::{Phase, Trial, TrialSetup, Worker};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;
use store::{Keeps, Slot, Store, StoreError};
use study::{Answer, Reason, ReasonKind, WriteAccount};

/// A counter takes no more, whatever a store writes it as.
const COUNT_BYTES: u64 = 64;

/// State shared by the workers of one execution.
pub struct EventTrial<'a> {
    text: &'a EventText,
    /// What must come out.
    pub(super) truth: &'a Truth,
    plan: PipelinePlan,
    /// Slots of the trial.
    pub(super) slots: usize,
    /// Whether what is put can be read.
    pub(super) keeps: bool,
    /// Of the random choices.
    pub(super) seed: u64,
    summed: OnceLock<Summed>,
    found: Mutex<CountersFound>,
    /// What became of the puts.
    pub(super) puts: OnceWritten,
}

impl<'a> EventTrial<'a> {
    /// Makes an execution on an empty store.
    pub fn new(text: &'a EventText, truth: &'a Truth, plan: PipelinePlan, setup: &TrialSetup) -> EventTrial<'a> {
        EventTrial {
            text,
            truth,
            plan,
            slots: setup.slots.max(1) as usize,
            keeps: setup.capabilities.keeps == Keeps::Everything,
            seed: setup.seed,
            summed: OnceLock::new(),
            found: Mutex::default(),
            puts: OnceWritten::below(truth.counters.len() as u64),
        }
    }

    /// Returns the results of the summarizers.
    pub(super) fn summaries(&self) -> &[EventSummary] {
        self.summed.get().map_or(&[], |summed| &summed.summaries)
    }

    /// Returns the number of the counter that a summary at this place is of, as they are read back.
    #[cold]
    pub(super) fn number_of(&self, at: usize) -> Option<u64> {
        self.summaries().get(at).and_then(|summary| self.truth.number_of(summary))
    }

    /// Takes what a thread has read back.
    pub(super) fn take(&self, found: CountersFound) {
        let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        all.read += found.read;
        all.sum += found.sum;
        all.wrong.extend(found.wrong);
    }

    /// Returns what is wrong with the summarizers' result, before any store was asked.
    fn miscounted(&self) -> Vec<Reason> {
        let Some(summed) = self.summed.get() else { return Vec::new() };
        let mut reasons = Vec::new();
        let mut compare = |counted: u64, right: u64, words: &str| {
            if counted != right {
                let kind = if counted < right { ReasonKind::LostUpdates } else { ReasonKind::WrongNumber };
                let example = format!("the summarizers counted {counted} {words}; the events have {right}");
                reasons.push(Reason { kind, count: counted.abs_diff(right), example });
            }
        };
        compare(summed.additions, self.truth.additions, "additions to counters");
        compare(summed.summaries.len() as u64, self.truth.counters.len() as u64, "counters");
        reasons
    }

    fn facts(&self, found: &CountersFound) -> BTreeMap<String, Value> {
        let mut facts = BTreeMap::from([
            ("events".to_owned(), json!(self.truth.events)),
            ("counters_read_back".to_owned(), json!(found.read)),
            ("counters_wrong".to_owned(), json!(found.wrong.len())),
            ("sum_of_counters".to_owned(), json!(found.sum)),
        ]);
        let Some(summed) = self.summed.get() else { return facts };
        let mut say = |name: &str, value| drop(facts.insert(name.to_owned(), value));
        say("additions", json!(summed.additions));
        let events_per_s = self.truth.events as f64 / summed.elapsed.as_secs_f64().max(1e-9);
        say("summarized_events_per_s", json!(events_per_s));
        let Some(kind) = self.plan.queue else { return facts };
        say("queue", json!(kind.name));
        say("queue_size", json!(self.plan.size));
        say("queue_depth_mean", json!(summed.depth.sum as f64 / summed.depth.times.max(1) as f64));
        say("queue_depth_max", json!(summed.depth.most));
        say("parsers_waiting_share", json!(summed.parsers.waiting_share()));
        say("summarizers_waiting_share", json!(summed.summarizers.waiting_share()));
        say("parsers_sleeps", json!(summed.parsers.waited.sleeps));
        say("summarizers_sleeps", json!(summed.summarizers.waited.sleeps));
        say("spins_before_sleep", json!(SPINS));
        facts
    }
}

impl Trial for EventTrial<'_> {
    fn phases(&self) -> Vec<Phase> {
        let counters = self.truth.counters.len() as u64;
        // Rates are of events, so counters carry none.
        let mut phases = vec![
            Phase::timed("summarize", Some(1)).carrying(self.truth.events),
            Phase::timed("store", Some(counters)).carrying(0),
        ];
        if self.keeps {
            phases.push(Phase::read_back(Some(counters)));
        }
        phases
    }

    fn whole(&self, phase: usize, _: &dyn Store, _: Duration) -> Option<Result<(), StoreError>> {
        (phase == 0).then(|| {
            let summed = summarize(self.text, &self.plan).map_err(|error| {
                StoreError::Session(format!("a thread could not be started: {error}; use fewer parsers or summarizers"))
            })?;
            let _ = self.summed.set(summed); // the phase runs once
            Ok(())
        })
    }

    fn worker(&self, phase: usize, slots: Range<Slot>) -> Box<dyn Worker + '_> {
        match phase {
            0 | 1 => Box::new(SummaryWriter::new(self, slots)),
            _ => Box::new(SummaryReader::new(self, slots)),
        }
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let digest = match found.read == self.truth.counters.len() as u64 {
            true => self.truth.digest(&found.wrong),
            false => String::new(),
        };
        (Answer { digest, facts: self.facts(&found) }, self.miscounted())
    }

    fn largest_reply_bytes(&self) -> Option<u64> {
        Some(COUNT_BYTES)
    }

    fn again(&self) -> Option<usize> {
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = CountersFound::default();
        self.keeps.then_some(2)
    }

    fn judges_unfinished(&self) -> bool {
        true
    }

    fn account(&self) -> Option<WriteAccount> {
        self.keeps.then(|| self.puts.account())
    }

    fn keys_left(&self) -> Option<u64> {
        self.puts.are_all_acknowledged().then_some(self.truth.counters.len() as u64)
    }

    fn key(&self, index: u64, out: &mut Vec<u8>) -> bool {
        let counter = usize::try_from(index).ok().and_then(|index| self.truth.counters.get(index));
        counter.is_some_and(|counter| {
            counter.key(out);
            true
        })
    }

    fn logical_bytes(&self) -> u64 {
        if self.keeps { self.truth.logical_bytes } else { 0 }
    }
}
