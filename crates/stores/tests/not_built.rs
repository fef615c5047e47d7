//! A store whose driver is left out of the build is still listed, and says what would add it.

#![allow(clippy::unwrap_used)]

use store::{Opener, Probe};
use study::Spec;

#[test]
fn a_store_without_its_driver_names_the_feature_that_adds_it() {
    let drivers = [
        ("mysql", "mysql", cfg!(feature = "mysql")),
        ("postgres", "postgres", cfg!(feature = "postgres")),
        ("mongodb", "mongodb", cfg!(feature = "mongodb")),
        ("couchdb", "couchdb", cfg!(feature = "couchdb")),
        ("etcd", "etcd", cfg!(feature = "etcd")),
    ];
    for (store, feature, built) in drivers {
        for info in kvtrial_stores::all().filter(|info| info.name.trim_end_matches("-unix") == store) {
            let name = info.name;
            if built {
                assert!(!matches!((info.probe)(), Probe::NotBuilt(_)), "{name} is in this build");
                continue;
            }
            assert_eq!((info.probe)(), Probe::NotBuilt(feature));
            let Opener::Server { connect, .. } = info.opener else { panic!("{name} is no server") };
            let error = connect(&Spec::private(name), &[store::Endpoint::loopback(1)]).err().unwrap().to_string();
            assert_eq!(error, format!("{name} is not in this build; build with --features {feature}"));
        }
    }
}
