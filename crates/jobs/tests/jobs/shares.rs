//! Trials in several shares, each with a trial, a crew and clients of its own, on one store: what they come to together is what one process
//! comes to.
#![allow(clippy::unwrap_used)]

use engine::{Arrivals, Crew, End, Outcome, Settings};
use jobkit::{Job, Share, SharePart, Trial, TrialSetup};
use kvtrial_jobs as jobs;
use measure::Progress;
use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll};
use store::{
    Capabilities, Facts, Failure, Opener, Operation, Reply, Session, SessionPlan, Sink, Slot, Store, StoreError,
    Threading, Until,
};
use study::{Answer, Reason, ReasonKind, Spec, WriteAccount};

const SEED: u64 = 42;

/// What a store does with an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deed {
    /// What it is asked to.
    Right,
    /// Nothing, but it says it did.
    Swallow,
    /// Nothing, and it says so.
    Refuse,
    /// It says there is no such key.
    Deny,
}

type Rule = Arc<dyn Fn(&Operation<'_>) -> Deed + Send + Sync>;

/// The ram store, which does as a rule says.
struct Ruled {
    ram: Box<dyn Store>,
    rule: Rule,
}

impl Store for Ruled {
    fn capabilities(&self) -> &Capabilities {
        self.ram.capabilities()
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Ok(Box::new(RuledSession { ram: self.ram.session(plan)?, rule: Arc::clone(&self.rule) }))
    }

    fn threading(&self) -> Threading {
        Threading::Shared
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        self.ram.facts()
    }
}

struct RuledSession {
    ram: Box<dyn Session>,
    rule: Rule,
}

impl Session for RuledSession {
    fn submit(&mut self, slot: Slot, operation: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        match (self.rule)(operation) {
            Deed::Right => self.ram.submit(slot, operation),
            Deed::Swallow => Ok(Some(Reply::Done)),
            Deed::Refuse => Ok(Some(Reply::Failed(Failure::Refused("no room")))),
            Deed::Deny => Ok(Some(Reply::Missing)),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>, until: Until, sink: &mut dyn Sink) -> Poll<Result<(), StoreError>> {
        self.ram.poll(cx, until, sink)
    }
}

fn ram(rule: Rule) -> Ruled {
    let Some(Opener::Embedded(open)) = catalog::find("ram").map(|info| info.opener) else { panic!("no ram store") };
    Ruled { ram: open(&Spec::private("ram"), std::path::Path::new("")).unwrap(), rule }
}

fn honest() -> Rule {
    Arc::new(|_| Deed::Right)
}

fn job(name: &str, data: Option<&str>, set: &str) -> Box<dyn Job> {
    let set: Vec<(String, String)> = set
        .split_whitespace()
        .map(|one| one.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())).unwrap())
        .collect();
    jobs::prepare(jobs::find(name).unwrap(), data.map(Into::into), &set, SEED).unwrap()
}

/// What a trial came to.
struct Ran {
    answer: Answer,
    reasons: Vec<Reason>,
    account: Option<WriteAccount>,
    keys_left: Option<u64>,
    logical_bytes: u64,
    /// Of each phase.
    outcomes: Vec<Outcome>,
}

impl Ran {
    fn of(trial: &dyn Trial, outcomes: Vec<Outcome>) -> Ran {
        let (answer, reasons) = trial.answer();
        let (account, keys_left) = (trial.account(), trial.keys_left());
        Ran { answer, reasons, account, keys_left, logical_bytes: trial.logical_bytes(), outcomes }
    }

    fn operations(&self) -> Vec<u64> {
        self.outcomes.iter().map(|outcome| outcome.counts.operations).collect()
    }

    /// What is wrong with the replies and the answer.
    fn wrong(&self) -> Vec<Reason> {
        let replies = self.outcomes.iter().flat_map(|outcome| outcome.offences.clone().into_reasons());
        replies.chain(self.reasons.iter().cloned()).collect()
    }

    /// The kinds of what is wrong, and how often.
    fn kinds(&self) -> BTreeMap<String, u64> {
        let mut kinds = BTreeMap::new();
        self.wrong().iter().for_each(|it| *kinds.entry(format!("{:?}", it.kind)).or_default() += it.count);
        kinds
    }
}

/// Where shares meet before each phase: what each tells is heard by all.
struct Table {
    told: Mutex<Vec<SharePart>>,
    all: Barrier,
}

impl Table {
    fn exchange(&self, share: Share, part: SharePart) -> Vec<SharePart> {
        self.told.lock().unwrap()[share.number as usize] = part;
        self.all.wait();
        let told = self.told.lock().unwrap().clone();
        self.all.wait();
        told
    }
}

