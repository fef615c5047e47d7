//! Bad usage and bad input: exit status 2, a message that names the remedy, nothing started, nothing lost.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::Desk;
use common::redis::Redis;

/// Runs words that must be refused, and returns what was said.
fn refused(desk: &Desk, words: &str) -> String {
    let ran = desk.kvtrial(words);
    assert_eq!(ran.status, 2, "{}", ran.said());
    assert!(ran.stdout.is_empty(), "{}", ran.said());
    ran.stderr
}

#[test]
fn unknown_names_are_answered_with_the_known_ones() {
    let desk = Desk::new();
    assert!(refused(&desk, "run fan").contains("Did you mean fans?"));
    let message = refused(&desk, "run fans -s rediss");
    assert!(message.contains("Did you mean redis, redis-") && !message.contains("lmdb"), "{message}");
    assert!(refused(&desk, "run fans -s ram --set polcy=cas").contains("Did you mean policy?"));
    assert!(refused(&desk, "run fans -s ram --vary polcy=cas,lock").contains("Did you mean policy?"));
    assert!(refused(&desk, "run fans -s redis,io-thread=2").contains("Did you mean io-threads?"));
    assert!(refused(&desk, "query fan libc6").contains("Did you mean fans?"));
    let message = refused(&desk, "run fans -s redis,appendonly=yes");
    assert!(message.contains("What survives a crash is chosen by durability=none,"), "{message}");
    assert!(refused(&desk, "run fans -s ram --set policy=casual").contains("partition"));
    assert!(refused(&desk, "run fans -s sqlite,durability=always").contains("none, os, second or commit"));
    assert!(refused(&desk, "run fans -s redis,durabilty=commit").contains("durability"));
}

#[test]
fn the_form_that_was_probably_meant_is_named() {
    let desk = Desk::new();
    desk.file("long.lua", "function run(client) kv.put('a', 'b') end");
    for (words, meant) in [
        ("run long.lua -s ram --set seconds=1e18", "--set seconds=1e18: use a number from 0 to 1000000000"),
        ("run long.lua -s ram --set seconds=1e30", "use a number from 0 to 1000000000"),
        ("rnu ycsb", "'run'"),
        ("run ycsb -s ram --seconds 3", "'--set seconds=3'"),
        ("run ycsb -s ram --durability os", "'-s NAME,durability=os'"),
        ("run ycsb -s ram --rate -5", "--rate"),
        ("run ycsb -s ram --set clients=4", "Write --clients 4"),
        ("run ycsb -s redis --set io-threads=2", "Write -s NAME,io-threads=2"),
        ("run ycsb -s ram --rate -5", "use a number of operations per second above 0"),
        ("run ycsb -s ram --vary clients=1-4", "a range is written --vary clients=1..4"),
        ("run ycsb -s ram --vary records=100-400", "--vary records=100..400"),
        ("run ycsb -s redis --fault rollin", "Did you mean rolling?"),
        ("run ycsb -s redis,maxmemory=", "option 'maxmemory' has no value"),
        ("run ycsb -s memcached://127.0.0.1:1/3", "memcached: it has no databases; leave '/3' out of the address"),
        ("run ycsb -s infinispan://127.0.0.1:1/3", "it has no databases; leave '/3' out of the address"),
        ("run ycsb -s redis-cluster://127.0.0.1:1/3", "a cluster has only database 0; leave '/3' out of the address"),
        (
            "run ycsb -s valkey-cluster://127.0.0.1:1,127.0.0.1:2/3",
            "a cluster has only database 0; leave '/3' out of the address",
        ),
        ("run ycsb -s sqlite,cache=99999999GiB", "of memory are free here, use less"),
        ("run ycsb -s ram --set seconds=1e18", "seconds=1e18"),
        ("run ycsb -s ram --set seconds=1e30", "seconds="),
        ("tune ycsb -s ram --set seconds=1e30", "seconds="),
    ] {
        let message = refused(&desk, words);
        assert!(message.contains(meant), "{words}: {message}");
    }
}

