//! What people see at a terminal, and what scripts see when there is none. `script` (util-linux) gives kvtrial a real terminal.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use crate::common;

use common::Desk;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

const SMALL: &str = "run ycsb -s ram --no-baselines --repeats 2 --set records=1000 --set operations=20000";

/// What a terminal of 80 columns and 24 rows showed while kvtrial ran: every screen that differed, and the last one.
struct Screens {
    seen: Vec<String>,
    last: String,
    status: i32,
}

/// Runs kvtrial with these words at a terminal; `act` hears of each screen and may signal the process.
fn at_a_terminal(desk: &Desk, words: &str, environment: &[(&str, &str)], mut act: impl FnMut(&str, u32)) -> Screens {
    let program = format!("stty rows 24 cols 80; exec {} {words}", env!("CARGO_BIN_EXE_kvtrial"));
    let mut command = Command::new("script");
    command.args(["-qec", &program, "/dev/null"]).current_dir(desk.path()).env("TERM", "xterm").env_remove("NO_COLOR");
    command.env("SHELL", "/bin/sh").envs(environment.iter().copied()).process_group(0);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("script is part of util-linux");
    let mut screen = vt100::Parser::new(24, 80, 0);
    let (mut seen, mut bytes) = (Vec::new(), [0; 4096]);
    let mut output = child.stdout.take().unwrap();
    loop {
        match output.read(&mut bytes) {
            Ok(0) | Err(_) => break,
            Ok(read) => screen.process(&bytes[..read]),
        }
        let contents = screen.screen().contents();
        act(&contents, child.id());
        if seen.last() != Some(&contents) {
            seen.push(contents);
        }
    }
    let status = child.wait().unwrap().code().unwrap_or(-1);
    assert!(!screen.screen().hide_cursor(), "the cursor is back");
    Screens { seen, last: screen.screen().contents(), status }
}

#[test]
fn a_study_is_seen_while_it_runs_and_leaves_nothing_but_the_table() {
    let desk = Desk::new();
    let words = "run ycsb -s ram -s sqlite --no-baselines --repeats 2 --set seconds=2";
    let screens = at_a_terminal(&desk, words, &[], |_, _| {});
    assert_eq!(screens.status, 0, "{}", screens.last);
    let some = |parts: &[&str]| screens.seen.iter().any(|screen| parts.iter().all(|part| screen.contains(part)));
    let all = screens.seen.join("\n----\n");
    assert!(some(&["▸ ", "run", " op/s", "p99 "]), "rate and tail of the trial under way: {all}");
    assert!(some(&["✓ ", "1/2", "▸ ", "trial 2 of 4", "left"]), "what is finished and what is left: {all}");
    assert!(!screens.last.contains('▸') && screens.last.contains("Study: "), "{}", screens.last);
}

#[test]
fn crashes_are_seen_while_they_are_made_and_leave_nothing_but_the_table() {
    let desk = Desk::new();
    let screens = at_a_terminal(&desk, "crash sqlite --cuts 6 --clients 2 --within 200ms", &[], |_, _| {});
    assert_eq!(screens.status, 0, "{}", screens.last);
    let some = |parts: &[&str]| screens.seen.iter().any(|screen| parts.iter().all(|part| screen.contains(part)));
    let all = screens.seen.join("\n----\n");
    let finished = ["✓ sqlite,durability=os", "kept 6/6", " acknowledged  0 lost"];
    assert!(some(&["▸ sqlite,durability=os", " of 6  ", " of 12 · 0:", "left"]), "{all}");
    assert!(some(&finished) && some(&["▸ sqlite,durability=commit"]), "{all}");
    assert!(!screens.last.contains('▸') && screens.last.contains("Study: "), "{}", screens.last);
}

#[test]
fn an_interrupted_study_leaves_the_terminal_clean_and_says_how_to_go_on() {
    let desk = Desk::new();
    let mut interrupted = false;
    let words = "run ycsb -s ram --no-baselines --set seconds=2 --repeats 20 --out out";
    let screens = at_a_terminal(&desk, words, &[], |screen, script| {
        if !interrupted && screen.contains("trial 2 of") && screen.contains(" op/s") {
            interrupted = true;
            let kvtrial = std::fs::read_to_string(format!("/proc/{script}/task/{script}/children")).unwrap();
            Command::new("kill").arg("-INT").args(kvtrial.split_whitespace()).status().unwrap();
        }
    });
    assert_eq!(screens.status, 130, "{}", screens.last);
    assert!(screens.last.contains("--resume") && !screens.last.contains('▸'), "{}", screens.last);
}

#[test]
fn colour_is_for_terminals_unless_asked_otherwise() {
    let desk = Desk::new();
    let coloured = |words: &str, environment: &[(&str, &str)]| {
        let mut command = desk.command(words);
        let output = command.env_remove("NO_COLOR").envs(environment.iter().copied()).output().unwrap();
        let ran = desk.finished(output);
        assert_eq!(ran.status, 0, "{}", ran.said());
        ran.stdout.contains("\x1b[")
    };
    assert!(!coloured("stores", &[("TERM", "xterm")]), "not in a pipe");
    assert!(coloured("stores --color always", &[]));
    assert!(coloured("--color=always stores", &[("NO_COLOR", "1")]), "the option is the last word");
    assert!(!coloured("stores --color never", &[("TERM", "xterm")]));
}

