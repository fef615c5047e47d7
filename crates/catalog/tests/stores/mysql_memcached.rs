//! MySQL's InnoDB memcached plugin, the real server: run by `./test --full`, which gets it.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::suite;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use store::OwnedReply;
use store::{CommandLine, Expected, Opener, Operation, OperationKind, Place, ServerPlan};
use study::Spec;
use testkit::Rig;
use testkit::replies::refusal;
use testkit::waiting::soon;

fn rig() -> &'static Rig {
    static RIG: OnceLock<Rig> = OnceLock::new();
    Rig::shared("mysql-memcached-unix,durability=none", &RIG)
}

#[test]
#[ignore = "needs MySQL's memcached plugin, which ./test --full gets"]
fn it_does_what_every_store_does() {
    suite::values_of_every_size_come_back_whole(rig());
    suite::an_overwrite_leaves_nothing_of_the_old_value(rig());
    suite::what_was_never_stored_is_missing(rig());
    suite::appends_join_and_create(rig());
    suite::a_compare_and_set_needs_the_version_that_was_read(rig());
    suite::many_keys_come_in_the_order_asked(rig());
}

#[test]
#[ignore = "needs MySQL's memcached plugin, which ./test --full gets"]
fn any_bytes_do_as_key_and_value() {
    let mut client = rig().client(1, 1);
    let all: Vec<u8> = (0..=255).collect();
    let mut keys: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    keys.extend([
        b"@@containers".to_vec(),
        b"a|b".to_vec(),
        vec![b'k'; 250],
        vec![0; rig().capabilities().max_key_bytes],
    ]);
    for key in &keys {
        assert_eq!(client.put(key, [&all[..], key].concat()), OwnedReply::Done, "{key:?}");
    }
    for key in &keys {
        assert!(client.get(key) == OwnedReply::Value([&all[..], key].concat()), "{key:?}");
    }
}

#[test]
#[ignore = "needs MySQL's memcached plugin, which ./test --full gets"]
fn what_is_put_is_a_row_that_sql_sees() {
    let mut client = rig().client(1, 1);
    assert_eq!(client.put(b"row", b"\0|\xff"), OwnedReply::Done);
    let socket = rig().file("mysql.sock");
    let accounts = std::fs::read_to_string(rig().file("accounts.sql")).unwrap();
    let (_, password) = accounts.split_once("IDENTIFIED BY '").unwrap();
    let password = format!("-p{}", password.split_once('\'').unwrap().0);
    let statement = "SELECT hex(v) FROM kvtrial.kvtrial_kv WHERE k = 'row'";
    // The plugin answers a moment before the server does.
    let said = soon("the server answers", || {
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "-ukvtrial", &password, "-N", "-B", "-S", &socket, "-e", statement]);
        let output = client.output().unwrap();
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    });
    assert_eq!(said, "007CFF");
}

#[test]
#[ignore = "needs MySQL's memcached plugin, which ./test --full gets"]
fn counters_are_not_declared_because_the_plugin_cuts_increments_off() {
    assert!(!rig().has(OperationKind::Increment) && rig().capabilities().counter.is_none());
    let mut client = rig().client(1, 1);
    let mut add = |by| client.call(Operation::Increment { key: b"n", by });
    assert_eq!(add(5), OwnedReply::Number(5));
    let mut count = 5;
    for by in [105, -103, 1 << 40] {
        match add(by) {
            OwnedReply::Number(now) => {
                count += i64::from(by as i32); // cut off
                assert_eq!(now, count, "a version that counts right: declare its counters");
            }
            // Now and then the plugin does not know its own numbers.
            other => assert!(refusal(&other).is_some_and(|words| words.contains("non-numeric")), "{other:?}"),
        }
    }
}

