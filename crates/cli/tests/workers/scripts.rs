//! A script on several workers: its text goes along, and its clients may read what others wrote before.

use super::nats::{JoinedWorker, Nats, Said};
use super::{digest, trial};
use crate::common::{Desk, once};

/// Clients load keys, read those of all, and write their own.
const PAGES: &str = "
local pages = kv.param('pages', 60, 'pages')
function load(client)
  for n = client.number, pages, client.count do kv.put('page' .. n, 'text' .. n) end
end
function run(client)
  for n = 1, pages do
    kv.expect(kv.get('page' .. n) == 'text' .. n, 'another client has loaded it')
    local mark = 'mark' .. n
    if client:owns(mark) then kv.put(mark, 'seen' .. n) end
  end
end
function answer()
  for key in kv.keys() do kv.say(key, kv.get(key)) end
end
";

fn words(script: &str, more: &str) -> String {
    once(script, "redis", &["--clients 5", more])
}

#[test]
fn a_script_needs_no_file_on_the_machine_of_a_worker_and_gives_the_answer_of_one_process() {
    let desks = [Desk::new(), Desk::new(), Desk::new()];
    let [first, second, desk] = &desks;
    let file = desks.each_ref().map(|desk| desk.file("pages.lua", PAGES)).into_iter().last().unwrap();
    let alone = first.run(&words("pages.lua", ""));
    assert_eq!(alone.status, 0, "{}", alone.said());
    let local = second.run(&words("pages.lua", "--workers local:3"));
    let (nats, away) = (Nats::start(), Desk::new());
    let more = format!("--workers 2 --nats {} --out out", nats.url());
    let mut study = Said::of(desk.command(&format!("run {}", words("pages.lua", &more))));
    study.await_line("0 of 2 workers are there");
    std::fs::remove_file(file).unwrap();
    let _workers = ["one", "two"].map(|name| JoinedWorker::join(&away, &nats.url(), name));
    let joined = desk.finished(study.output());
    for ran in [local, joined] {
        assert_eq!(ran.status, 0, "{}", ran.said());
        assert_eq!(digest(&ran), digest(&alone));
        assert_eq!(trial(&ran)["answer"], trial(&alone)["answer"]);
        for figure in ["operations", "hits", "misses", "bytes_read", "bytes_written"] {
            assert_eq!(trial(&ran)[figure], trial(&alone)[figure], "{figure}");
        }
        assert_eq!(trial(&ran)["read_back"]["records"], 120, "each key is read back once");
    }
}

#[test]
fn a_script_that_only_one_process_can_judge_says_why_and_what_to_do() {
    let two_use_a_key = "function run(client) kv.put('k' .. client.number, 'v') kv.get('k1') end";
    for (text, why) in [
        (
            "kv.shared(true) function run(client) kv.put('k', 'v') end",
            "several clients write the same keys (kv.shared)",
        ),
        (
            "function run(client) kv.increment('k', 1) end",
            "it calls kv.increment, and only one process can judge counters",
        ),
        ("function run(client) kv.put('k' .. client.number, 'v', {ttl = 9}) end", "it names a time to live"),
        (two_use_a_key, "in phase run one client writes key k1, which another uses"),
    ] {
        let desk = Desk::new();
        desk.file("mine.lua", text);
        let ran = desk.run(&words("mine.lua", "--workers local:2"));
        assert_eq!(ran.status, 2, "{text}: {}", ran.said());
        assert!(ran.stderr.contains(why) && ran.stderr.contains("run it without --workers"), "{text}: {}", ran.said());
        assert!(!desk.path().join("out").exists() && desk.left_behind().is_empty());
    }
}

#[test]
fn a_file_of_input_goes_along_and_gives_the_answer_of_one_process_wherever_it_is_by_then() {
    let (nats, alone, desk, away) = (Nats::start(), Desk::new(), Desk::new(), Desk::new());
    // Several pieces.
    let lines: String = (0..9000).map(|n| format!("key{n:06} {}\n", "v".repeat(50))).collect();
    let text = "local lines = kv.lines(kv.data)
        function run(client) for line in lines:share(client) do kv.put(line:sub(1, 9), line) end end
        function answer() kv.say(kv.data) for key in kv.keys() do kv.say(kv.get(key)) end end";
    let file = [&alone, &desk].map(|desk| {
        desk.file("lines.lua", text);
        desk.file("lines.txt", &lines)
    });
    let words = |more: &str| words("lines.lua", &format!("--data lines.txt {more}"));
    let one = alone.run(&words(""));
    assert_eq!(one.status, 0, "{}", one.said());
    let more = format!("--workers 2 --nats {} --out out", nats.url());
    let mut study = Said::of(desk.command(&format!("run {}", words(&more))));
    study.await_line("0 of 2 workers are there");
    std::fs::remove_file(&file[1]).unwrap();
    let _workers = ["one", "two"].map(|name| JoinedWorker::join(&away, &nats.url(), name));
    let ran = desk.finished(study.output());
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert_eq!((digest(&ran), trial(&ran)["operations"].as_u64()), (digest(&one), Some(9000)));
    assert!(desk.left_behind().is_empty() && away.left_behind().is_empty());
}
