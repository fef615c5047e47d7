//! A script whose clients several trials drive together, on one store: what they come to is what one comes to.
#![allow(clippy::unwrap_used)]

use crate::common::opened;
use engine::{Crew, Settings};
use jobkit::{Job, Share, SharePart, Trial, TrialSetup};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Barrier, Mutex};
use store::{Opener, Store};
use study::{Answer, Reason, ReasonKind, WriteAccount};

const CLIENTS: u32 = 7;
const SEED: u64 = 42;

fn ram() -> Box<dyn Store> {
    let Some(Opener::Embedded(open)) = catalog::find("ram").map(|info| info.opener) else { panic!("no ram store") };
    open(&study::Spec::private("ram"), std::path::Path::new("")).unwrap()
}

/// What a trial came to.
#[derive(Debug, PartialEq)]
struct Found {
    answer: Answer,
    wrong: Vec<Reason>,
    account: Option<WriteAccount>,
    keys_left: Option<u64>,
    logical_bytes: u64,
    /// Operations of each phase.
    operations: Vec<u64>,
}

fn found(trial: &dyn Trial, mut wrong: Vec<Reason>, operations: Vec<u64>) -> Found {
    let (answer, reasons) = trial.answer();
    wrong.extend(reasons);
    let (account, keys_left, logical_bytes) = (trial.account(), trial.keys_left(), trial.logical_bytes());
    Found { answer, wrong, account, keys_left, logical_bytes, operations }
}