#[test]
fn a_name_that_is_no_text_is_taken_as_it_is() {
    use std::os::unix::ffi::OsStrExt;
    let desk = Desk::new();
    let mut command =
        desk.command("run ycsb -s ram --no-baselines --repeats 1 --set records=10 --set operations=10 --out");
    let ran = desk.finished(command.arg(std::ffi::OsStr::from_bytes(b"x\xff")).output().unwrap());
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert!(desk.path().join(std::ffi::OsStr::from_bytes(b"x\xff")).join("study.json").exists());
}

#[test]
fn a_script_may_end_in_capitals() {
    let desk = Desk::new();
    desk.file("X.LUA", "function run(client) kv.put('a', 'b') end");
    let ran = desk.kvtrial("run X.LUA -s ram --no-baselines --repeats 1 --out out");
    assert_eq!(ran.status, 0, "{}", ran.said());
}

#[test]
fn a_bad_data_file_is_named_with_line_and_column() {
    let desk = Desk::new();
    desk.file("bad.tsv", "one\ta b c\ntwo without a tab\n");
    let message = refused(&desk, "run fans -s ram --data bad.tsv");
    assert!(message.contains("bad.tsv") && message.contains("line 2"), "{message}");
    desk.file("bad.txt", "193839: { fanof:['cheese','beer'] }\n193840: { fanof:['cheese','beer }\n");
    let message = refused(&desk, "run fans -s ram --data bad.txt");
    assert!(message.contains("bad.txt") && message.contains("line 2") && message.contains("column"), "{message}");
    assert!(refused(&desk, "run fans -s ram --data nowhere.tsv").contains("nowhere.tsv"));
    desk.file("cut.tsv.gz", b"\x1f\x8b\x08\x00cut short");
    assert!(refused(&desk, "run fans -s ram --data cut.tsv.gz").contains("cut.tsv.gz"));
}

#[test]
fn a_missing_server_is_answered_with_its_install_line() {
    let desk = Desk::new();
    let output = desk.command("run fans -s memcached").env("PATH", desk.path()).output().unwrap();
    let ran = desk.finished(output);
    assert_eq!(ran.status, 2, "{}", ran.said());
    assert!(ran.stderr.contains("apt-get install") && ran.stderr.contains("memcached"), "{}", ran.said());
}

#[test]
fn a_server_of_the_wrong_kind_is_refused_with_its_log() {
    let desk = Desk::new();
    // A program of the right name that is not the server: it ends at once with an error of its own.
    let fake = desk.file(
        "redis-server",
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 'Redis server v=0.1' && exit 0\necho 'I am no Redis' >&2\nexit 3\n",
    );
    std::process::Command::new("chmod").arg("+x").arg(&fake).status().unwrap();
    let path = format!("{}:{}", desk.path().display(), std::env::var("PATH").unwrap());
    let ran = desk.finished(desk.command("run fans -s redis --no-baselines").env("PATH", path).output().unwrap());
    assert_eq!(ran.status, 2, "{}", ran.said());
    assert!(ran.stderr.contains("I am no Redis"), "{}", ran.said());
    assert!(desk.left_behind().is_empty(), "{:?}", desk.left_behind());
}

#[test]
fn nobody_listening_is_told_with_the_address() {
    let port = testkit::free_port();
    let message = refused(&Desk::new(), &format!("run fans -s redis --port {port} --no-baselines"));
    assert!(message.contains(&format!("127.0.0.1:{port}")), "{message}");
    assert!(message.contains("start the server, or correct host and port"), "{message}");
}

#[test]
fn numbers_may_have_the_letters_people_write_and_a_study_says_the_same_number() {
    let desk = Desk::new();
    let words = "ycsb -s null --no-baselines --repeats 1 --clients 0.002k --set records=1k --set operations=1KiB --vary value=0.1k,200";
    let ran = desk.run(words);
    assert_eq!(ran.status, 0, "{}", ran.said());
    let params: Vec<_> = ran.cells().iter().map(|cell| cell["params"].clone()).collect();
    for (params, value) in params.iter().zip(["100", "200"]) {
        assert_eq!((&params["records"], &params["operations"]), (&"1000".into(), &"1024".into()), "{params}");
        assert_eq!((&params["clients"], &params["value"]), (&"2".into(), &value.into()), "{params}");
    }
    let message = refused(&desk, "run ycsb -s null --set records=many");
    assert!(message.contains("records=many"), "{message}");
    let made = desk.kvtrial("run fans -s null --data gen:0.1k:7 --no-baselines --repeats 1 --out made");
    assert_eq!(made.status, 0, "{}", made.said());
}

