//! What is done to kvtrial from outside its stores: words that command a terminal, terminals that close, disks that are full, links
//! laid in a directory, a user who does not want to wait.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::Desk;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testkit::lying::{Lie, LyingServer, Protocol, Rule, Target, When};
use testkit::waiting::until;

const SMALL: &str = "run ycsb -s ram --no-baselines --repeats 2 --set records=1000 --set operations=20000 --out out";

/// Commands a text should have.
const NOTHING: [char; 0] = [];

/// Characters that a terminal obeys, or that turn a line around.
fn commands_in(text: &str) -> Vec<char> {
    let turns =
        |letter: char| matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}');
    let acts = |letter: &char| (letter.is_control() && !"\n\t".contains(*letter)) || turns(*letter);
    text.chars().filter(acts).collect()
}

#[test]
fn what_a_server_says_commands_no_terminal_and_no_document() {
    for protocol in [Protocol::Resp, Protocol::Memcached, Protocol::Tyrant] {
        let rule = Rule::new(Lie::CommandingError, Target::Puts, When::Nth(20));
        let server = LyingServer::start(protocol, vec![rule]).unwrap();
        let scheme = match protocol {
            Protocol::Resp => "redis",
            Protocol::Memcached => "memcached",
            Protocol::Tyrant => "tyrant",
        };
        let desk = Desk::new();
        let words = "--no-baselines --repeats 1 --warmups 0 --set records=100 --set operations=1000";
        let ran = desk.run(&format!("ycsb -s {scheme}://127.0.0.1:{} {words}", server.port()));
        assert_eq!(ran.status, 1, "{}", ran.said());
        assert!(!server.told().is_empty());
        let mut texts = vec![ran.stdout.clone(), ran.stderr.clone()];
        for format in ["text", "markdown", "junit", "csv", "cells-csv", "openmetrics", "json"] {
            texts.push(desk.kvtrial(&format!("report out --format {format}")).said().replace('\r', ""));
        }
        for file in ["out/study.json", "out/report.html", "out/cells.csv"] {
            texts.push(fs::read_to_string(desk.path().join(file)).unwrap().replace('\r', ""));
        }
        for text in &texts {
            assert_eq!(commands_in(text), NOTHING, "{protocol:?}: {text:?}");
        }
        // Tyrant has a code for a refusal, and no words.
        if protocol != Protocol::Tyrant {
            assert!(texts[0].contains("\\u001b]0;mine\\u0007") && texts[0].contains("\\u202edilav"), "{}", texts[0]);
        }
    }
}

#[test]
fn a_study_of_somebody_else_commands_no_terminal_either() {
    let desk = Desk::new();
    assert_eq!(desk.kvtrial(SMALL).status, 0);
    let path = desk.path().join("out/study.json");
    let study = fs::read_to_string(&path).unwrap();
    let store = "\"store\": \"ram\\u001b]0;mine\\u0007\u{202e}\u{2066}\u{7f}\u{9b}2J\"";
    fs::write(&path, study.replace("\"store\": \"ram\"", store)).unwrap();
    for format in ["text", "markdown", "junit", "csv", "cells-csv", "openmetrics", "json"] {
        let said = desk.kvtrial(&format!("report out --format {format}")).said().replace('\r', "");
        assert!(said.contains("mine"), "{format}: {said}");
        assert_eq!(commands_in(&said), NOTHING, "{format}: {said:?}");
    }
    let json: serde_json::Value = serde_json::from_str(&desk.kvtrial("report out --format json").stdout).unwrap();
    assert_eq!(json["cells"][0]["store"], "ram\u{1b}]0;mine\u{7}\u{202e}\u{2066}\u{7f}\u{9b}2J");
    fs::create_dir(desk.path().join("other")).unwrap();
    fs::copy(&path, desk.path().join("other/study.json")).unwrap();
    for format in ["text", "markdown", "junit", "json"] {
        let printed = desk.kvtrial(&format!("compare out other --format {format}")).said();
        assert!(printed.contains("mine"), "{format}: {printed}");
        desk.kvtrial(&format!("compare out other --format {format} --out compared"));
        for text in [printed, fs::read_to_string(desk.path().join("compared")).unwrap()] {
            assert_eq!(commands_in(&text.replace('\r', "")), NOTHING, "{format}: {text:?}");
        }
    }
    desk.kvtrial("report out --format html --out page");
    let page = fs::read_to_string(desk.path().join("page/report.html")).unwrap();
    assert!(page.contains("mine"));
    assert_eq!(commands_in(&page.replace('\r', "")), NOTHING);
}

