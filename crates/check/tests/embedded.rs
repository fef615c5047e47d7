//! The embedded stores of this build, checked as a user checks them.

#![allow(clippy::unwrap_used)]

use kvtrial_check::{CheckFinding, CheckReport, Options, is_passed, is_skipped};
use std::time::Duration;
use store::{Availability, Bundle, Keeps, Opener, StoreInfo};
use study::Spec;

fn check(name: &str) -> CheckReport {
    let info = catalog::find(name).unwrap_or_else(|| panic!("no store {name}"));
    if let Availability::NotFound(what) = info.probe() {
        panic!("{name}: {what} not found; install it with: {}", info.install);
    }
    let Opener::Embedded(open) = info.opener else { panic!("{name} is not embedded") };
    let directory = tempfile::tempdir().unwrap();
    let store = open(&Spec::private(name), directory.path()).unwrap();
    let options = Options { idle: Duration::from_millis(50), largest_value_bytes: 4 << 20, ..Options::default() };
    kvtrial_check::run(&*store, &options, &mut |_| {})
}

fn assert_correct(name: &str) {
    let report = check(name);
    assert_eq!(report.finding(), CheckFinding::Correct, "{name}:\n{report}");
    assert!(report.operations > 5_000, "{name}: {}", report.operations);
}

/// From the registry: a new store is checked by itself. An engine that Go or Rust builds is checked in workers (`crates/cli/tests/cli/engines.rs`).
#[test]
fn every_embedded_store_of_this_build_is_correct() {
    let is_wanted = |info: &&StoreInfo| {
        let keeps = layers::declared(info, &Spec::private(info.name)).keeps == Keeps::Everything;
        matches!(info.opener, Opener::Embedded(_)) && !matches!(info.probe(), Availability::NotBuilt(_)) && keeps
    };
    let is_wanted =
        |info: &&StoreInfo| is_wanted(info) && !catalog::bundle_of(info.name).is_some_and(Bundle::is_engine);
    let names: Vec<&str> = catalog::all().filter(is_wanted).map(|info| info.name).collect();
    assert!(names.len() >= 7, "{names:?}");
    names.into_iter().for_each(assert_correct);
}

#[test]
fn a_store_that_keeps_nothing_is_not_called_correct() {
    let report = check("null");
    assert_eq!(report.finding(), CheckFinding::NothingChecked);
    assert_eq!((report.count(is_passed), report.count(is_skipped)), (0, report.cases.len()));
    assert!(report.to_string().contains("this store keeps nothing"), "{report}");
}
