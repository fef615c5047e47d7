//! What only Redis has: logins, databases, durability levels, a limit of memory, records of counters.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod wire_support;

use std::io::{Read, Write};
use std::net::TcpStream;
use store::{Endpoint, Expected, Opener, Operation, SessionPlan};
use study::{Durability, Secret, Spec};
use wire_support::{Answer, Client, Server};

/// Sends raw bytes to a server and returns what it answers to them at once.
fn say(server: &Server, text: &str) -> String {
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
    let Opener::Server { connect, .. } = kvtrial_stores::find("redis").unwrap().opener else { panic!() };
    let store = connect(&Spec::private("redis"), std::slice::from_ref(endpoint)).map_err(|error| error.to_string())?;
    store.session(SessionPlan { clients: 1, pipeline: 1 }).map(Client::new).map_err(|error| error.to_string())
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
        let server = Server::start(&format!("redis-unix,durability={name}"));
        assert_eq!(server.store().capabilities().durability, level);
        let config = server.store().facts().unwrap().config;
        assert_eq!((config["appendonly"].as_str(), config["save"].as_str()), (appendonly, ""));
        assert_eq!(server.client(1, 1).put("k", "v"), Answer::Done);
    }
}

#[test]
fn what_was_acknowledged_at_level_os_survives_a_kill_and_at_level_none_does_not() {
    for (level, expected) in [("os", Answer::Value(b"v".into())), ("none", Answer::Missing)] {
        let mut server = Server::start(&format!("redis-unix,durability={level}"));
        assert_eq!(server.client(1, 1).put("k", "v"), Answer::Done);
        server.restart();
        assert_eq!(server.client(1, 1).get("k"), expected, "{level}");
    }
}

#[test]
fn a_full_server_refuses_writes_and_still_reads() {
    let server = Server::start("redis-unix,maxmemory=2mb");
    let config = server.store().facts().unwrap().config;
    assert_eq!((config["maxmemory"].as_str(), config["maxmemory-policy"].as_str()), ("2097152", "noeviction"));
    let mut client = server.client(1, 1);
    let value = wire_support::noise(1, 100_000);
    let answers: Vec<_> = (0..40).map(|n| client.put(format!("{n}"), &value)).collect();
    let refused =
        answers.iter().filter(|answer| matches!(answer, Answer::Refused(words) if words.starts_with("OOM "))).count();
    let stored = answers.iter().filter(|answer| **answer == Answer::Done).count();
    assert!(refused > 10 && stored > 1 && refused + stored == 40, "{refused} refused, {stored} stored");
    assert_eq!(client.get("0"), Answer::Value(value));
}

