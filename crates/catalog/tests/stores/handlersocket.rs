//! HandlerSocket of MariaDB, the real server.
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::suite;

use std::process::Command;
use std::sync::OnceLock;
use store::Operation;
use store::OwnedReply;
use study::Spec;
use testkit::Rig;

fn rig() -> &'static Rig {
    static RIG: OnceLock<Rig> = OnceLock::new();
    Rig::shared("handlersocket,durability=none", &RIG)
}

suite!(
    all_bytes_come_back_from_keys_and_values,
    values_of_every_size_come_back_whole,
    an_overwrite_leaves_nothing_of_the_old_value,
    what_was_never_stored_is_missing,
    many_keys_come_in_the_order_asked,
    a_scan_reads_in_byte_order,
    of_sixteen_compare_and_sets_exactly_one_wins,
    a_compare_and_set_needs_the_version_that_was_read,
    sixteen_slots_may_create_the_same_key,
    a_refused_value_leaves_the_connection_usable,
    the_store_says_what_it_is,
);

#[test]
fn every_level_starts() {
    common::levels(&["handlersocket"], &["commit", "second"]);
}

#[test]
fn counters_count_across_zero_and_in_turn() {
    let mut client = rig().client(4, 4);
    let mut sum = 0;
    for by in [5, -7, 0, -3, 5, 1 << 40, i64::MIN / 2] {
        sum += by;
        assert_eq!(client.call(Operation::Increment { key: b"\tcounter", by }), OwnedReply::Number(sum));
        assert_eq!(client.call(Operation::GetCounter { key: b"\tcounter" }), OwnedReply::Number(sum));
    }
    let mut seen = Vec::new();
    for _ in 0..10 {
        for got in client.all(&[Operation::Increment { key: b"busy", by: 1 }; 16]) {
            let OwnedReply::Number(number) = got else { panic!("{got:?}") };
            seen.push(number);
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, (1..=160).collect::<Vec<i64>>());
}

#[test]
fn what_is_put_is_a_row_that_sql_sees_and_what_sql_writes_is_got() {
    let mut client = rig().client(1, 1);
    assert_eq!(client.put(b"seen in SQL", b"\0\x01\x0f\xff"), OwnedReply::Done);
    let row = sql("SELECT hex(v) FROM kvtrial.kvtrial_kv WHERE k = 'seen in SQL'");
    assert_eq!(row, "00010FFF");
    sql("INSERT INTO kvtrial.kvtrial_kv VALUES ('from SQL', 'a row', 1)");
    assert_eq!(client.get(b"from SQL"), OwnedReply::Value(b"a row".to_vec()));
}

#[test]
fn without_the_secret_and_the_tables_a_server_is_refused_with_what_it_needs() {
    let spec: Spec = format!("handlersocket://:wrong@127.0.0.1:{}", wr_port()).parse().unwrap();
    let error = host::open(testkit::rig::info("handlersocket"), &spec, &std::env::temp_dir()).unwrap_err().to_string();
    assert!(error.contains("unauth") && error.contains("plain_secret_wr") && !error.contains("wrong"), "{error}");
}

#[test]
fn a_killed_server_is_lost_and_found_again_when_it_is_back() {
    common::restart::kill_and_come_back("handlersocket,durability=commit");
}

fn sql(statement: &str) -> String {
    let mut client = Command::new("mariadb");
    client.args(["--no-defaults", "-ukvtrial", "-N", "-B", "-S", &rig().file("mysql.sock"), "-e", statement]);
    let output = client.env("MYSQL_PWD", rig().password()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The port for writing of the shared server.
fn wr_port() -> String {
    rig().argument("--loose-handlersocket-port-wr=")
}

#[test]
fn many_keys_are_looked_for_and_deleted_at_once_their_counters_too() {
    let rig = Rig::start("handlersocket,durability=none");
    common::sweeps(&rig);
    let mut client = rig.client(1, 4);
    for key in [&b"counter"[..], b"both"] {
        assert_eq!(client.call(Operation::Increment { key, by: 7 }), OwnedReply::Number(7));
    }
    assert_eq!(client.put(b"both", b"v"), OwnedReply::Done);
    let keys: [&[u8]; 4] = [b"none", b"counter", b"both", b"nor this"];
    let found = Some(store::Swept { there: 2, first: Some(1) });
    for sweep in [store::Sweep::Look, store::Sweep::Delete] {
        assert_eq!(rig.store().sweep(sweep, &keys).unwrap(), found, "{sweep:?}");
    }
    assert_eq!(client.call(Operation::GetCounter { key: b"counter" }), OwnedReply::Missing);
    assert_eq!(client.call(Operation::Increment { key: b"both", by: 1 }), OwnedReply::Number(1));
    assert_eq!(client.get(b"both"), OwnedReply::Missing);
    let longer = vec![b'k'; 1537];
    assert_eq!(rig.store().sweep(store::Sweep::Delete, &[&longer]).unwrap(), None, "it would be cut off");
}