#[test]
fn input_of_another_job_is_told_with_that_job_and_a_byte_order_mark_is_no_input() {
    let desk = Desk::new();
    let documents = "\u{feff}{\"_id\": \"a\", \"n\": 1}\n{\"_id\": \"b\", \"n\": 2}\n";
    desk.file("orders.jsonl", documents);
    let message = refused(&desk, "run fans -s ram --data orders.jsonl");
    assert!(message.contains("run bulk --data") && message.contains("line 1"), "{message}");
    let ran = desk.run("bulk -s ram --data orders.jsonl --no-baselines --repeats 1");
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert_eq!(ran.study.unwrap()["input"]["documents"], 2);
}

#[test]
fn a_mistyped_directory_is_refused_and_a_new_one_is_announced() {
    let desk = Desk::new();
    let rest = "--no-baselines --repeats 1 --set records=100 --set operations=100";
    for words in ["-s lmdb --base nowhere/data", "-s lmdb:nowhere/data"] {
        let message = refused(&desk, &format!("run ycsb {words} {rest}"));
        assert!(message.contains("there is no directory nowhere") && message.contains("mkdir -p nowhere"), "{message}");
        assert!(!desk.path().join("nowhere").exists(), "made in silence");
    }
    for (at, words) in ["-s lmdb --base fresh", "-s lmdb:own"].into_iter().enumerate() {
        let ran = desk.kvtrial(&format!("run ycsb {words} {rest} --out study{at}"));
        assert_eq!(ran.status, 0, "{}", ran.said());
        let said = ran.stderr.lines().filter(|line| line.contains("was not there and is made")).count();
        assert_eq!(said, 1, "{}", ran.said());
    }
}

#[test]
fn every_error_of_a_file_or_library_names_the_remedy() {
    let desk = Desk::new();
    desk.file("afile", "not a directory");
    let rest = "--no-baselines --repeats 1 --set records=100 --set operations=100";
    let message = refused(&desk, &format!("run ycsb -s ram {rest} --out afile"));
    assert!(message.contains("it is a file. Choose a directory"), "{message}");
    let message = refused(&desk, &format!("run ycsb -s leveldb,lib=afile {rest}"));
    assert!(message.contains("lib=afile") && message.contains("leave lib= out"), "{message}");
    assert_eq!(desk.run(&format!("ycsb -s ram {rest}")).status, 0);
    let message = refused(&desk, "report out --format csv --out nowhere/x.csv");
    assert!(message.contains("nowhere/x.csv") && message.contains("Name a file you may write"), "{message}");
}

#[test]
fn an_out_directory_that_cannot_be_written_or_holds_a_study_is_refused() {
    let desk = Desk::new();
    desk.file("file", "not a directory");
    assert!(refused(&desk, "run fans -s ram --out file/out").contains("--out"));
    assert_eq!(desk.run("ycsb -s ram --no-baselines --repeats 1 --set operations=1000").status, 0);
    let before = std::fs::read(desk.path().join("out/study.json")).unwrap();
    let message = refused(&desk, "run ycsb -s ram --no-baselines --repeats 1 --set operations=1000 --out out");
    assert!(message.contains("--resume") && message.contains("--out"), "{message}");
    let message = refused(&desk, "run ycsb -s ram --no-baselines --repeats 2 --set operations=900 --out out --resume");
    assert!(message.contains("operations=900"), "{message}");
    assert_eq!(std::fs::read(desk.path().join("out/study.json")).unwrap(), before, "the old study was touched");
}

