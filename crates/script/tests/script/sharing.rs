//! Clients on several threads of one trial, on a real store: what is kept of their writes never accuses a store that is right, and is exact
//! where it says so.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::opened;
use engine::{Settings, run_phase};
use jobkit::TrialSetup;
use std::sync::atomic::AtomicBool;
use store::{Opener, Store};
use study::{Answer, Reason};

const CLIENTS: u32 = 12;
const THREADS: u32 = 4;

fn ram() -> Box<dyn Store> {
    let Some(Opener::Embedded(open)) = catalog::find("ram").map(|info| info.opener) else { panic!("no ram store") };
    open(&study::Spec::private("ram"), std::path::Path::new("")).unwrap()
}

/// All phases of a script on `ram`, with twelve clients on four threads.
fn on_threads(text: &str, seed: u64) -> (Answer, Vec<Reason>) {
    let (job, ram) = (opened(text, None, &[]).unwrap(), ram());
    let trial = job.trial(&TrialSetup::alone(CLIENTS, ram.capabilities().clone(), seed));
    let settings = Settings { clients: CLIENTS, threads: Some(THREADS), seed, ..Settings::default() };
    let mut wrong = Vec::new();
    for phase in 0..trial.phases().len() {
        let outcome = run_phase(&*ram, trial.as_ref(), phase, &settings, &AtomicBool::new(false), &mut |_| {}).unwrap();
        wrong.extend(outcome.offences.into_reasons());
    }
    let (answer, reasons) = trial.answer();
    wrong.extend(reasons);
    (answer, wrong)
}

/// Every client writes its own keys, deletes some, and reads those of all others while they are written.
const OWN: &str = "
function run(client)
  for turn = 1, 400 do
    local key = 'k' .. kv.random(5) .. ':' .. client.number
    if kv.random(4) == 1 then kv.delete(key) else kv.put(key, turn .. ':' .. client.number) end
    local other = 'k' .. kv.random(5) .. ':' .. kv.random(client.count)
    local value = kv.get(other)
    if value then kv.expect(value:match(':(%d+)$') == other:match(':(%d+)$'), 'a value of another key') end
    kv.get_many({other, key})
  end
end
";

#[test]
fn keys_of_others_that_are_read_while_they_are_written_accuse_nobody() {
    for seed in 0..20 {
        assert_eq!(on_threads(OWN, seed).1, [], "seed {seed}");
    }
}

/// Several clients write, delete and compare-and-set the same few keys, and count.
const SAME: &str = "
kv.shared(true)
function run(client)
  for turn = 1, 300 do
    local key = 'k' .. kv.random(6)
    local choice = kv.random(5)
    if choice == 1 then kv.delete(key)
    elseif choice == 2 then kv.cas(key, kv.get(key), 'c' .. client.number .. turn)
    elseif choice == 3 then kv.put(key, 'p' .. client.number .. turn)
    else kv.get(key) end
    kv.increment('count', 2)
  end
end
function answer() kv.say(kv.get_counter('count')) end
";

#[test]
fn shared_keys_accuse_nobody_and_their_counters_are_exact() {
    let counted = data::digest::of_lines(vec![format!("{}", 2 * 300 * CLIENTS)]);
    for seed in 0..20 {
        let (answer, wrong) = on_threads(SAME, seed);
        assert_eq!(wrong, [], "seed {seed}");
        assert_eq!(answer.digest, counted, "seed {seed}");
    }
}

/// The keys of one phase belong to other clients in the next.
const MOVED: &str = "
phases = {'first', 'second'}
function first(client)
  for i = client.number, 120, client.count do kv.put('k' .. i, 'one') end
end
function second(client)
  for i = client.number + 1, 120, client.count do
    kv.expect(kv.get('k' .. i) == 'one', 'what the first phase wrote is there')
    kv.put('k' .. i, 'two')
  end
end
function answer() for key in kv.keys() do kv.say(key, kv.get(key)) end end
";

#[test]
fn a_key_has_another_writer_in_another_phase_and_on_another_thread() {
    let (answer, wrong) = on_threads(MOVED, 1);
    assert_eq!(wrong, []);
    assert_eq!(answer.facts["keys"], 120);
    let fail = "function run(client) for i = 1, 200 do kv.put('same' .. i, 'v') end end";
    let (_, wrong) = on_threads(fail, 1);
    assert!(wrong.iter().any(|reason| reason.example.contains("has written it in the same phase")), "{wrong:?}");
}
