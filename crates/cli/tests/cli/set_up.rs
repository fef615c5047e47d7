//! The lines that set up a store, as a choice prints them: read back from a store that has nothing else.
#![allow(clippy::unwrap_used)]

use crate::common::Desk;
use crate::common::redis::Redis;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use testkit::waiting::until;

/// Measures a store, and returns the lines.
fn lines(desk: &Desk, store: &str) -> Vec<String> {
    let ran = desk.kvtrial(&format!(
        "run ycsb --set records=50 --set operations=50 -s {store} --no-baselines --repeats 1 --out out"
    ));
    assert_eq!(ran.status, 0, "{}", ran.said());
    ran.only()["set_up"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect()
}

/// What a command prints, errors among it.
fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_redis_that_is_started_with_its_lines_has_the_settings_that_were_measured() {
    let desk = Desk::new();
    let lines = lines(&desk, "redis-unix,durability=second");
    let server = Redis::start(&desk, &lines.join("\n"));
    let asked = said(Command::new("redis-cli").args(["-p", &server.port.to_string(), "config", "get", "append*"]));
    let asked = asked.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(asked.contains("appendonly yes") && asked.contains("appendfsync everysec"), "{asked}");
}

#[test]
fn a_new_file_of_sqlite_has_the_settings_that_were_measured_after_its_lines() {
    let desk = Desk::new();
    let lines = lines(&desk, "sqlite,page_size=8192,cache_size=16MiB");
    let asked = "import sqlite3, sys\n\
                 db = sqlite3.connect('fresh.db', isolation_level=None)\n\
                 for line in sys.argv[1:]: db.execute(line)\n\
                 print([db.execute('PRAGMA ' + name).fetchone()[0] for name in ('page_size', 'cache_size', 'journal_mode')])\n";
    let said = said(Command::new("python3").current_dir(desk.path()).args(["-c", asked]).args(&lines));
    assert_eq!(said.trim(), "[8192, -16384, 'wal']", "{lines:?}");
}

#[test]
fn a_memcached_that_is_started_by_its_line_has_the_settings_that_were_measured() {
    let desk = Desk::new();
    let lines = lines(&desk, "memcached,memory=96,threads=2");
    let [line] = &lines[..] else { panic!("{lines:?}") };
    let port = testkit::free_port();
    let mut words = line.split(' ');
    let mut server = Command::new(words.next().unwrap());
    // The user is heeded only where root starts it.
    server.args(words).args(["-u", "root", "-l", "127.0.0.1", "-p", &port.to_string()]);
    let mut server = server.stdout(Stdio::null()).spawn().unwrap();
    until("memcached listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    let ask = format!("exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'stats settings\\r\\nquit\\r\\n' >&3; cat <&3");
    let asked = said(Command::new("bash").args(["-c", &ask]));
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(asked.contains(&format!("maxbytes {}", 96 << 20)) && asked.contains("num_threads 2"), "{line}: {asked}");
}

#[test]
fn a_postgresql_takes_its_lines_as_they_are() {
    let desk = Desk::new();
    let lines = lines(&desk, "postgres,durability=second,shared_buffers=48MB");
    desk.file("postgresql.conf", lines.join("\n"));
    let versions = std::fs::read_dir("/usr/lib/postgresql").unwrap().flatten();
    let program = versions.map(|version| version.path().join("bin/postgres")).find(|it| it.exists()).unwrap();
    let read = |setting: &str| said(Command::new(&program).args(["-C", setting, "-D"]).arg(desk.path()));
    assert!(read("shared_buffers").starts_with("6144\n"), "{lines:?}: {}", read("shared_buffers")); // in pages of 8 KiB
    assert!(read("synchronous_commit").starts_with("off\n"), "{lines:?}");
}

#[test]
fn a_mariadb_takes_its_lines_as_they_are() {
    let desk = Desk::new();
    let lines = lines(&desk, "mysql,durability=second");
    let file = desk.file("my.cnf", lines.join("\n"));
    let program = ["/usr/sbin/mariadbd", "/usr/sbin/mysqld"].into_iter().find(|it| Path::new(it).exists()).unwrap();
    let mut ask = Command::new(program);
    ask.arg(format!("--defaults-file={}", file.display())).args(["--verbose", "--help"]);
    let read = said(&mut ask);
    let value = |name: &str| {
        let line = read.lines().find(|line| line.split_whitespace().next() == Some(name));
        line.unwrap_or_else(|| panic!("{name}: {read}")).split_whitespace().nth(1).unwrap().to_owned()
    };
    assert!(!read.contains("unknown variable"), "{lines:?}");
    assert_eq!(value("innodb-flush-log-at-trx-commit"), "2", "{lines:?}");
}