/// Runs the phases of one share's trial, and reads back again.
fn phases(store: &dyn Store, trial: &dyn Trial, settings: &Settings, table: &Table) -> Vec<Outcome> {
    let (share, stop) = (settings.share(), AtomicBool::new(false));
    Crew::over(store, trial, settings, &stop, |crew| {
        let mut run = |phase| {
            let told = table.exchange(share, trial.tell(phase).unwrap());
            told.into_iter().for_each(|told| trial.hear(phase, told).unwrap());
            let outcome = crew.run(phase, &mut |_: Progress| {}).unwrap();
            table.all.wait();
            outcome
        };
        let mut outcomes: Vec<Outcome> = (0..trial.phases().len()).map(&mut run).collect();
        table.all.wait();
        if let Some(again) = trial.again() {
            table.all.wait();
            outcomes.push(crew.run(again, &mut |_: Progress| {}).unwrap());
        }
        outcomes
    })
}

fn settings(clients: u32, arrivals: Arrivals) -> Settings {
    Settings { clients, pipeline: 2, threads: Some(2), arrivals, seed: SEED, ..Settings::default() }
}

/// One process.
fn alone(job: &dyn Job, store: &dyn Store, settings: &Settings) -> Ran {
    let trial = job.trial(&TrialSetup::alone(settings.slots(), store.capabilities().clone(), SEED));
    let table = Table { told: Mutex::new(vec![SharePart::default()]), all: Barrier::new(1) };
    let outcomes = phases(store, trial.as_ref(), settings, &table);
    Ran::of(trial.as_ref(), outcomes)
}

/// Several, in step, whose parts are sent as text.
fn in_shares(job: &dyn Job, store: &dyn Store, settings: &Settings, workers: u32) -> Ran {
    let whole = TrialSetup {
        share: Share::whole(settings.clients),
        ..TrialSetup::alone(settings.slots(), store.capabilities().clone(), SEED)
    };
    job.shareable(&whole).unwrap();
    let shares = Share::split(settings.clients, workers);
    let table = Table { told: Mutex::new(vec![SharePart::default(); shares.len()]), all: Barrier::new(shares.len()) };
    let run = |share: Share| {
        let trial = job.trial(&whole.sharing(share));
        let settings = Settings { share: Some(share), ..*settings };
        let outcomes = phases(store, trial.as_ref(), &settings, &table);
        (outcomes, serde_json::to_string(&trial.part().unwrap()).unwrap())
    };
    let ran: Vec<(Vec<Outcome>, String)> = std::thread::scope(|scope| {
        let threads: Vec<_> = shares.iter().map(|&share| scope.spawn(move || run(share))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let joined = job.trial(&whole);
    let mut outcomes: Vec<Outcome> = Vec::new();
    for (share, part) in ran {
        joined.join(serde_json::from_str(&part).unwrap()).unwrap();
        if outcomes.is_empty() {
            outcomes = share;
        } else {
            outcomes.iter_mut().zip(share).for_each(|(all, one)| all.merge(one));
        }
    }
    Ran::of(joined.as_ref(), outcomes)
}

/// Every job that can be shared, in its ways.
const SHARED: [(&str, Option<&str>, &str); 16] = [
    ("append", Some("gen:600:7"), "append=native"),
    ("append", Some("gen:600:7"), "append=rewrite"),
    ("append", Some("gen:600:7"), "verify=sample"),
    ("bulk", Some("gen:2000:7"), "batch=10"),
    ("bulk", Some("gen:2000:7"), "batch=1"),
    ("counts", Some("gen:200:7"), "increment=native"),
    ("counts", Some("gen:200:7"), "increment=memcached"),
    ("counts", Some("gen:200:7"), "increment=rewrite"),
    ("crud", None, "rows=1000"),
    ("fans", Some("gen:60:7"), "policy=partition"),
    ("fans", Some("gen:60:7"), "policy=cas"),
    ("fans", Some("gen:60:7"), "variant=counters"),
    ("grow", None, "items=1000 value=100 reads=0.3"),
    ("replay", None, "requests=3000 load=first"),
    ("ycsb", None, "workload=A operations=4000 records=500 value=100"),
    ("ycsb", None, "workload=C operations=4000 records=500 value=100 load=scattered"),
];

#[test]
fn the_answer_the_account_and_the_work_of_two_or_three_shares_are_those_of_one_process() {
    for (name, data, set) in SHARED {
        let job = job(name, data, set);
        // 7 clients are no multiple of 2 or 3.
        let settings = settings(7, Arrivals::Closed);
        let one = alone(&*job, &ram(honest()), &settings);
        assert_eq!(one.wrong(), [], "{name} {set}");
        for workers in [1, 2, 3, 7] {
            let all = in_shares(&*job, &ram(honest()), &settings, workers);
            let seen = format!("{name} {set}, {workers} workers");
            assert_eq!(all.wrong(), [], "{seen}");
            assert_eq!(all.answer, one.answer, "{seen}");
            assert_eq!((all.account, all.keys_left), (one.account, one.keys_left), "{seen}");
            assert_eq!(all.logical_bytes, one.logical_bytes, "{seen}");
            // A compare-and-set that lost its race is sent again; a counter that was absent is made by as many as saw that.
            let same_work = set != "policy=cas" && set != "increment=memcached";
            assert!(!same_work || all.operations() == one.operations(), "{seen}: {:?}", all.operations());
            assert!(all.outcomes.iter().all(|outcome| outcome.end == End::Completed), "{seen}");
            if let Some(known) = job.known_digest() {
                assert_eq!(all.answer.digest, known, "{seen}");
            }
        }
    }
}

/// The key that an operation writes.
fn written<'o>(operation: &Operation<'o>) -> Option<&'o [u8]> {
    match *operation {
        Operation::Put { key, .. }
        | Operation::Append { key, .. }
        | Operation::CompareAndSet { key, .. }
        | Operation::Increment { key, .. }
        | Operation::IncrementField { key, .. }
        | Operation::Delete { key } => Some(key),
        Operation::PutMany { pairs } => pairs.first().map(|(key, _)| *key),
        _ => None,
    }
}

fn hash(key: &[u8]) -> u64 {
    key.iter().fold(0xCBF2_9CE4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3))
}

