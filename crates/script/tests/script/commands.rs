//! Commands of a store's own: what is sent, what comes back as Lua's values, and what is refused.
#![allow(clippy::unwrap_used)]

use crate::bad_input::{failed, says};
use crate::common;
use crate::harness;

use common::opened;
use harness::{Memory, Outcome, Request, Response, Turns, everything, nothing, run};
use jobkit::TrialSetup;
use store::{Capabilities, OperationKind, TreeNode};
use study::ReasonKind;

/// Runs a script whose `run` is this on a server with these answers, by the last word of a command.
fn ran(body: &str, seen: &mut Vec<Vec<String>>) -> Outcome {
    let job = opened(&format!("function run(client)\n{body}\nend"), None, &[]).unwrap();
    let mut server = |request: &Request| {
        let Request::Command(words) = request else { return Memory::default().answer_one(request) };
        let words: Vec<String> = words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let answer = answer(words.last().unwrap());
        seen.push(words);
        answer
    };
    run(job.as_ref(), &mut server, everything(), 1, Turns::OneByOne)
}

fn answer(asked: &str) -> Response {
    use TreeNode::{Decimal, Error, List, Map, Nil, Number, Text, Truth};
    let nodes = match asked {
        "number" => vec![Number(41)],
        "large" => vec![Number(i64::MAX)],
        "status" => vec![Text((0, 2))],
        "truth" => vec![Truth(true)],
        "decimal" => vec![Decimal((2, 5))],
        "list" => vec![List(3), List(2), Number(1), Text((0, 2)), Nil, Number(3)],
        "map" => vec![Map(2), Text((0, 2)), Number(1), Number(7), List(0)],
        "within" => vec![List(1), Error((5, 10))],
        "error" => vec![Error((5, 10))],
        _ => vec![Nil],
    };
    Response::Tree(nodes, b"OK1.5ERR x".to_vec())
}

trait AnswersOne {
    fn answer_one(&mut self, request: &Request) -> Response;
}

impl AnswersOne for Memory {
    fn answer_one(&mut self, request: &Request) -> Response {
        harness::Backend::answer(self, request)
    }
}

#[test]
fn words_are_sent_as_they_are_and_numbers_as_the_server_reads_them() {
    let mut seen = Vec::new();
    let outcome =
        ran("kv.command('zadd', 'board', 3, 'a') kv.command('ZADD', 'board', 0.1, 'b') kv.command('PING')", &mut seen);
    assert_eq!(outcome.reasons, []);
    let due: [&[&str]; 3] = [&["zadd", "board", "3", "a"], &["ZADD", "board", "0.10000000000000001", "b"], &["PING"]];
    assert_eq!(seen, due);
    assert_eq!((outcome.fact("commands").as_u64(), outcome.fact("operations").as_u64()), (Some(3), Some(3)));
}

#[test]
fn answers_are_lua_values_and_errors_nil_and_words() {
    let outcome = ran(
        "local function ask(word) return kv.command('ASK', 'k', word) end
         kv.expect(ask('number') == 41 and ask('status') == 'OK' and ask('truth') == true and ask('decimal') == 1.5, 'plain')
         kv.expect(ask('large') == '9223372036854775807' and ask('nothing') == nil, 'large and nil')
         local list = ask('list')
         kv.expect(#list == 3 and list[1][1] == 1 and list[1][2] == 'OK' and list[2] == false and list[3] == 3, 'a list')
         local map = ask('map')
         kv.expect(map.OK == 1 and #map[7] == 0, 'a map')
         kv.expect(ask('within')[1].err == 'ERR x', 'an error within')
         local none, words = ask('error')
         kv.expect(none == nil and words == 'ERR x', 'an error')
         kv.expect(select('#', ask('number')) == 1, 'one value')",
        &mut Vec::new(),
    );
    assert_eq!(outcome.reasons, []);
}

#[test]
fn what_blocks_ends_or_changes_the_connection_is_refused_where_it_is_called() {
    says(
        &failed("kv.command('blpop', 'k', 0)").1,
        &["test.lua:2: kv.command: BLPOP blocks the connection", "Use LPOP"],
    );
    says(&failed("kv.command('SHUTDOWN')").1, &["test.lua:2: kv.command: this command ends or changes the server"]);
    says(&failed("kv.command('MULTI')").1, &["Use EVAL or FCALL"]);
    says(&failed("kv.command('XREAD', 'BLOCK', 0, 'STREAMS', 's', '$')").1, &["test.lua:2:", "Leave BLOCK out"]);
    says(&failed("kv.command('SCRIPT', 'FLUSH')").1, &["kvtrial's own among them"]);
    says(&failed("kv.command(1)").1, &["the name of the command is a number"]);
    says(&failed("kv.command('')").1, &["the name of the command is empty"]);
    says(&failed("kv.command('SET', 'k', {})").1, &["argument 2 is a table", "json.encode()"]);
    says(&failed("kv.command('SET', 'k', 0/0)").1, &["argument 2 is nan"]);
}

#[test]
fn a_key_of_commands_is_no_verified_key_and_a_verified_one_is_not_touched() {
    let (kind, words) = failed("kv.command('SET', 'k', 'v') kv.get('k')");
    assert_eq!(kind, ReasonKind::ScriptFailed);
    says(&words, &["key k is a key of commands: only kv.command and kv.delete know it"]);
    says(&failed("kv.put('k', 'v') kv.command('EXPIRE', 'k', 1)").1, &["key k is a value: kv.get reads it"]);
    assert_eq!(ran("kv.command('SET', 'k', 'v') kv.delete('k')", &mut Vec::new()).reasons, []);
}

#[test]
fn a_store_without_commands_is_refused_before_anything_starts() {
    let job = opened("function run(client) kv.command('PING') end", None, &[]).unwrap();
    let without = Capabilities { native: everything().native.without(&[OperationKind::Command]), ..everything() };
    let words = job.suits(&without).unwrap_err().0;
    says(&words, &["test.lua calls kv.command", "redis-unix", "valkey-cluster"]);
    assert!(job.suits(&everything()).is_ok());
}

#[test]
fn the_keys_of_commands_are_among_those_of_the_script_and_nobody_counts_them() {
    let job =
        opened("function run(client) kv.command('LMOVE', 'a', 'b', 'LEFT', 'LEFT') kv.put('c', '') end", None, &[])
            .unwrap();
    let trial = job.trial(&TrialSetup::alone(1, everything(), 1));
    let mut keys: Vec<Vec<u8>> = Vec::new();
    let mut key = Vec::new();
    while trial.key(keys.len() as u64, &mut key) {
        keys.push(std::mem::take(&mut key));
    }
    keys.sort();
    assert_eq!(keys, [b"a", b"b", b"c"]);
    let job = opened("function run(client) local n = kv.command('INCR', 'n') kv.expect(n > 0) end", None, &[]).unwrap();
    let outcome = run(job.as_ref(), &mut |_: &Request| answer("number"), everything(), 2, Turns::OneByOne);
    assert_eq!(outcome.reasons, []);
    let outcome = run(job.as_ref(), &mut |_: &Request| Response::Missing, nothing(), 2, Turns::OneByOne);
    assert_eq!(outcome.reasons[0].kind, ReasonKind::ScriptFailed);
}
