#![allow(clippy::unwrap_used)]

use super::{Address, Spec, Target, redact};
use crate::{Durability, Transport};
use std::path::PathBuf;

#[test]
fn a_private_server_is_reached_as_its_store_says_and_the_users_as_its_address_says() {
    let (tcp, unix) = (Some(Transport::Tcp), Some(Transport::Unix));
    let reached = |text: &str, private| text.parse::<Spec>().unwrap().transport(private);
    assert_eq!([reached("a", tcp), reached("a-unix", tcp), reached("a", unix)], [tcp, tcp, unix]);
    assert_eq!([reached("a://[::1]:7", unix), reached("a://localhost", None)], [tcp, tcp]);
    assert_eq!([reached("a:///run/redis.sock", tcp), reached("a-unix://10.0.0.5:6379/0", unix)], [unix, None]);
    assert_eq!([reached("lmdb", None), reached("lmdb:/data/x", None)], [None, None]);
}

#[test]
fn a_bare_name_is_a_private_store() {
    let spec: Spec = "redis-unix".parse().unwrap();
    assert_eq!(spec, Spec::private("redis-unix"));
}

#[test]
fn options_and_durability_follow_commas() {
    let spec: Spec = "postgres,layout=hstore,durability=commit".parse().unwrap();
    assert_eq!(spec.options["layout"], "hstore");
    assert_eq!(spec.durability, Some(Durability::Commit));
    assert_eq!(spec.to_string(), "postgres,durability=commit,layout=hstore");
}

#[test]
fn a_url_reaches_a_server_and_its_password_is_never_shown() {
    let spec: Spec = "redis://:p%40,w@10.0.0.5:6379/0,durability=none".parse().unwrap();
    let Target::Server(server) = &spec.target else { panic!("{spec:?}") };
    assert_eq!(server.addresses, [Address::Tcp { host: "10.0.0.5".into(), port: Some(6379) }]);
    assert_eq!(server.password.as_ref().unwrap().reveal(), "p@,w");
    assert_eq!(server.database.as_deref(), Some("0"));
    assert_eq!(spec.to_string(), "redis://:***@10.0.0.5:6379/0,durability=none");
    assert!(!format!("{spec:?}").contains("p@"));
}

#[test]
fn unix_sockets_paths_and_ipv6_are_understood() {
    let spec: Spec = "redis-unix:///run/redis.sock".parse().unwrap();
    let Target::Server(server) = &spec.target else { panic!("{spec:?}") };
    assert_eq!(server.addresses, [Address::Unix("/run/redis.sock".into())]);
    let spec: Spec = "memcached://[::1]:11211".parse().unwrap();
    assert_eq!(spec.to_string(), "memcached://[::1]:11211");
    let spec: Spec = "lmdb:/data/x".parse().unwrap();
    assert_eq!(spec.target, Target::Path(PathBuf::from("/data/x")));
}

#[test]
fn several_addresses_follow_commas_before_the_options() {
    for (text, addresses) in [
        ("etcd://ann:tulip@h1:2379,h2,[::1]:7/books,durability=commit,nodes=3", 3),
        ("redis-unix:///run/a.sock,/run/b.sock,shard=jump", 2),
        ("redis-unix:///run/a.sock,/run/b.sock?5", 2),
        ("redis://h1:1,10.0.0.5:2", 2),
    ] {
        let spec: Spec = text.parse().unwrap();
        let Target::Server(server) = &spec.target else { panic!("{spec:?}") };
        assert_eq!(server.addresses.len(), addresses, "{text}");
        assert_eq!(spec.to_string(), text.replace("tulip", "***"));
        let again: Spec = spec.to_string().parse().unwrap();
        assert_eq!(again.to_string(), spec.to_string());
    }
    let spec: Spec = "etcd://h1:2379,h2:2379/books".parse().unwrap();
    let Target::Server(server) = &spec.target else { panic!("{spec:?}") };
    assert_eq!(server.database.as_deref(), Some("books"));
    let (unix, tcp) = (Some(Transport::Unix), Some(Transport::Tcp));
    let reached = |text: &str| text.parse::<Spec>().unwrap().transport(None);
    assert_eq!([reached("a:///x,/y"), reached("a://[::1],localhost"), reached("a://[::1],h2")], [unix, tcp, None]);
}

#[test]
fn addresses_that_cannot_be_are_refused_in_words_without_a_password() {
    for (text, problem) in [
        ("etcd://h1:1/books,h2:2", "after the last address"),
        ("etcd://h1:1,h1:1", "names an address twice"),
        ("etcd://h1:1,h2:99999", "1 to 65535"),
        ("etcd://h1:1,ann:tulip", "is not a port"),
        ("etcd://h1:1,durability=commit,h2:2", "option 'h2:2' has no value"),
        ("sqlite,null", "-s sqlite -s null"),
        ("redis,maxmemory=", "option 'maxmemory' has no value"),
        ("redis,durability=", "option 'durability' has no value"),
    ] {
        let error = text.parse::<Spec>().unwrap_err().to_string();
        assert!(error.contains(problem) && !error.contains("tulip"), "{text}: {error}");
    }
}

