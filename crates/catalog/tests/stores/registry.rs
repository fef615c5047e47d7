//! What the list of stores promises as a whole. A new store is found here by itself.

#![allow(clippy::unwrap_used)]

use kvtrial_catalog as catalog;
use std::collections::BTreeSet;
use store::{Opener, StoreInfo};
use study::{BudgetLayer, Spec, Transport};

#[test]
fn names_differ_and_are_listed_under_their_family() {
    let mut names = BTreeSet::new();
    for info in catalog::all() {
        assert!(names.insert(info.name), "{} is listed twice", info.name);
        let first = catalog::all().find(|other| other.family == info.family).unwrap();
        assert_eq!(first.name, info.family, "a family is named after the first of it");
    }
}

#[test]
fn stores_of_one_family_differ_in_transport_and_take_the_same_options() {
    let options = |info: &StoreInfo| info.options.iter().map(|option| option.name).collect::<Vec<_>>();
    for info in catalog::all() {
        for other in catalog::all().filter(|other| other.family == info.family && other.name != info.name) {
            assert_ne!(info.transport, other.transport, "{} and {}", info.name, other.name);
            assert_eq!(options(info), options(other), "{} and {}", info.name, other.name);
        }
    }
}

#[test]
fn a_server_has_a_transport_and_a_library_has_none() {
    for info in catalog::all() {
        assert_eq!(info.transport.is_some(), matches!(info.opener, Opener::Server { .. }), "{}", info.name);
    }
}

#[test]
fn every_kind_of_socket_a_server_is_reached_by_has_a_baseline_of_its_wire() {
    let baseline = |layer, transport| {
        let found = catalog::all().filter(|info| info.layer() == Some(layer) && info.transport == transport);
        assert_eq!(found.count(), 1, "{layer} {transport:?}");
    };
    baseline(BudgetLayer::Generator, None);
    baseline(BudgetLayer::Client, None);
    let reached: BTreeSet<Transport> = catalog::all().filter_map(|info| info.transport).collect();
    reached.into_iter().for_each(|transport| baseline(BudgetLayer::Wire, Some(transport)));
}

#[test]
fn every_value_a_search_may_try_is_one_the_store_takes_and_the_default_comes_first() {
    let mut tunable = 0;
    for info in catalog::all() {
        for (option, values) in info.options.iter().filter_map(|option| Some((option, option.tunable?.values))) {
            for value in values {
                let mut spec = Spec::private(info.name);
                spec.options.insert(option.name.into(), (*value).into());
                assert!(layers::check(info, &spec).is_ok(), "{}: {}={value}", info.name, option.name);
            }
            assert_eq!(values.first().copied(), option.usual, "{}: {}", info.name, option.name);
            tunable += 1;
        }
    }
    assert!(tunable > 20, "{tunable}");
}

#[test]
fn a_deployment_says_on_how_many_of_its_nodes_each_pair_is() {
    let copies = |text: &str| {
        let spec: Spec = text.parse().unwrap();
        layers::on_paper(catalog::find(&spec.name).unwrap(), &spec, false).unwrap().unwrap().copies
    };
    let of = [
        ("redis", 1),
        ("redis,nodes=3", 1),
        ("redis-cluster", 1),
        ("redis-cluster,replicas=1", 2),
        ("etcd", 1),
        ("etcd,nodes=3", 3),
        ("nats,nodes=3", 3),
        ("nats,nodes=3,replicas=1", 1),
    ];
    for (spec, expected) in of {
        assert_eq!(copies(spec), expected, "{spec}");
    }
}
