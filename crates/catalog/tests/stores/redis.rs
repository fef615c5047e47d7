//! What only Redis has: logins, databases, durability levels, a limit of memory, records of counters.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read, Write};
use std::net::TcpStream;
use store::{Endpoint, Expected, Opener, Operation, OwnedReply, SessionPlan};
use study::{Durability, Secret, Spec};
use testkit::bytes::noise;
use testkit::replies::{loss, no_rows, refusal, sorted, value};
use testkit::rig::connect_of;
use testkit::waiting::until;
use testkit::{Client, Rig};

/// Sends raw bytes to a server and returns what it answers to them at once.
fn say(server: &Rig, text: &str) -> String {
    let (host, port) = server.endpoint().tcp().unwrap();
    let mut stream = TcpStream::connect((host, port)).unwrap();
    let password = server.endpoint().password.as_ref().unwrap().reveal();
    stream.write_all(format!("AUTH {password}\r\n").as_bytes()).unwrap();
    let mut answer = [0; 1000];
    let size = stream.read(&mut answer).unwrap();
    assert_eq!(&answer[..size], b"+OK\r\n");
    stream.write_all(text.as_bytes()).unwrap();
    let size = stream.read(&mut answer).unwrap();
    String::from_utf8_lossy(&answer[..size]).into_owned()
}

fn connect(endpoint: &Endpoint) -> Result<Client, String> {
    let store = connect_of("redis")(&Spec::private("redis"), std::slice::from_ref(endpoint))
        .map_err(|error| error.to_string())?;
    store.session(SessionPlan { clients: 1, pipeline: 1 }).map(Client::over).map_err(|error| error.to_string())
}

#[test]
fn each_level_of_durability_is_in_effect_when_asked_for() {
    let expected = [
        ("none", Durability::None, "no"),
        ("os", Durability::Os, "yes"),
        ("second", Durability::Second, "yes"),
        ("commit", Durability::Commit, "yes"),
    ];
    for (name, level, appendonly) in expected {
        let server = Rig::start(&format!("redis-unix,durability={name}"));
        assert_eq!(server.store().capabilities().durability, level);
        let config = server.store().facts().unwrap().config;
        assert_eq!((config["appendonly"].as_str(), config["save"].as_str()), (appendonly, ""));
        assert_eq!(server.client(1, 1).put("k", "v"), OwnedReply::Done);
    }
}

#[test]
fn what_was_acknowledged_at_level_os_survives_a_kill_and_at_level_none_does_not() {
    for (level, expected) in [("os", OwnedReply::Value(b"v".into())), ("none", OwnedReply::Missing)] {
        let server = Rig::start(&format!("redis-unix,durability={level}"));
        assert_eq!(server.client(1, 1).put("k", "v"), OwnedReply::Done);
        server.restart();
        assert_eq!(server.client(1, 1).get("k"), expected, "{level}");
    }
}

#[test]
fn a_time_to_live_of_milliseconds_is_kept_touch_starts_it_again_and_a_put_ends_it() {
    let server = Rig::start("redis");
    let mut client = server.client(1, 1);
    for (key, ttl_ms) in [("gone", 60), ("touched", 60_000), ("put", 60_000)] {
        let put = Operation::PutTtl { key: key.as_bytes(), value: b"v", ttl_ms };
        assert_eq!(client.call(put), OwnedReply::Done);
    }
    let touch = |key: &'static [u8]| Operation::Touch { key, ttl_ms: 3_600_000 };
    let (touched, put) = (client.call(touch(b"touched")), client.put("put", "w"));
    assert_eq!((touched, put, client.call(touch(b"none"))), (OwnedReply::Done, OwnedReply::Done, OwnedReply::Missing));
    until("the value has expired", || client.get("gone") == OwnedReply::Missing);
    let left = say(&server, "PTTL touched\r\n");
    assert!(left.trim_start_matches(':').trim_end().parse::<u64>().unwrap() > 3_000_000, "{left}");
    assert_eq!(say(&server, "PTTL put\r\n"), ":-1\r\n");
    let mut left = |key: &'static [u8]| client.call(Operation::TimeLeft { key });
    assert!(matches!(left(b"touched"), OwnedReply::Number(3_000_001..=3_600_000)));
    assert_eq!([left(b"put"), left(b"none")], [OwnedReply::Number(store::LASTS), OwnedReply::Missing]);
    let refused = client.call(Operation::PutTtl { key: b"never", value: b"v", ttl_ms: 0 });
    assert!(refusal(&refused).is_some_and(|words| words.contains("invalid expire")), "{refused:?}");
}

