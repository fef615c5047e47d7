//! `kvtrial stores`: every store is listed, for people and for scripts.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::Desk;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;

/// Every name of the registry.
fn registered() -> Vec<&'static str> {
    catalog::all().map(|info| info.name).collect()
}

#[test]
fn every_store_is_listed_with_a_word_for_what_it_is_in_60_lines_of_80_columns() {
    let ran = Desk::new().kvtrial("stores");
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert!(ran.stdout.lines().count() <= 60, "{}", ran.stdout);
    for info in catalog::all() {
        // Twins share a row, as `redis*`.
        let twins = format!("{}*", info.family);
        let names = |word: &str| word == info.name || word == twins;
        let listed = ran.stdout.lines().any(|line| {
            let mut words = line.split_whitespace();
            words.next().is_some_and(names) && words.next() == Some(info.kind)
        });
        assert!(listed, "{} is not listed\n{}", info.name, ran.stdout);
    }
    for line in ran.stdout.lines() {
        assert!(line.chars().count() <= 80, "{line:?}");
    }
}

#[test]
fn a_store_by_its_name_shows_every_option_with_its_meaning_its_licence_and_its_limits_and_so_does_the_long_list() {
    let desk = Desk::new();
    let ran = desk.kvtrial("stores redis ram");
    assert_eq!(ran.status, 0, "{}", ran.said());
    let long = desk.kvtrial("stores --long");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for name in ["redis", "ram"] {
        let info = catalog::find(name).unwrap();
        for option in info.options {
            for said in [&ran.stdout, &long.stdout] {
                assert!(words(said).contains(&words(&option.meaning())), "{name}, {}: {said}", option.name);
            }
        }
        assert!(words(&ran.stdout).contains(info.licence), "{}", ran.stdout);
    }
    assert!(
        !ran.stdout.contains("memcached") && ran.stdout.lines().all(|line| line.chars().count() <= 80),
        "{}",
        ran.stdout
    );
    let unknown = desk.kvtrial("stores rediss");
    assert_eq!(unknown.status, 2, "{}", unknown.said());
    assert!(unknown.stderr.contains("Did you mean redis, "), "{}", unknown.said());
}

#[test]
fn a_level_of_durability_is_said_in_the_words_of_the_store_s_own_settings() {
    let said = |name: &str| {
        let ran = Desk::new().kvtrial(&format!("stores {name}"));
        ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let redis = said("redis");
    assert!(
        redis.contains("second is appendonly yes, appendfsync everysec; commit is appendonly yes, appendfsync always"),
        "{redis}"
    );
    assert!(said("sqlite").contains("commit is synchronous FULL"));
    assert!(!said("lmdb").contains("in its own settings"));
    let listed: Value = serde_json::from_str(&Desk::new().kvtrial("stores redis --json").stdout).unwrap();
    assert_eq!(listed[0]["durability_settings"][2], "second: appendonly yes, appendfsync everysec");
}

#[test]
fn a_store_that_is_not_found_shows_what_to_install_and_by_its_name_the_line_that_does_it() {
    let desk = Desk::new();
    for (words, line) in [("stores", " install redis-server "), ("stores redis", "apt-get install redis-server")] {
        let ran = desk.finished(desk.command(words).env("PATH", desk.path()).output().unwrap());
        assert_eq!(ran.status, 0, "{}", ran.said());
        assert!(ran.stdout.contains(line), "{}", ran.stdout);
    }
}

#[test]
fn what_a_program_says_of_itself_is_escaped_in_the_json_as_in_every_other() {
    let desk = Desk::new();
    let said = "Redis server v=7.0.15\u{7f}\u{9b}2J\u{202e}";
    let program = desk.file("redis-server", format!("#!/bin/sh\nprintf '%s\\n' '{said}'\n"));
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", desk.path().display());
    let ran = desk.finished(desk.command("stores --json").env("PATH", path).output().unwrap());
    assert_eq!(ran.status, 0, "{}", ran.said());
    let list: Vec<Value> = serde_json::from_str(&ran.stdout).unwrap();
    let redis = list.iter().find(|store| store["name"] == "redis").unwrap();
    assert!(redis["presence"]["what"].as_str().unwrap().contains("7.0.15\u{7f}\u{9b}2J\u{202e}"), "{redis}");
    assert!(!ran.stdout.contains(study::is_hidden), "{:?}", ran.stdout);
}

#[test]
fn the_json_names_native_operations_and_limits_of_every_store() {
    let ran = Desk::new().kvtrial("stores --json");
    assert_eq!(ran.status, 0, "{}", ran.said());
    let list: Vec<Value> = serde_json::from_str(&ran.stdout).unwrap();
    let names: Vec<&str> = list.iter().map(|store| store["name"].as_str().unwrap()).collect();
    assert_eq!(names, registered());
    for store in &list {
        let native: Vec<&str> = store["native"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert!(["get", "put", "delete"].iter().all(|name| native.contains(name)), "{store}");
        assert!(store["max_key_bytes"].as_u64().unwrap() >= 100, "{store}");
        // An item of DynamoDB takes 400 KB, with its key.
        let least = if store["name"] == "dynamodb" { 390_000 } else { 1_000_000 };
        assert!(store["max_value_bytes"].as_u64().unwrap() >= least, "{store}");
    }
    let scans = |name: &str| {
        let store = list.iter().find(|store| store["name"] == name).unwrap();
        store["native"].as_array().unwrap().iter().any(|operation| operation == "scan")
    };
    assert!(scans("sqlite") && scans("postgres") && !scans("ram") && !scans("memcached"));
}
