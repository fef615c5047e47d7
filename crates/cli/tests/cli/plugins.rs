//! Stores of the user's in shared libraries: written by `kvtrial new`, built, checked and run as their user would.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, once};
use std::process::Command;

const ORDERED: &str = include_str!("../../../catalog/tests/plugin/ordered.c");

/// Carries out a line that kvtrial printed; `None`: its program is not here.
fn build(desk: &Desk, line: &str) -> Option<()> {
    let (program, words) = line.split_once(' ').unwrap();
    let mut command = Command::new(program);
    // Zig keeps what it has built below the user's cache.
    command.args(words.split(' ')).current_dir(desk.path()).env("ZIG_GLOBAL_CACHE_DIR", desk.path().join("zig"));
    let output = match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        output => output.unwrap(),
    };
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    Some(())
}

/// Writes and builds a plugin in this language; whether its compiler is here.
fn built(desk: &Desk, name: &str, language: &str) -> Option<()> {
    let ran = desk.kvtrial(&format!("new {name} --plugin {language}"));
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert!(ran.stdout.contains(&format!("Check: kvtrial check plugin:./{name}.so")), "{}", ran.said());
    build(desk, ran.stdout.lines().find_map(|line| line.strip_prefix("Build: ")).unwrap())
}

fn passes_check(language: &str) {
    let desk = Desk::new();
    if built(&desk, "own-store", language).is_none() {
        assert!(["go", "zig"].contains(&language), "the compiler of {language} is not here");
        println!("the plugin in {language} is left out: {language} is not here");
        return;
    }
    let ran = desk.kvtrial("check plugin:./own-store.so");
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert!(
        ran.stdout.contains("plugin:./own-store.so: own-store 0.1") && ran.stdout.contains(" 0 failed"),
        "{}",
        ran.said()
    );
    let ran = desk.run(&once("ycsb", "plugin:./own-store.so", &["--clients 16 --set records=1000 --set seconds=1"]));
    assert_eq!((ran.status, ran.is_ranked("plugin:./own-store.so")), (0, true), "{}", ran.said());
}

#[test]
fn the_plugin_that_new_writes_in_c_passes_check_and_runs() {
    passes_check("c");
}

#[test]
fn the_plugin_that_new_writes_in_rust_passes_check_and_runs() {
    passes_check("rust");
}

#[test]
fn the_plugin_that_new_writes_in_go_passes_check_and_runs() {
    passes_check("go");
}

#[test]
fn the_plugin_that_new_writes_in_zig_passes_check_and_runs() {
    passes_check("zig");
}

pub fn with_ordered() -> Desk {
    let desk = Desk::new();
    assert_eq!(desk.kvtrial("new other --plugin c").status, 0);
    desk.file("ordered.c", ORDERED);
    for name in ["other", "ordered"] {
        let line = format!("cc -std=c11 -O2 -shared -fPIC -pthread -o {name}.so {name}.c");
        assert!(build(&desk, &line).is_some(), "install cc with: apt-get install gcc");
    }
    desk
}

#[test]
fn a_plugin_with_every_function_is_checked_in_scans_appends_and_batches_too() {
    let ran = with_ordered().kvtrial("check plugin:./ordered.so --json");
    assert_eq!(ran.status, 0, "{}", ran.said());
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let cases = report["plugin:./ordered.so"]["cases"].as_array().unwrap();
    let passed = |word: &str| {
        cases.iter().any(|case| case["name"].as_str().unwrap().contains(word) && case["status"] == "passed")
    };
    for word in ["scan", "append", "many"] {
        assert!(passed(word), "{word}: {}", ran.stdout);
    }
}

#[test]
fn what_a_plugin_says_of_itself_is_listed() {
    let list = with_ordered().kvtrial("stores plugin:./ordered.so").stdout;
    for said in ["plugin:./ordered.so", "os", "crash_after", "scan", "1 of 1 found"] {
        assert!(list.contains(said), "{said}: {list}");
    }
}

