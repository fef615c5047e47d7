//! `kvtrial stores` as a newcomer sees it. `UPDATE_GOLDEN=1` writes the golden file again.

#![allow(clippy::unwrap_used)]

mod golden_file;

use golden_file::golden;
use study::{Class, Transport};
use terminal::{Colour, Presence, StoreRow, stores_list};
use unicode_width::UnicodeWidthStr;

fn store(name: &str, class: Class, presence: Presence) -> StoreRow {
    StoreRow {
        name: name.into(),
        family: name.into(),
        transport: (class == Class::Network).then_some(Transport::Tcp),
        class,
        kind: "hash".into(),
        summary: "a store".into(),
        presence,
        durabilities: vec!["none".into()],
        durability_settings: Vec::new(),
        shown: Vec::new(),
        options: Vec::new(),
        options_mean: Vec::new(),
        native: None,
        max_key_bytes: Some(512),
        max_value_bytes: Some(1 << 30),
        open_to_all: false,
        install: format!("apt install {name}"),
        licence: "BSD-3-Clause".into(),
    }
}

fn found(product: &str) -> Presence {
    Presence::Found(product.into())
}

fn levels(names: &str) -> Vec<String> {
    names.split(' ').map(String::from).collect()
}

fn stores_table(rows: &[StoreRow]) -> String {
    let known = words::distinct(rows.iter().filter_map(|row| row.native.as_ref()).flatten().map(String::as_str));
    terminal::stores_table(rows, &known, Colour::Never)
}

fn all() -> Vec<StoreRow> {
    vec![
        store("null", Class::Baseline, found("null 0.1.0")),
        store("ram", Class::Baseline, found("ram 0.1.0")),
        StoreRow { durabilities: levels("none os commit"), ..store("lmdb", Class::Embedded, found("LMDB 0.9.33")) },
        StoreRow {
            durabilities: levels("none commit"),
            max_key_bytes: None,
            max_value_bytes: None,
            ..store("tokyocabinet", Class::Embedded, Presence::NotFound("libtokyocabinet.so.9".into()))
        },
        StoreRow {
            durabilities: levels("none os second commit"),
            native: Some(
                ["get", "put", "delete", "append", "increment", "compare_and_set", "get_many"].map(String::from).into(),
            ),
            max_key_bytes: Some(512 << 20),
            max_value_bytes: Some(512 << 20),
            ..store("redis-unix", Class::Network, found("Redis 7.0.15"))
        },
        StoreRow {
            durabilities: levels("os second commit"),
            options: vec!["engine=innodb".into(), "layout=blob".into()],
            options_mean: vec!["where rows are kept".into(), "how records are laid out".into()],
            max_key_bytes: Some(767),
            ..store("mysql-unix", Class::Network, found("mariadbd Ver 10.11.6-MariaDB-0+deb12u1 for debian-linux-gnu"))
        },
        StoreRow {
            install: "apt install postgresql".into(),
            ..store("postgres", Class::Network, Presence::NotBuilt("postgres".into()))
        },
    ]
}

#[test]
fn what_is_found_and_how_to_get_the_rest_fits_eighty_columns() {
    golden("stores.txt", &stores_table(&all()));
}

#[test]
fn the_short_list_has_a_line_per_store() {
    let list = stores_list(&all(), Colour::Never);
    golden("stores_list.txt", &list);
    assert!(
        all().iter().all(|row| list.lines().filter(|line| line.trim_start().starts_with(&row.name)).count() == 1),
        "{list}"
    );
}

#[test]
fn a_server_that_asks_for_no_password_says_so_in_the_list_though_its_socket_is_private() {
    let tcp = StoreRow { open_to_all: true, ..store("memcached", Class::Network, found("memcached 1.6.18")) };
    let unix =
        StoreRow { name: "memcached-unix".into(), transport: Some(Transport::Unix), open_to_all: false, ..tcp.clone() };
    let table = stores_table(&[tcp, unix]);
    assert!(table.contains(" memcached[-unix] "), "{table}");
    assert!(table.contains("over TCP any user of this machine can connect: it asks for no password"), "{table}");
    let redis = stores_table(&[store("redis", Class::Network, found("Redis 7.0.15"))]);
    assert!(!redis.contains("password"), "{redis}");
}

#[test]
fn a_store_reached_in_two_ways_is_listed_once() {
    let twin = |name: &str, transport| StoreRow {
        family: "redis".into(),
        transport: Some(transport),
        install: "apt install redis-server".into(),
        ..store(name, Class::Network, found("Redis 7.0.15"))
    };
    let tcp = || twin("redis", Transport::Tcp);
    let table = stores_table(&[tcp(), twin("redis-unix", Transport::Unix)]);
    assert!(table.contains(" redis[-unix] ") && table.contains("2 of 2 found"), "{table}");
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("redis[-unix]: redis over TCP, redis-unix over a unix socket."), "{table}");
    // By what the stores say, whatever their names are.
    let table = stores_table(&[tcp(), twin("redis-socket", Transport::Unix)]);
    assert!(table.contains(" redis[-socket] "), "{table}");
    let table = stores_table(&[tcp(), twin("local-redis", Transport::Unix)]);
    assert!(table.contains(" redis, local-redis "), "{table}");
    let other = StoreRow { durabilities: levels("none commit"), ..twin("redis-unix", Transport::Unix) };
    for different in [
        other,
        StoreRow { family: "valkey".into(), ..twin("redis-unix", Transport::Unix) },
        twin("redis-unix", Transport::Tcp),
    ] {
        let table = stores_table(&[tcp(), different]);
        assert!(table.contains(" redis ") && table.contains(" redis-unix ") && !table.contains('['), "{table}");
    }
}

#[test]
fn limits_nobody_knows_have_no_column() {
    let unknown = |row: StoreRow| StoreRow { max_key_bytes: None, max_value_bytes: None, ..row };
    let table = stores_table(&all().into_iter().map(unknown).collect::<Vec<_>>());
    assert!(!table.contains("KEY") && table.lines().all(|line| line.width() <= 80), "{table}");
    assert!(table.contains("redis-unix    Redis 7.0.15"), "{table}");
}

#[test]
fn the_json_form_has_every_field() {
    let json: serde_json::Value = serde_json::to_value(all()).unwrap();
    assert_eq!(json[2]["presence"]["status"], "found");
    assert_eq!(json[2]["presence"]["what"], "LMDB 0.9.33");
    assert_eq!(json[3]["presence"]["status"], "not_found");
    assert_eq!(json[4]["native"][3], "append");
    assert_eq!(json[4]["max_value_bytes"], 512 << 20);
    assert_eq!(json[3]["max_value_bytes"], serde_json::Value::Null);
}
