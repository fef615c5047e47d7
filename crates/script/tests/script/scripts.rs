//! Scripts over a plain store in memory, with any interleaving of clients: what they answer, what is checked, what is refused.
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::harness;

use common::opened;
use harness::{Memory, Outcome, Turns, everything, run};
use jobkit::{Step, TrialSetup};
use kvtrial_script as script;
use store::{OperationKind, Reply};

fn ran(text: &str, slots: u32, turns: Turns) -> Outcome {
    run(opened(text, None, &[]).unwrap().as_ref(), &mut Memory::default(), everything(), slots, turns)
}

const SUMS: &str = "
local n = kv.param('n', 60, 'keys')
function run(client)
  for i = client.number, n, client.count do
    local key = 'k' .. i
    for _ = 1, 3 do
      local sum = tonumber(kv.get(key) or 0) + i
      kv.put(key, ('%d'):format(sum))
    end
    if i % 5 == 0 then kv.delete(key) end
  end
end
function answer()
  for key in kv.keys() do kv.say(key, kv.get(key)) end
end
";

#[test]
fn a_script_comes_to_one_answer_with_any_number_of_clients_and_any_order() {
    let first = ran(SUMS, 1, Turns::OneByOne);
    assert_eq!(first.reasons, []);
    assert_eq!(first.fact("lines"), 48);
    for (slots, seed) in [(3, 1), (16, 2), (64, 3), (100, 4)] {
        let other = ran(SUMS, slots, Turns::Random(seed));
        assert_eq!(other.reasons, [], "{slots}");
        assert_eq!(other.answer.digest, first.answer.digest, "{slots}");
    }
}

#[test]
fn every_example_has_one_answer_and_no_complaint() {
    for example in script::EXAMPLES.iter().filter(|example| !example.is_for_few_stores()) {
        let job = opened(example.text, (example.name == "fans").then_some("debian-1k"), &[]).unwrap();
        let answer = |slots, turns| {
            let outcome = run(job.as_ref(), &mut Memory::default(), everything(), slots, turns);
            assert_eq!(outcome.reasons, [], "{}", example.name);
            outcome.answer.digest
        };
        let one = answer(1, Turns::OneByOne);
        assert_eq!(one, answer(8, Turns::Random(7)), "{}", example.name);
    }
}

const WAITING: &str = "
local kept = setmetatable({}, {
  __index = function(_, key) return kv.get(key) end,
  __newindex = function(_, key, value) kv.put(key, value) end,
  __call = function(_, key) return kv.get(key) end,
  __concat = function(_, key) return kv.get(key) end,
  __lt = function() return kv.get('none') == nil end,
  __unm = function() return kv.get('none') end,
})
function run(client)
  local n = tostring(client.number)
  kv.expect(pcall(kv.put, 'a' .. n, '1'), 'a verb itself')
  local good, value = pcall(function() return kv.get('a' .. n) end)
  kv.expect(good and value == '1', 'a function')
  local caught, why = xpcall(function() kv.get('a' .. n) error('caught', 0) end, function(words) return words .. '!' end)
  kv.expect(not caught and why == 'caught!', 'an error behind a verb')
  caught, why = pcall(kv.put, 'a', 1)
  kv.expect(not caught and why:find('the value is a number', 1, true), 'an error of a verb')
  kv.expect(pcall(pcall, kv.put, 'b' .. n, '2'), 'pcall within pcall')
  kept['c' .. n] = '3'
  kv.expect(kept['c' .. n] == '3' and kept('c' .. n) == '3' and kept .. ('c' .. n) == '3' and -kept == nil, 'metamethods')
  kv.expect(setmetatable({}, getmetatable(kept)) < kept, 'a comparison')
  local text, count = ('a b c'):gsub('%a', function(letter) return kv.get(letter .. n) end)
  kv.expect(text == '1 2 3' and count == 3, 'string.gsub: ' .. text)
  local order = { 'c', 'a', 'b' }
  table.sort(order, function(one, other) return kv.get(one .. n) < kv.get(other .. n) end)
  kv.expect(table.concat(order) == 'abc', 'table.sort')
  for key, value in function(_, last) if not last then return 'a', kv.get('a' .. n) end end do
    kv.expect(value == '1', 'an iterator')
  end
end
";

#[test]
fn verbs_wait_within_pcall_metamethods_sort_gsub_and_iterators() {
    let outcome = ran(WAITING, 5, Turns::Random(5));
    assert_eq!(outcome.reasons, []);
    assert_eq!(outcome.fact("keys"), 15);
}

#[test]
fn only_phases_on_the_clock_are_repeated_as_long_as_there_is_time() {
    let text = "function load(c) kv.put('a', 'x') end function run(c) kv.get('a') end function check(c) kv.get('a') end
function answer() kv.say(kv.get('a')) end";
    let job = opened(text, None, &[("seconds", "1")]).unwrap();
    let trial = job.trial(&TrialSetup::alone(1, everything(), 1));
    let phases = trial.phases();
    assert_eq!(
        phases.iter().map(|phase| phase.name).collect::<Vec<_>>(),
        ["load", "run", "check", "read back", "answer"]
    );
    for (index, phase) in phases.iter().enumerate() {
        let (mut worker, mut operations) = (trial.worker(index, 0..1), 0);
        while operations < 100
            && let Step::Operation(operation) = worker.next(0)
        {
            let writes = operation.kind() == OperationKind::Put;
            let reply = if writes { Reply::Done } else { Reply::Value(b"x") };
            worker.reply(0, &reply).unwrap();
            operations += 1;
        }
        assert_eq!(operations, if phase.timed { 100 } else { 1 }, "{}", phase.name);
    }
}

#[test]
fn how_many_operations_a_unit_has_is_found_out_without_a_store() {
    let operations = |text: &str, set: &[(&str, &str)]| opened(text, None, set).unwrap().unit_operations();
    let many = "function load(client) kv.put('k', 'v') end
    function run(client) for i = 1, 5000 do kv.get('k' .. i) end end";
    assert_eq!(operations(many, &[("seconds", "2")]), Some(5000));
    let counts = "function run(client) kv.increment('c') kv.append('a', 'v') end";
    assert_eq!(operations(counts, &[]), Some(2));
    assert_eq!(operations("function run(client) end", &[]), None);
    let bench = "return {run = function(ctx) kv.put('k' .. ctx.iter, 'v') kv.get('k' .. ctx.iter) end}";
    assert_eq!(operations(bench, &[]), Some(2));
}