/// Refuses the first write of one key in nine, from any share.
fn refusing() -> Rule {
    let refused = Mutex::new(HashSet::new());
    Arc::new(move |operation| match written(operation) {
        Some(key) if hash(key) % 9 == 0 && refused.lock().unwrap().insert(key.to_vec()) => Deed::Refuse,
        _ => Deed::Right,
    })
}

#[test]
fn what_failed_in_one_share_is_forgiven_by_the_share_that_reads_it_and_accounted_for_once() {
    for (name, data, set) in SHARED {
        if set.contains("batch=10") || set == "policy=cas" {
            continue; // which write of a batch is the first is another in each run, and which client comes first
        }
        let job = job(name, data, set);
        let settings = settings(6, Arrivals::Closed);
        let one = alone(&*job, &ram(refusing()), &settings);
        assert!(one.kinds().contains_key("Refused"), "{name} {set}");
        for workers in [2, 3] {
            let all = in_shares(&*job, &ram(refusing()), &settings, workers);
            let seen = format!("{name} {set}, {workers} workers");
            assert_eq!(all.kinds(), one.kinds(), "{seen}: {:?} {:?}", all.wrong(), one.wrong());
            assert_eq!((all.account, all.keys_left), (one.account, one.keys_left), "{seen}");
            assert_eq!(all.answer.digest, one.answer.digest, "{seen}");
        }
    }
}

/// Swallows the last write of a key, of this number of writes.
fn swallowing(victim: Vec<u8>, last: u64) -> Rule {
    let writes = AtomicU64::new(0);
    Arc::new(move |operation| match written(operation) {
        Some(key) if key == victim && writes.fetch_add(1, Ordering::Relaxed) + 1 == last => Deed::Swallow,
        _ => Deed::Right,
    })
}

/// A key that is written at least twice, and how often, where nothing goes wrong: the `nth` of them.
fn written_twice(job: &dyn Job, settings: &Settings, nth: usize) -> (Vec<u8>, u64) {
    let writes: Arc<Mutex<BTreeMap<Vec<u8>, u64>>> = Arc::default();
    let counted = Arc::clone(&writes);
    let rule: Rule = Arc::new(move |operation| {
        written(operation).into_iter().for_each(|key| *counted.lock().unwrap().entry(key.to_vec()).or_default() += 1);
        Deed::Right
    });
    in_shares(job, &ram(rule), settings, 3);
    let writes = writes.lock().unwrap();
    let often = writes.iter().filter(|(_, times)| **times >= 2);
    often.map(|(key, times)| (key.clone(), *times)).nth(nth).unwrap()
}

