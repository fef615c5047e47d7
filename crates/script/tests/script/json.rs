//! JSON of scripts, against another reader and writer of it.
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::harness;

use common::opened;
use harness::{Memory, Turns, everything, run};

/// What a script makes of a text: decoded and encoded again, or the error.
fn round(text: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("one.txt");
    std::fs::write(&path, text).unwrap();
    let script = "data = kv.lines(kv.data)
function run(client)
  local ok, value = pcall(json.decode, data:at(1))
  if ok then kv.put('out', json.encode(value)) else kv.put('out', 'error ' .. value) end
end";
    let job = opened(script, Some(&path.display().to_string()), &[]).unwrap();
    let mut memory = Memory::default();
    let outcome = run(job.as_ref(), &mut memory, everything(), 1, Turns::OneByOne);
    assert_eq!(outcome.reasons, [], "{text}");
    String::from_utf8(memory.values[&b"out"[..]].0.clone()).unwrap()
}

#[test]
fn what_another_reader_takes_comes_back_the_same_with_keys_in_order() {
    for text in [
        r#"{"b":1,"a":[1,2,{"x":null}],"c":{"d":true,"e":false}}"#,
        r#"[0,-1,1.5,1e3,123456789012345,0.1,-0.25]"#,
        r#"{"name":"tab\tquote\"back\\slash\u00e4 ä","empty":"","nested":[[],[[1]]]}"#,
        r#"  [ 1 , 2 ]  "#,
        r#""a string""#,
        "true",
    ] {
        let mut expected: serde_json::Value = serde_json::from_str(text).unwrap();
        if let Some(nested) = expected.get_mut("nested") {
            nested[0] = serde_json::json!({}); // an empty table is an object
        }
        let back: serde_json::Value = serde_json::from_str(&round(text)).unwrap();
        assert_eq!(
            back.to_string().replace("1000.0", "1000"),
            expected.to_string().replace("1000.0", "1000"),
            "{text}"
        );
    }
    assert_eq!(round(r#"{"b":1,"a":2}"#), r#"{"a":2,"b":1}"#);
}

#[test]
fn what_another_reader_refuses_is_refused() {
    for text in [
        "{",
        "[1,",
        "{\"a\" 1}",
        "{1:2}",
        "[1 2]",
        "tru",
        "01",
        "1.2.3",
        "-",
        "\"open",
        "\"bad\\x\"",
        "[1] 2",
        "{\"a\":1,}",
        "nan",
        "+1",
        "[1,]",
    ] {
        assert!(serde_json::from_str::<serde_json::Value>(text).is_err(), "{text}");
        let said = round(text);
        assert!(said.starts_with("error ") && said.contains("at byte"), "{text}: {said}");
    }
    let deep = "[".repeat(5000);
    assert!(round(&deep).contains("more than 100 deep"));
}

/// Adds at random to random objects, once within the text and once in tables.
const ADDS: &str = r#"
local plain = {'a', 'b', 'ab', 'abcdefgh', 'abcdefghi', 'ä', '', 'zz', 'm', 'n1'}
local strange = {'a', 'b', 'ab', 'c"q', 'd\\e', 'ä', '', 'zz', 'tab\tbed', 'm'}
local names = plain
local function add(record, numbers)
  for name, by in pairs(numbers) do
    if type(by) == 'table' then
      record[name] = record[name] or {}
      add(record[name], by)
    else
      record[name] = (record[name] or 0) + by
    end
  end
end
local function some()
  local numbers = {}
  for _ = 1, kv.random(6) do numbers[names[kv.random(#names)]] = kv.random(-5, 1000) end
  return numbers
end
function run(client)
  for round = 1, 600 do
    names = round % 2 == 0 and plain or strange
    local text, record = nil, {}
    if kv.random(2) == 1 then
      record = { list = {1, 'two', {x = 3}}, word = names == plain and 'a word, {' or 'a "word", {', truth = true }
      text = json.encode(record)
    end
    for step = 1, 8 do
      local numbers = { n = kv.random(), inner = some(), other = { deep = some() } }
      add(record, numbers)
      text = json.add(text, numbers)
      kv.expect(text == json.encode(record), text .. ' and ' .. json.encode(record))
    end
  end
  kv.put('done', 'yes')
end
"#;

#[test]
fn numbers_added_within_a_text_are_those_added_in_tables() {
    let job = opened(ADDS, None, &[]).unwrap();
    let outcome = run(job.as_ref(), &mut Memory::default(), everything(), 1, Turns::OneByOne);
    assert_eq!(outcome.reasons, []);
    assert_eq!(outcome.fact("keys"), 1);
}
