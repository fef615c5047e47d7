//! Engines that the user's Go or Rust builds. `./test --full` builds them; here they are tried as their users try them, in workers.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, Ran};
use std::path::PathBuf;
use store::Availability;
use study::Durability;

/// The answer of a script that shares no code with kvtrial: `crates/jobs/tests/answers`.
const DEBIAN_1K: &str = "sha256:68feb5060a6d9f728165362a625509d52ab91a5abcf6de1f6c5fe58fe046bc91";

/// The engines, which must be here.
fn engines() -> Vec<&'static store::StoreInfo> {
    let bundles = catalog::bundles().filter(|bundle| bundle.is_engine());
    let engines: Vec<_> = bundles.map(|bundle| catalog::find(bundle.store).unwrap()).collect();
    assert!(engines.len() >= 3);
    for info in &engines {
        assert!(matches!(info.probe(), Availability::Found(_)), "{} is not here; {}", info.name, info.install);
    }
    engines
}

/// Runs `kvtrial` with the cache of the user who runs the tests. Nothing may be left behind.
fn tried(words: &str) -> Ran {
    let desk = Desk::new();
    let ran = desk.finished(desk.command_with_own_cache(words).output().unwrap());
    assert_eq!(desk.left_behind(), [] as [PathBuf; 0], "{words}");
    assert_eq!(ran.status, 0, "{words}: {}", ran.said());
    ran
}

#[test]
#[ignore = "minutes: engines that Go and Rust build"]
fn every_engine_passes_check_at_each_of_its_levels() {
    for info in engines() {
        for level in info.durabilities {
            tried(&format!("check {},durability={level}", info.name));
        }
    }
}

#[test]
#[ignore = "minutes: engines that Go and Rust build"]
fn every_engine_has_the_known_answer_with_one_client_and_with_sixteen() {
    for info in engines() {
        for clients in [1, 16] {
            let once = "--no-baselines --repeats 1 --warmups 0 --out out";
            let ran = tried(&format!("run fans -s {} --data debian-1k --clients {clients} {once}", info.name));
            assert!(ran.is_ranked(info.name) && ran.digest(info.name) == DEBIAN_1K, "{}", ran.said());
        }
    }
}

#[test]
#[ignore = "minutes: engines that Go and Rust build"]
fn every_engine_scans_in_order_while_it_is_written() {
    for info in engines() {
        let once = "--no-baselines --repeats 1 --warmups 0 --clients 4 --set records=2000 --set seconds=1 --out out";
        let ran = tried(&format!("run ycsb -s {} --set workload=E {once}", info.name));
        assert!(ran.is_ranked(info.name), "{}", ran.said());
    }
}

#[test]
#[ignore = "minutes: engines that Go and Rust build"]
fn every_engine_keeps_its_promise_in_5_kills() {
    for info in engines() {
        for level in info.durabilities.iter().filter(|level| **level != Durability::None) {
            tried(&format!("crash {},durability={level} --cuts 5 --out out", info.name));
        }
    }
}
