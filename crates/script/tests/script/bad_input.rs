//! What is wrong with a script is said with its line, and what to do about it.
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::harness;

use common::opened;
use harness::{Memory, Turns, everything, run};
use study::ReasonKind;

/// What is said of a script that cannot be used.
pub(crate) fn refused(text: &str) -> String {
    opened(text, None, &[]).err().unwrap_or_else(|| panic!("it was taken: {text}"))
}

/// What ends a trial of a script whose `run` is this: kind and words.
pub(crate) fn failed(body: &str) -> (ReasonKind, String) {
    let text = format!("function run(client)\n{body}\nend\n");
    let job = opened(&text, None, &[]).unwrap();
    let outcome = run(job.as_ref(), &mut Memory::default(), everything(), 4, Turns::OneByOne);
    assert_eq!(outcome.reasons.len(), 1, "{:?}", outcome.reasons);
    (outcome.reasons[0].kind, outcome.reasons[0].example.clone())
}

#[track_caller]
pub(crate) fn says(words: &str, parts: &[&str]) {
    for part in parts {
        assert!(words.contains(part), "no '{part}' in: {words}");
    }
}

#[test]
fn a_syntax_error_is_found_before_anything_is_started_and_names_its_line() {
    says(&refused("function run(client)\n  local = 3\nend"), &["test.lua:2:", "near '='"]);
}

#[test]
fn a_script_without_a_phase_says_what_to_write() {
    says(&refused("local x = 1"), &["there is nothing to run", "function run(client)"]);
    says(&refused("phases = {'load', 'wrk'} function load(c) end"), &["phases names 'wrk'"]);
}

#[test]
fn a_call_that_does_not_exist_is_answered_with_the_one_that_was_meant() {
    let (kind, words) = failed("kv.gett('a')");
    assert_eq!(kind, ReasonKind::ScriptFailed);
    says(&words, &["test.lua:2:", "there is no kv.gett", "Did you mean kv.get?"]);
    says(&failed("kv.incr('a')").1, &["Did you mean kv.increment?"]);
    says(&failed("put('a', 'b')").1, &["test.lua:2:", "global 'put'", "Did you mean kv.put?"]);
}

#[test]
fn what_is_no_string_is_refused_with_its_type_and_the_remedy() {
    says(&failed("kv.put('a', 3)").1, &["test.lua:2: kv.put: the value is a number", "tostring()"]);
    says(&failed("kv.put('a', {})").1, &["the value is a table", "json.encode()"]);
    says(&failed("kv.get(nil)").1, &["kv.get: the key is a nil and must be a string"]);
    says(&failed("kv.increment('a', 1.5)").1, &["the step must be a whole number and is 1.5"]);
    says(&failed("kv.put_many({{key = 'a', value = 1}})").1, &["the value 1 is a number"]);
}

#[test]
fn what_a_verb_cannot_do_is_said_with_the_verb() {
    says(&failed("kv.scan('a', 0)").1, &["test.lua:2: kv.scan: the limit must be 1 or more and is 0"]);
    says(&failed("kv.scan('a', 'b', 3)").1, &["kv.scan: after the two keys a function is needed, this is a number"]);
    says(&failed("kv.cas('a', 1, 'b')").1, &["kv.cas: the expected value is a number and must be a string"]);
    says(&failed("kv.get_many('a')").1, &["kv.get_many: a list of key is needed, this is a string"]);
    says(&failed("kv.say('two\\nlines')").1, &["kv.say: field 1 has a line end"]);
    says(&failed("kv.random(5, 1)").1, &["test.lua:2: kv.random: the interval from 5 to 1 is empty"]);
    says(&failed("kv.shared(true)").1, &["kv.shared is for the top level"]);
    says(&failed("kv.like('fans')").1, &["kv.like is for the top level"]);
    says(&failed("client.owns(1)").1, &["client:owns: the key is a nil and must be a string"]);
    says(&failed("json.encode(print)").1, &["test.lua:2: json.encode:", "has no form in JSON"]);
    says(&failed("json.add('{\"b\":1,\"a\":2}', {a = 1})").1, &["json.add: the keys are not in byte order"]);
    says(&failed("json.add('{\"a\":\"x\"}', {a = 1})").1, &["json.add: what is added to is not a number, at byte 6"]);
    says(&failed("json.add('{\"a\":1', {b = 1})").1, &["json.add: ',' is expected"]);
    says(&failed("json.add('{}', {a = 'x'})").1, &["json.add: what is added to 'a' is not a number"]);
    says(&failed("json.add(1, {})").1, &["json.add: the text is a number and must be a string"]);
    says(&failed("json.decode('{')").1, &["test.lua:2: json.decode:"]);
}

