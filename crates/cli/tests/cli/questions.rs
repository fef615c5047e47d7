//! The questions of `docs/choose.md`: their commands as they stand there, with less work and less time.
#![allow(clippy::unwrap_used)]

use crate::common::Desk;
use crate::golden::root;
use std::process::Command;

/// A command of the page, and what the page says came of it.
struct Question {
    command: String,
    answer: String,
}

/// The code blocks that begin with a command that decides, each with the block behind it.
fn questions() -> Vec<Question> {
    let page = std::fs::read_to_string(root().join("docs/choose.md")).unwrap();
    let (_, page) = page.split_once("## Three questions").expect("docs/choose.md has three questions");
    let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
    let both = blocks.windows(2).filter(|both| both[0].contains("kvtrial choose "));
    both.map(|both| {
        let joined = both[0].replace("\\\n", " ");
        let command = joined.lines().find(|line| line.starts_with("kvtrial choose ")).unwrap();
        Question { command: command.to_owned(), answer: both[1].to_owned() }
    })
    .collect()
}

/// The stores a command names.
fn stores(command: &str) -> Vec<&str> {
    let words: Vec<&str> = command.split_whitespace().collect();
    words.windows(2).filter(|two| two[0] == "-s").map(|two| two[1]).collect()
}

/// Whether this build has a store and this machine its program.
fn is_here(store: &str) -> bool {
    let spec = study::Spec::private(store);
    catalog::all().find(|info| info.name == store).is_some_and(|info| host::present(info, &spec).is_ok())
}

/// The same with a little of the work, in a few seconds, on the stores that are here.
fn quick(desk: &Desk, command: &str) -> String {
    let mut words = Vec::new();
    let mut rest = command.trim_start_matches("kvtrial ").split_whitespace();
    while let Some(word) = rest.next() {
        let word = word.trim_matches('\'');
        match word {
            "-s" => words.extend(rest.next().filter(|store| is_here(store)).map(|store| format!("-s {store}"))),
            "--budget" => words.extend(rest.next().map(|_| "--budget 15s".to_owned())),
            "gen:2000:7" => words.push("gen:50:7".into()),
            "orders.jsonl" => {
                let made = Command::new("python3").arg(root().join("examples/orders.py")).arg("200").output().unwrap();
                assert!(made.status.success(), "{made:?}");
                assert_eq!(made.stdout.iter().filter(|byte| **byte == b'\n').count(), 200);
                words.push(desk.file("orders.jsonl", made.stdout).display().to_string());
            }
            script if script.ends_with(".lua") => {
                words.push(format!("{} --set visitors=50", root().join(script).display()));
            }
            word => words.push(word.to_owned()),
        }
    }
    words.join(" ")
}

#[test]
fn each_question_of_the_page_is_answered_by_its_one_command() {
    let questions = questions();
    assert_eq!(questions.len(), 3);
    for question in questions {
        let desk = Desk::new();
        let ran = desk.kvtrial(&format!("{} --out out", quick(&desk, &question.command)));
        // A loaded machine may miss a need; that is an answer as well.
        assert!(ran.status <= 1, "{}: {}", question.command, ran.said());
        let study = ran.study.as_ref().unwrap_or_else(|| panic!("{}", ran.said()));
        let decision = &study["choice"]["decisions"][0];
        let judged: usize =
            ["take", "also", "out", "not_shown"].iter().map(|list| decision[list].as_array().unwrap().len()).sum();
        let here = stores(&question.command).into_iter().filter(|store| is_here(store)).count();
        assert!(judged == here && here >= 2, "{judged} of {here}: {}", ran.said());
        let cells = study["cells"].as_array().unwrap();
        assert!(cells.iter().all(|cell| cell["verdict"]["status"] != "void"), "{}", ran.said());
        let needs = study["needs"].as_array().unwrap().len();
        assert_eq!(needs, question.command.matches("--need").count());
    }
}

#[test]
fn every_answer_of_the_page_takes_a_store_that_was_asked_about_and_says_how_to_set_it_up() {
    for question in questions() {
        let said = question.answer.split_whitespace().collect::<Vec<_>>().join(" ");
        let taken = said.split("Take ").nth(1).and_then(|rest| rest.split([' ', '.', ',']).next()).unwrap_or_default();
        assert!(stores(&question.command).contains(&taken), "'{taken}' of {}: {said}", question.command);
        assert!(said.contains("up as it was measured:"), "{said}");
    }
}