#[test]
fn errors_name_the_remedy_and_hide_the_password() {
    let error = "redis://:secret@host:99999".parse::<Spec>().unwrap_err().to_string();
    assert!(error.contains("1 to 65535") && !error.contains("secret"), "{error}");
    let error = "redis,durability=always".parse::<Spec>().unwrap_err().to_string();
    assert!(error.contains("none, os, second or commit"), "{error}");
    for (text, shown) in [
        ("redis://host?password=tulip", "redis://host?password=***"),
        ("redis://host:6379/0?user=ann&password=tulip", "redis://host:6379/0?user=***&password=***"),
        ("redis-unix:///run/redis.sock?password=tulip", "redis-unix:///run/redis.sock?password=***"),
        ("redis://ann:tulip", "redis://ann:***"),
        ("redis://ann:tulip@host?password=tulip", "redis://ann:***@host?password=***"),
        ("redis://:tulip,1@host:99999,password=tulip", "redis://:***@host:99999,password=***"),
    ] {
        let error = text.parse::<Spec>().unwrap_err();
        assert_eq!(error.spec, shown);
        assert!(!error.to_string().contains("tulip"), "{error}");
    }
    assert_eq!(redact("redis:ann:tulip@host:6379"), "redis:***@host:6379");
    assert_eq!(redact("lmdb:/data/a@b"), "lmdb:/data/a@b");
    let spec: Spec = "redis,requirepass=tulip,hz=10".parse().unwrap();
    assert_eq!(spec.to_string(), "redis,hz=10,requirepass=***");
    let error = "redis,fast".parse::<Spec>().unwrap_err().to_string();
    assert!(error.contains("fast=VALUE"), "{error}");
}

#[test]
fn characters_that_cannot_be_seen_are_refused_and_shown() {
    for (text, shown) in
        [("redis\u{202e}", "redis\\u202e"), ("redis,x=\x1b]0;a\x07", "\\u001b]0;a\\u0007"), ("re\ndis", "seen")]
    {
        let error = text.parse::<Spec>().unwrap_err().to_string();
        assert!(error.contains(shown) && !error.contains(crate::is_hidden), "{error:?}");
    }
}

#[test]
fn a_version_behind_the_name_is_read_and_written_so_and_is_an_option_like_another() {
    for (text, written) in [
        ("nats@2.15.1", "nats@2.15.1"),
        ("nats@2.15.1,nodes=3", "nats@2.15.1,nodes=3"),
        ("nats,version=2.15.1", "nats@2.15.1"),
        ("rocksdb@10.10.1:/data/x,durability=commit", "rocksdb@10.10.1:/data/x,durability=commit"),
    ] {
        let spec: Spec = text.parse().unwrap();
        assert_eq!((spec.options["version"].starts_with(['1', '2']), spec.to_string().as_str()), (true, written));
        assert_eq!(spec.to_string().parse::<Spec>().unwrap(), spec);
    }
    let user: Spec = "redis://me@h:1".parse().unwrap();
    assert_eq!((user.options.len(), user.to_string().as_str()), (0, "redis://me@h:1"));
    for (text, words) in [
        ("nats@", "one version must follow"),
        ("nats@1@2", "one version must follow"),
        ("@1", "names no store"),
        ("nats@1,version=2", "given twice"),
    ] {
        assert!(text.parse::<Spec>().unwrap_err().problem.contains(words), "{text}");
    }
}

#[test]
fn a_plugin_is_its_library_by_path_and_its_files_are_private() {
    for (text, written) in [
        ("plugin:./mystore.so", "plugin:./mystore.so"),
        ("plugin:/opt/my.so,shards=8,durability=os", "plugin:/opt/my.so,durability=os,shards=8"),
        ("plugin,lib=./mystore.so", "plugin:./mystore.so"),
        ("plugin", "plugin"),
    ] {
        let spec: Spec = text.parse().unwrap();
        assert_eq!((&spec.target, spec.to_string().as_str()), (&Target::Private, written));
        assert_eq!(spec.to_string().parse::<Spec>().unwrap(), spec);
    }
    let spec: Spec = "plugin:/opt/my.so".parse().unwrap();
    assert_eq!(spec.options["lib"], "/opt/my.so");
    assert!("plugin:./a.so,lib=./b.so".parse::<Spec>().unwrap_err().problem.contains("given twice"));
    let engine: Spec = "rocksdb,lib=/opt/librocksdb.so".parse().unwrap();
    assert_eq!(engine.to_string(), "rocksdb,lib=/opt/librocksdb.so");
}