#[test]
fn a_job_a_store_cannot_do_is_refused_before_it_starts() {
    let desk = Desk::new();
    let message = refused(&desk, "run ycsb -s memcached-unix --set workload=e --no-baselines");
    assert!(message.contains("scan"), "{message}");
    let message = refused(&desk, "run ycsb -s ram --set workload=e --out out");
    assert!(message.contains("-s ram") && message.contains("scan") && message.contains("workload="), "{message}");
    assert!(!desk.path().join("out").exists(), "a directory was made");
    assert!(desk.left_behind().is_empty(), "{:?}", desk.left_behind());
}

#[test]
fn a_baseline_that_cannot_do_the_job_is_left_out_with_a_word() {
    let desk = Desk::new();
    let ran =
        desk.run("ycsb -s null --set workload=e --set records=1000 --set operations=1000 --repeats 1 --warmups 0");
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert!(ran.stderr.contains("ram is left out") && ran.stderr.contains("scan"), "{}", ran.said());
    let stores: Vec<&str> = ran.cells().iter().map(|cell| cell["store"].as_str().unwrap()).collect();
    assert_eq!(stores, ["null"]);
}

#[test]
fn a_store_that_holds_the_users_data_is_left_alone() {
    let desk = Desk::new();
    let own = desk.path().join("mine");
    std::fs::create_dir(&own).unwrap();
    let spec = format!("sqlite:{}", own.display());
    let words = format!("run fans -s {spec} --data debian-1k --no-baselines --repeats 2 --warmups 0");
    assert_eq!(desk.kvtrial(&format!("{words} --out first")).status, 0);
    let message = refused(&desk, &format!("{words} --out second"));
    assert!(message.contains("--overwrite") && message.contains("already holds"), "{message}");
    let ran = desk.kvtrial(&format!("{words} --out third --overwrite"));
    assert_eq!(ran.status, 0, "{}", ran.said());
    let ran = desk.kvtrial(&format!("query fans libc6 -s {spec}"));
    assert!(ran.status == 0 && ran.stdout.starts_with("{\"page\":\"libc6\",\"fans\":"), "{}", ran.said());
}

#[test]
fn a_server_that_holds_keys_of_the_job_is_refused_and_keeps_all_of_them_until_overwrite_is_said() {
    let desk = Desk::new();
    let redis = Redis::start(&desk, "");
    let ask = |words: &str| {
        let mut client = std::process::Command::new("redis-cli");
        let answer = client.args(["-p", &redis.port.to_string()]).args(words.split(' ')).output().unwrap();
        String::from_utf8_lossy(&answer.stdout).trim().to_owned()
    };
    let words = format!(
        "ycsb -s redis://127.0.0.1:{} --no-baselines --repeats 1 --warmups 0 --set records=100 --set operations=500",
        redis.port
    );
    assert_eq!(desk.kvtrial(&format!("run {words} --out first")).status, 0);
    let key = ask("RANDOMKEY");
    assert!(!key.is_empty(), "the first run left nothing");
    ask(&format!("SET {key} precious"));
    ask("SET mine untouched");
    let held = ask("DBSIZE");
    let ran = desk.kvtrial(&format!("run {words} --out second"));
    assert_eq!(ran.status, 2, "{}", ran.said());
    assert!(ran.stderr.contains("already holds") && ran.stderr.contains("--overwrite"), "{}", ran.said());
    assert_eq!((ask(&format!("GET {key}")).as_str(), ask("DBSIZE")), ("precious", held));
    assert!(!desk.path().join("second").exists(), "nothing was run");
    let ran = desk.kvtrial(&format!("run {words} --out third --overwrite"));
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert_ne!(ask(&format!("GET {key}")), "precious");
    assert_eq!(ask("GET mine"), "untouched", "no key of the job");
}

