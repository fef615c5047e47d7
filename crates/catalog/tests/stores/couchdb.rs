//! CouchDB's protocol on PouchDB Server (`pouchdb-server` on PATH, or named by KVTRIAL_POUCHDB).

#![cfg(feature = "couchdb")]
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::suite;

use std::sync::OnceLock;
use store::OwnedReply;
use study::Spec;
use testkit::{Client, Rig};

fn rig() -> &'static Rig {
    static RIG: OnceLock<Rig> = OnceLock::new();
    Rig::shared("couchdb", &RIG)
}

suite!(versioned);

#[test]
fn documents_are_counted_and_summed_by_a_view() {
    common::reduces(&Rig::start("couchdb"));
}

#[test]
fn a_stand_in_is_named_as_such_and_promises_no_more_than_it_keeps() {
    let facts = rig().store().facts().unwrap();
    assert_eq!((facts.product.as_str(), rig().capabilities().durability.name()), ("PouchDB Server", "os"));
    let spec: Spec = "couchdb,durability=commit".parse().unwrap();
    let error = host::open(testkit::rig::info("couchdb"), &spec, &std::env::temp_dir()).unwrap_err().to_string();
    assert!(error.contains("PouchDB Server") && error.contains("URL"), "{error}");
}

#[test]
fn a_killed_server_is_lost_and_found_again_when_it_is_back() {
    common::restart::kill_and_come_back("couchdb");
}

#[test]
fn on_the_users_own_server_another_database_is_not_touched_and_no_view_stays() {
    let server = Rig::start("couchdb");
    let mut private = server.client(1, 1);
    assert_eq!(private.put(b"the user's", b"data"), OwnedReply::Done);
    let spec: Spec = format!("couchdb://{}/another", server.authority()).parse().unwrap();
    let open = host::open(testkit::rig::info("couchdb"), &spec, &std::env::temp_dir()).unwrap();
    let mut client = Client::new(open.store(), 1, 1);
    assert_eq!(client.get(b"the user's"), OwnedReply::Missing);
    assert_eq!(client.put(b"k", b"{\"g\":\"x\",\"n\":2}"), OwnedReply::Done);
    let field = |path: &str| store::FieldPath::parse(path).unwrap();
    let reduction = store::Reduction { group: field("g"), sum: field("n") };
    for _ in 0..2 {
        let groups = open.store().reduces().unwrap().reduce(&reduction, std::time::Duration::from_secs(60)).unwrap();
        assert_eq!(groups, [store::ReductionGroup { key: "x".into(), count: 1, sum: 2 }]);
    }
    let view = Client::new(open.store(), 1, 1).get(b"_design/kvtrial-g-n");
    assert_eq!(view, OwnedReply::Missing);
    assert_eq!(private.get(b"the user's"), OwnedReply::Value(b"data".to_vec()));
}

#[test]
fn many_documents_are_looked_for_and_deleted_in_two_requests_and_those_that_are_not_there_are_no_matter() {
    common::sweeps(&Rig::start("couchdb"));
}