#[test]
fn a_wrong_option_is_refused_before_anything_starts() {
    let info = kvtrial_stores::find("redis").unwrap();
    for (spec, words) in [("redis,maxmemory-policy=none", "noeviction"), ("redis,memory=2mb", "maxmemory")] {
        let error = info.check_options(&spec.parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn logins_and_databases_are_those_of_the_endpoint() {
    let server = Server::start("redis");
    assert_eq!(connect(server.endpoint()).unwrap().put("k", "in database 0"), Answer::Done);
    assert_eq!(say(&server, "ACL SETUSER ann on >secret ~* +@all\r\n"), "+OK\r\n");
    let open = Endpoint { password: None, ..server.endpoint().clone() };
    let with = |user: Option<&str>, password: &str, database: Option<&str>| Endpoint {
        user: user.map(Into::into),
        password: Some(Secret::new(password)),
        database: database.map(Into::into),
        ..open.clone()
    };
    assert_eq!(connect(&with(None, "tulip", None)).unwrap().get("k"), Answer::Value(b"in database 0".into()));
    assert_eq!(connect(&with(Some("ann"), "secret", Some("3"))).unwrap().get("k"), Answer::Missing);
    assert_eq!(
        connect(&with(Some("ann"), "secret", Some("0"))).unwrap().get("k"),
        Answer::Value(b"in database 0".into())
    );
    for (endpoint, words) in [
        (open.clone(), "NOAUTH"),
        (with(None, "wrong", None), "WRONGPASS"),
        (with(Some("ann"), "tulip", None), "WRONGPASS"),
        (with(None, "tulip", Some("99")), "out of range"),
        (with(None, "tulip", Some("books")), "not an integer"),
    ] {
        let error = connect(&endpoint).err().unwrap();
        assert!(error.contains(words) && error.contains("127.0.0.1"), "{error}");
        assert!(!error.contains("secret") && !error.contains("tulip"), "{error}");
    }
}

#[test]
fn the_script_is_known_by_the_digest_written_down_for_it() {
    let server = Server::start("redis-unix");
    let mut client = server.client(1, 1);
    assert_eq!(client.put("k", "v"), Answer::Done);
    let expected = Expected::Present { version: 0, value: b"v" };
    // NOSCRIPT would be refused: the digest in the source is that of the script sent at hello.
    assert_eq!(client.ask(Operation::CompareAndSet { key: b"k", expected, value: b"w" }), Answer::Done);
}

#[test]
fn records_of_counters_keep_their_fields_apart() {
    let server = Server::start("redis-unix");
    let mut client = server.client(1, 1);
    let mut add =
        |key: &'static [u8], field: &'static [u8], by| client.ask(Operation::IncrementField { key, field, by });
    assert_eq!(add(b"page", b"a\r\n", 2), Answer::Number(2));
    assert_eq!(add(b"page", b"", -3), Answer::Number(-3));
    assert_eq!(add(b"page", b"a\r\n", 40), Answer::Number(42));
    assert_eq!(add(b"other", b"a\r\n", i64::MAX), Answer::Number(i64::MAX));
    assert!(matches!(add(b"other", b"a\r\n", 1), Answer::Refused(_)));
    let rows = |client: &mut Client, key: &[u8]| match client.ask(Operation::GetFields { key }) {
        Answer::Rows(mut rows) => {
            rows.sort();
            rows
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(rows(&mut client, b"page"), [(b"".to_vec(), b"-3".to_vec()), (b"a\r\n".to_vec(), b"42".to_vec())]);
    assert_eq!(rows(&mut client, b"other"), [(b"a\r\n".to_vec(), i64::MAX.to_string().into_bytes())]);
    assert_eq!(rows(&mut client, b"none"), []);
    for n in 0..10_000 {
        let field = format!("field {n}");
        client.ask(Operation::IncrementField { key: b"big", field: field.as_bytes(), by: n });
    }
    let sum: i64 =
        rows(&mut client, b"big").iter().map(|(_, count)| String::from_utf8_lossy(count).parse::<i64>().unwrap()).sum();
    assert_eq!(sum, 49_995_000);
}

#[test]
fn counters_reach_both_bounds_of_64_bits_and_stay_there() {
    let server = Server::start("redis-unix");
    let mut client = server.client(1, 1);
    for (key, bound, step) in [(&b"up"[..], i64::MAX, 1), (b"down", i64::MIN, -1)] {
        assert_eq!(client.ask(Operation::Increment { key, by: bound }), Answer::Number(bound));
        assert!(matches!(client.ask(Operation::Increment { key, by: step }), Answer::Refused(_)));
        assert_eq!(client.ask(Operation::GetCounter { key }), Answer::Number(bound));
    }
}

#[test]
fn many_pairs_are_stored_in_one_request() {
    let server = Server::start("redis-unix");
    let mut client = server.client(1, 2);
    let values: Vec<_> = (0..100).map(|n| wire_support::noise(n, 1000 * n as usize)).collect();
    let keys: Vec<_> = (0..100).map(|n| format!("key {n}")).collect();
    let pairs: Vec<(&[u8], &[u8])> =
        keys.iter().zip(&values).map(|(key, value)| (key.as_bytes(), &value[..])).collect();
    let both = [(0, Operation::PutMany { pairs: &pairs }), (1, Operation::PutMany { pairs: &[] })];
    assert_eq!(client.ask_all(&both), [Answer::Done, Answer::Done]);
    for (key, value) in keys.iter().zip(values) {
        assert!(client.get(key) == Answer::Value(value));
    }
}

#[test]
fn a_key_of_the_wrong_type_is_refused_in_the_servers_words() {
    let server = Server::start("redis-unix");
    let mut client = server.client(1, 1);
    client.ask(Operation::IncrementField { key: b"hash", field: b"f", by: 1 });
    for operation in [
        Operation::Get { key: b"hash" },
        Operation::GetMany { keys: &[b"x"] },
        Operation::Append { key: b"hash", value: b"x" },
    ] {
        match client.ask(operation) {
            Answer::Refused(words) => assert!(words.starts_with("WRONGTYPE"), "{words}"),
            Answer::Rows(rows) => assert!(rows.is_empty()),
            other => panic!("{other:?}"),
        }
    }
    let expected = Expected::Present { version: 0, value: b"v" };
    let answer = client.ask(Operation::CompareAndSet { key: b"hash", expected, value: b"w" });
    assert!(matches!(&answer, Answer::Refused(words) if words.contains("WRONGTYPE")), "{answer:?}");
}

#[test]
fn too_many_connections_are_refused_in_the_servers_words() {
    let server = Server::start("redis");
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
        let server = Server::start(&format!("{name},program={}", program.display()));
        let mut client = server.client(1, 1);
        assert_eq!(client.put("k", "v"), Answer::Done);
        // What answers is named, whatever the store is called.
        assert_eq!(server.store().facts().unwrap().product, "Redis");
    }
}

#[test]
fn a_program_that_is_not_there_is_named_in_the_refusal() {
    let spec: Spec = "valkey,program=/no/such/valkey-server".parse().unwrap();
    let Opener::Server { plan, .. } = kvtrial_stores::find("valkey").unwrap().opener else { panic!() };
    let error = plan(&spec, &mut store::Place::on_paper(true)).err().unwrap().to_string();
    assert!(error.contains("/no/such/valkey-server") && error.contains("valkey-server"), "{error}");
}

#[test]
fn what_the_server_was_busy_with_is_told_by_its_own_monitor() {
    let server = Server::start("redis");
    let store = server.store();
    assert!(store.happened().is_empty());
    // Counting keeps the server busy for a tenth of a second or so: nobody else is answered meanwhile.
    assert_eq!(say(&server, "EVAL \"for i = 1, 20000000 do end return 1\" 0\r\n"), ":1\r\n");
    let happened = store.happened();
    let long = happened.iter().max_by_key(|happening| happening.duration).unwrap();
    assert!(long.cause == "command" && long.duration.as_millis() >= 10, "{happened:?}");
}