#[test]
fn two_plugins_are_two_rows_and_one_that_crashes_voids_its_cell_alone() {
    let desk = with_ordered();
    let crashing = "plugin:./ordered.so,crash_after=100,durability=none";
    let stores = format!("-s plugin:./other.so -s plugin:./other.so,buckets=1000 -s {crashing}");
    let ran =
        desk.run(&format!("ycsb {stores} --no-baselines --repeats 1 --warmups 0 --set records=500 --set seconds=1"));
    assert_eq!(ran.status, 1, "{}", ran.said());
    assert!(ran.is_ranked("plugin:./other.so") && ran.is_ranked("plugin:./other.so,buckets=1000"), "{}", ran.said());
    let cell = ran.cell("plugin:./ordered.so,durability=none,crash_after=100");
    assert_eq!(cell["verdict"]["status"], "void", "{}", ran.said());
    let words = ran.reason("plugin:./ordered.so,durability=none,crash_after=100", "worker_died")["example"].to_string();
    assert!(words.contains("signal 6") || words.contains("SIGABRT"), "{words}");
    assert_eq!(desk.left_behind(), [] as [std::path::PathBuf; 0]);
}

#[test]
fn an_operation_that_a_plugin_lacks_is_emulated_and_said_or_refused_by_the_job() {
    let desk = with_ordered();
    let emulated = desk.run(&once("append", "plugin:./other.so", &[]));
    assert_eq!(emulated.status, 0, "{}", emulated.said());
    assert!(emulated.only()["emulated"].to_string().contains("append"), "{}", emulated.only());
    let refused = desk.kvtrial("run ycsb -s plugin:./other.so --set workload=E --out none");
    assert_eq!(refused.status, 2, "{}", refused.said());
    assert!(refused.stderr.contains("scan"), "{}", refused.said());
    let native = desk.kvtrial(
        "run ycsb -s plugin:./ordered.so --set workload=E --set records=300 --set seconds=1 --repeats 1 --out e",
    );
    assert_eq!(native.status, 0, "{}", native.said());
}

#[test]
fn what_is_wrong_with_a_plugin_is_said_before_anything_is_started() {
    let desk = with_ordered();
    desk.file("crash.c", "#include <stdlib.h>\n__attribute__((constructor)) static void begin(void) { abort(); }\n");
    assert!(build(&desk, "cc -shared -fPIC -o crash.so crash.c").is_some());
    for (spec, said) in [
        ("plugin:./none.so", "plugin:./none.so: there is no such file; build it first"),
        ("plugin:crash.so", "plugin:crash.so: it ended the process that loaded it: Aborted (signal 6)"),
        ("plugin", "name your library"),
        ("./ordered.so", "A library of yours is plugin:./ordered.so."),
        ("plugin:./ordered.so,crash=1", "it has no option 'crash'"),
        ("plugin:./ordered.so,durability=commit", "durability=commit is not a level it has; use os, none"),
    ] {
        let ran = desk.kvtrial(&format!("run ycsb -s {spec} -s lmdb --out out"));
        assert!(ran.status == 2 && ran.stderr.contains(said), "{spec}: {}", ran.said());
    }
    let ran = desk.run(&once("ycsb", "plugin:./ordered.so,refuse=today", &["--set records=10 --set seconds=1"]));
    assert!(ran.status == 2 && ran.said().contains("I will not: today"), "{}", ran.said());
    let ran = desk.kvtrial("crash plugin:./ordered.so --cuts 1 --out crash");
    assert!(ran.said().contains("plugin:./ordered.so"), "{}", ran.said());
}

#[test]
fn new_leaves_what_is_there_alone_and_takes_names_only() {
    let desk = Desk::new();
    assert_eq!(desk.kvtrial("new own --plugin c").status, 0);
    let again = desk.kvtrial("new own --plugin c");
    assert!(again.status == 2 && again.stderr.contains("own.c exists already"), "{}", again.said());
    assert_eq!(desk.kvtrial("new other --plugin rust").status, 0, "kvtrial.h serves both");
    let odd = desk.kvtrial("new ../own --plugin c");
    assert!(odd.status == 2 && odd.stderr.contains("letters, digits"), "{}", odd.said());
    let both = desk.kvtrial("new own --plugin c --like cart");
    assert!(both.status == 2 && both.stderr.contains("cannot be used with"), "{}", both.said());
}