#[test]
fn a_lost_update_of_any_share_is_found_in_the_joined_answer_with_its_key() {
    let cases = [
        ("append", Some("gen:600:7"), "append=native"),
        ("append", Some("gen:600:7"), "append=rewrite"),
        ("counts", Some("gen:200:7"), "increment=rewrite"),
        ("fans", Some("gen:60:7"), "policy=partition"),
        ("ycsb", None, "workload=A operations=4000 records=100 value=100"),
    ];
    for (name, data, set) in cases {
        let job = job(name, data, set);
        let settings = settings(6, Arrivals::Closed);
        for nth in [0, 3, 11] {
            let (key, times) = written_twice(&*job, &settings, nth);
            let all = in_shares(&*job, &ram(swallowing(key.clone(), times)), &settings, 3);
            let wrong = all.wrong();
            let shown = jobkit::printable(&key);
            let seen = format!("{name} {set}, {shown}: {wrong:?}");
            let is_loss = |it: &&Reason| {
                matches!(it.kind, ReasonKind::LostUpdates | ReasonKind::StaleValue | ReasonKind::WrongValue)
            };
            assert!(wrong.iter().filter(is_loss).any(|it| it.example.contains(&format!("key {shown}:"))), "{seen}");
            assert!(all.account.is_some_and(|account| account.lost > 0), "{seen}, {:?}", all.account);
            assert_ne!(Some(all.answer.digest), job.known_digest(), "{seen}");
        }
    }
}

#[test]
fn a_wrong_reply_to_one_share_is_an_offence_of_the_whole_with_its_key() {
    for (name, data, set) in SHARED {
        if set.contains("verify=sample") || set == "policy=cas" {
            continue; // the key may be one that nobody reads; and who is denied again and again never ends
        }
        let job = job(name, data, set);
        let settings = settings(6, Arrivals::Closed);
        let trial = job.trial(&TrialSetup::alone(settings.slots(), ram(honest()).capabilities().clone(), SEED));
        for index in [1, 40] {
            let mut key = Vec::new();
            assert!(trial.key(index, &mut key));
            let victim = key.clone();
            let rule: Rule = Arc::new(move |operation| match *operation {
                Operation::Get { key }
                | Operation::GetCounter { key }
                | Operation::GetVersioned { key }
                | Operation::GetFields { key }
                    if key == victim =>
                {
                    Deed::Deny
                }
                Operation::GetMany { keys } if keys.contains(&&victim[..]) => Deed::Refuse,
                _ => Deed::Right,
            });
            let all = in_shares(&*job, &ram(rule), &settings, 3);
            assert_ne!(all.wrong(), [], "{name} {set}: {}", jobkit::printable(&key));
        }
    }
}

#[test]
fn a_job_that_cannot_be_shared_says_why_and_what_to_set_instead() {
    let cases = [
        ("ycsb", None, "workload=D", "use workload=A, B, C or F"),
        ("ycsb", None, "workload=E", "use workload=A, B, C or F"),
        ("ycsb", None, "workload=A ttl=1s", "leave ttl out"),
        ("fans", Some("gen:60:7"), "policy=lock", "set policy=partition"),
        ("grow", None, "items=100 mode=two-phase", "set mode=fill"),
        ("sets", None, "ids=100", "without --workers"),
        ("events", None, "", "without --workers"),
        ("nodes", None, "", "without --workers"),
    ];
    for (name, data, set, remedy) in cases {
        let setup = TrialSetup::alone(4, ram(honest()).capabilities().clone(), SEED);
        let words = job(name, data, set).shareable(&setup).unwrap_err().0;
        assert!(words.contains(remedy), "{name} {set}: {words}");
    }
}

#[test]
fn under_open_loop_shares_offer_together_what_one_process_offers() {
    let job = job("crud", None, "rows=700");
    for arrivals in [Arrivals::Fixed { ops_per_s: 20_000.0 }, Arrivals::Poisson { ops_per_s: 20_000.0 }] {
        let settings = Settings { pipeline: 1, ..settings(7, arrivals) };
        let one = alone(&*job, &ram(honest()), &settings);
        let all = in_shares(&*job, &ram(honest()), &settings, 3);
        assert_eq!((&all.answer, all.operations()), (&one.answer, one.operations()));
        for (one, all) in one.outcomes.iter().zip(&all.outcomes) {
            let Some((one, all)) = one.offered.zip(all.offered) else { continue };
            assert_eq!(one.sent, all.sent, "{arrivals:?}");
            assert!((all.asked_per_s / 20_000.0 - 1.0).abs() < 1e-9, "{all:?}");
        }
    }
}