/// Checks that a cell of the study in `out` is not run for a reason, and that no format calls it anything else.
fn assert_not_run(desk: &Desk, ran: &common::Ran, store: &str, kind: &str) {
    let verdict = &ran.cell(store)["verdict"];
    assert_eq!(
        (&verdict["status"], &verdict["reasons"][0]["kind"]),
        (&"not_run".into(), &kind.into()),
        "{}",
        ran.said()
    );
    let shown = |format: &str| desk.kvtrial(&format!("report out --format {format}")).stdout;
    let csv = std::fs::read_to_string(desk.path().join("out/cells.csv")).unwrap();
    let row = csv.lines().find(|line| line.contains(store)).unwrap().to_owned();
    assert!(row.contains(&format!(",not_run,{kind}: ")), "{row}");
    assert_eq!(shown("cells-csv"), csv);
    let markdown = shown("markdown");
    let escaped = kind.replace('_', "\\_");
    assert!(markdown.contains(&format!("- `{store}` was not run: {escaped}")), "{markdown}");
    let row = markdown.lines().find(|line| line.starts_with('|') && line.contains(store)).unwrap();
    assert!(row.ends_with(&format!("| not run ({}) |", kind.replace('_', " "))), "{row}");
    let junit = shown("junit");
    let case = junit.split("<testcase ").find(|case| case.contains(&format!("name=\"{store}\""))).unwrap();
    assert!(case.contains("<skipped message=\"not run: ") && case.contains("<system-out>not_run "), "{case}");
    let metrics = shown("openmetrics");
    let state = |status: &str| {
        let of_cell = |line: &&str| {
            line.starts_with("kvtrial_verdict{")
                && line.contains(&format!("store=\"{store}\""))
                && line.contains(status)
        };
        metrics.lines().find(of_cell).unwrap_or_else(|| panic!("{status}: {metrics}")).ends_with(" 1")
    };
    assert!(state("kvtrial_verdict=\"not_run\"") && !state("kvtrial_verdict=\"valid\""), "{metrics}");
    assert!(shown("text").contains("not run"));
}

#[test]
fn a_cell_that_never_ran_is_not_run_with_its_reason_in_every_format() {
    let desk = Desk::new();
    let own = desk.path().join("mine");
    std::fs::create_dir(&own).unwrap();
    let spec = format!("sqlite:{}", own.display());
    let words = "--data debian-1k --no-baselines --repeats 1 --warmups 0 --order rising";
    assert_eq!(desk.kvtrial(&format!("run fans -s {spec} {words} --out first")).status, 0);
    let ran = desk.run(&format!("fans -s ram -s {spec} -s redb {words}"));
    assert_eq!(ran.status, 2, "{}", ran.said());
    assert!(ran.stderr.contains("--resume") && ran.cell("ram")["verdict"]["status"] != "not_run", "{}", ran.said());
    assert_not_run(&desk, &ran, &spec, "keys_found");
    assert_not_run(&desk, &ran, "redb", "study_stopped");
    let compared = desk.kvtrial("compare out");
    assert!(compared.stdout.contains("redb was not run, so it is not compared"), "{}", compared.said());
    assert_eq!(compared.status, 2, "only one cell is left, so there is nothing to compare: {}", compared.said());

    let desk = Desk::new();
    let port = testkit::free_port();
    let url = format!("redis://127.0.0.1:{port}");
    let ran = desk.run(&format!("fans -s ram -s {url} {words}"));
    assert_eq!(ran.status, 1, "{}", ran.said());
    assert_not_run(&desk, &ran, &url, "not_started");
}

#[test]
fn a_study_of_which_nothing_was_run_leaves_no_directory() {
    let desk = Desk::new();
    let words = "run fans -s sqlite --base /proc --data debian-1k --no-baselines";
    refused(&desk, &format!("{words} --out fresh"));
    assert!(!desk.path().join("fresh").exists());
    refused(&desk, words);
    let left = std::fs::read_dir(desk.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["base"], "a study was left behind");
    // A directory that was there stays, with what is in it.
    std::fs::create_dir(desk.path().join("mine")).unwrap();
    desk.file("mine/notes", "keep");
    refused(&desk, &format!("{words} --out mine"));
    let left = std::fs::read_dir(desk.path().join("mine")).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["notes"]);
}

#[test]
fn passwords_reach_neither_the_study_nor_the_terminal() {
    let desk = Desk::new();
    let ran = desk.run("fans -s null -s redis://:s3cret@127.0.0.1:1 --no-baselines --order rising --data debian-1k");
    assert_eq!(ran.status, 1);
    let study = std::fs::read_to_string(desk.path().join("out/study.json")).unwrap();
    assert!(!ran.said().contains("s3cret") && !study.contains("s3cret") && study.contains("redis://:***@"), "{study}");
}
