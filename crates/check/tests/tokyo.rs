//! Tokyo Cabinet, and Tokyo Tyrant's protocol over the test server, checked as a user checks them.

#![allow(clippy::unwrap_used)]

use kvtrial_check::{CheckFinding, Options};
use std::time::Duration;
use store::{Availability, Endpoint, Opener, Store};
use study::Spec;
use testkit::tyrant_server::{Listen, TyrantServer};

fn assert_correct(name: &str, store: &dyn Store) {
    let options = Options { idle: Duration::from_millis(50), largest_value_bytes: 4 << 20, ..Options::default() };
    let report = kvtrial_check::run(store, &options, &mut |_| {});
    assert_eq!(report.finding(), CheckFinding::Correct, "{name}:\n{report}");
    assert!(report.operations > 5_000, "{name}: {}", report.operations);
}

#[test]
fn tokyo_cabinet_is_correct_with_transactions_and_without() {
    let info = catalog::find("tokyocabinet").unwrap();
    assert!(matches!(info.probe(), Availability::Found(_)), "not found; install it with: {}", info.install);
    let Opener::Embedded(open) = info.opener else { panic!("not embedded") };
    for spec in ["tokyocabinet", "tokyocabinet,durability=none"] {
        let directory = tempfile::tempdir().unwrap();
        assert_correct(spec, &*open(&spec.parse().unwrap(), directory.path()).unwrap());
    }
}

fn connected(name: &str, listen: Listen, endpoint: impl FnOnce(&TyrantServer) -> Endpoint) {
    let Opener::Server { connect, .. } = catalog::find(name).unwrap().opener else { panic!("{name} is no server") };
    let directory = tempfile::tempdir().unwrap();
    let server = TyrantServer::start(listen, &directory.path().join("casket.tch")).unwrap();
    assert_correct(name, &*connect(&Spec::private(name), &[endpoint(&server)]).unwrap());
}

#[test]
fn tyrant_is_correct_over_tcp() {
    connected("tyrant", Listen::Tcp(0), |server| Endpoint::loopback(server.port()));
}

#[test]
fn tyrant_is_correct_over_a_unix_socket() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("tyrant.sock");
    connected("tyrant-unix", Listen::Unix(socket.clone()), |_| Endpoint::unix(socket));
}
