//! Plugins: what a library says of itself is what kvtrial makes of it, and what is wrong with one is said, with the remedy.
//!
//! A program of its own, which forks while its other tests run.

#![allow(clippy::unwrap_used, missing_docs)]

use kvtrial_catalog as catalog;
use std::path::Path;
use std::process::Command;
use store::{Capabilities, Opener, Operation, OperationKind, OwnedFailure, OwnedReply, Store, StoreError};
use study::{Durability, Spec};
use tempfile::TempDir;
use testkit::Client;
use testkit::replies::{rows, value};

const ORDERED: &str = include_str!("plugin/ordered.c");

/// The least that is a plugin, for tests of what is wrong; what comes later in the table overrides what comes first.
const LEAST: &str = "#include \"kvtrial.h\"
static int open_it(const kvtrial_config *c, void **s, char *w) { return KVTRIAL_OK; }
static void close_it(void *s) {}
static int get(void *s, kvtrial_bytes k, kvtrial_bytes *v) { return KVTRIAL_MISSING; }
static int put(void *s, kvtrial_bytes k, kvtrial_bytes v) { return KVTRIAL_OK; }
static int del(void *s, kvtrial_bytes k) { return KVTRIAL_MISSING; }
static int begin(void *s, void **c, char *w) { return KVTRIAL_OK; }
static const kvtrial_store table = {.abi = KVTRIAL_ABI, .levels = KVTRIAL_NONE, .name = \"least\", .version = \"1\", .open = open_it,
    .close = close_it, .session = begin, .end = close_it, .get = get, .put = put, .del = del, OTHERS};
const kvtrial_store *kvtrial_plugin(uint32_t abi) { return TABLE; }
";

/// A directory with a library built from this source.
struct Built(TempDir);

impl Built {
    fn new(source: &str, flags: &[&str]) -> Built {
        let directory = TempDir::with_prefix("kvtrial-plugin-").unwrap();
        let file = directory.path().join("own.c");
        std::fs::write(&file, source).unwrap();
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../embedded/include");
        let mut cc = Command::new("cc");
        cc.args(["-std=c11", "-D_GNU_SOURCE", "-w", "-O1", "-shared", "-fPIC", "-pthread", "-I"])
            .arg(include)
            .args(flags);
        let built = cc.arg("-o").arg(directory.path().join("own.so")).arg(&file).status();
        assert!(built.is_ok_and(|status| status.success()), "cc cannot build it; install it with: apt-get install gcc");
        Built(directory)
    }

    fn least(others: &str, table: &str) -> Built {
        Built::new(LEAST, &[&format!("-DOTHERS={others}"), &format!("-DTABLE={table}")])
    }

    fn spec(&self, options: &str) -> Spec {
        format!("plugin:{}{options}", self.0.path().join("own.so").display()).parse().unwrap()
    }

    fn open(&self, options: &str) -> Result<Box<dyn Store>, StoreError> {
        let spec = self.spec(options);
        let Opener::Embedded(open) = info(&spec)?.opener else { panic!("a plugin is embedded") };
        open(&spec, self.0.path())
    }

    /// Why the plugin cannot be had.
    fn problem(&self) -> String {
        info(&self.spec("")).err().unwrap().to_string()
    }
}

fn info(spec: &Spec) -> Result<&'static store::StoreInfo, StoreError> {
    let info = catalog::of(spec)?.unwrap();
    layers::check(info, spec).map(|()| info)
}

#[test]
fn a_plugin_can_do_what_it_has_functions_for_and_says_so_before_it_is_opened() {
    let ordered = Built::new(ORDERED, &[]);
    let store = ordered.open("").unwrap();
    let spec = ordered.spec("");
    let declared = layers::declared(info(&spec).unwrap(), &spec);
    assert_eq!(declared, Capabilities::given(&*store));
    let optional = [OperationKind::Append, OperationKind::Scan, OperationKind::PutMany];
    assert_eq!(declared.native, Capabilities::BASIC.native.and(&optional));
    assert_eq!((declared.max_value_bytes, declared.value_limit_is_hard), (4 << 20, true));
    assert_eq!((declared.max_key_bytes, declared.durability), (Capabilities::BASIC.max_key_bytes, Durability::Os));

    let least = Built::least(".batch=0", "&table");
    let (spec, store) = (least.spec(""), least.open("").unwrap());
    let declared = layers::declared(info(&spec).unwrap(), &spec);
    assert_eq!(declared, Capabilities::given(&*store));
    assert_eq!((declared, store.holding().unwrap().keys), (Capabilities::BASIC, None));
    assert!(store.flush().is_ok());
}

