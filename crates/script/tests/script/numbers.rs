//! Whole numbers that Lua's numbers cannot hold are kept to the digit, or refused with the line.
#![allow(clippy::unwrap_used)]

use crate::bad_input::{failed, says};
use crate::common;
use crate::harness;

use common::opened;
use harness::{Memory, Turns, everything, run};

/// What `run` has put under `out`.
fn put(text: &str, data: Option<&str>) -> String {
    let job = opened(text, data, &[]).unwrap();
    let mut memory = Memory::default();
    let outcome = run(job.as_ref(), &mut memory, everything(), 1, Turns::OneByOne);
    assert_eq!(outcome.reasons, [], "{text}");
    String::from_utf8(memory.values[&b"out"[..]].0.clone()).unwrap()
}

/// The value of an expression.
fn value(expression: &str) -> String {
    put(&format!("function run() kv.put('out', {expression}) end"), None)
}

#[test]
fn ids_beyond_two_to_the_53_stay_two_ids() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ids.jsonl");
    std::fs::write(&path, "{\"id\":9007199254740992}\n{\"id\":9007199254740993}\n{\"id\":-12345678901234567890123}\n")
        .unwrap();
    let text = "data = kv.json(kv.data)
function run()
  local found, seen = '', {}
  for o in data:all() do
    kv.put('id:' .. o.id, 'x')
    seen[o.id] = true
    kv.expect(seen[json.decode(tostring(o.id))], 'the same digits are the same value')
    found = found .. o.id .. ' ' .. json.encode(o) .. ' '
  end
  kv.put('out', found .. tostring(data:at(1).id == data:at(2).id))
end";
    assert_eq!(
        put(text, Some(&path.display().to_string())),
        "9007199254740992 {\"id\":9007199254740992} 9007199254740993 {\"id\":9007199254740993} \
         -12345678901234567890123 {\"id\":-12345678901234567890123} false"
    );
}

#[test]
fn numbers_up_to_there_are_numbers() {
    assert_eq!(value("json.encode(json.decode('9007199254740991'))"), "9007199254740991");
    assert_eq!(value("type(json.decode('9007199254740991'))"), "number");
    assert_eq!(value("type(json.decode('9007199254740992'))"), "userdata");
    assert_eq!(value("json.encode(json.decode('1234567890123456') + 1)"), "1234567890123457");
    for number in ["1e300", "1.5e16", "-2e53"] {
        assert_eq!(value(&format!("type(json.decode('{number}'))")), "number");
        assert_eq!(value(&format!("json.encode(json.decode(json.encode(json.decode('{number}'))))")), number);
    }
    says(&failed("json.decode('[1e400]')").1, &["test.lua:2: json.decode: this number is larger than any of Lua's"]);
}

#[test]
fn calculating_with_a_number_lua_cannot_hold_is_refused_with_its_line() {
    for sum in ["id + 1", "1 - id", "-id", "id * 2", "id < json.decode('9007199254740995')", "id % 10"] {
        let (_, words) = failed(&format!("local id = json.decode('9007199254740993') local x = {sum}"));
        says(&words, &["test.lua:2:", "9007199254740993 is a whole number beyond 2^53", "tostring()"]);
    }
    says(
        &failed("kv.put('a', json.decode('9007199254740993'))").1,
        &["kv.put: the value is a userdata and must be a string", "tostring()"],
    );
    says(&failed("local x = json.decode('9007199254740993') .. {}").1, &["test.lua:2: attempt to concatenate"]);
}

#[test]
fn sums_in_texts_are_exact_beyond_two_to_the_53() {
    assert_eq!(value("json.add('{\"n\":9007199254740993}', {n = 2})"), "{\"n\":9007199254740995}");
    assert_eq!(value("json.add('{\"n\":9007199254740991}', {n = 2})"), "{\"n\":9007199254740993}");
    assert_eq!(value("json.add('{\"n\":9007199254740993}', {n = -2})"), "{\"n\":9007199254740991}");
    assert_eq!(value("json.add('{\"id\":9007199254740993,\"n\":1}', {n = 1})"), "{\"id\":9007199254740993,\"n\":2}");
    says(&failed("json.add('{\"n\":9007199254740993}', {n = 0.5})").1, &["json.add: only a whole number can be added"]);
    says(&failed("json.add('{}', {n = 2^53})").1, &["json.add: what is added to 'n' must be below 2^53"]);
}

#[test]
fn a_counter_that_lua_cannot_hold_is_refused_with_its_line() {
    let up = "kv.increment('a', 2^53 - 1)\nkv.increment('a', 2)";
    says(
        &failed(&format!("if client.number == 1 then\n{up}\nend")).1,
        &["test.lua:4: kv.increment: the counter is at 2^53"],
    );
    let words =
        opened("local n = kv.param('n', 1) function run() end", None, &[("n", "9007199254740993")]).err().unwrap();
    says(&words, &["--set n=9007199254740993: it must be below 2^53"]);
}
