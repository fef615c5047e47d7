//! Arguments that a verb cannot use are refused with the verb, the line and what to do.
#![allow(clippy::unwrap_used)]

use crate::bad_input::{failed, refused, says};
use kvtrial_script as script;
use study::ReasonKind;

/// A call of each verb with all the arguments it takes.
const CALLS: [(&str, &str); 28] = [
    ("kv.get", "'a'"),
    ("kv.put", "'a', 'b', {ttl = 60}"),
    ("kv.touch", "'a', 60"),
    ("kv.ttl", "'a'"),
    ("kv.delete", "'a'"),
    ("kv.append", "'a', 'b'"),
    ("kv.increment", "'a', 1"),
    ("kv.get_counter", "'a'"),
    ("kv.increment_field", "'a', 'b', 1"),
    ("kv.get_fields", "'a'"),
    ("kv.cas", "'a', 'b', 'c'"),
    ("kv.get_many", "{'a'}"),
    ("kv.put_many", "{a = 'b'}"),
    ("kv.scan", "'a', 1"),
    ("kv.scan", "'a', 'b', function() end, 1"),
    ("kv.range", "'a', 'b', 1"),
    ("kv.del", "'a'"),
    ("kv.mget", "{'a'}"),
    ("kv.mput", "{a = 'b'}"),
    ("kv.mdel", "{'a'}"),
    ("kv.expect", "true, 'why'"),
    ("kv.keys", ""),
    ("kv.lines", "'debian-1k'"),
    ("kv.random", "1, 2"),
    ("kv.zipf", "10, 0.5"),
    ("json.decode", "'1'"),
    ("json.encode", "1"),
    ("json.add", "'{}', {}"),
];

#[test]
fn every_verb_refuses_an_argument_too_many() {
    for (verb, arguments) in CALLS {
        let comma = if arguments.is_empty() { "" } else { ", " };
        let (kind, words) = failed(&format!("{verb}({arguments}{comma}1800)"));
        assert_eq!(kind, ReasonKind::ScriptFailed, "{words}");
        says(&words, &[&format!("test.lua:2: {verb} takes "), "there is one argument more: 1800. Leave it out"]);
    }
    for call in ["kv.param('a', 1, 'help', 2)", "kv.shared(true, 2)", "kv.like('fans', 2)"] {
        says(&refused(&format!("{call} function run() end")), &["test.lua:1: kv.", "there is one argument more: 2"]);
    }
    // Each verb of the reference is here, but for kv.say, kv.command and kv.sql, which take any number.
    let other = ["kv.say", "kv.command", "kv.sql", "kv.param", "kv.shared", "kv.like", "kv.data", "kv.json", "kv.csv"];
    for name in script::reference::VERBS.iter().map(|verb| verb.call.split('(').next().unwrap()) {
        assert!(other.contains(&name) || CALLS.iter().any(|(known, _)| *known == name), "{name}");
    }
}

#[test]
fn a_call_with_two_results_as_the_last_argument_is_explained() {
    says(&failed("kv.get(('a-b'):gsub('-', ''))").1, &["one argument more: 1.", "((s:gsub(a, b)))"]);
    says(&failed("kv:get('a')").1, &["kv.get: call it with a dot, kv.get(...), not with a colon"]);
}

#[test]
fn numbers_that_are_none_are_refused_with_the_remedy() {
    says(
        &failed("kv.increment('a', 0/0)").1,
        &["test.lua:2: kv.increment: the step", "is nan. Look for a division by 0"],
    );
    says(&failed("kv.increment('a', 1/0)").1, &["kv.increment: the step must be below 2^53", "inf"]);
    says(&failed("kv.increment('a', 2^53)").1, &["kv.increment: the step must be below 2^53"]);
    says(&failed("kv.increment('a', '1')").1, &["the step must be a whole number and is a string", "tonumber()"]);
    says(&failed("kv.increment('a', false)").1, &["the step must be a whole number and is a boolean"]);
    says(&failed("kv.increment('a', 1.5)").1, &["the step must be a whole number and is 1.5", "math.floor()"]);
    says(&failed("kv.increment_field('a', 'b', 1.5)").1, &["test.lua:2: kv.increment_field: the step"]);
    says(&failed("kv.scan('a', 1.5)").1, &["test.lua:2: kv.scan: the limit must be a whole number and is 1.5"]);
    says(&failed("kv.scan('a', 2^40)").1, &["kv.scan: the limit must be below 2^32"]);
    says(&failed("kv.range('a', 'b', 0/0)").1, &["test.lua:2: kv.range: the limit must be a whole number and is nan"]);
    says(
        &failed("kv.zipf(0)").1,
        &["test.lua:2: kv.zipf: the number of choices must be from 1 to below 2^32 and is 0"],
    );
    says(&failed("kv.zipf(10, 0/0)").1, &["kv.zipf: the exponent must be a number from 0 to 10 and is nan"]);
    says(&failed("kv.zipf(10, 'x')").1, &["kv.zipf: the exponent must be a number from 0 to 10 and is a string"]);
    says(&failed("kv.zipf()").1, &["kv.zipf: the number of choices must be a whole number and is a nil"]);
    says(
        &failed("kv.random(1.5, 2.5)").1,
        &["test.lua:2: kv.random: the first number must be a whole number and is 1.5"],
    );
    says(&failed("kv.random(nil, 5)").1, &["kv.random: the first number must be a whole number and is a nil"]);
    says(
        &failed("math.random(0/0)").1,
        &["test.lua:2: math.random: the last number must be a whole number and is nan"],
    );
    says(&failed("kv.lines('debian-1k'):at(0)").1, &["data:at: lines are counted from 1, and this is 0"]);
}

#[test]
fn lists_and_pairs_that_would_be_taken_in_part_are_refused() {
    says(&failed("kv.get_many({a = 'b'})").1, &["test.lua:2: kv.get_many: a list of key is needed", "no entry 1"]);
    says(&failed("kv.mget({'a', nil, 'c'})").1, &["test.lua:2: kv.mget: a list of key is needed", "no entry 2"]);
    says(
        &failed("kv.put_many({{key = 'a', value = 'b', ttl = 5}})").1,
        &["test.lua:2: kv.put_many: entry 1 has 'ttl'"],
    );
    says(&failed("kv.mput({{key = 'a', value = 'b'}, c = 'd'})").1, &["test.lua:2: kv.mput: entry 2 is a nil"]);
}

#[test]
fn parameters_and_declarations_of_a_wrong_type_are_refused() {
    says(&refused("kv.shared('no') function run() end"), &["test.lua:1: kv.shared takes true or false"]);
    says(
        &refused("kv.param('a', 1, {}) function run() end"),
        &["test.lua:1: kv.param('a'): the help must be a string"],
    );
}
