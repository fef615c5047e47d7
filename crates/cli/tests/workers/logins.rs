//! NATS lets in who has a key, and is believed over TLS: a real server, right and wrong.

use super::nats::{JoinedWorker, Nats};
use super::{SMALL, trial, with};
use crate::common::Desk;
use testkit::certificates::Certificates;

/// Two users' keys, made for this test: seed and public key.
const ONE: [&str; 2] = [
    "SUAIHJXF62SCW3XNUPIKHT5EI2LDBLSR2GEM253D4OOYWCV2I7JVSYSLSQ",
    "UDZRIGS36ANK3VNWGXY7HZQ7ZJFLUUZQHOAQPQC6YBPTBJTDLFHFV6C3",
];
const OTHER: &str = "SUAIIXGQYIBX6LYPCXKKFV2IRUFBYRGH5LJNFZRLFA7UGRYHXKMLJXPPBY";

/// A study and its workers, all with these options; that they came together.
fn comes_together(url: &str, options: &str) {
    let (desk, away) = (Desk::new(), Desk::new());
    let _workers = ["one", "two"].map(|name| JoinedWorker::join(&away, &format!("{url} {options}"), name));
    let ran = desk.run(&with(&SMALL, &format!("--workers 2 --nats {url} {options}")));
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert_eq!(trial(&ran)["workers"].as_array().unwrap().len(), 2);
}

/// Neither a study nor a worker gets in, at once, and both say this; nothing says the secret.
fn is_refused(url: &str, options: &str, words: &str, secret: &str) {
    let worker = Desk::new().kvtrial(&format!("worker {url} {options}"));
    let study = Desk::new().run(&with(&["--clients 2"], &format!("--workers 2 --nats {url} {options}")));
    for ran in [worker, study] {
        assert_eq!(ran.status, 2, "{}", ran.said());
        assert!(ran.stderr.contains(words) && !ran.stderr.contains(secret), "no '{words}': {}", ran.said());
    }
}

#[test]
fn a_key_is_a_login_and_another_is_none() {
    let desk = Desk::new();
    let [seed, public] = ONE;
    let nats = Nats::configured(&desk, &format!("authorization {{ users: [{{ nkey: {public} }}] }}"));
    let key = |name: &str, text: &str| format!("--nats-key {}", desk.file(name, text).display());
    comes_together(&nats.url(), &key("right", &format!("# of a test\n{seed}\n")));
    is_refused(&nats.url(), &key("wrong", OTHER), "does not let kvtrial in: authorization violation", OTHER);
    is_refused(&nats.url(), &key("public", public), "it has no seed of a user, a line that begins with SU", public);
    is_refused(&nats.url(), &key("broken", &seed[..40]), "does not let kvtrial in", &seed[..40]);
    is_refused(&nats.url(), "", "does not let kvtrial in", seed);
}

#[test]
fn tls_is_spoken_with_a_server_whose_authority_is_known_and_no_other() {
    let (desk, made, foreign) = (Desk::new(), Certificates::made(), Certificates::made());
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| made.path(name).display().to_string());
    let nats = Nats::configured(
        &desk,
        &format!("authorization {{ token: hush }}\ntls {{ cert_file: \"{cert}\", key_file: \"{key}\" }}"),
    );
    let authority = |of: &Certificates| format!("--nats-ca {}", of.path("ca.pem").display());
    let place = nats.place();
    comes_together(&format!("tls://:hush@{place}"), &authority(&made));
    // It says itself that it wants TLS.
    comes_together(&format!("nats://:hush@{place}"), &authority(&made));
    let not_believed = format!("TLS with NATS at {place} fails: ");
    for options in [authority(&foreign), String::new()] {
        is_refused(&format!("tls://:hush@{place}"), &options, &not_believed, "hush");
    }
    is_refused(&format!("tls://:hush@{place}"), "", "--nats-ca FILE", "hush");
    is_refused(&format!("tls://:wrong@{place}"), &authority(&made), "does not let kvtrial in", "wrong@");
    is_refused(&format!("tls://:hush@{place}"), "--nats-ca /no/ca", "--nats-ca /no/ca: ", "hush");
    let plain = Nats::start();
    is_refused(&format!("tls://{}", plain.place()), &authority(&made), "or write nats:// where it has no TLS", "hush");
}

#[test]
fn a_server_that_asks_for_a_certificate_gets_ours_and_lets_in_none_that_another_authority_signed() {
    let (desk, made, foreign) = (Desk::new(), Certificates::made(), Certificates::made());
    let [ca, cert, key] = ["ca.pem", "cert.pem", "key.pem"].map(|name| made.path(name).display().to_string());
    let tls = format!("tls {{ cert_file: \"{cert}\", key_file: \"{key}\", ca_file: \"{ca}\", verify: true }}");
    let nats = Nats::configured(&desk, &tls);
    let (url, authority) = (format!("tls://{}", nats.place()), format!("--nats-ca {ca}"));
    let shown = |of: &Certificates| {
        let [cert, key] = ["cert.pem", "key.pem"].map(|name| of.path(name).display().to_string());
        format!("{authority} --nats-cert {cert} --nats-cert-key {key}")
    };
    comes_together(&url, &shown(&made));
    let remedy = "where it asks for one of yours, that with --nats-cert FILE --nats-cert-key FILE";
    is_refused(&url, &authority, remedy, "PRIVATE");
    is_refused(&url, &shown(&foreign), remedy, "PRIVATE");
    is_refused(
        &url,
        &format!("{authority} --nats-cert /no/cert --nats-cert-key {key}"),
        "--nats-cert /no/cert: ",
        "PRIVATE",
    );
    is_refused(&url, &format!("{authority} --nats-cert {cert}"), "--nats-cert-key <FILE>", "PRIVATE");
}
