//! Whose files embedded stores touch, what they say when they cannot, and what they call themselves.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

#[allow(dead_code)] // only some of it is used here
mod battery;

use battery::open;
use std::fs;
use std::path::Path;
use store::OwnedReply;
use store::{Availability, Bundle, Opener, Store, StoreError, StoreInfo};
use study::{Durability, Spec};
use tempfile::TempDir;
use testkit::Client;
use testkit::replies::value;

fn embedded() -> impl Iterator<Item = &'static StoreInfo> {
    // Plugins have levels of their own, and tests of their own (`plugin.rs`).
    let others = |info: &&StoreInfo| !["null", "plugin"].contains(&info.name);
    kvtrial_catalog::all().filter(|info| matches!(info.opener, Opener::Embedded(_))).filter(others)
}

fn built() -> impl Iterator<Item = &'static StoreInfo> {
    // Engines that Go or Rust builds are for workers (`crates/cli/tests/cli/engines.rs`).
    let is_engine = |info: &&StoreInfo| kvtrial_catalog::bundle_of(info.name).is_some_and(Bundle::is_engine);
    embedded().filter(|info| matches!(info.probe(), Availability::Found(_))).filter(move |info| !is_engine(info))
}

fn try_open(info: &StoreInfo, directory: &Path) -> Result<Box<dyn Store>, StoreError> {
    let Opener::Embedded(open) = info.opener else { panic!("{} is not embedded", info.name) };
    open(&Spec::private(info.name), directory)
}

#[test]
fn a_users_directory_keeps_all_its_files_and_gains_only_kvtrials() {
    for info in built() {
        let directory = TempDir::with_prefix("kvtrial-user-").unwrap();
        let theirs = ["data.mdb", "lock.mdb", "db.sqlite", "casket.tch", "keep me"];
        for file in theirs {
            fs::write(directory.path().join(file), format!("the user's {file}")).unwrap();
        }
        let store = try_open(info, directory.path()).unwrap();
        let mut client = Client::of(&*store);
        assert_eq!(client.put("k", "v"), OwnedReply::Done);
        drop((client, store));
        for file in theirs {
            let now = fs::read_to_string(directory.path().join(file)).unwrap();
            assert_eq!(now, format!("the user's {file}"), "{}", info.name);
        }
        for entry in fs::read_dir(directory.path()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(theirs.contains(&&name[..]) || name.starts_with("kvtrial"), "{} made {name}", info.name);
        }
    }
}

#[test]
fn a_directory_that_is_not_there_is_made_and_a_file_in_its_place_is_named() {
    for info in built().filter(|info| info.name != "ram") {
        let parent = TempDir::with_prefix("kvtrial-user-").unwrap();
        try_open(info, &parent.path().join("new/one")).unwrap();
        let file = parent.path().join("file");
        fs::write(&file, "not a directory").unwrap();
        let Err(error) = try_open(info, &file) else { panic!("{} opened a file", info.name) };
        assert!(error.to_string().contains(file.to_str().unwrap()), "{}: {error}", info.name);
        assert_eq!(fs::read_to_string(&file).unwrap(), "not a directory");
    }
}