#[test]
#[ignore = "needs MySQL's memcached plugin, which ./test --full gets"]
fn of_two_that_create_a_key_one_is_told_of_the_conflict() {
    let mut client = rig().client(2, 1);
    let create = Operation::CompareAndSet { key: b"created", expected: Expected::Absent, value: b"v" };
    let mut both = client.all(&[create, create]);
    both.sort_by_key(|got| *got == OwnedReply::Done);
    assert_eq!(both, [OwnedReply::Conflict, OwnedReply::Done]);
}

/// The plan for kvtrial as root, with a program that has the plugin beside it and is never started.
fn plan_as_root(name: &str) -> ServerPlan {
    let base = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(base.path().join("bin")).unwrap();
    std::fs::create_dir_all(base.path().join("lib/plugin")).unwrap();
    for file in ["bin/mysqld", "lib/plugin/libmemcached.so", "lib/plugin/innodb_engine.so"] {
        std::fs::write(base.path().join(file), "").unwrap();
    }
    let spec: Spec = format!("{name},program={}", base.path().join("bin/mysqld").display()).parse().unwrap();
    let Opener::Server { plan, .. } = testkit::rig::info(name).opener else { panic!("no server") };
    let mut place = Place::new("/private", true, study::Secret::new("tulip"), || Ok(7));
    plan(&spec, &mut place).unwrap().nodes.remove(0).plan
}

#[test]
fn the_server_is_not_root_and_nobody_speaks_sql_to_it_without_the_password_of_the_run() {
    for name in ["mysql-memcached", "mysql-memcached-unix"] {
        let plan = plan_as_root(name);
        assert_eq!(plan.user, Some("mysql"));
        let words = |line: &CommandLine| line.args.iter().map(|arg| arg.to_str().unwrap().to_owned()).collect();
        let (prepare, run): (Vec<String>, Vec<String>) = (words(&plan.prepare[0]), words(&plan.run));
        for argument in prepare.iter().chain(&run) {
            assert!(!argument.contains("--user") && !argument.contains("tulip"), "{argument}");
        }
        let has = |argument: &str| run.iter().any(|other| other == argument);
        assert!(has("--skip-networking") && has("--socket=/private/mysql.sock"), "{run:?}");
        // Statements reach no file of the machine, and the accounts are made at the start.
        assert!(has("--secure-file-priv=/private/nowhere") && has("--local-infile=OFF"), "{run:?}");
        assert!(plan.directories == [PathBuf::from("nowhere")] && has("--init-file=/private/accounts.sql"), "{run:?}");
        let (_, accounts) = plan.files.iter().find(|(path, _)| path.ends_with("accounts.sql")).unwrap();
        assert!(accounts.contains("CREATE USER IF NOT EXISTS 'kvtrial'@'%' IDENTIFIED BY 'tulip'"), "{accounts}");
        assert!(accounts.contains("DELETE FROM mysql.user WHERE User NOT IN ('kvtrial', 'mysql."), "{accounts}");
        // The data are made with the tables of the plugin, and nothing else.
        assert_eq!(prepare.iter().filter(|argument| argument.starts_with("--init-file")).count(), 1);
        assert!(prepare.contains(&"--init-file=/private/setup.sql".to_owned()), "{prepare:?}");
        let daemon = run.iter().find(|argument| argument.starts_with("--loose-daemon-memcached-option=")).unwrap();
        assert!(!daemon.contains("-u "), "{daemon}");
    }
}

#[test]
fn a_server_without_the_plugin_is_refused_and_what_is_missing_is_said() {
    let found = store::programs::find(&["redis-server"], &[]).unwrap();
    let spec: Spec = format!("mysql-memcached,program={}", found.display()).parse().unwrap();
    let Opener::Server { plan, .. } = testkit::rig::info("mysql-memcached").opener else { panic!("no server") };
    let error = plan(&spec, &mut Place::on_paper(true)).err().unwrap().to_string();
    assert!(error.contains("libmemcached.so") && error.contains("KVTRIAL_MYSQLD"), "{error}");
}
