//! A script that would never come back is ended, and says where it was.
#![allow(clippy::unwrap_used)]

use crate::bad_input::{failed, refused, says};
use crate::common;

use common::opened;
use study::ReasonKind;

/// What is said of a `run` that may compute for 300 ms.
fn ended(body: &str) -> String {
    let text = format!("function run(client)\n{body}\nend");
    let job = opened(&text, None, &[]).unwrap();
    let (_, reasons) = common::run_with_deadline(job.as_ref(), 300);
    let reason = reasons.into_iter().next().unwrap_or_else(|| panic!("not ended: {body}"));
    assert_eq!(reason.kind, ReasonKind::ScriptFailed, "{reason:?}");
    reason.example
}

const SLOW: &str = "('x'):rep(30):find(('.-'):rep(30) .. 'y')";

#[test]
fn a_pattern_that_takes_for_ever_is_ended_at_its_line() {
    for call in [
        SLOW,
        "('x'):rep(30):match(('.-'):rep(30) .. 'y')",
        "('x'):rep(30):gsub(('.-'):rep(30) .. 'y', '')",
        "('x'):rep(30):gsub(('.-'):rep(30) .. 'y', {})",
        "('x'):rep(30):gmatch(('.-'):rep(30) .. 'y')()",
        "('x'):rep(1e6):find(('x'):rep(5e5) .. 'y', 1, true)",
        "while true do pcall(string.find, ('x'):rep(30), ('.-'):rep(30) .. 'y') end",
    ] {
        says(&ended(call), &["test.lua:2: ended: it computed for longer than the deadline"]);
    }
}

#[test]
fn a_loop_that_catches_its_own_end_is_ended() {
    for body in [
        "while true do pcall(function() while true do end end) end",
        "while true do xpcall(function() while true do end end, function() while true do end end) end",
        "local function again() pcall(again) return again() end\nagain()",
    ] {
        says(&ended(body), &["test.lua:", "ended: it computed for longer than the deadline"]);
    }
}

#[test]
fn a_loop_at_the_top_level_that_catches_its_own_end_is_ended() {
    let caught = "while true do pcall(function() while true do end end) end";
    says(&refused(caught), &["test.lua:1:", "ended: it computed for longer than the deadline"]);
    says(&refused(SLOW), &["test.lua:1: ended: it computed for longer than the deadline"]);
}

#[test]
fn recursion_without_end_fails_the_script_at_its_line() {
    for body in [
        "local function deep() return 1 + deep() end\ndeep()",
        "local function deep(s) return (s:gsub('.', deep)) end\ndeep('x')",
        "local function deep() table.sort({2, 1}, deep) return true end\ndeep()",
        "local t = setmetatable({}, {__index = function(t, k) return t[k .. 'x'] end})\nreturn t.a",
    ] {
        let (kind, words) = failed(body);
        assert_eq!(kind, ReasonKind::ScriptFailed);
        says(&words, &["test.lua:2", "stack overflow"]);
        let top = format!("\nlocal function act() {body}\nend act()\nfunction run() end");
        says(&refused(&top), &["test.lua:2", "stack overflow"]);
    }
}

#[test]
fn an_error_of_ten_megabytes_is_cut() {
    let (_, words) = failed("error(('x'):rep(1e7))");
    assert!(words.starts_with("test.lua:2: xxx") && words.len() < 5_000, "{} bytes", words.len());
    let words = refused("error(('x'):rep(1e7))");
    assert!(words.starts_with("test.lua:1: xxx") && words.len() < 5_000, "{} bytes", words.len());
    let (_, words) = failed("kv.expect(false, ('x'):rep(1e7))");
    assert!(words.starts_with("xxx") && words.len() < 5_000, "{} bytes", words.len());
}
