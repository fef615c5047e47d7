//! One execution of a script.

use crate::history::{Scans, Sharing, ValueMemory, Which};
use crate::machine::{Surroundings, Survey};
use crate::read_back::{Item, ScriptReadBack};
use crate::rehearsal;
use crate::shares::{KeptPart, ScriptPart, ToldPhase, take_over};
use crate::standing::TrialState;
use crate::worker::ScriptWorker;
use jobkit::{JobError, Phase, SharePart, Trial, TrialSetup, Worker};
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use store::{Keeps, Slot};
use study::{Answer, Reason, WriteAccount};

/// Phases that are no work: what is there before and looked at behind.
const UNTIMED: [&str; 2] = ["load", "check"];

pub(crate) struct ScriptTrial {
    surroundings: Surroundings,
    standing: Arc<TrialState>,
    phases: Vec<(Part, Phase)>,
    units_count: bool,
    answers: bool,
    slots: u32,
    /// The slots of this process, and the number of its share.
    own: Range<Slot>,
    share: u32,
    items: OnceLock<Vec<Item>>,
    survey: Survey,
    sharing: Sharing,
    /// The keys of the script, found by running it without a store.
    rehearsed: OnceLock<Vec<Box<[u8]>>>,
}

/// What is done in a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// The script's function of this name.
    Script(String),
    ReadBack,
}

impl ScriptTrial {
    pub(crate) fn new(
        surroundings: Surroundings,
        survey: &Survey,
        sharing: Sharing,
        setup: &TrialSetup,
    ) -> ScriptTrial {
        let keeps = surroundings.capabilities.keeps;
        let values = keeps == Keeps::Nothing || surroundings.source.uses("append");
        let memory = if values { ValueMemory::Values } else { ValueMemory::Prints };
        let scans = ["scan", "range"].iter().any(|verb| surroundings.source.uses(verb));
        let scans = if scans { Scans::Checked } else { Scans::None };
        let mut phases = Vec::new();
        for name in &survey.phases {
            let shown: &'static str = name.clone().leak(); // a word per phase and trial
            let phase = if UNTIMED.contains(&shown) { Phase::untimed(shown, None) } else { Phase::timed(shown, None) };
            phases.push((Part::Script(name.clone()), phase));
        }
        if keeps == Keeps::Everything {
            phases.push((Part::ReadBack, Phase::read_back(None)));
        }
        if survey.answers {
            phases.push((Part::Script("answer".into()), Phase::untimed("answer", None)));
        }
        ScriptTrial {
            standing: Arc::new(TrialState::new(
                sharing,
                memory,
                keeps,
                scans,
                surroundings.capabilities.counter,
                surroundings.expires(),
            )),
            phases,
            units_count: survey.bench || surroundings.lasts(),
            answers: survey.answers && keeps == Keeps::Everything,
            slots: setup.slots,
            own: setup.own_slots(),
            share: setup.share.number,
            items: OnceLock::new(),
            survey: survey.clone(),
            sharing,
            rehearsed: OnceLock::new(),
            surroundings,
        }
    }
}

impl ScriptTrial {
    /// Returns why counters of the store are too small for the script, if they are.
    pub(crate) fn out_of_range(&self) -> Option<String> {
        self.standing.out_of_range()
    }

    /// Returns what the clients have left in the store, those of other processes among them whose parts were joined.
    fn kept(&self) -> KeptPart {
        let (sure, bytes) = self.standing.ledger.size(&self.own);
        // Nobody knows what commands and statements have left.
        let (_, commands) = self.standing.operations();
        let counters = self.standing.counters.left().zip(self.standing.records.left());
        let counters = counters.filter(|_| commands == 0 && !self.standing.has_failed());
        let own = KeptPart {
            keys: self.standing.ledger.keys_by(Which::There, &self.own).len() as u64,
            left: sure.zip(counters).map(|(keys, (counters, records))| keys + counters + records),
            bytes,
            account: self.standing.fates.account(),
        };
        own.and(self.standing.kept_elsewhere())
    }

    /// Returns every key that was written, or that commands were sent with, counters among them.
    pub(crate) fn written(&self) -> Vec<Box<[u8]>> {
        let mut keys = self.standing.ledger.keys(Which::Ever);
        keys.extend(self.standing.counters.keys());
        keys.extend(self.standing.records.keys());
        keys.extend(self.standing.ledger.command_keys());
        keys
    }
}

impl Trial for ScriptTrial {
    fn phases(&self) -> Vec<Phase> {
        self.phases.iter().map(|(_, phase)| *phase).collect()
    }

