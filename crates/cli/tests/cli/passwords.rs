//! Passwords stay where they are needed: neither those of private servers nor those of the user's reach a file of the study, a report,
//! a terminal or the command line of a process.
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::running;

use common::Desk;
use common::redis::Redis;
use running::{Running, strike};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let below = |path: PathBuf| if path.is_dir() { files_below(&path) } else { vec![path] };
    entries.flat_map(|entry| below(entry.path())).collect()
}

/// The passwords kvtrial has written for its servers: 40 hexadecimal digits in a small file.
fn secrets_below(directory: &Path) -> BTreeSet<String> {
    let small = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|file| file.is_file() && file.len() < 64 << 10);
    let texts = files_below(directory).into_iter().filter(small).filter_map(|path| fs::read_to_string(path).ok());
    let words = |text: String| -> Vec<String> {
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric()).map(str::to_owned);
        words.filter(|word| word.len() == 40 && word.bytes().all(|byte| byte.is_ascii_hexdigit())).collect()
    };
    texts.flat_map(words).collect()
}

/// Those it has handed to a server that takes them from its environment.
fn secrets_in_the_environment_of(pid: i32) -> Option<String> {
    let environment = String::from_utf8(fs::read(format!("/proc/{pid}/environ")).unwrap()).unwrap();
    environment.split('\0').find_map(|pair| pair.strip_prefix("FERRETD_PASSWORD=")).map(str::to_owned)
}

/// What the page carries as downloads, unpacked.
fn downloads(page: &str) -> Vec<String> {
    let packed = page.split("type=\"application/gzip+base64\"").skip(1);
    let packed = packed.map(|rest| rest.split_once('>').unwrap().1.split_once('<').unwrap().0);
    packed
        .map(|base64| {
            let mut unpack = Command::new("sh");
            unpack.args(["-c", "base64 -d | gzip -d"]).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = unpack.spawn().unwrap();
            std::io::Write::write_all(&mut child.stdin.take().unwrap(), base64.as_bytes()).unwrap();
            String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
        })
        .collect()
}

/// Everything a study has come to: its files, and every format it can be shown in, with the name of each.
fn everything_of(desk: &Desk) -> Vec<(String, String)> {
    let mut texts: Vec<(String, String)> = Vec::new();
    for format in ["text", "markdown", "junit", "csv", "cells-csv", "openmetrics", "json", "html"] {
        let ran = desk.kvtrial(&format!("report out --format {format}"));
        assert_eq!(ran.status, 0, "{format}: {}", ran.said());
        texts.push((format!("report --format {format}"), ran.said()));
    }
    for path in files_below(&desk.path().join("out")) {
        texts.push((path.display().to_string(), String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()));
    }
    let page = fs::read_to_string(desk.path().join("out/report.html")).unwrap();
    let inside = downloads(&page);
    assert!(inside.len() == 2 && inside.iter().any(|text| text.contains("\"cells\"")), "{}", inside.len());
    texts.extend(inside.into_iter().map(|text| ("a download of the page".to_owned(), text)));
    texts
}

fn assert_hidden(secrets: &BTreeSet<String>, texts: &[(String, String)]) {
    for (name, text) in texts {
        let shown = secrets.iter().find(|secret| text.contains(secret.as_str()));
        assert!(shown.is_none(), "{name} shows {shown:?}: {text}");
    }
}

#[test]
fn passwords_of_private_servers_are_in_nothing_that_is_kept_or_shown() {
    for store in ["redis", "postgres-unix", "mysql", "handlersocket", "mongodb"] {
        let words = format!("ycsb --set records=1000 --set seconds=30 -s {store} --repeats 1");
        let mut running = Running::start(&words, |_| {});
        running.until_busy();
        let mut secrets = secrets_below(&running.desk.path().join("base"));
        secrets.extend(secrets_in_the_environment_of(running.server().unwrap().pid));
        assert!(!secrets.is_empty(), "{store} has no password");
        let mut texts: Vec<(String, String)> = running.command_lines();
        assert!(texts.iter().any(|(_, line)| !line.contains("kvtrial")), "{store}: no server among {texts:?}");
        for path in files_below(&running.desk.path().join("out")) {
            texts.push((path.display().to_string(), String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()));
        }
        // The end of the server's log is quoted.
        let struck = strike(running.server().unwrap().pid, libc::SIGKILL);
        let over = running.ended(struck);
        over.reason(&["server_died"]);
        texts.push((format!("{store}: what was printed"), over.ran.said()));
        texts.extend(everything_of(&over.desk));
        assert_hidden(&secrets, &texts);
    }
}

#[test]
fn the_password_of_a_users_server_is_in_nothing_that_is_kept_or_shown() {
    const PASSWORD: &str = "tulip4711";
    let secrets = BTreeSet::from([PASSWORD.to_owned()]);
    let desk = Desk::new();
    let mut redis = Redis::start(&desk, &format!("requirepass {PASSWORD}"));
    let spec = format!("redis://:{PASSWORD}@127.0.0.1:{}", redis.port);
    let mut running = Running::start(
        &format!("ycsb --set records=1000 --set seconds=30 -s {spec} --repeats 1 --deadline 1s"),
        |_| {},
    );
    running.until_busy();
    // The user has typed it into the one command line.
    let mut texts = running.command_lines();
    texts.retain(|(pid, _)| *pid != running.pid().to_string());
    assert!(texts.len() >= 2, "{texts:?}");
    redis.kill();
    let over = running.ended(Instant::now());
    assert_eq!(over.ran.verdict(), "void", "{}", over.ran.said());
    texts.push(("what was printed".into(), over.ran.said()));
    texts.extend(everything_of(&over.desk));
    assert!(texts.iter().any(|(_, text)| text.contains(":***@127.0.0.1")));
    assert_hidden(&secrets, &texts);

    let redis = Redis::start(&desk, "requirepass rose0815");
    let place = format!("127.0.0.1:{}", redis.port);
    let mut texts = Vec::new();
    let run = "run ycsb -s SPEC --no-baselines --repeats 1 --set records=100 --set operations=100";
    for words in [run, "check SPEC", "query fans libc6 -s SPEC"] {
        // A wrong one is not shown either; and with the right one the command does what it is for.
        for password in [PASSWORD, "rose0815"] {
            let ran = desk.kvtrial(&words.replace("SPEC", &format!("redis://:{password}@{place}")));
            let refused = ran.status == 2 && ran.stderr.to_lowercase().contains("password");
            assert_eq!(refused, password == PASSWORD, "{words}: {}", ran.said());
            texts.push((words.to_owned(), ran.said()));
        }
    }
    let refused = desk.kvtrial(&format!("tune ycsb -s redis://:{PASSWORD}@{place}"));
    assert_eq!(refused.status, 2, "{}", refused.said());
    texts.push(("tune".into(), refused.said()));
    let secrets = BTreeSet::from([PASSWORD.to_owned(), "rose0815".to_owned()]);
    assert_hidden(&secrets, &texts);
}
