//! Scripts over a plain store in memory, with any interleaving of clients: what they answer, what is checked, what is refused.
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::harness;

use common::opened;
use harness::{Memory, Outcome, Turns, everything, run};
use kvtrial_script as script;

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
    for example in script::EXAMPLES {
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
