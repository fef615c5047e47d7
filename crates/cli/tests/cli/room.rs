//! What there is no room for, and stores that are not here: refused with the need and what is there, before anything starts; inputs that
//! are larger than memory; plans that are none.
#![allow(clippy::unwrap_used)]

use crate::common::{Desk, Ran};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

/// What is refused before anything was made.
fn refused(words: &str) -> String {
    let desk = Desk::new();
    let ran = desk.run(words);
    assert_eq!(ran.status, 2, "{words}: {}", ran.said());
    assert!(!desk.path().join("out").exists() && desk.left_behind().is_empty(), "something was made: {words}");
    ran.stderr
}

#[test]
fn what_exceeds_memory_or_disk_is_refused_with_the_need_and_what_is_there() {
    for (words, need) in [
        // 16 bytes per key of kvtrial's own, and keys of 16 bytes with values of 16, 1000 and 64 Mi.
        ("ycsb -s ram --set records=1000000000000 --set value=16", "43.7 TiB of memory"),
        ("ycsb -s ram --set value=67108864 --set records=100000000", "5.96 PiB of memory"),
        ("ycsb -s null --set records=1000000000000000", "14.2 PiB"),
        ("nodes -s ram --set records=1000000000000000 --set value=16", "of memory"),
        ("crud -s ram --set rows=1000000000000000", "PiB of memory"),
        ("grow -s ram --set items=1000000000000000 --set value=16", "PiB of keys and values"),
        ("grow -s lmdb --set items=1000000000000000", "PiB of keys and values"),
        ("ycsb -s lmdb --set records=1000000 --set value=67108864", "61.0 TiB of keys and values"),
        ("sets -s ram,way=bitmap --set ids=1000000000000000", "MiB of memory are free"),
    ] {
        let message = refused(&format!("{words} --repeats 1 --no-baselines"));
        assert!(message.contains(need) && message.contains("are free"), "{words}: {message}");
    }
    let beyond = refused("ycsb -s ram --set records=1000000000000001");
    assert!(beyond.contains("use 1 to 1000000000000000"), "{beyond}");
    let tuned = Desk::new().kvtrial("tune ycsb -s ram --only --vary clients=1,2 --set records=1000000000000");
    assert!(tuned.status == 2 && tuned.stderr.contains("memory"), "{}", tuned.said());
}

#[test]
fn a_store_that_is_not_installed_is_not_run_and_the_others_are() {
    let desk = Desk::new();
    let without = |words: &str| -> Ran {
        desk.finished(desk.command(&format!("run {words} --out out")).env("PATH", desk.path()).output().unwrap())
    };
    let small = "ycsb --set records=20 --set operations=100 --repeats 1 --no-baselines";
    let alone = without(&format!("{small} -s redis"));
    assert_eq!(alone.status, 2, "{}", alone.said());
    assert!(alone.stderr.contains("redis") && alone.stderr.contains("install it with"), "{}", alone.said());
    assert!(alone.study.is_none(), "{}", alone.said());

    let ran = without(&format!("{small} -s redis -s lmdb -s memcached"));
    assert_eq!(ran.status, 1, "{}", ran.said());
    assert!(ran.is_ranked("lmdb"), "{}", ran.said());
    for store in ["redis", "memcached"] {
        let verdict = &ran.cell(store)["verdict"];
        assert_eq!(verdict["status"], "not_run", "{}", ran.said());
        let why = verdict["reasons"][0]["example"].as_str().unwrap();
        assert!(why.contains("not found") && why.contains("install"), "{why}");
    }
    assert!(ran.stdout.contains("not run"), "{}", ran.said());
    let check =
        |words: &str| desk.finished(desk.command(&format!("check {words}")).env("PATH", desk.path()).output().unwrap());
    assert_eq!(check("redis").status, 2);
    let checked = check("redis ram");
    assert!(checked.status == 1 && checked.stderr.contains("redis is not checked"), "{}", checked.said());
    assert!(checked.stdout.contains("ram: ram"), "{}", checked.said());
    // What is written wrongly is refused as before, wherever it stands.
    assert!(refused(&format!("{small} -s lmdb -s redis,io-threads=0")).contains("io-threads"));
}

/// `kvtrial run` with 1 GiB of addresses.
fn narrow(desk: &Desk, words: &str) -> Ran {
    let usual = desk.command("");
    let script = format!("ulimit -v 1048576; exec {} run {words}", usual.get_program().to_str().unwrap());
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &script]).current_dir(desk.path());
    shell.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
    desk.finished(shell.output().unwrap())
}

#[test]
fn a_packed_input_that_unpacks_to_more_than_memory_is_refused_with_the_figure_in_every_job() {
    let desk = Desk::new();
    // 1.5 GiB of one word per line; of one line.
    let bomb = |name: &str, line: &[u8]| {
        let mut packed = GzEncoder::new(std::fs::File::create(desk.path().join(name)).unwrap(), Compression::fast());
        let block = line.repeat((16 << 20) / line.len());
        (0..96).for_each(|_| packed.write_all(&block).unwrap());
        packed.finish().unwrap();
    };
    bomb("lines.gz", b"word\tanother\n");
    bomb("line.gz", b"xxxxxxxx");
    desk.file("all.lua", "local all = kv.lines(kv.data) function run(client) kv.put('a', 'b') end");
    for words in [
        "counts --data line.gz -s ram",
        "fans --data line.gz -s ram",
        "bulk --data line.gz -s ram",
        "events --data line.gz -s ram",
        "append --data line.gz -s ram",
        "all.lua --data lines.gz -s ram",
        "all.lua --data line.gz -s ram",
    ] {
        let ran = narrow(&desk, &format!("{words} --repeats 1 --no-baselines --out out"));
        assert_eq!(ran.status, 2, "{words}: {}", ran.said());
        assert!(
            ran.stderr.contains("too large to be kept in memory") && ran.stderr.contains("MiB"),
            "{words}: {}",
            ran.said()
        );
    }
}

#[test]
fn a_plan_that_is_none_is_refused_without_its_lines() {
    let desk = Desk::new();
    desk.file("users", "alice:x:1000:1000::/home/alice:/bin/sh\nbob:x:1001:1001::/home/bob:/bin/sh\n");
    desk.file("large", vec![b'#'; 2 << 20]);
    for plan in ["users", "large"] {
        let ran = desk.run(&format!("ycsb -s ram --plan {plan}"));
        assert_eq!(ran.status, 2, "{}", ran.said());
        assert!(
            ran.stderr.contains("--plan") && !ran.said().contains("alice") && !ran.said().contains("bob"),
            "{}",
            ran.said()
        );
    }
}
