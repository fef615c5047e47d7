//! MongoDB where there is a `mongod`, else FerretDB (`ferretd` on PATH, or named by KVTRIAL_FERRETD).

#![cfg(feature = "mongodb")]
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::suite;

use std::sync::OnceLock;
use testkit::Rig;

fn rig() -> &'static Rig {
    static RIG: OnceLock<Rig> = OnceLock::new();
    Rig::shared(if is_ferretdb() { "mongodb-unix,durability=os" } else { "mongodb-unix,durability=second" }, &RIG)
}

fn is_ferretdb() -> bool {
    match testkit::rig::info("mongodb").probe() {
        store::Availability::Found(product) => product.starts_with("FerretDB"),
        other => panic!("{other:?}: {}", testkit::rig::info("mongodb").install),
    }
}

suite!();

#[test]
fn every_level_and_way_of_reaching_it_starts_and_is_read_back() {
    common::levels(&["mongodb", "mongodb-unix"], if is_ferretdb() { &["commit", "os"] } else { &["commit", "second"] });
}

#[test]
fn a_killed_server_is_lost_and_found_again_when_it_is_back() {
    common::restart::kill_and_come_back("mongodb-unix,durability=commit");
}

#[test]
fn documents_are_counted_and_summed_by_the_aggregation() {
    common::reduces(rig());
}

#[test]
fn a_stand_in_is_named_as_such() {
    let facts = rig().store().facts().unwrap();
    assert_eq!(facts.product, if is_ferretdb() { "FerretDB" } else { "MongoDB" });
}

#[test]
fn on_the_users_own_server_only_our_collections_are_touched() {
    let rig = Rig::start(if is_ferretdb() { "mongodb,durability=os" } else { "mongodb,durability=second" });
    let login = if is_ferretdb() { guest(&rig) } else { "" };
    common::as_the_users_own(&rig, &format!("mongodb://{login}127.0.0.1:{}/kvtrial_another", rig.port()));
}

/// Makes a user of the other database: MongoDB looks for one there, not among those of the private server.
fn guest(rig: &Rig) -> &'static str {
    let made = async {
        let private = format!("mongodb://{}/?authSource=admin&directConnection=true", rig.authority());
        let client = mongodb::Client::with_uri_str(private).await?;
        let command = mongodb::bson::doc! { "createUser": "guest", "pwd": "rose", "roles": [] };
        client.database("kvtrial_another").run_command(command).await
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(made).unwrap();
    "guest:rose@"
}