#[test]
fn every_function_of_a_plugin_is_asked_and_its_failures_are_in_its_own_words() {
    let ordered = Built::new(ORDERED, &[]);
    let store = ordered.open(",durability=none").unwrap();
    let facts = store.facts().unwrap();
    assert_eq!((facts.product.as_str(), facts.version.as_str()), ("ordered", "1.2"));
    let mut client = Client::of(&*store);
    assert_eq!(client.put("b", "2"), OwnedReply::Done);
    assert_eq!(client.call(Operation::Append { key: b"b", value: b"3" }), OwnedReply::Done);
    assert_eq!((client.get("b"), client.get("c")), (value("23"), OwnedReply::Missing));
    let pairs: [(&[u8], &[u8]); 3] = [(b"a", b""), (b"", b"empty"), (b"c", b"4")];
    assert_eq!(client.call(Operation::PutMany { pairs: &pairs }), OwnedReply::Done);
    assert_eq!(client.get("a"), value(""));
    let scanned = client.call(Operation::Scan { start: b"a", limit: 2 });
    assert_eq!(scanned, rows([("a", ""), ("b", "23")]));
    assert_eq!(store.holding().unwrap().keys, Some(4));
    let delete = |client: &mut Client| client.call(Operation::Delete { key: b"b" });
    assert_eq!((delete(&mut client), delete(&mut client)), (OwnedReply::Done, OwnedReply::Missing));
    store.flush().unwrap();

    let long = vec![0; (4 << 20) + 1];
    let failed = |reply: OwnedReply| match reply {
        OwnedReply::Failed(failure) => failure,
        other => panic!("{other:?}"),
    };
    let put = |client: &mut Client, key: &'static [u8], value: &[u8]| client.call(Operation::Put { key, value });
    assert_eq!(failed(put(&mut client, b"k", &long)), OwnedFailure::Refused("more than 4 MiB".into()));
    assert_eq!(failed(put(&mut client, b"unknown", b"")), OwnedFailure::Unknown("the power is off".into()));
    assert!(matches!(failed(put(&mut client, b"nonsens", b"")), OwnedFailure::Protocol(_)));
    // A session keeps the store open.
    drop(store);
    assert_eq!(client.get("c"), value("4"));
}

#[test]
fn its_options_and_levels_are_those_it_names() {
    let ordered = Built::new(ORDERED, &[]);
    for (options, said) in [
        (",crash_afte=1", "Did you mean crash_after?"),
        (",durability=commit", "use os, none"),
        (",refuse=today", "I will not: today"),
    ] {
        let words = ordered.open(options).err().unwrap().to_string();
        assert!(words.contains(said) && words.contains("own.so"), "{words}");
    }
    assert!(ordered.open(",crash_after=9,durability=none").is_ok());
    assert_eq!(ordered.open(",crash_after=9").unwrap().facts().unwrap().config["crash_after"], "9");
    let layered = ordered.spec(",cache=64MiB");
    assert!(info(&layered).is_ok(), "a layer goes around a plugin, too");
}

#[test]
fn what_is_no_plugin_is_named_with_the_remedy() {
    let here = TempDir::new().unwrap();
    let spec: Spec = format!("plugin:{}/none.so", here.path().display()).parse().unwrap();
    let words = catalog::of(&spec).err().unwrap().to_string();
    assert!(
        words.contains("none.so: there is no such file; build it first") && words.contains("kvtrial new"),
        "{words}"
    );
    let words = catalog::of(&Spec::private("plugin")).err().unwrap().to_string();
    assert!(words.contains("name your library: plugin:./mystore.so"), "{words}");

    let text = Built::least(".batch=0", "&table");
    std::fs::write(text.0.path().join("own.so"), "no library").unwrap();
    for (built, said) in [
        (text, "Build it as a shared library for this machine"),
        (Built::new("int other;", &[]), "it exports no kvtrial_plugin"),
        (Built::least(".batch=0", "0"), "kvtrial_plugin(1) returned NULL"),
        (Built::least(".abi=7", "&table"), "it was built with version 7 of kvtrial.h, and this kvtrial has version 1"),
        (Built::least(".get=0", "&table"), "its table has no get"),
        (Built::least(".levels=0", "&table"), "it has no level of durability"),
        (Built::least(".batch=0", "(abort(),&table)"), "it ended the process that loaded it: Aborted (signal 6)"),
        (Built::least(".batch=0", "(_exit(0),&table)"), "it ended the process that loaded it, with status 0"),
    ] {
        let words = built.problem();
        assert!(words.starts_with("plugin:/") && words.contains(said), "{words}");
    }
}

#[test]
fn a_library_that_was_built_again_is_asked_again() {
    let built = Built::least(".batch=0", "&table");
    assert_eq!(layers::declared(info(&built.spec("")).unwrap(), &built.spec("")).max_key_bytes, 64 << 10);
    let later = Built::least(".max_key_bytes=9", "&table");
    std::fs::rename(later.0.path().join("own.so"), built.0.path().join("own.so")).unwrap();
    assert_eq!(layers::declared(info(&built.spec("")).unwrap(), &built.spec("")).max_key_bytes, 9);
}
