//! S3's protocol on versitygw, which `kvtrial fetch-store s3` builds (these are among the longer tests).

#![cfg(feature = "s3")]
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::suite;

use std::sync::OnceLock;
use store::{Endpoint, Operation, OwnedReply};
use study::{Secret, Spec};
use testkit::Rig;
use testkit::rig::connect_of;

fn rig() -> &'static Rig {
    static RIG: OnceLock<Rig> = OnceLock::new();
    Rig::shared("s3", &RIG)
}

suite! {
    ignored "Go builds versitygw for minutes":
    an_overwrite_leaves_nothing_of_the_old_value,
    values_of_every_size_come_back_whole,
    what_was_never_stored_is_missing,
    of_sixteen_compare_and_sets_exactly_one_wins,
    sixteen_slots_may_create_the_same_key,
    the_store_says_what_it_is,
}

#[test]
#[ignore = "Go builds versitygw for minutes"]
fn a_killed_server_is_lost_and_found_again_when_it_is_back() {
    common::restart::kill_and_come_back("s3");
}

#[test]
#[ignore = "Go builds versitygw for minutes"]
fn it_is_named_as_what_it_is_and_promises_no_more_than_it_keeps() {
    common::levels(&["s3"], &["os"]);
    let facts = rig().store().facts().unwrap();
    assert_eq!(facts.product, "versitygw");
    assert!(facts.version.starts_with("1.") && facts.config["stand-in"].contains("not Amazon's"), "{facts:?}");
}

#[test]
#[ignore = "Go builds versitygw for minutes"]
fn nobody_gets_in_without_the_secret_and_nobody_can_read_it() {
    let endpoint = rig().endpoint();
    let secret = endpoint.password.as_ref().unwrap();
    let enters = |user: Option<&str>, password: Option<&str>| {
        let (user, password) = (user.map(str::to_owned), password.map(Secret::new));
        connect_of("s3")(&Spec::private("s3"), &[Endpoint { user, password, ..endpoint.clone() }])
    };
    assert!(enters(endpoint.user.as_deref(), Some(secret.reveal())).is_ok());
    for (user, password) in [(None, None), (Some("kvtrial"), Some("kvtrial")), (Some("root"), Some(secret.reveal()))] {
        let refused = enters(user, password).err().map(|error| error.to_string()).unwrap();
        assert!(refused.contains("HTTP 40") && refused.contains("s3://KEY:SECRET@HOST"), "{refused}");
    }
    assert!(rig().arguments().iter().all(|argument| !argument.contains(secret.reveal())));
}

#[test]
#[ignore = "Go builds versitygw for minutes"]
fn all_objects_are_counted_over_several_pages_of_the_list() {
    let rig = Rig::start("s3");
    let mut client = rig.client(4, 4);
    let keys: Vec<String> = (0..1040).map(|number| format!("object/{number}")).collect();
    for keys in keys.chunks(16) {
        let puts: Vec<_> = keys.iter().map(|key| Operation::Put { key: key.as_bytes(), value: b"v" }).collect();
        assert_eq!(client.all(&puts), vec![OwnedReply::Done; keys.len()]);
    }
    assert_eq!(rig.store().holding().unwrap().keys, Some(1040));
}