#[test]
fn nothing_leads_out_of_a_script() {
    for call in ["os.execute('ls')", "io.open('x')", "os.time()", "debug.getinfo(1)", "package.loadlib('a', 'b')"] {
        says(&failed(call).1, &["test.lua:2:", "is not there: a script has no files, processes, network or clock"]);
    }
    for call in ["require('ffi')", "dofile('x')", "loadstring('return 1')", "setfenv(1, {})"] {
        says(&failed(call).1, &["test.lua:2:", "is not there: a script is one file"]);
    }
    says(&failed("kv.now()").1, &["kvtrial takes the time"]);
    says(&failed("print('a')").1, &["kv.say"]);
    says(
        &failed("kv.expect(string.dump == nil and getmetatable('') == nil, 'shut')\nerror('was shut')").1,
        &["was shut"],
    );
}

#[test]
fn a_call_to_the_store_where_none_can_wait_is_explained() {
    let explained = "A verb of kv waits for the store's reply: it cannot be called at the top level";
    says(&refused("kv.get('a')\nfunction run() end"), &["test.lua:1:", explained]);
    let inside = "string.format('%s', setmetatable({}, {__tostring = function() return kv.get('x') end}))";
    says(&failed(inside).1, &["test.lua:2:", explained]);
    says(&failed("coroutine.yield('x')").1, &["only verbs of kv may yield"]);
}

#[test]
fn an_endless_loop_is_ended_at_the_deadline_and_its_line_is_named() {
    for body in [
        "while true do end",
        "while true do pcall(error) end",
        "local x = 0\nrepeat x = x + 1 until x < 0",
        "kv.get('a')\nwhile true do local t = {} end",
    ] {
        let text = format!("function run(client)\n{body}\nend");
        let job = opened(&text, None, &[]).unwrap();
        let outcome = common::run_with_deadline(job.as_ref(), 300);
        let reason = outcome.1.first().unwrap_or_else(|| panic!("not ended: {body}"));
        assert_eq!(reason.kind, ReasonKind::ScriptFailed, "{reason:?}");
        says(&reason.example, &["test.lua:", "ended: it computed for longer than the deadline"]);
    }
}

#[test]
fn an_endless_loop_at_the_top_level_is_ended_too() {
    says(&refused("while true do end"), &["test.lua:1:", "ended: it computed for longer than the deadline"]);
}

#[test]
fn memory_that_is_eaten_ends_the_script_and_not_the_process() {
    let (kind, words) = failed("local t = {}\nfor i = 1, 1e9 do t[i] = ('x'):rep(100000) .. i end");
    assert_eq!(kind, ReasonKind::ScriptFailed);
    says(&words, &["not enough memory", "512 MiB"]);
    says(&refused("local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(100000) .. i end"), &["not enough memory"]);
}

#[test]
fn two_clients_that_write_one_key_are_found_and_both_are_named() {
    let (kind, words) = failed("kv.put('same', 'v' .. client.number)");
    assert_eq!(kind, ReasonKind::ScriptFailed);
    says(
        &words,
        &["test.lua:2:", "key same is written by client", "has written it in the same phase", "kv.shared(true)"],
    );
}

#[test]
fn clients_have_globals_of_their_own() {
    let text = "count = 0
function run(client)
  for i = 1, 5 do
    count = count + 1
    kv.put('k' .. client.number, ('%d'):format(count))
  end
end
function answer() for key in kv.keys() do kv.say(key, kv.get(key)) end end";
    let job = opened(text, None, &[]).unwrap();
    let outcome = run(job.as_ref(), &mut Memory::default(), everything(), 8, Turns::Random(3));
    assert_eq!(outcome.reasons, []);
    let lines: Vec<String> = (1..=8).map(|client| format!("k{client}\t5")).collect();
    assert_eq!(outcome.answer.digest, data::digest::of_lines(lines));
}