#[test]
fn a_terminal_that_can_do_nothing_gets_plain_lines() {
    let desk = Desk::new();
    for (name, value) in [("TERM", "dumb"), ("NO_COLOR", "1")] {
        let program = format!("exec {} {SMALL} --out {name}", env!("CARGO_BIN_EXE_kvtrial"));
        let mut command = Command::new("script");
        command.args(["-qec", &program, "/dev/null"]).current_dir(desk.path()).env("TERM", "xterm").env(name, value);
        let output = command.env("SHELL", "/bin/sh").stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("VERDICT") && !text.contains("\x1b[3") && !text.contains("\x1b[1m"), "{name}: {text:?}");
        assert!(name != "TERM" || !text.contains('▸'), "{text:?}");
    }
}

#[test]
fn nothing_but_the_result_and_a_line_for_each_trial_is_written_when_nobody_looks() {
    let ran = Desk::new().kvtrial(SMALL);
    assert_eq!(ran.status, 0, "{}", ran.said());
    let lines = ran.stderr.lines().all(|line| line.starts_with("kvtrial: trial "));
    assert!(lines && !ran.said().contains('\x1b'), "{}", ran.said());
}

/// Feeds a text to a program and expects it to be content.
fn accepted(program: &str, args: &[&str], text: &str) -> String {
    let desk = Desk::new();
    let file = desk.file("text", text);
    let output = Command::new(program)
        .args(args)
        .arg(file)
        .env("MANWIDTH", "80")
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{program}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn shells_are_told_commands_options_jobs_and_stores() {
    let desk = Desk::new();
    // Elvish and PowerShell complete commands and options, fish also stores.
    let (options, stores, jobs) = (["run", "pipeline", "resume"], "redis-unix", "fans");
    for (shell, names) in [
        ("bash", &[stores, jobs][..]),
        ("zsh", &[stores, jobs]),
        ("fish", &[stores]),
        ("elvish", &[]),
        ("powershell", &[]),
    ] {
        let ran = desk.kvtrial(&format!("completions {shell}"));
        assert_eq!(ran.status, 0, "{}", ran.said());
        for word in options.iter().chain(names) {
            assert!(ran.stdout.contains(word), "{shell}: {word}");
        }
    }
    let script = desk.kvtrial("completions bash").stdout;
    accepted("bash", &["-n"], &script);
    // What bash itself offers for a line.
    let offered = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let ask = format!(
            "{script}\nCOMP_WORDS=({line}); COMP_CWORD={}; _kvtrial kvtrial '{}' '{}'; echo \"${{COMPREPLY[@]}}\"",
            words.len() - 1,
            words[words.len() - 1],
            words[words.len() - 2],
        );
        let output = Command::new("bash").args(["-c", &ask]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(offered("kvtrial sto"), "stores");
    assert_eq!(offered("kvtrial run -s memc"), "memcached memcached-unix");
    assert_eq!(offered("kvtrial run fa"), "fans");
    assert_eq!(offered("kvtrial run --pipe"), "--pipeline");
}

#[test]
fn a_store_that_is_no_completion_is_still_answered_with_the_known_ones() {
    let ran = Desk::new().kvtrial("run fans -s rediss");
    assert!(ran.status == 2 && ran.stderr.contains("redis-unix"), "{}", ran.said());
}

#[test]
fn every_command_has_a_manual_page() {
    let desk = Desk::new();
    assert_eq!(desk.kvtrial("man --out pages").status, 0);
    let mut names: Vec<String> = std::fs::read_dir(desk.path().join("pages"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.contains(&"kvtrial.1".into()) && names.contains(&"kvtrial-run.1".into()), "{names:?}");
    for name in &names {
        let page = std::fs::read_to_string(desk.path().join("pages").join(name)).unwrap();
        assert!(page.contains(".TH ") && page.contains(".SH \"EXIT STATUS\""), "{name}: {page}");
    }
    for hidden in ["kvtrial-fork-server.1", "kvtrial-echo-server.1"] {
        assert!(!desk.path().join("pages").join(hidden).exists(), "{hidden}: nobody types that command");
    }
    let whole = desk.kvtrial("man");
    assert_eq!(whole.stdout, std::fs::read_to_string(desk.path().join("pages/kvtrial.1")).unwrap());
    let run = desk.kvtrial("man run");
    for word in ["fB\\-\\-pipeline", "fB\\-\\-resume", "NAME"] {
        assert!(run.stdout.contains(word), "{}", run.stdout);
    }
    let wrong = desk.kvtrial("man fly");
    assert!(wrong.status == 2 && wrong.stderr.contains("completions"), "{}", wrong.said());
    // groff complains about what it does not understand.
    for page in [&whole.stdout, &run.stdout] {
        accepted("groff", &["-man", "-Tutf8", "-ww", "-z"], page);
    }
}
