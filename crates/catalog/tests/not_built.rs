//! A store whose driver is left out of the build is still listed, and says what would add it.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;
use store::{Availability, Driver, Endpoint, Opener};
use study::Spec;

#[test]
fn a_store_without_its_driver_names_the_feature_that_adds_it() {
    for (info, Driver { feature, built }) in kvtrial_catalog::all().filter_map(|info| Some((info, info.driver?))) {
        let (name, spec) = (info.name, Spec::private(info.name));
        if built {
            assert!(!matches!(info.probe(), Availability::NotBuilt(_)), "{name} is in this build");
            continue;
        }
        assert_eq!(info.probe(), Availability::NotBuilt(feature));
        let expected = format!("{name} is not in this build; build with: cargo build --release --features {feature}");
        let opened = match info.opener {
            Opener::Server { connect, .. } => connect(&spec, &[Endpoint::loopback(1)]),
            Opener::Embedded(open) => open(&spec, Path::new("/nonexistent")),
        };
        assert_eq!(opened.err().unwrap().to_string(), expected);
        assert_eq!(host::check(info, &spec).unwrap_err().to_string(), expected);
        assert_eq!(host::open(info, &spec, Path::new("/nonexistent")).err().unwrap().to_string(), expected);
    }
}

#[test]
fn every_feature_of_the_crate_that_brings_a_driver_is_the_driver_of_a_store() {
    let drivers: BTreeSet<&str> =
        kvtrial_catalog::all().filter_map(|info| info.driver).map(|driver| driver.feature).collect();
    let manifest = include_str!("../Cargo.toml");
    let full = manifest.lines().find_map(|line| line.strip_prefix("full = ")).unwrap();
    // `tls` is no store's driver: it is how any of them may be reached.
    let features: BTreeSet<&str> = full.split('"').skip(1).step_by(2).filter(|feature| *feature != "tls").collect();
    assert_eq!(drivers, features);
}