#[test]
fn what_is_no_database_is_refused_by_name_and_left_as_it_is() {
    for (name, file) in [
        ("sqlite", "kvtrial.sqlite"),
        ("redb", "kvtrial.redb"),
        ("tokyocabinet", "kvtrial.tch"),
        ("kyotocabinet", "kvtrial.kch"),
        ("tkrzw", "kvtrial.tkh"),
    ] {
        let Some(info) = built().find(|info| info.name == name) else { continue };
        let directory = TempDir::with_prefix("kvtrial-user-").unwrap();
        let path = directory.path().join(file);
        let text = "this is no database of any kind\n".repeat(100);
        fs::write(&path, &text).unwrap();
        let Err(error) = try_open(info, directory.path()) else { panic!("{name} opened nonsense") };
        assert!(error.to_string().contains(path.to_str().unwrap()), "{name}: {error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "{name}");
    }
}

#[test]
fn every_embedded_store_comes_with_one_default_level_and_refuses_levels_it_has_not() {
    for info in embedded().filter(|info| info.name != "ram") {
        // Kyoto Cabinet has none it keeps (docs/engines.md), and is in no default study.
        let level = if info.name == "kyotocabinet" { Durability::None } else { Durability::Os };
        assert_eq!(info.durabilities[0], level, "{}: the default study compares alike", info.name);
        for &level in info.durabilities {
            if let (Availability::Found(_), directory) = (info.probe(), TempDir::with_prefix("kvtrial-level-").unwrap())
                && built().any(|built| built.name == info.name)
            {
                let spec = Spec::private(info.name).with_durability(level);
                assert_eq!(open(&spec, directory.path()).capabilities().durability, level, "{}", info.name);
            }
        }
        if info.durabilities.contains(&Durability::Second) {
            continue;
        }
        let spec = Spec::private(info.name).with_durability(Durability::Second);
        let error = layers::check(info, &spec).unwrap_err().to_string();
        let levels = info.durabilities.iter().map(|level| level.name()).collect::<Vec<_>>().join(", ");
        assert!(error.contains("durability=second") && error.contains(&levels), "{error}");
    }
}

#[test]
fn a_store_says_how_it_was_set_up_and_that_differs_between_its_levels() {
    for info in embedded().filter(|info| SAYS_HOW.contains(&info.name)) {
        let set_up = |level: Durability| {
            let directory = TempDir::with_prefix("kvtrial-set-up-").unwrap();
            let spec = Spec::private(info.name).with_durability(level);
            let set_up = open(&spec, directory.path()).facts().unwrap().set_up;
            assert!(!set_up.is_empty(), "{}", info.name);
            let of_this_place = set_up.iter().filter(|line| line.contains(directory.path().to_str().unwrap()));
            assert_eq!(of_this_place.count(), 0, "{}: {set_up:?}", info.name);
            set_up
        };
        if let Availability::Found(_) = info.probe()
            && built().any(|built| built.name == info.name)
        {
            let all: std::collections::BTreeSet<_> = info.durabilities.iter().map(|&level| set_up(level)).collect();
            assert_eq!(all.len(), info.durabilities.len(), "{}: {all:?}", info.name);
        }
    }
}

/// The embedded stores that give their settings as lines to be copied.
const SAYS_HOW: [&str; 10] =
    ["berkeleydb", "fjall", "kyotocabinet", "leveldb", "lmdb", "redb", "rocksdb", "sqlite", "tkrzw", "tokyocabinet"];

#[test]
fn versions_are_those_the_build_has_locked() {
    let lock = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")).unwrap();
    for name in ["redb", "fjall"] {
        let Some(info) = built().find(|info| info.name == name) else { continue };
        let Availability::Found(found) = info.probe() else { panic!("{name}") };
        let version = found.rsplit(' ').next().unwrap();
        assert!(
            lock.contains(&format!("name = \"{name}\"\nversion = \"{version}\"\n")),
            "{found} is not in Cargo.lock"
        );
    }
}

/// Only built by `--no-default-features` and the like.
#[test]
fn a_store_left_out_of_the_build_is_still_listed_and_names_its_feature() {
    let in_build = [
        ("sqlite", cfg!(feature = "sqlite")),
        ("lmdb", cfg!(feature = "lmdb")),
        ("redb", cfg!(feature = "redb")),
        ("fjall", cfg!(feature = "fjall")),
    ];
    for (name, in_build) in in_build {
        let info = embedded().find(|info| info.name == name).expect(name);
        if in_build {
            assert!(matches!(info.probe(), Availability::Found(_)), "{name}");
        } else {
            assert_eq!(info.probe(), Availability::NotBuilt(name));
            let Err(error) = try_open(info, Path::new("/nowhere")) else { panic!("{name} opened") };
            assert!(error.to_string().contains(&format!("--features {name}")), "{error}");
        }
    }
}

#[cfg(feature = "sqlite")]
#[test]
fn two_users_of_one_sqlite_file_wait_for_each_other_and_never_fail() {
    let directory = TempDir::with_prefix("kvtrial-shared-").unwrap();
    // Two stores: each has its own lock, as two processes have, so only SQLite stands between them.
    let stores = [(); 2].map(|()| open(&Spec::private("sqlite"), directory.path()));
    std::thread::scope(|scope| {
        for store in &stores {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut client = Client::of(&**store);
                    for round in 0..50 {
                        assert!(matches!(client.increment("n", 1), OwnedReply::Number(_)), "round {round}");
                        let pairs: [(&[u8], &[u8]); 2] = [(b"a", b"1"), (b"b", b"2")];
                        assert_eq!(client.call(store::Operation::PutMany { pairs: &pairs }), OwnedReply::Done);
                    }
                });
            }
        }
    });
    assert_eq!(Client::of(&*stores[0]).increment("n", 0), OwnedReply::Number(400));
}

/// Kyoto Cabinet and Tkrzw have locks that only another process meets.
const ONE_PROCESS: [&str; 7] = ["lmdb", "redb", "fjall", "tokyocabinet", "berkeleydb", "leveldb", "rocksdb"];

#[test]
fn an_engine_that_allows_one_process_says_so_when_it_is_open_already() {
    for info in built().filter(|info| ONE_PROCESS.contains(&info.name)) {
        let directory = TempDir::with_prefix("kvtrial-shared-").unwrap();
        let first = try_open(info, directory.path()).unwrap();
        let Err(error) = try_open(info, directory.path()) else { panic!("{} opened twice", info.name) };
        assert!(error.to_string().contains(directory.path().to_str().unwrap()), "{}: {error}", info.name);
        assert_eq!(Client::of(&*first).put("k", "v"), OwnedReply::Done, "{}", info.name);
    }
}

