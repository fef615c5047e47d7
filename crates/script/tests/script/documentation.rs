//! The page about scripts says what the code does.
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::harness;

use common::opened;
use harness::{Memory, Turns, everything, run};
use kvtrial_script as script;

fn page() -> String {
    std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scripts.md")).unwrap()
}

#[test]
fn every_verb_is_in_the_reference_as_the_code_has_it() {
    assert!(
        page().contains(&script::reference::markdown()),
        "put this into docs/scripts.md:\n{}",
        script::reference::markdown()
    );
}

#[test]
fn every_verb_of_the_reference_is_there() {
    let names = script::reference::VERBS.iter().map(|verb| verb.call.split('(').next().unwrap());
    let calls: String =
        names.filter(|name| *name != "kv.data").map(|name| format!("assert({name}, '{name}')\n")).collect();
    assert!(opened(&format!("{calls}function run(client) end"), None, &[]).is_ok());
}

#[test]
fn the_leaderboard_of_the_page_runs_as_it_stands_there() {
    let page = page();
    let lua: Vec<&str> = page.split("```lua\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let job = opened(&format!("{}{}", lua[0], lua[1]), None, &[]).unwrap();
    let answer = |slots| {
        let outcome = run(job.as_ref(), &mut Memory::default(), everything(), slots, Turns::Random(4));
        assert_eq!(outcome.reasons, []);
        assert_eq!(outcome.fact("lines"), 300);
        outcome.answer.digest
    };
    assert_eq!(answer(1), answer(16));
}