#[test]
fn a_false_expectation_voids_the_trial_in_the_words_of_the_script() {
    let (kind, words) = failed("pcall(kv.expect, kv.get('a') == 'x', 'a holds x')");
    assert_eq!((kind, words.as_str()), (ReasonKind::NotAsExpected, "a holds x"));
}

#[test]
fn an_error_names_the_calls_that_led_to_it() {
    let (_, words) =
        failed("local function deep(x) return x.y.z end\nlocal function mid() local r = deep({}) return r end\nmid()");
    says(&words, &["test.lua:2: attempt to index field 'y'", "test.lua:3", "test.lua:4"]);
}

#[test]
fn parameters_that_are_wrong_are_refused_with_the_option() {
    let text = "local n = kv.param('n', 5, 'a number') function run(client) end";
    says(&opened(text, None, &[("n", "many")]).err().unwrap(), &["--set n=many", "must be a number"]);
    says(&opened(text, None, &[("m", "1")]).err().unwrap(), &["no parameter 'm'"]);
    says(&opened(text, None, &[("seconds", "-1")]).err().unwrap(), &["--set seconds=-1"]);
    says(&refused("kv.param('clients', 1) function run() end"), &["an option of kvtrial's own"]);
    says(&failed("kv.param('late', 1)").1, &["not declared at the top level"]);
}

#[test]
fn data_is_what_the_user_names_and_no_other_file() {
    says(&opened("data = kv.lines(kv.data) function run() end", None, &[]).err().unwrap(), &["--data FILE"]);
    says(
        &opened("data = kv.lines('/etc/passwd') function run() end", None, &[]).err().unwrap(),
        &["is not what --data names"],
    );
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bad.jsonl");
    std::fs::write(&path, "{\"a\":1}\n{oops}\n").unwrap();
    let text = "data = kv.json(kv.data) function run(client) for o in data:all() do kv.put('a', tostring(o.a)) end end";
    let job = opened(text, Some(&path.display().to_string()), &[]).unwrap();
    let outcome = run(job.as_ref(), &mut Memory::default(), everything(), 1, Turns::OneByOne);
    says(&outcome.reasons[0].example, &["bad.jsonl:2:", "key must be a string"]);
}

#[test]
fn a_line_of_data_with_nothing_on_it_is_no_record_and_errors_name_the_line_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data");
    let read = |how: &str, data: &str| {
        std::fs::write(&path, data).unwrap();
        let text = format!(
            "data = {how}(kv.data) function run(client) for o in data:share(client) do kv.put(o.a, o.b) end kv.put('n', tostring(data.count)) end \
             function answer() for key in kv.keys() do kv.say(key, kv.get(key)) end end"
        );
        let job = opened(&text, Some(&path.display().to_string()), &[]).unwrap();
        run(job.as_ref(), &mut Memory::default(), everything(), 1, Turns::OneByOne)
    };
    let said = |count: &str| data::digest::of_lines(vec![format!("n\t{count}"), "x\t1".into(), "y\t2".into()]);
    let json = read("kv.json", "\n{\"a\":\"x\",\"b\":\"1\"}\n \n\n{\"a\":\"y\",\"b\":\"2\"}\r\n\n");
    assert_eq!((json.answer.digest, json.reasons.len()), (said("2"), 0));
    for separator in [",", ";", "\t"] {
        let csv = read("kv.csv", &"\na,b\n\nx,1\n\ny,2\n\n".replace(',', separator));
        assert_eq!((csv.answer.digest, csv.reasons.len()), (said("3"), 0), "{separator}");
    }
    let wrong = read("kv.json", "\n\n{\"a\":\"x\",\"b\":\"1\"}\n\noops\n");
    says(&wrong.reasons[0].example, &["data:5:", "a value is expected"]);
}