#[test]
fn options_of_engines_from_libraries_are_checked() {
    let directory = TempDir::with_prefix("kvtrial-options-").unwrap();
    for (text, said) in [
        ("tokyocabinet,lib=/no/such/library.so", "lib=/no/such/library.so"),
        ("tokyocabinet,bnum=0", "bnum=0 is not possible; use a whole number, 1 or more"),
        ("tokyocabinet,bnum=many", "bnum=many is not possible"),
        ("kyotocabinet,msiz=much", "msiz=much is not possible; use a size such as 64MiB"),
        ("tkrzw,num_buckets=0", "num_buckets=0 is not possible"),
        ("rocksdb,write_buffer_size=big", "write_buffer_size=big is not possible"),
        ("berkeleydb,page_size=1000", "page_size=1000 is not possible; use a power of two"),
        ("berkeleydb,ffactor=84", "add method=hash"),
        // One library is not another, whatever it is called.
        ("leveldb,lib=libtkrzw.so.1", "lib=libtkrzw.so.1"),
        ("berkeleydb,lib=libtokyocabinet.so.9", "lib=libtokyocabinet.so.9"),
    ] {
        let spec: Spec = text.parse().unwrap();
        let Opener::Embedded(open) = kvtrial_catalog::find(&spec.name).unwrap().opener else { panic!("{text}") };
        let Err(error) = open(&spec, directory.path()) else { panic!("{text} opened") };
        assert!(error.to_string().contains(said), "{error}");
    }
    let store = open(&"tokyocabinet,bnum=1001".parse().unwrap(), directory.path());
    let facts = store.facts().unwrap();
    let buckets: u64 = facts.config["bnum"].parse().unwrap();
    assert!((1001..2000).contains(&buckets), "{buckets} read back");
}

#[test]
fn settings_asked_for_are_in_effect_when_read_back() {
    for (text, setting, value) in [
        ("kyotocabinet,msiz=8MiB", "msiz", "8388608"),
        ("tkrzw", "update_mode", "appending"),
        ("tkrzw,durability=none", "update_mode", "in-place"),
        ("berkeleydb,method=hash", "ffactor", "84"),
        ("berkeleydb,method=hash,ffactor=508", "ffactor", "508"),
        ("berkeleydb,method=hash,record=992,page_size=8192", "ffactor", "8"),
        ("berkeleydb,page_size=16384", "page_size", "16384"),
        ("berkeleydb,durability=none", "log_at_commit", "kept in memory (DB_TXN_NOSYNC)"),
        ("leveldb,compression=none", "compression", "none"),
        ("rocksdb", "compression", "snappy"),
        ("rocksdb,compression=zstd", "compression", "zstd"),
        ("rocksdb,write_buffer_size=16MiB", "write_buffer_size", "16777216"),
        ("rocksdb,block_cache=1MiB", "block_cache", "1048576"),
    ] {
        let directory = TempDir::with_prefix("kvtrial-settings-").unwrap();
        let facts = open(&text.parse().unwrap(), directory.path()).facts().unwrap();
        assert_eq!(facts.config.get(setting).map(String::as_str), Some(value), "{text}: {:?}", facts.config);
    }
}

/// Where the loader has put the system's library.
fn loaded(name: &str) -> String {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let path = maps.lines().filter_map(|line| line.split_whitespace().last()).find(|path| path.contains(name));
    path.unwrap_or_else(|| panic!("{name} is not loaded")).to_owned()
}

/// The second is a copy, which the loader knows for another library; both are used at once.
#[test]
fn two_libraries_of_one_engine_work_side_by_side() {
    for (name, library) in [
        ("tokyocabinet", "/libtokyocabinet.so"),
        ("kyotocabinet", "/libkyotocabinet.so"),
        ("tkrzw", "/libtkrzw.so"),
        ("berkeleydb", "/libdb-5.3.so"),
        ("leveldb", "/libleveldb.so"),
    ] {
        let directories = [(); 2].map(|()| TempDir::with_prefix("kvtrial-lib-").unwrap());
        let system = open(&Spec::private(name), directories[0].path());
        let copy = directories[1].path().join("other.so");
        fs::copy(loaded(library), &copy).unwrap();
        let spec: Spec = format!("{name},lib={}", copy.display()).parse().unwrap();
        let other = open(&spec, directories[1].path());
        assert_eq!(system.facts().unwrap(), other.facts().unwrap(), "{name}");
        loaded(directories[1].path().to_str().unwrap());
        for (store, value) in [(&system, "one"), (&other, "two")] {
            assert_eq!(Client::of(&**store).put("k", value), OwnedReply::Done, "{name}");
        }
        assert_eq!(Client::of(&*system).get("k"), value("one"), "{name}");
        assert_eq!(Client::of(&*other).get("k"), value("two"), "{name}");
    }
}

#[test]
fn a_second_build_that_would_end_the_process_is_refused_with_the_remedy() {
    let directory = TempDir::with_prefix("kvtrial-lib-").unwrap();
    let _system = open(&Spec::private("rocksdb"), directory.path());
    let copy = directory.path().join("other.so");
    fs::copy(loaded("/librocksdb.so"), &copy).unwrap();
    let Opener::Embedded(open) = kvtrial_catalog::find("rocksdb").unwrap().opener else { panic!("not embedded") };
    let spec: Spec = format!("rocksdb,lib={}", copy.display()).parse().unwrap();
    let Err(error) = open(&spec, directory.path()) else { panic!("{spec} opened") };
    assert!(error.to_string().contains("kvtrial compare"), "{error}");
}