#[test]
fn colours_of_a_script_or_of_a_study_of_somebody_else_reach_no_terminal() {
    let desk = Desk::new();
    desk.file("red.lua", "-- a \x1b[31mred\x1b[0m script\nfunction run(client) error('\x1b[32mvalid\x1b[0m') end");
    for words in
        ["run red.lua -s ram --no-baselines --repeats 1 --out out --color always", "jobs red.lua --color always"]
    {
        let said = desk.kvtrial(words).said();
        assert!(said.contains("\\u001b[3"), "{said}");
        assert!(!said.contains("\x1b[31mred") && !said.contains("\x1b[32mvalid"), "{said:?}");
    }
    let path = desk.path().join("out/study.json");
    let study = fs::read_to_string(&path).unwrap();
    fs::write(&path, study.replace("\"store\": \"ram\"", "\"store\": \"ram\\u001b[32m valid\\u001b[0m\"")).unwrap();
    fs::create_dir(desk.path().join("other")).unwrap();
    fs::copy(&path, desk.path().join("other/study.json")).unwrap();
    for words in ["report out --format text --color always", "compare out other --color always"] {
        let said = desk.kvtrial(words).said();
        assert!(said.contains("\\u001b[32m valid") && !said.contains("\x1b[32m valid"), "{said:?}");
    }
}

#[test]
fn specs_with_characters_that_cannot_be_seen_are_refused_and_shown() {
    let ran = Desk::new().finished(
        Command::new(env!("CARGO_BIN_EXE_kvtrial"))
            .args(["run", "ycsb", "-s", "redis\u{202e}\x1b]0;x\x07"])
            .output()
            .unwrap(),
    );
    assert_eq!(ran.status, 2);
    assert!(ran.said().contains("redis\\u202e\\u001b]0;x\\u0007"), "{}", ran.said());
    assert_eq!(commands_in(&ran.said()), NOTHING);
}

#[test]
fn passwords_in_any_part_of_a_spec_are_not_shown() {
    let desk = Desk::new();
    for spec in [
        "redis://127.0.0.1:1?password=tulip",
        "redis://ann:tulip@127.0.0.1:1",
        "redis://ann:tulip",
        "redis,password=tulip",
        "redis:ann:tulip@127.0.0.1",
        "redis-unix:///no/such.sock?password=tulip",
        "postgres://ann:tulip@127.0.0.1:1/db",
    ] {
        let ran = desk.kvtrial(&format!("run ycsb -s {spec} --out out"));
        assert_ne!(ran.status, 0, "{}", ran.said());
        assert!(!ran.said().contains("tulip"), "{spec}: {}", ran.said());
    }
}

fn full() -> Stdio {
    Stdio::from(File::options().write(true).open("/dev/full").unwrap())
}

#[test]
fn where_nothing_can_be_said_the_work_is_done_and_the_status_is_right() {
    let desk = Desk::new();
    assert_eq!(desk.command(SMALL).stderr(full()).output().unwrap().status.code(), Some(0));
    assert!(desk.path().join("out/report.html").is_file());
    let wrong = desk.command("run ycsb -s no-such-store").stderr(full()).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    // What was asked for is lost: that is an error, in words.
    let lost = desk.command("stores").stdout(full()).output().unwrap();
    assert_eq!(lost.status.code(), Some(2));
    let said = String::from_utf8(lost.stderr).unwrap();
    assert!(said.contains("standard output") && said.contains("No space left"), "{said}");
    let report = desk.command("report out --format json").stdout(full()).stderr(full()).output().unwrap();
    assert_eq!(report.status.code(), Some(2));
}

/// A terminal whose other end is closed already: whatever is written is an error of input and output.
fn closed_terminal() -> OwnedFd {
    let (mut here, mut there) = (0, 0);
    // SAFETY: the call writes two descriptors, which become ours; what it is not given it does not need.
    let opened = unsafe {
        let nothing = std::ptr::null_mut();
        libc::openpty(&mut here, &mut there, nothing, nothing.cast(), nothing.cast())
    };
    assert_eq!(opened, 0);
    // SAFETY: both descriptors are new and nobody else's.
    let (here, there) = unsafe { (OwnedFd::from_raw_fd(here), OwnedFd::from_raw_fd(there)) };
    drop(here);
    there
}

#[test]
fn a_closed_terminal_ends_nothing() {
    let desk = Desk::new();
    let both = |words: &str| {
        let terminal = closed_terminal();
        let mut command = desk.command(words);
        command.stdout(terminal.try_clone().unwrap()).stderr(terminal).env("TERM", "xterm");
        command.output().unwrap().status.code()
    };
    assert_eq!(both(SMALL), Some(0));
    assert!(desk.path().join("out/report.html").is_file());
    assert_eq!(both("stores"), Some(0));
    assert_eq!(both("check ram"), Some(0));
    assert_eq!(both("run ycsb -s no-such-store"), Some(2));
    assert_eq!(both("report out --format text"), Some(0));
}