fn in_shares(job: &dyn Job, workers: u32) -> Found {
    let store = ram();
    let whole = TrialSetup::alone(CLIENTS, store.capabilities().clone(), SEED);
    let shares = Share::split(CLIENTS, workers);
    let (told, all) = (Mutex::new(vec![SharePart::default(); shares.len()]), Barrier::new(shares.len()));
    let run = |share: Share| {
        let trial = job.trial(&whole.sharing(share));
        let settings =
            Settings { clients: CLIENTS, threads: Some(2), seed: SEED, share: Some(share), ..Settings::default() };
        let outcomes = Crew::over(&*store, trial.as_ref(), &settings, &AtomicBool::new(false), |crew| {
            let phase = |phase: usize| {
                told.lock().unwrap()[share.number as usize] = trial.tell(phase).unwrap();
                all.wait();
                let heard = told.lock().unwrap().clone();
                all.wait();
                heard.into_iter().for_each(|told| trial.hear(phase, told).unwrap());
                let outcome = crew.run(phase, &mut |_| {}).unwrap();
                all.wait();
                outcome
            };
            (0..trial.phases().len()).map(phase).collect::<Vec<_>>()
        });
        (outcomes, serde_json::to_string(&trial.part().unwrap()).unwrap())
    };
    let ran: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = shares.iter().map(|&share| scope.spawn(move || run(share))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let joined = job.trial(&whole);
    let (mut wrong, mut operations) = (Vec::new(), BTreeMap::<usize, u64>::new());
    for (outcomes, part) in ran {
        joined.join(serde_json::from_str(&part).unwrap()).unwrap();
        for (phase, outcome) in outcomes.into_iter().enumerate() {
            *operations.entry(phase).or_default() += outcome.counts.operations;
            wrong.extend(outcome.offences.into_reasons());
        }
    }
    found(joined.as_ref(), wrong, operations.into_values().collect())
}

fn refusal(job: &dyn Job) -> Result<(), String> {
    let setup = TrialSetup::alone(CLIENTS, ram().capabilities().clone(), SEED);
    job.shareable(&setup).map_err(|error| error.0)
}

/// Clients load, read what others loaded, change and delete what is their own; the answer goes over all.
const WORK: &str = "
local keys = kv.param('keys', 90, 'keys')
function load(client)
  for n = client.number, keys, client.count do kv.put('k' .. n, ('v'):rep(n % 50) .. n) end
end
function run(client)
  for n = 1, keys do kv.get('k' .. n) end
  kv.put('\\255' .. client.number, 'no text')
end
function change(client)
  for n = 1, keys do
    local key = 'k' .. n
    if client:owns(key) then
      if n % 3 == 0 then kv.delete(key) else kv.put(key, kv.get(key) .. '!') end
    end
  end
end
phases = {'load', 'run', 'change'}
function answer()
  for key in kv.keys() do kv.say(key, kv.get(key)) end
end
";

#[test]
fn two_three_or_seven_processes_find_what_one_finds() {
    let job = opened(WORK, None, &[]).unwrap();
    assert_eq!(refusal(&*job), Ok(()));
    let alone = in_shares(&*job, 1);
    assert_eq!(alone.wrong, []);
    assert_eq!((alone.keys_left, &alone.answer.facts["keys"]), (Some(67), &67.into()));
    for workers in [2, 3, 7] {
        assert_eq!(in_shares(&*job, workers), alone, "{workers} processes");
    }
}

#[test]
fn a_key_that_clients_of_two_processes_write_in_one_phase_fails_the_script_and_accuses_no_store() {
    // The script is tried beforehand, but not that far.
    let text = "function run(client) for turn = 1, 60000 do kv.get('k' .. client.number) end kv.put('same', 'v' .. client.number) end";
    let job = opened(text, None, &[]).unwrap();
    assert_eq!(refusal(&*job), Ok(()));
    for workers in [1, 2, 3] {
        let wrong = in_shares(&*job, workers).wrong;
        let [reason] = wrong.as_slice() else { panic!("{workers}: {wrong:?}") };
        assert_eq!(reason.kind, ReasonKind::ScriptFailed);
        assert!(reason.example.contains("Give each key one writer"), "{reason:?}");
    }
}

#[test]
fn a_script_that_fails_in_one_process_fails() {
    let text =
        "function run(client) kv.put('k' .. client.number, 'v') kv.expect(client.number < 7, 'seven is too many') end";
    let job = opened(text, None, &[]).unwrap();
    for workers in [1, 2, 7] {
        let wrong = in_shares(&*job, workers).wrong;
        let [reason] = wrong.as_slice() else { panic!("{workers}: {wrong:?}") };
        assert!(reason.example.contains("seven is too many"), "{reason:?}");
    }
}

#[test]
fn what_only_one_process_can_judge_is_refused_with_the_reason() {
    let run = |body: &str| format!("function run(client) {body} end");
    for (text, why) in [
        (run("kv.increment('n', 1)"), "kv.increment, and only one process can judge counters"),
        (run("kv.append('k' .. client.number, 'v')"), "values that are appended to"),
        (run("kv.scan('a', 'z', function() end)"), "scans"),
        (run("kv.put('k' .. client.number, 'v', {ttl = 9})"), "values that expire"),
        (format!("kv.shared(true) {}", run("kv.put('k', 'v')")), "kv.shared"),
        (
            run("kv.put('k' .. client.number, 'v') kv.get('k3')"),
            "in phase run one client writes key k3, which another uses",
        ),
        (run("if client.number == 1 then kv.put('k', 'v') else kv.get('k') end"), "writes key k, which"),
    ] {
        let words = refusal(&*opened(&text, None, &[]).unwrap()).unwrap_err();
        assert!(words.contains(why) && words.contains("run it without --workers"), "{text}: {words}");
    }
}

#[test]
fn examples_can_be_shared_or_say_why_not() {
    let is_shared = |name: &str| {
        let example = kvtrial_script::EXAMPLES.iter().find(|example| example.name == name).unwrap();
        refusal(&*opened(example.text, None, &[]).unwrap())
            .map_err(|words| words.split(": ").nth(1).unwrap().to_owned())
    };
    assert_eq!(is_shared("cart"), Ok(()));
    assert_eq!(is_shared("ranks"), Ok(()), "commands are judged by the script itself");
    assert!(is_shared("session").unwrap_err().starts_with("it names a time to live"));
    assert!(is_shared("limiter").unwrap_err().starts_with("several clients write the same keys"));
}
