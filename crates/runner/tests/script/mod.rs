//! A store that does what a test says, and notes when it was opened and where: `ram` beneath, in this process.

use kvtrial_runner::{
    About, Asked, Execution, KeysFound, Observer, Plan, PlannedStore, Request, Rounds, UnderWay, Variation,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use store::{
    Availability, BUILT_IN, Capabilities, Facts, Failure, Opener, Operation, OptionInfo, Reply, Session, SessionPlan,
    Sink, Store, StoreError, StoreInfo, Threading, Until,
};
use study::{Class, Durability, Left, Spec, TrialRecord};

/// The stores of a plan, by their option `as`.
pub const NAMES: &[&str] = &["a", "b", "c", "d"];

pub static SCRIPTED: StoreInfo = StoreInfo {
    name: "scripted",
    family: "scripted",
    transport: None,
    driver: None,
    class: Class::Embedded,
    kind: "test",
    summary: "does what a test says",
    durabilities: &[Durability::None],
    options: &[OptionInfo::one_of("as", NAMES, "which of them it is")],
    install: BUILT_IN,
    licence: "MIT OR Apache-2.0",
    declares: |_| Capabilities::BASIC,
    probe: || Availability::Found("scripted".into()),
    opener: Opener::Embedded(open),
};

/// What a store does the next time it is opened.
#[derive(Clone, Debug, Default)]
pub enum Act {
    /// All that it should.
    #[default]
    Behave,
    /// It cannot be opened.
    Refuse,
    /// Its session breaks in the middle of the work.
    Break,
    /// Its first read is refused.
    Fail,
    /// The user asks for the end while it works.
    Interrupt(Arc<AtomicBool>),
}

/// What a test's stores are to do, and what was done with them. Stores are opened on the test's own thread.
#[derive(Default)]
struct Script {
    /// By how many were opened before, of all stores.
    acts: BTreeMap<usize, Act>,
    opened: Vec<(String, PathBuf)>,
}

thread_local! {
    static SCRIPT: RefCell<Script> = RefCell::default();
}

/// The store that is opened as the `number`th (from 0) does this.
pub fn let_opening(number: usize, act: Act) {
    SCRIPT.with_borrow_mut(|script| script.acts.insert(number, act));
}

/// Which stores were opened so far, and where.
pub fn opened() -> Vec<(String, PathBuf)> {
    SCRIPT.with_borrow(|script| script.opened.clone())
}

fn open(spec: &Spec, directory: &Path) -> Result<Box<dyn Store>, StoreError> {
    let act = SCRIPT.with_borrow_mut(|script| {
        let number = script.opened.len();
        script.opened.push((spec.options["as"].clone(), directory.to_owned()));
        script.acts.remove(&number).unwrap_or_default()
    });
    if matches!(act, Act::Refuse) {
        return Err(StoreError::open("scripted", "it is not to be opened"));
    }
    let Opener::Embedded(open) = catalog::find("ram").unwrap().opener else { unreachable!("ram is a library") };
    Ok(Box::new(Scripted { honest: open(&Spec::private("ram"), directory)?, act }))
}

struct Scripted {
    honest: Box<dyn Store>,
    act: Act,
}

impl Store for Scripted {
    fn capabilities(&self) -> &Capabilities {
        &Capabilities::BASIC
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Ok(Box::new(ScriptedSession { honest: self.honest.session(plan)?, act: self.act.clone(), operations: 0 }))
    }

    fn threading(&self) -> Threading {
        self.honest.threading()
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        Ok(Facts { product: "Scripted".into(), ..Facts::default() })
    }
}

struct ScriptedSession {
    honest: Box<dyn Session>,
    act: Act,
    operations: u32,
}

impl Session for ScriptedSession {
    fn submit(&mut self, slot: u32, operation: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        self.operations += 1;
        match &self.act {
            Act::Break if self.operations == 20 => return Err(StoreError::Session("it broke".into())),
            Act::Fail if matches!(operation, Operation::Get { .. }) => {
                self.act = Act::Behave;
                return Ok(Some(Reply::Failed(Failure::Refused("not now"))));
            }
            Act::Interrupt(stop) => {
                stop.store(true, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(5)); // long enough for somebody to look
            }
            _ => {}
        }
        self.honest.submit(slot, operation)
    }

    fn poll(&mut self, cx: &mut Context<'_>, until: Until, sink: &mut dyn Sink) -> Poll<Result<(), StoreError>> {
        self.honest.poll(cx, until, sink)
    }
}

/// A plan for these stores, on a small job; nothing it makes outlives `base`.
pub fn plan(stores: usize, warmups: u32, repeats: u32, base: &Path) -> Plan {
    plan_with_patience(stores, warmups, repeats, None, base)
}

/// The same, with rounds left out that would take longer than this.
pub fn plan_with_patience(stores: usize, warmups: u32, repeats: u32, patience: Option<Duration>, base: &Path) -> Plan {
    let job = jobs::find("ycsb").unwrap();
    let set = [("records", "100"), ("operations", "200")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    let params = jobs::params(job, &set).unwrap();
    let store = |name: &&str| PlannedStore {
        info: &SCRIPTED,
        spec: format!("scripted,as={name}").parse().unwrap(),
        asked: Asked::ByName,
        baseline: false,
    };
    let request = Request {
        job,
        data: None,
        params,
        stores: NAMES[..stores].iter().map(store).collect(),
        settings: engine::Settings::default(),
        rounds: Rounds { warmups, repeats, patience, ..Rounds::ONCE },
        seed: 42,
        base: base.to_owned(),
        keys_found: KeysFound::Refuse,
        execution: Execution::InProcess,
    };
    request.study(&Variation::none(), &mut |words| panic!("{words}")).unwrap()
}

/// Writes down what it hears.
#[derive(Default)]
pub struct Diary {
    /// Order and label of each trial that began, and whether it was a warm-up.
    pub began: Vec<(u32, String, bool)>,
    /// Cell, record and product of each that was finished.
    pub finished: Vec<(usize, TrialRecord, Option<String>)>,
    /// Cells that could not be run.
    pub failed: Vec<(usize, String)>,
    pub left: Vec<Left>,
    pub settled: Option<u32>,
    /// Asks for the end when this many trials are finished.
    pub enough: Option<(usize, Arc<AtomicBool>)>,
    /// Trials it has room for.
    pub room: Option<usize>,
}

impl Observer for Diary {
    fn trial_started(&mut self, order: u32, _: u32, store: &str, warmup: bool) {
        self.began.push((order, store.to_owned(), warmup));
    }

    fn progress(&mut self, _: &UnderWay, _: measure::Progress) {}

    fn rounds_settled(&mut self, repeats: u32) -> Result<(), String> {
        self.settled = Some(repeats);
        Ok(())
    }

    fn leaves(&mut self, left: Left) -> Result<(), String> {
        self.left.push(left);
        Ok(())
    }

    fn cell_failed(&mut self, cell: usize, error: &kvtrial_runner::RunError) {
        self.failed.push((cell, error.to_string()));
    }

    fn trial_finished(&mut self, cell: usize, record: TrialRecord, about: Option<&About>) -> Result<(), String> {
        if self.room == Some(self.finished.len()) {
            return Err("the disk is full".into());
        }
        self.finished.push((cell, record, about.map(|about| about.facts.product.clone())));
        if let Some((enough, stop)) = &self.enough
            && self.finished.len() == *enough
        {
            stop.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Diary {
    /// Orders of the finished trials.
    pub fn orders(&self) -> Vec<u32> {
        self.finished.iter().map(|(_, record, _)| record.order).collect()
    }

    /// Kinds of the reasons of a finished trial.
    pub fn reasons(&self, number: usize) -> Vec<String> {
        self.finished[number].1.verdict.reasons.iter().map(|reason| reason.kind.name()).collect()
    }

    /// Whether a finished trial counts.
    pub fn is_ranked(&self, number: usize) -> bool {
        self.finished[number].1.verdict.is_ranked()
    }
}