#[test]
fn links_in_the_directory_of_a_study_lead_nothing_out_of_it() {
    let desk = Desk::new();
    let out = desk.path().join("out");
    fs::create_dir(&out).unwrap();
    let names = ["study.json.new", "trials.jsonl.new", "report.html", "cells.csv", "trials.csv", "cells.csv.new"];
    for name in names {
        symlink(desk.file(&format!("victim of {name}"), "mine"), out.join(name)).unwrap();
    }
    let ran = desk.kvtrial(SMALL);
    assert_eq!(ran.status, 0, "{}", ran.said());
    for name in names {
        assert_eq!(fs::read_to_string(desk.path().join(format!("victim of {name}"))).unwrap(), "mine", "{name}");
    }
    for name in ["study.json", "report.html", "cells.csv", "trials.csv"] {
        assert!(!out.join(name).is_symlink() && out.join(name).is_file(), "{name}");
    }
    let other = desk.path().join("other");
    fs::create_dir_all(desk.path().join("victims")).unwrap();
    fs::create_dir(&other).unwrap();
    symlink(desk.path().join("victims"), other.join("plots")).unwrap();
    let mut command = desk.command(&SMALL.replace("--out out", "--out other"));
    let ran = desk.finished(command.env_remove("KVTRIAL_PLOTS").output().unwrap());
    assert!(ran.status == 2 && ran.said().contains("plots") && ran.said().contains("link"), "{}", ran.said());
    assert_eq!(fs::read_dir(desk.path().join("victims")).unwrap().count(), 0);
}

#[test]
fn no_file_that_is_named_is_written_where_a_link_leads() {
    let desk = Desk::new();
    assert_eq!(desk.kvtrial(SMALL).status, 0);
    fs::create_dir(desk.path().join("other")).unwrap();
    fs::copy(desk.path().join("out/study.json"), desk.path().join("other/study.json")).unwrap();
    let victim = desk.file("victim", "mine");
    let formats = ["text", "markdown", "junit", "csv", "cells-csv", "openmetrics", "json"];
    let reports = formats.iter().map(|format| format!("report out --format {format}"));
    let compared =
        ["text", "markdown", "junit", "json"].iter().map(|format| format!("compare out other --format {format}"));
    for words in reports.chain(compared).chain(["selftest --quick".to_owned()]) {
        let link = desk.path().join("link");
        symlink(&victim, &link).unwrap();
        let ran = desk.kvtrial(&format!("{words} --out link"));
        assert!([0, 1].contains(&ran.status), "{words}: {}", ran.said());
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine", "{words}");
        assert!(!link.is_symlink() && fs::metadata(&link).unwrap().len() > 20, "{words}");
        fs::remove_file(link).unwrap();
    }
    let manual = desk.path().join("manual");
    fs::create_dir(&manual).unwrap();
    symlink(&victim, manual.join("kvtrial.1")).unwrap();
    assert_eq!(desk.kvtrial("man --out manual").status, 0);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    // A descriptor is no file that could be replaced.
    let ran = desk.kvtrial("report out --format json --out /dev/stdout");
    assert!(ran.status == 0 && ran.stdout.starts_with('{'), "{}", ran.said());
    assert!(fs::symlink_metadata("/dev/stdout").unwrap().is_symlink());
}

/// A Redis of the user's, ended when dropped.
struct Redis(Child);

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_check_that_is_interrupted_ends_at_once_and_leaves_none_of_its_keys() {
    let desk = Desk::new();
    let socket = desk.path().join("redis.sock");
    let mut server = Command::new("redis-server");
    server.args(["--port", "0", "--save", "", "--unixsocket"]).arg(&socket).current_dir(desk.path());
    let _redis = Redis(server.stdout(Stdio::null()).spawn().unwrap());
    until("redis-server listens", || UnixStream::connect(&socket).is_ok());
    let spec = format!("redis-unix://{}", socket.display());
    let mut child = desk.command(&format!("check {spec}")).spawn().unwrap();
    let mut printed = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("pass") {
        line.clear();
        assert_ne!(printed.read_line(&mut line).unwrap(), 0, "no case passed");
    }
    // SAFETY: the child is ours and has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id().cast_signed(), libc::SIGINT) }, 0);
    let start = Instant::now();
    let mut rest = String::new();
    printed.read_to_string(&mut rest).unwrap();
    let ran = desk.finished(child.wait_with_output().unwrap());
    assert_eq!(ran.status, 130, "{rest}{}", ran.said());
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert!(!rest.contains("correct") && ran.stderr.contains("Interrupted"), "{rest}{}", ran.said());
    let mut client = Command::new("redis-cli");
    let keys = client.arg("-s").arg(&socket).args(["KEYS", "kvtrial-check:*"]).output().unwrap().stdout;
    assert_eq!(String::from_utf8(keys).unwrap().trim(), "");
    // How many cases were through before the signal came is chance; that most were left out is not.
    let whole = desk.kvtrial(&format!("check {spec}"));
    let cases = |said: &str| said.matches("passed ").count();
    assert!(whole.status == 0 && cases(&whole.stdout) > 20, "{}", whole.said());
    assert!(2 * cases(&rest) < cases(&whole.stdout), "{rest}");
}
