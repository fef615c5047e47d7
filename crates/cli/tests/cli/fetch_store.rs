//! `kvtrial fetch-store`, and the stores whose programs it gets.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, Ran};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use store::{Availability, Bundle, MadeOf};

/// The answer of a script that shares no code with kvtrial: `crates/jobs/tests/answers`.
const DEBIAN_1K: &str = "sha256:68feb5060a6d9f728165362a625509d52ab91a5abcf6de1f6c5fe58fe046bc91";

/// `kvtrial` with an empty cache on this desk, and no program of npm's named.
fn unfetched(desk: &Desk, words: &str) -> Command {
    let mut command = desk.command(words);
    command.env("XDG_CACHE_HOME", desk.path().join("cache"));
    command.env_remove("KVTRIAL_DYNALITE").env_remove("KVTRIAL_POUCHDB");
    command
}

fn with_empty_cache(desk: &Desk, words: &str) -> Ran {
    desk.finished(unfetched(desk, words).output().unwrap())
}

/// The same, where no other programs are found than those on the desk.
fn with_these_programs(desk: &Desk, words: &str) -> Ran {
    desk.finished(unfetched(desk, words).env("PATH", desk.path()).output().unwrap())
}

/// A program on the desk.
fn program(desk: &Desk, name: &str, lines: &str) {
    let path = desk.file(name, format!("#!/bin/sh\n{lines}\n"));
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// What lies where programs are kept.
fn kept(desk: &Desk) -> Vec<PathBuf> {
    let stores = desk.path().join("cache/kvtrial/stores");
    fs::read_dir(stores).map(|found| found.map(|entry| entry.unwrap().path()).collect()).unwrap_or_default()
}

/// A Maven repository in a directory with a file of the right name and size, and other bytes.
fn forged(desk: &Desk, bundle: &Bundle) -> String {
    for file in bundle.files() {
        let path = desk.path().join("repository").join(file.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::File::create(path).unwrap().set_len(file.bytes).unwrap();
    }
    format!("file://{}", desk.path().join("repository").display())
}

#[test]
fn what_is_fetched_is_said_before_and_nothing_is_kept_of_files_that_are_others() {
    let desk = Desk::new();
    let bundle = stores::bundle_of("hazelcast").unwrap();
    let from = forged(&desk, bundle);
    let ran = with_empty_cache(&desk, &format!("fetch-store hazelcast --from {from}"));
    assert_eq!(ran.status, 2, "{}", ran.said());
    let before = ran.stderr.split("kvtrial: ").next().unwrap();
    for said in ["Hazelcast 5.5.0", "MiB", "licence Apache-2.0", &from, "hazelcast-5.5.0"] {
        assert!(before.contains(said), "{said}: {}", ran.said());
    }
    assert!(ran.stderr.contains("sha256") && ran.stderr.contains("it was deleted"), "{}", ran.said());
    assert!(kept(&desk).is_empty(), "{:?}", kept(&desk));
    // No repository at all.
    let ran = with_empty_cache(&desk, "fetch-store hazelcast --from file:///no/such/place");
    assert!(ran.status == 2 && ran.stderr.contains("--from URL"), "{}", ran.said());
    assert!(kept(&desk).is_empty(), "{:?}", kept(&desk));
}

#[test]
fn without_what_gets_it_the_line_that_installs_that_is_said() {
    let desk = Desk::new();
    for (store, install) in [("hazelcast", "apt-get install curl"), ("dynamodb", "apt-get install npm")] {
        let ran = with_these_programs(&desk, &format!("fetch-store {store}"));
        assert!(ran.status == 2 && ran.stderr.contains(install), "{}", ran.said());
    }
}

#[test]
fn what_npm_or_go_makes_of_pinned_parts_is_kept_and_nothing_if_it_does_not() {
    let desk = Desk::new();
    program(&desk, "npm", "echo 'npm error code EINTEGRITY' >&2; exit 1");
    program(&desk, "go", "echo 'verifying module: checksum mismatch' >&2; exit 1");
    for (store, words) in [("dynamodb", "code EINTEGRITY"), ("s3", "checksum mismatch")] {
        let ran = with_these_programs(&desk, &format!("fetch-store {store}"));
        assert!(ran.status == 2 && ran.stderr.contains(words) && ran.stderr.contains("--from URL"), "{}", ran.said());
        assert!(kept(&desk).is_empty(), "{:?}", kept(&desk));
    }
    // They say that all went well, and there is no program.
    program(&desk, "npm", "exit 0");
    let ran = with_these_programs(&desk, "fetch-store dynamodb");
    assert!(ran.status == 2 && ran.stderr.contains("did not say why") && kept(&desk).is_empty(), "{}", ran.said());
    let made =
        "set -e; test -s package-lock.json; /bin/mkdir -p node_modules/.bin; echo \"$*\" >node_modules/.bin/dynalite";
    program(&desk, "npm", made);
    program(&desk, "go", "set -e; test -s go.sum; echo \"$* $GOPROXY\" >versitygw");
    let from = "file:///no/such/registry";
    for (store, made, words) in [
        ("dynamodb", "dynamodb-4.0.0/node_modules/.bin/dynalite", ["ci --ignore-scripts", "--registry=file:///no"]),
        ("s3", "s3-1.8.0/versitygw", ["build -mod=readonly", "file:///no"]),
    ] {
        let ran = with_these_programs(&desk, &format!("fetch-store {store} --from {from}"));
        assert!(ran.status == 0 && ran.stderr.contains(from), "{}", ran.said());
        let asked = fs::read_to_string(desk.path().join("cache/kvtrial/stores").join(made)).unwrap();
        assert!(words.iter().all(|word| asked.contains(word)), "{asked}");
        assert_eq!(with_these_programs(&desk, &format!("fetch-store {store}")).stdout.matches("already").count(), 1);
    }
}

#[test]
fn a_store_whose_program_is_missing_names_the_command_that_gets_it() {
    let desk = Desk::new();
    let list = with_these_programs(&desk, "stores").stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for bundle in stores::bundles() {
        let command = format!("kvtrial fetch-store {}", bundle.store);
        assert!(list.contains(&format!("fetch-store {}", bundle.store)), "{command}\n{list}");
        let whole = with_these_programs(&desk, &format!("stores {}", bundle.store)).stdout;
        assert!(whole.split_whitespace().collect::<Vec<_>>().join(" ").contains(&command), "{command}\n{whole}");
        let ran = with_these_programs(&desk, &format!("check {}", bundle.store));
        assert!(ran.status == 2 && ran.stderr.contains(&command), "{}", ran.said());
    }
    assert_eq!(with_empty_cache(&desk, "fetch-store redis").status, 2);
}

#[test]
fn every_list_names_files_of_a_repository_with_size_and_sum() {
    for bundle in stores::bundles().filter(|bundle| bundle.is_java()) {
        assert_eq!(bundle.files().count(), bundle.parts(), "{}", bundle.store);
        let mut names: Vec<&str> = bundle.files().map(|file| file.name()).collect();
        for file in bundle.files() {
            let is_sum = file.sha256.len() == 64 && file.sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(is_sum && file.bytes > 0 && file.path.ends_with(".jar"), "{file:?}");
            assert!(!Path::new(file.path).is_absolute() && !file.path.contains(".."), "{file:?}");
        }
        names.sort_unstable();
        assert!(names.windows(2).all(|two| two[0] != two[1]), "{}: two files of one name", bundle.store);
    }
}

#[test]
fn every_package_of_npm_and_module_of_go_has_its_version_and_its_sum() {
    for bundle in stores::bundles() {
        match bundle.made_of {
            MadeOf::Maven(_) => continue,
            MadeOf::Npm { lock, program, .. } => {
                let lock: serde_json::Value = serde_json::from_str(lock).unwrap();
                let packages = lock["packages"].as_object().unwrap();
                let has_sum =
                    |it: &serde_json::Value| it["integrity"].as_str().is_some_and(|sum| sum.starts_with("sha512-"));
                let parts: Vec<_> = packages.iter().filter(|(path, _)| !path.is_empty()).collect();
                assert!(parts.iter().all(|(_, it)| has_sum(it) && it["version"].is_string()), "{}", bundle.store);
                assert_eq!(parts.len(), bundle.parts());
                let name = program.rsplit('/').next().unwrap();
                assert_eq!(packages[&format!("node_modules/{name}")]["version"], bundle.version);
            }
            MadeOf::Go { modules, sums, package, .. } => {
                let module = package.split("/cmd/").next().unwrap();
                assert!(modules.contains(&format!("{module} v{}", bundle.version)), "{modules}");
                let is_pinned = |line: &str| line.split(' ').nth(2).is_some_and(|sum| sum.starts_with("h1:"));
                assert!(sums.lines().all(is_pinned) && bundle.parts() > 1, "{sums}");
            }
        }
    }
}

/// Specs of the Java stores that were fetched, as one server and as several.
fn found() -> Vec<String> {
    let mut specs = Vec::new();
    for bundle in stores::bundles().filter(|bundle| bundle.is_java()) {
        let info = stores::find(bundle.store).unwrap();
        assert!(matches!(info.probe(), Availability::Found(_)), "{} is not here; {}", info.name, info.install);
        let nodes = info.options.iter().find(|option| option.name == "nodes").map_or(&[][..], |option| option.values);
        // Where several replicas answer, transactions that meet are left open by Cassandra, and no case can be decided then.
        let turns = if info.options.iter().any(|option| option.name == "turns") { ",turns=on" } else { "" };
        specs.push(info.name.to_owned());
        specs.extend(nodes.iter().skip(1).map(|nodes| format!("{},nodes={nodes}{turns}", info.name)));
    }
    specs
}

/// Runs `kvtrial` with the cache of the user who runs the tests.
fn with_own_cache(desk: &Desk, words: &str) -> Ran {
    let mut command = desk.command_with_own_cache(words);
    // What was fetched is tried, and not what is named.
    command.env_remove("KVTRIAL_DYNALITE").env_remove("KVTRIAL_POUCHDB");
    desk.finished(command.output().unwrap())
}

#[test]
#[ignore = "minutes: Java servers"]
fn every_fetched_store_passes_check_and_leaves_nothing() {
    let others = stores::bundles().filter(|bundle| !bundle.is_java()).map(|bundle| bundle.store.to_owned());
    for spec in others.chain(found()) {
        let desk = Desk::new();
        let ran = with_own_cache(&desk, &format!("check {spec} --deadline 30s"));
        assert_eq!(ran.status, 0, "{spec}: {}", ran.said());
        assert!(desk.left_behind().is_empty(), "{spec}: {:?}", desk.left_behind());
    }
}

#[test]
#[ignore = "minutes: Java servers"]
fn every_java_store_has_the_known_answer_with_one_client_and_with_sixteen() {
    for spec in found() {
        for clients in [1, 16] {
            let desk = Desk::new();
            let once = "--no-baselines --repeats 1 --warmups 0 --deadline 30s --out out";
            let words = format!("run fans -s {spec} --data debian-1k --clients {clients} {once}");
            let ran = with_own_cache(&desk, &words);
            assert_eq!(ran.status, 0, "{spec}: {}", ran.said());
            assert!(ran.is_ranked(&spec) && ran.digest(&spec) == DEBIAN_1K, "{spec}: {}", ran.said());
            let config = &ran.cell(&spec)["store_config"];
            assert!(config["heap"].as_str().unwrap().contains("MiB"), "{config}");
            assert_eq!(config["nodes"], if spec.contains("nodes=3") { "3" } else { "1" }, "{config}");
            assert!(desk.left_behind().is_empty(), "{spec}: {:?}", desk.left_behind());
        }
    }
}

/// What a fault may cost a cluster with copies: operations that failed, and no wrong answer.
#[test]
#[ignore = "minutes: Java servers"]
fn every_java_cluster_goes_on_while_a_node_is_frozen_and_another_killed_and_no_answer_is_wrong() {
    for spec in found().into_iter().filter(|spec| spec.contains("nodes=3")) {
        let desk = Desk::new();
        let load =
            "--rate 100 --clients 6 --deadline 40s --set records=300 --set read=0.5 --set update=0.5 --set seconds=24";
        let once = "--no-baselines --repeats 1 --warmups 0 --out out";
        let mut command = desk.command_with_own_cache(&format!("run ycsb -s {spec} {load} {once}"));
        command.args(["--fault", "at 3s freeze 2 for 2s", "--fault", "at 9s kill 3"]);
        let ran = desk.finished(command.output().unwrap());
        for wrong in ["wrong_value", "stale_value", "lost_updates", "unexpected_miss", "connection_lost", "server_died"]
        {
            assert!(ran.why(wrong).is_none(), "{spec}: {}", ran.said());
        }
        let trial = &ran.only()["trials"][0];
        let last_s = trial["series"].as_array().unwrap().last().unwrap()["at_s"].as_f64().unwrap();
        assert!(last_s > 23.0, "{spec}: it ended at {last_s} s\n{}", ran.said());
        assert!(desk.left_behind().is_empty(), "{spec}: {:?}", desk.left_behind());
    }
}
