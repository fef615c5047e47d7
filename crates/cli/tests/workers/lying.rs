//! A fleet of which one worker does not say what it did.

use crate::common::Desk;
use runner::{
    About, Asked, ClockReading, Execution, Fleet, FleetEvent, FleetLink, FleetWorker, KeysFound, LocalFleet, Observer,
    PlannedStore, Request, Rounds, UnderWay, Variation,
};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use store::CommandLine;
use study::{Reason, Spec, TrialRecord};

/// Two workers, of which the second lies about the counts of phases, and if told so in its ticks as well.
struct Lying {
    honest: LocalFleet,
    lie: fn(&mut Value),
    doctors_ticks: bool,
}

impl FleetLink for Lying {
    fn size(&self) -> u32 {
        self.honest.size()
    }

    fn gather(&mut self, plan: &str, goes_on: &mut dyn FnMut() -> bool) -> Result<Vec<FleetWorker>, String> {
        self.honest.gather(plan, goes_on)
    }

    fn send(&mut self, worker: usize, message: &[u8]) {
        self.honest.send(worker, message);
    }

    fn receive(&mut self, patience: Duration) -> FleetEvent {
        let event = self.honest.receive(patience);
        let FleetEvent::Message { worker: 1, message } = event else { return event };
        let mut said: Value = serde_json::from_slice(&message).unwrap();
        if let Some(phase) = said.get_mut("Phase").filter(|phase| phase["phase"]["timed"] == true) {
            (self.lie)(&mut phase["outcome"]["counts"]);
        }
        if let Some(tick) = said.get_mut("Tick").filter(|tick| self.doctors_ticks && tick[0]["timed"] == true) {
            (self.lie)(&mut tick[1]);
        }
        FleetEvent::Message { worker: 1, message: serde_json::to_vec(&said).unwrap() }
    }

    fn kill(&mut self, worker: usize) {
        self.honest.kill(worker);
    }

    fn part(&mut self) -> Vec<Option<ClockReading>> {
        self.honest.part()
    }
}

/// Keeps the record of the only trial.
#[derive(Default)]
struct Keeper(Option<TrialRecord>);

impl Observer for Keeper {
    fn trial_started(&mut self, _: u32, _: u32, _: &str, _: bool) {}

    fn progress(&mut self, _: &UnderWay, _: measure::Progress) {}

    fn trial_finished(&mut self, _: usize, record: TrialRecord, _: Option<&About>) -> Result<(), String> {
        self.0 = Some(record);
        Ok(())
    }
}

/// Returns what is wrong with a trial of this parameter, half a second and more, of which one worker lies, doubts apart.
pub fn reasons_of_trial(lie: fn(&mut Value), doctors_ticks: bool, length: (&str, &str)) -> Vec<Reason> {
    let desk = Desk::new();
    let line = CommandLine::new(env!("CARGO_BIN_EXE_kvtrial")).arg("fork-server");
    let job = jobs::find("ycsb").unwrap();
    let set = [("records", "1000"), length].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let info = catalog::find("redis").unwrap();
    let link = Lying { honest: LocalFleet::new(2, line.clone()), lie, doctors_ticks };
    let request = Request {
        job,
        data: None,
        params: jobs::params(job, &set).unwrap(),
        stores: vec![PlannedStore { info, spec: Spec::private(info.name), asked: Asked::ByName, baseline: false }],
        settings: engine::Settings { clients: 2, ..engine::Settings::default() },
        rounds: Rounds::ONCE,
        seed: 42,
        base: desk.path().to_owned(),
        keys_found: KeysFound::Refuse,
        execution: Execution::Fleet(Fleet::new(Box::new(link), line)),
    };
    let plan = request.study(&Variation::none(), &mut |words| panic!("{words}")).unwrap();
    let mut keeper = Keeper::default();
    runner::run(&plan, &BTreeSet::new(), &[], &AtomicBool::new(false), &mut keeper).unwrap();
    let mut reasons = keeper.0.unwrap().verdict.reasons;
    reasons.retain(|reason| reason.kind.status() == study::Status::Void);
    reasons
}
