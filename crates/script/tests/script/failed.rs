//! What a script hears of operations that failed while nodes fail on purpose, and what becomes of it then.
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::harness;

use common::opened;
use harness::{Backend, Memory, Request, Response, everything};
use jobkit::{Job, Step, TrialSetup};
use std::time::Duration;
use study::{Answer, Reason, ReasonKind};

/// How long an operation is sent again.
const DEADLINE: Duration = Duration::from_millis(200);

/// Runs all phases with one client while nodes fail on purpose, timed ones for this many answers.
fn endured(job: &dyn Job, answers: u32, mut fails: impl FnMut(&Request) -> bool) -> (Answer, Vec<Reason>) {
    let trial = job.trial(&TrialSetup::alone(1, everything(), 1));
    trial.set_deadline(DEADLINE);
    trial.expect_faults();
    let (mut memory, mut wrong) = (Memory::default(), Vec::new());
    for (number, phase) in trial.phases().iter().enumerate() {
        let (mut worker, mut answered) = (trial.worker(number, 0..1), 0);
        while !phase.timed || answered < answers {
            let Step::Operation(operation) = worker.next(0) else { break };
            let request = Request::of(&operation);
            if phase.timed && fails(&request) {
                let _ = Response::Deadline.hand_over(|reply| worker.reply(0, reply));
                continue;
            }
            answered += 1;
            if let Err(offence) = memory.answer(&request).hand_over(|reply| worker.reply(0, reply)) {
                wrong.push(offence.into_reason());
            }
        }
    }
    let (answer, reasons) = trial.answer();
    wrong.extend(reasons);
    (answer, wrong)
}

const EVERY_VERB: &str = "
function run(client)
  local function failed(value, why) kv.say(tostring(value), type(why)) end
  failed(kv.get('k'))
  failed(kv.put('k', 'v'))
  failed(kv.delete('k'))
  failed(kv.append('a', 'v'))
  failed(kv.increment('c'))
  failed(kv.get_counter('c'))
  failed(kv.increment_field('r', 'f'))
  failed(kv.get_fields('r'))
  failed(kv.cas('s', nil, 'v'))
  failed(kv.get_many({'k', 'l'}))
  failed(kv.put_many({k = 'v', l = 'v'}))
  failed(kv.scan('k', 5))
  failed(kv.scan('k', 'l', function() end))
  failed(kv.range('k', 'l'))
  failed(kv.mdel({'k'}))
end
function answer() end
";

#[test]
fn every_verb_gives_nil_and_the_reason_for_what_nodes_that_fail_did_not_answer_and_the_script_goes_on() {
    let job = opened(EVERY_VERB, None, &[]).unwrap();
    let (answer, wrong) = endured(job.as_ref(), u32::MAX, |_| true);
    assert_eq!(wrong, []);
    assert_eq!(answer.digest, data::digest::of_lines(vec!["nil\tstring".to_owned(); 15]));
    // The two requests of a compare-and-set may fail one by one.
    let text = "function run(client)
      local done, why = kv.cas('s', nil, 'v')
      kv.say(tostring(done), type(why))
    end
    function answer() end";
    let job = opened(text, None, &[]).unwrap();
    let (answer, wrong) = endured(job.as_ref(), u32::MAX, |request| matches!(request, Request::CompareAndSet(..)));
    assert_eq!((wrong, answer.digest), (Vec::new(), data::digest::of_lines(vec!["nil\tstring".to_owned()])));
}

#[test]
fn a_unit_that_fails_over_an_operation_that_failed_is_abandoned_and_the_next_one_begins() {
    let text = "function run(client) kv.put('sum', ('%d'):format(kv.increment('units') + 1)) end";
    let job = opened(text, None, &[("seconds", "1")]).unwrap();
    let mut asked = 0;
    let (answer, wrong) = endured(job.as_ref(), 1000, |request| {
        asked += u32::from(matches!(request, Request::Increment(..)));
        matches!(request, Request::Increment(..)) && asked % 10 == 5
    });
    assert_eq!(wrong, []);
    assert!(asked > 500 && answer.facts["units"].as_u64() > Some(450), "{asked} {:?}", answer.facts);
}

#[test]
fn what_a_script_expects_is_not_held_against_a_store_once_an_operation_was_given_up_and_other_errors_are() {
    let expects = "function run(client) kv.put('k', 'v') kv.expect(kv.get('k') == 'v', 'it is there') end
    function check(client) kv.expect(kv.get('k') == 'v', 'it is there') end";
    let job = opened(expects, None, &[]).unwrap();
    let puts = |request: &Request| matches!(request, Request::Put(..));
    assert_eq!(endured(job.as_ref(), u32::MAX, puts).1, []);
    let other = opened(&expects.replace("'k') == 'v'", "'k') == 'w'"), None, &[]).unwrap();
    assert_eq!(endured(other.as_ref(), u32::MAX, |_| false).1[0].kind, ReasonKind::NotAsExpected);
    let fails = opened("function run(client) kv.get('k') local t = nil + 1 end", None, &[]).unwrap();
    assert_eq!(endured(fails.as_ref(), u32::MAX, |_| false).1[0].kind, ReasonKind::ScriptFailed);
}