#[test]
fn a_full_server_refuses_writes_and_still_reads() {
    let server = Rig::start("redis-unix,maxmemory=2mb");
    let config = server.store().facts().unwrap().config;
    assert_eq!((config["maxmemory"].as_str(), config["maxmemory-policy"].as_str()), ("2097152", "noeviction"));
    let mut client = server.client(1, 1);
    let value = noise(1, 100_000);
    let answers: Vec<_> = (0..40).map(|n| client.put(format!("{n}"), &value)).collect();
    let refused =
        answers.iter().filter(|answer| refusal(answer).is_some_and(|words| words.starts_with("OOM "))).count();
    let stored = answers.iter().filter(|answer| **answer == OwnedReply::Done).count();
    assert!(refused > 10 && stored > 1 && refused + stored == 40, "{refused} refused, {stored} stored");
    assert_eq!(client.get("0"), OwnedReply::Value(value));
}

#[test]
fn a_wrong_option_is_refused_before_anything_starts() {
    let info = kvtrial_catalog::find("redis").unwrap();
    for (spec, words) in [("redis,maxmemory-policy=none", "noeviction"), ("redis,memory=2mb", "maxmemory")] {
        let error = layers::check(info, &spec.parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn logins_and_databases_are_those_of_the_endpoint() {
    let server = Rig::start("redis");
    assert_eq!(connect(server.endpoint()).unwrap().put("k", "in database 0"), OwnedReply::Done);
    assert_eq!(say(&server, "ACL SETUSER ann on >secret ~* +@all\r\n"), "+OK\r\n");
    let given = server.password();
    let open = Endpoint { password: None, ..server.endpoint().clone() };
    let with = |user: Option<&str>, password: &str, database: Option<&str>| Endpoint {
        user: user.map(Into::into),
        password: Some(Secret::new(password)),
        database: database.map(Into::into),
        ..open.clone()
    };
    assert_eq!(connect(&with(None, &given, None)).unwrap().get("k"), OwnedReply::Value(b"in database 0".into()));
    assert_eq!(connect(&with(Some("ann"), "secret", Some("3"))).unwrap().get("k"), OwnedReply::Missing);
    assert_eq!(
        connect(&with(Some("ann"), "secret", Some("0"))).unwrap().get("k"),
        OwnedReply::Value(b"in database 0".into())
    );
    for (endpoint, words) in [
        (open.clone(), "NOAUTH"),
        (with(None, "wrong", None), "WRONGPASS"),
        (with(Some("ann"), &given, None), "WRONGPASS"),
        (with(None, &given, Some("99")), "out of range"),
        (with(None, &given, Some("books")), "not an integer"),
    ] {
        let error = connect(&endpoint).err().unwrap();
        assert!(error.contains(words) && error.contains("127.0.0.1"), "{error}");
        assert!(!error.contains("secret") && !error.contains(&given), "{error}");
    }
}

#[test]
fn the_script_is_known_by_the_digest_written_down_for_it() {
    let server = Rig::start("redis-unix");
    let mut client = server.client(1, 1);
    assert_eq!(client.put("k", "v"), OwnedReply::Done);
    let expected = Expected::Present { version: 0, value: b"v" };
    // NOSCRIPT would be refused: the digest in the source is that of the script sent at hello.
    assert_eq!(client.call(Operation::CompareAndSet { key: b"k", expected, value: b"w" }), OwnedReply::Done);
}

#[test]
fn records_of_counters_keep_their_fields_apart() {
    let server = Rig::start("redis-unix");
    let mut client = server.client(1, 1);
    let mut add =
        |key: &'static [u8], field: &'static [u8], by| client.call(Operation::IncrementField { key, field, by });
    assert_eq!(add(b"page", b"a\r\n", 2), OwnedReply::Number(2));
    assert_eq!(add(b"page", b"", -3), OwnedReply::Number(-3));
    assert_eq!(add(b"page", b"a\r\n", 40), OwnedReply::Number(42));
    assert_eq!(add(b"other", b"a\r\n", i64::MAX), OwnedReply::Number(i64::MAX));
    assert!(refusal(&add(b"other", b"a\r\n", 1)).is_some());
    let rows = |client: &mut Client, key: &[u8]| sorted(&client.call(Operation::GetFields { key }));
    assert_eq!(rows(&mut client, b"page"), [(b"".to_vec(), b"-3".to_vec()), (b"a\r\n".to_vec(), b"42".to_vec())]);
    assert_eq!(rows(&mut client, b"other"), [(b"a\r\n".to_vec(), i64::MAX.to_string().into_bytes())]);
    assert_eq!(rows(&mut client, b"none"), []);
    for n in 0..10_000 {
        let field = format!("field {n}");
        client.call(Operation::IncrementField { key: b"big", field: field.as_bytes(), by: n });
    }
    let sum: i64 =
        rows(&mut client, b"big").iter().map(|(_, count)| String::from_utf8_lossy(count).parse::<i64>().unwrap()).sum();
    assert_eq!(sum, 49_995_000);
}

#[test]
fn counters_reach_both_bounds_of_64_bits_and_stay_there() {
    let server = Rig::start("redis-unix");
    let mut client = server.client(1, 1);
    for (key, bound, step) in [(&b"up"[..], i64::MAX, 1), (b"down", i64::MIN, -1)] {
        assert_eq!(client.call(Operation::Increment { key, by: bound }), OwnedReply::Number(bound));
        assert!(refusal(&client.call(Operation::Increment { key, by: step })).is_some());
        assert_eq!(client.call(Operation::GetCounter { key }), OwnedReply::Number(bound));
    }
}

#[test]
fn many_pairs_are_stored_in_one_request() {
    let server = Rig::start("redis-unix");
    let mut client = server.client(1, 2);
    let values: Vec<_> = (0..100).map(|n| noise(n, 1000 * n as usize)).collect();
    let keys: Vec<_> = (0..100).map(|n| format!("key {n}")).collect();
    let pairs: Vec<(&[u8], &[u8])> =
        keys.iter().zip(&values).map(|(key, value)| (key.as_bytes(), &value[..])).collect();
    let both = [(0, Operation::PutMany { pairs: &pairs }), (1, Operation::PutMany { pairs: &[] })];
    assert_eq!(client.on_slots(&both), [OwnedReply::Done, OwnedReply::Done]);
    for (key, value) in keys.iter().zip(values) {
        assert!(client.get(key) == OwnedReply::Value(value));
    }
}

#[test]
fn a_key_of_the_wrong_type_is_refused_in_the_servers_words() {
    let server = Rig::start("redis-unix");
    let mut client = server.client(1, 1);
    client.call(Operation::IncrementField { key: b"hash", field: b"f", by: 1 });
    for operation in [
        Operation::Get { key: b"hash" },
        Operation::GetMany { keys: &[b"x"] },
        Operation::Append { key: b"hash", value: b"x" },
    ] {
        let reply = client.call(operation);
        let refused = refusal(&reply).is_some_and(|words| words.starts_with("WRONGTYPE"));
        assert!(refused || reply == no_rows(), "{reply:?}");
    }
    let expected = Expected::Present { version: 0, value: b"v" };
    let answer = client.call(Operation::CompareAndSet { key: b"hash", expected, value: b"w" });
    assert!(refusal(&answer).is_some_and(|words| words.contains("WRONGTYPE")), "{answer:?}");
}

#[test]
fn too_many_connections_are_refused_in_the_servers_words() {
    let server = Rig::start("redis");
    assert_eq!(say(&server, "CONFIG SET maxclients 3\r\n"), "+OK\r\n");
    let store = server.store();
    let error = store.session(SessionPlan { clients: 5, pipeline: 1 }).err().unwrap().to_string();
    assert!(error.contains("max number of clients"), "{error}");
}

#[test]
fn a_program_that_is_named_is_the_one_that_runs() {
    let found = store::programs::find(&["redis-server"], &[]).unwrap();
    // Another name for it, on no PATH.
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("another-redis");
    std::os::unix::fs::symlink(&found, &program).unwrap();
    let copy = directory.path().join("copied-redis");
    std::fs::copy(found.canonicalize().unwrap(), &copy).unwrap();
    for (name, program) in [("redis-unix", &program), ("valkey-unix", &copy), ("valkey", &copy)] {
        let server = Rig::start(&format!("{name},program={}", program.display()));
        let mut client = server.client(1, 1);
        assert_eq!(client.put("k", "v"), OwnedReply::Done);
        // What answers is named, whatever the store is called.
        assert_eq!(server.store().facts().unwrap().product, "Redis");
    }
}

#[test]
fn a_program_that_is_not_there_is_named_in_the_refusal() {
    let spec: Spec = "valkey,program=/no/such/valkey-server".parse().unwrap();
    let Opener::Server { plan, .. } = kvtrial_catalog::find("valkey").unwrap().opener else { panic!() };
    let error = plan(&spec, &mut store::Place::on_paper(true)).err().unwrap().to_string();
    assert!(error.contains("/no/such/valkey-server") && error.contains("valkey-server"), "{error}");
}

#[test]
fn what_the_server_was_busy_with_is_told_by_its_own_monitor() {
    let server = Rig::start("redis");
    let store = server.store();
    assert!(store.witness().unwrap().happened().is_empty());
    // Counting keeps the server busy for a tenth of a second or so: nobody else is answered meanwhile.
    assert_eq!(say(&server, "EVAL \"for i = 1, 20000000 do end return 1\" 0\r\n"), ":1\r\n");
    let happened = store.witness().unwrap().happened();
    let long = happened.iter().max_by_key(|happening| happening.duration).unwrap();
    assert!(long.cause == "command" && long.duration.as_millis() >= 10, "{happened:?}");
}

/// Connections that the server has, but for the one it is asked over.
fn connections(server: &Rig) -> Option<u32> {
    let said = say(server, "INFO clients\r\n");
    let all = said.lines().find_map(|line| line.strip_prefix("connected_clients:")?.trim_end().parse::<u32>().ok());
    all.map(|all| all - 1)
}

#[test]
fn clients_share_as_many_connections_as_were_asked_for_and_the_server_sees_no_more() {
    for (spec, expected, says) in [
        ("redis", 5, "one per client"),
        ("redis,connections=client", 5, "one per client"),
        ("redis,connections=1", 1, "1 per node and thread"),
        ("redis,connections=2", 2, "2 per node and thread"),
        ("redis,connections=9", 5, "9 per node and thread"),
    ] {
        let server = Rig::start(spec);
        let mut client = server.client(5, 4);
        let keys: Vec<String> = (0..20).map(|number| format!("key{number}")).collect();
        let puts: Vec<_> =
            keys.iter().map(|key| Operation::Put { key: key.as_bytes(), value: key.as_bytes() }).collect();
        assert!(client.all(&puts).iter().all(|reply| *reply == OwnedReply::Done), "{spec}");
        let gets: Vec<_> = keys.iter().map(|key| Operation::Get { key: key.as_bytes() }).collect();
        assert_eq!(client.all(&gets), keys.iter().map(value).collect::<Vec<_>>(), "{spec}");
        until("the server has as many", || connections(&server) == Some(expected));
        let config = server.store().facts().unwrap().config;
        assert!(config["connections"].starts_with(says), "{spec}: {config:?}");
    }
}

#[test]
fn a_shared_connection_that_the_server_ends_is_opened_again_for_all_its_clients() {
    let server = Rig::start("redis,connections=1");
    let mut client = server.client(3, 1);
    let gets = [Operation::Get { key: b"a" }, Operation::Get { key: b"b" }, Operation::Get { key: b"c" }];
    assert_eq!(client.all(&gets), [OwnedReply::Missing, OwnedReply::Missing, OwnedReply::Missing]);
    say(&server, "CLIENT KILL TYPE normal SKIPME yes\r\n");
    let lost = client.all(&gets);
    assert!(lost.iter().all(|reply| loss(reply).is_some() || *reply == OwnedReply::Missing), "{lost:?}");
    assert_eq!(client.all(&gets), [OwnedReply::Missing, OwnedReply::Missing, OwnedReply::Missing]);
    assert_eq!(client.session.reconnected(), 1);
}