    fn worker(&self, phase: usize, slots: Range<Slot>) -> Box<dyn Worker + '_> {
        match &self.phases[phase].0 {
            Part::Script(name) => {
                let timed = self.phases[phase].1.timed;
                Box::new(ScriptWorker::new(
                    &self.surroundings,
                    &self.standing,
                    name,
                    phase as u16,
                    slots,
                    self.slots,
                    timed,
                ))
            }
            Part::ReadBack => {
                let items = self.items.get_or_init(|| Item::all(&self.standing, &self.own));
                Box::new(ScriptReadBack::new(&self.standing, items, slots, &self.own))
            }
        }
    }

    fn again(&self) -> Option<usize> {
        self.standing.fates.forget_found();
        self.phases.iter().position(|(part, _)| *part == Part::ReadBack)
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        let mut answer = Answer::default();
        let reasons: Vec<Reason> = self.standing.failure().into_iter().collect();
        if self.answers && reasons.is_empty() {
            let said = self.standing.said();
            answer.facts.insert("lines".into(), said.len().into());
            answer.digest = data::digest::of_lines(said);
        }
        if self.units_count {
            answer.facts.insert("units".into(), self.standing.units().into());
        }
        if let Some(lives) = &self.standing.lives {
            answer.facts.insert("expired_reads".into(), lives.expired().into());
        }
        if self.surroundings.source.judges() {
            let (operations, commands) = self.standing.operations();
            answer.facts.insert("commands".into(), commands.into());
            answer.facts.insert("operations".into(), operations.into());
        }
        let keys = self.kept().keys;
        answer.facts.insert("keys".into(), keys.into());
        (answer, reasons)
    }

    fn key(&self, index: u64, out: &mut Vec<u8>) -> bool {
        let keys =
            self.rehearsed.get_or_init(|| rehearsal::keys(&self.surroundings, &self.survey, self.sharing, self.slots));
        let key = usize::try_from(index).ok().and_then(|index| keys.get(index));
        key.inspect(|key| out.extend_from_slice(key)).is_some()
    }

    fn judges_unfinished(&self) -> bool {
        true
    }

    fn account(&self) -> Option<WriteAccount> {
        (self.surroundings.capabilities.keeps == Keeps::Everything).then(|| self.kept().account)
    }

    fn expect_faults(&self) {
        self.standing.expect_faults();
    }

    fn keys_left(&self) -> Option<u64> {
        self.kept().left
    }

    /// What was written in the phase before: the clients of all processes may read it from now on.
    fn tell(&self, phase: usize) -> Result<SharePart, JobError> {
        let Some(over) = phase.checked_sub(1) else { return Ok(SharePart::default()) };
        let (failure, writes) = (self.standing.failure(), self.standing.ledger.written_in(over as u16, &self.own));
        SharePart::of(&ToldPhase { share: self.share, failure, writes })
    }

    fn hear(&self, _: usize, told: SharePart) -> Result<(), JobError> {
        if told.is_empty() {
            return Ok(());
        }
        let ToldPhase { share, failure, writes } = told.found()?;
        if share == self.share {
            return Ok(());
        }
        if let Some(Reason { kind, example, .. }) = failure {
            self.standing.fail(kind, example);
        }
        let clash = take_over(&writes, |write, by| self.standing.ledger.hears(write, by))?;
        if let Some((key, by, clash)) = clash {
            let words = clash.explain(key, by.slot, self.surroundings.counting());
            self.standing.refuse(&clash, words);
        }
        Ok(())
    }

    fn part(&self) -> Result<SharePart, JobError> {
        let (operations, commands) = self.standing.operations();
        SharePart::of(&ScriptPart {
            failure: self.standing.failure(),
            said: self.standing.said(),
            units: self.standing.units(),
            operations,
            commands,
            kept: self.kept(),
        })
    }

    fn join(&self, part: SharePart) -> Result<(), JobError> {
        let ScriptPart { failure, said, units, operations, commands, kept } = part.found()?;
        if let Some(Reason { kind, example, .. }) = failure {
            self.standing.fail(kind, example);
        }
        said.iter().for_each(|line| self.standing.say(line));
        self.standing.add_units(units);
        self.standing.add_operations(operations, commands);
        self.standing.add_kept(kept);
        Ok(())
    }

    fn expires(&self) -> bool {
        self.standing.lives.is_some()
    }

    fn logical_bytes(&self) -> u64 {
        self.kept().bytes
    }

    fn set_deadline(&self, deadline: Duration) {
        self.standing.watch.set_deadline(deadline);
    }
}
